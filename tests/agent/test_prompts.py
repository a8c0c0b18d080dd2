from __future__ import annotations

from pathlib import Path

import pytest

from yohaku import meters
from yohaku.agent.prompts import MAX_INSTRUCTION_SHARE, TEXTS, prompt_for
from yohaku.agent.tools import FULL_TIER, SMALL_TIER, tool_named

COUNT = meters.for_model("gpt-4o").count


@pytest.mark.parametrize(("tier", "least", "most"), [("small", 350, 500), ("full", 1_500, 2_000)])
def test_each_tier_is_as_long_as_it_may_be(tmp_path: Path, tier: str, least: int, most: int) -> None:  # L9
    assert least <= COUNT(TEXTS[tier]) <= most
    assert COUNT(prompt_for(tier, tmp_path, 100_000, COUNT).text) <= most + 50  # type: ignore[arg-type]


@pytest.mark.parametrize("tier", TEXTS)
def test_a_prompt_says_what_must_be_said(tier: str) -> None:
    text = TEXTS[tier]
    assert "user's language" in text or "language the user writes in" in text
    assert "ref=…" in text and "go on with what you were doing" in text.replace("\n", " ")


def test_the_full_prompt_speaks_only_of_tools_there_are() -> None:
    spoken = {
        name for name in ("tool_output_cache", "tool_output_cache_grep", "list_dir", "todo") if name in TEXTS["full"]
    }
    assert spoken <= set(FULL_TIER) and all(tool_named(name) for name in spoken)
    assert not any(name in TEXTS["small"] for name in set(FULL_TIER) - set(SMALL_TIER))


def test_the_small_prompt_says_how_a_ref_is_opened() -> None:
    assert "read it with ref=… as path" in TEXTS["small"].replace("\n", " ")
    assert "ref=…" in tool_named("read").brief


def test_what_is_of_this_machine_comes_last_and_the_rest_is_the_same_everywhere(tmp_path: Path) -> None:
    here, there = (prompt_for("full", tmp_path / name, 9_999, COUNT).text for name in ("a", "b"))
    assert here.startswith(TEXTS["full"]) and there.startswith(TEXTS["full"])
    assert str(tmp_path / "a") in here


def test_the_names_in_the_projects_folder_are_told(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", ".secret", "テスト.md"):
        (tmp_path / name).write_text("")
    (tmp_path / "src").mkdir()
    assert "It holds: a.py b.py src/ テスト.md\n" in prompt_for("small", tmp_path, 8_192, COUNT).text
    for number in range(500):
        (tmp_path / f"measurement-of-the-{number}th-run.csv").write_text("")
    told = prompt_for("small", tmp_path, 8_192, COUNT).text.partition("It holds: ")[2]
    assert COUNT(told) <= 160 and told.endswith("…\n")


def test_the_projects_instructions_are_in_it(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("Use tabs.")
    assert "from CLAUDE.md:\nUse tabs." in prompt_for("small", tmp_path, 8_192, COUNT).text
    (tmp_path / "AGENTS.md").write_text("必ず日本語で答えること。", "utf-8")
    prompt = prompt_for("small", tmp_path, 8_192, COUNT)
    assert "必ず日本語で答えること。" in prompt.text and "Use tabs." not in prompt.text and prompt.cut == ""


@pytest.mark.parametrize("text", ["Rule number one: be kind.\n" * 9_000, "規則" * 200_000, "x" * 3_000_000])
def test_long_ones_are_cut_to_a_share_of_the_window_and_said_to_be(tmp_path: Path, text: str) -> None:
    (tmp_path / "AGENTS.md").write_text(text, "utf-8")
    prompt = prompt_for("small", tmp_path, 8_192, COUNT)
    assert prompt.cut == "AGENTS.md"
    assert COUNT(prompt.text) <= COUNT(TEXTS["small"]) + 8_192 * MAX_INSTRUCTION_SHARE + 100
    assert "[AGENTS.md goes on: read it for the rest]" in prompt.text


def test_without_tools_it_is_a_chat(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    prompt = prompt_for("full", tmp_path, 8_192, COUNT, tools=False)
    assert COUNT(prompt.text) < 100 and "tool" not in prompt.text and "tabs" not in prompt.text
