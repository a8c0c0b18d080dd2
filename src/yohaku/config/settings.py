"""Settings from flags, environment and config file, and where each came from. Nothing else reads the environment.

Law: an unusable value is ignored as if it were not set, with one notice. Flags beat variables, variables beat the file,
the file beats defaults. Each key here is `YOHAKU_<KEY>` in the environment and `key = …` in config.toml,
which may also have `[max_context_length]` and `[recipes.NAME]`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from yohaku.core.errors import BadSetting

MAXIMUM_SUFFIX = "_MAX_CONTEXT_LENGTH"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something for the user to read once, at the start. `code` and `facts` let a surface translate it."""

    code: str
    text: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = None
    window: int | None = None
    """Tokens, for every model: beats the catalogue."""
    reserve: int | None = None
    """Tokens kept free for the reply."""
    recipe: str = "auto"
    lang: str = "en"
    """Language of messages, such as `ja`."""
    strict: bool = False
    """An unknown model is an error."""
    store: str | None = None
    """URL of the store; None for the one in the data folder."""
    data: Path = Path()
    catalog: Path | None = None
    """File with the user's own models and providers."""
    preset: str = "balanced"
    """Share of the memory for the window of a local model: speed, balanced or quality."""
    force: bool = False
    """Keep the wanted window, even where it does not fit the memory."""
    permissions: str = "ask"
    """Permissions of the agent: ask, yolo (everything) or read-only."""
    chat: bool = False
    """Only talk, without tools."""
    debug: bool = False
    """Show where every token is."""
    plain: bool = False
    """Lines instead of a screen."""
    theme: str = ""
    """Colours of the screen; empty: chosen by the terminal's background."""
    gguf: Path | None = None
    """Model file for the built-in server."""
    stall: float = 0.0
    """Seconds without a byte after which a server counts as gone; 0: the default for its kind."""
    hook_before: str = ""
    """Command run before a folding; it may add words or refuse it."""
    hook_after: str = ""
    """Command run after a folding, with its report as input."""
    maxima: Mapping[str, int] = field(default_factory=dict)
    """Tokens by the prefix of a `…_MAX_CONTEXT_LENGTH` variable, such as CLAUDE or DEFAULT."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The user's own recipes as tables, by name; `recipe_for` builds them."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """Source of each value: the variable, or the config file and its key. Defaults have none."""
    warnings: tuple[Notice, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Holds API keys: never shown."""

    def variable(self, *names: str) -> str | None:
        """Return the first of these variables that is set; for keys and addresses of providers."""
        return next((value for name in names if (value := self.environ.get(name, "").strip())), None)


def read(environ: Mapping[str, str] | None = None, config: Path | None = None) -> Settings:
    """Read the settings, by default from the process's environment and the usual file."""
    environ = dict(os.environ if environ is None else environ)
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    named = config or (Path(environ["YOHAKU_CONFIG"]) if environ.get("YOHAKU_CONFIG") else None)
    path = named or Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "yohaku" / "config.toml"
    reader = _SettingsReader(environ)
    reader.read_file(path.expanduser(), must_exist=named is not None)
    reader.read_variables()
    values = {
        "lang": _read_locale(environ),
        "data": Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "yohaku",
        **reader.values,
    }
    return Settings(
        **values,
        maxima=reader.maxima,
        recipes=reader.recipes,
        origin=reader.origin,
        warnings=tuple(reader.warnings),
        environ=environ,
    )


def with_flags(settings: Settings, flags: Mapping[str, object]) -> Settings:
    """Return the settings with flags of the command line over them; None is a flag that was not given."""
    given = {name: value for name, value in flags.items() if value is not None}
    values: dict[str, Any] = {}
    for name, value in given.items():
        parse, expected = KEYS[name]
        try:
            values[name] = parse(value)
        except ValueError:
            raise BadSetting(f"--{name.replace('_', '-')} is {str(value)!r}, which is not {expected}") from None
    origin = {**settings.origin, **{name: f"--{name.replace('_', '-')}" for name in given}}
    return replace(settings, **values, origin=origin)


