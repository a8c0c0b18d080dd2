from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.summary.check import Accepted, Evidence, Rejected, check_answer, count_substance
from yohaku.summary.prompts import FORMS, SNAPSHOT, SUMMARY
from yohaku.summary.transcript_text import Utterance

SAID = [
    Utterance("USER", "Fix the login in src/auth/login.py. It took 1,234 ms. See https://example.org/a?b=1."),
    Utterance("CALL bash", "command=pytest -q tests/test_login.py\n  --maxfail=1"),
    Utterance("RESULT", "2 failed at commit 3f2a9c1, def check_password(user): pass"),
]
EVIDENCE = Evidence.of(SAID)
GOOD = "The login in src/auth/login.py is being fixed; two tests fail."


def count(text: str) -> int:
    return len(text) // 4


def found(answer: str, kind: str = "summary", tokens: int = 500) -> Accepted | Rejected:
    return check_answer(answer, kind, EVIDENCE, tokens, count)


@pytest.mark.parametrize(
    ("answer", "retain"),
    [
        (f"<summary>\n{GOOD}\n</summary>", ""),
        (f"<summary>{GOOD}", ""),
        (f"{GOOD}\n</summary>", ""),
        (f"Sure! Here it is:\n<Summary>\n{GOOD}\n</SUMMARY>\nAnything else?", ""),
        (f"```xml\n<summary>\n{GOOD}\n</summary>\n```", ""),
        (GOOD, ""),
        (f"<think>They want <summary>a summary</summary></think><summary>{GOOD}</summary>", ""),
        (f"I go through it.</scratchpad>\n<summary>{GOOD}</summary>", ""),
        (f"<think>never ends <summary>{GOOD}</summary>", ""),
        (f"<retain>Never push it.</retain>\n<summary>{GOOD}</summary>", "Never push it."),
        (f"Never push it.\n</retain>\n<summary>\n{GOOD}", "Never push it."),
        (f"<retain>\nNever push it.\n<summary>\n{GOOD}", "Never push it."),
        (f"<retain>Never push it.</retain>\n{GOOD}", "Never push it."),
        (json.dumps({"retain": "Never push it.", "summary": GOOD}), "Never push it."),
        (f'```json\n{{"retain": ["Never push it."], "summary": "{GOOD}"}}\n```', "- Never push it."),
        (f'{{"retain": "Never push it.", "summary": "{GOOD}', "Never push it."),
        (f"<retain>\n...\n</retain>\n<summary>{GOOD}</summary>", ""),
        (FORMS["retain"] + f"<summary>{GOOD}</summary>", ""),
    ],
)
def test_tags_fences_json_and_thoughts_may_come_in_any_state(answer: str, retain: str) -> None:
    assert found(answer) == Accepted(GOOD, retain)


PLAN = "1. [DONE] Find the cause.\n2. [TODO] Fix `check_password`."
SNAP = f"""<state_snapshot>
<overall_goal>
{GOOD}
</overall_goal>
<current_plan>
{PLAN}
</current_plan>
</state_snapshot>"""


@pytest.mark.parametrize(
    "answer",
    [
        SNAP,
        f"<scratchpad>\nwell, `rm -rf` and 99999 are only thoughts\n</scratchpad>\n{SNAP}",
        f"thoughts</scratchpad>{SNAP}",
        SNAP.removesuffix("\n</state_snapshot>"),
        SNAP.removesuffix("\n</current_plan>\n</state_snapshot>"),
        SNAP.replace("<state_snapshot>\n", ""),
        SNAP.replace("<current_plan>", "<key_knowledge>\n...\n</key_knowledge>\n<current_plan>"),
        json.dumps({"overall_goal": GOOD, "recent_actions": None, "current_plan": PLAN}),
        json.dumps({"state_snapshot": {"overall_goal": GOOD, "key_knowledge": [], "current_plan": PLAN}}),
    ],
)
def test_a_snapshot_is_put_together_from_the_fields_that_say_something(answer: str) -> None:
    assert found(answer, "snapshot") == Accepted(SNAP)


def test_a_snapshot_without_fields_is_taken_as_a_text() -> None:
    assert found(GOOD, "snapshot") == Accepted(GOOD)


