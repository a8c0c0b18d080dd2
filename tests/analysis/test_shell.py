from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.shell import ShellCommand, split_commands, strip_heredocs


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("cat a.py", [ShellCommand(("cat", "a.py"))]),
        ("cat 'a b.py' \"c d\" e\\ f", [ShellCommand(("cat", "a b.py", "c d", "e f"))]),
        ("cd x && ls; rm y", [ShellCommand(("cd", "x")), ShellCommand(("ls",)), ShellCommand(("rm", "y"))]),
        ("cat a | head -3", [ShellCommand(("cat", "a")), ShellCommand(("head", "-3"), piped=True)]),
        ("echo hi > a 2>&1", [ShellCommand(("echo", "hi"), writes=("a",))]),
        ("echo hi >> a 2> b", [ShellCommand(("echo", "hi"), writes=("b",), appends=("a",))]),
        ("sort < a", [ShellCommand(("sort",), reads=("a",))]),
        ("X=1 sudo timeout 5 cat a", [ShellCommand(("cat", "a"))]),
        ("bash -lc 'cd x && cat y'", [ShellCommand(("cd", "x")), ShellCommand(("cat", "y"))]),
        ("cat a # not > b", [ShellCommand(("cat", "a"))]),
        ("cat <<< word", [ShellCommand(("cat",))]),
        ("", []),
    ],
)
def test_a_command_is_taken_apart(command: str, found: list[ShellCommand]) -> None:
    assert list(split_commands(command)) == found


def test_the_body_of_a_heredoc_is_no_command() -> None:
    command = "cat > a.py <<'EOF'\nrm -rf x > y\nEOF\npython a.py"
    assert split_commands(command) == (ShellCommand(("cat",), writes=("a.py",)), ShellCommand(("python", "a.py")))


def test_a_heredoc_inside_a_message_is_left_out_too() -> None:
    command = 'git commit -m "$(cat <<\'EOF\'\nsay "hello" > now\nEOF\n)" && git push'
    assert strip_heredocs(command) == "git commit -m \"$(cat <<'EOF'\n)\" && git push"
    assert split_commands(command)[-1] == ShellCommand(("git", "push"))


def test_a_heredoc_that_never_ends_is_left_as_it_stands() -> None:
    assert strip_heredocs("cat <<EOF\nabc") == "cat <<EOF\nabc"


WORD = st.text(alphabet="ab '\"\\<>|&;()\n#$-", max_size=8)


@given(st.lists(WORD, min_size=1, max_size=6))
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in ["run", *words])
    assert split_commands(quoted) == (ShellCommand(("run", *words)),)


@pytest.mark.parametrize("piece", ["'", "'\n", "<<a\n", '"', "a", " ", "\\", "(", "<"])
def test_a_huge_command_is_no_trouble(piece: str) -> None:
    assert isinstance(split_commands(piece * (1_000_001 // len(piece))), tuple)
