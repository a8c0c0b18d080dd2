"""What is sent, and where: one body in the words of each dialect's server.

Law: the same limits and options at every request, for a server that is told another window loads the model anew.
What a server is found not to take is left out from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from yohaku import __version__
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestRefused
from yohaku.dialects import dialect_named
from yohaku.dialects.dialect import Json
from yohaku.dialects.server_api import merge


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server was found not to take."""

    refused: frozenset[str] = frozenset()
    most: int | None = None
    """Tokens of a reply that may be asked for."""


def address(endpoint: Endpoint, model: str = "") -> str:
    return dialect_named(endpoint.dialect).url(endpoint.url, model or endpoint.model)


def headers(endpoint: Endpoint) -> dict[str, str]:
    dialect = dialect_named(endpoint.dialect)
    found = {"Content-Type": "application/json", "User-Agent": f"yohaku/{__version__}", **dialect.fixed_headers}
    key = endpoint.key.strip()
    if key and dialect.key_header:
        found[dialect.key_header] = key
    elif key and not split(endpoint.url).username:  # a name and a password in the address take the same header
        found["Authorization"] = f"Bearer {key}"
    return found


def limited(body: dict[str, Json], endpoint: Endpoint, window: int, reserve: int) -> dict[str, Json]:
    """Limit the reply to what is reserved for it, or to what the model can write at most."""
    dialect = dialect_named(endpoint.dialect)
    limit = max(1, min(reserve, endpoint.output or reserve))
    return merge(merge(body, dialect.limit_fields(limit, endpoint.model)), dialect.window_fields(window))


def shaped(body: dict[str, Json], endpoint: Endpoint, manners: Quirks) -> dict[str, Json]:
    """Add the stream fields and the model's name, and leave out what the server refused before."""
    dialect = dialect_named(endpoint.dialect)
    named = {"model": endpoint.model} if dialect.names_model else {}
    sent = merge(named | body, dialect.stream_fields)
    for name in sorted(manners.refused & sent.keys()):
        value = sent.pop(name)
        if other := dialect.substitutes[name]:
            sent[other] = value
    if manners.most:
        for name in dialect.substitutes.keys() & sent.keys():
            if type(sent[name]) is int:
                sent[name] = min(sent[name], manners.most)
    return sent


def milder(
    manners: Quirks, refusal: RequestRefused, sent: dict[str, Json], substitutes: Mapping[str, str]
) -> Quirks | None:
    """How to ask again after a refusal that names a field of ours; None where it is about something else."""
    if refusal.status not in (400, 422):
        return None
    named = [name for name in substitutes if name in sent and re.search(rf"\b{name}\b", refusal.text)]
    if not named:
        return None
    name = named[0]
    if type(limit := sent[name]) is int and limit > 1:
        lower = [number for number in _numbers(refusal.text) if 0 < number < limit]
        if lower and manners.most is None:  # once: a server that goes on asking for less is not followed
            return replace(manners, most=max(lower))
    if name in manners.refused or substitutes[name] in manners.refused:
        return None
    return replace(manners, refused=manners.refused | {name})


def proxy_for(url: str) -> str | None:
    """The proxy of the environment, never for this machine. Read here: the client would look into ~/.netrc, too."""
    parts = split(url)
    host = parts.hostname or ""
    if here(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def split(url: str) -> SplitResult:
    """The parts of an address; nothing but its path where it is none."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def where(url: str) -> str:
    """Host and port: an address may hold a password."""
    return (split(url).netloc or url).rpartition("@")[2]


def _numbers(text: str) -> list[int]:
    return [
        int(found.replace(",", "")) for found in re.findall(r"(?<![\w.])\d{1,3}(?:,\d{3})+\b|(?<![\w.])\d{1,9}\b", text)
    ]
