"""The proxy's own paths, under `/yohaku/`: fold a body for somebody who sends it elsewhere, and open what was folded.

`POST /yohaku/fit` takes a body in any dialect and returns `{"body": …, "receipt": …}`. `GET /yohaku/recall/REF` returns
an original, `GET /yohaku/metrics` counts for Prometheus, `GET /yohaku/health` only that the proxy answers.
Errors are `{"error": {"code": …, "message": …}}`, with the codes of docs/errors.md.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from yohaku import dialects
from yohaku.core.errors import DoesNotFit, Unreadable, YohakuError
from yohaku.dialects.detect import detect
from yohaku.proxy.fitting import Fitter
from yohaku.proxy.metrics import MEDIA_TYPE, Metrics

PREFIX = "/yohaku/"
FIT_PATH = f"{PREFIX}fit"
RECALL = "recall/"
STATUS = {"does_not_fit": 422, "unknown_ref": 404, "store_failed": 503, "not_found": 404}
"""HTTP status of an error, by its code; 400 for the others."""


OWN_PATHS = "POST /yohaku/fit, GET /yohaku/recall/REF, /yohaku/metrics, /yohaku/health"
WELCOME = f"""This is yohaku proxy. It keeps conversations with language models inside their context window.

It is for programs, not for browsers: give its address to a client, as ANTHROPIC_BASE_URL, or with /v1 as
OPENAI_BASE_URL. Its own paths are {OWN_PATHS}.
"""


class _Reply(msgspec.Struct):
    dialect: str
    body: msgspec.Raw
    changed: bool
    receipt: dict[str, Any] | None
    left_alone: str | None = None


async def serve_own_path(fitter: Fitter, request: Request, raw: bytes, metrics: Metrics) -> Response:
    name = request.url.path.removeprefix(PREFIX)
    try:
        if request.method == "POST" and name == "fit":
            asked = request.query_params
            reply = await asyncio.to_thread(fit_body, fitter, raw, asked.get("dialect", ""), asked.get("model", ""))
            return Response(msgspec.json.encode(reply), media_type="application/json")
        if request.method == "GET" and name.startswith(RECALL):
            ref = name.removeprefix(RECALL).removeprefix("ref=")
            return _original(await asyncio.to_thread(fitter.store.get, ref))
        if request.method == "GET" and name == "metrics":
            return Response(metrics.text(), media_type=MEDIA_TYPE, headers=HARMLESS)
        if request.method == "GET" and name == "health":
            return Response(b'{"status": "ok"}', media_type="application/json", headers=HARMLESS)
        if request.method == "GET" and not name:
            return welcome()
        return _error("not_found", f"there is no such path here: {OWN_PATHS}", {})
    except DoesNotFit as error:
        verdict = error.verdict
        facts = {"what": str(verdict.what), "needs": verdict.needs, "limit": verdict.limit}
        return _error(error.code, str(error), facts)
    except YohakuError as error:
        return _error(error.code, str(error), {})
    except RecursionError:
        return _error(Unreadable.code, "this is nested too deeply", {})


def welcome() -> Response:
    """Tell somebody who opens the proxy in a browser what it is."""
    return Response(WELCOME, media_type="text/plain; charset=utf-8", headers=HARMLESS)


def fit_body(fitter: Fitter, raw: bytes, dialect: str = "", model: str = "") -> _Reply:
    """Return a body within the window, and its receipt; raise a `YohakuError`."""
    body = _decode(raw)
    found = dialects.dialect_named(dialect or detect(body))
    fitted = fitter.fit(found.name, raw, model or None)
    if fitted.receipt is None and not (isinstance(body, dict) and found.state_in(body)):
        found.read(body).history()  # raises what is wrong
        raise Unreadable(fitted.unread)
    report = fitted.receipt.report() if fitted.receipt else None
    changed = fitted.body is not raw
    return _Reply(found.name, msgspec.Raw(fitted.body), changed, report, fitted.unread or None)


def model_in(raw: bytes) -> str:
    """Return the model that a body in any dialect names; "" where it names none."""
    try:
        body = _decode(raw)
    except Unreadable:
        return ""
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else ""


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as wrong:
        raise Unreadable(f"this is not JSON: {wrong}") from None


def _original(original: str | bytes) -> Response:
    if isinstance(original, bytes):
        return Response(original, media_type="application/octet-stream", headers=HARMLESS)
    text = original.encode("utf-8", "surrogatepass")
    return Response(text, media_type="text/plain; charset=utf-8", headers=HARMLESS)


HARMLESS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}


def _error(code: str, message: str, facts: dict[str, object]) -> Response:
    body = {"error": {"code": code, "message": message, **facts}}
    return Response(msgspec.json.encode(body), STATUS.get(code, 400), media_type="application/json", headers=HARMLESS)
