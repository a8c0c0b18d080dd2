"""Counters of tokens, one a file. `for_model` picks one by a model's name; `from_file` makes one from a local model.

Law: a counter says whether its number is exact. Nothing is loaded before the first count.

To add a meter from outside, register a function or class that takes a model's name and returns a `Meter`
(`core/meter.py`), or None where it cannot count for that model:
`yohaku.plugins.register("meters", "acme", AcmeMeter)`, or an entry point of the group "yohaku.meters". The name is that
of a provider or of a family of models. It counts for models that no built-in family knows: all of the provider `acme`,
and those named `acme/…` or `acme-…`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from yohaku import plugins

if TYPE_CHECKING:
    from yohaku.core.meter import Meter
    from yohaku.meters.families import MeterFamily

__all__ = ["for_model", "from_file"]


def for_model(model: str | None = None, dialect: str | None = None, provider: str = "") -> Meter:
    """Return the counter for a model; the wire format may change what is added to each message."""
    from yohaku.meters.families import family_of

    family = family_of(model, dialect)
    if model and not family.known and (outside := _find_outside(model, provider)):
        return outside
    return counter(family)


def from_file(path: str | Path) -> Meter:
    """Return the counter of a local model, from its GGUF file or its tokenizer.json; raise Unreadable otherwise."""
    from yohaku.meters import gguf, tokenizer_json
    from yohaku.meters.cached import CachedMeter
    from yohaku.meters.families import family_of

    path = Path(path)
    if gguf.is_gguf(path):
        metadata = gguf.metadata(path)
        name = str(metadata.get("general.name") or metadata.get("general.architecture") or path.stem)
        encode = gguf.encoder_of(metadata)
    else:
        name, encode = path.parent.name or path.stem, tokenizer_json.read(path)
    family = family_of(name)
    return CachedMeter(tokenizer_json.TokenizerFileMeter(path.name, encode, family.frame, family.rule))


def _find_outside(model: str, provider: str) -> Meter | None:
    from yohaku.meters.families import bare

    known = plugins.names("meters")
    name = bare(model)
    for candidate in (provider, model.partition("/")[0], name, re.split(r"[^a-z]", name)[0]):
        if candidate in known and (meter := _create(plugins.find("meters", candidate), model)):
            return meter
    return None


@cache
def _create(factory: Callable[[str], Meter | None], model: str) -> Meter | None:
    from yohaku.meters.cached import CachedMeter

    meter = factory(model)
    return CachedMeter(meter) if meter else None


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
        near = family.near if family.sure else max(family.near, bpe.GUESS_FACTOR)
        name = family.vocabulary if near == 1.0 else f"{family.vocabulary} × {near:g} (estimate)"
        meter = bpe.Bpe(name, family.vocabulary, family.frame, family.rule, near)
    return CachedMeter(meter)
