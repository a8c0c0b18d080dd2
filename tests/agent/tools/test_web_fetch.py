from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agent.benches import ABench
from yohaku.agent.toolkit.tool import PermissionRequest, ToolResult
from yohaku.agent.tools import run_tool, tool_named, web_fetch

pytest.importorskip("aiohttp")

HTML = """<html><head><title>The  shop</title><style>x{}</style></head><body><nav>menu</nav><h1>Open</h1>
<p>Come <b>in</b>, <a href="/door">door</a>.</p><ul><li>one</li><li>二</li></ul><pre>a
  b</pre><script>evil()</script></body></html>"""


def served(
    tmp_path: Path, answers: dict[str, tuple[int, dict[str, str], bytes]], *paths: str, allow: Any = None
) -> tuple[list[ToolResult], ABench]:
    """What fetching these paths of a server on this machine gives."""
    from aiohttp import web

    bench = ABench(tmp_path)
    if allow:
        bench.allow = allow  # type: ignore[method-assign]

    async def answer(request: web.Request) -> web.Response:
        status, headers, body = answers[request.path]
        return web.Response(status=status, headers=headers, body=body)

    async def fetched() -> list[ToolResult]:
        server = web.AppRunner(app := web.Application())
        app.router.add_get("/{path:.*}", answer)
        await server.setup()
        site = web.TCPSite(server, "127.0.0.1", 0)
        await site.start()
        port = server.addresses[0][1]
        try:
            return [
                await run_tool(tool_named("web_fetch"), bench, {"url": f"http://127.0.0.1:{port}{path}"})
                for path in paths
            ]
        finally:
            await server.cleanup()

    return asyncio.run(fetched()), bench


def test_a_page_is_given_as_text(tmp_path: Path) -> None:
    (given,), bench = served(tmp_path, {"/a": (200, {"Content-Type": "text/html; charset=utf-8"}, HTML.encode())}, "/a")
    head, _, text = given.text.partition("\n\n")
    assert head.startswith("http://127.0.0.1:")
    assert text == (
        "# The shop\n\n# Open\n\nCome in, door ("
        + head.removesuffix("/a")
        + "/door).\n\n- one\n- 二\n\n```\na\n  b\n```"
    )
    assert bench.asked[0].danger == "This address is on your machine or in your own network."


def test_every_redirect_is_checked_anew(tmp_path: Path) -> None:
    answers = {
        "/cloud": (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b""),
        "/file": (302, {"Location": "file:///etc/passwd"}, b""),
        "/loop": (302, {"Location": "/loop"}, b""),
        "/on": (302, {"Location": "/there"}, b""),
        "/there": (200, {"Content-Type": "text/plain"}, b"arrived"),
    }
    given, bench = served(tmp_path, answers, "/cloud", "/file", "/loop", "/on")
    assert [each.error for each in given] == [True, True, True, False]
    assert given[0].text == "169.254.169.254 leads to an address that no page can be at."
    assert given[1].text == "Only http and https URLs can be fetched."
    assert given[3].text.endswith("/there\n\narrived")
    assert len(bench.asked) == 1 + 1 + 6 + 2


def test_who_does_not_allow_it_is_not_connected(tmp_path: Path) -> None:
    hits: list[PermissionRequest] = []

    def refusing() -> Callable[[PermissionRequest], Awaitable[bool]]:
        async def allow(ask: PermissionRequest) -> bool:
            hits.append(ask)
            return False

        return allow

    (given,), _ = served(tmp_path, {}, "/a", allow=refusing())  # the server would answer 500
    assert given.error
    assert "not allow" in given.text
    assert len(hits) == 1


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://x.example", "http://", "http://[::", "javascript:alert(1)", "http://me:secret@x.example/",
     "http://169.254.169.254/", "http://[fe80::1]/", "http://0.0.0.0/", "http://[::ffff:169.254.1.1]/", "http://224.0.0.1/"],
)  # fmt: skip
def test_what_is_no_page_is_refused_without_asking(tmp_path: Path, url: str) -> None:
    bench = ABench(tmp_path)
    assert bench.use("web_fetch", url=url).error
    assert bench.asked == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.1.2.3", "192.168.0.1", "[::1]", "2130706433", "0x7f.1"])
def test_addresses_of_the_own_network_need_the_users_word(tmp_path: Path, host: str) -> None:
    bench = ABench(tmp_path, "no")
    assert bench.use("web_fetch", url=f"http://{host}:9/").error
    assert [bool(ask.danger) for ask in bench.asked] == [True]
    assert bench.asked[0].remember == ""


def test_japanese_pages_in_old_encodings_are_read(tmp_path: Path) -> None:
    page = '<meta charset="Shift_JIS"><p>日本語のページです。</p>'
    answers = {
        "/meta": (200, {"Content-Type": "text/html"}, page.encode("cp932")),
        "/header": (200, {"Content-Type": "text/plain; charset=EUC-JP"}, "日本語です。".encode("euc_jp")),
        "/none": (200, {"Content-Type": "text/plain"}, "これは日本語です。".encode("cp932")),
    }
    given, _ = served(tmp_path, answers, *answers)
    assert [each.text.partition("\n\n")[2] for each in given] == [
        "日本語のページです。", "日本語です。", "これは日本語です。",
    ]  # fmt: skip


def test_big_binary_and_failing_answers_are_told(tmp_path: Path) -> None:
    answers = {
        "/big": (200, {"Content-Type": "text/plain"}, b"words and words\n" * 400_000),
        "/bin": (200, {"Content-Type": "application/zip"}, b"PK\x03\x04\0\0\0"),
        "/lost": (404, {"Content-Type": "text/plain"}, b"not here"),
    }
    (big, binary, lost), bench = served(tmp_path, answers, *answers)
    assert (big.cut, len(big.text) < web_fetch.MAX_TEXT_CHARS + 200) == (True, True)
    ref = big.text.partition("ref=")[2].partition("]")[0]
    assert bench.session is not None
    assert len(bench.session.recall(ref)) == web_fetch.MAX_BODY_BYTES
    assert (binary.error, lost.error) == (True, True)
    assert lost.text.endswith("/lost answered 404\n\nnot here")


def test_a_host_that_does_not_exist_is_told(tmp_path: Path) -> None:
    given = ABench(tmp_path).use("web_fetch", url="http://no-such-host.invalid/")
    assert given == ToolResult(
        "There is no no-such-host.invalid: is the name right, and is there a network?", error=True
    )
