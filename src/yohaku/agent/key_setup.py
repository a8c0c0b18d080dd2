"""Taking of an API key from the user: pasted without being shown, used at once, kept where the user says.

Law: a key reaches the settings, the keyring or the file of keys, and no text: no question, notice, log or history.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from yohaku.agent.events import UserNotice
from yohaku.agent.host.model_spec import DEFAULT_MODELS, KEY_PREFIXES, PREFERRED_PROVIDERS, PROVIDER_TITLES
from yohaku.agent.host.stored_keys import KeyPlace, KeyringFailed, StoredKeys, find_keyring
from yohaku.agent.protocols import Surface
from yohaku.config import catalog
from yohaku.config.catalog import Provider
from yohaku.config.settings import Settings, config_folder
from yohaku.messages import say

MIN_KEY_CHARS, MAX_KEY_CHARS = 8, 1000


async def take_key(surface: Surface, settings: Settings, add_key: Callable[[str, str], None]) -> str:
    """Ask for a key, its provider and where to keep it; return the provider's name, empty if the user gave none."""
    lang = settings.lang
    key = (await surface.secret(say("key_paste", lang))).strip()
    if not key:
        return ""
    if not _looks_like_key(key):
        surface.show_notice(UserNotice(say("key_odd", lang), "warning"))
        return ""
    provider = provider_of_key(key, settings) or await _ask_provider(surface, settings)
    if provider is None:
        return ""
    place = await _ask_place(surface, settings, provider)
    if place is None:
        return ""
    add_key(provider.keys[0], key)
    told = await asyncio.to_thread(_keep, settings, provider, key, place) if place else ("key_for_now", "")
    surface.show_notice(UserNotice(say(told[0], lang, **_facts(provider), where=told[1])))
    return provider.name


def forget_key(name: str, settings: Settings) -> str:
    """Remove the key that is kept for a provider, and say what was done; empty if there is no such provider."""
    provider = catalog.load(settings.catalog).provider(name)
    if provider is None or not provider.keys:
        return ""
    place = stored_keys(settings).forget(provider.keys[0])
    return say(f"key_forgotten_{place}" if place else "key_not_kept", settings.lang, **_facts(provider))


def stored_keys(settings: Settings) -> StoredKeys:
    return StoredKeys(config_folder(settings.environ))


def provider_of_key(key: str, settings: Settings) -> Provider | None:
    """Return the provider that a key belongs to by its beginning; None where several would do."""
    name = next((name for prefix, name in KEY_PREFIXES.items() if key.startswith(prefix)), "")
    return catalog.load(settings.catalog).provider(name) if name else None


def _looks_like_key(key: str) -> bool:
    return MIN_KEY_CHARS <= len(key) <= MAX_KEY_CHARS and key.isascii() and key.isprintable() and " " not in key


async def _ask_provider(surface: Surface, settings: Settings) -> Provider | None:
    known = catalog.load(settings.catalog)
    names = dict.fromkeys([*PREFERRED_PROVIDERS, *DEFAULT_MODELS])
    offered = {PROVIDER_TITLES.get(name, name): found for name in names if (found := known.provider(name))}
    answer = await surface.question(say("key_whose", settings.lang), tuple(offered), own_words=False)
    return offered.get(answer)


async def _ask_place(surface: Surface, settings: Settings, provider: Provider) -> KeyPlace | Literal[""] | None:
    """Return where to keep a key: empty for nowhere, None if the user gave no answer."""
    lang, path = settings.lang, _short(stored_keys(settings).path)
    offered: dict[str, KeyPlace | Literal[""]] = {say("key_place_none", lang): ""}
    if await asyncio.to_thread(find_keyring):
        offered[say("key_place_keyring", lang)] = "keyring"
    offered[say("key_place_file", lang, path=path)] = "file"
    answer = await surface.question(say("key_where", lang, **_facts(provider)), tuple(offered), own_words=False)
    return offered.get(answer)


def _keep(settings: Settings, provider: Provider, key: str, place: KeyPlace) -> tuple[str, str]:
    """Keep a key; return the sentence that tells of it, and the path or the reason in it."""
    kept = stored_keys(settings)
    try:
        kept.keep(provider.keys[0], key, place)
    except KeyringFailed as why:
        return "key_keyring_failed", str(why)
    except OSError as why:
        return "key_file_failed", f"{_short(kept.path)}: {why.strerror or type(why).__name__}"
    return f"key_kept_{place}", _short(kept.path)


def _facts(provider: Provider) -> dict[str, str]:
    title = PROVIDER_TITLES.get(provider.name, provider.name)
    return {"provider": title, "variable": provider.keys[0], "name": provider.name}


def _short(path: Path) -> str:
    """Return a path as people write it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(path)
