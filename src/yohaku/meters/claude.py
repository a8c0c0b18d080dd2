"""Exact counts for Claude, where `ctok` is installed; otherwise the family falls back to the calibrated estimate.

Law: no piece of the vocabulary reaches over the end of a word, so a text costs what its words cost, each counted once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.long_words import count_in_pieces
from yohaku.meters.media import MediaRule, weigh

if TYPE_CHECKING:
    from yohaku.meters.families import MeterFamily

Count = Callable[[str], int]
MAX_WORDS = 500_000
"""Words remembered before all are forgotten; a long session in one language has about a tenth of that."""


@dataclass(frozen=True, slots=True)
class Claude:
    name: str
    version: str
    """Version of the tokenizer: "3.0", "4.7" or "4.8"."""
    frame: Overhead = field(default_factory=Overhead)
    rule: MediaRule = field(default_factory=MediaRule)
    exact: bool = True
    """False for a model that is only taken for one of this version."""

    def count(self, text: str) -> int:
        return count_in_pieces(text, exact_counter(self.version))

    def weigh(self, part: Opaque) -> int:
        return weigh(part, self.rule, self.count)


def build(version: str, family: MeterFamily) -> Claude | None:
    if not available():
        return None
    return Claude(f"claude-{version}", version, family.frame, family.rule, family.sure)


def available() -> bool:
    return find_spec("ctok") is not None


@cache
def exact_counter(version: str) -> Count:
    """Return a counter of the tokens of a text, without the frame of its message."""
    import ctok

    around = ctok.tokenize("", version).count("⟨pad⟩")
    try:
        return by_words(version)
    except (ImportError, AttributeError):  # a ctok with other insides: its public way, at half the speed
        return lambda text: ctok.token_count(text, version) - around if text else 0


def by_words(version: str) -> Count:
    from ctok.constants import EOW_G, MARKER_GLYPHS
    from ctok.engine import char_cost, frame_tail, min_vocab_tile
    from ctok.main import _family, _model
    from ctok.normalize import nfc, raw_head_space, stream_norm

    model: Any = _model(_family(version))
    if any(EOW_G in piece[:-1] for piece in model.vocab):
        raise AttributeError("a piece reaches over the end of a word")
    known: dict[str, int] = {}

    def cost(marked: str) -> int:
        def alone(at: int) -> int:
            return 1 if marked[at] in MARKER_GLYPHS else char_cost(model, marked[at])

        return int(min_vocab_tile(marked, model.trie, alone)[0])

    def count(text: str) -> int:
        if not text:
            return 0
        plain = nfc(text, fold_quotes=model.fold_quotes)
        marked = stream_norm(plain, model, raw_head_space=raw_head_space(text))
        newlines = len(plain) - len(plain.rstrip("\n"))
        *words, rest = marked.split(EOW_G)
        total = len(frame_tail(newlines, model)) + (cost(rest) if rest else 0)
        for word in words:
            tokens = known.get(word)
            if tokens is None:
                if len(known) >= MAX_WORDS:
                    known.clear()
                tokens = known[word] = cost(word + EOW_G)
            total += tokens
        return total

    return count
