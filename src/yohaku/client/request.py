"""What is sent, and where: one body in the words of each dialect's server.

Law: the same limits and options at every request, for a server that is told another window loads the model anew.
What a server is found not to take is left out from then on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from yohaku import __version__
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestRefused
from yohaku.client.question_body import LIMITS
from yohaku.core.engine import Question
from yohaku.dialects.dialect import Json

PATHS = {
    "openai_chat": "/chat/completions",
    "openai_responses": "/responses",
    "anthropic": "/v1/messages",
    "gemini": "/models/{model}:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}
STREAMED: dict[str, dict[str, Json]] = {
    "openai_chat": {"stream": True, "stream_options": {"include_usage": True}},
    "openai_responses": {"stream": True},
    "anthropic": {"stream": True},
    "gemini": {},
    "ollama": {"stream": True, "truncate": False, "shift": False, "keep_alive": "30m"},
}
"""Ollama is told to refuse what is too long instead of dropping the oldest, and to keep the model between steps."""

OTHERWISE = {
    "stream_options": "",
    "stream": "",
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""Fields that some servers do not know, and what they call them."""


@dataclass(frozen=True, slots=True)
class Quirks:
    """What a server was found not to take."""

    refused: frozenset[str] = frozenset()
    most: int | None = None
    """Tokens of a reply that may be asked for."""


def address(endpoint: Endpoint, model: str = "") -> str:
    base = endpoint.url.rstrip("/")
    if endpoint.dialect == "anthropic":
        base = base.removesuffix("/v1")
    return base + PATHS[endpoint.dialect].format(model=quote((model or endpoint.model).removeprefix("models/")))


def headers(endpoint: Endpoint) -> dict[str, str]:
    said = {"Content-Type": "application/json", "User-Agent": f"yohaku/{__version__}"}
    if endpoint.dialect == "anthropic":
        said["anthropic-version"] = "2023-06-01"
    if key := endpoint.key.strip():
        name = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(endpoint.dialect)
        # A name and a password in the address are sent in the same header.
        bearer = {} if split(endpoint.url).username else {"Authorization": f"Bearer {key}"}
        said |= {name: key} if name else bearer
    return said


def limited(body: dict[str, Json], endpoint: Endpoint, window: int, reserve: int) -> dict[str, Json]:
    """With a limit for the reply: what is reserved for it, or what the model can say at most."""
    limit = max(1, min(reserve, endpoint.output or reserve))
    asked = Question("reply", "", limit)
    return _with(body, LIMITS[endpoint.dialect](asked, endpoint.model, None, window))


def shaped(body: dict[str, Json], endpoint: Endpoint, manners: Quirks) -> dict[str, Json]:
    """As it leaves: streamed, with the model's name, without what the server does not take."""
    named = {} if endpoint.dialect == "gemini" else {"model": endpoint.model}
    sent = _with(named | body, STREAMED[endpoint.dialect])
    for name in sorted(manners.refused & sent.keys()):
        value = sent.pop(name)
        if other := OTHERWISE[name]:
            sent[other] = value
    if manners.most:
        for name in OTHERWISE.keys() & sent.keys():
            if type(sent[name]) is int:
                sent[name] = min(sent[name], manners.most)
    return sent


def milder(manners: Quirks, refusal: RequestRefused, sent: dict[str, Json]) -> Quirks | None:
    """How to ask again after a refusal that names a field of ours; None where it is about something else."""
    if refusal.status not in (400, 422):
        return None
    named = [name for name in OTHERWISE if name in sent and re.search(rf"\b{name}\b", refusal.text)]
    if not named:
        return None
    name = named[0]
    if type(limit := sent[name]) is int and limit > 1:
        lower = [number for number in _numbers(refusal.text) if 0 < number < limit]
        if lower and manners.most is None:  # once: a server that goes on asking for less is not followed
            return replace(manners, most=max(lower))
    if name in manners.refused or OTHERWISE[name] in manners.refused:
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


def _with(body: dict[str, Json], more: dict[str, Json]) -> dict[str, Json]:
    """`body` with `more` over it, also one object deep: options of ours stand beside those that are there."""
    both = {key: {**body[key], **value} for key, value in more.items() if _objects(body.get(key), value)}
    return body | more | both


def _objects(*values: Json) -> bool:
    return all(isinstance(value, dict) for value in values)
