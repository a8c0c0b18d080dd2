"""Where a request goes."""

from __future__ import annotations

import pytest

from yohaku.proxy.upstream import Upstream


@pytest.mark.parametrize(
    ("base", "path", "query", "target"),
    [
        ("http://h:1", "/v1/messages", "beta=true", "http://h:1/v1/messages?beta=true"),
        ("http://h:1/v1", "/v1/chat/completions", "", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "/chat/completions", "", "http://h:1/v1/chat/completions"),
        ("https://h/openai/v1", "/v1/responses", "", "https://h/openai/v1/responses"),
        (
            "https://h/api/v1",
            "/v1beta/models/m:generateContent",
            "",
            "https://h/api/v1/v1beta/models/m:generateContent",
        ),
    ],
)
def test_a_path_follows_the_base_without_saying_its_version_twice(
    base: str, path: str, query: str, target: str
) -> None:
    assert Upstream(base, {}).url_for(None, path, query) == target


def test_without_an_upstream_each_dialect_has_its_own() -> None:
    upstream = Upstream(None, {"anthropic": "https://a.example"})
    assert upstream.url_for("anthropic", "/v1/messages", "") == "https://a.example/v1/messages"
    assert upstream.url_for("gemini", "/v1beta/models/m:generateContent", "") is None
