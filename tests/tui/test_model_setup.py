"""The first start without a model: a list of ways to one, each of which works from the screen."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from tests.agent.fakes import FakeServer, spoken
from tests.models import tiny
from tests.tui.seen import WIDE, same_as_golden, seen
from yohaku.agent.agent import Agent
from yohaku.agent.host import embedded
from yohaku.agent.host.stored_keys import StoredKeys
from yohaku.agent.startup import Starter
from yohaku.config.settings import Settings, read
from yohaku.messages import say
from yohaku.tui.app import YohakuApp
from yohaku.tui.dialogs import QuestionDialog
from yohaku.tui.prompt import PromptInput
from yohaku.tui.secret_dialog import SecretDialog

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
MODELS = {"object": "list", "data": [{"id": "m", "object": "model", "max_model_len": 8192}]}
NOWHERE = "http://127.0.0.1:9"
Script = Callable[[Pilot[int]], Awaitable[None]]


def settings(folder: Path, **environ: str) -> Settings:
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"), "XDG_CONFIG_HOME": str(folder / "config")}
    servers = ("OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL")
    return read(
        {"LANG": "en_US.UTF-8", "OLLAMA_MODELS": str(folder), **dict.fromkeys(servers, NOWHERE), **home, **environ}
    )


def play(app: YohakuApp, script: Script, size: tuple[int, int] = WIDE) -> None:
    async def played() -> None:
        async with app.run_test(size=size) as pilot:
            try:
                await script(pilot)
            finally:
                await app.action_leave()

    asyncio.run(played())


def screen(folder: Path, **environ: str) -> YohakuApp:
    (folder / "project").mkdir(exist_ok=True)
    begin = Starter(settings(folder, **environ), folder / "project")
    begin.look_seconds = 0.05
    return YohakuApp(begin, quiet=0.01)


async def until(pilot: Pilot[int], condition: Callable[[], object], seconds: float = 20) -> None:
    for _ in range(round(seconds / 0.02)):
        await pilot.pause(0.02)
        if condition():
            return
    raise AssertionError(f"it did not come to that:\n{seen(pilot.app)}")  # type: ignore[arg-type]


async def armed(pilot: Pilot[int], text: str) -> None:
    app = pilot.app
    assert isinstance(app, YohakuApp)
    await until(
        pilot, lambda: text in seen(app) and app.dialog and (app.dialog.armed or isinstance(app.dialog, SecretDialog))
    )


async def choose(pilot: Pilot[int], label: str) -> None:
    app = pilot.app
    assert isinstance(app, YohakuApp) and isinstance(app.dialog, QuestionDialog)
    place = next(number for number, choice in enumerate(app.dialog.choices) if choice.startswith(label))
    await pilot.press(*["down"] * (place + 1), "enter")


def test_a_server_that_is_started_while_the_list_is_shown_is_taken(tmp_path: Path) -> None:
    for package in ("xllamacpp", "gguf", "numpy"):
        pytest.importorskip(package, reason=f"{package} is needed to serve a model: install the group `test`")
    import xllamacpp

    tiny.build(tmp_path / "tiny-instruct.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    app = screen(tmp_path, LLAMACPP_BASE_URL=f"http://127.0.0.1:{port}")
    how = xllamacpp.CommonParams()
    how.model.path, how.model_alias, how.n_ctx, how.n_parallel = str(tmp_path / "tiny-instruct.gguf"), {"tiny"}, 8192, 1
    how.hostnames, how.port, how.use_jinja, how.ui, how.endpoint_props = ["127.0.0.1"], port, True, False, True
    how.fit_params, how.verbosity = False, 0

    async def script(pilot: Pilot[int]) -> None:
        await armed(pilot, "No model yet: choose one")
        await pilot.press(*"hello", "enter")
        assert "waits: hello" in seen(app) and app.agent is None  # what is typed is a prompt, and no answer
        server = await asyncio.to_thread(xllamacpp.Server, how)
        await until(pilot, lambda: tiny.SCRIPTS["done"][0] in seen(app))
        assert isinstance(app.agent, Agent) and app.agent.endpoint.model == "tiny" and app.dialog is None
        del server

    play(app, script)


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_list_of_ways_is_short_and_nothing_in_it_is_selected(tmp_path: Path, lang: str) -> None:
    app = screen(tmp_path, LANG=f"{lang}_JP.UTF-8")

    async def script(pilot: Pilot[int]) -> None:
        await armed(pilot, say("setup_title", lang)[:20])
        assert app.dialog and app.dialog.selected == -1 and isinstance(app.dialog, QuestionDialog)
        assert 3 <= len(app.dialog.choices) <= 4
        await pilot.press("enter", "enter", "y", "enter")
        assert app.agent is None and app.dialog  # nothing was answered by that
        same_as_golden(app, f"setup_{lang}")

    play(app, script, (80, 24))


@pytest.mark.parametrize("pasted", [True, False])
def test_a_pasted_key_is_masked_used_and_kept_where_the_user_says(tmp_path: Path, pasted: bool) -> None:
    app = screen(tmp_path)

    async def script(pilot: Pilot[int]) -> None:
        await armed(pilot, "No model yet: choose one")
        await choose(pilot, "Paste an API key")
        await until(pilot, lambda: isinstance(app.dialog, SecretDialog))
        if pasted:
            app.query_one(PromptInput).post_message(events.Paste(f"{KEY}\n"))
        else:
            await pilot.press(*KEY)
        await until(pilot, lambda: f"{len(KEY)} characters" in seen(app))
        assert KEY[:6] not in seen(app) and app.query_one(PromptInput).text == ""
        await pilot.press("enter")
        await armed(pilot, "Where shall the key of Anthropic be kept?")
        await pilot.press("enter")
        assert app.agent is None and app.dialog  # no place is preselected
        await choose(pilot, "In a file")
        await until(pilot, lambda: app.agent)
        assert app.agent and app.agent.endpoint.provider == "anthropic" and app.agent.endpoint.key == KEY
        assert "/model forget anthropic removes it" in " ".join(seen(app).split())

    play(app, script)
    path = tmp_path / "config" / "yohaku" / "credentials.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert StoredKeys(path.parent).read() == {"ANTHROPIC_API_KEY": KEY}
    written = [each for each in tmp_path.rglob("*") if each.is_file() and KEY.encode() in each.read_bytes()]
    assert written == [path]


def test_a_kept_key_is_used_at_the_next_start_and_forgotten_on_request(tmp_path: Path) -> None:
    StoredKeys(tmp_path / "config" / "yohaku").keep("ANTHROPIC_API_KEY", KEY, "file")
    app = screen(tmp_path)

    async def script(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: app.agent)
        assert app.agent and app.agent.endpoint.key == KEY
        await pilot.press(*"/model forget claude", "enter")
        await until(pilot, lambda: "is removed from the file" in seen(app))

    play(app, script)
    assert not (tmp_path / "config" / "yohaku" / "credentials.json").exists()


def test_a_key_that_is_given_up_is_nowhere(tmp_path: Path) -> None:
    app = screen(tmp_path)

    async def script(pilot: Pilot[int]) -> None:
        await armed(pilot, "No model yet: choose one")
        await choose(pilot, "Paste an API key")
        await until(pilot, lambda: isinstance(app.dialog, SecretDialog))
        await pilot.press(*KEY, "escape")
        await armed(pilot, "No model yet: choose one")
        assert app.query_one(PromptInput).text == "" and KEY[:6] not in seen(app)

    play(app, script)
    assert [each for each in tmp_path.rglob("*") if each.is_file() and b"sk-ant" in each.read_bytes()] == []


def test_a_file_is_served_by_its_path_and_a_wrong_one_leads_back(tmp_path: Path) -> None:
    if not embedded.is_installed():
        pytest.skip("the engine is needed to serve a file: install the group `test`")
    tiny.build(tmp_path / "tiny-instruct.gguf")
    app = screen(tmp_path)

    async def script(pilot: Pilot[int]) -> None:
        for name in ("none.gguf", "tiny-instruct.gguf"):
            await armed(pilot, "No model yet: choose one")
            await choose(pilot, "A .gguf file")
            await armed(pilot, "Where is the .gguf file?")
            await pilot.press(*str(tmp_path / name), "enter")
            if name == "none.gguf":
                await until(pilot, lambda: "there is no such file" in " ".join(seen(app).split()))
        await until(pilot, lambda: app.agent, 60)
        assert app.agent and app.agent.endpoint.model == "tiny-instruct"
        await pilot.press(*"Hi", "enter")
        await until(pilot, lambda: tiny.SCRIPTS["done"][0] in seen(app), 60)

    play(app, script)
    app.begin.close()  # type: ignore[attr-defined]


def test_the_list_can_be_left_and_opened_again(tmp_path: Path) -> None:
    app = screen(tmp_path)

    async def script(pilot: Pilot[int]) -> None:
        await armed(pilot, "No model yet: choose one")
        await pilot.press("escape")
        await until(pilot, lambda: app.dialog is None and "ANTHROPIC_API_KEY" in seen(app))
        await pilot.press(*"/model", "escape", "enter")
        await armed(pilot, "No model yet: choose one")
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.dialog is None and not app.workers_busy("begin"))

    play(app, script)


def test_while_talking_all_that_is_there_is_listed_and_can_be_changed_to(tmp_path: Path) -> None:
    async def script(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, YohakuApp)
        await until(pilot, lambda: app.agent)
        assert app.agent and app.agent.endpoint.model == "m"
        await pilot.press(*"/model", "escape", "enter")
        await armed(pilot, "Which model?")
        assert isinstance(app.dialog, QuestionDialog)
        page = "\n".join(app.dialog.choices)
        assert "m  (vLLM)  ← in use" in page and "n  (vLLM)" in page and "(Anthropic)" in page
        assert say("setup_key", "en") in app.dialog.choices and say("setup_server", "en") in app.dialog.choices
        await choose(pilot, "n  (vLLM)")
        await until(pilot, lambda: app.agent and app.agent.endpoint.model == "n")

    async def played() -> None:
        models = {"object": "list", "data": [*MODELS["data"], {"id": "n", "object": "model", "max_model_len": 16384}]}
        async with FakeServer([spoken("openai_chat", "Hi.")], {"/v1/models": models}) as server:
            app = screen(tmp_path, VLLM_BASE_URL=f"{server.url}/v1", ANTHROPIC_API_KEY=KEY)
            async with app.run_test(size=WIDE) as pilot:
                await script(pilot)
                await app.action_leave()

    asyncio.run(played())


def test_the_model_in_use_is_listed_also_where_its_server_is_at_an_address_of_its_own(tmp_path: Path) -> None:
    async def played() -> None:
        async with FakeServer([spoken("openai_chat", "Hi.")], {"/v1/models": MODELS}) as server:
            app = screen(tmp_path, YOHAKU_MODEL=f"{server.url}/v1#m")
            async with app.run_test(size=WIDE) as pilot:
                await until(pilot, lambda: app.agent)
                await pilot.press(*"/model", "escape", "enter")
                await armed(pilot, "Which model?")
                assert isinstance(app.dialog, QuestionDialog)
                assert app.dialog.choices[0].startswith("m  (") and app.dialog.choices[0].endswith("← in use")
                await pilot.press("escape")
                await app.action_leave()

    asyncio.run(played())


def test_a_server_is_waited_for_from_the_list_of_models_too(tmp_path: Path) -> None:
    answers: dict[str, object] = {"/health": {}}

    async def played() -> None:
        async with FakeServer([], {"/v1/models": MODELS}) as first, FakeServer([], answers) as second:
            app = screen(tmp_path, VLLM_BASE_URL=f"{first.url}/v1", LLAMACPP_BASE_URL=f"{second.url}/v1")
            async with app.run_test(size=WIDE) as pilot:
                await until(pilot, lambda: app.agent)
                await pilot.press(*"/model", "escape", "enter")
                await armed(pilot, "Which model?")
                await choose(pilot, "Start a server")
                await armed(pilot, "Looking for a server every")
                answers["/v1/models"] = {"data": [{"id": "late", "owned_by": "llamacpp"}]}
                await until(pilot, lambda: app.agent and app.agent.endpoint.model == "late")
                await app.action_leave()

    asyncio.run(played())


def test_the_credentials_are_json_with_one_row_a_variable(tmp_path: Path) -> None:
    kept = StoredKeys(tmp_path)
    kept.keep("A_KEY", "value-of-a", "file")
    kept.keep("B_KEY", "value-of-b", "file")
    assert json.loads(kept.path.read_text()) == {
        "keys": {"A_KEY": {"key": "value-of-a"}, "B_KEY": {"key": "value-of-b"}}
    }
