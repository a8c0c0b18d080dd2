"""Detection of shell commands that cannot be undone.

Law: the search also covers commands behind sudo, in quotes, substitutions and heredocs, and those another program
starts. A command that cannot be resolved is reported as hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple

from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.analysis.shell import SHELLS, ShellCommand, split_commands, strip_heredocs

MAX_EXAMINED_CHARS = 10_000
"""Length of a command, without its heredocs, that is searched; a longer one counts as dangerous."""


class Danger(NamedTuple):
    why: str
    """Code of the sentence that explains it."""
    grave: bool = False
    """Ask even in the mode that asks nothing."""


MAX_EXAMINED_WORDS = 64
"""Words of a launcher (`env`, `xargs` …) that are searched for the command it starts."""

RUNNERS = frozenset("python python2 python3 node deno bun ruby perl php lua".split()) | SHELLS
LAUNCHERS = frozenset(
    "env xargs find nice ionice nohup timeout time watch parallel stdbuf setsid command exec builtin busybox ssh "
    "docker podman kubectl flock chroot unshare strace entr".split()
)
PRIVILEGE_COMMANDS = frozenset("sudo doas su pkexec runas".split())
DEVICES = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|disk|rdisk|mmcblk|mapper|md|dm-)")
_SYSTEM = frozenset(
    "shutdown reboot halt poweroff init telinit killall pkill systemctl launchctl service iptables nft ufw crontab at "
    "useradd userdel usermod passwd chpasswd visudo mount umount insmod rmmod modprobe sysctl swapoff".split()
)
_DISK = frozenset("fdisk parted sfdisk gdisk wipefs shred blkdiscard cryptsetup diskutil mkswap dd".split())
_PRIVILEGED = re.compile(
    r"(?:^|[;&|(`\n!{])[ \t]*(?:(?:time|nohup|env|command|exec|builtin|then|do|else|if|while|until|timeout[ \t]+\S{1,9}"
    rf"|\w{{1,40}}=\S{{0,99}})[ \t]+){{0,6}}(?:{'|'.join(PRIVILEGE_COMMANDS)})(?=\s|$)"
)
_BOMB = re.compile(
    r"([^\s(){};|&]{1,40})[ \t]*\(\)[ \t\n]*\{[ \t\n]*\1[ \t]*\|[ \t]*\1[ \t]*&"
    r"|\bwhile[ \t]+(?:true|:|1|\[ 1 \])[ \t]*;[ \t\n]*do\b[^\n;]{0,200}[^&]&[ \t]*(?:;[ \t]*)?done"
    r"|\bos\.fork\(\)"
)
_FETCHED = re.compile(
    r"(?:\b(?:eval|source|exec)\b|(?:^|[\s;&|])\.|\b(?:ba|z|da|k)?sh\b|\bpython3?\b)[^\n]{0,200}?(?:\$\(|<\(|`)[^\n]{0,40}?"
    r"\b(?:curl|wget|fetch|base64|nc)\b"
    r"|/dev/(?:tcp|udp)/|\b(?:nc|ncat)\b[^\n|;]{0,100} -[a-z]*[ec]\b"
)
_LOGIN_FILES = re.compile(
    r"(?:^|[/~}])\.(?:ssh|gnupg|aws|kube)(?:/|$)|(?:~|\$HOME|\$\{HOME\}|^/root|^/home/[^/]+|^/Users/[^/]+)/"
    r"\.(?:bash\w*|zsh\w*|profile|login|gitconfig|netrc|npmrc|pypirc|config|local)(?:/|$)|^/etc/|^/boot/|^/usr/|^/bin/"
    r"|authorized_keys"
)
_PATTERNS = (
    (_BOMB, Danger("tools_bomb", grave=True)),
    (_FETCHED, Danger("tools_pipe_shell")),
    (_PRIVILEGED, Danger("tools_sudo")),
    (re.compile(r"\b(?:ba|z|da|k|a)?sh\b[^\n|;&]{0,100}<<<"), Danger("tools_hidden")),
)
_EVERYTHING = frozenset(("*", ".", "./", "./*", ".*"))
_NAME_FILTERS = frozenset("-name -iname -path -ipath -regex -wholename".split())
_HOME = re.compile(
    r"(?:~\w*|\$HOME|\$\{HOME[^}]*\})[/.]*\**$|/[/.]*\**$|/[^/\s]+/?\**$|\.\.(?:/\.\.)*/?\**$"
    r"|/(?:home|Users)/[^/]+/?\**$"
)
"""A home folder, the root, a folder directly under the root, or one above the project."""


def find_danger(command: str) -> Danger | None:
    """Return the worst danger found in a command; None for an everyday one."""
    found = [each for each in _find_dangers(command, 3) if each]
    return next((each for each in found if each.grave), found[0] if found else None)


def _find_dangers(command: str, depth: int) -> Iterator[Danger | None]:
    bare = strip_heredocs(command)
    if len(bare) > MAX_EXAMINED_CHARS:
        yield Danger("tools_hidden")
        bare = bare[:MAX_EXAMINED_CHARS]
    for pattern, found in _PATTERNS:
        yield found if pattern.search(bare) else None
    fed = depth > 0 and "<<" in command
    above = False
    for one in split_commands(bare):
        yield from _find_in_command(one, depth)
        if one.words[:1] == ("cd",):
            above = all(map(_HOME.match, one.words[1:2]))
        elif above and "rm" in one.words and not _EVERYTHING.isdisjoint(one.words):
            yield Danger("tools_root", grave=True)
        if fed and one.words and PurePath(one.words[0]).name in SHELLS:
            yield from _find_dangers(command.partition("\n")[2], depth - 1)
    for inner in _find_substitutions(bare) if depth else ():
        yield from _find_dangers(inner, depth - 1)


def _find_in_command(one: ShellCommand, depth: int) -> Iterator[Danger | None]:
    for path in (*one.writes, *one.appends):
        yield Danger("tools_disk", grave=True) if DEVICES.match(path) else None
        yield Danger("tools_home", grave=True) if _LOGIN_FILES.search(path) else None
    yield Danger("tools_secret_sent") if any(holds_secrets(word) for word in (*one.words, *one.reads)) else None
    if not one.words:
        return
    name = PurePath(one.words[0]).name
    if one.words[0].startswith(("$", "`")):
        yield Danger("tools_hidden")
    if one.piped and name in RUNNERS and all(word.startswith("-") for word in one.words[1:]):
        yield Danger("tools_pipe_shell")
    launches = name in LAUNCHERS | PRIVILEGE_COMMANDS or name.startswith(
        "-"
    )  # of `sudo -u me rm` the words begin with `-u`
    if launches and len(one.words) > MAX_EXAMINED_WORDS:
        yield Danger("tools_hidden")
    for at in range(min(MAX_EXAMINED_WORDS, len(one.words)) if launches else 1):
        yield _judge_program(PurePath(one.words[at]).name, one.words[at + 1 :])
    if depth and name in ("eval", "ssh", "watch", "su", "trap", "coproc") and len(one.words) > 1:
        yield from _find_dangers(" ".join(one.words[1:]), depth - 1)
    for inner in _nested_commands(name, one.words[:MAX_EXAMINED_WORDS]) if depth else ():
        yield from _find_dangers(inner, depth - 1)
    if name == "find" and _NAME_FILTERS.isdisjoint(one.words) and not {"-delete", "rm"}.isdisjoint(one.words):
        yield Danger("tools_root", grave=True) if any(map(_HOME.match, one.words[1:])) else None
    if launches and depth:
        shells = [at for at, word in enumerate(one.words[:MAX_EXAMINED_WORDS]) if at and PurePath(word).name in SHELLS]
        for at in shells[:1]:
            yield from _find_dangers(" ".join(one.words[at + 2 :]), depth - 1)


def _nested_commands(name: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield commands passed to a program as one of its words."""
    for at, word in enumerate(words[1:], 1):
        before, _, value = word.partition("=")
        if name in SHELLS and re.fullmatch(r"-\w{0,3}c", words[at - 1]):
            yield word
        elif value and " " in value and (before.startswith("--") or (name == "git" and words[at - 1] == "-c")):
            yield value.lstrip("!")


