"""Recipes from plain data, as read from a settings file: nobody has to write Python to try another order of rungs.

Law: what is wrong is said when the table is read, with the recipe and the rung it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, get_args

from yohaku.core.budget import At, Level
from yohaku.core.engine import Pass, Recipe, Rung
from yohaku.core.errors import BadSetting
from yohaku.passes.cap_results import capped
from yohaku.passes.clear_largest import clear
from yohaku.passes.clear_old_results import clear_old
from yohaku.passes.clip import clip_bytes, clip_results
from yohaku.passes.digest import digest
from yohaku.passes.distil import distil
from yohaku.passes.drop_oldest import slide
from yohaku.passes.drop_superseded import supersede
from yohaku.passes.drop_thoughts import thoughts
from yohaku.passes.limit_tool_output import trim
from yohaku.passes.one_line_results import once
from yohaku.passes.preview_huge_result import preview
from yohaku.passes.shrink_all import squeeze
from yohaku.passes.shrink_newest import newest
from yohaku.passes.summarise import summarise
from yohaku.passes.trim_new_results import arrive
from yohaku.passes.unchanged import unchanged
from yohaku.passes.use_draft import drafted
from yohaku.recipes.builtin import DOCUMENTS, LAST_RESORT

Factory: TypeAlias = Callable[..., Pass]
Find: TypeAlias = Callable[[str], "Factory | None"]
"""Imports "package.module:function" for us; None, or an error, where there is no such thing."""

PASSES: dict[str, Factory] = {
    function.__name__: function
    for function in (
        arrive, capped, clear, clear_old, clip_bytes, clip_results, digest, distil, drafted, newest, once, preview,
        slide, squeeze, summarise, supersede, thoughts, trim, unchanged,
    )
}  # fmt: skip

LEVELS = get_args(Level)
FLAGS = ("pays", "last", "quiet")
TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "str": (str,)}


def recipe_of(name: str, table: Mapping[str, Any], find: Find | None = None) -> Recipe:
    """A recipe of one's own: `rungs`, or one of the documents' by `like` with other `options`.

    Behind the rungs stands the same last resort as everywhere, unless `last_resort` is false.
    """
    where = f"recipe {name!r}"
    if "like" in table:
        _known(table, ("like", "options"), where)
        recipe = _called(_document(table["like"], where), (), table.get("options", {}), where)
        return Recipe(name, recipe.rungs)
    _known(table, ("rungs", "last_resort"), where)
    rungs = table.get("rungs")
    if not isinstance(rungs, list) or not rungs:
        raise BadSetting(f"{where}: give it rungs, a list of tables, or the name of another recipe as like")
    made = [_rung(rung, f"{where}, rung {number}", find) for number, rung in enumerate(rungs, 1)]
    return Recipe(name, (*made, *(LAST_RESORT if _true(table, "last_resort", True, where) else ())))


def _rung(table: object, where: str, find: Find | None) -> Rung:
    if not isinstance(table, Mapping):
        raise BadSetting(f'{where}: must be a table such as {{level = "full", pass = "clear"}}, not {table!r}')
    _known(table, ("level", "pass", "args", "options", "goal", *FLAGS), where)
    if "level" not in table or "pass" not in table:
        raise BadSetting(f"{where}: needs a {'level' if 'level' not in table else 'pass'}")
    arguments = table.get("args", [])
    if not isinstance(arguments, list):
        raise BadSetting(f"{where}: args must be a list, not {arguments!r}")
    propose = _called(_pass(table["pass"], where, find), tuple(arguments), table.get("options", {}), where)
    if not callable(propose):
        raise BadSetting(f"{where}: {table['pass']!r} gives no pass")
    level, goal = _level(table["level"], "level", where), _level(table.get("goal", "warm"), "goal", where)
    pays, last, quiet = (_true(table, name, False, where) for name in FLAGS)
    return Rung(level, propose, goal, pays=pays, last=last, quiet=quiet)


def _pass(name: object, where: str, find: Find | None) -> Factory:
    if isinstance(name, str) and name in PASSES:
        return PASSES[name]
    if not isinstance(name, str) or ":" not in name:
        known = ", ".join(sorted(PASSES))
        raise BadSetting(f'{where}: unknown pass {name!r}: take one of {known}, or "package.module:function"')
    try:
        found = find(name) if find else None
    except Exception as failed:  # it is somebody else's module, and may do anything
        raise BadSetting(f"{where}: pass {name!r} cannot be loaded: {failed}") from failed
    if not callable(found):
        raise BadSetting(f"{where}: there is no pass {name!r}")
    return found


def _document(name: object, where: str) -> Callable[..., Recipe]:
    if isinstance(name, str) and name in DOCUMENTS:
        return DOCUMENTS[name]
    raise BadSetting(f"{where}: cannot be like {name!r}: take one of {', '.join(DOCUMENTS)}")


def _called(function: Callable[..., Any], arguments: tuple[Any, ...], options: object, where: str) -> Any:
    if not isinstance(options, Mapping):
        raise BadSetting(f"{where}: options must be a table, not {options!r}")
    wanted = getattr(function, "__annotations__", {})
    for name, value in options.items():
        types = TYPES.get(str(wanted.get(name)).removesuffix(" | None"))
        if types and (not isinstance(value, types) or (isinstance(value, bool) and bool not in types)):
            raise BadSetting(f"{where}: {name} must be {_a(types)}, not {value!r}")
    try:
        return function(*arguments, **{name: _frozen(value) for name, value in options.items()})
    except (TypeError, ValueError, BadSetting) as wrong:
        raise BadSetting(f"{where}: {wrong}") from wrong


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _level(value: object, what: str, where: str) -> At:
    if isinstance(value, str) and value in LEVELS:
        return value  # type: ignore[return-value]
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    raise BadSetting(f"{where}: {what} {value!r} is none of {', '.join(LEVELS)}, nor a share of the limit from 0 to 1")


def _true(table: Mapping[str, Any], name: str, default: bool, where: str) -> bool:
    value = table.get(name, default)
    if not isinstance(value, bool):
        raise BadSetting(f"{where}: {name} must be true or false, not {value!r}")
    return value


def _known(table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    unknown = [name for name in table if name not in names]
    if unknown:
        raise BadSetting(f"{where}: unknown {unknown[0]!r}: take {', '.join(names)}")


def _a(types: tuple[type, ...]) -> str:
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[types[-1]]
