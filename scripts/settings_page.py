"""Write docs/settings.md: every setting and every option of a recipe, from the code. Takes no arguments."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scripts.page_tables import quote, table  # noqa: E402 - nothing need be installed
from yohaku.agent.commands.config import expected_value  # noqa: E402
from yohaku.config.keys import KEYS, SECTIONS, SettingKey  # noqa: E402
from yohaku.config.settings import MAXIMUM_SUFFIX, Settings, format_value, value_of  # noqa: E402
from yohaku.messages import say  # noqa: E402
from yohaku.recipes.auto import RECIPES  # noqa: E402
from yohaku.recipes.from_config import PASSES, RECIPE_KEYS, RUNG_KEYS  # noqa: E402
from yohaku.recipes.options import SECTION_ALIASES, SHARED  # noqa: E402

PAGE = ROOT / "docs" / "settings.md"

DEFAULTS = {"data": "`~/.local/share/yohaku`", "lang": "that of the locale"}
"""Defaults that depend on the machine."""


def default_of(key: SettingKey) -> str:
    shown = format_value(value_of(Settings(), key.name))
    return DEFAULTS.get(key.name) or ("" if shown == "-" else f"`{shown}`")


def settings_table(keys: list[SettingKey]) -> str:
    rows = [
        (
            quote(key.name),
            say(f"setting.{key.name}", "en"),
            expected_value(key, "en"),
            default_of(key),
            quote(key.variable),
            quote(key.flag),
            quote(*key.aliases),
        )
        for key in keys
    ]
    return table(("key", "what it does", "takes", "default", "variable", "flag", "also called"), rows)


def section_heading(section: str) -> str:
    heading = f"## `[{section}]`: {'every recipe' if section in SHARED else f'the recipe `{section}`'}"
    aliases = [f"[{alias}]" for alias, full in SECTION_ALIASES.items() if full == section]
    return f"{heading}\n\nAlso called {quote(*aliases)}." if aliases else heading


def sections() -> str:
    parts = []
    for section in SECTIONS:
        keys = [key for key in KEYS.values() if key.name.startswith(f"{section}.")]
        parts += [section_heading(section), settings_table(keys)]
    return "\n\n".join(parts)


def passes_table() -> str:
    rows = []
    for name in PASSES:
        module = import_module(f"yohaku.passes.{name}")
        about = (module.__doc__ or "").split("\n\n")[0]
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        rows.append((quote(name), about, quote(*map(show_parameter, parameters))))
    return table(("pass", "what it does", "arguments and options"), rows)


def show_parameter(parameter: inspect.Parameter) -> str:
    name = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
    if isinstance(parameter.default, bool | int | float):
        return f"{name} = {str(parameter.default).lower()}"
    return name


def described(kind: str, names: tuple[str, ...]) -> str:
    return table(("key", "what it does"), [(quote(name), say(f"{kind}.{name}", "en")) for name in names])


def page() -> str:
    own = [key for key in KEYS.values() if not key.is_option]
    return f"""# Settings

<!-- Written by `python3 dev.py pages`; edit the code, not this page. -->

Every setting is a key of `~/.config/yohaku/config.toml` (`YOHAKU_CONFIG` names another file), a variable and a flag.
Flags beat variables, variables beat the file, the file beats defaults. A key with a dot stands in a table:
`compaction.auto` is `auto` in `[compaction]`. Names are taken in any spelling (`thresholdRatio`, `threshold-ratio`,
`THRESHOLD_RATIO`) and by the other names in the last column.

In a program: `yohaku.Session(…, settings={{"compaction.auto": False}})`. `yohaku config` shows each value and where it
came from, `yohaku config NAME` explains one, in the language of your messages. A value that cannot be used is ignored
with one notice.

## The program

{settings_table(own)}

{sections()}

## `[max_context_length]`

Tokens by provider or model: `claude = 100000`. As a variable: `CLAUDE{MAXIMUM_SUFFIX}=100000`, or
`DEFAULT{MAXIMUM_SUFFIX}`
for all others.

## `[recipes.NAME]`: a recipe of your own

Built in are {quote(*RECIPES)}. [Recipes](recipes.md) shows how to write your own.

{described("recipe_key", RECIPE_KEYS)}

A rung, one table in `rungs`:

{described("rung_key", RUNG_KEYS)}

Passes, by name:

{passes_table()}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
