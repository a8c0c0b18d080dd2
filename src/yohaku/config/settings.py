"""Settings from flags, environment and config file, and where each came from. Nothing else reads the environment.

Law: an unusable value is ignored as if it were not set, with one notice. Flags beat variables, variables beat the file,
the file beats defaults. All settings are in `config/keys.py`; config.toml may also have `[max_context_length]`,
`[recipes.NAME]` and `[routes."PATTERN"]`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from yohaku.config.keys import KEYS, find_key, flag_of, is_section, read_locale, variable_of
from yohaku.core.errors import BadSetting
from yohaku.recipes.option_values import MODEL, RESERVE, TEXT, TOKENS, ValueKind
from yohaku.recipes.options import DEFAULT_OPTIONS, RecipeOptions, normalize_name

MAXIMUM_SUFFIX = "_MAX_CONTEXT_LENGTH"
MAX_SHOWN_CHARS = 60
ITSELF = {"chat": "enabled", "model": "name"}
"""Settings that may also be tables of a file, and their own name there: Gemini CLI has `compressionThreshold` in
`[model]`, and `[chat]` is the section of a recipe."""


ROUTE_FIELDS: dict[str, ValueKind] = {
    "upstream": TEXT,
    "model": MODEL,
    "window": TOKENS,
    "reserve": RESERVE,
    "recipe": TEXT,
    "summaries": TEXT,
}
"""What a table `[routes."PATTERN"]` may set."""


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
    tier: str = "auto"
    """Prompt and tools: small, full, or auto (by window, size and speed of the model)."""
    permissions: str = "ask"
    """Permissions of the agent: ask, plan (read only, harmless commands too), yolo (everything) or read-only."""
    secrets: str = "hide"
    """Keys and passwords in what tools give: hide or show."""
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
    tokenizer: Path | None = None
    """The model's tokenizer.json or GGUF file, to count its tokens exactly."""
    stall: float = 0.0
    """Seconds without a byte after which a server counts as gone; 0: the default for its kind."""
    hook_before: str = ""
    """Command run before a folding; it may add words or refuse it."""
    hook_after: str = ""
    """Command run after a folding, with its report as input."""
    summary_models: Mapping[str, str] = field(default_factory=dict)
    """Model that writes summaries, by the name of the main model or a pattern of it; `default` for all others."""
    options: RecipeOptions = DEFAULT_OPTIONS
    """Options of recipes, by section."""
    maxima: Mapping[str, int] = field(default_factory=dict)
    """Tokens by the prefix of a `…_MAX_CONTEXT_LENGTH` variable, such as CLAUDE or DEFAULT."""
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The user's own recipes as tables, by name; `recipe_for` builds them."""
    routes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of the proxy for some models or paths, by pattern."""
    origin: Mapping[str, str] = field(default_factory=dict)
    """Source of each value: the variable, or the config file and its key. Defaults have none."""
    warnings: tuple[Notice, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Holds API keys: never shown."""

    def variable(self, *names: str) -> str | None:
        """Return the first of these variables that is set; for keys and addresses of providers."""
        return next((value for name in names if (value := self.environ.get(name, "").strip())), None)


