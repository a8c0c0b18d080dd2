"""Families of models by name: vocabulary, overhead that the provider adds, rule for pictures.

Law: the table is `families.toml`; a name that no row matches is never counted as exact.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from yohaku.core.meter import Overhead
from yohaku.meters.media import MediaRule
from yohaku.meters.tool_calls import CALLS
from yohaku.meters.tool_definitions import DEFINITIONS

NOT_METERS = frozenset({"like", "family", "frame", "rule", "near", "sure"})
"""Keys of a row that describe the family; every other one names a meter."""


@dataclass(frozen=True, slots=True)
class MeterFamily:
    name: str
    frame: Overhead
    rule: MediaRule
    meters: tuple[tuple[str, str], ...]
    """Files of this folder that can count for it, each with its argument; the first that can be had is used."""
    near: float = 1.0
    """Over 1 when the vocabulary is only the nearest one."""
    sure: bool = True
    """False for a model that is only taken for one of this family."""


def family_of(model: str | None = None, dialect: str | None = None, provider: str = "") -> MeterFamily:
    """Return the family of a model; for an unknown name that of the provider or dialect, marked as a guess."""
    table = load()
    if model:
        # A name alone may say nothing ("meta-llama/Guard"): then its whole path is a hint, not more.
        for name, sure in ((bare(model), {}), (model.lower(), {"sure": False})):
            for row, pattern in zip(table["model"], patterns(), strict=True):
                if pattern.search(name):
                    return build(row["family"], {**row, **sure}, dialect)
        for maker in (provider, *provider_in(model)):
            if maker in table["provider"]:
                return build(table["provider"][maker], {"sure": False}, dialect)
    if dialect in table["dialect"]:
        return build(table["dialect"][dialect], {"sure": False}, dialect)
    return build("unknown" if model else "o200k", {}, dialect)


def bare(model: str) -> str:
    """`openrouter/anthropic/claude-3.5-sonnet` -> `claude-3.5-sonnet`, `Meta Llama 3` -> `meta-llama-3`."""
    return model.lower().rstrip("/").rsplit("/", 1)[-1].replace("_", "-").replace(" ", "-")


def provider_in(model: str) -> tuple[str, ...]:
    """`openrouter/acme/writer` -> `openrouter`, `acme`: words before a slash that may name the provider."""
    return tuple(model.lower().strip("/").split("/")[:-1])


def build(name: str, row: dict[str, Any], dialect: str | None) -> MeterFamily:
    table = load()
    said = {**table["family"][name], **row}
    return MeterFamily(
        name=name,
        frame=frame(said.get("frame", "template"), dialect),
        rule=rule(said.get("rule", "other")),
        meters=tuple((key, value) for key, value in said.items() if key not in NOT_METERS),
        **{key: said[key] for key in ("near", "sure") if key in said},
    )


def frame(name: str, dialect: str | None) -> Overhead:
    said: dict[str, Any] = dict(load()["frame"].get(f"{name}@{dialect}") or load()["frame"][name])
    if "describe" in said:
        said["describe"] = DEFINITIONS[said["describe"]]
    if "invoke" in said:
        said["invoke"] = CALLS[said["invoke"]]
    return Overhead(**said)


def rule(name: str) -> MediaRule:
    said: dict[str, Any] = dict(load()["rule"][name])
    if "numbers" in said:
        said["numbers"] = tuple(said["numbers"])
    return MediaRule(**said)


@cache
def load() -> dict[str, Any]:
    return tomllib.loads(files("yohaku.meters").joinpath("families.toml").read_text("utf-8"))


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(row["like"]) for row in load()["model"])
