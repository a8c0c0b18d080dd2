"""What the user set, and where: the one reader of the environment and of the config file.

Law: a value that cannot be used is skipped as if it were not set, and said once. Flags beat variables, variables beat
the file, the file beats defaults. Each key here is `YOHAKU_<KEY>` in the environment and `key = …` in config.toml,
which may also have `[max_context_length]` and `[recipes.NAME]`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    pass

MAXIMUM = "_MAX_CONTEXT_LENGTH"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should read once, at the start. `code` and `facts` let a surface translate it."""

    code: str
    text: str
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = None
    window: int | None = None
    """Tokens; for every model, so it beats what is known of one."""
    reserve: int | None = None
    """Tokens kept free for the reply."""
    recipe: str = "auto"
    lang: str = "en"
    """Language of what we say to the user, as in `ja`."""
    strict: bool = False
    """An unknown model is an error."""
    store: str | None = None
    """URL of the store; none is the one in the data folder."""
    data: Path = Path()
    catalog: Path | None = None
    """The user's own rows of models and providers."""
    preset: str = "balanced"
    """How much of the memory the window of a local model may take: speed, balanced or quality."""
    force: bool = False
    """Keep the window that was asked for, even where it does not fit the memory."""
    permissions: str = "ask"
    """What the agent may do by itself: ask, yolo (everything) or read-only."""
    chat: bool = False
    """Only talk, without tools."""
    debug: bool = False
    """The panel shows where every token is."""
    plain: bool = False
    """Lines instead of a screen."""
    theme: str = ""
    """The colours of the screen; empty: as the terminal's background wants."""
    gguf: Path | None = None
    """A model file for the built-in server."""
    stall: float = 0.0
    """Seconds without a byte after which a server counts as gone; 0: as long as is usual for it."""
    hook_before: str = ""
    """A command that is told of a folding, and may add words or refuse it."""
    hook_after: str = ""
    """A command that is given the report of each folding."""
    maxima: Mapping[str, int] = field(default_factory=dict)
    """Tokens by what stands before `_MAX_CONTEXT_LENGTH`, as in CLAUDE or DEFAULT."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The user's own, by name, as the tables they are written as: `recipe_for` makes them."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """Where each value came from: a variable's name, or the config file and its key. Defaults have none."""
    warnings: tuple[Notice, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Holds keys of providers: never shown."""

    def variable(self, *names: str) -> str | None:
        """The first of these variables that is set; for keys and addresses of providers."""
        return next((value for name in names if (value := self.environ.get(name, "").strip())), None)


def read(environ: Mapping[str, str] | None = None, config: Path | None = None) -> Settings:
    """The settings of this start. No arguments: the process's own environment and the usual file."""
    environ = dict(os.environ if environ is None else environ)
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    named = config or (Path(environ["YOHAKU_CONFIG"]) if environ.get("YOHAKU_CONFIG") else None)
    path = named or Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "yohaku" / "config.toml"
    reading = _Reading(environ)
    reading.file(path.expanduser(), must_exist=named is not None)
    reading.variables()
    values = {
        "lang": _locale(environ),
        "data": Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "yohaku",
        **reading.values,
    }
    return Settings(
        **values,
        maxima=reading.maxima,
        recipes=reading.recipes,
        origin=reading.origin,
        warnings=tuple(reading.warnings),
        environ=environ,
    )


def with_flags(settings: Settings, flags: Mapping[str, object]) -> Settings:
    """The settings with what the command line says, which beats everything; None is a flag not given."""
    said = {name: value for name, value in flags.items() if value is not None}
    values: dict[str, Any] = {}
    for name, value in said.items():
        parse, expected = KEYS[name]
        try:
            values[name] = parse(value)
        except ValueError:
            raise BadSetting(f"--{name.replace('_', '-')} is {str(value)!r}, which is not {expected}") from None
    origin = {**settings.origin, **{name: f"--{name.replace('_', '-')}" for name in said}}
    return replace(settings, **values, origin=origin)


def told(settings: Settings) -> list[tuple[str, str, str]]:
    """Every setting, its value and where it came from; of keys and addresses of providers only whether they are set."""
    rows = [(name, _shown(getattr(settings, name)), settings.origin.get(name, "")) for name in KEYS]
    maxima = [(f"{name}{MAXIMUM}", str(tokens)) for name, tokens in sorted(settings.maxima.items())]
    rows += [(name, tokens, settings.origin.get(name, "")) for name, tokens in maxima]
    return rows + [(f"recipes.{name}", "set", "") for name in settings.recipes]


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or value in ("", 0.0):
        return "-"
    return re.sub(r"://[^/@\s]*@", "://…@", str(value))  # a store's URL may hold a password


class _Reading:
    """Collects values, the weaker source first, and what was wrong with them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.values: dict[str, Any] = {}
        self.maxima: dict[str, int] = {}
        self.recipes: dict[str, Mapping[str, Any]] = {}
        self.origin: dict[str, str] = {}
        self.warnings: list[Notice] = []

    def file(self, path: Path, *, must_exist: bool) -> None:
        if not (must_exist or path.exists()):
            return
        import tomllib

        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as why:  # also broken TOML and broken UTF-8
            text = f"{path}: {why}; going on without it"
            self.warn("bad_config", text, file=str(path), why=str(why))
            return
        maxima, recipes = table.pop("max_context_length", {}), table.pop("recipes", {})
        for name, value in table.items():
            if name in KEYS:
                self.take(name, value, f"{path}: {name}")
            else:
                self.unknown(name, path)
        for name, value in self.tables("max_context_length", maxima, path):
            self.maximum(prefix_of(name), value, f"{path}: max_context_length.{name}")
        for name, value in self.tables("recipes", recipes, path):
            self.recipe(name, value, f"{path}: recipes.{name}")

    def tables(self, name: str, value: object, path: Path) -> Iterable[tuple[str, Any]]:
        if isinstance(value, dict):
            return value.items()
        self.bad(f"{path}: {name}", value, f"a table [{name}]")
        return ()

    def recipe(self, name: str, value: object, where: str) -> None:
        from yohaku.recipes.auto import RECIPES

        if name in RECIPES:
            self.bad(where, name, f"a name that is free: ours are {', '.join(RECIPES)}")
        elif not isinstance(value, dict):
            self.bad(where, value, f"a table [recipes.{name}]")
        else:
            self.recipes[name] = value

    def variables(self) -> None:
        for name in KEYS:
            variable = f"YOHAKU_{name.upper()}"
            if self.environ.get(variable, "").strip():  # an empty variable is the shell's way to unset one
                self.take(name, self.environ[variable], variable)
        for variable in sorted(self.environ):
            if variable.endswith(MAXIMUM):
                self.maximum(variable.removesuffix(MAXIMUM), self.environ[variable], variable)

    def take(self, name: str, value: object, where: str) -> None:
        parse, expected = KEYS[name]
        try:
            self.values[name] = parse(value)
        except ValueError:
            self.bad(where, value, expected)
        else:
            self.origin[name] = where

    def maximum(self, prefix: str, value: object, where: str) -> None:
        try:
            self.maxima[prefix] = _positive(value)
        except ValueError:
            self.bad(where, value, "a positive whole number of tokens")
        else:
            self.origin[prefix + MAXIMUM] = where

    def bad(self, where: str, value: object, expected: str) -> None:
        text = f"{where} is {str(value)!r}, which is not {expected}; going on as if it were not set"
        self.warn("bad_value", text, where=where, value=str(value), expected=expected)

    def unknown(self, name: str, path: Path) -> None:
        from difflib import get_close_matches  # only for a mistake, so not at every start

        near = get_close_matches(name, KEYS, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(KEYS)}, {TABLES}"
        self.warn("unknown_key", f"{path}: {name} is no setting{hint}", file=str(path), key=name)

    def warn(self, code: str, text: str, **facts: str) -> None:
        self.warnings.append(Notice(code, text, facts))


def _locale(environ: Mapping[str, str]) -> str:
    said = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    found = re.match(r"[a-z]{2,3}(?=[_.@-]|$)", said)
    return found[0] if found else "en"


def prefix_of(provider: str) -> str:
    return re.sub(r"\W", "_", provider).upper()


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isdecimal() and len(text) <= 12):  # also full-width digits, as Japanese keyboards write them
        raise ValueError(text)
    return int(text)


def _positive(value: object) -> int:
    if (number := _whole(value)) < 1:
        raise ValueError(number)
    return number


def _natural(value: object) -> int:
    if (number := _whole(value)) < 0:
        raise ValueError(number)
    return number


def _text(value: object) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ValueError(value)
    return value.strip()


def _path(value: object) -> Path:
    return Path(_text(value)).expanduser()


def _truth(value: object) -> bool:
    said = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    word = str(value).strip().lower()
    if word not in said:
        raise ValueError(word)
    return said[word]


def _one_of(*words: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if (word := _text(value).lower().replace("_", "-")) not in words:
            raise ValueError(word)
        return word

    return parse


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not 0 <= (number := float(str(value).strip())) < 10**6:
        raise ValueError(value)
    return number


def _language(value: object) -> str:
    if not re.fullmatch(r"[a-z]{2,3}(?:[_-]\w+)*(?:\.[\w-]+)?", _text(value)):
        raise ValueError(value)
    return _locale({"LANG": _text(value)})


KEYS: Mapping[str, tuple[Callable[[object], Any], str]] = {
    "model": (_text, "the name of a model"),
    "window": (_positive, "a positive whole number of tokens"),
    "reserve": (_natural, "a whole number of tokens"),
    "recipe": (_text, "the name of a recipe"),
    "lang": (_language, "a language such as ja or en"),
    "strict": (_truth, "true or false"),
    "store": (_text, "the URL of a store"),
    "data": (_path, "the path of a folder"),
    "catalog": (_path, "the path of a JSON file"),
    "preset": (_one_of("speed", "balanced", "quality"), "speed, balanced or quality"),
    "force": (_truth, "true or false"),
    "permissions": (_one_of("ask", "yolo", "read-only"), "ask, yolo or read-only"),
    "chat": (_truth, "true or false"),
    "debug": (_truth, "true or false"),
    "plain": (_truth, "true or false"),
    "theme": (_text, "the name of a theme"),
    "gguf": (_path, "the path of a model file"),
    "stall": (_seconds, "a number of seconds"),
    "hook_before": (_text, "a command"),
    "hook_after": (_text, "a command"),
}
"""Every setting, how it is read, and what it must be."""

TABLES = "[max_context_length] and [recipes.NAME]"
"""What else a config file may have."""
