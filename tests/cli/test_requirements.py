"""Requirements that a user meets on the command line: windows by variable, whole turns, weights of images."""

from __future__ import annotations

import base64
import json
import re
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


def fit(folder: Path, messages: list[dict[str, Any]], *flags: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    out, report = folder / "out.json", folder / "report.json"
    assert main(["fit", write(folder, messages), "--out", str(out), "--report", str(report), *flags]) == 0
    return json.loads(report.read_text()), json.loads(out.read_text())["messages"]


SYSTEM = {"role": "system", "content": "Be careful."}


def test_a_snapshot_is_acknowledged_and_the_newest_thirty_percent_stay(tmp_path: Path) -> None:  # S2, S4
    given = [SYSTEM, *chat_of(40)]
    report, shown = fit(tmp_path, given, "--window", "8000", "--recipe", "snapshot")
    assert report["verdict"] == "folded" and shown[0] == SYSTEM
    assert [entry["role"] for entry in shown[1:4]] == ["user", "assistant", "user"]
    kept = shown[3:]
    assert kept == given[-len(kept) :] and "ref=" in shown[1]["content"]
    share = sum(len(entry["content"]) for entry in kept) / sum(len(entry["content"]) for entry in given)
    assert 0.2 < share <= 0.31


@pytest.mark.parametrize(("share", "verdict"), [(0.90, "fits"), (0.98, "folded")])
def test_a_snapshot_is_made_where_the_prompt_takes_95_percent_of_what_remains(
    share: float, verdict: str, tmp_path: Path
) -> None:  # S1
    earlier = chat_of(20)[:-1]
    asked = [*earlier, {"role": "user", "content": "Compare the answers, one by one. " * 300}]
    tokens = [fit(tmp_path, messages, "--window", "100000")[0]["before"] for messages in (earlier, asked)]
    window = int(tokens[0] + (tokens[1] - tokens[0]) / share) + 100
    report, _ = fit(tmp_path, asked, "--window", str(window), "--reserve", "100", "--recipe", "snapshot")
    assert report["verdict"] == verdict


def test_layers_sum_up_in_a_user_message_and_leave_the_system_prompt(tmp_path: Path) -> None:  # P5
    given = [SYSTEM, *chat_of(40)]
    report, shown = fit(tmp_path, given, "--window", "8000", "--recipe", "layers")
    assert report["verdict"] == "folded" and shown[0] == SYSTEM
    assert shown[1]["role"] == "user" and "ref=" in shown[1]["content"] and shown[-1] == given[-1]


def test_layers_show_a_huge_output_by_a_preview(tmp_path: Path) -> None:  # P6
    call = {"id": "a", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    huge = "a line of a long output\n" * 20_000
    given = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": huge},
        {"role": "assistant", "content": "Seen."},
        {"role": "user", "content": "Go on."},
    ]
    report, shown = fit(tmp_path, given, "--window", "200000", "--recipe", "layers")
    assert report["verdict"] == "folded" and [*shown[:2], *shown[3:]] == [*given[:2], *given[3:]]
    assert 1_900 < len(shown[2]["content"]) < 2_300 and "ref=" in shown[2]["content"]
    assert huge[:1_000] in shown[2]["content"]


def work_of(*results: str) -> list[dict[str, Any]]:
    """A prompt, a step with one call for each result, and the next prompt."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
    for number, result in enumerate(results):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
    return [*messages, {"role": "assistant", "content": "Seen."}, {"role": "user", "content": "Go on."}]


def results_in(messages: list[dict[str, Any]]) -> list[str]:
    return [entry["content"] for entry in messages if entry["role"] == "tool"]


def words(count: int, seed: int) -> str:
    return "".join(f"{seed}.{n} value {n * 7919 % 10_007}\n" for n in range(count))


def test_a_chat_is_folded_by_each_of_three_methods(tmp_path: Path) -> None:  # C7
    given = chat_of(40)
    left = {}
    for recipe in ("chat", "chat-summary", "chat-hybrid"):
        report, shown = fit(tmp_path, given, "--window", "4000", "--recipe", recipe)
        assert report["verdict"] == "folded" and report["after"] <= report["limit"] and "ref=" in shown[0]["content"]
        assert shown[-1]["content"].endswith(given[-1]["content"])
        left[recipe] = len(shown)
    assert left["chat-summary"] < left["chat-hybrid"] < left["chat"]


def test_the_cache_cuts_long_lines_and_long_outputs(tmp_path: Path) -> None:  # O2
    given = work_of("head\n" + "x, y" * 750 + "\ntail", "a short line\n" * 6_000, "y" * 2_000)
    _, shown = fit(tmp_path, given, "--window", "400000", "--recipe", "cache")
    line, whole, short = results_in(shown)
    assert line.startswith(f"head\n{'x, y' * 500}…\ntail\n[") and line.endswith("opens the rest]") and "ref=" in line
    assert 46 * 1024 < len(whole.encode()) <= 50 * 1024 and whole.endswith("opens the rest]")
    assert short == "y" * 2_000


def test_all_outputs_together_keep_to_a_quarter_of_the_window_and_the_oldest_are_placeholders(
    tmp_path: Path,
) -> None:  # O3, O4
    given = work_of(*(words(200, seed) for seed in range(12)))
    _, shown = fit(tmp_path, given, "--window", "40000", "--recipe", "cache")
    before, after = results_in(given), results_in(shown)
    gone = sum(one != other for one, other in zip(before, after, strict=True))
    assert 0 < gone < 12 and after[gone:] == before[gone:]
    assert all(re.fullmatch(r"\[tool output trimmed; ref=[a-z2-7]{12}\]", text) for text in after[:gone])
    kept, one_more = (
        fit(tmp_path, [{"role": "user", "content": text}], "--window", "100000")[0]["before"]
        for text in ("".join(before[gone:]), "".join(before[gone - 1 :]))
    )
    assert kept <= 10_000 < one_more


def test_layers_clear_big_results_older_than_the_newest_three(tmp_path: Path) -> None:  # P1
    given = work_of(words(3_000, 0), "short", *(words(1_500, seed) for seed in range(1, 4)))
    report, shown = fit(tmp_path, given, "--window", "200000", "--recipe", "layers")
    before, (oldest, *others) = results_in(given), results_in(shown)
    assert report["verdict"] == "folded" and others == before[1:]
    assert re.fullmatch(r"\[Old tool result content cleared; ref=[a-z2-7]{12}\]", oldest)
    report, shown = fit(tmp_path, work_of(words(500, 0), *before[1:]), "--window", "200000", "--recipe", "layers")
    assert report["verdict"] == "fits", "less than twenty thousand tokens would be saved"


@pytest.mark.parametrize(("tokens", "verdict"), [(165_000, "fits"), (169_000, "folded")])
def test_layers_sum_up_everything_near_the_limit(tokens: int, verdict: str, tmp_path: Path) -> None:  # P2
    """The threshold of a window of 200,000 with replies of 20,000: 200,000 - 20,000 - 13,000."""
    one = fit(tmp_path, [{"role": "user", "content": words(1_000, 1)}], "--window", "200000")[0]["before"] / 1_000
    turns = [
        {"role": role, "content": words(int(tokens / one / 21), n)} for n in range(10) for role in ("user", "assistant")
    ]
    given = [*turns, {"role": "user", "content": words(int(tokens / one / 21), 11)}]
    report, shown = fit(tmp_path, given, "--window", "200000", "--reserve", "20000", "--recipe", "layers")
    assert report["verdict"] == verdict and abs(report["before"] - tokens) < 2_000
    assert (len(shown) < 7) == (verdict == "folded")


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("gemini-1.5-pro", 2_097_152), ("gemini-2.5-pro", 1_048_576), ("gemini-2.5-flash", 1_048_576),
        ("gemini-9-unheard-of", 1_048_576),
    ],
)  # fmt: skip
def test_the_limits_of_gemini_models_are_known_and_of_unknown_ones_assumed(
    model: str, window: int, tmp_path: Path
) -> None:  # S7
    report, _ = fit(tmp_path, chat_of(2), "--model", model, "--reserve", "1000")
    assert report["limit"] == window - 1_000


def test_in_strict_mode_an_unknown_model_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:  # K3
    given = write(tmp_path, chat_of(2))
    assert main(["fit", given, "--model", "nobody-knows-it", "--out", str(tmp_path / "out.json")]) == 0
    capfd.readouterr()
    monkeypatch.setenv("YOHAKU_STRICT", "1")
    assert main(["fit", given, "--model", "nobody-knows-it"]) == 2
    told = capfd.readouterr()
    assert told.err.count("\n") == 1 and "nobody-knows-it" in told.err and not told.out
    assert (
        main(["fit", given, "--model", "nobody-knows-it", "--window", "4000", "--out", str(tmp_path / "o.json")]) == 0
    )


def test_local_folds_old_results_then_history_then_the_newest_by_force_and_last_says_no(tmp_path: Path) -> None:  # L6
    given: list[dict[str, Any]] = [{"role": "system", "content": "Be careful. " * 60}]
    for number in range(6):
        question, *called = work_of(words(150, number))[:3]
        given += [{**question, "content": f"Question {number}: " + "what does it say? " * 30}, *called]
        given.append({"role": "assistant", "content": f"Answer {number}. " * 60})
    del given[-1]  # the newest result waits for its answer
    stages = []
    for window in (16_000, 4_200, 500):
        report, _ = fit(tmp_path, given, "--window", str(window), "--reserve", "100", "--recipe", "local")
        stages.append([(fold["kind"], fold["why"]) for fold in report["folds"]])
        assert report["after"] <= report["limit"]
    assert {*stages[0]} == {("stub", "read_once")}
    assert [kind for kind, _ in stages[1]] == ["gist", "stub"] and stages[1][1][1] == "cut_on_arrival"
    assert stages[2][-1] == ("stub", "over_limit")
    path = write(tmp_path, given)
    assert main(["fit", path, "--window", "300", "--reserve", "100", "--recipe", "local"]) == 3
