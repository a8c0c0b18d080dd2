"""Commands that start another program of the package: `demo`, `lab`, `mcp`."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager

from yohaku import messages
from yohaku.cli.files import InputError
from yohaku.config.settings import Settings
from yohaku.stores import Store


def demo(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku.demo import play

    return play(arguments.window or 16_384, settings.lang, fast=arguments.fast)


def lab(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku.lab.run import main

    return main(arguments.rest, lang=settings.lang)


def mcp(arguments: argparse.Namespace, settings: Settings) -> int:
    try:
        from yohaku.mcp import server
    except ImportError:  # the SDK is an extra
        raise InputError(messages.say("mcp_missing", settings.lang)) from None
    from yohaku.cli.stores import open_store

    def open_configured() -> AbstractContextManager[Store]:
        return open_store(arguments.store, settings)

    server.serve(server.RecallServer(open_configured, arguments.session, settings.lang))
    return 0