@pytest.mark.parametrize("kind", ["summary", "snapshot"])
@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   \n\n",
        "<summary></summary>",
        "<summary>...</summary>",
        "<summary>..\n..\n</summary>",
        "<retain>\n</retain><summary>\n[TODO]\n</summary>",
        "```\n```",
        "{}",
        '{"summary": ""}',
        "null",
        "<think>I think and think and never come to an end of all this thinking",
        FORMS["snapshot"],
        FORMS["retain"] + FORMS["summary"],
        "<state_snapshot><overall_goal>..</overall_goal></state_snapshot>",
        "overall_goal: ...\nkey_knowledge: ...\ncurrent_plan: [TODO]",
        "N/A",
        "<answer></answer><summery></summery><output/>",
    ],
)
def test_an_answer_without_content_is_bad(answer: str, kind: str) -> None:
    assert found(answer, kind) == Rejected("empty")


@pytest.mark.parametrize("instruction", [SUMMARY, SNAPSHOT])
def test_an_answer_that_repeats_the_instruction_is_bad(instruction: str) -> None:
    assert found(f"<summary>\n{instruction}\n</summary>") == Rejected("empty")


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I cannot summarize this conversation.",
        "As an AI language model, I have no access to it.",
        "申し訳ありませんが、その要約は作成できません。",
        "お手伝いできません。別の依頼をお願いします。",
    ],
)
def test_a_refusal_is_bad(answer: str) -> None:
    assert found(answer) == Rejected("off_task")


def test_what_is_longer_than_allowed_is_bad() -> None:
    longer = "\n".join(
        f"The user then asked for thing {'abcdefgh'[n % 8] * (n // 8 + 1)} to be done." for n in range(90)
    )
    assert found(longer, tokens=100) == Rejected("too_long")
    assert found("word " * 10**6, tokens=100) == Rejected("far_too_long")


def test_an_endless_line_counts_once() -> None:
    assert found(f"{GOOD}\n" * 20) == Accepted(GOOD)


def test_a_sentence_said_again_and_again_counts_once() -> None:
    loop = "The assistant then looked at the login once more. Then it looked at the tests. "
    assert found(f"<summary>\n{GOOD} {loop * 20}") == Accepted(f"{GOOD} {loop}".rstrip())


def test_what_was_written_inside_the_parentheses_of_the_form_is_taken_out_of_them() -> None:
    assert found(f"<summary>\n({GOOD})\n</summary>") == Accepted(GOOD)
    assert found("<summary>\nwhat happened, what holds now, what comes next\n</summary>") == Rejected("empty")


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("The user {} that the login in src/auth/login.py is fixed before the tests.", ("asked", "decided", "saw")),
        (
            "ユーザーは、src/auth/login.py のログインを直して、テストを通すことを{}。",
            ("求めました", "決めました", "終えました"),
        ),
    ],
)
def test_what_is_said_a_third_time_in_all_but_the_same_words_goes(sentence: str, words: tuple[str, ...]) -> None:
    lines = [sentence.format(word) for word in words]
    assert found("\n".join(lines)) == Accepted("\n".join(lines[:2]))
    assert found(" ".join(lines * 2)) == Accepted(" ".join(lines[:2]))


def test_lines_that_differ_in_a_name_a_number_or_a_not_all_stay() -> None:
    named = [f"- the tests of the login in src/auth/login.py need check_{word} to pass" for word in ("a", "b", "c")]
    counted = [f"- the tests of the login in src/auth/login.py are run {n} times to see" for n in (1, 2, 3)]
    denied = [f"- the tests of the login in src/auth/login.py do {word} pass" for word in ("always", "not", "never")]
    for lines in (named, counted, denied):
        assert found("\n".join(lines)) == Accepted("\n".join(lines))


def test_what_is_retained_need_not_be_said_again_in_the_summary() -> None:
    both = "(大人は2名)\n(部屋は海沿い)"
    answer = f"<retain>\n{both}\n</retain>\n<summary>\n{both}\n{GOOD}\n</summary>"
    assert found(answer) == Accepted(GOOD, "大人は2名\n部屋は海沿い")
    assert found(f"<retain>\n{GOOD}\n</retain>\n<summary>\n{GOOD}\n</summary>") == Accepted(GOOD)


def test_a_line_to_keep_that_the_summary_holds_as_it_stands_is_not_shown_twice() -> None:
    said = "- src/auth/login.py\n- two tests\n- auth/login"
    assert found(f"<retain>\n{said}\n</retain><summary>{GOOD}</summary>") == Accepted(GOOD)
    kept = "The login\nNever push it.\nsrc/auth"
    assert found(f"<retain>\n{kept}\n</retain><summary>{GOOD}</summary>") == Accepted(GOOD, "Never push it.")