def list_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Return every setting with its value and its source."""
    rows = [(name, _format_value(getattr(settings, name)), settings.origin.get(name, "")) for name in KEYS]
    maxima = [(f"{name}{MAXIMUM_SUFFIX}", str(tokens)) for name, tokens in sorted(settings.maxima.items())]
    rows += [(name, tokens, settings.origin.get(name, "")) for name, tokens in maxima]
    return rows + [(f"recipes.{name}", "set", "") for name in settings.recipes]


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or value in ("", 0.0):
        return "-"
    return re.sub(r"://[^/@\s]*@", "://…@", str(value))  # the URL of a store may hold a password


class _SettingsReader:
    """Collects values, the weaker source first, and notices about bad ones."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.values: dict[str, Any] = {}
        self.maxima: dict[str, int] = {}
        self.recipes: dict[str, Mapping[str, Any]] = {}
        self.origin: dict[str, str] = {}
        self.warnings: list[Notice] = []

    def read_file(self, path: Path, *, must_exist: bool) -> None:
        if not (must_exist or path.exists()):
            return
        import tomllib

        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:  # also broken TOML and broken UTF-8
            text = f"{path}: {error}; going on without it"
            self.warn("bad_config", text, file=str(path), why=str(error))
            return
        maxima, recipes = table.pop("max_context_length", {}), table.pop("recipes", {})
        for name, value in table.items():
            if name in KEYS:
                self._take(name, value, f"{path}: {name}")
            else:
                self._reject_key(name, path)
        for name, value in self._rows("max_context_length", maxima, path):
            self._take_maximum(variable_prefix(name), value, f"{path}: max_context_length.{name}")
        for name, value in self._rows("recipes", recipes, path):
            self._take_recipe(name, value, f"{path}: recipes.{name}")

    def _rows(self, name: str, value: object, path: Path) -> Iterable[tuple[str, Any]]:
        if isinstance(value, dict):
            return value.items()
        self._reject(f"{path}: {name}", value, f"a table [{name}]")
        return ()

    def _take_recipe(self, name: str, value: object, where: str) -> None:
        from yohaku.recipes.auto import RECIPES

        if name in RECIPES:
            self._reject(where, name, f"a name that is free: ours are {', '.join(RECIPES)}")
        elif not isinstance(value, dict):
            self._reject(where, value, f"a table [recipes.{name}]")
        else:
            self.recipes[name] = value

    def read_variables(self) -> None:
        for name in KEYS:
            variable = f"YOHAKU_{name.upper()}"
            if self.environ.get(variable, "").strip():  # an empty variable is the shell's way to unset one
                self._take(name, self.environ[variable], variable)
        for variable in sorted(self.environ):
            if variable.endswith(MAXIMUM_SUFFIX):
                self._take_maximum(variable.removesuffix(MAXIMUM_SUFFIX), self.environ[variable], variable)

    def _take(self, name: str, value: object, where: str) -> None:
        parse, expected = KEYS[name]
        try:
            self.values[name] = parse(value)
        except ValueError:
            self._reject(where, value, expected)
        else:
            self.origin[name] = where

    def _take_maximum(self, prefix: str, value: object, where: str) -> None:
        try:
            self.maxima[prefix] = _parse_positive(value)
        except ValueError:
            self._reject(where, value, "a positive whole number of tokens")
        else:
            self.origin[prefix + MAXIMUM_SUFFIX] = where

    def _reject(self, where: str, value: object, expected: str) -> None:
        text = f"{where} is {str(value)!r}, which is not {expected}; going on as if it were not set"
        self.warn("bad_value", text, where=where, value=str(value), expected=expected)

    def _reject_key(self, name: str, path: Path) -> None:
        from difflib import get_close_matches  # loaded only for a mistake

        near = get_close_matches(name, KEYS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(KEYS)}, {TABLES}"
        self.warn("unknown_key", f"{path}: {name} is no setting{hint}", file=str(path), key=name)

    def warn(self, code: str, text: str, **facts: str) -> None:
        self.warnings.append(Notice(code, text, facts))


def _read_locale(environ: Mapping[str, str]) -> str:
    locale = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    found = re.match(r"[a-z]{2,3}(?=[_.@-]|$)", locale)
    return found[0] if found else "en"


def variable_prefix(provider: str) -> str:
    return re.sub(r"\W", "_", provider).upper()


def _parse_integer(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isdecimal() and len(text) <= 12):  # also full-width digits, as Japanese keyboards write them
        raise ValueError(text)
    return int(text)


def _parse_positive(value: object) -> int:
    if (number := _parse_integer(value)) < 1:
        raise ValueError(number)
    return number


def _parse_natural(value: object) -> int:
    if (number := _parse_integer(value)) < 0:
        raise ValueError(number)
    return number


def _parse_text(value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(value)
    return value.strip()


def _parse_path(value: object) -> Path:
    return Path(_parse_text(value)).expanduser()


def _parse_bool(value: object) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    word = str(value).strip().lower()
    if word not in words:
        raise ValueError(word)
    return words[word]


def _parse_one_of(*words: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if (word := _parse_text(value).lower().replace("_", "-")) not in words:
            raise ValueError(word)
        return word

    return parse


def _parse_seconds(value: object) -> float:
    if isinstance(value, bool) or not 0 <= (number := float(str(value).strip())) < 10**6:
        raise ValueError(value)
    return number


def _parse_language(value: object) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(?:[_-]\w+)*(?:\.[\w-]+)?", _parse_text(value)):
        raise ValueError(value)
    return _read_locale({"LANG": _parse_text(value)})


KEYS: Mapping[str, tuple[Callable[[object], Any], str]] = {
    "model": (_parse_text, "the name of a model"),
    "window": (_parse_positive, "a positive whole number of tokens"),
    "reserve": (_parse_natural, "a whole number of tokens"),
    "recipe": (_parse_text, "the name of a recipe"),
    "lang": (_parse_language, "a language such as ja or en"),
    "strict": (_parse_bool, "true or false"),
    "store": (_parse_text, "the URL of a store"),
    "data": (_parse_path, "the path of a folder"),
    "catalog": (_parse_path, "the path of a JSON file"),
    "preset": (_parse_one_of("speed", "balanced", "quality"), "speed, balanced or quality"),
    "force": (_parse_bool, "true or false"),
    "permissions": (_parse_one_of("ask", "yolo", "read-only"), "ask, yolo or read-only"),
    "chat": (_parse_bool, "true or false"),
    "debug": (_parse_bool, "true or false"),
    "plain": (_parse_bool, "true or false"),
    "theme": (_parse_text, "the name of a theme"),
    "gguf": (_parse_path, "the path of a model file"),
    "stall": (_parse_seconds, "a number of seconds"),
    "hook_before": (_parse_text, "a command"),
    "hook_after": (_parse_text, "a command"),
}
"""Every setting: its parser, and what a value must be."""

TABLES = "[max_context_length] and [recipes.NAME]"
"""Tables that a config file may have."""
