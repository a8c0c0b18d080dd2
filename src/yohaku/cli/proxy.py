"""`yohaku proxy`: keep any client inside its window, by standing between it and its provider.

Law: the server's packages are loaded when it is started, never before; where they are absent, one line says how to get
them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from yohaku import messages
from yohaku.cli.stores import url_of
from yohaku.config.settings import Settings
from yohaku.core.errors import BadSetting

if TYPE_CHECKING:
    from socket import socket

    from yohaku.proxy.app import Proxy
    from yohaku.proxy.summaries import SummaryModelSpec
    from yohaku.proxy.tenants import Tenants
    from yohaku.stores import Store

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
EVERY_ADDRESS = ("0.0.0.0", "::")
TOKEN_VARIABLE, TENANT_VARIABLE, TENANT_KEY_VARIABLE = "YOHAKU_PROXY_TOKEN", "YOHAKU_TENANT", "YOHAKU_TENANT_KEY"


def proxy(arguments: argparse.Namespace, settings: Settings) -> int:
    token = token_of(arguments, settings)
    if arguments.host not in LOOPBACK and not token:
        why = f"--host {arguments.host}: an address that others can reach needs a token (--token, or {TOKEN_VARIABLE})"
        raise BadSetting(why, code="proxy_host", host=arguments.host, variable=TOKEN_VARIABLE)
    import gc
    import logging

    gc.disable()  # what is loaded now stays: there is nothing to collect
    try:
        opened = open_proxy(arguments, settings)
    finally:
        gc.enable()
    if opened is None:
        return 2
    from yohaku.proxy.app import hide_secrets
    from yohaku.proxy.server import build_server

    logging.basicConfig(level=logging.INFO, format="yohaku: %(message)s", stream=sys.stderr)
    for handler in logging.getLogger().handlers:
        handler.addFilter(hide_secrets)
    listeners = _listen(arguments.host, arguments.port)
    port = listeners[0].getsockname()[1]
    with opened as app:
        gc.freeze()
        print(_greeting(arguments.host, port, bool(token), settings.lang), file=sys.stderr, flush=True)
        build_server(app, arguments.host, port, lambda count: _tell_wait(count, settings.lang)).run(sockets=listeners)
    return 0


def _tell_wait(count: int, lang: str) -> None:
    print(f"yohaku: {messages.say('proxy_waits', lang, count=count)}", file=sys.stderr, flush=True)


def _listen(host: str, port: int) -> list[socket]:
    import errno

    from yohaku.proxy.server import open_listeners

    try:
        return open_listeners(host, port)
    except OSError as failed:
        why = failed.strerror or str(failed)
        if failed.errno != errno.EADDRINUSE:
            said = f"cannot listen on port {port} of {host}: {why}; check --host and --port"
            raise BadSetting(said, code="proxy_listen", host=host, port=str(port), why=why) from None
        other = port + 1 if port < 65_535 else port - 1
        said = (
            f"port {port} is taken by another program, perhaps another yohaku proxy: "
            f"stop that, or choose another port, such as --port {other}"
        )
        raise BadSetting(said, code="proxy_port", port=str(port), other=str(other)) from None


def _greeting(host: str, port: int, needs_token: bool, lang: str) -> str:
    """Return where the proxy listens, and how a client is pointed at it."""
    from yohaku.proxy.access import TOKEN_HEADER

    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    if not needs_token:
        return messages.say("proxy_started", lang, url=f"http://{place}")
    where = f"HOST:{port}" if host in EVERY_ADDRESS else place
    return messages.say("proxy_started_with_token", lang, url=f"http://{place}", where=where, header=TOKEN_HEADER)


def check_upstreams(arguments: argparse.Namespace, settings: Settings) -> None:
    """Refuse an upstream that is no address of a server, before anything starts."""
    for url in (arguments.upstream, *(table.get("upstream") for table in settings.routes.values())):
        if url and not _is_address(url):
            said = f"{url} is no address of an upstream: write it in full, such as http://127.0.0.1:8080"
            raise BadSetting(said, code="proxy_upstream", url=url)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def token_of(arguments: argparse.Namespace, settings: Settings) -> str:
    return getattr(arguments, "token", None) or settings.variable(TOKEN_VARIABLE) or ""


def tenants_of(arguments: argparse.Namespace, settings: Settings) -> Tenants:
    """Return how tenants are told apart: as the user set it, else by credential where others can reach the proxy."""
    from yohaku.proxy.tenants import BY_CREDENTIAL, Tenants

    shared = getattr(arguments, "host", "127.0.0.1") not in LOOPBACK
    setting = getattr(arguments, "tenant", None) or settings.variable(TENANT_VARIABLE) or (BY_CREDENTIAL * shared)
    key = settings.variable(TENANT_KEY_VARIABLE) or token_of(arguments, settings)
    if setting == BY_CREDENTIAL and not key:
        why = f"--tenant {BY_CREDENTIAL} needs a key for the hash: set {TENANT_KEY_VARIABLE}, the same in every proxy"
        raise BadSetting(why, code="tenant_key", variable=TENANT_KEY_VARIABLE)
    return Tenants(setting, key)


def open_proxy(arguments: argparse.Namespace, settings: Settings) -> AbstractContextManager[Any] | None:
    """Return the ASGI application, which closes its store at the end; None, and say so, where packages are missing."""
    check_upstreams(arguments, settings)
    try:
        import_module("yohaku.proxy.app")
    except ImportError:
        print(f"yohaku: {messages.say('proxy_missing', settings.lang)}", file=sys.stderr)
        return None
    import logging

    from yohaku import stores
    from yohaku.config.resolve import recipe_for
    from yohaku.proxy.summaries import read_summary_model
    from yohaku.stores.fallback import FallbackStore

    tenants = tenants_of(arguments, settings)
    recipe = arguments.recipe or settings.recipe
    for name in (recipe, *(table["recipe"] for table in settings.routes.values() if "recipe" in table)):
        recipe_for(name, settings)  # an unknown name is refused before anything starts
    spec = read_summary_model(arguments.summaries, settings) if arguments.summaries else None
    url = url_of(arguments.store, settings)

    @contextmanager
    def opened() -> Iterator[Any]:
        store = FallbackStore(stores.open(url), lambda failed: logging.warning("%s", failed))
        if policy := stores.eviction_policy(store):
            said = messages.say("check_store_evicts", settings.lang, name=stores.redact(url), why=policy)
            print(f"yohaku: {said}", file=sys.stderr)
        proxy = _build(arguments, settings, store, recipe, tenants, spec)
        try:
            yield proxy.app()
        finally:
            proxy.fitter.stores.settle()
            store.close()

    return opened()


def _build(
    arguments: argparse.Namespace,
    settings: Settings,
    store: Store,
    recipe: str,
    tenants: Tenants,
    spec: SummaryModelSpec | None,
) -> Proxy:
    from yohaku.proxy.app import Proxy
    from yohaku.proxy.fitting import Fitter
    from yohaku.proxy.held_state import HeldState
    from yohaku.proxy.model_routes import build_routes
    from yohaku.proxy.summaries import DEFAULT_WAIT, Summaries
    from yohaku.proxy.upstream import Upstream
    from yohaku.proxy.windows import UpstreamWindows

    reserve = arguments.reserve or settings.reserve
    wait = DEFAULT_WAIT if arguments.summary_wait is None else arguments.summary_wait
    options = {"squeeze": arguments.squeeze, "recall_command": _recall_command(arguments, settings)}
    upstream = Upstream(arguments.upstream, provider_urls())
    fitter = Fitter(store, settings, window=arguments.window, reserve=reserve, recipe=recipe, **options)
    return Proxy(
        fitter,
        upstream,
        hosts=LOOPBACK if getattr(arguments, "host", "127.0.0.1") in LOOPBACK else frozenset[str](),
        token=token_of(arguments, settings),
        tenants=tenants,
        windows=UpstreamWindows(upstream, settings.data, arguments.window),
        recall_tool=arguments.recall_tool,
        believed=arguments.believe or 0,
        routes=build_routes(settings.routes, fitter, upstream, settings.data, wait),
        summaries=Summaries(spec, wait) if spec else None,
        held_state=HeldState() if arguments.hold_state else None,
    )


def _recall_command(arguments: argparse.Namespace, settings: Settings) -> str:
    """Return the command by which a client on this machine opens a ref; "" where it could not, or need not."""
    from yohaku.proxy.recall_hint import command_of

    elsewhere = getattr(arguments, "host", "127.0.0.1") not in LOOPBACK or getattr(arguments, "tenant", None)
    configured = url_of(arguments.store, settings)
    if elsewhere or arguments.recall_tool or configured.startswith("memory:"):
        return ""
    return command_of(arguments.store)


def provider_urls() -> dict[str, str]:
    """Address of the provider that each dialect belongs to, from the catalogue."""
    from yohaku.config import catalog

    found: dict[str, str] = {}
    for provider in catalog.load(None).providers:
        for dialect, url in ((provider.dialect, provider.url), *provider.also.items()):
            found.setdefault(dialect, url)
    return found
