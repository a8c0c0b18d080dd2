"""Recipes from plain data, as read from a settings file: another order of rungs needs no Python.

Law: mistakes are reported when the table is read, with the recipe and the rung.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeAlias, get_args

from yohaku import plugins
from yohaku.core.budget import At, Level
from yohaku.core.errors import BadSetting
from yohaku.core.recipe import Pass, Recipe, Rung
from yohaku.recipes.auto import BUILDERS
from yohaku.recipes.builtin import LAST_RESORT
from yohaku.recipes.options import DEFAULT_OPTIONS, RecipeOptions, parse_options

Factory: TypeAlias = Callable[..., Pass]
Find: TypeAlias = Callable[[str], "Factory | None"]
"""Importer of "package.module:function"; returns None, or raises, if it does not exist."""

PASSES = (
    "cap_results", "clear_largest", "clear_old_results", "digest", "drop_oldest", "drop_superseded", "drop_thoughts",
    "limit_tool_output", "one_line_results", "preview_huge_result", "restore_files", "show_notes", "shrink_all",
    "shrink_newest", "summarise", "trim_new_results", "use_draft",
)  # fmt: skip
"""Modules of `yohaku.passes`, each with a function of the same name that makes the pass."""

LEVELS = get_args(Level)
FLAGS = ("pays", "last", "quiet", "forced")
RUNG_KEYS = ("level", "pass", "args", "options", "goal", *FLAGS)
LIKE_KEYS, OWN_KEYS = ("like", "options"), ("rungs", "last_resort")
RECIPE_KEYS = (*LIKE_KEYS, *OWN_KEYS)
"""Keys of a recipe's table: either those of one like another, or those of one with rungs of its own."""
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def recipe_of(
    name: str, table: Mapping[str, Any], find: Find | None = None, base: RecipeOptions = DEFAULT_OPTIONS
) -> Recipe:
    """Make a recipe from its `rungs`, or from the built-in recipe `like` with other `options` than those of `base`.

    The usual last resort is added behind the rungs, unless `last_resort` is false.
    """
    where = f"recipe {name!r}"
    if "like" in table:
        _check_names(table, LIKE_KEYS, where)
        return Recipe(name, _make_like(table["like"], table.get("options", {}), base, where).rungs)
    _check_names(table, OWN_KEYS, where)
    rungs = table.get("rungs")
    if not isinstance(rungs, list) or not rungs:
        raise BadSetting(f"{where}: give it rungs, a list of tables, or the name of another recipe as like")
    made = [_read_rung(rung, f"{where}, rung {number}", find) for number, rung in enumerate(rungs, 1)]
    return Recipe(name, (*made, *(LAST_RESORT if _read_flag(table, "last_resort", True, where) else ())))


def _read_rung(table: object, where: str, find: Find | None) -> Rung:
    if not isinstance(table, Mapping):
        raise BadSetting(f'{where}: must be a table such as {{level = "full", pass = "clear_largest"}}, not {table!r}')
    _check_names(table, RUNG_KEYS, where)
    if "level" not in table or "pass" not in table:
        raise BadSetting(f"{where}: needs a {'level' if 'level' not in table else 'pass'}")
    propose = _make_pass(table, where, find)
    level, goal = _read_level(table["level"], "level", where), _read_level(table.get("goal", "warm"), "goal", where)
    pays, last, quiet, forced = (_read_flag(table, name, False, where) for name in FLAGS)
    return Rung(level, propose, goal, pays=pays, last=last, quiet=quiet, forced=forced)


def _make_pass(table: Mapping[str, Any], where: str, find: Find | None) -> Pass:
    """Call the pass's factory. An argument that is a table with a `pass` is a pass too, for `restore_files`."""
    arguments = table.get("args", [])
    if not isinstance(arguments, list):
        raise BadSetting(f"{where}: args must be a list, not {arguments!r}")
    inner = (_make_pass(one, where, find) if isinstance(one, Mapping) and "pass" in one else one for one in arguments)
    propose = _call(_find_pass(table["pass"], where, find), tuple(inner), table.get("options", {}), where)
    if not callable(propose):
        raise BadSetting(f"{where}: {table['pass']!r} gives no pass")
    made: Pass = propose
    return made


def _find_pass(name: object, where: str, find: Find | None) -> Factory:
    if isinstance(name, str) and name in PASSES:
        built_in: Factory = getattr(import_module(f"yohaku.passes.{name}"), name)
        return built_in
    found = plugins.find("passes", name) if isinstance(name, str) and ":" not in name else None
    if found is None and (not isinstance(name, str) or ":" not in name):
        known = ", ".join(sorted({*PASSES, *plugins.names("passes")}))
        raise BadSetting(f'{where}: unknown pass {name!r}: use one of {known}, or "package.module:function"')
    try:
        found = found or (find(str(name)) if find else None)
    except Exception as failed:  # importing runs another package's code, which can raise anything
        raise BadSetting(f"{where}: pass {name!r} cannot be loaded: {failed}") from failed
    if not callable(found):
        raise BadSetting(f"{where}: there is no pass {name!r}")
    factory: Factory = found
    return factory


def _make_like(like: object, options: object, base: RecipeOptions, where: str) -> Recipe:
    if not isinstance(like, str) or like not in BUILDERS:
        raise BadSetting(f"{where}: cannot be like {like!r}: use one of {', '.join(BUILDERS)}")
    if not isinstance(options, Mapping):
        raise BadSetting(f"{where}: options must be a table, not {options!r}")
    return BUILDERS[like](parse_options(options, like.partition("-")[0], base, where))


def _call(function: Callable[..., Any], arguments: tuple[Any, ...], options: object, where: str) -> Any:
    if not isinstance(options, Mapping):
        raise BadSetting(f"{where}: options must be a table, not {options!r}")
    wanted = getattr(function, "__annotations__", {})
    for name, value in options.items():
        types = TYPES.get(str(wanted.get(name)).removesuffix(" | None"))
        if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            raise BadSetting(f"{where}: {name} must be {_name_type(types)}, not {value!r}")
    try:
        return function(*arguments, **{name: _freeze(value) for name, value in options.items()})
    except (TypeError, ValueError, BadSetting) as wrong:
        raise BadSetting(f"{where}: {wrong}") from wrong


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _read_level(value: object, what: str, where: str) -> At:
    if isinstance(value, str) and value in LEVELS:
        return value  # type: ignore[return-value]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise BadSetting(f"{where}: {what} {value!r} is none of {', '.join(LEVELS)}, nor a share of the limit from 0 to 1")


def _read_flag(table: Mapping[str, Any], name: str, default: bool, where: str) -> bool:
    value = table.get(name, default)
    if not isinstance(value, bool):
        raise BadSetting(f"{where}: {name} must be true or false, not {value!r}")
    return value


def _check_names(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    unknown = [name for name in table if name not in names]
    if unknown:
        raise BadSetting(f"{where}: unknown {unknown[0]!r}: take {', '.join(names)}")


def _name_type(types: tuple[type, ...]) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[types[-1]]