def _judge_program(name: str, rest: tuple[str, ...]) -> Danger | None:
    options = "".join(word[1:] for word in rest if re.match(r"-\w", word))
    grave = any(_HOME.match(word) for word in rest if not word.startswith("-"))
    recursive = "r" in options or "R" in options or "--recursive" in rest
    match name:
        case "rm" if recursive and grave:
            return Danger("tools_root", grave=True)
        case "rsync" if any(word.startswith("--del") for word in rest) and _HOME.match(rest[-1]):
            return Danger("tools_root", grave=True)
        case "mv" if any(_HOME.match(word) for word in rest[:-1]):
            return Danger("tools_root", grave=True)
        case "cp" | "mv" | "tee" | "ln" | "install" | "sed" | "truncate" | "rm" if any(map(_LOGIN_FILES.search, rest)):
            return Danger("tools_home", grave=True)
        case "rm" if recursive or "f" in options or "--force" in rest:
            return Danger("tools_rm")
        case "rmtree" | "srm" | "unlink" | "trash-empty":
            return Danger("tools_rm")
        case "find" if "-delete" in rest:
            return Danger("tools_rm")
        case "rsync" if any(word.startswith("--del") for word in rest):
            return Danger("tools_rm")
        case "truncate":
            return Danger("tools_rm")
        case "chmod" | "chown" | "chgrp" if recursive:
            return Danger("tools_root", grave=True) if grave else Danger("tools_rights")
        case "git":
            return _judge_git(rest)
        case "curl" | "wget" if any(_LOGIN_FILES.search(word) for word in rest):
            return Danger("tools_home", grave=True)
    if name in _DISK or name.startswith("mkfs"):
        return Danger("tools_disk", grave=any(DEVICES.search(word) for word in rest))
    if name in _SYSTEM or (name == "kill" and "-1" in rest[-1:]):
        return Danger("tools_system")
    return Danger("tools_sudo") if name in PRIVILEGE_COMMANDS else None


