"""A store of an older version, whose folds do not say what they were made for: it is used, or refused in one line."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.test_main import session_of

from yohaku.cli.main import main
from yohaku.core.originals import ref_of
from yohaku.stores.sqlite import SQLiteStore

pytestmark = pytest.mark.usefixtures("project")


class Fit(NamedTuple):
    said: str
    report: dict[str, Any]
    body: str


@pytest.fixture
def fit(project: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    (project / "in.json").write_text(json.dumps(session_of(40)))

    def run(window: int, *flags: str) -> Fit:
        files = ["--out", "out.json", "--report", "report.json", "--store", url(project)]
        assert main(["fit", "in.json", "--window", str(window), *files, *flags]) == 0
        report = json.loads((project / "report.json").read_text())
        return Fit(capfd.readouterr().err, report, (project / "out.json").read_text())

    return run


def url(project: Path) -> str:
    return f"sqlite:///{project}/store.db"


def make_old(project: Path, *, recorded: bool = True) -> None:
    """Rewrite the store as version 2 had it: one fold a place, without what it was made for, and without checksums."""
    store = SQLiteStore(project / "store.db")
    ids: dict[str, str] = {}
    rows = [(name, json.loads(row)) for name in store.conversations() for row in store.recorded(name)]
    for _, row in rows:
        folding = json.loads(store.get(row["id"]))
        text = json.dumps({**folding, "folds": [_without_maker(fold) for fold in folding["folds"]]})
        ids[row["id"]] = ref_of(text)
        store.put(ref_of(text), text.encode())
    store.close()
    db = sqlite3.connect(project / "store.db")
    for number, slot, fold in db.execute("SELECT id, slot, fold FROM folds").fetchall():
        old = json.dumps(_without_maker(json.loads(fold)))
        db.execute("UPDATE folds SET slot = ?, fold = ? WHERE id = ?", (slot.partition("@")[0], old, number))
    db.execute("DELETE FROM records")
    for name, row in rows if recorded else ():
        row = {**row, "id": ids[row["id"]], "folds": [_without_maker(fold) for fold in row["folds"]]}
        values = ("", name, json.dumps(json.dumps(row)))
        db.execute("INSERT INTO records (tenant, conversation, row) VALUES (?, ?, ?)", values)
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()


def _without_maker(fold: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fold.items() if name not in ("made_for", "sum", "start")}


def test_folds_without_a_maker_serve_windows_like_that_of_their_record(fit: Any, project: Path) -> None:  # A1
    first = fit(4_096)
    make_old(project)
    for flags in ((), ("--recipe", "chat")):
        again = fit(4_300, *flags)
        assert again.said.startswith("yohaku: folded earlier, used again: "), (
            "any recipe: it is not known which made them"
        )
        assert again.body == first.body


def test_they_are_not_used_where_the_conversation_fits_or_the_window_is_another(fit: Any, project: Path) -> None:  # A1
    fit(4_096)
    make_old(project)
    large = fit(128_000)
    assert large.report["folds"] == [] and large.said.startswith("yohaku: fits: ")
    assert json.loads(large.body) == session_of(40)
    other = fit(16_384)
    assert other.report["verdict"] == "folded" and "reused" not in other.report


def test_folds_of_which_nothing_is_recorded_are_left_alone(fit: Any, project: Path) -> None:
    first = fit(4_096)
    make_old(project, recorded=False)
    again = fit(4_096)
    assert again.report["verdict"] == "folded" and "reused" not in again.report and again.body == first.body


def test_what_an_old_store_holds_is_opened_undone_and_redone(
    fit: Any, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first = fit(4_096)
    make_old(project)
    store = ["--store", url(project)]
    for fold in first.report["folds"]:
        assert main(["recall", fold["ref"], *store]) == main(["why", fold["ref"], *store]) == 0
    assert main(["receipts", *store]) == main(["undo", *store]) == 0
    assert "undone in session" in capfd.readouterr().out
    assert main(["redo", *store]) == 0
    assert "used again" in fit(4_096).said.replace(first.said, "")


def test_a_store_of_a_later_version_is_refused_in_one_line(
    fit: Any, project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fit(4_096)
    db = sqlite3.connect(project / "store.db")
    db.execute("PRAGMA user_version = 99")
    db.close()
    assert main(["receipts", "--store", url(project)]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "a newer yohaku wrote it" in error
