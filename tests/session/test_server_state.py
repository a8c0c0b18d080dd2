"""A body whose earlier turns the provider holds is left alone and this is said, wherever a user meets it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from yohaku import DoesNotFit, Session, messages
from yohaku.cli.main import main
from yohaku.core.errors import Unreadable
from yohaku.dialects import DIALECTS
from yohaku.dialects.detect import detect
from yohaku.stores.memory import MemoryStore

WINDOW = 4_000
LOG = "".join(f"line {number}: all is well with the server\n" for number in range(150))


def responses(steps: int, **beside: object) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"role": "user", "content": "Read the logs."}]
    for number in range(steps):
        call = {"type": "function_call", "call_id": f"c{number}", "name": "bash", "arguments": '{"command": "cat log"}'}
        items += [call, {"type": "function_call_output", "call_id": f"c{number}", "output": f"{number} {LOG}"}]
    return {"model": "gpt-4o", "input": items, **beside}


def gemini(steps: int, **beside: object) -> dict[str, Any]:
    contents: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Read the logs."}]}]
    for number in range(steps):
        call, response = {"name": "bash", "args": {"command": "cat log"}}, {"output": f"{number} {LOG}"}
        contents.append({"role": "model", "parts": [{"functionCall": call}]})
        contents.append({"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": response}}]})
    return {"contents": contents, **beside}


HELD = {
    "a response": (responses, "previous_response_id", "resp_1"),
    "a conversation": (responses, "conversation", "conv_1"),
    "a conversation by its object": (responses, "conversation", {"id": "conv_1"}),
    "a cache": (gemini, "cachedContent", "cachedContents/a"),
    "a cache in snake case": (gemini, "cached_content", "cachedContents/a"),
}


@pytest.fixture(params=HELD.values(), ids=HELD)
def held(request: pytest.FixtureRequest) -> tuple[Any, str, object]:
    found: tuple[Any, str, object] = request.param
    return found


@pytest.mark.parametrize("recipe", ["auto", "local", "cache", "layers", "snapshot", "chat"])
def test_it_is_not_folded_and_this_is_said(held: tuple[Any, str, object], recipe: str) -> None:
    build, field, value = held
    body = build(12, **{field: value})
    session = Session(WINDOW, model="gpt-4o", recipe=recipe)
    assert session.fit(body) is body
    receipt = session.receipt
    assert receipt and receipt.folds == () and receipt.before == receipt.after > receipt.limit
    assert (receipt.verdict.name, receipt.report()["verdict"]) == ("refused", "refused")
    assert receipt.report()["left_alone"] == {"why": "server_state", "field": field, "over_limit": True}
    (notice,) = [each for each in session.warnings if each.code.startswith("server_state")]
    ja = messages.notice(notice.code, notice.text, notice.facts, "ja")
    for number in (receipt.after, receipt.limit):
        assert f"{number:,}" in notice.text and f"{number:,}" in ja
    assert field in notice.text and field in ja and "may refuse" in notice.text
    session.fit(build(13, **{field: value}))
    assert [each.code for each in session.warnings].count("server_state_over") == 1


def test_below_the_limit_nothing_is_said_of_a_refusal(held: tuple[Any, str, object]) -> None:
    build, field, value = held
    session = Session(1_000_000, model="gpt-4o")
    session.fit(build(12, **{field: value}), fold=True)
    (notice,) = [each for each in session.warnings if each.code.startswith("server_state")]
    assert notice.code == "server_state" and "may refuse" not in notice.text
    assert session.receipt and session.receipt.report()["left_alone"]["over_limit"] is False


def test_each_kind_of_leaving_alone_is_told_once() -> None:
    session = Session(WINDOW, model="gpt-4o")
    for steps in (2, 12, 2, 12):
        session.fit(responses(steps, previous_response_id="resp_1"), fold=True)
    told = [each.code for each in session.warnings if each.code.startswith("server_state")]
    assert told == ["server_state", "server_state_over"]


def test_without_the_field_the_same_body_is_folded(held: tuple[Any, str, object]) -> None:
    build, field, _ = held
    for beside in ({}, {field: None}, {field: ""}):
        session = Session(WINDOW, model="gpt-4o")
        body = build(12, **beside)
        assert session.fit(body) != body and session.receipt and session.receipt.folds
        assert session.receipt.report()["verdict"] == "folded" and "left_alone" not in session.receipt.report()


def test_it_is_the_same_for_async_programs_and_when_folding_is_wanted_now() -> None:
    body = responses(12, previous_response_id="resp_1")
    session = Session(1_000_000, model="gpt-4o")
    assert asyncio.run(session.afit(body, fold=True)) is body
    assert session.receipt and session.receipt.verdict.name == "refused"


def test_what_fits_is_not_spoken_of(held: tuple[Any, str, object]) -> None:
    build, field, value = held
    session = Session(100_000, model="gpt-4o")
    body = build(3, **{field: value})
    assert session.fit(body) is body
    assert session.receipt and session.receipt.report()["verdict"] == "fits" and session.warnings == ()


def test_what_could_not_fit_even_folded_is_still_refused() -> None:
    body = {"input": "words " * 10_000, "previous_response_id": "resp_1"}
    with pytest.raises(DoesNotFit):
        Session(WINDOW, model="gpt-4o", recipe="chat").fit(body)


def test_folds_that_a_store_remembers_are_not_shown_in_it() -> None:
    store = MemoryStore()
    Session(WINDOW, model="gpt-4o", store=store).fit(responses(12), fold=True)
    body = responses(12, previous_response_id="resp_1")
    for window in (WINDOW, 1_000_000):
        session = Session(window, model="gpt-4o", store=store)
        assert session.fit(body) is body
        assert session.receipt and session.receipt.verdict.name == "refused"


def test_a_conversation_goes_on_with_or_without_the_field() -> None:
    """Also where a client falls back to the whole history in the same session."""
    session = Session(WINDOW, model="gpt-4o")
    assert session.fit(responses(2, previous_response_id="resp_1"))["input"] == responses(2)["input"]
    folded = session.fit(responses(12))
    assert session.receipt and session.receipt.folds and folded != responses(12)
    body = responses(13, previous_response_id="resp_1")
    assert session.fit(body) is body
    assert session.fit(responses(13))["input"] != body["input"]
    assert session.receipt.folds


def test_what_the_provider_bills_for_earlier_turns_teaches_nothing() -> None:
    session = Session(100_000, model="gpt-4o")
    session.fit(responses(1, previous_response_id="resp_1"))
    session.learn({"input_tokens": 90_000, "output_tokens": 10})
    assert session.scale.neutral


def test_a_result_whose_call_lies_on_the_server_may_come_alone() -> None:
    body = {
        "input": [{"type": "function_call_output", "call_id": "c", "output": LOG * 20}],
        "previous_response_id": "resp_1",
    }
    session = Session(WINDOW, model="gpt-4o")
    assert session.fit(body) is body
    assert session.receipt and session.receipt.verdict.name == "refused"


def test_the_state_of_a_generation_in_ollama_is_no_conversation_of_ours() -> None:
    with pytest.raises(Unreadable):
        detect({"model": "m", "prompt": "go on", "context": [1, 2, 3]})


@pytest.mark.parametrize("name", DIALECTS)
def test_a_list_of_entries_holds_no_state(name: str) -> None:
    assert DIALECTS[name].state_in([{"role": "user"}]) == DIALECTS[name].state_in({}) == ""


# On the command line


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    path = tmp_path / "given.json"
    path.write_text(json.dumps(responses(12, previous_response_id="resp_1")), encoding="utf-8")
    return path


def test_fit_writes_the_bytes_that_came_and_says_so(given: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out, report = given.with_name("out.json"), given.with_name("report.json")
    arguments = ["fit", str(given), "--window", str(WINDOW), "--out", str(out), "--report", str(report)]
    assert main(arguments) == 0
    told = capfd.readouterr().err
    assert "previous_response_id" in told and "left as it is" in told and len(told.splitlines()) == 2
    assert "may refuse" in told
    assert out.read_bytes() == given.read_bytes()
    assert json.loads(report.read_text())["left_alone"]["field"] == "previous_response_id"


def test_show_says_it_too(given: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(given), "--window", str(WINDOW)]) == 0
    assert "previous_response_id" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["fit", "show"])
def test_it_is_not_written_in_a_format_that_would_lose_it(
    command: str, given: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([command, str(given), "--window", str(WINDOW), "--dialect", "openai_chat"]) == 2
    told = capfd.readouterr()
    assert "previous_response_id" in told.err and told.err.count("\n") == 1 and not told.out
