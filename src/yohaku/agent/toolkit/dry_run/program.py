"""A program that a dry run starts, and what its parts need of one another."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import NamedTuple, Protocol

from yohaku.agent.toolkit.dry_run.shell_state import ShellState
from yohaku.agent.toolkit.dry_run.values import ANY, SOME, SOMEWHERE, show_value, unmark
from yohaku.analysis.shell import SHELLS


class StartedProgram(NamedTuple):
    words: tuple[str, ...]
    """Values with their marks, the name of the program first; empty where only a file is written."""
    folders: tuple[str, ...]
    """Folders it may run in."""
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    stdin: tuple[str, ...] | None = None
    """Texts it may read from a pipe or a heredoc; None without one."""
    piped: bool = False
    """Whether it reads what another program prints."""
    from_disk: bool = False
    """Whether a script on the disk starts it."""

    @property
    def name(self) -> str:
        return program_name(self.words[0]) if self.words else ""

    @property
    def shown(self) -> tuple[str, ...]:
        """Words without marks."""
        return tuple(map(show_value, self.words))


class CommandRunner(Protocol):
    """The dry run, as its parts see it."""

    def run_text(self, text: str, state: ShellState, stdin: list[str] | None = None) -> list[str]:
        """Run a command line; return what it may print."""

    def run_words(self, words: list[str], state: ShellState, stdin: list[str] | None = None) -> list[str]:
        """Run one command whose words are expanded; return what it may print."""


def program_name(word: str) -> str:
    return PurePath(show_value(word)).name


def as_source(value: str) -> str:
    """Return a value as the text of a command, in which what is unknown remains so."""
    return re.sub(f"[{ANY}{SOMEWHERE}]", "${!unknown}", unmark(value)).replace(SOME, "$RANDOM")


RUNNERS = frozenset("python python2 python3 node deno bun ruby perl php lua awk gawk mawk osascript".split()) | SHELLS
"""Programs that run a script."""
PRIVILEGE_COMMANDS = frozenset("sudo doas su pkexec runas runuser".split())
DESTROYERS = frozenset(
    "rm srm wipe rimraf rmtree shred find fd fdfind rsync mv chmod chown chgrp setfacl chattr dd truncate tee "
    "cp ln install tar zip unlink git userdel deluser kill wipefs fdisk parted sfdisk gdisk sgdisk blkdiscard "
    "cryptsetup diskutil mkswap hdparm nvme zpool zfs lvremove vgremove pvremove mdadm badblocks mke2fs mkfs "
    "newfs btrfs rclone 7z 7za 7zz".split()
)
LAUNCHERS = (
    frozenset(
        "env xargs nice ionice nohup timeout time watch parallel stdbuf setsid command exec eval builtin busybox "
        "toybox ssh docker podman nerdctl kubectl flock chroot unshare nsenter strace ltrace entr script "
        "systemd-run taskset numactl chrt prlimit firejail bwrap proot fakeroot eatmydata chronic unbuffer caffeinate "
        "xvfb-run faketime rlwrap tmux screen hyperfine perf nix-shell nix direnv mise asdf uv poetry pipenv pdm "
        "hatch rye npx bunx pnpx dlx npm pnpm yarn concurrently nodemon watchexec coproc gdb valgrind catchsegv "
        "dbus-run-session cpulimit trickle torsocks proxychains proxychains4 gtimeout gnice genv gxargs at batch "
        "su-exec gosu setpriv capsh cgexec expect".split()
    )
    | PRIVILEGE_COMMANDS
)
"""Programs that start another one."""
TEXT_PROGRAMS = frozenset(
    "echo printf grep egrep fgrep rg ag ack cat head tail less more ls pwd test [ [[ true false wc sort uniq "
    "cut tr sed diff cmp man which type stat file du df basename dirname realpath readlink jq yq curl wget gh "
    "make cmake pytest mypy ruff go cargo rustc gcc clang javac java mvn gradle touch mkdir rmdir date sleep "
    "seq id whoami uname export pip pip3 apt apt-get brew dnf yum pacman systemctl service journalctl kubectx "
    "vi vim nvim ex ed nano emacs Rscript julia sqlite3 psql mysql base64 code open".split()
)
"""Programs whose words are no commands."""
KNOWN_PROGRAMS = RUNNERS | DESTROYERS | LAUNCHERS | TEXT_PROGRAMS
