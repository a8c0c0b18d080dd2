from __future__ import annotations

import json

import pytest

from tests.lab.sessions import called
from yohaku.lab.rules_and_files import f1, files_of, rules_in


def test_a_rule_is_a_sentence_with_a_rule_word() -> None:
    text = (
        "Fix it.  You must\nkeep v1.2 alive. Don't touch a.py! Is only that ok? Fine.\n必ず日本語で書くこと。終わり。"
    )
    assert rules_in(text) == {"You must", "Don't touch a.py!", "Is only that ok?", "必ず日本語で書くこと。"}
    assert rules_in("Commonly, a mustache.") == set()


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({"file_path": "./src/a.py", "content": "import b/c.py"}, {"src/a.py"}),
        ({"command": "cat src/a.py notes.md | grep x"}, {"src/a.py", "notes.md"}),
        ({"command": "cat <<'EOF' > out.txt\nfrom src/b.py\nEOF"}, {"out.txt"}),
        ({"patch": "*** Update File: src/a.py\n@@\n-b/c.py\n"}, {"src/a.py"}),
        ({"diff": "--- a/src/a.py\n+++ b/src/a.py\n"}, {"src/a.py"}),
        ({"query": "src/a.py"}, set()),
    ],
)
def test_the_files_of_a_call_are_found_in_its_arguments(arguments: dict[str, str], files: set[str]) -> None:
    assert files_of(called("a", **arguments)) == files
    assert json.loads(called("a", **arguments)["tool_calls"][0]["function"]["arguments"]) == arguments


def test_files_are_told_as_well_as_they_are_named_and_nothing_else_is() -> None:
    assert f1({"/r/a.py", "/r/b.py"}, {"/r/a.py", "/r/b.py"}) == 1
    assert f1({"/r/a.py", "/r/b.py"}, {"/r/a.py"}) == pytest.approx(2 / 3)
    assert f1({"/r/a.py"}, {"/r/a.py", "/r/x.py"}) == pytest.approx(2 / 3)
    assert f1({"/r/a.py"}, set()) == 0


def test_a_path_without_its_beginning_stands_for_the_one_it_ends() -> None:
    assert f1({"/r/src/a.py", "src/a.py"}, {"a.py"}) == 1
    assert f1({"/r/a/x.py", "/r/b/x.py"}, {"x.py"}) == 0
