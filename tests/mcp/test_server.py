"""`yohaku mcp`, the real process, asked by the client of the SDK."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from yohaku import Session, recall, stores
from yohaku.core.originals import ref_of
from yohaku.recall import index
from yohaku.recall.tools import TOOLS
from yohaku.stores.sqlite import SQLiteStore

mcp = pytest.importorskip("mcp", reason="the SDK is not installed: pip install mcp")
from mcp.client.stdio import StdioServerParameters  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LOG = "".join(f"{number} {'ERROR 失敗' if number == 700 else 'fine'}\n" for number in range(1, 2001))


def environment(folder: Path, locale: str = "C.UTF-8") -> dict[str, str]:
    home = {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "LC_ALL": locale}
    return {**home, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def url_of(folder: Path) -> str:
    return f"sqlite://{folder / 'store.db'}"


def put(folder: Path, *originals: str | bytes) -> list[str]:
    store = SQLiteStore(folder / "store.db")
    store.put_all((ref_of(original), original) for original in originals)
    store.close()
    return [ref_of(original) for original in originals]


def ask(
    folder: Path,
    asking: Callable[[Any], Awaitable[None]],
    *flags: str,
    mode: str = "auto",
    locale: str = "C.UTF-8",
) -> None:
    """Starts a server on the store in the folder, lets the client ask, and ends it."""
    arguments = ["-m", "yohaku", "mcp", "--store", url_of(folder), *flags]

    async def run() -> None:
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment(folder, locale))
        with anyio.fail_after(120):
            async with mcp.Client(server, mode=mode) as client:
                await asking(client)

    anyio.run(run)


async def told(client: Any, name: str, **arguments: Any) -> tuple[bool, str]:
    answer = await client.call_tool(name, arguments)
    ((text,),) = ([part.text for part in answer.content],)
    return answer.is_error, text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_are_those_of_recall_and_answer_the_same(mode: str, tmp_path: Path) -> None:
    ref, _, image = put(tmp_path, LOG, "another\n", b"\x89PNG\r\n")
    store = SQLiteStore(tmp_path / "store.db")

    async def asking(client: Any) -> None:
        offered = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert offered.keys() == {*TOOLS, "recall_why"}
        for name, tool in TOOLS.items():
            assert (offered[name].description, offered[name].input_schema) == (tool.description, tool.parameters)
            assert offered[name].annotations.read_only_hint
        for name, arguments in (
            ("tool_output_cache", {"ref_id": ref, "offset": 700, "limit": 2}),
            ("tool_output_cache", {"ref_id": f"[ref={ref}]", "offset": "1999"}),
            ("tool_output_cache", {"ref_id": image}),
            ("tool_output_cache_grep", {"ref_id": ref, "pattern": "失敗", "context": 1}),
            ("recall_search", {"words": "error 失敗"}),
            ("recall_search", {"words": "nowhere"}),
        ):
            assert await told(client, name, **arguments) == (False, recall.call(store, name, arguments))
        assert "700: 700 ERROR 失敗" in (await told(client, "tool_output_cache_grep", ref_id=ref, pattern="失敗"))[1]

    ask(tmp_path, asking, mode=mode)
    store.close()


def test_what_is_wrong_is_the_error_of_the_call_and_the_server_goes_on(tmp_path: Path) -> None:
    (ref,) = put(tmp_path, LOG)

    async def asking(client: Any) -> None:
        for name, arguments, why in (
            ("tool_output_cache", {"ref_id": "a" * 12}, f"unknown ref '{'a' * 12}'"),
            ("tool_output_cache", {"ref_id": "../../etc/passwd"}, "unknown ref '../../etc/passwd'"),
            ("recall_why", {"ref_id": "a" * 12}, f"unknown ref '{'a' * 12}'"),
            ("tool_output_cache", {}, "ref_id is missing: give it as text"),
            ("tool_output_cache", {"ref_id": ref, "limit": -1}, "limit is '-1': give a whole number from 1 on"),
            ("tool_output_cache_grep", {"ref_id": ref, "pattern": "("}, "the pattern '(' cannot be used: "),
            ("recall_why", {"ref_id": ref, "x": 1}, "recall_why has no argument 'x': it takes ref_id"),
            ("rm", {}, "unknown tool 'rm': use one of tool_output_cache, "),
        ):
            failed, text = await told(client, name, **arguments)
            assert failed and text.startswith(why) and "\n" not in text and "Traceback" not in text
        (tmp_path / "store.db").write_bytes(b"this is no database" * 100)
        failed, text = await told(client, "tool_output_cache", ref_id=ref)
        assert failed and text.startswith("the store ") and "\n" not in text
        for path in tmp_path.glob("store.db*"):
            path.unlink()
        assert await told(client, "tool_output_cache", ref_id=ref) == (True, f"unknown ref '{ref}'")
        assert not (tmp_path / "store.db").exists()
        put(tmp_path, LOG)
        assert (await told(client, "tool_output_cache", ref_id=ref))[0] is False

    ask(tmp_path, asking)


def folded(folder: Path, topic: str) -> str:
    """The key of a session about something, which was folded."""
    steps = ((f"look at {topic} {number}", f"{topic} {number}: " + "all is well; " * 400) for number in range(20))
    session = Session(4_096, model="gpt-4o", store=url_of(folder))
    before = set(session.store.conversations())
    spoken = [{"role": role, "content": said} for pair in steps for role, said in zip(("user", "assistant"), pair)]  # noqa: B905
    session.fit([*spoken, {"role": "user", "content": "Go on."}])
    (key,) = set(session.store.conversations()) - before
    session.store.close()
    return str(key)


def test_a_search_is_kept_to_one_session_and_why_tells_of_its_folds(tmp_path: Path) -> None:
    bread, wine = folded(tmp_path, "bread"), folded(tmp_path, "wine")

    async def asking(client: Any) -> None:
        assert (await told(client, "recall_search", words="wine"))[1].startswith("[no line")
        failed, text = await told(client, "recall_search", words="bread 3")
        ref = re.match(r"ref=(\w{12}) line \d+: .*bread 3", text)
        assert not failed and ref
        failed, text = await told(client, "recall_why", ref_id=ref[1])
        assert failed is False and text

    ask(tmp_path, asking, "--session", bread[:10])
    assert bread != wine


def test_why_is_told_in_english_where_the_language_is_not_one_of_ours(tmp_path: Path) -> None:
    folded(tmp_path, "bread")

    async def asking(client: Any) -> None:
        _, text = await told(client, "recall_search", words="bread 3")
        failed, text = await told(client, "recall_why", ref_id=text[4:16])
        assert not failed and "tokens; last folded" in text

    ask(tmp_path, asking, locale="fr_FR.UTF-8")


def test_after_a_search_it_learns_what_is_in_the_store(tmp_path: Path) -> None:
    refs = put(tmp_path, "needle\n", *(f"{number}\n{LOG}" for number in range(20)))

    async def asking(client: Any) -> None:
        await told(client, "tool_output_cache", ref_id=refs[0])
        assert not (tmp_path / "store.db.words").exists()
        assert (await told(client, "recall_search", words="needle"))[1].startswith(f"ref={refs[0]} line 1: ")
        store = SQLiteStore(tmp_path / "store.db")
        while not (known := index.look_up(store, ["needle"])) or known.rest != dict.fromkeys(refs):
            await anyio.sleep(0.05)
        store.close()

    ask(tmp_path, asking)


def server(*arguments: str, folder: Path, code: str = "") -> subprocess.CompletedProcess[str]:
    """The process with all it says, to a client that leaves at once."""
    begin = ["-c", f"{code}; from yohaku.cli.main import main; raise SystemExit(main())"] if code else ["-m", "yohaku"]
    environ = {**os.environ, **environment(folder)}
    command = [sys.executable, *begin, *arguments]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=120, env=environ, check=False)


def test_nothing_but_the_protocol_goes_to_standard_output(tmp_path: Path) -> None:
    (ref,) = put(tmp_path, LOG)
    call = {"name": "tool_output_cache", "arguments": {"ref_id": ref, "limit": 1}}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    said: list[Any] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such/method"},
    ]
    prints = "from yohaku.stores.sqlite import SQLiteStore; SQLiteStore.close = lambda self: print('stray')"
    program = f"{prints}; from yohaku.cli.main import main; raise SystemExit(main())"
    command = [sys.executable, "-c", program, "mcp", "--store", url_of(tmp_path)]
    environ = {**os.environ, **environment(tmp_path)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, env=environ) as process:
        assert process.stdin and process.stdout and process.stderr
        for each in said:
            print(json.dumps(each), file=process.stdin, flush=True)
        print("this is no JSON", file=process.stdin, flush=True)
        answers = [json.loads(process.stdout.readline()) for _ in (1, 2, 3)]
        process.stdin.close()
        assert {answer["id"]: "result" in answer for answer in answers} == {1: True, 2: True, 3: False}
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in process.stdout)
        noise = process.stderr.read()
    assert process.returncode == 0 and "stray" in noise and "Traceback" not in noise


def test_an_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "yohaku", "mcp", "--store", url_of(tmp_path)]
    environ = {**os.environ, **environment(tmp_path)}
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, env=environ) as process:
        assert process.stdin and process.stdout
        print('{"jsonrpc": "2.0", "id": 1, "method": "ping"}', file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT


@pytest.mark.parametrize("lang", ["en", "fr"])
def test_without_the_sdk_one_line_says_how_to_get_it(lang: str, tmp_path: Path) -> None:
    code = f"import os, sys; sys.modules['mcp'] = None; os.environ['YOHAKU_LANG'] = '{lang}'"
    done = server("mcp", folder=tmp_path, code=code)
    line = "yohaku: mcp needs a package that is not installed: pip install 'yohaku[mcp]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize("flags", [["--store", "ftp://nobody"], ["--session", "nobody"]])
def test_what_cannot_be_served_is_one_plain_line(flags: list[str], tmp_path: Path) -> None:
    done = server("mcp", *flags, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_no_other_command_loads_the_sdk(tmp_path: Path) -> None:
    loaded = "[name for name in ('mcp', 'anyio', 'pydantic') if name in sys.modules]"
    code = f"import atexit, sys; atexit.register(lambda: print({loaded}))"
    done = server("recall", "a" * 12, folder=tmp_path, code=code)
    assert (done.returncode, done.stdout) == (2, "[]\n")


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / "mcp.md").read_text("utf-8"), re.DOTALL)


def test_the_settings_in_the_docs_can_be_read_and_start_the_server() -> None:
    servers = [json.loads(text)["mcpServers"]["yohaku"] for text in examples("json")]
    servers += [tomllib.loads(text)["mcp_servers"]["yohaku"] for text in examples("toml")]
    assert len(servers) == 4
    for each in servers:
        assert Path(each["command"]).name == "yohaku" and each["args"][0] == "mcp"
        url = dict(zip(each["args"][1::2], each["args"][2::2], strict=True)).get("--store")
        for given in (url, each.get("env", {}).get("YOHAKU_STORE")):
            assert given is None or stores.sqlite_path(given) == Path("/srv/yohaku/store.db")


def test_every_tool_and_flag_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text("utf-8")
    for name, tool in TOOLS.items():
        assert f"`{name}({', '.join(tool.parameters['properties'])})`" in page
    assert "`recall_why(ref_id)`" in page and "--session" in page and "--store" in page
