"""What is wrong with how a case went, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from tests import checkers
from tests.proxy.fuzz.cases import Case
from tests.proxy.fuzz.wire import Answered, Arrived
from yohaku import dialects, stores
from yohaku.config.settings import Settings
from yohaku.core.errors import YohakuError
from yohaku.core.model import History
from yohaku.core.weigh import weigh
from yohaku.meters import for_model
from yohaku.proxy.compaction import COMPACT_PATH, restore
from yohaku.proxy.context_edits import FIELD
from yohaku.proxy.exchange import MAX_ATTEMPTS
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.model_list import PREFIX
from yohaku.proxy.recall_tool import MAX_ROUNDS
from yohaku.proxy.routes import find_route

NOT_COMPARED = frozenset(
    (b"transfer-encoding", b"content-length", b"connection", b"host", b"expect", b"accept-encoding", b"x-odd")
)


def problems(case: Case, setting: dict[str, Any], arrived: list[Arrived], answered: Answered) -> Iterator[str]:
    if case.broken:
        yield from of_broken(case, arrived, answered)
        return
    yield from of_answer(case, setting, arrived, answered)
    if len(arrived) > MAX_ATTEMPTS + MAX_ROUNDS:
        yield f"sent {len(arrived)} times"
    for each in arrived:
        yield from of_head(case, each)
        yield from of_body(case, setting, each.body)


def of_broken(case: Case, arrived: list[Arrived], answered: Answered) -> Iterator[str]:
    """Nothing of a request reaches the upstream that did not arrive whole."""
    if answered.status >= 500:
        yield f"a broken request is answered with {answered.status}"
    for each in arrived:
        if each.body != case.body and case.broken != "garbage":
            yield f"a request that did not arrive whole was sent on ({case.broken})"


def of_answer(case: Case, setting: dict[str, Any], arrived: list[Arrived], answered: Answered) -> Iterator[str]:
    if b"x-upstream" not in answered.headers:
        yield from of_our_answer(case, arrived, answered)
        return
    reply = case.reply
    if answered.status != reply.status:
        yield f"the status {reply.status} became {answered.status}"
    if reply.ending == "cut":
        if answered.whole:
            yield "half a reply looks whole"
        return
    if not answered.whole:
        yield "a whole reply came as half of one"
    expected = b"".join(reply.pieces)
    if not same(answered.body, expected, counts="believed" in setting):
        yield f"the reply was changed: {expected[:200]!r} became {answered.body[:200]!r}"
    for name, value in reply.headers:
        if answered.headers.get(name.lower()) != value:
            yield f"the reply's header {name!r} became {answered.headers.get(name.lower())!r}"


def same(got: bytes, expected: bytes, *, counts: bool) -> bool:
    """Compare bytes; with `counts` only lines that tell no usage, since its numbers are told in another scale."""
    if got == expected or not counts:
        return got == expected
    if expected.lstrip()[:1] in (b"{", b"["):
        return True
    return [line for line in got.split(b"\n") if b"sage" not in line and b"eval_count" not in line] == [
        line for line in expected.split(b"\n") if b"sage" not in line and b"eval_count" not in line
    ]


def of_our_answer(case: Case, arrived: list[Arrived], answered: Answered) -> Iterator[str]:
    """A reply of our own: a count, a compaction, or an error in the client's words; 502 only if the upstream failed."""
    if not answered.whole:
        yield f"no whole reply: {answered}"
    elif answered.status == 502 and case.reply.ending in ("none", "garbage", "cut") and arrived:
        pass
    elif answered.status >= 500 or answered.status == 0:
        yield f"{answered.status} of ours: {answered.body[:300]!r}"
    if case.reply.ending == "whole" and arrived and answered.status not in (400, 200):
        yield f"sent on, and answered by us with {answered.status}"
    if answered.body and answered.status and answered.headers.get(b"content-type") == b"application/json":
        try:
            json.loads(answered.body)
        except ValueError:
            yield f"our reply is no JSON: {answered.body[:200]!r}"


def of_head(case: Case, each: Arrived) -> Iterator[str]:
    if each.method != case.method:
        yield f"{case.method} became {each.method}"
    if each.path != case.path:
        yield f"the path {case.path} became {each.path}"
    ours = sorted((name.lower(), value) for name, value in case.headers if name.lower() not in NOT_COMPARED)
    theirs = sorted((name.lower(), value) for name, value in each.headers if name.lower() not in NOT_COMPARED)
    if ours != theirs:
        yield f"the headers {ours} became {theirs}"


def of_body(case: Case, setting: dict[str, Any], sent: bytes) -> Iterator[str]:
    """What could not be read is untouched; what could is well formed and within the window."""
    path = case.path.partition("?")[0]
    route = find_route(case.method, path)
    dialect = route.dialect if route else "openai_responses" if path.endswith(COMPACT_PATH) else case.dialect
    came = restore(case.body) if route else case.body  # a sealed conversation is opened, whatever is around it
    read = read_body(dialect, came) if route or path.endswith(COMPACT_PATH) else None
    if read is None:
        if sent != came and not may_change_unread(case, setting):
            yield f"a body that cannot be read was changed: {case.body[:300]!r} became {sent[:300]!r}"
        return
    body, _ = read
    if route is None or route.counts or dialects.dialect_named(dialect).state_in(body):
        return
    found = read_body(dialect, sent)
    if found is None:
        if sent != came:
            yield f"what was sent cannot be read: {sent[:300]!r}"
        return
    yield from of_fitted(dialect, route.model, setting, came, body, sent, found)


def of_fitted(
    dialect: str, model: str | None, setting: dict[str, Any], raw: bytes, body: Any, sent: bytes,
    found: tuple[Any, History],
) -> Iterator[str]:  # fmt: skip
    model = model or str(body.get("model") or "")
    window = setting.get("window")
    tokens = weigh(found[1], for_model(model, dialect)).total
    if window and tokens > window and not (sent == raw and left_alone(dialect, model, raw, window)):
        yield f"{tokens} tokens of {model!r} were sent to a window of {window}: {raw[:300]!r}"
    if sent != raw and well_formed(dialect, body) and not well_formed(dialect, found[0]):
        yield f"well formed came, and malformed was sent: {checkers.DIALECTS[dialect].problems(found[0])}"
    lost = body.keys() - found[0].keys() - {FIELD}
    if lost:
        yield f"fields were lost: {lost}"


def left_alone(dialect: str, model: str, raw: bytes, window: int) -> bool:
    """Tell whether something in a body is found to be wrong only when it is fitted, as in its tools."""
    return bool(Fitter(stores.open("memory:"), Settings(), window=window).fit(dialect, raw, model).unread)


def may_change_unread(case: Case, setting: dict[str, Any]) -> bool:
    """Tell whether a change is due to something else than fitting: names of models, edits that the client asks for."""
    return any(word.encode() in case.body for word in (PREFIX, FIELD)) or "routes" in setting


def read_body(dialect: str, raw: bytes) -> tuple[dict[str, Any], History] | None:
    try:
        body = msgspec.json.decode(raw)
        if not isinstance(body, dict):
            return None
        reader = dialects.dialect_named(dialect)
        reader.entries_of(body)
        history = reader.read(body).history()
        return None if history.pending else (body, history)  # a call without its result: to be sent as it is
    except (msgspec.DecodeError, YohakuError, RecursionError, UnicodeDecodeError):
        return None


def well_formed(dialect: str, body: Any) -> bool:
    try:
        return not checkers.DIALECTS[dialect].problems(body)
    except (TypeError, KeyError, AttributeError, ValueError, IndexError, RecursionError):  # written for bodies of ours
        return False
