"""`yohaku` and `yohaku -p` against a server that plays a script, and the settings on the command line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.agent.fakes import FakeServer, Played, spoken, whole

from yohaku.cli import main, parser
from yohaku.config.keys import KEYS

LS = ("bash", {"command": "ls"})
pytestmark = pytest.mark.usefixtures("project")
WRITE = ("write", {"path": "new.txt", "content": "hello\n"})


def run(server: FakeServer, *arguments: str) -> int:
    return main.main(["--model", f"{server.url}/v1#m", *arguments])


def test_one_task_is_answered_on_standard_output(
    serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(spoken("openai_chat", "Hel", "lo."))
    assert run(server, "-p", "say hello") == 0
    assert capfd.readouterr().out == "Hello.\n"
    body = server.asked[0].body
    assert body["messages"][-1]["content"] == "say hello" and body["tools"]


def test_a_folder_that_is_gone_is_said_in_a_sentence(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project.rmdir()
    assert main.main(["--model", "x", "-p", "go on"]) == 2
    assert capfd.readouterr().err == "yohaku: the folder you are in is not there any more: change to another one\n"


def test_without_yolo_nothing_is_written_and_it_is_said(
    serve: Callable[..., FakeServer], project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(spoken("openai_chat", calls=[WRITE]), spoken("openai_chat", "I could not."))
    assert run(server, "-p", "write it") == 1
    said = capfd.readouterr()
    assert said.out == "I could not.\n" and "--yolo" in said.err
    assert list(project.iterdir()) == []


def test_with_yolo_it_is_done_and_every_event_is_a_line_of_json(
    serve: Callable[..., FakeServer], project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(spoken("openai_chat", calls=[WRITE]), spoken("openai_chat", "Written."))
    assert run(server, "-p", "write it", "--yolo", "--json") == 0
    rows = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    assert (project / "new.txt").read_text() == "hello\n"
    assert [row["type"] for row in rows if row["type"] in ("calling", "called", "ended")] == [
        "calling", "called", "ended",
    ]  # fmt: skip
    assert rows[-1] == {"type": "ended", "why": "done", "text": "Written.", "problems": []}
    assert "+hello" in next(row["diff"] for row in rows if row["type"] == "called")


def test_read_only_refuses_a_command_even_where_somebody_could_be_asked(
    serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve(spoken("openai_chat", calls=[LS]), spoken("openai_chat", "No."))
    assert run(server, "-p", "list", "--read-only") == 0
    assert "--yolo" not in capfd.readouterr().err


def test_chat_has_no_tools(serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]) -> None:
    server = serve(spoken("openai_chat", "Hi."))
    assert run(server, "--chat", "-p", "hi") == 0
    assert not server.asked[0].body.get("tools")


def test_what_is_piped_comes_under_what_is_asked(serve: Callable[..., FakeServer]) -> None:
    server = serve(spoken("openai_chat", "Fine."))
    command = [sys.executable, "-m", "yohaku", "--model", f"{server.url}/v1#m"]
    done = subprocess.run([*command, "-p", "review"], input="the diff\n", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Fine.\n")
    done = subprocess.run(command, input="only this 日本", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Fine.\n")
    assert [asked.body["messages"][-1]["content"] for asked in server.asked] == ["review\n\nthe diff", "only this 日本"]


def test_nothing_to_do_is_misuse_in_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "yohaku"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr.startswith("yohaku: say what to do") and done.stderr.count("\n") == 1
    assert main.main(["-p", "x", "--preset", "slow"]) == 2
    assert "speed, balanced or quality" in capfd.readouterr().err
    assert main.main(["-p", "x", "--resume", "nowhere"]) == 2
    assert capfd.readouterr().err == "yohaku: nowhere: there is no such session, nor a file of that name\n"


def test_a_server_that_is_not_there_is_exit_4_with_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    assert main.main(["-p", "x", "--model", "http://127.0.0.1:9/v1"]) == 4
    said = capfd.readouterr()
    assert said.out == "" and "127.0.0.1:9" in said.err and "Traceback" not in said.err


def test_what_cannot_fit_is_exit_3(serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]) -> None:
    server = serve(spoken("openai_chat", "never"))
    assert run(server, "--window", "600", "--force", "-p", "hello") == 3
    assert server.asked == [] and capfd.readouterr().err


def test_a_refusal_of_the_server_is_exit_4(serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]) -> None:
    server = serve(whole({"error": {"message": "bad key"}}, 401))
    assert run(server, "-p", "x") == 4
    assert capfd.readouterr().err.strip()


def test_ctrl_c_is_exit_130_and_what_was_said_stays(serve: Callable[..., FakeServer]) -> None:
    stalls = spoken("openai_chat", "first words ")
    server = serve(Played(stalls.chunks[:1], ending="stall"))
    command = [sys.executable, "-m", "yohaku", "--model", f"{server.url}/v1#m", "-p", "x", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout and any("first words" in line for line in running.stdout)
        running.send_signal(signal.SIGINT)
        rest, said = running.communicate(timeout=30)
    ended = json.loads(rest.splitlines()[-1])
    assert (ended["type"], ended["why"], ended["text"].strip()) == ("ended", "stopped", "first words")
    assert running.returncode == 130 and "Traceback" not in said


def test_a_session_is_kept_and_resumed(serve: Callable[..., FakeServer], capfd: pytest.CaptureFixture[str]) -> None:
    server = serve(spoken("openai_chat", "The port is 8443."))
    assert run(server, "-p", "remember the port 8443") == 0
    assert run(server, "--resume", "-p", "which port?") == 0
    texts = [entry["content"] for entry in server.asked[-1].body["messages"] if entry["role"] != "system"]
    assert texts == ["remember the port 8443", "The port is 8443.", "which port?"]


VALUES = {
    "bool": "true", "tokens": "9", "tokens_or_none": "9", "natural_tokens": "9", "count": "9", "count_or_none": "9",
    "positive": "9", "share": "0.5", "share_or_none": "0.5", "language": "ja", "seconds": "3", "pairs": "a=b",
}  # fmt: skip
ONE_OF = {
    "compaction.ask": "always",
    "preset": "speed",
    "permissions": "yolo",
    "chat.method": "hybrid",
    "secrets": "show",
    "tier": "small",
}
SWITCHES = {"force", "chat", "debug", "plain"}


def test_every_setting_is_a_flag(capfd: pytest.CaptureFixture[str]) -> None:
    arguments = [
        word
        for key in KEYS.values()
        for word in (
            [key.flag]
            if key.name in SWITCHES
            else [key.flag, ONE_OF.get(key.name) or VALUES.get(key.kind.code, "true")]
        )
    ]
    assert main.main([*arguments, "config"]) == 0
    told = [line.split() for line in capfd.readouterr().out.splitlines()[1:]]
    assert [(row[0], row[-1]) for row in told] == [(key.name, key.flag) for key in KEYS.values()]


def test_config_tells_where_each_value_came_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('model = "qwen3:8b"\ntheme = "nord"\n')
    monkeypatch.setenv("YOHAKU_CONFIG", str(file))
    monkeypatch.setenv("YOHAKU_THEME", "gruvbox")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-hidden-key")
    assert main.main(["--debug", "config"]) == 0
    out = capfd.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert rows["model"] == ["qwen3:8b", f"{file}:", "model"]
    assert rows["theme"] == ["gruvbox", "YOHAKU_THEME"] and rows["debug"] == ["true", "--debug"]
    assert rows["preset"] == ["balanced", "default"] and "sk-hidden" not in out


def test_help_loads_nothing_of_the_agent() -> None:
    code = "import sys; from yohaku.cli import main, parser; parser.parser().format_help(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"textual", "aiohttp", "asyncio", "yohaku.agent.agent", "yohaku.tui.app"} & set(loaded) == set()


def test_a_package_that_is_missing_is_told_with_what_to_install() -> None:
    code = (
        "import sys; sys.modules['textual'] = None; from yohaku.cli import agent, files\n"
        "from yohaku.config import settings\n"
        "try: agent._run_screen(settings.read(), '')\n"
        "except files.InputError as wrong: print(wrong)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'yohaku[agent]'" in told


def test_the_flags_of_the_agent_are_not_taken_for_those_of_a_command() -> None:
    arguments = parser.parser().parse_args(["fit", "a.json", "--window", "8192", "--model", "gpt-4o"])
    assert parser.read_flags(arguments) == {} and (arguments.window, arguments.model) == (8192, "gpt-4o")
