"""`yohaku mcp`: what is folded, as tools for programs that speak the Model Context Protocol.

Law: the SDK is loaded when it is served with, never before; where it is absent, one line says how to get it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from yohaku.config.settings import Settings

WHAT = "offer what was folded to a program that speaks MCP, over standard input and output"
EXAMPLES = [
    "yohaku mcp",
    "yohaku mcp --store sqlite:///srv/yohaku/store.db",
    "claude mcp add yohaku -- yohaku mcp",
]
MISSING = {
    "en": "mcp needs a package that is not installed: pip install 'yohaku[mcp]'",
    "ja": "mcp に必要なパッケージがありません。次で入ります: pip install 'yohaku[mcp]'",
}


def options(command: Any) -> None:
    command.add_argument("--session", metavar="KEY", help="search only in what this session folded (default: in all)")


def mcp(arguments: argparse.Namespace, settings: Settings) -> int:
    try:
        from yohaku.mcp import server
    except ImportError:
        print(f"yohaku: {MISSING[settings.lang]}", file=sys.stderr)
        return 2
    from yohaku.cli import stores

    def opens() -> Any:
        return stores.opened(arguments.store, settings)

    server.serve(server.RecallServer(opens, arguments.session, settings.lang))
    return 0
