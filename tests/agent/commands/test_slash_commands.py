"""What is typed with a slash, at a desk of its own: the same for the screen and for lines."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.tui.fake import SERVED, Begins, FakeAgent, begins
from yohaku.agent.commands import slash_commands
from yohaku.agent.commands.slash_commands import COMMANDS, CommandResult, complete
from yohaku.agent.events import UserNotice
from yohaku.agent.protocols import Allowed, WorkingAgent
from yohaku.agent.toolkit.tool import PermissionRequest
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.core.originals import OutputRef
from yohaku.dialects.load import load
from yohaku.dialects.recordings import Recording
from yohaku.session.transcript import Transcript

OTHER = replace(SERVED, name="Ollama", model="qwen3:8b", provider="ollama")


@dataclass
class Desk:
    begin: Begins
    agent: FakeAgent | None
    answers: list[str] = field(default_factory=list)
    lang: str = "en"
    asked: list[tuple[str, ...]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)

    async def question(self, text: str, choices: tuple[str, ...] = (), *, own_words: bool = True) -> str:
        self.asked.append(choices)
        return self.answers.pop(0) if self.answers else ""

    async def allow(self, ask: PermissionRequest) -> Allowed:
        return "no"

    async def secret(self, text: str) -> str:
        return ""

    def progress(self, what: str, done: int, total: int) -> None: ...

    def show_notice(self, notice: UserNotice) -> None:
        self.shown.append(notice.text)

    async def renew(self, *, resume: str = "") -> WorkingAgent | None:
        self.agent = FakeAgent()
        self.begin.asked.append(resume)
        return self.agent


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    agent = FakeAgent(root=tmp_path)
    return Desk(begins(tmp_path / "data", agent), agent)


def run(desk: Desk, typed: str) -> CommandResult:
    return asyncio.run(slash_commands.run_command(desk, typed))


def talked(agent: FakeAgent) -> None:
    use = ToolUse(Call("1", "bash", '{"command": "ls"}'), Result((Text("a.py\n```\nb.py"),)))
    turn = Turn((Text("Never delete a.py.\nList the files."),), (Step((Text("I look."), use)), Step((Text("Two."),))))
    agent.conversation.history = history_of((turn,))


def test_the_name_of_a_command_ends_with_its_line(desk: Desk) -> None:
    assert run(desk, "/hepl\n/window").text == "There is no command /hepl. Did you mean /help? /help lists them."


def test_an_unknown_command_is_told_with_the_nearest(desk: Desk) -> None:
    assert run(desk, "/contxt") == CommandResult(
        "There is no command /contxt. Did you mean /context? /help lists them.", "error"
    )
    assert run(desk, "/zzz").text == "There is no command /zzz. /help lists them."


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("/help", True),
        ("/undo files", True),
        ("/home/me/a.txt: what is in it?", False),
        ("/etc/hosts", False),
        ("", False),
    ],
)
def test_a_path_is_no_command(typed: str, command: bool) -> None:
    assert slash_commands.is_command(typed) is command


def test_a_command_that_needs_something_says_how_it_is_written(desk: Desk) -> None:
    assert run(desk, "/recall") == CommandResult(
        "/recall <ref or words>: this needs what stands in angle brackets", "error"
    )


def test_without_a_model_only_what_needs_none_is_done(desk: Desk) -> None:
    desk.agent = None
    assert run(desk, "/compact").kind == "warning"
    assert "/compact [words]" in run(desk, "/help").text
    assert run(desk, "/quit") == CommandResult(do="quit")


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_help_names_every_command(desk: Desk, lang: str) -> None:
    desk.lang = lang
    text = run(desk, "/help").text
    assert [name for name in COMMANDS if f"/{name}" not in text] == []


def test_compact_passes_the_words_on_and_tells_what_became_of_it(desk: Desk) -> None:
    done = run(desk, "/compact keep the names")
    assert desk.agent and desk.agent.words == ["keep the names"]
    assert desk.agent.session.receipt
    receipt = desk.agent.session.receipt
    assert done.text.startswith(f"{receipt.before:,} → {receipt.after:,} tokens, ")


def test_why_lists_the_folds_and_one_by_its_ref(desk: Desk) -> None:
    assert run(desk, "/why").text == "Nothing has been folded yet."
    run(desk, "/compact")
    assert desk.agent and desk.agent.session.receipt
    fold = desk.agent.session.receipt.folds[0]
    assert f"ref={fold.ref}" in run(desk, "/why").text
    assert run(desk, f"/why ref={fold.ref}").text.count("\n") == 0
    assert run(desk, "/why ref=nowhere").text == "ref=nowhere is not among what is folded now."


def test_context_tells_where_the_tokens_are_and_the_rules(desk: Desk) -> None:
    assert desk.agent
    talked(desk.agent)
    text = run(desk, "/context").text
    assert "3,280 / 8,192 tokens (40%)" in text
    assert "bash: $ ls" in text and "- Never delete a.py." in text
    assert "Next: at 4,915 tokens" in text


def test_undo_and_redo_of_nothing_say_so(desk: Desk) -> None:
    assert desk.agent
    desk.agent.session.fit([{"role": "user", "content": "hello"}])
    assert run(desk, "/undo").text == "There is nothing to take back."
    assert run(desk, "/redo").text == "There is nothing to do again."


def test_pins_are_set_listed_and_taken_off(desk: Desk) -> None:
    assert desk.agent
    desk.agent.session.fit([{"role": "user", "content": "the port is 8443"}])
    assert run(desk, "/pin").text.startswith("Nothing is pinned.")
    assert run(desk, "/pin the port is 8443").text == "Pinned: “the port is 8443”"
    assert run(desk, "/pin").text == "“the port is 8443”"
    assert run(desk, "/unpin the port is 8443").text == "No longer pinned: “the port is 8443”"


def test_a_model_is_chosen_from_what_is_found_or_named(desk: Desk) -> None:
    assert desk.agent
    desk.begin.found = [(SERVED, 8192), (OTHER, 32_768)]
    desk.answers = ["qwen3:8b  (Ollama, 32,768)"]
    assert run(desk, "/model").text == "qwen3:8b on Ollama (openai_chat), window 32,768"
    assert desk.agent.endpoint == OTHER and desk.agent.window == 32_768
    assert run(desk, "/model").text == "Nothing changed."
    assert run(desk, "/model coder").text.startswith("qwen2.5-coder-1.5b on llama.cpp")
    assert run(desk, "/model nobody").text == "Nothing changed."


def test_a_kept_key_is_removed_by_the_name_of_its_provider(desk: Desk) -> None:
    assert run(desk, "/model forget anthropic").text == "The key of anthropic is removed."
    assert run(desk, "/model forget").kind == "error"


@pytest.mark.parametrize(("said", "window"), [("16384", 16_384), ("16k", 16_384), ("4,096", 4096)])
def test_a_window_is_a_number_as_people_write_it(desk: Desk, said: str, window: int) -> None:
    assert run(desk, f"/window {said}").text == f"The window is {window:,} tokens."


def test_a_window_that_is_no_number_changes_nothing(desk: Desk) -> None:
    assert run(desk, "/window much").kind == "error"
    assert run(desk, "/window").text == "The window is 8,192 tokens."


@pytest.mark.parametrize("name", ["", "talk.md", "talk.json", "talk.jsonl"])
def test_a_conversation_is_written_as_the_name_says_and_never_over_a_file(desk: Desk, name: str) -> None:
    assert desk.agent
    assert run(desk, "/export").kind == "warning"
    talked(desk.agent)
    done = run(desk, f"/export {name}")
    path = desk.agent.root / (name or "conversation.md")
    assert done == CommandResult(f"Written to {path}")
    if name.endswith(".json"):
        assert json.loads(path.read_text("utf-8"))["messages"][0]["content"].startswith("Never delete")
    elif name.endswith(".jsonl"):
        loaded = load(path.read_bytes())
        assert isinstance(loaded, Recording) and loaded.history.turns == desk.agent.conversation.history.turns
    else:
        assert "> List the files." in path.read_text("utf-8") and "````\na.py\n```\nb.py\n````" in path.read_text(
            "utf-8"
        )
    assert run(desk, f"/export {name}").kind == "error"


def test_a_session_is_resumed_by_file_or_chosen_from_those_kept(desk: Desk, tmp_path: Path) -> None:
    assert run(desk, "/resume").text.startswith("There is no earlier session of this folder.")
    folder = desk.begin.settings.data / "transcripts"
    folder.mkdir(parents=True)
    for name, root in (("20260101-1", tmp_path), ("20260102-2", tmp_path / "elsewhere")):
        lines = [{"format": "x", "root": str(root)}, {"entry": {"role": "user", "content": "Fix the parser\nplease"}}]
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(each, separators=(",", ":")) for each in lines))
    desk.answers = ["Fix the parser please · just now · 1 messages · 20260101-1"]
    done = run(desk, "/resume")
    assert desk.asked[-1] == ("Fix the parser please · just now · 1 messages · 20260101-1",)
    assert done.do == "redraw" and desk.begin.asked == [str(folder / "20260101-1.jsonl")]
    run(desk, "/resume --all")
    assert len(desk.asked[-1]) == 2 and any(label.endswith(str(tmp_path / "elsewhere")) for label in desk.asked[-1])
    assert run(desk, "/resume 2026").do == "redraw"
    assert run(desk, "/resume nowhere.jsonl") == CommandResult("nowhere.jsonl: no such file", "error")
    assert complete("/resume 20", desk.begin.settings.data, tmp_path) == ["/resume 20260101-1"]


def test_clear_begins_anew(desk: Desk) -> None:
    old = desk.agent
    assert run(desk, "/clear").do == "redraw"
    assert desk.agent is not old


def test_config_tells_every_setting(desk: Desk) -> None:
    text = run(desk, "/config").text
    assert "permissions" in text and "default" in text


def test_recall_opens_by_ref_and_searches_by_words(desk: Desk) -> None:
    assert desk.agent
    store = desk.agent.session.store
    ref = "abcdefgh2345"
    store.put_all([(ref, "first line\nthe port is 8443\n")])
    assert "the port is 8443" in run(desk, f"/recall ref={ref}").text
    assert f"ref={ref}:2: the port is 8443" in run(desk, "/recall port 8443").text
    assert run(desk, "/recall ref=nowhere").kind == "error"


def test_words_are_searched_in_the_sessions_of_this_folder_unless_all_is_asked_for(desk: Desk, tmp_path: Path) -> None:
    assert desk.agent
    refs = {"here": "abcdefgh2345", "elsewhere": "abcdefgh2346"}
    desk.agent.session.store.put_all([(ref, f"the port {name} is 8443\n") for name, ref in refs.items()])
    for name, ref in refs.items():
        root = tmp_path if name == "here" else tmp_path / name
        about = {"root": str(root.resolve())}
        path = desk.begin.settings.data / "transcripts" / f"{name}.jsonl"
        with Transcript(path, "openai_chat", "m", about=about) as written:
            written.record({"messages": [{"role": "user", "content": "Which port?"}]})
            written.record_outputs({"call": OutputRef(ref, 10, 1)})
    assert refs["elsewhere"] not in (found := run(desk, "/recall port 8443").text)
    assert refs["here"] in found and "--all" in found
    assert all(ref in run(desk, "/recall --all port 8443").text for ref in refs.values())


def test_what_a_line_could_become() -> None:
    assert complete("/co") == ["/compact", "/compress", "/context", "/config"]
    assert complete("/why") == ["/why"]
    assert complete("hello /co") == [] and complete("/compact x") == [] and complete("/co\nx") == []
