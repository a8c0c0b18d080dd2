"""Analysis: what a tool call, a prompt or a text means. Pure functions over the core's values, without a model.

shell            a shell command, split into simple commands
tool_calls       one call: its command, exit code, test summary, errors
file_access      the files a call read, created, modified or deleted
file_log         the state of every file of a conversation
file_showings    the places of a view that show a file
activity         the course of the work: calls, failures, decisions, the plan
entities         paths, ids, quantities and names in a text, and which of them matter
sentences        the sentences of a prompt that the user wrote, without what was pasted
rules            the rules a user states in a prompt, by the patterns in rule_patterns and order_patterns
withdrawals      sentences that withdraw rules
standing_rules   the rules that still stand, and which to show
retention        what a folding kept of all that
language         tests for Japanese
outline          sections of a large file
shorten          cutting texts down to a number of tokens
window_profile   measures of the agent for small windows
"""
