"""All of what a tool gave in part, kept so that its ref opens it.

Law: a ref is shown only once what it stands for is in the store.
"""

from __future__ import annotations

import asyncio
from typing import IO

from yohaku.agent.toolkit.tool import ToolContext
from yohaku.core.errors import StoreFailed


async def keep(bench: ToolContext, original: str | IO[bytes]) -> str:
    """`; ref=…`, to be put into a note; nothing where there is no store."""
    session = bench.session
    if session is None:
        return ""
    source = [original] if isinstance(original, str) else original
    try:
        kept = await asyncio.to_thread(session.store.put_stream, source)
    except StoreFailed:  # the session tells the user; the model goes on with what it sees
        return ""
    return f"; ref={kept.ref}"


def size(count: int) -> str:
    """For people and models: `4.8 MB`."""
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"
