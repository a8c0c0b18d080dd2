"""Time to the first screen: from the command `yohaku` to its first frame, beside `python -c "import textual"`.

    python3 benchmarks/start.py [ROUNDS]

Prints both and their ratio, each the median of the rounds, by the clock and by processor time, in a terminal made for
the purpose (Unix only). The modules are compiled first, as an installation does; nothing of the user's is read.
"""

from __future__ import annotations

import compileall
import fcntl
import os
import pty
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import NamedTuple

import yohaku
from yohaku.messages import say

BARE = ("-c", "import textual")
SCREEN = ("-m", "yohaku")
DRAWN = say("screen_looking", "en").encode()
"""Stands on the first frame, in its last row."""


class Spent(NamedTuple):
    clock: float
    processor: float


def measure(arguments: tuple[str, ...], home: str, drawn: bytes = b"") -> Spent:
    """Return what a program takes until it has drawn this, or else until it ends."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("YOHAKU_", "XDG_", "LC_"))}
    environ |= {"TERM": "xterm-256color", "HOME": home, "LANG": "C.UTF-8"}
    begun = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home)
        os.execve(sys.executable, [sys.executable, *arguments], environ)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 34, 110, 0, 0))
    shown, clock = b"", 0.0
    try:
        while not clock and (piece := os.read(terminal, 65536)):
            shown += piece
            if drawn and drawn in shown:
                clock = time.perf_counter() - begun
                os.kill(child, signal.SIGKILL)
    except OSError:  # the other side has closed it
        pass
    _, status, used = os.wait4(child, 0)
    os.close(terminal)
    if (drawn and not clock) or (status and not drawn):
        raise SystemExit(f"this does not run: {' '.join(arguments)}\n{shown.decode(errors='replace')}")
    return Spent(clock or time.perf_counter() - begun, used.ru_utime + used.ru_stime)


def main(rounds: int = 9) -> None:
    compileall.compile_dir(Path(yohaku.__file__).parent, quiet=1)
    bare, screen = [], []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(rounds):
            bare.append(measure(BARE, home))
            screen.append(measure(SCREEN, home, DRAWN))
    for name in Spent._fields:
        first, last = (statistics.median(getattr(spent, name) for spent in each) for each in (bare, screen))
        print(f"{name}: import textual {first:.2f} s, first screen {last:.2f} s: {last / first:.1f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
