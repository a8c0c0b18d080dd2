"""`yohaku acp`, the real process, hosted by the client of the SDK, against a server that plays a script."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.agent.fakes import FakeServer, Played, spoken

acp = pytest.importorskip("acp", reason="the SDK is not installed: pip install agent-client-protocol")

ADD = ("write", {"path": "new.txt", "content": "hello\n"})
EDIT = ("edit", {"path": "a.py", "old_string": "one = 1", "new_string": "one = 2"})
REMOVE = ("bash", {"command": "rm -rf ../other"})
ENOUGH = 60
"""Seconds a test may take before something is wrong."""


class Editor:
    """Keeps what it is shown and answers questions with the option of the first kind it can."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[Any] = []
        self.asked: list[Any] = []
        self.arrived = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.shown.append(update)
        self.arrived.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **_: Any) -> Any:
        self.asked.append((tool_call, options))
        wanted = self.answers.pop(0) if self.answers else "cancelled"
        if wanted == "wait":
            self.arrived.set()
            await self.cancelled.wait()  # the protocol asks editors to answer then
        option = next((option.option_id for option in options if wanted in (option.kind, option.name)), None)
        outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
        return acp.schema.RequestPermissionResponse.model_validate({"outcome": outcome})

    def on_connect(self, conn: Any) -> None:
        pass

    def of(self, kind: str) -> list[Any]:
        return [update for update in self.shown if update.session_update == kind]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update.content.text for update in self.of(kind))

    async def until(self, is_there: Callable[[], Any]) -> None:
        while not is_there():
            self.arrived.clear()
            await self.arrived.wait()


