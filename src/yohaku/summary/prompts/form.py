"""The forms an answer may have. They stand last in a question: small models follow what they read last."""

FORMS = {
    "retain": """\
<retain>
(what has to be kept to the letter, one per line)
</retain>
""",
    "summary": """\
<summary>
(what happened, what holds now, what comes next)
</summary>""",
    "snapshot": """\
<scratchpad>
(your thoughts)
</scratchpad>
<state_snapshot>
<overall_goal>
(what the user wants in the end, in one sentence)
</overall_goal>
<key_knowledge>
(facts, conventions, constraints and commands to remember, one per line)
</key_knowledge>
<file_system_state>
(files read, created, changed or deleted, one per line, with what was learned or done)
</file_system_state>
<recent_actions>
(the last important things done and what came of them, one per line)
</recent_actions>
<current_plan>
(the steps of the plan, one per line, each marked [DONE], [IN PROGRESS] or [TODO])
</current_plan>
</state_snapshot>""",
}
