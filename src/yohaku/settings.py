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

from yohaku.core.errors import BadSetting, UnknownModel

if TYPE_CHECKING:
    from yohaku import catalog
    from yohaku.core.engine import Recipe

SAFE_WINDOW = 4096
"""Tokens that any model of today takes: for when nothing is known."""

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


@dataclass(frozen=True, slots=True)
class Window:
    tokens: int
    source: str
    """Who said so: `argument`, a variable, the config file, `catalogue …`, or `default`."""
    output_limit: int | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    key: str | None = field(default=None, repr=False)


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


def window_for(
    model: str | None,
    settings: Settings,
    *,
    provider: str | None = None,
    dialect: str | None = None,
    window: int | None = None,
) -> Window:
    """How much the model takes: as the user said, else as the catalogue knows, else little enough for any."""
    from yohaku import catalog  # here, and tomllib below: most starts need neither

    known = catalog.load(settings.catalog)
    row = known.find(model, provider) if model else None
    output = row.output if row else None
    if window is not None:
        if window < 1:
            raise BadSetting(f"a window of {window:,} tokens holds nothing: give a positive number", code="bad_window")
        return Window(window, "argument", output)
    if settings.window is not None:
        return Window(settings.window, settings.origin.get("window", "argument"), output)
    place = _place(known, model, row, provider, dialect)
    prefixes = place.limits if place else (_prefix(provider),) if provider else ()
    for prefix in (*prefixes, "DEFAULT"):
        if prefix in settings.maxima:
            source = settings.origin.get(prefix + MAXIMUM, prefix + MAXIMUM)
            return Window(settings.maxima[prefix], source, output)
    # What a local model was trained for says nothing about the memory its server was started with.
    local = place is not None and place.loopback
    if row and (not local or row in known.own):
        return Window(row.window, f"catalogue {row.provider}/{row.id}", output)
    if settings.strict:
        raise UnknownModel(model or "")
    family = known.family(model) if model and not local else None
    tokens, source = (family.window, "catalogue family") if family else (SAFE_WINDOW, "default")
    variable = prefixes[0] + MAXIMUM if prefixes else "DEFAULT" + MAXIMUM
    return Window(tokens, source, output, (_unknown(model, tokens, variable, local),))


def recipe_for(name: str, settings: Settings) -> Recipe:
    """One of ours, or one of the user's own, made now, so that a mistake in it is said to who wants it."""
    from yohaku.core.cookbook import recipe_of
    from yohaku.core.errors import UnknownRecipe
    from yohaku.core.recipes import RECIPES

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


def endpoint(provider: catalog.Provider, settings: Settings, dialect: catalog.Dialect | None = None) -> Endpoint:
    """Where to send, and with which key. An address the user set is taken for the provider's main dialect."""
    url = provider.url_of(dialect) if dialect else provider.url
    said = settings.variable(*provider.url_keys)
    if said and dialect in (None, provider.dialect):
        url = _address(said, provider.url)
    if url is None:
        raise ValueError(f"{provider.name} does not speak {dialect}: take {provider.dialect}")
    return Endpoint(url, settings.variable(*provider.keys))


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
            self.maximum(_prefix(name), value, f"{path}: max_context_length.{name}")
        for name, value in self.tables("recipes", recipes, path):
            self.recipe(name, value, f"{path}: recipes.{name}")

    def tables(self, name: str, value: object, path: Path) -> Iterable[tuple[str, Any]]:
        if isinstance(value, dict):
            return value.items()
        self.bad(f"{path}: {name}", value, f"a table [{name}]")
        return ()

    def recipe(self, name: str, value: object, where: str) -> None:
        from yohaku.core.recipes import RECIPES

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


def _locale(environ: Mapping[str, str]) -> str:
    said = environ.get("LC_ALL") or environ.get("LC_MESSAGES") or environ.get("LANG") or ""
    found = re.match(r"[a-z]{2,3}(?=[_.@-]|$)", said)
    return found[0] if found else "en"


def _prefix(provider: str) -> str:
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
