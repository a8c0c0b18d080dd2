"""A meter added to this package as CONTRIBUTING.md says is used: one file, and its models in `families.toml`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import yohaku

METER = """
from __future__ import annotations

from dataclasses import dataclass

from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.families import MeterFamily


@dataclass(frozen=True, slots=True)
class Letters:
    frame: Overhead
    name: str = "letters"
    exact: bool = True

    def count(self, text: str) -> int:
        return len(text)

    def weigh(self, part: Opaque) -> int:
        return 100


def build(argument: str, family: MeterFamily) -> Letters | None:
    return Letters(family.frame, exact=family.sure) if argument == "here" else None
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with one more meter."""
    source = Path(yohaku.__file__).parent
    shutil.copytree(source, tmp_path / "yohaku", ignore=shutil.ignore_patterns("__pycache__"))
    meters = tmp_path / "yohaku" / "meters"
    (meters / "letters.py").write_text(METER, encoding="utf-8")
    table = (meters / "families.toml").read_text(encoding="utf-8")
    table = table.replace("model = [\n", "model = [\n  { like = '^acme', family = 'acme' },\n", 1)
    table = table.replace("[provider]", "[provider]\nzenith = 'acme'", 1)
    acme = "acme = { letters = 'here' }\nabsent = { letters = 'elsewhere', estimate = 'any' }\n"
    table = table.replace("[family]\n", f"[family]\n{acme}", 1)
    (meters / "families.toml").write_text(table, encoding="utf-8")
    return tmp_path


def count(package: Path, model: str) -> dict[str, object]:
    run = subprocess.run(
        [sys.executable, "-m", "yohaku", "count", "--text", "--model", model],
        input="hello",
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(package)},
    )
    return dict(json.loads(run.stdout))


@pytest.mark.parametrize("model", ["acme-large-2", "zenith/anything"])
def test_it_counts_for_its_models_and_for_its_provider(package: Path, model: str) -> None:
    assert count(package, model) == {"tokens": 5, "exact": model.startswith("acme"), "meter": "letters"}


def test_a_meter_that_cannot_count_leaves_it_to_the_next(package: Path) -> None:
    table = package / "yohaku" / "meters" / "families.toml"
    text = table.read_text(encoding="utf-8").replace("family = 'acme' }", "family = 'absent' }", 1)
    table.write_text(text, encoding="utf-8")
    assert count(package, "acme-large-2")["meter"] == "absent (estimate)"
