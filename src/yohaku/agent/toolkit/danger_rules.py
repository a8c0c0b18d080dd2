"""Rules about programs that destroy: what each is given, and what it is worth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from yohaku.agent.toolkit.code_deletion import worth_of_code
from yohaku.agent.toolkit.dry_run.find_roots import ACTIONS, find_roots, has_filter
from yohaku.agent.toolkit.dry_run.launchers import COMMAND_OPTION, MAX_EXAMINED_WORDS
from yohaku.agent.toolkit.dry_run.program import LAUNCHERS, PRIVILEGE_COMMANDS, RUNNERS, StartedProgram
from yohaku.agent.toolkit.dry_run.values import ANY, has_wildcard, is_unknown
from yohaku.agent.toolkit.precious_paths import PathWorth, PreciousPaths
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.analysis.shell import SHELLS


class Danger(NamedTuple):
    why: str
    """Code of the sentence that explains it."""
    grave: bool = False
    """Ask even in the mode that asks nothing."""


DEVICES = re.compile(
    r"/dev/(?:sd|hd|vd|xvd|nvme|disk|rdisk|mmcblk|mapper|md|dm-|loop|ram|pmem|zd|zvol|mem|kmem|port|block|[*?\[…])"
)
_SYSTEM = frozenset(
    "shutdown reboot halt poweroff init telinit killall pkill systemctl launchctl service iptables nft ufw crontab at "
    "useradd userdel usermod passwd chpasswd visudo mount umount insmod rmmod modprobe sysctl swapoff".split()
)
_DISK = frozenset(
    "fdisk parted sfdisk gdisk sgdisk wipefs shred blkdiscard cryptsetup diskutil mkswap dd hdparm nvme zpool lvremove "
    "vgremove pvremove mdadm badblocks mke2fs newfs".split()
)
_WRITERS = frozenset("cp mv tee ln install sed truncate rm curl wget".split())
_LOGIN_FILES = re.compile(
    r"(?:^|[/~}])\.(?:ssh|gnupg|aws|kube)(?:/|$)|(?:~|\$HOME|\$\{HOME\}|^/root|^/home/[^/]+|^/Users/[^/]+)/"
    r"\.(?:bash\w*|zsh\w*|profile|login|gitconfig|netrc|npmrc|pypirc|config|local)(?:/|$)|^/etc/|^/boot/|^/usr/|^/bin/"
    r"|authorized_keys"
)
_REASONS = {
    PathWorth.UNKNOWN: "tools_unknown",
    PathWorth.PROJECT: "tools_project",
    PathWorth.HOME: "tools_root",
}
_DELETERS = frozenset("rm srm wipe rimraf rmtree shred truncate unlink".split())


def judge_program(program: StartedProgram, precious: PreciousPaths) -> Iterator[Danger]:
    """Yield the dangers of one program that would be started."""
    written = [*program.writes, *(_operands(program.words[1:]) if program.name == "tee" else ())]
    for path in written:
        if DEVICES.match(path):
            yield Danger("tools_disk", grave=True)
        if _is_login_file(path, precious):
            yield Danger("tools_home", grave=True)
        if has_wildcard(path) and precious.worth(path, program.folders) is PathWorth.HOME:  # every file of a loop
            yield Danger("tools_root", grave=True)
    shown = program.shown
    named = (*shown, *program.reads)
    if program.name == "git":
        named = (*named, *(part for word in shown for part in word.split(":")))
    if any(map(holds_secrets, named)):
        yield Danger("tools_secret_sent")
    if not program.words:
        return
    if is_unknown(program.words[0]):
        worth = max((precious.worth(word, program.folders) for word in program.words[1:]), default=PathWorth.ORDINARY)
        yield Danger("tools_hidden", grave=worth is PathWorth.HOME)
    if program.name in RUNNERS:
        yield from _judge_runner(program)
    if program.name in LAUNCHERS and len(shown) > MAX_EXAMINED_WORDS:
        yield Danger("tools_hidden")
    worth = worth_of_code(program, precious)
    if worth >= PathWorth.PROJECT:
        yield Danger(_REASONS[worth], grave=True)
    yield from filter(None, (_judge_paths(program, precious), _judge_words(program, precious)))


def _judge_runner(program: StartedProgram) -> Iterator[Danger]:
    rest = program.words[1:]
    if program.piped and all(word.startswith("-") for word in rest):
        yield Danger("tools_pipe_shell")
    given = [text for option, text in pairwise(rest) if program.name in SHELLS and COMMAND_OPTION.match(option)]
    if any(text.startswith(ANY) for text in given):
        yield Danger("tools_hidden")


def _is_login_file(path: str, precious: PreciousPaths) -> bool:
    inside_home = path.startswith(f"{precious.home}/")
    return bool(_LOGIN_FILES.search(path if not inside_home else "~" + path.removeprefix(precious.home)))


def _operands(words: tuple[str, ...]) -> list[str]:
    """Return the words that are no options."""
    if "--" in words:
        end = words.index("--")
        return [*(word for word in words[:end] if not word.startswith("-")), *words[end + 1 :]]
    return [word for word in words if not word.startswith("-") or word == "-"]


def _has_option(words: tuple[str, ...], letters: str, *names: str) -> bool:
    """Return whether an option is given, alone, among others (`-xrf`), or by the beginning of its long name."""
    for word in words[: words.index("--")] if "--" in words else words:
        if word.startswith("--"):
            name = word.partition("=")[0]
            if len(name) > 3 and any(each.startswith(name) for each in names):
                return True
        elif word.startswith("-") and not set(letters).isdisjoint(word[1:]):
            return True
    return False


def _judge_paths(program: StartedProgram, precious: PreciousPaths) -> Danger | None:
    """Judge a program by the worth of what it deletes or overwrites."""
    name, rest = program.name, program.words[1:]
    operands = _operands(rest)
    follow = False
    least = PathWorth.PROJECT
    targets: list[str] = []
    recursive = _has_option(rest, "rR", "--recursive", "--recurse", "--dir") or any(map(is_unknown, rest[:1]))
    if name in _DELETERS:
        targets = operands
        least = PathWorth.UNKNOWN if recursive else PathWorth.HOME
        if name in ("srm", "wipe", "rimraf"):
            least = PathWorth.UNKNOWN
    elif name == "find" and ("-delete" in rest or not ACTIONS.isdisjoint(rest)) and not has_filter(program.words):
        targets = find_roots(program.words) if "-delete" in rest else []
        least = PathWorth.UNKNOWN
    elif name == "rsync" and any(word.startswith(("--del", "--remove-s")) for word in rest):
        removed = operands[:-1] if any(word.startswith("--remove-s") for word in rest) else []
        targets = [word for word in (*operands[-1:], *removed) if ":" not in word.partition("/")[0]]
        follow, least = True, PathWorth.UNKNOWN
    elif name == "mv":
        targets = operands if _has_option(rest, "t", "--target-directory") else operands[:-1]
        least = PathWorth.HOME
    elif name in ("chmod", "chown", "chgrp", "setfacl", "chattr") and recursive:
        targets, follow, least = operands, True, PathWorth.HOME
    elif (name == "tar" and _has_option(rest, "", "--remove-files")) or (
        name == "zip" and _has_option(rest, "m", "--move")
    ):
        targets = operands
    elif name == "git" and "clean" in rest and _has_option(rest, "f", "--force"):
        targets, follow, least = _git_folders(rest), True, PathWorth.HOME
    elif (name == "btrfs" and "delete" in rest[:2]) or (name == "rclone" and {"purge", "delete"} & {*rest}):
        targets, least = operands, PathWorth.UNKNOWN
    elif name in ("7z", "7za", "7zz") and "-sdel" in rest:
        targets = operands
    elif name in ("userdel", "deluser") and _has_option(rest, "r", "--remove", "--remove-home", "--remove-all-files"):
        return Danger("tools_root", grave=True)
    named = [word for word in targets if word or not program.from_disk]  # an argument that is not given is no folder
    worth = max((precious.worth(word, program.folders, follow=follow) for word in named), default=PathWorth.ORDINARY)
    return Danger(_REASONS[worth], grave=True) if worth >= least else None


def _git_folders(rest: tuple[str, ...]) -> list[str]:
    """Return the folders git is told to work in, or the one it is in."""
    found = [rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-C", "--work-tree")]
    return [*found, *(word.partition("=")[2] for word in rest if word.startswith("--work-tree="))] or ["."]


def _judge_words(program: StartedProgram, precious: PreciousPaths) -> Danger | None:
    name, rest = program.name, program.shown[1:]
    options = "".join(word[1:] for word in rest if re.match(r"-\w", word))
    recursive = "r" in options or "R" in options or "--recursive" in rest
    written = rest[-1:] if name in ("cp", "install", "ln") else rest if name in _WRITERS else ()
    if any(_is_login_file(word, precious) for word in written):
        return Danger("tools_home", grave=True)
    if any(map(DEVICES.match, written[-1:] if name == "mv" else written)):
        return Danger("tools_disk", grave=True)
    match name:
        case "rm" if recursive or "f" in options or "--force" in rest:
            return Danger("tools_rm")
        case "rmtree" | "srm" | "wipe" | "rimraf" | "unlink" | "trash-empty" | "truncate":
            return Danger("tools_rm")
        case "find" if "-delete" in rest:
            return Danger("tools_rm")
        case "rsync" if any(word.startswith("--del") for word in rest):
            return Danger("tools_rm")
        case "chmod" | "chown" | "chgrp" | "setfacl" | "chattr" if recursive:
            return Danger("tools_rights")
        case "git":
            return _judge_git(rest)
    if name in ("lvremove", "vgremove", "pvremove") or (name in ("zfs", "zpool") and "destroy" in rest):
        return Danger("tools_disk", grave=True)
    if name in _DISK or name.startswith("mkfs"):
        to_disk = any(DEVICES.search(word) for word in rest) or any(map(is_unknown, program.words[1:]))
        return Danger("tools_disk", grave=to_disk)
    if name == "crontab" and _has_option(program.words[1:], "r"):
        return Danger("tools_system", grave=True)  # all jobs of the user, and nothing keeps them
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
