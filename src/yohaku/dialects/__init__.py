"""Wire formats by name. A dialect is imported and created when it is first looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from yohaku import plugins
from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from yohaku.dialects.dialect import Dialect

BUILT_IN = {
    "openai_chat": "OpenAIChat",
    "openai_responses": "OpenAIResponses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "ollama": "Ollama",
}
"""Name of each dialect of this package, which is also its file's, and the class in that file."""


class _Dialects(Mapping[str, "Dialect"]):
    """All dialects by name. Iterates over the built-in ones; plugins are found by their names."""

    def __getitem__(self, name: str) -> Dialect:
        if not isinstance(name, str):
            raise KeyError(name)
        if name in BUILT_IN:
            return _create_built_in(name)
        found = plugins.find("dialects", name)
        if found is None:
            raise KeyError(name)
        return _create(found) if isinstance(found, type) else found

    def __iter__(self) -> Iterator[str]:
        return iter(BUILT_IN)

    def __len__(self) -> int:
        return len(BUILT_IN)


DIALECTS: Mapping[str, Dialect] = _Dialects()


def dialect_named(name: str) -> Dialect:
    if name not in DIALECTS:
        known = ", ".join((*BUILT_IN, *plugins.names("dialects")))
        raise BadSetting(f"unknown dialect {name!r}: use one of {known}", "unknown_dialect", name=name, known=known)
    return DIALECTS[name]


@cache
def _create_built_in(name: str) -> Dialect:
    return _create(getattr(import_module(f"yohaku.dialects.{name}"), BUILT_IN[name]))


@cache
def _create(dialect: type[Dialect]) -> Dialect:
    return dialect()
