"""Counters of tokens, one a file. `for_model` picks one by a model's name; `from_file` makes one from a local model.

Law: a counter says whether its number is exact. Nothing is loaded before the first count.

To add one here, write a file `meters/acme.py` with a function `build(argument, family)` that returns a `Meter`
(`core/meter.py`), or None where it cannot count (a package is missing), and name it in `families.toml`: a row of
`[family]` such as `acme = { acme = 'argument' }`, and which models are of that family, by name or by provider.

To add one from outside, register a function or class that takes a model's name and returns a `Meter` or None:
`yohaku.plugins.register("meters", "acme", AcmeMeter)`, or an entry point of the group "yohaku.meters". The name is that
of a provider or of a family of models: it counts for all models of the provider `acme`, and for those named `acme/…` or
`acme-…`, also where a meter of ours would.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from yohaku import plugins
from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from yohaku.core.meter import Meter
    from yohaku.meters.families import MeterFamily

    Build: TypeAlias = Callable[[str, MeterFamily], Meter | None]

__all__ = ["find_registered", "for_model", "from_file", "way_to_exact"]


def for_model(model: str | None = None, dialect: str | None = None, provider: str = "") -> Meter:
    """Return the counter for a model: a registered one, else ours.

    The wire format may change what is added to each message; the provider is that of the catalogue, and tells what
    the name of a model alone does not.
    """
    from yohaku.meters.families import family_of

    if model and (outside := find_registered(model, provider)):
        return outside
    return counter(family_of(model, dialect, provider))


def find_registered(model: str, provider: str) -> Meter | None:
    """Return the counter registered for the provider, or for a name that the model's begins with."""
    from yohaku.meters.families import bare, provider_in

    known = plugins.names("meters")
    if not known:
        return None
    name = bare(model)
    for candidate in (provider, *provider_in(model), name, re.split(r"[^a-z]", name)[0]):
        if candidate in known and (meter := _create(plugins.find("meters", candidate), model)):
            return meter
    return None


def way_to_exact(model: str | None, dialect: str | None = None) -> Literal["install", "name", "file"]:
    """Return how to get exact counts for a model that is estimated: install a package, name a version, give a file."""
    from yohaku.meters import claude
    from yohaku.meters.families import family_of

    if "claude" not in dict(family_of(model, dialect).meters):
        return "file"
    return "name" if claude.available() else "install"


def from_file(path: str | Path, model: str | None = None) -> Meter:
    """Return the counter of a local model, from its GGUF file or its tokenizer.json; raise Unreadable otherwise.

    `model` tells the family where the name in the file, or of its folder, does not.
    """
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
    family = family_of(model or name)
    return CachedMeter(tokenizer_json.TokenizerFileMeter(path.name, encode, family.frame, family.rule))


@cache
def _create(factory: Callable[[str], Meter | None], model: str) -> Meter | None:
    from yohaku.meters.cached import CachedMeter

    meter = factory(model)
    return CachedMeter(meter) if meter else None


@cache
def counter(family: MeterFamily) -> Meter:
    from yohaku.meters.cached import CachedMeter

    for name, argument in family.meters:
        try:
            build: Build = import_module(f"yohaku.meters.{name}").build
        except (ModuleNotFoundError, AttributeError) as missing:
            raise BadSetting(
                f"families.toml: the family {family.name!r} is counted by {name!r}, but meters/{name}.py has no "
                f"function build(argument, family)"
            ) from missing
        if meter := build(argument, family):
            return CachedMeter(meter)
    raise BadSetting(f"families.toml: no meter can count for the family {family.name!r}")
