"""Requirements that a user meets on the command line: windows by variable, whole turns, weights of images."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from yohaku.cli.main import main


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def write(folder: Path, messages: list[dict[str, Any]]) -> str:
    path = folder / "given.json"
    path.write_text(json.dumps({"model": "gpt-4o", "messages": messages}))
    return str(path)


def chat_of(turns: int) -> list[dict[str, Any]]:
    said = ({"user": f"Question {n}? " * 30, "assistant": f"Answer {n}. " * 60} for n in range(turns))
    return [{"role": role, "content": text} for turn in said for role, text in turn.items()][:-1]


@pytest.mark.parametrize(
    ("variables", "window"),
    [
        ({"CHATGPT_MAX_CONTEXT_LENGTH": "4000", "DEFAULT_MAX_CONTEXT_LENGTH": "9000"}, 4_000),
        ({"DEFAULT_MAX_CONTEXT_LENGTH": "8000"}, 8_000),
        ({"CHATGPT_MAX_CONTEXT_LENGTH": "many", "DEFAULT_MAX_CONTEXT_LENGTH": "8000"}, 8_000),
    ],
)
def test_the_window_comes_from_the_providers_variable_and_a_bad_one_is_said(
    variables: dict[str, str],
    window: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # C1
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    report = tmp_path / "report.json"
    assert (
        main(["fit", write(tmp_path, chat_of(60)), "--report", str(report), "--out", str(tmp_path / "out.json")]) == 0
    )
    assert json.loads(report.read_text())["limit"] == window - window // 8
    assert ("CHATGPT_MAX_CONTEXT_LENGTH" in capfd.readouterr().err) == ("many" in variables.values())


def test_the_chat_recipe_takes_whole_old_turns_away(tmp_path: Path) -> None:  # C3
    given, out = chat_of(40), tmp_path / "out.json"
    assert main(["fit", write(tmp_path, given), "--window", "4000", "--recipe", "chat", "--out", str(out)]) == 0
    shown = json.loads(out.read_text())["messages"]
    kept = len(shown)
    assert kept < len(given) and shown[1:] == given[-kept + 1 :]
    assert shown[0]["role"] == "user" and shown[0]["content"].endswith(given[-kept]["content"])


def test_an_image_weighs_by_its_size_and_not_by_its_base64(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:  # T3
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(300_000)).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}
    content = [{"type": "text", "text": "What is this?"}, image]
    assert main(["count", write(tmp_path, [{"role": "user", "content": content}]), "--model", "gpt-4o"]) == 0
    assert 50 < json.loads(capfd.readouterr().out)["tokens"] < 5_000
