"""What the settings come to: the window of a model, the recipe of a name, the address of a provider.

Law: what the user said beats what the catalogue knows, and where nothing is known, something safe is taken and said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yohaku.config.settings import MAXIMUM, Notice, Settings, prefix_of
from yohaku.core.errors import BadSetting, UnknownModel

if TYPE_CHECKING:
    from yohaku.config import catalog
    from yohaku.core.recipe import Recipe

SAFE_WINDOW = 4096
"""Tokens that any model of today takes: for when nothing is known."""


@dataclass(frozen=True, slots=True)
class ResolvedWindow:
    tokens: int
    source: str
    """Who said so: `argument`, a variable, the config file, `catalogue …`, or `default`."""
    output_limit: int | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class ProviderAddress:
    url: str
    key: str | None = field(default=None, repr=False)


def window_for(
    model: str | None,
    settings: Settings,
    *,
    provider: str | None = None,
    dialect: str | None = None,
    window: int | None = None,
) -> ResolvedWindow:
    """How much the model takes: as the user said, else as the catalogue knows, else little enough for any."""
    from yohaku.config import catalog  # here, and tomllib below: most starts need neither

    known = catalog.load(settings.catalog)
    row = known.find(model, provider) if model else None
    output = row.output if row else None
    if window is not None:
        if window < 1:
            raise BadSetting(f"a window of {window:,} tokens holds nothing: give a positive number", code="bad_window")
        return ResolvedWindow(window, "argument", output)
    if settings.window is not None:
        return ResolvedWindow(settings.window, settings.origin.get("window", "argument"), output)
    place = _place(known, model, row, provider, dialect)
    prefixes = place.limits if place else (prefix_of(provider),) if provider else ()
    for prefix in (*prefixes, "DEFAULT"):
        if prefix in settings.maxima:
            source = settings.origin.get(prefix + MAXIMUM, prefix + MAXIMUM)
            return ResolvedWindow(settings.maxima[prefix], source, output)
    # What a local model was trained for says nothing about the memory its server was started with.
    local = place is not None and place.loopback
    if row and (not local or row in known.own):
        return ResolvedWindow(row.window, f"catalogue {row.provider}/{row.id}", output)
    if settings.strict:
        raise UnknownModel(model or "")
    family = known.family(model) if model and not local else None
    tokens, source = (family.window, "catalogue family") if family else (SAFE_WINDOW, "default")
    variable = prefixes[0] + MAXIMUM if prefixes else "DEFAULT" + MAXIMUM
    return ResolvedWindow(tokens, source, output, (_unknown(model, tokens, variable, local),))


def recipe_for(name: str, settings: Settings) -> Recipe:
    """One of ours, or one of the user's own, made now, so that a mistake in it is said to who wants it."""
    from yohaku.core.errors import UnknownRecipe
    from yohaku.recipes.auto import RECIPES
    from yohaku.recipes.from_config import recipe_of

    if name in RECIPES:
        return RECIPES[name]
    if name not in settings.recipes:
        raise UnknownRecipe(name, (*RECIPES, *settings.recipes))
    return recipe_of(name, settings.recipes[name], imported)


def imported(name: str) -> Any:
    """What "package.module:function" names, wherever Python finds it."""
    from importlib import import_module

    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as missing:
        raise ImportError(f"{missing}; install it where yohaku is installed, or set PYTHONPATH") from missing
    for part in path.split("."):
        found = getattr(found, part)
    return found


def endpoint(provider: catalog.Provider, settings: Settings, dialect: catalog.Dialect | None = None) -> ProviderAddress:
    """Where to send, and with which key. An address the user set is taken for the provider's main dialect."""
    url = provider.url_of(dialect) if dialect else provider.url
    said = settings.variable(*provider.url_keys)
    if said and dialect in (None, provider.dialect):
        url = _address(said, provider.url)
    if url is None:
        raise ValueError(f"{provider.name} does not speak {dialect}: take {provider.dialect}")
    return ProviderAddress(url, settings.variable(*provider.keys))


def _place(
    known: catalog.Catalog, model: str | None, row: catalog.Model | None, provider: str | None, dialect: str | None
) -> catalog.Provider | None:
    """Whose variable counts: the provider named, else the one the model's name leads to, else the dialect's owner."""
    if provider:
        return known.provider(provider)
    spoken = [each for each in known.providers if each.dialect == dialect]
    if spoken and spoken[0].loopback:  # nobody but Ollama speaks its dialect
        return spoken[0]
    route = known.provider(model.partition("/")[0]) if model and "/" in model else None
    if route and not route.maker:
        return route
    owner = known.provider(row.provider) if row else None
    return owner or route or (spoken[0] if spoken else None)


def _unknown(model: str | None, tokens: int, variable: str, local: bool) -> Notice:
    facts = {"model": model or "", "tokens": str(tokens), "variable": variable}
    remedy = f"taking {tokens:,} tokens; give the window, or set {variable}"
    if local:
        who = model or "the model"
        return Notice("local_model", f"{who} runs with the window its server gives it: {remedy}", facts)
    what = f"unknown model {model!r}" if model else "no model named"
    return Notice("unknown_model", f"{what}: {remedy}", facts)


def _address(said: str, usual: str) -> str:
    """Ollama's users write `0.0.0.0` or `box:11434`: where it listens, not where to call."""
    if "://" in said:
        return said.rstrip("/")
    host, _, port = said.rpartition(":") if re.search(r":\d+$", said) else (said, "", usual.rpartition(":")[2])
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0') else host}:{port}"
