"""Failures of a request as values: a typed error made from the server's answer, and whether to try again.

Law: nothing here raises. The server's message is quoted in one line, and never a key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from yohaku.client.address import host_of
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import Busy, CutOff, Garbled, RequestFailed, RequestRefused, TooLong, Unreachable, Why
from yohaku.core.model import Reply, Text
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer
from yohaku.dialects.json_values import Json
from yohaku.dialects.role_rules import RuleName

BUSY_STATUSES = (429, 503, 529)
PASSING_STATUSES = (408, 425, 500, 502, 504, 520, 521, 522, 523, 524)
"""Statuses of failures that may pass."""
MAX_QUOTED_CHARS = 300
"""Characters of a server's message."""

_UNPAID = re.compile(r"insufficient_quota|billing|payment|credit balance", re.IGNORECASE)
_OVERLOADED = re.compile(r"overloaded|rate.?limit|too many requests|unavailable|resource.?exhausted", re.IGNORECASE)
_FAILED = re.compile(r"server.?error|api_error|internal|timeout|upstream|provider returned", re.IGNORECASE)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"')
_MARKUP = re.compile(r"<(?:!doctype|html|head|body|title|h1|p|div)\b", re.IGNORECASE)


class Fault(NamedTuple):
    error: RequestFailed
    again: bool = False
    """True where another try may help."""
    after: float | None = None
    """Seconds to wait, as requested by the server."""
    loading: bool = False
    """True while the server loads its model, which may take long."""
    roles: tuple[RuleName, ...] = ()
    """Rules about roles that the refused request may have broken."""


def of_status(status: int, headers: Mapping[str, str], text: str, endpoint: Endpoint) -> Fault:
    """Build the fault from an answer with an error status."""
    told = object_in(text)
    if status >= 400 and (
        overflow := dialect_named(endpoint.dialect).read_overflow(status, text if told is None else told)
    ):
        return Fault(TooLong(overflow))
    said = quote(text, endpoint)
    refused = RequestRefused(status, said, endpoint.name, endpoint.model)
    if status == 429 and _UNPAID.search(text):
        return Fault(refused)
    if status in BUSY_STATUSES:
        after = read_wait(headers, text)
        return Fault(Busy(after, endpoint.name), True, after, status == 503 and "loading" in text.lower())
    roles = dialect_named(endpoint.dialect).read_role_refusal(status, text)
    return Fault(refused, status in PASSING_STATUSES, roles=roles)


def of_error_event(event: Json, endpoint: Endpoint) -> Fault:
    """Build the fault from an error inside a stream; an overflow is recognised elsewhere, in the whole stream."""
    text = json.dumps(event, ensure_ascii=False)
    if _UNPAID.search(text):
        return Fault(RequestRefused(429, quote(text, endpoint), endpoint.name, endpoint.model))
    if _OVERLOADED.search(text):
        return Fault(Busy(read_wait({}, text), endpoint.name), True, read_wait({}, text))
    passing = bool(_FAILED.search(text))
    status = 500 if passing else 400
    roles = dialect_named(endpoint.dialect).read_role_refusal(status, text)
    return Fault(RequestRefused(status, quote(text, endpoint), endpoint.name, endpoint.model), passing, roles=roles)


def of_exception(error: BaseException, endpoint: Endpoint) -> Fault:
    """Build the fault from a failed connection."""
    why = classify(error)
    lost = Unreachable(why, endpoint.name, host_of(endpoint.url), endpoint.local)
    return Fault(lost, why in ("lost", "late", "refused"))


def stalled(endpoint: Endpoint, seconds: float) -> Fault:
    return Fault(Unreachable("stall", endpoint.name, host_of(endpoint.url), endpoint.local, seconds), True)


def garbled(text: str, endpoint: Endpoint) -> Fault:
    if not text.replace("data: [DONE]", "").strip():
        return Fault(Garbled("", endpoint.name, empty=True), True)
    return Fault(Garbled(quote(text, endpoint), endpoint.name))


def broken_off(said: str, endpoint: Endpoint) -> Fault:
    return Fault(CutOff(Answer(Reply((Text(said),) if said else ())), endpoint.name))


def classify(error: BaseException) -> Why:
    """Return why a connection failed."""
    import aiohttp

    match error:
        case aiohttp.ClientProxyConnectionError() | aiohttp.ClientHttpProxyError():
            return "proxy"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError():
            return "tls"
        case aiohttp.ClientConnectorDNSError():
            return "unknown"
        case aiohttp.InvalidURL() | ValueError() | aiohttp.NonHttpUrlClientError():
            return "address"
        case TimeoutError():
            return "late"
        case aiohttp.ClientConnectorError():
            return "refused"
    return "lost"


def read_wait(headers: Mapping[str, str], text: str = "") -> float | None:
    """Read the seconds to wait from headers or text."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        said = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", said):
            return float(said) * unit
        if said and unit == 1.0:
            try:
                return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
            except (ValueError, OverflowError):
                continue
    found = _DELAY.search(text)
    return float(found[1]) if found else None


def quote(text: str, endpoint: Endpoint) -> str:
    """Return a server's message in one line, without markup and without the key."""
    said = _find_message(text) or ("a web page" if _MARKUP.search(text[:2000]) else text)
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in said[: 4 * MAX_QUOTED_CHARS]).split())
    for key in (endpoint.key, endpoint.key.strip()):
        line = line.replace(key, "•••") if key else line
    return line if len(line) <= MAX_QUOTED_CHARS else line[:MAX_QUOTED_CHARS] + "…"


def object_in(text: str) -> dict[str, Json] | None:
    """Decode a text that is one JSON object; None for any other."""
    try:
        value = json.loads(text) if text.lstrip()[:1] == "{" else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _find_message(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    for _ in range(6):
        match value:
            case [first, *_]:
                value = first
            case {"error": dict() | str() | list() as inner} | {"detail": dict() | str() | list() as inner}:
                value = inner
            case {"message": str(inner)} | {"msg": str(inner)}:
                return inner
            case str():
                return value
            case _:
                return ""
    return ""
