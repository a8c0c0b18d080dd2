"""Dialects, meters, passes, tools and stores from outside this package.

A program calls `register`; an installed package lists entry points in the group "yohaku.passes", "yohaku.tools" and so
on. The built-in ones are not in here: each package looks up its own names first and comes here for the others.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

Group: TypeAlias = Literal["dialects", "meters", "passes", "tools", "stores"]

_registered: dict[tuple[str, str], Any] = {}


def register(group: Group, name: str, plugin: Any) -> None:
    """Add a plugin under a name. The last one registered under a name counts."""
    _registered[group, name] = plugin


def find(group: Group, name: str) -> Any | None:
    """Return the plugin of that name, or None. An entry point is loaded when it is first looked up."""
    if (group, name) not in _registered:
        for entry in _entry_points(group).select(name=name):
            try:
                register(group, name, entry.load())
            except Exception as failed:  # loading runs another package's code, which can raise anything
                raise BadSetting(f"the plugin {entry.value!r} ({group}) cannot be loaded: {failed}") from failed
    return _registered.get((group, name))


def names(group: Group) -> tuple[str, ...]:
    """Return the names of all plugins of a group, registered or installed, without loading any."""
    registered = (name for owner, name in _registered if owner == group)
    return tuple(sorted({*registered, *_entry_points(group).names}))


def _entry_points(group: Group) -> EntryPoints:
    return _read_entry_points(group, tuple(sys.path))


@cache
def _read_entry_points(group: Group, path: tuple[str, ...]) -> EntryPoints:
    """Read what is installed, once for each path: it takes milliseconds."""
    from importlib.metadata import entry_points  # costs 20 ms, and most programs have no plugin

    return entry_points(group=f"yohaku.{group}")
