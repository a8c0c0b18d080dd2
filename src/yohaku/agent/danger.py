"""What a shell command may do that cannot be undone, and which commands a user's "always" covers.

Law: when in doubt it is asked. A command is known by its first words only where nothing in it can hide another one;
what is dangerous is asked again whatever was allowed before.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import NamedTuple

from yohaku.core.shell import SHELLS, Simple, simple, without_heredocs

LONGEST = 2_000
"""Characters of a command that can be remembered."""
LOOKED_AT = 20_000
"""Characters of a command, without its heredocs, in which danger is looked for; in a longer one it is assumed."""


class Danger(NamedTuple):
    why: str
    """The name of a sentence in `words_tools`."""
    grave: bool = False
    """Asked even of who wants no questions."""


# What is dangerous

RUNNERS = frozenset("python python2 python3 node deno bun ruby perl php lua".split()) | SHELLS
LAUNCHERS = frozenset(
    "env xargs find nice ionice nohup timeout time watch parallel stdbuf setsid command exec builtin busybox ssh "
    "docker podman kubectl flock chroot unshare strace entr".split()
)
RAISE = frozenset("sudo doas su pkexec runas".split())
DEVICES = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|disk|rdisk|mmcblk|mapper|md|dm-)")
_SYSTEM = frozenset(
    "shutdown reboot halt poweroff init telinit killall pkill systemctl launchctl service iptables nft ufw crontab at "
    "useradd userdel usermod passwd chpasswd visudo mount umount insmod rmmod modprobe sysctl swapoff".split()
)
_DISK = frozenset("fdisk parted sfdisk gdisk wipefs shred blkdiscard cryptsetup diskutil mkswap dd".split())
_RAISED = re.compile(
    r"(?:^|[;&|(`\n!{])[ \t]*(?:(?:time|nohup|env|command|exec|builtin|then|do|else|if|while|until|timeout[ \t]+\S{1,9}"
    rf"|\w{{1,40}}=\S{{0,99}})[ \t]+){{0,6}}(?:{'|'.join(RAISE)})(?=\s|$)"
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
_LOGIN = re.compile(
    r"(?:^|[/~}])\.(?:ssh|gnupg|aws|kube)(?:/|$)|(?:~|\$HOME|\$\{HOME\}|^/root|^/home/[^/]+|^/Users/[^/]+)/"
    r"\.(?:bash\w*|zsh\w*|profile|login|gitconfig|netrc|npmrc|pypirc|config|local)(?:/|$)|^/etc/|^/boot/|^/usr/|^/bin/"
    r"|authorized_keys"
)
_SIGNS = (
    (_BOMB, Danger("tools_bomb", grave=True)),
    (_FETCHED, Danger("tools_pipe_shell")),
    (_RAISED, Danger("tools_sudo")),
)
_HOME = re.compile(
    r"(?:~|\$HOME|\$\{HOME\})/?\**$|/\**$|/[^/\s]+/?\**$|\.\.(?:/\.\.)*/?\**$|/(?:home|Users)/[^/]+/?\**$"
)
"""A home folder, the root, what lies directly under it, or what lies above the project."""


def danger(command: str) -> Danger | None:
    """The worst a command may do, as far as it can be seen; None for everyday things."""
    found = [each for each in _dangers(command, 3) if each]
    return next((each for each in found if each.grave), found[0] if found else None)


def _dangers(command: str, depth: int) -> Iterator[Danger | None]:
    bare = without_heredocs(command)
    if len(bare) > LOOKED_AT:
        yield Danger("tools_hidden")
        bare = bare[:LOOKED_AT]
    for pattern, found in _SIGNS:
        yield found if pattern.search(bare) else None
    for one in simple(bare):
        yield from _of(one, depth)
        if depth and "<<" in command and one.words and PurePath(one.words[0]).name in SHELLS:
            yield from _dangers(command.partition("\n")[2], depth - 1)
    for inner in _substituted(bare) if depth else ():
        yield from _dangers(inner, depth - 1)


def _of(one: Simple, depth: int) -> Iterator[Danger | None]:
    for path in (*one.writes, *one.appends):
        yield Danger("tools_disk", grave=True) if DEVICES.match(path) else None
        yield Danger("tools_home", grave=True) if _LOGIN.search(path) else None
    yield Danger("tools_secret_sent") if any(secret(word) for word in (*one.words, *one.reads)) else None
    if not one.words:
        return
    name = PurePath(one.words[0]).name
    if one.words[0].startswith(("$", "`")):
        yield Danger("tools_hidden")
    if one.piped and name in RUNNERS and all(word.startswith("-") for word in one.words[1:]):
        yield Danger("tools_pipe_shell")
    starts = range(len(one.words)) if name in LAUNCHERS | RAISE else range(1)
    for at in starts:
        yield _by_name(PurePath(one.words[at]).name, one.words[at + 1 :])
    if depth and name in ("eval", "ssh", "watch", "su") and len(one.words) > 1:
        yield from _dangers(" ".join(one.words[1:]), depth - 1)
    if name in LAUNCHERS and depth:
        for at, word in enumerate(one.words[1:-1], 1):
            if PurePath(word).name in SHELLS and re.fullmatch(r"-\w{0,3}c", one.words[at + 1]):
                yield from _dangers(" ".join(one.words[at + 2 :]), depth - 1)


def _by_name(name: str, rest: tuple[str, ...]) -> Danger | None:
    options = "".join(word[1:] for word in rest if re.match(r"-\w", word))
    grave = any(_HOME.match(word) for word in rest if not word.startswith("-"))
    recursive = "r" in options or "R" in options or "--recursive" in rest
    match name:
        case "rm" if recursive or "f" in options or "--force" in rest:
            return Danger("tools_root", grave=True) if recursive and grave else Danger("tools_rm")
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
            return _by_git(rest)
        case "cp" | "mv" | "tee" | "ln" | "install" | "sed" | "truncate" if any(_LOGIN.search(word) for word in rest):
            return Danger("tools_home", grave=True)
        case "curl" | "wget" if any(_LOGIN.search(word) for word in rest):
            return Danger("tools_home", grave=True)
    if name in _DISK or name.startswith("mkfs"):
        return Danger("tools_disk", grave=any(DEVICES.search(word) for word in rest))
    if name in _SYSTEM or (name == "kill" and "-1" in rest[-1:]):
        return Danger("tools_system")
    return Danger("tools_sudo") if name in RAISE else None


def _by_git(rest: tuple[str, ...]) -> Danger | None:
    at = 0
    while at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in ("-C", "-c") else 1
    verb, rest = (rest[at], rest[at + 1 :]) if at < len(rest) else ("", ())
    short = "".join(word[1:] for word in rest if re.match(r"-\w", word))
    long = " ".join(word for word in rest if word.startswith("--"))
    forced = "f" in short or "--force" in long
    if verb == "push" and (forced or "--mirror" in long or "--delete" in long or any(w[0] in "+:" for w in rest if w)):
        return Danger("tools_push")
    lost = {
        "reset": "--hard" in long,
        "clean": forced,
        "checkout": forced or "--" in rest or "." in rest,
        "restore": "--staged" not in long,
        "branch": "D" in short,
        "stash": bool(rest) and rest[0] in ("drop", "clear"),
        "filter-branch": True,
        "reflog": bool(rest) and rest[0] == "expire",
    }
    return Danger("tools_lose") if lost.get(verb) else None


_INNER = re.compile(r"\$\(([^()]{1,2000})\)|`([^`]{1,2000})`|[<>]\(([^()]{1,2000})\)")


def _substituted(command: str) -> list[str]:
    return ["".join(each) for each in _INNER.findall(command)]


# What holds secrets

_SECRET = re.compile(
    r"\.env(?!\.(?:example|sample|template|dist|defaults?)$)(?:\..+)?$|\.envrc$|id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?$"
    r"|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|asc|gpg)$|(?:aws_)?credentials(?:\.\w+)?$|\.git-credentials$"
    r"|\.(?:netrc|pgpass|npmrc|pypirc|htpasswd|dockercfg)$|_netrc$|client_secrets?.*\.json$|secrets?\.(?:json|ya?ml|toml)$"
    r"|service[-_]?account.*\.json$|tokens?\.json$|shadow$",
    re.IGNORECASE,
)
_FOLDERS = frozenset((".ssh", ".gnupg", ".aws", ".kube", ".azure", ".gcloud"))


def secret(path: str) -> bool:
    """Whether a file of this name may hold keys or passwords."""
    if len(path) > 4096 or path.endswith(".pub"):
        return False
    parts = PurePath(path.rstrip("/")).parts
    return bool(parts) and (bool(_SECRET.match(parts[-1])) or not _FOLDERS.isdisjoint(parts))


# What "always" covers

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*$")
_QUIET = re.compile(r"(?:^|(?<=\s))(?:[12&]?>[ ]?/dev/null|2>&1)(?=[\s;|]|$)")
_HIDES = re.compile(r"[\n\r`\0]|\$[({'\"]|<<|[<>(){}]|[^&]&(?![&])$|(?<!&)&(?!&)")
SUBCOMMANDS = frozenset(
    "git npm pnpm yarn cargo go pip pip3 uv poetry brew gh glab dotnet mvn gradle bundle composer conda rustup "
    "docker podman kubectl terraform aws gcloud az rails mix hatch pdm nox tox".split()
)
EXACT = (
    RUNNERS
    | LAUNCHERS
    | RAISE
    | frozenset(
        "awk gawk sed eval source . npx uvx bunx pipx tar rsync vim vi emacs gdb rm mv cp dd chmod chown chgrp tee ln "
        "curl wget touch mkdir install kill scp sftp telnet nc open start osascript expect script screen tmux".split()
    )
)
"""What could do anything, given other words: of these a user allows only the very command."""
_RUNS = {("uv", "run"), ("uv", "tool"), ("go", "run"), ("go", "generate"), ("poetry", "run"), ("cargo", "install"),
         ("pip", "install"), ("pip3", "install"), ("npm", "install"), ("npm", "exec"), ("yarn", "dlx"), ("pnpm", "dlx"),
         ("git", "config"), ("git", "submodule"), ("git", "push"), ("conda", "run"), ("bundle", "exec"),
         ("hatch", "run"), ("pdm", "run"), ("gh", "api"), ("mix", "run")}  # fmt: skip
_MODULES = frozenset("pytest unittest mypy ruff black isort flake8 pylint coverage doctest".split())


def keys(command: str, root: Path) -> tuple[str, ...]:
    """What must have been allowed for good for this command to need no question; nothing where that cannot be told."""
    bare = _QUIET.sub(" ", command.strip())
    if len(bare) > LONGEST or _HIDES.search(bare):
        return ()
    reader = shlex.shlex(bare, posix=True, punctuation_chars=True)
    reader.commenters = ""
    reader.whitespace_split = True
    try:
        words = list(reader)
    except ValueError:
        return ()
    found: list[str] = []
    for part in _parts(words):
        key = _key(part, root)
        if not key:
            return ()
        found.append(key)
    return tuple(dict.fromkeys(found))


def _parts(words: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in ("&&", "||", ";", "|"):
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _key(words: list[str], root: Path) -> str:
    if not words or not _WORD.match(words[0]) or any(_outside(word, root) for word in words[1:]):
        return ""
    name = words[0]
    second = words[1] if len(words) > 1 else ""
    third = words[2] if len(words) > 2 else ""
    if name in ("python", "python3") and second == "-m" and third in _MODULES:
        return f"{name} -m {third}"
    if name in SUBCOMMANDS and name not in LAUNCHERS and _WORD.match(second) and (name, second) not in _RUNS:
        deeper = second in ("run", "run-script", "stash", "remote", "branch", "tag", "pr", "issue", "repo")
        return f"{name} {second} {third}" if deeper and _WORD.match(third) else f"{name} {second}"
    if name in EXACT or name in SUBCOMMANDS:
        return "=" + shlex.join(words)
    return name


def _outside(word: str, root: Path) -> bool:
    """Whether a word names something outside the project."""
    for path in {word, word.rpartition("=")[2], *re.findall(r"^-\w(.+)", word)}:
        if path.startswith("~") or "$" in path:
            return True
        if ("/" in path or path == "..") and "://" not in path and not (root / path).resolve().is_relative_to(root):
            return True
    return False
