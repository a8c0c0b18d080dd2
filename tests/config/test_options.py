"""Every setting of the documents, by its documented name, where a user sets it: file, variable, flag, Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import yohaku
from yohaku.config.keys import KEYS, find_key
from yohaku.config.settings import Settings, from_mapping, list_settings, read, value_of
from yohaku.core.errors import BadSetting
from yohaku.passes import clear_old_results
from yohaku.recipes.auto import BUILDERS, RECIPES
from yohaku.recipes.options import DEFAULT_OPTIONS
from yohaku.session.session import Session
from yohaku.testing import ByteMeter

DOCUMENTED: dict[str, tuple[str, Any, Any]] = {
    "toolOutputCache.enabled": ("cache.enabled", False, False),
    "contextBudgetTokens": ("cache.context_budget_tokens", 30_000, 30_000),
    "maxMessageBytes": ("cache.max_message_bytes", 9_000, 9_000),
    "maxLineLength": ("cache.max_line_length", 300, 300),
    "compaction.enabled": ("compaction.enabled", False, False),
    "compaction.auto": ("compaction.auto", False, False),
    "thresholdRatio": ("compaction.threshold_ratio", 0.7, 0.7),
    "compaction.model": ("compaction.model", "gpt-5-nano", "gpt-5-nano"),
    "summaryPrompt": ("compaction.summary_prompt", "Sum up.", "Sum up."),
    "summaryDirectives": ("compaction.summary_directives", ["Name files.", "数字も"], ("Name files.", "数字も")),
    "retainPrompt": ("compaction.retain_prompt", "Keep refs.", "Keep refs."),
    "retainDirectives": ("compaction.retain_directives", ["Refs."], ("Refs.",)),
    "retainLastTurns": ("compaction.retain_last_turns", 3, 3),
    "model.compressionThreshold": ("snapshot.threshold", 0.4, 0.4),
    "COMPRESSION_PRESERVE_THRESHOLD": ("snapshot.keep_share", 0.2, 0.2),
    "KEEP_RECENT": ("layers.keep_recent", 5, 5),
    "MIN_SAVINGS": ("layers.min_savings", 9_000, 9_000),
    "COMPACTABLE_TOOLS": ("layers.tools", ["bash", "read"], ("bash", "read")),
    "MAX_RESTORE_FILES": ("layers.restore_files", 2, 2),
    "MAX_RESTORE_TOKENS_PER_FILE": ("layers.restore_tokens_per_file", 700, 700),
    "MAX_RESTORE_TOKENS_TOTAL": ("layers.restore_tokens_total", 900, 900),
    "contextWindow": ("window", 16_384, 16_384),
    "max_output": ("reserve", 512, 512),
}
"""Names in the five documents: our name, a value as it is written, and as it is read. O7, K1, K10, S9."""


def write_config(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", DOCUMENTED)
def test_the_documents_own_name_is_taken_in_the_file_as_a_variable_as_a_flag_and_in_python(
    name: str, tmp_path: Path
) -> None:
    ours, written, read_as = DOCUMENTED[name]
    text = json.dumps(written, ensure_ascii=False)
    *table, last = name.split(".")
    file = write_config(tmp_path, (f"[{table[0]}]\n" if table else "") + f"{last} = {text}\n")
    home = {"HOME": str(tmp_path), "YOHAKU_LANG": "en"}
    from_file = read(home, file)
    assert (value_of(from_file, ours), from_file.warnings) == (read_as, ())
    assert from_file.origin[ours] == f"{file}: {name}"
    key = KEYS[ours]
    assert value_of(from_mapping({name: written}), ours) == read_as
    spoken = text if isinstance(written, list | bool) else str(written)
    assert value_of(read({**home, key.variable: spoken}), ours) == read_as
    shown = run("config", key.flag, spoken).stdout
    assert next(line for line in shown.splitlines() if line.split()[0] == ours).endswith(key.flag)
    assert find_key(name) == ours


def test_every_option_has_a_name_a_default_and_a_place_in_yohaku_config() -> None:
    shown = {name for name, _, _ in list_settings(Settings())}
    assert shown == set(KEYS)
    assert all(BUILDERS[name](DEFAULT_OPTIONS).name == recipe.name for name, recipe in RECIPES.items())
    assert DEFAULT_OPTIONS.layers.tools == clear_old_results.TOOLS


def test_a_key_that_is_not_there_is_said_with_the_one_that_was_meant(tmp_path: Path) -> None:
    file = write_config(tmp_path, "[compaction]\nthresholdRato = 0.7\nauto = 'sometimes'\n")
    told = [notice.text for notice in read({"HOME": "/"}, file).warnings]
    assert told[0] == f"{file}: compaction.thresholdRato is no setting; did you mean compaction.threshold_ratio?"
    assert told[1].startswith(f"{file}: compaction.auto is 'sometimes', which is not true or false")
    said = run("config", YOHAKU_CONFIG=str(file), YOHAKU_LANG="ja").stderr
    assert "compaction.threshold_ratio のことですか" in said and "true か falseを指定してください" in said


# What they do, on the command line. One token of the request is about four bytes.


def run(*arguments: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "yohaku", *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("YOHAKU_")}
    return subprocess.run(
        program, input=stdin, capture_output=True, text=True, env={**kept, "YOHAKU_STORE": "memory:", **environ}
    )


def fit(*arguments: str, body: Any, **environ: str) -> tuple[dict[str, Any], Any]:
    """The report of `yohaku fit` at 8,192 tokens, and the request it gives."""
    report = Path(environ.pop("folder")) / "report.json"
    given = json.dumps({"model": "gpt-4o", "messages": body})
    done = run(
        "fit", "-", "--window", "8192", "--reserve", "0", "--report", str(report), *arguments, stdin=given, **environ
    )
    assert done.returncode == 0, done.stderr
    return json.loads(report.read_text()), json.loads(done.stdout)


def chat_of(turns: int, words: int = 150) -> list[dict[str, Any]]:
    roles = ("user", "assistant") * turns
    said = [{"role": role, "content": f"Turn {n // 2}. " + f"word{n} " * words} for n, role in enumerate(roles)]
    return [*said, {"role": "user", "content": "And on?"}]


def with_output(lines: list[str], number: int = 1) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    return [
        {"role": "user", "content": f"List it, {number}."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": "\n".join(lines)},
        {"role": "assistant", "content": "Done."},
    ]


def test_auto_folds_at_the_ratio_that_was_set(tmp_path: Path) -> None:  # K1, K4
    body = chat_of(8, 150)
    usual, _ = fit(body=body, folder=str(tmp_path))
    assert usual["verdict"] == "fits" and 0.5 * 8192 < usual["before"] < 0.9 * 8192
    for arguments, environ in (
        (["--threshold-ratio", "50%"], {}),
        ([], {"YOHAKU_COMPACTION_THRESHOLD_RATIO": "0.5"}),
        ([], {"YOHAKU_CONFIG": str(write_config(tmp_path, "[compaction]\nthresholdRatio = 0.5\n"))}),
    ):
        report, out = fit(*arguments, body=body, folder=str(tmp_path), **environ)
        assert report["verdict"] == "folded" and report["after"] < 0.4 * 8192
        assert len(out["messages"]) < len(body)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_ratio_holds_for_every_recipe_that_sums_up(recipe: str, tmp_path: Path) -> None:  # K1
    body = chat_of(8, 150)
    report, _ = fit("--recipe", recipe, "--compaction-threshold-ratio", "0.5", body=body, folder=str(tmp_path))
    assert report["verdict"] == ("fits" if recipe == "chat" else "folded")


def test_without_auto_only_the_user_folds_until_nothing_fits(tmp_path: Path) -> None:  # K4
    body = chat_of(8, 150)
    off = ["--compaction-auto", "false", "--threshold-ratio", "0.5"]
    assert fit(*off, body=body, folder=str(tmp_path))[0]["verdict"] == "fits"
    assert fit(*off, "--fold", body=body, folder=str(tmp_path))[0]["verdict"] == "folded"


@pytest.mark.parametrize("recipe", ["auto", "cache"])
def test_cache_and_compaction_are_switched_on_and_off_separately(recipe: str, tmp_path: Path) -> None:  # K10
    body = [*with_output(["x" * 5_000]), *chat_of(8, 150)]
    ratio = ["--recipe", recipe, "--threshold-ratio", "0.5"]

    def shown(*arguments: str) -> tuple[bool, bool]:
        report, out = fit(*ratio, *arguments, body=body, folder=str(tmp_path))
        kinds = {fold["kind"] for fold in report["folds"]}
        text = json.dumps(out)
        return "x" * 5_000 not in text and "gist" not in kinds, "gist" in kinds

    assert shown("--cache-enabled", "true", "--compaction-enabled", "false") == (True, False)
    assert shown("--cache-enabled", "false", "--compaction-enabled", "true")[1]
    assert shown("--cache-enabled", "false", "--compaction-enabled", "false") == (False, False)


def test_a_limit_for_tool_output_holds_in_auto_once_it_is_set(tmp_path: Path) -> None:  # O7
    body = [*with_output(["y" * 3_000, "short"]), {"role": "user", "content": "And?"}]
    assert fit(body=body, folder=str(tmp_path))[1]["messages"] == body
    for arguments in (["--max-line-length", "100"], ["--cache-max-message-bytes", "500"]):
        report, out = fit(*arguments, body=body, folder=str(tmp_path))
        assert "y" * 600 not in json.dumps(out) and "ref=" in json.dumps(out)
        assert yohaku.Session(8_192, settings={"maxLineLength": 100}).recipe.rungs[0].quiet and report["folds"]


def test_the_budget_of_tool_outputs_holds_in_auto_once_it_is_set(tmp_path: Path) -> None:  # O7
    body = [entry for n in range(1, 5) for entry in with_output([f"row {n} " * 100] * 3, n)]
    body.append({"role": "user", "content": "And?"})
    report, out = fit("--context-budget-tokens", "1900", body=body, folder=str(tmp_path))
    outputs = [entry["content"] for entry in out["messages"] if entry["role"] == "tool"]
    assert [output.startswith("row") for output in outputs] == [False, False, True, True]
    assert report["verdict"] == "folded"


def test_the_newest_turns_that_were_asked_for_stay_whole_in_auto(tmp_path: Path) -> None:  # K1
    body = chat_of(12, 200)
    few, _ = fit(body=body, folder=str(tmp_path))
    kept = fit("--retain-last-turns", "5", body=body, folder=str(tmp_path))[1]["messages"]
    assert kept[-8:] == body[-8:] and kept[-9]["content"].endswith(body[-9]["content"]) and few["verdict"] == "folded"


def test_the_settings_reach_a_recipe_of_ones_own_and_its_options_beat_them(tmp_path: Path) -> None:
    file = write_config(
        tmp_path,
        'recipe = "mine"\n[compaction]\nthresholdRatio = 0.5\nauto = true\n'
        '[recipes.mine]\nlike = "auto"\noptions = { compaction = { auto = false } }\n'
        '[recipes.other]\nlike = "chat"\noptions = { method = "hybrid", keep_share = 0.3 }\n',
    )
    config = {"YOHAKU_CONFIG": str(file), "folder": str(tmp_path)}
    body = chat_of(8, 150)
    assert fit(body=body, **config)[0]["verdict"] == "fits"
    assert fit("--recipe", "other", body=body, **config)[0]["verdict"] == "folded"


def test_a_session_takes_settings_by_name_and_refuses_a_wrong_one() -> None:
    asked: list[yohaku.Question] = []

    def model(question: yohaku.Question) -> str:
        asked.append(question)
        return "<summary>The user counts words.</summary>"

    given: dict[str, object] = {"summaryDirectives": ["Name every file."], "compaction.model": "cheap"}
    session = Session(20_000, 0, "auto", meter=ByteMeter(), summarise=model, settings=given)
    session.fit(chat_of(6, 100), fold=True)
    assert asked[0].model == "cheap" and "- Name every file." in asked[0].text
    with pytest.raises(BadSetting, match=r"thresholdRato is no setting; did you mean compaction.threshold_ratio"):
        Session(20_000, settings={"thresholdRato": 0.7})
    with pytest.raises(BadSetting, match="thresholdRatio is '7', which is not a share"):
        Session(20_000, settings={"thresholdRatio": 7})


def test_a_wrong_flag_is_one_line_and_changes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = run("fit", "-", "--window", "8192", "--threshold-ratio", "8", "--out", str(out), stdin="{}")
    assert (done.returncode, out.exists()) == (2, False)
    assert done.stderr.startswith("yohaku: --compaction-threshold-ratio is '8', which is not a share")
