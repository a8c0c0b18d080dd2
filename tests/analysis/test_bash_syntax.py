from __future__ import annotations

import random
import shutil
import subprocess

import pytest

from yohaku.analysis.bash_syntax import parse_bash
from yohaku.analysis.bash_tree import Compound, Pipeline, Script, SimpleCommand, plain_text

BASH = shutil.which("bash")


def words_of(script: Script) -> list[str | None]:
    (item,) = script.items
    assert isinstance(item.node, SimpleCommand)
    return [plain_text(word) for word in item.node.words]


def names_of(script: Script) -> list[str | None]:
    found: list[str | None] = []
    for item in script.items:
        node = item.node
        if isinstance(node, SimpleCommand):
            found += [plain_text(word) for word in node.words[:1]]
        elif isinstance(node, Pipeline):
            found += [name for one in node.commands for name in names_of(Script((item._replace(node=one),)))]
        elif isinstance(node, Compound):
            found += [name for part in node.parts for name in names_of(part)]
    return found


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_quotes_are_read_as_bash_reads_them() -> None:
    pieces = [
        "a", "'b c'", '"d e"', "\\ ", "\\'", '"\\""', "'\\'", '"\\a"', "$'x\\ty'", "$'\\x41'", "''", '""', "-", "=",
        "é", "　", "%", "{x", "}", ":", ",", "\\\n", "'\n'", '"\\\n"', "$'\\''", "!", "\\\\", "*", "[a", "?",
    ]  # fmt: skip
    chosen = random.Random(1)
    for _ in range(60):
        lines = ["".join(chosen.choices(pieces, k=chosen.randint(1, 6))) for _ in range(8)]
        told = subprocess.run(
            [str(BASH), "--norc", "-c", "set -f; printf '%s\\0' x " + " ".join(lines)],
            capture_output=True,
            check=True,
        )
        expected = told.stdout.decode().split("\0")[:-1]
        script = parse_bash("printf x " + " ".join(lines))
        if not any(line[0] == "#" for line in lines):
            assert words_of(script)[1:] == expected, lines


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a && b || c; d & e", ["a", "b", "c", "d", "e"]),
        ("a | b |& c", ["a", "b", "c"]),
        ("(a; b) && { c; }", ["a", "b", "c"]),
        ("if a; then b; elif c; then d; else e; fi; f", ["a", "b", "c", "d", "e", "f"]),
        ("while a; do b; done < x; c", ["a", "b", "c"]),
        ("until a\ndo\nb\ndone\nc", ["a", "b", "c"]),
        ("for x in 1 2; do a; done; b", ["a", "b"]),
        ("for ((i=0; i<3; i++)); do a; done; b", [None, "a", "b"]),
        ("case x in a|b) c;; (d) e;; *) f; esac; g", ["c", "e", "f", "g"]),
        ("f() { a; }; g", ["a", "g"]),
        ("function f { a; }\ng", ["a", "g"]),
        ("a <<X && b\ntext; c\nX\nd", ["a", "b", "d"]),
        ("a <<-X\n\ttext\n\tX\nb", ["a", "b"]),
        ("[[ a && b ]] && c", ["[[", "c"]),
        ("! a", ["a"]),
        ("time -p a", ["a"]),
        ("a # b\nc", ["a", "c"]),
        ("a#b c", ["a#b"]),
        ("a \\\n b; c", ["a", "c"]),
        ("((a; b) ; c)", ["a", "b", "c"]),
        ("X=1 Y='a b' a", ["a"]),
        ("> x a 2>&1 &> y", ["a"]),
        ("echo done; fi_x", ["echo", "fi_x"]),
    ],
)
def test_the_commands_of_a_line_are_found(text: str, names: list[str | None]) -> None:
    script = parse_bash(text)
    assert script.exact
    assert names_of(script) == names


@pytest.mark.parametrize(
    "text", ["a 'b", 'a "b', "a $(b", "a `b", "(a", "{ a", "if a", "a <<X\nb", "a)", "f(x)", "a &&& b", "${a"]
)
def test_what_bash_would_refuse_is_not_exact(text: str) -> None:
    assert not parse_bash(text).exact


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_what_is_called_exact_is_accepted_by_bash() -> None:
    tokens = [
        "a", "b", "'c d'", '"$x"', "$(a)", "`a`", "|", "||", "&&", ";", "&", "(", ")", "{", "}", "\n", "if", "then",
        "fi", "for", "in", "do", "done", "while", "case", "esac", ";;", ">", "<", "x", "2>&1", "!", "<(a)", "$((1))",
        "#", "x=1", "[[", "]]", "f()",
    ]  # fmt: skip
    chosen = random.Random(2)
    tried = 0
    for _ in range(400):
        text = " ".join(chosen.choices(tokens, k=chosen.randint(2, 7)))
        if parse_bash(text).exact:
            tried += 1
            told = subprocess.run([str(BASH), "--norc", "-n", "-c", text], capture_output=True, check=False)
            assert not told.stderr, (text, told.stderr)
    assert tried > 30
