"""Time until the first screen: `yohaku` up to its first prompt, beside `python -c "import textual"`, in one run.

    python3 benchmarks/start.py [ROUNDS]

Prints both and their ratio, each the median of the rounds, in a terminal made for the purpose (Unix only).
"""

from __future__ import annotations

import fcntl
import os
import pty
import statistics
import struct
import sys
import termios
import time

BARE = "import textual"
SCREEN = """
from yohaku.agent.startup import Starter
from yohaku.config import settings
from yohaku.tui.app import YohakuApp
YohakuApp._look = lambda app: app.exit(0)  # called once the first screen is drawn
YohakuApp(Starter(settings.read())).run()
"""


def seconds(code: str) -> float:
    begun = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, [sys.executable, "-c", code], {**os.environ, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 34, 110, 0, 0))
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:  # the other side has closed it
        pass
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    if status:
        raise SystemExit(f"this does not run:\n{code}")
    return time.perf_counter() - begun


def main(rounds: int = 7) -> None:
    bare, screen = [], []
    for _ in range(rounds):
        bare.append(seconds(BARE))
        screen.append(seconds(SCREEN))
    first, last = statistics.median(bare), statistics.median(screen)
    print(f"import textual {first:.2f} s, first screen {last:.2f} s: {last / first:.1f} times")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
