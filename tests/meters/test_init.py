from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from yohaku.core.errors import Unreadable
from yohaku.meters import for_model, from_file
from yohaku.meters.claude import available


def test_importing_the_package_loads_no_vocabulary_and_no_table() -> None:
    seen = "import sys, yohaku.meters; print(any(m.startswith(('splintr', 'ctok', 'tomllib')) for m in sys.modules))"
    said = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_choosing_a_counter_loads_no_vocabulary() -> None:
    seen = "import sys; from yohaku.meters import for_model; for_model('gpt-4o'); print('splintr' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_openai_is_counted_exactly_with_or_without_a_name() -> None:
    meters = [for_model(), for_model("gpt-4o", "openai_chat"), for_model(None, "openai_chat")]
    assert [(meter.name, meter.exact, meter.count("hello world")) for meter in meters] == [("o200k_base", True, 2)] * 3


def test_a_counter_is_made_once_for_a_family() -> None:
    assert for_model("gpt-4o") is for_model("openai/gpt-4.1")
    assert for_model("gpt-4o") is not for_model("gpt-4o-mini")


def test_a_model_nobody_knows_is_estimated_on_the_safe_side() -> None:
    meter = for_model("grok-9")
    assert (meter.name, meter.exact) == ("unknown (estimate)", False)
    text = "The quick brown fox jumps over the lazy dog. 1234567890 あいうえお漢字\n" * 20
    assert meter.count(text) > for_model("gpt-4o").count(text)


def test_a_guess_of_gemini_is_not_exact() -> None:
    assert [for_model(name, "gemini").exact for name in ("gemini-2.5-pro", "tuned-model")] == [True, False]


def test_claude_is_exact_only_with_its_counter_and_a_known_version() -> None:
    assert for_model("claude-sonnet-4-5").exact == available()
    assert for_model("claude-latest").exact is False
    assert for_model("nobody", "anthropic").exact is False


def test_a_file_that_is_not_there_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="No such file"):
        from_file(Path("nowhere.gguf"))
