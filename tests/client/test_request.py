"""What is sent, and where."""

from __future__ import annotations

from typing import Any

import pytest

from yohaku.client.address import host_of, proxy_for, request_headers, request_url
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestRefused
from yohaku.client.request import Quirks, adapt, prepare
from yohaku.dialects import dialect_named

SUBSTITUTES = dialect_named("openai_chat").substitutes


def endpoint(dialect: Any = "openai_chat", url: str = "http://h/v1", **more: Any) -> Endpoint:
    return Endpoint("H", "h", dialect, url, more.pop("model", "m"), **more)


@pytest.mark.parametrize(
    ("dialect", "url", "model", "found"),
    [
        ("openai_chat", "http://h/v1/", "m", "http://h/v1/chat/completions"),
        ("anthropic", "https://h", "m", "https://h/v1/messages"),
        ("anthropic", "https://h/v1", "m", "https://h/v1/messages"),
        ("gemini", "https://h/v1beta", "models/g-2", "https://h/v1beta/models/g-2:streamGenerateContent?alt=sse"),
        ("gemini", "https://h/v1beta", "a b?", "https://h/v1beta/models/a%20b%3F:streamGenerateContent?alt=sse"),
        ("ollama", "http://127.0.0.1:11434", "m", "http://127.0.0.1:11434/api/chat"),
    ],
)
def test_an_address_is_the_url_and_the_path_of_the_dialect(dialect: str, url: str, model: str, found: str) -> None:
    assert request_url(endpoint(dialect, url, model=model)) == found


def test_a_key_has_no_blanks_and_makes_room_for_a_name_in_the_address() -> None:
    assert request_headers(endpoint(key=" k\n"))["Authorization"] == "Bearer k"
    assert "Authorization" not in request_headers(endpoint(url="http://me:pw@h/v1", key="k"))
    assert request_headers(endpoint("anthropic", "http://me:pw@h", key="k"))["x-api-key"] == "k"


@pytest.mark.parametrize(
    ("status", "text", "sent", "after"),
    [
        (400, "unknown field stream_options", {"stream_options": {}}, Quirks(frozenset({"stream_options"}))),
        (400, "'max_tokens' is not supported", {"max_tokens": 9}, Quirks(frozenset({"max_tokens"}))),
        (400, "max_tokens: 9,000 > 4,096, which is the maximum", {"max_tokens": 9000}, Quirks(max_reply=4096)),
        (400, "max_tokens must be at most 8192", {"max_tokens": 9000}, Quirks(max_reply=8192)),
        (500, "unknown field stream_options", {"stream_options": {}}, None),
        (400, "unknown field stream_options", {}, None),
        (400, "upstream_options", {"stream_options": {}, "stream": True}, None),
        (400, "tools are not supported", {"stream": True}, None),
    ],
)
def test_a_refusal_that_names_a_field_of_ours_is_heeded(status: int, text: str, sent: Any, after: Any) -> None:
    assert adapt(Quirks(), RequestRefused(status, text), sent, SUBSTITUTES) == after


def test_what_was_refused_under_both_names_is_not_asked_for_ever() -> None:
    sent = {"max_completion_tokens": 9}
    assert (
        adapt(Quirks(frozenset({"max_tokens"})), RequestRefused(400, "max_completion_tokens"), sent, SUBSTITUTES)
        is None
    )


def test_manners_shape_what_is_sent() -> None:
    manners = Quirks(frozenset({"stream_options", "max_tokens"}), 100)
    sent = prepare({"messages": [], "max_tokens": 512}, endpoint(), manners)
    assert sent == {"model": "m", "messages": [], "stream": True, "max_completion_tokens": 100}


def test_an_address_is_shown_without_its_password() -> None:
    assert host_of("https://me:pw@h:8080/v1?key=1") == "h:8080"
    assert host_of("http://[::1") == "http://[::1"


def test_a_proxy_is_never_used_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://p:1")
    monkeypatch.setenv("https_proxy", "http://p:2")
    assert (proxy_for("http://h/v1"), proxy_for("https://h/v1")) == ("http://p:1", "http://p:2")
    for url in ("http://127.0.0.1:1", "http://localhost", "http://[::1]:1", "http://a.localhost", "http://127.9.9.9"):
        assert proxy_for(url) is None
    monkeypatch.setenv("no_proxy", "h")
    assert proxy_for("http://h/v1") is None