def test_code_in_backticks_is_not_split_where_a_sentence_might_end() -> None:
    said = [Utterance("TOOL", 'const model = given ?? "openai/gpt-5"; args.push("--fast")\nif (!model) login(user?)')]
    line = f'{GOOD} Set: `const model = given ?? "openai/gpt-5";`, then `--fast` only `if (!model)`, in `login(user?)`.'
    evidence = Evidence.of([*SAID, *said])
    assert check_answer(f"<summary>{line}</summary>", "summary", evidence, 400, count) == Accepted(line)


def test_one_letter_in_backticks_does_not_take_what_follows_for_code() -> None:
    line = f"{GOOD} It printed `s` instead of `x`, then pytest stopped in `check_password`."
    said = [Utterance("RESULT", "s x")]
    evidence = Evidence.of([*SAID, *said])
    assert check_answer(f"<summary>{line}</summary>", "summary", evidence, 400, count) == Accepted(line)


def test_a_line_that_says_only_what_was_asked_for_is_left_out() -> None:
    echo = "The user's requirements, preferences, decisions, names and values are kept to the letter."
    assert found(f"<retain>\n{echo}\n</retain>\n<summary>\n{GOOD}\n</summary>") == Accepted(GOOD)
    said = "The requirements of the user are kept in docs/a.md to the letter."
    assert found(f"<retain>\n{said}\n</retain>\n<summary>\n{GOOD}\n</summary>").dropped == 1, "which names something"


def test_signs_that_could_not_be_sent_on_are_left_out() -> None:
    assert found(f"<summary>\n\ud83d{GOOD}\x00\udc00\n</summary>") == Accepted(GOOD)


def test_of_a_long_line_that_breaks_off_the_last_sentence_goes() -> None:
    long = f"{GOOD} After that the user asked for more tests of the login, and for a note in the log of changes."
    assert found(f"<summary>\n{long} The next step is to look", tokens=50) == Accepted(long)


def test_of_an_answer_that_breaks_off_the_last_line_goes() -> None:
    answer = f"<summary>\n{GOOD}\nThe next step is to look at the"
    assert found(answer, tokens=27) == Accepted(GOOD)
    assert found(answer, tokens=500) == Accepted(f"{GOOD}\nThe next step is to look at the")


def test_only_what_breaks_off_loses_its_end() -> None:
    goal = "The login of every user works again, and the tests of the login show it"
    fields = f"<overall_goal>\n{goal}\n</overall_goal>\n<current_plan>\nFix the login.\nRun both of the tests"
    whole = f"<state_snapshot>\n{fields}\n</current_plan>\n</state_snapshot>"
    assert found(whole, "snapshot", count(whole)) == Accepted(whole)
    broken = f"<state_snapshot>\n{fields}"
    assert found(broken, "snapshot", count(broken) + 4) == Accepted(whole.replace("\nRun both of the tests", ""))


def test_what_is_a_little_too_long_loses_its_last_lines() -> None:
    lines = [f"{GOOD} That is time {nth}." for nth in range(1, 6)]
    answer = "<summary>\n{}\n</summary>".format("\n".join(lines))
    assert found(answer, tokens=count("\n".join(lines)) - 3) == Accepted("\n".join(lines[:-1]))
    assert found(answer, tokens=count("\n".join(lines[:3]))) == Rejected("too_long")


@pytest.mark.parametrize(
    "line",
    [
        "- The file src/auth/token.py was changed.",
        "- It took 5678 ms.",
        "- `npm run build` was run.",
        "- See https://example.org/other.",
        "- Commit 9e8d7c6b was made.",
        "- utils.py holds the rest.",
        "- More under ref=abcdefghijkl.",
        "- `check_token` is next.",
        "- /etc/nginx/nginx.conf was read.",
    ],
)
def test_a_line_that_names_what_was_never_said_is_dropped(line: str) -> None:
    assert found(f"<summary>\n- {GOOD}\n{line}\n- Next, fix it.\n</summary>") == Accepted(
        f"- {GOOD}\n- Next, fix it.", dropped=1
    )


@pytest.mark.parametrize(
    "line",
    [
        "login.py and auth/login.py and src/auth are the same place.",
        "It took 1234 ms (1,234).",
        "`pytest -q tests/test_login.py --maxfail=1` was run, and `Pytest -q` too.",
        "`check_password()` at 3f2a9c1; see https://example.org/a?b=1.",
        "tests/login.py does not exist and/or was moved.",
        "Items 1, 2 and 30 are done (3/4).",
    ],
)
def test_a_line_that_names_what_was_said_stays(line: str) -> None:
    assert found(f"{GOOD}\n{line}") == Accepted(f"{GOOD}\n{line}")


