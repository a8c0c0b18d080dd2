"""Commands that start another program of the package: `acp`, `demo`, `lab`, `mcp`."""

from __future__ import annotations

import argparse
import os
import stat
from contextlib import AbstractContextManager

from yohaku import messages
from yohaku.cli.files import InputError
from yohaku.config.settings import Settings
from yohaku.stores import Store


def acp(arguments: argparse.Namespace, settings: Settings) -> int:
    try:
        from yohaku.acp import server
    except ModuleNotFoundError as missing:  # the SDK is an extra
        if (missing.name or "").startswith("yohaku"):
            raise
        raise InputError(messages.say("acp_missing", settings.lang)) from None
    if not (_is_pipe(0) and _is_pipe(1)):
        raise InputError(messages.say("acp_no_editor", settings.lang))
    server.serve(settings)
    return 0


def _is_pipe(descriptor: int) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:  # closed
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


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
