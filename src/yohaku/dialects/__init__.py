"""Wire formats by name. A dialect is imported and made when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from yohaku.dialects.dialect import Dialect

CLASSES = {
    "openai_chat": "OpenAIChat",
    "openai_responses": "OpenAIResponses",
    "anthropic": "Anthropic",
    "gemini": "Gemini",
    "ollama": "Ollama",
}
"""Each dialect's name, which is also its file's, and the class in it."""


@cache
def _made(name: str) -> Dialect:
    dialect: Dialect = getattr(import_module(f"yohaku.dialects.{name}"), CLASSES[name])()
    return dialect


class _Dialects(Mapping[str, "Dialect"]):
    def __getitem__(self, name: str) -> Dialect:
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(CLASSES)

    def __len__(self) -> int:
        return len(CLASSES)


DIALECTS: Mapping[str, Dialect] = _Dialects()


def dialect_named(name: str) -> Dialect:
    if name not in CLASSES:
        known = ", ".join(CLASSES)
        raise BadSetting(f"unknown dialect {name!r}: use one of {known}", "unknown_dialect", name=name, known=known)
    return DIALECTS[name]
