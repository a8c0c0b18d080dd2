"""The catalogue of providers and models: windows, prices, addresses.

Law: a window is never guessed too large, and a name that may mean another model is not found.
The files are read on first use. The window of a local model is the one it was trained for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec

from yohaku.config.catalog import names
from yohaku.core.errors import Unreadable


class TokenPrices(msgspec.Struct, frozen=True):
    """US dollars for a million tokens."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None


class PriceTier(msgspec.Struct, frozen=True):
    """Prices of the whole request once its prompt is longer than `above` tokens."""

    above: int
    prices: TokenPrices


class Model(msgspec.Struct, frozen=True):
    id: str
    """As in the provider's API."""
    provider: str
    window: int
    """Tokens of input that the provider takes; for a local model those it was trained for."""
    output: int | None = None
    """Tokens of the longest reply; None without a limit."""
    prices: TokenPrices | None = None
    tier: PriceTier | None = None
    summary: str | None = None
    """Model that writes summaries for this one, in place of the provider's usual one."""


class ModelFamily(msgspec.Struct, frozen=True):
    """Window to assume for a model newer than the snapshot, by a pattern of its name."""

    pattern: str
    window: int


class Provider(msgspec.Struct, frozen=True):
    name: str
    dialect: str
    """Name of its main dialect, of this package or a plug-in."""
    url: str
    """Everything before the dialect's own path: `…/v1` for OpenAI's, the bare host for Anthropic's and Ollama's."""
    keys: tuple[str, ...] = ()
    """Variables for its API key, the usual one first."""
    limits: tuple[str, ...] = ()
    """Prefixes of its `…_MAX_CONTEXT_LENGTH` variables, the documented one first."""
    summary: str | None = None
    aliases: tuple[str, ...] = ()
    """Other names of it or its maker, as before the slash of `google/gemini-2.5-pro`."""
    url_keys: tuple[str, ...] = ()
    also: dict[str, str] = {}
    """URLs of its other dialects."""
    maker: bool = False
    """Makes the models it serves, so a bare name is looked up here first."""
    path: str = ""
    """Prefix of model names in its API."""
    family: ModelFamily | None = None

    @property
    def loopback(self) -> bool:
        return re.match(r"https?://(?:127\.0\.0\.1|\[::1\]|localhost)(?:[:/]|$)", self.url) is not None

    def url_of(self, dialect: str) -> str | None:
        return self.url if dialect == self.dialect else self.also.get(dialect)


class _Row(msgspec.Struct, array_like=True, frozen=True):
    """One line of models.json."""

    id: str
    window: int
    output: int | None = None
    prices: tuple[float | None, ...] = ()
    above: int | None = None
    tier: tuple[float | None, ...] = ()


class _Snapshot(msgspec.Struct, frozen=True):
    models: dict[str, tuple[_Row, ...]]


class _Directory(msgspec.Struct, frozen=True):
    routes: tuple[str, ...]
    """Words before a slash that name a gateway, not the maker of the model."""
    providers: tuple[Provider, ...]


class _Overrides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    models: tuple[dict[str, Any], ...] = ()
    providers: tuple[Provider, ...] = ()