def config_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder of the config file."""
    environ = os.environ if environ is None else environ
    if environ.get("YOHAKU_CONFIG"):
        return Path(environ["YOHAKU_CONFIG"]).parent
    return Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME") or Path.home()) / ".config") / "yohaku"


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
        "lang": read_locale(environ),
        "data": Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "yohaku",
        **{name: value for name, value in reader.values.items() if "." not in name},
    }
    return Settings(
        **values,
        options=DEFAULT_OPTIONS.with_values({name: value for name, value in reader.values.items() if "." in name}),
        maxima=reader.maxima,
        recipes=reader.recipes,
        routes=reader.routes,
        origin=reader.origin,
        warnings=tuple(reader.warnings),
        environ=environ,
    )


def with_flags(settings: Settings, flags: Mapping[str, object]) -> Settings:
    """Return the settings with flags of the command line over them; None is a flag that was not given."""
    given = {name: value for name, value in flags.items() if value is not None}
    return _with_values(settings, given, flag_of)


def from_mapping(given: Mapping[str, object]) -> Settings:
    """Return settings from Python: names as in the config file, `compaction.auto` for one in a table, or aliases."""
    found: dict[str, object] = {}
    names: dict[str, str] = {}
    try:
        flat = list(_flatten(given))
    except RecursionError:
        raise BadSetting("the settings are nested too deeply: give names such as compaction.auto") from None
    for name, value in flat:
        if (key := find_key(name)) is None:
            raise BadSetting(unknown_setting(name), code="unknown_setting", name=name)
        found[key], names[key] = value, name
    return _with_values(Settings(), found, names.__getitem__)


def _with_values(settings: Settings, given: Mapping[str, object], name_of: Callable[[str], str]) -> Settings:
    values: dict[str, Any] = {}
    for name, value in given.items():
        kind = KEYS[name].kind
        try:
            values[name] = kind.parse(value)
        except (ValueError, TypeError):
            shown = _show(value)
            facts = {"where": name_of(name), "value": shown, "expected": kind.expected, "expects": kind.code}
            message = f"{name_of(name)} is {shown!r}, which is not {kind.expected}"
            raise BadSetting(message, code="bad_value", **facts) from None
    own = {name: value for name, value in values.items() if "." not in name}
    options = settings.options.with_values({name: value for name, value in values.items() if "." in name})
    origin = {**settings.origin, **{name: name_of(name) for name in given}}
    return replace(settings, **own, options=options, origin=origin)


def _show(value: object) -> str:
    try:
        return str(value)
    except (ValueError, RecursionError):  # more digits than Python writes, or too deep
        return f"a Python {type(value).__name__}"


def value_of(settings: Settings, name: str) -> Any:
    return settings.options.get(name) if "." in name else getattr(settings, name)


def list_settings(settings: Settings) -> list[tuple[str, str, str]]:
    """Return every setting with its value and its source."""
    rows = [(name, format_value(value_of(settings, name)), settings.origin.get(name, "")) for name in KEYS]
    maxima = [(f"{name}{MAXIMUM_SUFFIX}", str(tokens)) for name, tokens in sorted(settings.maxima.items())]
    rows += [(name, tokens, settings.origin.get(name, "")) for name, tokens in maxima]
    return rows + [(f"recipes.{name}", "set", "") for name in settings.recipes]


def format_value(value: object, *, whole: bool = False) -> str:
    """Return a value for people: no password, and of a long text only the beginning, unless `whole`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    if isinstance(value, Mapping):
        value = ", ".join(f"{name}={text}" for name, text in value.items())
    if value is None or value in ("", 0.0):
        return "-"
    text = " ".join(re.sub(r"://[^/@\s]*@", "://…@", str(value)).split())  # the URL of a store may hold a password
    return text if whole or len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS - 1]}…"


