"""Speed of a model: tokens it reads and writes in a second, measured on its replies."""

from __future__ import annotations

from dataclasses import dataclass

MIN_READ_TOKENS = 100
"""With fewer new tokens the time until the first word says nothing of the speed of reading."""
MIN_WRITTEN_TOKENS = 8
MIN_SECONDS = 0.001


@dataclass(slots=True)
class ModelSpeed:
    reading: float = 0.0
    """Tokens in a second; 0: not measured."""
    writing: float = 0.0
    _held: int = 0
    """Tokens of the last request and its reply, which a server may hold in its cache."""

    def measure(self, prompt: int, output: int, first: float, rest: float) -> None:
        """Learn from a reply: its tokens, the seconds until its first piece, and the seconds after that."""
        new = self.left_to_read(prompt)
        if new >= MIN_READ_TOKENS:
            self.reading = new / max(first, MIN_SECONDS)
        if output >= MIN_WRITTEN_TOKENS:
            self.writing = output / max(rest, MIN_SECONDS)
        self._held = prompt + output

    def left_to_read(self, prompt: int) -> int:
        """Return the tokens of a request that are not likely to be in the server's cache."""
        return prompt - self._held if prompt > self._held else prompt

    def seconds(self, prompt: int, output: int) -> float | None:
        """Return the seconds for a request of this size that is not in a cache; None if they cannot be known yet."""
        return prompt / self.reading + output / self.writing if self.reading and self.writing else None