def test_of_a_long_paragraph_only_the_sentence_goes() -> None:
    told = "The user wants the login to work again, as it did before the last release of the program. "
    answer = f"{told}The file made_up.py was deleted. {GOOD} The cause is not known yet, and the tests are red."
    assert found(answer) == Accepted(answer.replace("The file made_up.py was deleted. ", ""), dropped=1)


def test_an_answer_that_is_mostly_made_up_is_bad() -> None:
    answer = f"{GOOD}\n- a.py\n- Changed b.py.\n- Changed c.py."
    assert found(answer) == Rejected("unfounded")


def test_japanese_has_substance_in_few_signs() -> None:
    assert count_substance("ログインを修正中") >= 16 > count_substance("[TODO] ... <summary>")
    assert found("<summary>ログインを修正している。</summary>") == Accepted("ログインを修正している。")


@given(st.text(), st.sampled_from(["summary", "snapshot"]), st.integers(1, 300))
def test_whatever_the_answer_is_what_is_used_is_small_and_has_content(answer: str, kind: str, tokens: int) -> None:
    for text in (answer, f"<summary>{answer}", f"{answer}</retain>{answer}{GOOD}", f'{{"summary": "{answer}'):
        used = found(text, kind, tokens)
        assert isinstance(used, Rejected) or (count(used.whole) <= tokens and count_substance(used.whole) >= 16)


@pytest.mark.parametrize(
    "text", ["a", " ", "`", "<summary>", "</think>", "a/", "\\", '{"summary": "', "1,", "。", "x.py "]
)
def test_odd_answers_are_read_in_no_time(text: str) -> None:
    start = time.process_time()
    for before in ("", "<summary>", "{"):
        check_answer(before + text * (60_000 // len(text)), "summary", EVIDENCE, 10_000, count)
    assert time.process_time() - start < 3


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("- `check_password` in src/auth/login.py is called by made_up.py.", None),
        ("- tests/test_login.py fails with 17 errors, 4,321 ms in all, in `check_password`.", ""),
        ("- src/auth/login.py and https://example.org/none were compared with `check_password`.", None),
        ("- `pytest --maxfail=1 tests/test_login.py` was run for src/auth/login.py.", ""),
    ],
)
def test_a_line_of_which_most_is_in_the_record_loses_a_name_and_not_itself(line: str, kept: str | None) -> None:
    used = found(f"<summary>\n- {GOOD}\n{line}\n</summary>")
    assert isinstance(used, Accepted) and used.dropped == 0
    last = used.text.split("\n")[-1]
    assert last == line if kept is not None else "[…]" in last and "`check_password`" in last
    assert "made_up" not in used.text and "example.org/none" not in used.text


def test_a_number_of_lines_that_was_counted_is_no_invention() -> None:
    said = [*SAID, Utterance("RESULT", "\n".join(["a row"] * 250))]
    answer = f"<summary>\n{GOOD}\n- The table has 250 rows.\n- It has 251 columns.\n</summary>"
    used = check_answer(answer, "summary", Evidence.of(said), 500, count)
    assert used == Accepted(f"{GOOD}\n- The table has 250 rows.", dropped=1)


RECORD = Evidence.of(
    [
        Utterance(
            "RESULT", "internal/provider/github.go has 440 lines; git show entire/v1:8a/51/metadata.json; README.md"
        )
    ]
)


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("GitHubはinternal/provider/github.goを使う", "GitHubはinternal/provider/github.goを使う"),
        ("READMEのREADME.mdとして残す", "READMEのREADME.mdとして残す"),
        ("The metadata is read by `git show entire/v1:<two>/<rest>/metadata.json`.", None),
        ("The fix was applied again in lines 1068-1071 of it.", "The fix was applied again in lines […]-[…] of it."),
        ("Sizes grew to 1,234 bytes in 440 lines.", "Sizes grew to […] bytes in 440 lines."),
    ],
)
def test_a_name_beside_japanese_a_placeholder_and_a_number_do_not_cost_the_line(line: str, kept: str | None) -> None:
    found = check_answer(f"<summary>\n{line}\n</summary>", "summary", RECORD, 500, count)
    assert isinstance(found, Accepted) and found.text == (kept or line)