def environment(folder: Path, locale: str) -> dict[str, str]:
    names = ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    home = {name: str(folder / name.lower()) for name in names}
    kept = {"PATH": os.environ["PATH"], "LANG": locale, "LC_ALL": locale, "NO_PROXY": "*"}
    return {**home, **kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


@asynccontextmanager
async def hosted(
    editor: Editor, server: FakeServer | None, folder: Path, *flags: str, locale: str = "C.UTF-8"
) -> AsyncIterator[Any]:
    (folder / "project").mkdir(exist_ok=True)
    model = ("--model", f"{server.url}/v1#m", "--window", "16384") if server else ()
    arguments = ("-m", "yohaku", "acp", *model, *flags)
    given = {"env": environment(folder, locale), "cwd": str(folder)}
    async with acp.spawn_agent_process(editor, sys.executable, *arguments, **given) as (agent, process):
        await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        yield agent
    assert process.returncode == 0


def host(work: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(ENOUGH):
            await work()

    asyncio.run(run())


def says(*pieces: str, **more: Any) -> Played:
    return spoken("openai_chat", *pieces, **more)


def prompt(text: str) -> list[Any]:
    return [acp.helpers.text_block(text)]


async def begin(agent: Any, folder: Path) -> str:
    return str((await agent.new_session(cwd=str(folder / "project"), mcp_servers=[])).session_id)


def test_a_reply_its_thought_and_the_use_of_the_window_are_shown(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        script = [says("Hel", "lo.", thought="hm", prompt=50)]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path) as agent:
            about = await agent.initialize(protocol_version=1)
            assert about.agent_capabilities.load_session and about.agent_info.name == "yohaku"
            session = await begin(agent, tmp_path)
            done = await agent.prompt(session_id=session, prompt=prompt("say hello"))
            await editor.until(lambda: editor.of("available_commands_update"))
        assert done.stop_reason == "end_turn" and done.usage.input_tokens == 50
        assert editor.text().endswith("Hello.") and editor.text("agent_thought_chunk") == "hm"
        assert editor.of("usage_update")[-1].size == 16384 and editor.of("usage_update")[-1].used > 0
        names = {command.name for command in editor.of("available_commands_update")[0].available_commands}
        assert {"compact", "undo", "context"} <= names and not names & {"quit", "clear", "resume"}
        assert server.asked[0].body["messages"][-1]["content"] == "say hello"

    host(work)


def test_a_change_is_asked_with_its_diff_and_an_always_holds(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("zero = 0\none = 1\n")

    async def work() -> None:
        editor = Editor("allow_always")
        script = [says(calls=[EDIT]), says(calls=[ADD]), says("Done.")]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("change it"))
        ((call, options),) = editor.asked  # the second change was covered by the always
        assert [option.kind for option in options] == ["allow_once", "allow_always", "reject_once"]
        path = str(tmp_path / "project" / "a.py")
        assert (call.content[0].path, call.content[0].old_text, call.content[0].new_text) == (
            path,
            "zero = 0\none = 1",
            "zero = 0\none = 2",
        )
        finished = [update for update in editor.of("tool_call_update") if update.status == "completed"]
        assert editor.of("tool_call")[0].kind == "edit" and finished[0].locations[0].path == path
        assert [update.content[0].type for update in finished] == ["diff", "diff"]
        assert finished[1].content[0].old_text is None and finished[1].content[0].new_text == "hello"
        assert (tmp_path / "project" / "a.py").read_text() == "zero = 0\none = 2\n"
        assert (tmp_path / "project" / "new.txt").read_text() == "hello\n"

    host(work)


@pytest.mark.parametrize("answer", ["reject_once", "cancelled", "allow_always"])
def test_a_dangerous_command_is_never_offered_for_good_and_runs_only_when_allowed(answer: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    async def work() -> None:
        editor = Editor(answer)
        script = [says(calls=[REMOVE]), says("I did not.")]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("remove it"))
        ((call, options),) = editor.asked
        assert [option.kind for option in options] == ["allow_once", "reject_once"]
        assert call.kind == "execute" and "rm -rf ../other" in call.title
        assert (tmp_path / "other").exists()
        assert editor.of("tool_call_update")[-1].status == "failed"

    host(work)


def test_the_mode_decides_what_is_asked(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        script = [says(calls=[ADD]), says("No."), says(calls=[ADD]), says("Yes.")]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path) as agent:
            made = await agent.new_session(cwd=str(tmp_path / "project"), mcp_servers=[])
            assert made.modes.current_mode_id == "ask"
            assert [mode.id for mode in made.modes.available_modes] == ["ask", "plan", "yolo"]
            await agent.set_session_mode(session_id=made.session_id, mode_id="plan")
            await agent.prompt(session_id=made.session_id, prompt=prompt("write it"))
            assert not (tmp_path / "project" / "new.txt").exists()
            await agent.set_session_mode(session_id=made.session_id, mode_id="yolo")
            await agent.prompt(session_id=made.session_id, prompt=prompt("write it"))
            assert (tmp_path / "project" / "new.txt").exists()
            with pytest.raises(acp.RequestError):
                await agent.set_session_mode(session_id=made.session_id, mode_id="all")
        assert editor.asked == []

    host(work)


def test_the_plan_is_the_list_of_the_model(tmp_path: Path) -> None:
    items = [
        {"text": "look", "status": "done"},
        {"text": "mend", "status": "doing"},
        {"text": "test", "status": "pending"},
    ]

    async def work() -> None:
        editor = Editor()
        script = [says(calls=[("todo", {"items": items})]), says("Planned.")]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path, "--window", "65536") as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("plan"))
        (plan,) = editor.of("plan")
        assert [(entry.content, entry.status) for entry in plan.entries] == [
            ("look", "completed"), ("mend", "in_progress"), ("test", "pending"),
        ]  # fmt: skip

    host(work)


