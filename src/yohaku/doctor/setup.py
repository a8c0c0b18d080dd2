"""Checks a set-up: Python, settings, data folder, store, meter, keys, and model servers on this machine.

Law: nothing is changed, nothing leaves the machine, and no key is shown, only its name.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from yohaku import __version__, messages, meters, stores
from yohaku.config import catalog, resolve
from yohaku.config.settings import Settings
from yohaku.core.errors import YohakuError

CONNECT_TIMEOUT = 0.5
"""Seconds a local server has to answer."""

MIN_PYTHON = (3, 11)


class Check(NamedTuple):
    mark: Literal["ok", "--", "!!"]
    """Well; worth knowing; to be put right."""
    text: str


def checkup(settings: Settings, timeout: float = CONNECT_TIMEOUT) -> Iterator[Check]:
    yield from _check_python(settings)
    yield from _check_settings(settings)
    yield from _check_data(settings)
    yield from _check_store(settings)
    yield from _check_meter(settings)
    yield from _check_keys(settings)
    yield from _check_servers(settings, timeout)


def report(settings: Settings) -> tuple[str, int]:
    """The page to show, and the exit code: 1 if there is something to put right."""
    checks = list(checkup(settings))
    wrong = sum(check.mark == "!!" for check in checks)
    last = (
        messages.say("check_wrong", settings.lang, count=wrong) if wrong else messages.say("check_fine", settings.lang)
    )
    return "\n".join([*(f"{check.mark} {check.text}" for check in checks), last]), 1 if wrong else 0


def _say(settings: Settings, name: str, /, **facts: object) -> str:
    return messages.say(f"check_{name}", settings.lang, **facts)


def _check_python(settings: Settings) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    good = sys.version_info >= MIN_PYTHON
    yield Check("ok" if good else "!!", _say(settings, "python", name=version, about=__version__))


def _check_settings(settings: Settings) -> Iterator[Check]:
    config = settings.variable("YOHAKU_CONFIG")
    path = Path(config) if config else _usual_config(settings)
    found = path.expanduser().is_file()
    yield Check("ok" if found else "--", _say(settings, "config" if found else "no_config", name=path))
    for notice in settings.warnings:
        yield Check("!!", messages.notice(notice.code, notice.text, notice.facts, settings.lang))
    try:
        resolve.recipe_for(settings.recipe, settings)
        catalog.load(settings.catalog)
    except (YohakuError, OSError) as wrong:
        yield Check("!!", messages.explain(wrong, settings.lang) if isinstance(wrong, YohakuError) else str(wrong))


def _usual_config(settings: Settings) -> Path:
    home = Path(settings.variable("HOME", "USERPROFILE") or Path.home())
    return Path(settings.variable("XDG_CONFIG_HOME") or home / ".config") / "yohaku" / "config.toml"


def _check_data(settings: Settings) -> Iterator[Check]:
    folder = settings.data
    if not folder.exists():
        above = next((each for each in folder.absolute().parents if each.exists()), Path("/"))
        good = os.access(above, os.W_OK | os.X_OK)
        yield Check("--" if good else "!!", _say(settings, "data_new" if good else "data_not_writable", name=folder))
    elif not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Check("!!", _say(settings, "data_not_writable", name=folder))
    elif os.name == "posix" and stat.S_IMODE(folder.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        yield Check("--", _say(settings, "data_open", name=folder))
    else:
        yield Check("ok", _say(settings, "data", name=folder))


def _check_store(settings: Settings) -> Iterator[Check]:
    """Open the store; one that is not there yet is not made for that."""
    url = settings.store or stores.default_url(settings.data)
    shown = stores.redact(url)
    try:
        if url.startswith("sqlite:") and not stores.sqlite_path(url).exists():
            yield Check("--", _say(settings, "store_new", name=shown))
            return
        store = stores.open(url)
        try:
            _ = store.version
            policy = stores.eviction_policy(store)
        finally:
            store.close()
    except YohakuError as wrong:
        yield Check("!!", messages.explain(wrong, settings.lang))
    except (OSError, ImportError) as wrong:
        yield Check("!!", _say(settings, "store_fails", name=shown, why=wrong))
    else:
        name = "store_evicts" if policy else "store"
        yield Check("!!" if policy else "ok", _say(settings, name, name=shown, **({"why": policy} if policy else {})))


def _check_meter(settings: Settings) -> Iterator[Check]:
    if settings.model is None:
        yield Check("--", _say(settings, "no_model"))
        return
    meter = meters.for_model(settings.model)
    kind = "meter_exact" if meter.exact else "meter_estimate"
    yield Check("ok" if meter.exact else "--", _say(settings, kind, name=settings.model, about=meter.name))
    try:
        window = resolve.window_for(settings.model, settings)
    except YohakuError as wrong:
        yield Check("!!", messages.explain(wrong, settings.lang))
        return
    yield Check("ok", _say(settings, "window", count=window.tokens, about=window.source))
    for notice in window.warnings:
        yield Check("--", messages.notice(notice.code, notice.text, notice.facts, settings.lang))


def _check_keys(settings: Settings) -> Iterator[Check]:
    found = [key for provider in _providers(settings) for key in provider.keys if settings.environ.get(key)]
    for key in dict.fromkeys(found):
        value = settings.environ[key]
        odd = value != value.strip() or any(mark in value.strip() for mark in " \t\r\n\"'")
        yield Check("!!" if odd else "ok", _say(settings, "key_odd" if odd else "key", name=key))
    if not found:
        yield Check("--", _say(settings, "no_key"))


def _check_servers(settings: Settings, timeout: float) -> Iterator[Check]:
    for provider in _providers(settings):
        if provider.loopback:
            url = resolve.provider_address(provider, settings).url
            up = _answers(url, timeout)
            facts = {"name": provider.name, "about": stores.redact(url)}
            yield Check("ok" if up else "--", _say(settings, "server" if up else "no_server", **facts))


def _providers(settings: Settings) -> tuple[catalog.Provider, ...]:
    try:
        return catalog.load(settings.catalog).providers
    except (YohakuError, OSError):  # shown already, with the settings
        return catalog.load(None).providers


def _answers(url: str, timeout: float) -> bool:
    """True where a server answers HTTP on this machine; an address elsewhere is not tried."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or 80
        if parts.scheme != "http" or host not in ("127.0.0.1", "localhost", "::1"):
            return False
        connection = HTTPConnection(host, port, timeout=timeout)
        try:
            connection.request("GET", "/")
            connection.getresponse()
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError):
        return False
    return True
