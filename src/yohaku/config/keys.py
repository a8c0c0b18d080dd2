"""The table of all settings: name, kind of value, other names. Everything that lists settings reads it.

Each is a key of config.toml (`a.b` in a table `[a]`), a variable `YOHAKU_<NAME>` and a flag `--<name>`.
To add one: a row here and a field of `Settings` (an option of a recipe: a field in `recipes/options.py`), a sentence
`[setting.NAME]` in messages/settings.toml, and `python3 dev.py pages` for the reference page.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from yohaku.recipes import option_values as values
from yohaku.recipes.option_values import ValueKind, one_of, parse_pairs, parse_text
from yohaku.recipes.options import ALIASES, SECTION_ALIASES, normalize_name, option_kinds


@dataclass(frozen=True, slots=True)
class SettingKey:
    name: str
    """As in the config file: `window`, or `compaction.auto` for `auto` in `[compaction]`."""
    kind: ValueKind
    aliases: tuple[str, ...] = ()
    """Names by which other programs and the design documents know it, as they write them."""

    @property
    def variable(self) -> str:
        return variable_of(self.name)

    @property
    def flag(self) -> str:
        return flag_of(self.name)

    @property
    def is_option(self) -> bool:
        """True for an option of a recipe."""
        return "." in self.name


def variable_of(name: str) -> str:
    return f"YOHAKU_{normalize_name(name).replace('.', '_').upper()}"


def flag_of(name: str) -> str:
    return "--" + re.sub(r"[._]", "-", normalize_name(name))


def _parse_path(value: object) -> Path:
    return Path(parse_text(value)).expanduser()


def read_locale(environ: Mapping[str, str]) -> str:
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    found = re.match(r"[a-z]{2,3}(?=[_.@-]|$)", locale)
    return found[0] if found else "en"


def _parse_language(value: object) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(?:[_-]\w+)*(?:\.[\w-]+)?", parse_text(value)):
        raise ValueError(value)
    return read_locale({"LANG": parse_text(value)})


RECIPE = ValueKind("recipe", "the name of a recipe", parse_text)
LANGUAGE = ValueKind("language", "a language such as ja or en", _parse_language)
STORE = ValueKind("store", "the URL of a store", parse_text)
FOLDER = ValueKind("folder", "the path of a folder", _parse_path)
JSON_FILE = ValueKind("json_file", "the path of a JSON file", _parse_path)
MODEL_FILE = ValueKind("model_file", "the path of a model file", _parse_path)
TOKENIZER_FILE = ValueKind("tokenizer_file", "the path of a tokenizer.json or .gguf file", _parse_path)
THEME = ValueKind("theme", "the name of a theme", parse_text)
COMMAND = ValueKind("command", "a command", parse_text)
PAIRS = ValueKind("pairs", "a table of names, such as gpt-5 = gpt-5-nano", parse_pairs)

_OWN = (
    SettingKey("model", values.MODEL),
    SettingKey("window", values.TOKENS, ("contextWindow",)),
    SettingKey("reserve", values.RESERVE, ("max_tokens", "max_output")),
    SettingKey("recipe", RECIPE),
    SettingKey("lang", LANGUAGE),
    SettingKey("strict", values.BOOL),
    SettingKey("store", STORE),
    SettingKey("data", FOLDER),
    SettingKey("catalog", JSON_FILE),
    SettingKey("preset", one_of("speed", "balanced", "quality")),
    SettingKey("force", values.BOOL),
    SettingKey("tier", one_of("auto", "small", "full")),
    SettingKey("permissions", one_of("ask", "plan", "yolo", "read-only")),
    SettingKey("secrets", one_of("hide", "show")),
    SettingKey("chat", values.BOOL),
    SettingKey("debug", values.BOOL),
    SettingKey("plain", values.BOOL),
    SettingKey("theme", THEME),
    SettingKey("gguf", MODEL_FILE),
    SettingKey("tokenizer", TOKENIZER_FILE),
    SettingKey("stall", values.SECONDS),
    SettingKey("hook_before", COMMAND, ("PreCompress",)),
    SettingKey("hook_after", COMMAND),
    SettingKey("summary_models", PAIRS),
)


def _list_keys() -> Iterator[SettingKey]:
    yield from _OWN
    for name, kind in option_kinds().items():
        yield SettingKey(name, kind, tuple(alias for alias, full in ALIASES.items() if full == name))


KEYS: Mapping[str, SettingKey] = {key.name: key for key in _list_keys()}
"""Every setting by its name."""

_ALIASES = {normalize_name(alias): key.name for key in KEYS.values() for alias in key.aliases}

SECTIONS = tuple(dict.fromkeys(name.partition(".")[0] for name in KEYS if "." in name))
"""Tables of the config file that hold settings."""


def find_key(name: str) -> str | None:
    """Return the name of a setting for any of its spellings and aliases."""
    name = normalize_name(name)
    section, dot, rest = name.partition(".")
    if dot and section in SECTION_ALIASES:
        name = f"{SECTION_ALIASES[section]}.{rest}"
    return name if name in KEYS else _ALIASES.get(name)


def is_section(name: str) -> bool:
    return _section_of(name) in SECTIONS


def find_keys(name: str) -> list[SettingKey]:
    """Return the setting of a name, or all of a section; none if there is no such name."""
    prefix = f"{_section_of(name)}."
    return [KEYS[key] for key in (find_key(name),) if key] + [
        key for key in KEYS.values() if key.name.startswith(prefix)
    ]


def _section_of(name: str) -> str:
    name = normalize_name(name)
    return SECTION_ALIASES.get(name, name)