def _judge_git(rest: tuple[str, ...]) -> Danger | None:
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c") else 1
    verb, rest = (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())
    short = "".join(word[1:] for word in rest if re.match(r"-\w", word))
    long = " ".join(word for word in rest if word.startswith("--"))
    forced = "f" in short or "--force" in long
    if verb == "push" and (
        forced or "d" in short or "--mirror" in long or "--delete" in long or any(w[0] in "+:" for w in rest if w)
    ):
        return Danger("tools_push")
    lost = {
        "reset": "--hard" in long,
        "clean": forced,
        "checkout": forced or "--" in rest or "." in rest,
        "restore": "--staged" not in long,
        "branch": forced or not {"D", "M", "C"}.isdisjoint(short),
        "switch": forced or "--discard-changes" in long or "C" in short,
        "rm": forced,
        "worktree": forced,
        "stash": bool(rest) and rest[0] in ("drop", "clear"),
        "filter-branch": True,
        "reflog": bool(rest) and rest[0] == "expire",
    }
    return Danger("tools_lose") if lost.get(verb) else None


_SUBSTITUTION = re.compile(r"\$\(([^()]{1,2000})\)|`([^`]{1,2000})`|[<>]\(([^()]{1,2000})\)")


def _find_substitutions(command: str) -> list[str]:
    return ["".join(each) for each in _SUBSTITUTION.findall(command)]