@pytest.mark.parametrize("waiting_for", ["notice", "model", "permission"])
def test_a_cancelled_turn_ends_at_once_and_the_conversation_goes_on(waiting_for: str, tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor("wait")
        slow = Played(says("Wait").chunks[:1], ending="stall")
        first = {"notice": [], "model": [slow], "permission": [says(calls=[ADD])]}[waiting_for]
        shown = {"notice": editor.text, "model": lambda: "Wait" in editor.text(), "permission": lambda: editor.asked}
        async with FakeServer([*first, says("Here.")]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            turn = asyncio.ensure_future(agent.prompt(session_id=session, prompt=prompt("begin")))
            await editor.until(shown[waiting_for])
            await agent.cancel(session_id=session)
            editor.cancelled.set()
            assert (await turn).stop_reason == "cancelled"
            done = await agent.prompt(session_id=session, prompt=prompt("still there?"))
        assert done.stop_reason == "end_turn" and editor.text().endswith("Here.")
        assert not (tmp_path / "project" / "new.txt").exists()
        last = {update.tool_call_id: update.status for update in editor.of("tool_call_update")}
        assert set(last.values()) <= {"failed"}, "what was cancelled is not completed"

    host(work)


def test_a_conversation_is_listed_loaded_and_replayed_by_another_process(tmp_path: Path) -> None:
    async def work() -> None:
        first, second = Editor("allow_once"), Editor()
        async with FakeServer([says("I write.", calls=[ADD]), says("Done."), says("Again.")]) as server:
            async with hosted(first, server, tmp_path) as agent:
                session = await begin(agent, tmp_path)
                await agent.prompt(session_id=session, prompt=prompt("write a file"))
            async with hosted(second, server, tmp_path) as agent:
                (row,) = (await agent.list_sessions(cwd=str(tmp_path / "project"))).sessions
                assert (row.session_id, row.title) == (session, "write a file")
                await agent.load_session(cwd=str(tmp_path / "project"), session_id=session, mcp_servers=[])
                replayed = list(second.shown)
                await agent.prompt(session_id=session, prompt=prompt("and now?"))
                with pytest.raises(acp.RequestError):
                    await agent.load_session(cwd=str(tmp_path), session_id="no-such-session", mcp_servers=[])
        kinds = [update.session_update for update in replayed]
        expected = ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"]
        assert kinds[:5] == expected
        assert replayed[0].content.text == "write a file" and replayed[4].content.text == "Done."
        texts = [message.get("content") for message in server.asked[-1].body["messages"]]
        assert "write a file" in texts and texts[-1] == "and now?"

    host(work)


def test_a_slash_command_is_run_and_its_text_shown(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        async with FakeServer([says("Hi.")]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("/context"))
            assert "16,384" in editor.text() and server.asked == []

    host(work)


def test_a_mode_set_by_a_command_is_told_to_the_editor(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        async with FakeServer([]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("/mode plan"))
        assert [update.current_mode_id for update in editor.of("current_mode_update")] == ["plan"]

    host(work)


def test_a_command_that_stands_for_a_prompt_is_sent_to_the_model(tmp_path: Path) -> None:
    own = tmp_path / "project" / ".yohaku" / "commands"
    own.mkdir(parents=True)
    (own / "review.md").write_text("Review $ARGUMENTS with care.")

    async def work() -> None:
        editor = Editor()
        async with FakeServer([says("Well."), says("Fine.")]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("/review a.py"))
            await agent.prompt(session_id=session, prompt=prompt("/init"))
            await editor.until(lambda: editor.of("available_commands_update"))
        assert server.asked[0].body["messages"][-1]["content"] == "Review a.py with care."
        assert "AGENTS.md" in server.asked[1].body["messages"][-1]["content"]
        assert "Well." in editor.text() and "Fine." in editor.text() and "Review" not in editor.text()
        commands = editor.of("available_commands_update")[0].available_commands
        assert {"review", "init"} <= {command.name for command in commands}

    host(work)


def test_an_undo_of_files_shows_what_it_would_do_before_it_asks(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor("allow_once", "Yes")
        async with FakeServer([says(calls=[ADD]), says("Done.")]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=prompt("write it"))
            await agent.prompt(session_id=session, prompt=prompt("/undo files"))
        assert not (tmp_path / "project" / "new.txt").exists()
        told = [at for at, each in enumerate(editor.shown) if "is deleted  new.txt" in str(each)]
        asked = [at for at, each in enumerate(editor.shown) if "Take it back?" in str(each)]
        assert told[0] < asked[0] and "Taken back: 1 file." in editor.text()

    host(work)


def test_two_conversations_of_one_folder_do_not_end_each_others_changes(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor(*["allow_once"] * 3)
        slow = ("bash", {"command": "echo 1 > first; while ! test -e second; do sleep 0.05; done; echo 2 >> first"})
        other = ("write", {"path": "second", "content": "x"})
        script = [says(calls=[slow]), says(calls=[other]), says("Done."), says("Done.")]
        async with FakeServer(script) as server, hosted(editor, server, tmp_path) as agent:
            one, two = await begin(agent, tmp_path), await begin(agent, tmp_path)
            first = asyncio.ensure_future(agent.prompt(session_id=one, prompt=prompt("run it")))
            while not (tmp_path / "project" / "first").exists():
                await asyncio.sleep(0.05)
            await agent.prompt(session_id=two, prompt=prompt("write second"))
            await first
            editor.answers = ["Yes"]
            await agent.prompt(session_id=one, prompt=prompt("/undo files 2"))
        assert [path.name for path in (tmp_path / "project").iterdir()] == []

    host(work)


def test_conversations_of_the_terminal_are_listed_and_loaded_too(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        async with FakeServer([says("Hi."), says("Again.")]) as server:
            (tmp_path / "project").mkdir()
            command = [sys.executable, "-m", "yohaku", "-p", "hello there", "--model", f"{server.url}/v1#m"]
            process = await asyncio.create_subprocess_exec(
                *command, "--window", "16384", cwd=tmp_path / "project", env=environment(tmp_path, "C.UTF-8"),
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
            assert await process.wait() == 0
            async with hosted(editor, server, tmp_path) as agent:
                (row,) = (await agent.list_sessions(cwd=str(tmp_path / "project"))).sessions
                assert row.title == "hello there" and (await agent.list_sessions(cwd=str(tmp_path))).sessions == []
                await agent.load_session(cwd=str(tmp_path / "project"), session_id=row.session_id, mcp_servers=[])
                await agent.prompt(session_id=row.session_id, prompt=prompt("and now?"))
                (again,) = (await agent.list_sessions()).sessions
                assert again.session_id == row.session_id
                with pytest.raises(acp.RequestError):
                    await agent.load_session(cwd=str(tmp_path), session_id="/etc/hosts", mcp_servers=[])
        assert editor.text("user_message_chunk") == "hello there" and editor.text().endswith("Again.")

    host(work)


def test_files_that_come_with_a_prompt_reach_the_model(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        blocks = [
            acp.helpers.text_block("Explain "),
            acp.helpers.resource_link_block("b.py", "file:///srv/b%20c.py"),
            acp.helpers.resource_block(acp.helpers.embedded_text_resource("file:///srv/d.py", "x = 1")),
        ]
        async with FakeServer([says("Well.")]) as server, hosted(editor, server, tmp_path) as agent:
            session = await begin(agent, tmp_path)
            await agent.prompt(session_id=session, prompt=blocks)
            sent = server.asked[0].body["messages"][-1]["content"]
        assert "Explain /srv/b c.py" in sent and "/srv/d.py:\n```\nx = 1\n```" in sent

    host(work)


def test_a_turn_that_fails_is_an_error_with_the_reason_in_the_language_of_the_user(tmp_path: Path) -> None:
    async def work() -> None:
        editor = Editor()
        refused = Played((b'{"error": {"message": "no such model"}}',), 404, "application/json")
        async with FakeServer([refused]) as server, hosted(editor, server, tmp_path, locale="ja_JP.UTF-8") as agent:
            session = await begin(agent, tmp_path)
            with pytest.raises(acp.RequestError, match="no such model"):
                await agent.prompt(session_id=session, prompt=prompt("go"))
            with pytest.raises(acp.RequestError, match="フォルダー"):
                await agent.new_session(cwd=str(tmp_path / "nowhere"), mcp_servers=[])

    host(work)


def test_without_a_model_the_editor_is_told_why(tmp_path: Path) -> None:
    async def work() -> None:
        async with hosted(Editor(), None, tmp_path, "--model", "no-such-model") as agent:
            with pytest.raises(acp.RequestError, match="no-such-model"):
                await agent.new_session(cwd=str(tmp_path / "project"), mcp_servers=[])

    host(work)


def test_without_an_editor_it_says_in_one_line_who_starts_it() -> None:
    for lang, words in (("en_US.UTF-8", "started by an editor"), ("ja_JP.UTF-8", "エディターが起動")):
        command = [sys.executable, "-m", "yohaku", "acp"]
        environment = {**os.environ, "LC_ALL": lang, "LANG": lang}
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
        assert done.returncode == 2 and done.stdout == ""
        assert words in done.stderr and done.stderr.count("\n") == 1
