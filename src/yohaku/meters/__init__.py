"""Counters of tokens, one a file. `for_model` picks one by a model's name; `from_file` makes one from a local model.

Law: a counter says whether its number is exact. Nothing is loaded before the first count.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yohaku.core.meter import Meter
    from yohaku.meters.families import MeterFamily

__all__ = ["for_model", "from_file"]


def for_model(model: str | None = None, dialect: str | None = None) -> Meter:
    """The counter for a model, and for the wire format it is spoken to in, where that changes what is added."""
    from yohaku.meters.families import family_of

    return counter(family_of(model, dialect))


def from_file(path: str | Path) -> Meter:
    """The counter for a local model, from its GGUF file or its tokenizer.json; raises Unreadable for anything else."""
    from yohaku.meters import gguf, tokenizer_json
    from yohaku.meters.cached import CachedMeter
    from yohaku.meters.families import family_of

    path = Path(path)
    if gguf.is_gguf(path):
        said = gguf.metadata(path)
        name = str(said.get("general.name") or said.get("general.architecture") or path.stem)
        encode = gguf.encoder_of(said)
    else:
        name, encode = path.parent.name or path.stem, tokenizer_json.read(path)
    family = family_of(name)
    return CachedMeter(tokenizer_json.TokenizerFileMeter(path.name, encode, family.frame, family.rule))


@cache
def counter(family: MeterFamily) -> Meter:
    from yohaku.meters import bpe, claude, estimate
    from yohaku.meters.cached import CachedMeter

    meter: Meter
    if family.claude and claude.available():
        meter = claude.Claude(f"claude-{family.claude}", family.claude, family.frame, family.rule, family.sure)
    elif family.estimate:
        meter = estimate.Estimate(f"{family.name} (estimate)", family.estimate, family.frame, family.rule)
    else:
        near = family.near if family.sure else max(family.near, bpe.GUESSED)
        name = family.vocabulary if near == 1.0 else f"{family.vocabulary} × {near:g} (estimate)"
        meter = bpe.Bpe(name, family.vocabulary, family.frame, family.rule, near)
    return CachedMeter(meter)
