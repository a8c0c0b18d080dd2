from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from yohaku.agent.toolkit.dry_run.values import is_unknown, show_value
from yohaku.agent.toolkit.dry_run.walker import DryRun

BASH = shutil.which("bash")
ENVIRON = {
    "HOME": "/home/me",
    "USER": "me",
    "EMPTY": "",
    "LIST": "a b  c",
    "FILE": "/x/y/name.tar.gz",
    "PATH": os.defpath,
}
WORDS = r"""
~ ~/x "~" '~' \~ x~ ~/"a b" X=~ --x=~ ~+ ~+/y
$HOME "$HOME" '$HOME' \$HOME "\$HOME" ${HOME} "${HOME}/x" $HOMEx "$HOME"x
$UNSET "$UNSET" a$UNSET"b" ${UNSET} ${UNSET:-x} ${UNSET-x} ${EMPTY:-x} ${EMPTY-x} ${HOME:-x} ${HOME:+y} ${UNSET:+y}
${UNSET:-$HOME} ${UNSET:-~} "${UNSET:-a b}" ${EMPTY+set} ${HOME:?}
$LIST "$LIST" x$LIST x"$LIST"y ${LIST}z
${FILE#*/} ${FILE##*/} ${FILE%.*} ${FILE%%.*} ${FILE%/*} "${HOME%/}"
{a,b} x{a,b}y {a,b}{c,d} {a} {a,{b,c}} "{a,b}" {a,b "x"{a,b} {~,x} {$HOME,y} {a..c} a{,b}
$(echo hi) "$(echo hi there)" $(echo hi there) `echo hi` $(echo $(echo in)) "$(printf '%s' x)" $(pwd) a$(echo b)c
$(echo "$HOME") $(dirname /a/b) $(basename /a/b) "$(cd /; pwd)" $(true) x$(true)y
$'a\tb' $'\x41' $"x" 'a'\''b' "a"'b'c \a "\a" "\\" a\ b "$"
""".split("\n")


@pytest.mark.skipif(BASH is None, reason="needs bash")
def test_words_have_the_values_bash_gives_them() -> None:
    for words in filter(None, WORDS):
        told = subprocess.run(
            [str(BASH), "--norc", "-fc", f"printf '%s\\0' {words}"],
            capture_output=True,
            check=True,
            env=ENVIRON,
            cwd="/",
        )
        expected = told.stdout.decode().split("\0")[:-1]
        run = DryRun("/", "/home/me", ENVIRON)
        (program,) = [one for one in run.run(f"started {words}") if one.name == "started"]
        assert list(program.shown[1:]) == expected, words


@pytest.mark.parametrize(
    "words",
    ["$(cat x)", "${!x}", "${HOME/a/b}", "${HOME:1:2}", "$(sed p x)", "$_", "${HOME^^}", "$(echo x | tr x /)"],
)
def test_what_only_running_would_tell_is_unknown(words: str) -> None:
    (program, *_) = [one for one in DryRun("/", "/home/me", ENVIRON).run(f"started {words}") if one.name == "started"]
    assert any(map(is_unknown, program.words))


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd /a; started", "/a"),
        ("cd /a && cd b && started", "/a/b"),
        ("cd; started", "/home/me"),
        ("cd ~; started", "/home/me"),
        ("cd /a; cd -; started", "/root"),
        ("pushd /a; popd; started", "/root"),
        ("(cd /a); started", "/root"),
        ("cd /a | ls; started", "/root"),
        ("cd /a/../b; started", "/b"),
        ("f() { cd /a; }; f; started", "/a"),
    ],
)
def test_the_folder_is_followed(command: str, folder: str) -> None:
    found = [one for one in DryRun("/root", "/home/me", ENVIRON).run(command) if one.name == "started"]
    assert folder in found[-1].folders


def test_a_variable_has_every_value_it_may_have() -> None:
    run = DryRun("/", "/home/me", ENVIRON)
    found = run.run("if a; then X=1; else X=2; fi; started $X")
    assert {show_value(word) for one in found if one.name == "started" for word in one.words[1:]} == {"1", "2"}
