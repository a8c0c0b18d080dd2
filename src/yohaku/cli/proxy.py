"""`yohaku proxy`: keep any client inside its window, by standing between it and its provider.

Law: the server's packages are loaded when it is started, never before; where they are absent, one line says how to get
them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from yohaku import messages
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


def proxy(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.host not in LOOPBACK:
        raise BadSetting(f"--host {arguments.host}: use a loopback address", code="proxy_host", host=arguments.host)
    opened = open_proxy(arguments, settings)
    if opened is None:
        return 2
    import logging

    import uvicorn

    from yohaku.proxy.app import hide_secrets

    logging.basicConfig(level=logging.INFO, format="yohaku: %(message)s", stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.addFilter(hide_secrets)
    for name in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)
    host = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
    url = f"http://{host}:{arguments.port}"
    with opened as app:
        print(messages.say("proxy_started", settings.lang, url=url), file=sys.stderr, flush=True)
        uvicorn.run(app, host=arguments.host, port=arguments.port, access_log=False, log_level="warning")
    return 0


def open_proxy(arguments: argparse.Namespace, settings: Settings) -> AbstractContextManager[Any] | None:
    """Return the ASGI application, which closes its store at the end; None, and say so, where packages are missing."""
    try:
        from yohaku.proxy.app import Proxy
        from yohaku.proxy.fitting import Fitter
        from yohaku.proxy.upstream import Upstream
    except ImportError:
        print(f"yohaku: {messages.say('proxy_missing', settings.lang)}", file=sys.stderr)
        return None
    import logging

    from yohaku import stores
    from yohaku.cli.stores import url_of
    from yohaku.config.resolve import recipe_for
    from yohaku.stores.fallback import FallbackStore

    recipe = arguments.recipe or settings.recipe
    recipe_for(recipe, settings)  # an unknown name is refused before anything starts
    url = url_of(arguments.store, settings)

    @contextmanager
    def opened() -> Iterator[Any]:
        store = FallbackStore(stores.open(url), lambda failed: logging.warning("%s", failed))
        if policy := stores.eviction_policy(store):
            said = messages.say("check_store_evicts", settings.lang, name=stores.redact(url), why=policy)
            print(f"yohaku: {said}", file=sys.stderr)
        reserve = arguments.reserve or settings.reserve
        fitter = Fitter(store, settings, window=arguments.window, reserve=reserve, recipe=recipe)
        try:
            yield Proxy(fitter, Upstream(arguments.upstream, provider_urls()), hosts=LOOPBACK).app()
        finally:
            store.close()

    return opened()


def provider_urls() -> dict[str, str]:
    """Address of the provider that each dialect belongs to, from the catalogue."""
    from yohaku.config import catalog

    found: dict[str, str] = {}
    for provider in catalog.load(None).providers:
        for dialect, url in ((provider.dialect, provider.url), *provider.also.items()):
            found.setdefault(dialect, url)
    return found
