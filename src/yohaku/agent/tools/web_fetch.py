"""Tool that fetches a web page. It connects to the address it has checked, so a name cannot change in between.

Law: only http and https; addresses of this machine and its network need permission, at every redirect again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from typing import Any
from urllib.parse import urljoin, urlsplit

from yohaku.agent.toolkit import output_budget, text_files
from yohaku.agent.toolkit.arguments import BadArguments, object_schema, string
from yohaku.agent.toolkit.output_budget import format_size, ref_note, save_output
from yohaku.agent.toolkit.page_text import html_to_text
from yohaku.agent.toolkit.permissions import PermissionRefused
from yohaku.agent.toolkit.tool import AgentTool, Arguments, PermissionRequest, ToolContext, ToolResult
from yohaku.messages import say

MAX_BODY_BYTES = 5 * 1024 * 1024
MAX_TEXT_CHARS = 60 * 1024
TIMEOUT = 30
"""Seconds."""
MAX_REDIRECTS = 5


async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
    url = arguments["url"].strip()
    url = url if "://" in url else f"https://{url}"
    for _ in range(MAX_REDIRECTS + 1):
        addresses = await _permitted_addresses(context, url)
        status, kind, body, onward = await _fetch(url, addresses)
        if not onward:
            return await _make_result(context, url, status, kind, body)
        url = urljoin(url, onward)
    raise BadArguments(f"More than {MAX_REDIRECTS} redirects.")


async def _permitted_addresses(context: ToolContext, url: str) -> list[str]:
    """Ask for permission and return the addresses to connect to."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise BadArguments(f"{url[:200]!r} is no URL.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise BadArguments("Only http and https URLs can be fetched.")
    if parts.username or parts.password:
        raise BadArguments("Give a URL without a user name and password.")
    addresses = await _resolve(host, port or (443 if parts.scheme == "https" else 80))
    found = [ipaddress.ip_address(each.partition("%")[0]) for each in addresses]
    if any(_is_reserved(each) for each in found):
        raise BadArguments(f"{host} leads to an address that no page can be at.")
    danger = "" if all(_is_public(each) for each in found) else say("tools_private", context.lang)
    always = say("tools_always_host", context.lang, host=host)
    request = PermissionRequest("net", "web_fetch", f"GET {url[:200]}", url, "" if danger else always, danger, (host,))
    if not await context.allow(request):
        raise PermissionRefused
    return addresses


async def _resolve(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BadArguments(f"There is no {host}: is the name right, and is there a network?") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _unwrap_ipv4(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the IPv4 address inside an IPv6 one, if there is one."""
    inner = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None)
    return inner or address


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return _unwrap_ipv4(address).is_global and not _unwrap_ipv4(address).is_multicast


def _is_reserved(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Link-local addresses serve the keys of cloud machines; nobody means them."""
    plain = _unwrap_ipv4(address)
    return plain.is_link_local or plain.is_multicast or plain.is_unspecified


async def _fetch(url: str, addresses: list[str]) -> tuple[int, str, bytes, str]:
    """Return status, content type, body and the target of a redirect."""
    try:
        import aiohttp
    except ImportError:
        raise BadArguments("Pages cannot be fetched here: the user would have to install yohaku[agent].") from None
    connector = aiohttp.TCPConnector(resolver=_pinned_resolver(addresses), use_dns_cache=False)
    timeout = aiohttp.ClientTimeout(total=TIMEOUT)
    headers = {"User-Agent": "yohaku", "Accept": "text/html,text/*;q=0.9,application/json;q=0.9,*/*;q=0.1"}
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout, trust_env=False, headers=headers) as client,
            client.get(url, allow_redirects=False) as answer,
        ):
            onward = answer.headers.get("Location", "") if answer.status in (301, 302, 303, 307, 308) else ""
            body = b"" if onward else await _read_body(answer.content)
            return answer.status, answer.headers.get("Content-Type", ""), body, onward
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as why:
        raise BadArguments(f"{url[:200]} cannot be fetched: {str(why)[:200] or type(why).__name__}") from None


async def _read_body(content: Any) -> bytes:
    body = bytearray()
    async for block in content.iter_chunked(1 << 16):
        body += block
        if len(body) > MAX_BODY_BYTES:
            break
    return bytes(body[:MAX_BODY_BYTES])


def _pinned_resolver(addresses: list[str]) -> Any:
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Pinned(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
            return [
                ResolveResult(
                    hostname=host, host=each, port=port, proto=0, flags=socket.AI_NUMERICHOST,
                    family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                )
                for each in addresses
            ]  # fmt: skip

        async def close(self) -> None:
            pass

    return Pinned()


async def _make_result(context: ToolContext, url: str, status: int, kind: str, body: bytes) -> ToolResult:
    text = _decode(body, kind)
    if text is None:
        return ToolResult(f"{url} is not text ({kind or 'of no known kind'}, {format_size(len(body))}).", error=True)
    if "html" in kind or (not kind and text.lstrip()[:1] == "<"):
        text = await asyncio.to_thread(html_to_text, text, url)
    head = f"{url}" if status < 400 else f"{url} answered {status}"
    note = " (only its beginning was read)" if len(body) >= MAX_BODY_BYTES else ""
    answer_text = f"{head}{note}\n\n{text}"
    if len(answer_text) <= MAX_TEXT_CHARS and output_budget.fits(answer_text):
        return ToolResult(answer_text, error=status >= 400)
    saved = await save_output(context, text)
    note = f"[the rest is left out{ref_note(saved)}]"
    shown, _ = output_budget.keep_head(answer_text[:MAX_TEXT_CHARS] + "\n" + note, note)
    return ToolResult(shown, error=status >= 400, cut=True, output=saved)


def _decode(body: bytes, kind: str) -> str | None:
    charset = kind.lower().partition("charset=")[2].split(";")[0].strip(" \"'")
    if not charset and (declared := re.search(rb"charset=[\"']?([\w-]{1,20})", body[:2048])):
        charset = declared[1].decode()
    try:
        if charset:
            return body.decode(charset)
    except (LookupError, UnicodeDecodeError):
        pass
    found = text_files.decode_file(body)
    return found[0] if found else None


TOOL = AgentTool(
    "web_fetch",
    "Fetch a web page or file by its http(s) URL, as text.",
    object_schema("url", url=string()),
    "net",
    run,
    lambda arguments: f"Fetch {arguments.get('url', '')}",
)
