"""Keys typed into a terminal before a question was seen: they are for the next prompt, not for the question."""

from __future__ import annotations

import os
import select
import sys

QUIET_SECONDS = 0.6
"""Time without any key after which a question is asked."""


class TypedAhead:
    def __init__(self) -> None:
        self.lines: list[str] = []
        """Whole lines, the first one first."""
        self.begun = ""
        """A line that was not ended."""

    def collect(self, terminal: int | None = None, quiet: float = QUIET_SECONDS) -> bool:
        """Keep what was typed, and wait until no key comes any more; False where there is no terminal to look at."""
        try:
            import termios
        except ImportError:  # Windows
            return False
        try:
            descriptor = sys.stdin.fileno() if terminal is None else terminal
            before = termios.tcgetattr(descriptor)
        except (OSError, ValueError, termios.error):
            return False
        letters = [*before[:6], [*before[6]]]
        letters[3] &= ~termios.ICANON
        letters[6][termios.VMIN], letters[6][termios.VTIME] = 0, 0
        typed = b""
        try:
            termios.tcsetattr(descriptor, termios.TCSANOW, letters)
            while select.select([descriptor], [], [], quiet)[0]:
                data = os.read(descriptor, 4096)
                if not data:
                    break
                typed += data
        finally:
            termios.tcsetattr(descriptor, termios.TCSANOW, before)
        self.add(typed.decode("utf-8", "replace"))
        return True

    def add(self, typed: str) -> None:
        for letter in typed:
            if letter in "\r\n":
                self.lines.append(self.begun)
                self.begun = ""
            elif letter in "\x7f\b":
                self.begun = self.begun[:-1]
            elif letter == "\x15":  # Ctrl-U
                self.begun = ""
            elif letter >= " ":
                self.begun += letter

    def take_begun(self) -> str:
        text, self.begun = self.begun, ""
        return text