class Catalog:
    """Models and providers. A later row of the same provider and id replaces an earlier one."""

    def __init__(
        self,
        models: Iterable[Model],
        providers: Iterable[Provider],
        routes: Iterable[str] = (),
        own: Iterable[Model] = (),
    ) -> None:
        self.own = tuple(own)
        """Rows of the user, which hold for local models too."""
        self.models = tuple({(model.provider, model.id): model for model in (*models, *self.own)}.values())
        self.providers = tuple({provider.name: provider for provider in providers}.values())
        self._routes = frozenset(routes)

    def provider(self, name: str) -> Provider | None:
        return self._providers.get(name.strip().lower())

    def find(self, name: str, provider: str | None = None) -> Model | None:
        """Return the model that people mean by a name, as served by `provider` where that is known."""
        parts = names.normalize(name).split("/")
        wanted = [found.name] if provider and (found := self.provider(provider)) else []
        while True:
            if model := self._find_tagged("/".join(parts), wanted):
                tuned = (
                    name.strip().lower().startswith("ft:")
                )  # a fine-tuned model has prices of its own, which are not listed
                return msgspec.structs.replace(model, prices=None, tier=None) if tuned else model
            # An unknown word before the slash may be anything, also a smaller model of the same name.
            if len(parts) == 1 or not (parts[0] in self._providers or parts[0] in self._routes):
                return None
            if maker := self.provider(parts.pop(0)):
                wanted.append(maker.name)

    def family(self, name: str) -> ModelFamily | None:
        """Return the family that a name belongs to, for models newer than the snapshot."""
        stem = list(names.stems(names.normalize(name).rpartition("/")[2]))[-1]
        families = (provider.family for provider in self.providers if provider.family)
        return next((family for family in families if re.fullmatch(family.pattern, stem)), None)

    def summary_for(self, model: Model) -> Model | None:
        """Return the model that writes summaries for this one: its own, else the provider's usual one."""
        provider = self.provider(model.provider)
        name = model.summary or (provider.summary if provider else None)
        return self.find(name, model.provider) if name else None

    def _find_tagged(self, name: str, wanted: list[str]) -> Model | None:
        name, _, tag = name.partition(":")
        if tag and tag not in names.VARIANTS:
            local = [provider.name for provider in self.providers if provider.loopback]
            return self._pick(self._by_key.get(names.key(f"{name}:{tag}"), ()), local) or self._find_stem(name, local)
        return self._find_stem(name, wanted)

    def _find_stem(self, name: str, wanted: list[str]) -> Model | None:
        stems = list(names.stems(name))
        for index in (self._by_key, self._by_stem):
            for stem in stems:
                if rows := index.get(stem):
                    return self._pick(rows, wanted)
        return None

    def _pick(self, rows: Iterable[Model], wanted: list[str]) -> Model | None:
        """Pick one of several models with the same name: the wanted provider's, else the maker's, else the smallest."""
        rows = tuple(rows)
        for row in rows:
            if not row.provider:  # a user's own row, for every provider
                return row
        for name in wanted:
            for row in rows:
                if row.provider == name:
                    return row
        if not rows or any(self._providers[name].loopback for name in wanted):
            return None
        return min(rows, key=lambda row: (not wanted and self._rank[row.provider], row.window))

    @cached_property
    def _providers(self) -> dict[str, Provider]:
        aliases = {alias: provider for provider in self.providers for alias in provider.aliases}
        return aliases | {provider.name: provider for provider in self.providers}

    @cached_property
    def _rank(self) -> dict[str, int]:
        """Order of providers: makers as in the file, then hosts of others' models, then this machine."""
        hosts = len(self.providers)
        rank = {
            provider.name: place if provider.maker else hosts + provider.loopback
            for place, provider in enumerate(self.providers)
        }
        return {model.provider: hosts for model in self.models} | rank

    @cached_property
    def _by_key(self) -> dict[str, list[Model]]:
        index: dict[str, list[Model]] = {}
        for model in self.models:
            for name in {names.key(model.id), names.key(model.id.rpartition("/")[2])}:
                index.setdefault(name, []).append(model)
        return index

    @cached_property
    def _by_stem(self) -> dict[str, list[Model]]:
        """Models by name without `-preview`: `gemini-3.1-pro` exists only as a preview.

        Not without `-latest`: `gemini-pro` was another, smaller model.
        """
        index: dict[str, list[Model]] = {}
        for name, rows in self._by_key.items():
            if name.endswith("-preview"):
                index.setdefault(name.removesuffix("-preview"), []).extend(rows)
        return index


@lru_cache(maxsize=8)
def load(overrides: Path | None = None) -> Catalog:
    """Read the snapshot of the package, with the user's own rows over it."""
    here = Path(__file__)
    directory = msgspec.json.decode(here.with_name("providers.json").read_bytes(), type=_Directory)
    snapshot = msgspec.json.decode(here.with_name("models.json").read_bytes(), type=_Snapshot)
    paths = {provider.name: provider.path for provider in directory.providers}
    rows = [_make_model(row, name, paths.get(name, "")) for name, known in snapshot.models.items() for row in known]
    base = Catalog(rows, directory.providers, directory.routes)
    if overrides is None:
        return base
    try:
        own = msgspec.json.decode(overrides.expanduser().read_bytes(), type=_Overrides)
        rows = [_override(base, row) for row in own.models]
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"{overrides}: {error}: correct the file, or leave it out", file=str(overrides)) from error
    return Catalog(base.models, [*base.providers, *own.providers], directory.routes, rows)


def _make_model(row: _Row, provider: str, path: str) -> Model:
    prices = _make_prices(row.prices)
    tier = _make_prices(row.tier)
    return Model(
        id=path + row.id,
        provider=provider,
        window=row.window,
        output=row.output,
        prices=prices,
        tier=PriceTier(row.above, tier) if row.above and tier else None,
    )


def _make_prices(row: tuple[float | None, ...]) -> TokenPrices | None:
    fields: Iterator[float | None] = iter((*row, None, None, None, None))
    given, taken, read, write = next(fields), next(fields), next(fields), next(fields)
    return None if given is None or taken is None else TokenPrices(given, taken, read, write)


def _override(base: Catalog, row: dict[str, Any]) -> Model:
    """Complete the user's row from the catalogue. A row without a provider holds for every one."""
    provider = row.get("provider", "")
    same = (model for model in base.models if model.id == row.get("id") and provider in ("", model.provider))
    known = next(same, None)
    before = {**msgspec.to_builtins(known), "provider": provider} if known else {"provider": provider}
    model = msgspec.convert({**before, **row}, Model)
    if model.window < 1:
        raise msgspec.ValidationError(f"the window of {model.id!r} is no positive number")
    return model
