from __future__ import annotations

import pytest
from tests.passes.test_drop_superseded import code, edit, numbered, read, room, use, view

from yohaku.core.budget import Budget
from yohaku.core.engine import AskingPass, PassContext, ReadFile
from yohaku.core.folds import Stub, View, ref_of
from yohaku.core.weigh import Weigher
from yohaku.passes.unchanged import same, unchanged
from yohaku.testing import ByteMeter


def asked(v: View, disk: dict[str, str], goal: int = 0, **settings: float) -> tuple[list[Stub], list[str]]:
    """What is folded, and which files were looked at."""
    weigher = Weigher(ByteMeter())
    room = PassContext(Budget(100_000, 0), weigher, weigher.ledger(v.shown), goal)
    asking = unchanged(**{"keep": 0, "least": 0, **settings})(v, room)  # type: ignore[arg-type]
    assert not isinstance(asking, list)
    looks: list[str] = []
    return _driven(asking, disk, looks), looks


def _driven(asking: AskingPass, disk: dict[str, str], looks: list[str]) -> list[Stub]:
    try:
        effect = next(asking)
        while True:
            assert isinstance(effect, ReadFile)
            looks.append(effect.path)
            effect = asking.send(disk.get(effect.path, ""))
    except StopIteration as done:
        return [fold for fold in done.value if isinstance(fold, Stub)]


TEXT = code(1, 30)


def test_an_old_whole_read_of_a_file_that_is_the_same_now_is_one_line() -> None:
    v = view(read(numbered(TEXT)), edit())
    (stub,), looks = asked(v, {"src/a.py": TEXT})
    ref = ref_of(numbered(TEXT))
    assert stub.text == f"[Read result folded: src/a.py was unchanged on disk: read it again; 30 lines; ref={ref}]"
    assert (stub.why, looks, v.with_([stub]).live) == ("unchanged_on_disk", ["src/a.py"], (stub,))


@pytest.mark.parametrize("shown", [TEXT, numbered(TEXT), numbered(TEXT, mark=": ")], ids=["plain", "→", ":"])
def test_what_is_gone_or_changed_stays(shown: str) -> None:
    v = view(read(shown), edit())
    assert len(asked(v, {"src/a.py": TEXT})[0]) == 1
    for now in ("", "  \n", code(1, 29), code(1, 31), code(2, 30), TEXT.replace("    ", "  ")):
        assert asked(v, {"src/a.py": now})[0] == []


def test_parts_failures_and_what_is_newest_or_folded_are_not_looked_at() -> None:
    part = read(numbered(TEXT), offset=1, limit=30)
    failed = use("Read", "Error: " + TEXT, error=True, file_path="src/a.py")
    assert asked(view(part, failed), {"src/a.py": TEXT}) == ([], [])
    v = view(read(TEXT))
    assert len(asked(v, {"src/a.py": TEXT})[0]) == 1
    newest = View(type(v.history)(turns=(type(v.history.turns[0])(v.history.turns[0].prompt, v.history.steps[:1]),)))
    assert asked(newest, {"src/a.py": TEXT}) == ([], [])
    assert asked(v.with_(asked(v, {"src/a.py": TEXT})[0]), {"src/a.py": TEXT}) == ([], [])


def test_the_biggest_go_first_until_the_goal_is_met_and_looks_are_few() -> None:
    files = {f"f{n}.py": code(1, 10 * n, f"v{n}") for n in range(1, 6)}
    v = view(*(use("read", text, path=path) for path, text in files.items()))
    assert asked(v, files)[1] == ["f5.py", "f4.py", "f3.py", "f2.py", "f1.py"]
    assert asked(v, files, most=2)[1] == ["f5.py", "f4.py"]
    assert asked(v, files, goal=room(v).ledger.total - 10)[1] == ["f5.py"]
    assert asked(v, files, goal=room(v).ledger.total)[1] == []


def test_the_newest_reads_are_kept_up_to_their_share_of_the_goal() -> None:
    files = {f"f{n}.py": code(1, 30, f"v{n}") for n in range(4)}
    v = view(*(use("read", text, path=path) for path, text in files.items()))
    each = len(files["f0.py"])
    assert sorted(asked(v, files, goal=each * 2, keep=1)[1]) == ["f0.py", "f1.py"]


def test_one_look_serves_all_reads_of_a_file() -> None:
    stubs, looks = asked(view(read(TEXT), read(numbered(TEXT))), {"src/a.py": TEXT})
    assert (len(stubs), looks) == (2, ["src/a.py"])


def test_nothing_is_done_for_too_little() -> None:
    assert asked(view(read(TEXT)), {"src/a.py": TEXT}, least=0.02)[0] == []


def test_a_tool_may_put_a_few_lines_around_a_file_but_leave_none_out() -> None:
    assert same(f"exit code 0\nOutput:\n{TEXT}[end of file]", TEXT)
    assert same(f"<output>\n{TEXT}</output>", TEXT)
    assert same("\n".join(f"{n:05}| {line}" for n, line in enumerate(TEXT.splitlines(), 1)), TEXT)
    assert not same("a\nb\nc\nd\ne\n" + TEXT, TEXT)
    assert not same(TEXT, TEXT + "more = 1\n")
