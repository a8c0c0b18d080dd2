from __future__ import annotations

from tests.lab.sessions import called, recorded, result, said, user
from yohaku.lab.entries import Entry
from yohaku.lab.visibility import VisibilityScore, VisibilityScorer, with_origin

PROMPT = "Please look at app.py. You must never delete key_file. " + "Here is more of it. " * 5
SESSION = recorded(
    user(PROMPT),
    called("a", path="src/app.py"),
    result("a", "first_name = 1\nlast_name = 2"),
    called("b", path="src/util.py"),
    result("b", "other_name = 3"),
    said("first_name, last_name, other_name and key_file in src/app.py"),
)
TARGET = SESSION.targets[-1]
ORIGINALS = {"r1": "first_name = 1\nlast_name = 2", "r2": '{"x": "a\\nother_name"}'}


def look(*shown: Entry) -> VisibilityScore:
    return VisibilityScorer(SESSION, lambda ref: ORIGINALS.get(ref, "")).score(TARGET, list(shown))


def test_everything_is_seen_in_the_history_itself() -> None:
    found = look(*SESSION.entries[:-1])
    assert TARGET.all == {"first_name", "last_name", "other_name", "key_file", "src/app.py", "app.py"}
    assert found == VisibilityScore(frozenset(), 0, 1, 1, 1.0, frozenset())


def test_nothing_is_seen_in_nothing() -> None:
    assert look() == VisibilityScore(TARGET.all, 0, 0, 1, 0.0, frozenset())


def test_a_result_cut_in_its_place_shows_what_is_left_of_it_and_of_nothing_else() -> None:
    cut = result("a", "first_name other_name")
    found = look(SESSION.entries[0], SESSION.entries[1], cut)
    assert found.missing == {"last_name", "other_name"}


def test_a_list_of_names_is_seen_only_where_its_origin_is_told() -> None:
    assert look(user("first_name, last_name, other_name")).missing == TARGET.all
    told = look(user("[read_file src/app.py]\nfirst_name, last_name, other_name"))
    assert told.missing == {"key_file"}


def test_a_prompt_cut_short_is_still_the_users() -> None:
    assert look(user(PROMPT[:60] + "\n[…]")).missing == {"first_name", "last_name", "other_name", "src/app.py"}


def test_what_a_visible_ref_opens_is_counted() -> None:
    found = look(SESSION.entries[0], called("a", path="src/app.py"), result("a", "[folded; ref=r1]"))
    assert (found.missing, found.openable) == ({"first_name", "last_name", "other_name"}, 2)
    assert look(user("[folded; ref=r2]")).openable == 1


def test_rules_are_seen_when_they_are_told_word_for_word() -> None:
    assert look(user("The user had asked:\n- You must never  delete key_file. ok")).rules == 1
    assert look(user("The user had asked:\n- never delete key_file")).rules == 0


def test_files_told_of_count_and_invented_ones_are_noticed() -> None:
    found = look(user("Files read: src/app.py, util.py, src/ghost.py"))
    assert found.fabricated == {"src/ghost.py"}
    assert found.f1 == 2 * 2 / (3 + 2)


TOOLS = frozenset(("read_file", "Bash"))


def kept(*lines: str) -> list[str]:
    found = with_origin("\n".join(lines), TOOLS)
    return found.split("\n") if found else []


def test_a_bare_list_of_names_has_no_origin() -> None:
    assert kept("foo_bar, bazQux, src/a.py", "- get_key set_key") == []
    assert kept("Names: foo_bar, bazQux") == []
    assert kept("[Earlier conversation folded: 12 steps; ref=abc]", "foo_bar bazQux") == []


def test_a_list_under_a_call_a_file_or_a_speaker_has_one() -> None:
    assert kept("[read_file src/a.py]", "foo_bar, bazQux") == ["[read_file src/a.py]", "foo_bar, bazQux"]
    assert kept("src/a.py: foo_bar, bazQux") == ["src/a.py: foo_bar, bazQux"]
    assert kept("The user had asked:", "- fix foo_bar") == ["The user had asked:", "- fix foo_bar"]
    assert kept("利用者の依頼：", "foo_bar, bazQux") == ["利用者の依頼：", "foo_bar, bazQux"]
    assert kept("Files read: a.py, b.py") == ["Files read: a.py, b.py"]


def test_a_sentence_without_any_origin_has_none() -> None:
    assert kept("It is about foo_bar.") == []
    assert kept("In Bash it is about foo_bar.") == ["In Bash it is about foo_bar."]


def test_an_origin_reaches_ten_lines_and_a_title_to_the_next_title() -> None:
    lines = [f"line {number} of it" for number in range(15)]
    assert kept("it was in a.py there", *lines) == ["it was in a.py there", *lines[:10]]
    assert kept("[Bash ls]", *lines) == ["[Bash ls]", *lines]
    far = [f"{number}" for number in range(12)]
    assert kept("[Bash ls]", *far, "[Names]", "foo_bar bazQux") == ["[Bash ls]", *far]


def test_a_bare_list_is_no_origin_for_what_follows_it() -> None:
    assert kept("src/a.py src/b.py", "about foo_bar") == []


def test_a_prompt_behind_a_gist_in_one_message_is_seen_as_it_was_recorded() -> None:
    alone, behind = look(SESSION.entries[0]), look(user(f"[folded]\nnothing\n\n[The user's own message:]\n{PROMPT}"))
    assert (behind.missing, behind.rules) == (alone.missing, alone.rules)
    assert behind.missing == {"first_name", "last_name", "other_name", "src/app.py"} and behind.rules == 1
    bare = "key_file, some_file"
    session = recorded(user(bare), called("a"), result("a", "x_y"), said("It is key_file."))
    scorer = VisibilityScorer(session, lambda ref: "")
    assert scorer.score(session.targets[-1], [user(f"[folded]\n{bare}")]).missing == set()
