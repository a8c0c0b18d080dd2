"""Texts of /config and `yohaku config`: every setting with its value and source, or what one of them does."""

from __future__ import annotations

from collections.abc import Iterable

from yohaku.agent.format import pad
from yohaku.config import settings as setting
from yohaku.config.keys import SettingKey, find_keys, variable_of
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting
from yohaku.messages import find, say


def config_text(settings: Settings, lang: str) -> str:
    """Return every setting with its value and origin, in columns."""
    rows = [tuple(say("config_head", lang).split(" | "))]
    rows += [
        (name, value, where or say("config_default", lang)) for name, value, where in setting.list_settings(settings)
    ]
    widths = [max(len(row[column]) for row in rows) + 2 for column in (0, 1)]
    return "\n".join(pad(row[0], widths[0]) + pad(row[1], widths[1]) + row[2] for row in rows)


def explain_settings(settings: Settings, names: Iterable[str], lang: str) -> str:
    """Return what these settings are, their values, and how to set them; a section stands for all in it."""
    return "\n\n".join(_explain(settings, key, lang) for name in names for key in _find(name))


def _find(name: str) -> list[SettingKey]:
    found = find_keys(name)
    if not found:
        raise BadSetting(
            setting.unknown_setting(name), code="unknown_setting", name=name, near=setting.nearest_key(name)
        )
    return found


def _explain(settings: Settings, key: SettingKey, lang: str) -> str:
    value = setting.format_value(setting.value_of(settings, key.name), whole=True)
    lines = [
        f"{key.name} = {value}   ({settings.origin.get(key.name) or say('config_default', lang)})",
        say(f"setting.{key.name}", lang),
        say("config_names", lang, key=key.name, variable=key.variable, flag=key.flag),
        say("config_takes", lang, expected=expected_value(key, lang)),
    ]
    if key.aliases:
        lines.append(
            say(
                "config_aliases", lang, aliases=", ".join((*key.aliases, *dict.fromkeys(map(variable_of, key.aliases))))
            )
        )
    return "\n  ".join(lines)


def expected_value(key: SettingKey, lang: str) -> str:
    """Return what a value of this setting must be."""
    code = f"expected.{key.kind.code}"
    return say(code, lang, expected=key.kind.expected) if find(code) else key.kind.expected
