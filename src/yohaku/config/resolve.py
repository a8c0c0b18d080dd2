"""Resolving settings: the window of a model, the recipe of a name, the address of a provider.

Law: settings beat the catalogue; where neither knows, a safe value is used, with a notice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from yohaku.config.settings import MAXIMUM_SUFFIX, Notice, Settings, variable_prefix
from yohaku.core.errors import BadSetting, UnknownModel
from yohaku.recipes.options import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from yohaku.config import catalog
    from yohaku.core.recipe import Recipe

SAFE_WINDOW = 4096
"""Tokens that any model of today takes, for a model nothing is known of."""


@dataclass(frozen=True, slots=True)
class ResolvedWindow:
    tokens: int
    source: str
    """`argument`, a variable, the config file, `catalogue …`, or `default`."""
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
    """Return the window by the user's settings, else by the catalogue, else a safe one."""
    from yohaku.config import catalog  # loaded only where it is needed

    known = catalog.load(settings.catalog)
    row = known.find(model, provider) if model else None
    output = row.output if row else None
    if window is not None:
        if window < 1:
            raise BadSetting(f"a window of {window:,} tokens holds nothing: give a positive number", code="bad_window")
        return ResolvedWindow(window, "argument", output)
    if settings.window is not None:
        return ResolvedWindow(settings.window, settings.origin.get("window", "argument"), output)
    host = _find_provider(known, model, row, provider, dialect)
    prefixes = host.limits if host else (variable_prefix(provider),) if provider else ()
    for prefix in (*prefixes, "DEFAULT"):
        if prefix in settings.maxima:
            source = settings.origin.get(prefix + MAXIMUM_SUFFIX, prefix + MAXIMUM_SUFFIX)
            return ResolvedWindow(settings.maxima[prefix], source, output)
    # A local server may give a model less than the window it was trained for.
    local = host is not None and host.loopback
    if row and (not local or row in known.own):
        return ResolvedWindow(row.window, f"catalogue {row.provider}/{row.id}", output)
    if settings.strict:
        raise UnknownModel(model or "")
    family = None if local else known.family(model) if model else host.family if host else None
    tokens, source = (family.window, "catalogue family") if family else (SAFE_WINDOW, "default")
    variable = prefixes[0] + MAXIMUM_SUFFIX if prefixes else "DEFAULT" + MAXIMUM_SUFFIX
    return ResolvedWindow(tokens, source, output, (_unknown_window(model, tokens, variable, local),))


def recipe_for(name: str, settings: Settings) -> Recipe:
    """Return a built-in recipe, or build the user's own: a mistake in it concerns only those who use it."""
    from yohaku.core.errors import UnknownRecipe
    from yohaku.recipes.auto import BUILDERS, RECIPES
    from yohaku.recipes.from_config import recipe_of

    if name in RECIPES:
        return RECIPES[name] if settings.options == DEFAULT_OPTIONS else BUILDERS[name](settings.options)
    if name not in settings.recipes:
        raise UnknownRecipe(name, (*RECIPES, *settings.recipes))
    return recipe_of(name, settings.recipes[name], import_name, settings.options)


def import_name(name: str) -> Any:
    """Import the object that "package.module:function" names."""
    from importlib import import_module

    module, _, path = name.partition(":")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as missing:
        raise ImportError(f"{missing}; install it where yohaku is installed, or set PYTHONPATH") from missing
    for part in path.split("."):
        found = getattr(found, part)
    return found


def provider_address(provider: catalog.Provider, settings: Settings, dialect: str | None = None) -> ProviderAddress:
    """Return the URL and key of a provider. A URL from the settings is that of its main dialect."""
    url = provider.url_of(dialect) if dialect else provider.url
    given = settings.variable(*provider.url_keys)
    if given and dialect in (None, provider.dialect):
        url = _complete_url(given, provider.url)
    if url is None:
        raise ValueError(f"{provider.name} does not speak {dialect}: use {provider.dialect}")
    return ProviderAddress(url, settings.variable(*provider.keys))


def _find_provider(
    known: catalog.Catalog, model: str | None, row: catalog.Model | None, provider: str | None, dialect: str | None
) -> catalog.Provider | None:
    """Return the named provider, else that of the model's name, else the first that speaks the dialect."""
    if provider:
        return known.provider(provider)
    spoken = [each for each in known.providers if each.dialect == dialect]
    if spoken and spoken[0].loopback:  # only Ollama speaks its dialect
        return spoken[0]
    route = known.provider(model.partition("/")[0]) if model and "/" in model else None
    if route and not route.maker:
        return route
    owner = known.provider(row.provider) if row else None
    return owner or route or (spoken[0] if spoken else None)


def _unknown_window(model: str | None, tokens: int, variable: str, local: bool) -> Notice:
    facts = {"model": model or "", "tokens": str(tokens), "variable": variable}
    remedy = f"taking {tokens:,} tokens; give the window, or set {variable}"
    if local:
        who = model or "the model"
        return Notice("local_model", f"{who} runs with the window its server gives it: {remedy}", facts)
    what = f"unknown model {model!r}" if model else "no model named"
    return Notice("unknown_model", f"{what}: {remedy}", facts)


def _complete_url(given: str, usual: str) -> str:
    """Return a URL for an address as Ollama's users write it: `0.0.0.0` or `box:11434`, where it listens."""
    if "://" in given:
        return given.rstrip("/")
    host, _, port = given.rpartition(":") if re.search(r":\d+$", given) else (given, "", usual.rpartition(":")[2])
    return f"http://{'127.0.0.1' if host in ('', '0.0.0.0') else host}:{port}"
