from __future__ import annotations

from yohaku.lab.origin import with_origin

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
