from __future__ import annotations

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
