"""Options of the built-in recipes: one class a section of the config file, each number of a document as a default.

To add one: a field here with its kind, a sentence `[setting."section.name"]` in messages/settings.toml, and
`python3 dev.py pages` for the reference page. It is then a key of the config file, a variable and a flag as well.
Law: names are found in any spelling (`thresholdRatio`, `threshold-ratio`), and under the documents' own names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from typing import Any

from yohaku.core.errors import BadSetting
from yohaku.recipes import option_values as values
from yohaku.recipes.option_values import ValueKind
from yohaku.summary.prompts import RETAIN


def _option(default: Any, kind: ValueKind) -> Any:
    return field(default=default, metadata={"kind": kind})


@dataclass(frozen=True, slots=True)
class ToolOutputOptions:
    """Limits on tool outputs in context. On in the recipe `cache`; in others as soon as one of these is set."""

    enabled: bool | None = _option(None, values.BOOL)
    context_budget_tokens: int | None = _option(None, values.or_nothing(values.TOKENS))
    max_message_bytes: int = _option(50 * 1024, values.POSITIVE)
    max_line_length: int = _option(2_000, values.POSITIVE)

    def active(self, default: bool) -> bool:
        """Return `enabled`, else whether the recipe has them or the user set any."""
        return self.enabled if self.enabled is not None else default or self != ToolOutputOptions()


@dataclass(frozen=True, slots=True)
class CompactionOptions:
    """The summary of older turns. None: as the recipe has it."""

    enabled: bool = _option(True, values.BOOL)
    auto: bool = _option(True, values.BOOL)
    ask: str = _option("auto", values.one_of("auto", "always", "never"))
    threshold_ratio: float | None = _option(None, values.or_nothing(values.SHARE))
    model: str = _option("", values.MODEL)
    summary_prompt: str = _option("", values.TEXT)
    summary_directives: tuple[str, ...] = _option((), values.TEXTS)
    retain_prompt: str | None = _option(RETAIN, values.or_nothing(values.TEXT))
    retain_directives: tuple[str, ...] = _option((), values.TEXTS)
    retain_last_turns: int | None = _option(None, values.or_nothing(values.COUNT))


@dataclass(frozen=True, slots=True)
class LocalOptions:
    """The recipe `local`."""

    tool_output_share: float = _option(0.6, values.SHARE)
    outline_lines: int = _option(50, values.COUNT)
    keep_turns: int = _option(1, values.COUNT)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """The recipe `chat`."""

    method: str = _option("sliding", values.one_of("sliding", "summary", "hybrid"))
    keep_share: float = _option(0.5, values.SHARE)


@dataclass(frozen=True, slots=True)
class LayersOptions:
    """The recipe `layers`."""

    tools: tuple[str, ...] = _option(
        ("bash", "read", "write", "edit", "glob", "grep", "list_dir", "notebook_edit"), values.NAMES
    )
    keep_recent: int = _option(3, values.COUNT)
    min_result_tokens: int = _option(1_000, values.COUNT)
    min_savings: int = _option(20_000, values.COUNT)
    max_output: int = _option(20_000, values.COUNT)
    buffer_tokens: int = _option(13_000, values.COUNT)
    restore_files: int = _option(5, values.COUNT)
    restore_tokens_per_file: int = _option(5_000, values.COUNT)
    restore_tokens_total: int = _option(50_000, values.COUNT)
    huge_output_tokens: int = _option(40_000, values.POSITIVE)
    preview_chars: int = _option(2_000, values.POSITIVE)


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """The recipe `snapshot`."""

    trigger_share: float = _option(0.95, values.SHARE)
    threshold: float = _option(0.5, values.SHARE)
    keep_share: float = _option(0.3, values.SHARE)


@dataclass(frozen=True, slots=True)
class RecipeOptions:
    cache: ToolOutputOptions = ToolOutputOptions()
    compaction: CompactionOptions = CompactionOptions()
    local: LocalOptions = LocalOptions()
    chat: ChatOptions = ChatOptions()
    layers: LayersOptions = LayersOptions()
    snapshot: SnapshotOptions = SnapshotOptions()

    def get(self, name: str) -> Any:
        """Return the value of an option by its full name, such as `compaction.auto`."""
        section, _, option = name.partition(".")
        return getattr(getattr(self, section), option)

    def with_values(self, given: Mapping[str, Any]) -> RecipeOptions:
        """Return the options with parsed values over them, by full name."""
        changed = self
        for name, value in given.items():
            section, _, option = name.partition(".")
            changed = replace(changed, **{section: replace(getattr(changed, section), **{option: value})})
        return changed


DEFAULT_OPTIONS = RecipeOptions()

SHARED = ("cache", "compaction")
"""Sections that hold for every recipe; each other one is of the recipe of its name."""

SECTION_ALIASES = {"tool_output_cache": "cache", "tool_output": "cache", "compression": "compaction"}

ALIASES = {
    "contextBudgetTokens": "cache.context_budget_tokens",
    "maxMessageBytes": "cache.max_message_bytes",
    "maxLineLength": "cache.max_line_length",
    "thresholdRatio": "compaction.threshold_ratio",
    "summaryModel": "compaction.model",
    "summaryPrompt": "compaction.summary_prompt",
    "summaryDirectives": "compaction.summary_directives",
    "retainPrompt": "compaction.retain_prompt",
    "retainDirectives": "compaction.retain_directives",
    "retainLastTurns": "compaction.retain_last_turns",
    "COMPACTABLE_TOOLS": "layers.tools",
    "KEEP_RECENT": "layers.keep_recent",
    "MIN_SAVINGS": "layers.min_savings",
    "MAX_RESTORE_FILES": "layers.restore_files",
    "MAX_RESTORE_TOKENS_PER_FILE": "layers.restore_tokens_per_file",
    "MAX_RESTORE_TOKENS_TOTAL": "layers.restore_tokens_total",
    "model.compressionThreshold": "snapshot.threshold",
    "compressionThreshold": "snapshot.threshold",
    "DEFAULT_COMPRESSION_TOKEN_THRESHOLD": "snapshot.threshold",
    "COMPRESSION_PRESERVE_THRESHOLD": "snapshot.keep_share",
}
"""Names of options in the documents, as these write them; they stand without a section, in any spelling."""

LIKE_ALIASES = {"compaction": "compaction.enabled", "auto": "compaction.auto", "model": "compaction.model"}
"""Short names in the options of one recipe, where nothing else is called so."""


@cache
def option_kinds() -> Mapping[str, ValueKind]:
    """Return every option by its full name."""
    return dict(_list_options())


def _list_options() -> Iterator[tuple[str, ValueKind]]:
    for section in fields(RecipeOptions):
        for option in fields(getattr(DEFAULT_OPTIONS, section.name)):
            yield f"{section.name}.{option.name}", option.metadata["kind"]


def normalize_name(name: str) -> str:
    """Return `threshold_ratio` for thresholdRatio, threshold-ratio and THRESHOLD_RATIO."""
    if not name.isupper():
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return name.replace("-", "_").lower()


@cache
def _aliases() -> Mapping[str, str]:
    return {normalize_name(alias): name for alias, name in ALIASES.items()}


def find_option(name: str, recipe: str = "") -> str | None:
    """Return the full name of an option; with `recipe` also by its short name there."""
    name = normalize_name(name)
    section, dot, option = name.partition(".")
    if dot and section in SECTION_ALIASES:
        name = f"{SECTION_ALIASES[section]}.{option}"
    if name in option_kinds():
        return name
    if recipe and not dot:
        for full in (f"{recipe}.{name}", *(f"{shared}.{name}" for shared in SHARED), LIKE_ALIASES.get(name, "")):
            if full in option_kinds():
                return full
    return _aliases().get(name)


def parse_options(given: Mapping[str, Any], recipe: str, base: RecipeOptions, where: str = "") -> RecipeOptions:
    """Return `base` with plain values over it: of a table in the config file, or of Python."""
    place, found = f"{where}: " if where else "", dict[str, Any]()
    for name, value in _flatten(given):
        full = find_option(name, recipe)
        if full is None:
            raise BadSetting(f"{place}{_unknown_option(name, recipe)}")
        kind = option_kinds()[full]
        try:
            found[full] = kind.parse(value)
        except (ValueError, TypeError):
            facts = {"where": f"{place}{name}", "value": value, "expected": kind.expected, "expects": kind.code}
            message = f"{place}{name} must be {kind.expected}, not {value!r}"
            raise BadSetting(message, code="bad_value", **facts) from None
    return base.with_values(found)


def _flatten(given: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _unknown_option(name: str, recipe: str) -> str:
    """Return what to say of a name that is no option: the nearest one, or all."""
    own = [full for full in option_kinds() if full.split(".")[0] in (recipe, *SHARED)]
    short = {full.split(".")[1]: full for full in reversed(own)}
    near = get_close_matches(normalize_name(name), [*short, *own], n=1)
    return f"unknown {name!r}: " + (f"did you mean {near[0]}?" if near else f"use one of {', '.join(own)}")