class _SettingsReader:
    """Collects values, the weaker source first, and notices about bad ones."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.values: dict[str, Any] = {}
        self.maxima: dict[str, int] = {}
        self.recipes: dict[str, Mapping[str, Any]] = {}
        self.routes: dict[str, Mapping[str, Any]] = {}
        self.origin: dict[str, str] = {}
        self.warnings: list[Notice] = []

    def read_file(self, path: Path, *, must_exist: bool) -> None:
        if not (must_exist or path.exists()):
            return
        import tomllib

        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            maxima, recipes = table.pop("max_context_length", {}), table.pop("recipes", {})
            routes = table.pop("routes", {})
            flat = list(_flatten(table))
        except (OSError, ValueError, RecursionError) as error:  # also broken TOML and broken UTF-8
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            self.warn("bad_config", f"{path}: {why}; going on without it", file=str(path), why=why)
            return
        for name, value in flat:
            if key := find_key(name):
                self._take(key, value, f"{path}: {name}")
            else:
                self._reject_key(name, path)
        for name, value in self._rows("max_context_length", maxima, path):
            self._take_maximum(variable_prefix(name), value, f"{path}: max_context_length.{name}")
        for name, value in self._rows("recipes", recipes, path):
            self._take_recipe(name, value, f"{path}: recipes.{name}")
        for name, value in self._rows("routes", routes, path):
            self._take_route(name, value, f'{path}: routes."{name}"')

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

    def _take_route(self, pattern: str, value: object, where: str) -> None:
        if not isinstance(value, dict):
            self._reject(where, value, f'a table [routes."{pattern}"]')
            return
        taken: dict[str, Any] = {}
        for name, each in value.items():
            if name not in ROUTE_FIELDS:
                self._reject(where, name, f"one of {', '.join(ROUTE_FIELDS)}")
                continue
            try:
                taken[name] = ROUTE_FIELDS[name].parse(each)
            except (ValueError, TypeError):
                self._reject(f"{where}.{name}", each, ROUTE_FIELDS[name].expected, ROUTE_FIELDS[name].code)
        self.routes[pattern] = taken

    def read_variables(self) -> None:
        for key in KEYS.values():
            for name in (*reversed(key.aliases), key.name):
                variable = variable_of(name)
                if self.environ.get(variable, "").strip():  # an empty variable is the shell's way to unset one
                    self._take(key.name, self.environ[variable], variable)
        for variable in sorted(self.environ):
            if variable.endswith(MAXIMUM_SUFFIX):
                self._take_maximum(variable.removesuffix(MAXIMUM_SUFFIX), self.environ[variable], variable)

    def _take(self, name: str, value: object, where: str) -> None:
        kind = KEYS[name].kind
        try:
            self.values[name] = kind.parse(value)
        except (ValueError, TypeError):
            self._reject(where, value, kind.expected, kind.code)
        else:
            self.origin[name] = where

    def _take_maximum(self, prefix: str, value: object, where: str) -> None:
        try:
            self.maxima[prefix] = TOKENS.parse(value)
        except ValueError:
            self._reject(where, value, TOKENS.expected, TOKENS.code)
        else:
            self.origin[prefix + MAXIMUM_SUFFIX] = where

    def _reject(self, where: str, value: object, expected: str, code: str = "") -> None:
        text = f"{where} is {str(value)!r}, which is not {expected}; going on as if it were not set"
        self.warn("bad_value", text, where=where, value=str(value), expected=expected, expects=code)

    def _reject_key(self, name: str, path: Path) -> None:
        text, near = f"{path}: {unknown_setting(name)}", nearest_key(name)
        if near:
            self.warn("unknown_key_near", text, file=str(path), key=name, near=near)
        else:
            self.warn("unknown_key", text, file=str(path), key=name)

    def warn(self, code: str, text: str, **facts: str) -> None:
        self.warnings.append(Notice(code, text, facts))


def nearest_key(name: str) -> str:
    """Return the setting that was probably meant; empty if none is near."""
    from difflib import get_close_matches  # loaded only for a mistake

    known = {name.partition(".")[2]: name for name in KEYS if "." in name}
    known |= {normalize_name(each): key.name for key in KEYS.values() for each in (*key.aliases, key.name)}
    near = get_close_matches(normalize_name(name), known, n=1)
    return known[near[0]] if near else ""


def unknown_setting(name: str) -> str:
    """Return what to say of a name that is no setting."""
    near = nearest_key(name)
    return f"{name} is no setting; " + (f"did you mean {near}?" if near else "yohaku config lists all of them")


def _flatten(table: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    """Yield the settings of a file: those in a table, such as [compaction], with its name before a dot."""
    for name, value in table.items():
        if isinstance(value, dict) and (is_section(name) or name in ITSELF):
            for inner, each in value.items():
                yield name if inner == ITSELF.get(name) else f"{name}.{inner}", each
        else:
            yield name, value


def variable_prefix(provider: str) -> str:
    return re.sub(r"\W", "_", provider).upper()


TABLES = '[max_context_length], [recipes.NAME] and [routes."PATTERN"]'
"""Tables that a config file may have beside the settings."""
