"""Cases: a damaged request, how it is cut into pieces, and what the upstream answers; made from a number alone."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from tests.conftest import shared_folder
from tests.mutations import SPICE, VALUES, mutate_bytes, mutate_values
from tests.proxy.fakes import conversation
from tests.proxy.test_app import PATHS
from yohaku import dialects
from yohaku.proxy.compaction import TRIGGER, seal

MAX_SEED_BYTES = 24_000
COUNT_PATHS = {
    "anthropic": "/v1/messages/count_tokens",
    "gemini": "/v1beta/models/gpt-4o:countTokens",
    "openai_responses": "/v1/responses/compact",
    "ollama": "/api/generate",
}
OTHER_PATHS = (
    "/", "/v1/models", "/yohaku/fit", "/yohaku/fit?dialect=nonsense", "/yohaku/recall/aaaaaaaaaaaa", "/v1/chat%2Fx",
    "//v1/messages", "/v1/%E4%BD%99%E7%99%BD?q=%20+%26", "/v1beta/models/a%2Fb%25:generateContent?alt=sse", "/a/../b",
    "/%ff%fe", "/v1/files?x=1&x=2&y", "/v1/messages/batches", "/v1;a=b/c,d", "/props", "/token/x/v1/messages",
)  # fmt: skip
STATUSES = (200,) * 12 + (201, 400, 401, 404, 413, 422, 429, 500, 503, 529)
BREAKS = ("short", "bad chunk", "no end", "garbage", "gone")
"""Ways in which a request does not arrive whole."""


class Reply(NamedTuple):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    pieces: tuple[bytes, ...]
    ending: str
    """"whole"; "cut" ends the connection in the middle; "garbage" is not HTTP; "none" closes without a byte."""


class Case(NamedTuple):
    number: int
    proxy: str
    dialect: str
    method: str
    path: str
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    pieces: tuple[bytes, ...]
    """As they are written to the connection, after the head."""
    broken: str
    """One of BREAKS, or "" for a request that arrives whole."""
    reply: Reply


class Seed(NamedTuple):
    dialect: str
    path: str
    body: bytes


@cache
def seeds() -> tuple[Seed, ...]:
    """Return healthy requests: ours, and recorded ones where they are at hand."""
    return (*own_seeds(), *recorded())


@cache
def own_seeds() -> tuple[Seed, ...]:
    """Return requests in every dialect and length, many of which must be folded."""
    found = []
    for dialect, path in PATHS.items():
        for steps in (0, 1, 5, 12, 25):
            found.append(Seed(dialect, path, json.dumps(conversation(steps, dialect=dialect)).encode()))
            if other := COUNT_PATHS.get(dialect):
                found.append(found[-1]._replace(path=other))
    found.append(Seed("ollama", "/api/generate", json.dumps({"model": "m", "prompt": "word " * 3000}).encode()))
    return (*found, *compactions())


def compactions() -> list[Seed]:
    body = conversation(6, dialect="openai_responses")
    item = {"type": "compaction", "encrypted_content": seal(body["input"])}
    asking = {**body, "input": [*body["input"], {"type": TRIGGER}], "stream": True}
    edits = [{"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 50}}]
    edits.append({"type": "clear_thinking_20251015", "keep": "all"})
    clearing = {**conversation(9, dialect="anthropic"), "context_management": {"edits": edits}}
    seeds = [("openai_responses", {**body, "input": [item, *body["input"][-1:]]}), ("openai_responses", asking)]
    return [Seed(name, PATHS[name], json.dumps(each).encode()) for name, each in (*seeds, ("anthropic", clearing))]


@cache
def _rows() -> tuple[dict[str, Any], ...]:
    file = shared_folder() / "wire" / "recordings.jsonl.gz"
    if not file.exists():
        return ()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines if len(line) < 2 * MAX_SEED_BYTES)


def recorded() -> list[Seed]:
    rows = [Seed(row["dialect"], row["path"], json.dumps(row["request"]).encode()) for row in _rows()]
    return [row for row in rows if len(row.body) < MAX_SEED_BYTES]


@cache
def replies() -> tuple[bytes, ...]:
    """Return healthy replies: recorded ones, and a small one in case there are none."""
    found = [(row["stream"] or json.dumps(row["response"])).encode() for row in _rows()]
    return (b'data: {"choices": [{"delta": {"content": "\xe4\xbd\x99\xe7\x99\xbd"}}]}\n\ndata: [DONE]\n\n', *found)


def make_case(number: int, proxies: tuple[str, ...]) -> Case:
    chance = random.Random(number)
    seed = chance.choice(own_seeds() if chance.random() < 0.6 else seeds())
    path = chance.choice(OTHER_PATHS) if chance.random() < 0.05 else seed.path
    if chance.random() < 0.05:  # a body of one dialect on the path of another
        path = chance.choice(tuple(PATHS.values()))
    method = chance.choice(("PUT", "DELETE", "PATCH")) if chance.random() < 0.02 else "POST"
    body = damaged(seed.body, chance)
    broken = chance.choice(BREAKS) if chance.random() < 0.05 else ""
    headers = [(b"X-Case", str(number).encode()), *request_headers(chance)]
    chunked = broken == "bad chunk" or chance.random() < 0.4
    headers.append((b"Transfer-Encoding", b"chunked") if chunked else (b"Content-Length", str(len(body)).encode()))
    wire = in_chunks(body, chance) if chunked else body
    wire = BREAK[broken](wire, chance)
    pieces = cut(wire, chance)
    proxy = chance.choice(proxies)
    return Case(number, proxy, seed.dialect, method, path, tuple(headers), body, pieces, broken, make_reply(chance))


def damaged(body: bytes, chance: random.Random) -> bytes:
    match chance.randrange(12):
        case 0:
            return body
        case 1:  # two bodies joined
            other = chance.choice(seeds()).body
            return body[: chance.randrange(len(body) + 1)] + other[chance.randrange(len(other) + 1) :]
        case 2:
            return encoded(body, chance)
        case 3 | 4:
            return merged(body, chance)
        case 5 | 6 | 7 | 8:
            return mutate_values(body, chance)
        case _:
            return mutate_bytes(body, chance)


def encoded(body: bytes, chance: random.Random) -> bytes:
    """Write a body in another way: most of them no JSON to us, some the same to anybody."""
    text = body.decode("utf-8", "replace")
    return chance.choice((
        b"\xef\xbb\xbf" + body, text.encode("utf-16"), gzip.compress(body), b" \n\t" + body + b"\r\n ", body + body,
        body[:-1] + b', "model": "twice"}', json.dumps(json.loads(text), indent=2).encode(), b"", b"\0" * 50,
        text.encode("latin-1", "replace"), body.replace(b'"', b"'"), chance.choice(SPICE),
    ))  # fmt: skip


def merged(body: bytes, chance: random.Random) -> bytes:
    """Put fields of another request into a body, or entries of it in another order."""
    value, other = json.loads(body), json.loads(chance.choice(seeds()).body)
    for name in chance.sample(sorted(other), min(len(other), chance.randrange(1, 4))):
        value[name] = other[name]
    for name, entries in value.items():
        if isinstance(entries, list) and len(entries) > 1:
            at, to = chance.randrange(len(entries)), chance.randrange(len(entries))
            entries.insert(to, chance.choice((entries[at], chance.choice(VALUES))))
            if chance.random() < 0.5:
                del entries[at]
            if chance.random() < 0.2:
                value[name] = entries * chance.randrange(2, 5)
    return json.dumps(value).encode()


def request_headers(chance: random.Random) -> list[tuple[bytes, bytes]]:
    possible = (
        (b"Authorization", b"Bearer key-" + str(chance.randrange(5)).encode()), (b"X-Odd", b"caf\xe9 \xff"),
        (b"X-Text", "余白".encode()), (b"x-api-key", b"k"), (b"Accept-Encoding", b"gzip, br"), (b"Accept", b"*/*"),
        (b"Content-Type", b"application/json"), (b"anthropic-version", b"2023-06-01"), (b"User-Agent", b""),
        (b"X-Twice", b"a"), (b"X-Twice", b"b"), (b"Cookie", b"a=b; c=\"d\""), (b"Expect", b"100-continue"),
    )  # fmt: skip
    return [header for header in possible if chance.random() < 0.15]


def in_chunks(body: bytes, chance: random.Random) -> bytes:
    size = chance.choice((1, 7, 500, 4096, 100_000)) if len(body) < 5000 else chance.choice((500, 4096, 100_000))
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    written = (b"%x%s\r\n%s\r\n" % (len(piece), chance.choice((b"", b";a=b")), piece) for piece in pieces)
    return b"".join(written) + b"0\r\n\r\n"


BREAK: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "": lambda wire, chance: wire,
    "short": lambda wire, chance: wire[: len(wire) // 2],
    "gone": lambda wire, chance: b"",
    "no end": lambda wire, chance: wire[:-1],
    "bad chunk": lambda wire, chance: b"zz\r\n" + wire,
    "garbage": lambda wire, chance: chance.randbytes(min(300, max(0, len(wire) - 1))),
}


def cut(data: bytes, chance: random.Random) -> tuple[bytes, ...]:
    """Cut bytes anywhere, also within a character."""
    if not data:
        return ()
    count = min(len(data) - 1, chance.choice((0, 0, 1, 3, 30)))
    places = sorted(chance.sample(range(1, len(data)), count)) if count else []
    return tuple(data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True))


def make_reply(chance: random.Random) -> Reply:
    data = chance.choice(replies())
    if chance.random() < 0.5:
        data = mutate_bytes(data, chance)
    if chance.random() < 0.05:
        data = chance.choice((b"", b"data: [DONE]\n\n", b"\n\n", b"data: \xff\xfe\n\n", b"[" * 5000, b"null"))
    stream = b"data:" in data
    kind = chance.choice((b"text/event-stream", b"application/json")) if chance.random() < 0.2 else None
    kind = kind or (b"text/event-stream" if stream else b"application/json")
    headers = [(b"Content-Type", kind), (b"X-Reply", b"caf\xe9 \xff"), (b"Retry-After", b"7")]
    status = chance.choice(STATUSES)
    if status in (400, 413, 500) and chance.random() < 0.5:
        name = chance.choice(tuple(PATHS))
        data = json.dumps(dialects.dialect_named(name).too_long_body("prompt is too long", 9999, 4000)).encode()
    ending = chance.choice(("cut", "garbage", "none")) if chance.random() < 0.06 else "whole"
    return Reply(status, tuple(headers), cut(data, chance), ending)
