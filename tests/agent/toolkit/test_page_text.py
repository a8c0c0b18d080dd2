from __future__ import annotations

import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit.page_text import html_to_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one</p><p>two<br>three</p>", "one\n\ntwo\nthree"),
        ("<table><tr><th>a</th><td>b</td></tr><tr><td>c</td></tr></table>", "| a | b\n| c"),
        ("a &amp; b &lt; c &#26085;", "a & b < c 日"),
        ("<a href='#top'>up</a> <a href='x.html'>on</a>", "up on (http://h.example/d/x.html)"),
        ("<script>if (a < b) {}</script>text<style>p{}</style>", "text"),
        ("<pre>  a\n    b</pre>", "```\n  a\n    b\n```"),
        ("<p>never <b>closed", "never closed"),
        ("", ""),
    ],
)
def test_a_page_as_text(html: str, text: str) -> None:
    assert html_to_text(html, "http://h.example/d/") == text


@given(st.text(alphabet="<>/!-pre scriptahd&;\"'=\n", max_size=300))
def test_whatever_a_page_is_there_is_a_text(html: str) -> None:
    assert isinstance(html_to_text(html, "http://h.example/"), str)


def test_a_broken_page_does_not_stall() -> None:
    began = time.monotonic()
    for piece in ("<", "<a ", "<div>", "&", "<!--", "<a href='", "<script>", "<nav>", "</a>", "<pre>\n", "< /"):
        html_to_text(piece * 100_000, "http://h.example/")
    assert time.monotonic() - began < 30


ARTICLE = "".join(
    f"<h2>Step {step}</h2><p>Widgets fold along line {step}, which was drawn at the factory; they keep it for years. "
    f"折り目は工場で引かれた線に沿います。See <a href='step{step}.html'>more</a>.</p>"
    f"<pre><code>fold(widget,\n    depth={step})</code></pre>"
    for step in range(12)
)
MENU = "".join(f"<li><a href='/shop/{n}'>Offer of the week number {n}</a></li>" for n in range(40))
PAGE = (
    "<html><head><title>Widgets</title></head><body>"
    f"<div class='menu'><ul>{MENU}</ul></div><div class='cookie-banner'>We use cookies. <button>Accept</button></div>"
    f"<main><article><h1>How widgets fold</h1>{ARTICLE}</article></main>"
    f"<div class='related'><ul>{MENU}</ul></div></body></html>"
)


def test_of_a_long_page_the_article_is_given_without_menus_and_banners() -> None:
    text = html_to_text(PAGE, "http://h.example/d/page.html")
    assert "Offer of the week" not in text and "cookies" not in text
    for step in range(12):
        assert f"## Step {step}\n" in text and f"fold(widget,\n    depth={step})" in text
        assert f"[more](http://h.example/d/step{step}.html)" in text
    assert "折り目は工場で引かれた線に沿います。" in text


def test_without_the_extra_the_page_is_given_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    text = html_to_text(PAGE, "http://h.example/d/page.html")
    assert text.startswith("# Widgets") and "Offer of the week number 39" in text and "depth=11)" in text


def test_a_page_of_links_alone_keeps_them() -> None:
    text = html_to_text(f"<html><body><ul>{MENU * 3}</ul></body></html>", "http://h.example/")
    assert "http://h.example/shop/0" in text and "http://h.example/shop/39" in text
