from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path

import pytest

from tests.agent.benches import ABench
from yohaku import meters
from yohaku.agent.toolkit import output_budget, secrets
from yohaku.agent.toolkit.tool import ToolResult
from yohaku.agent.tools import bash, run_tool, tool_named


def run(root: Path, command: str, **more: int) -> ToolResult:
    return ABench(root).use("bash", command=command, **more)


def alive(pid: int) -> bool:
    """Whether a process still does anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Whether a process is over, or is within five seconds: what was killed takes a moment to die."""
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        os.sched_yield()
    return not alive(pid)


def test_output_and_exit_code_are_told(tmp_path: Path) -> None:
    assert run(tmp_path, "echo hello; echo 日本語 >&2") == ToolResult("hello\n日本語")
    assert run(tmp_path, "echo bad; exit 3") == ToolResult("bad\n[exit 3]", error=True)
    assert run(tmp_path, "true") == ToolResult("(no output)")
    assert run(tmp_path, "kill -9 $$") == ToolResult("[exit 137] (killed by SIGKILL)", error=True)


def test_it_runs_in_the_project_and_cd_is_not_kept(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    bench.use("bash", command="mkdir -p sub && cd sub")
    assert bench.use("bash", command="pwd").text == str(tmp_path.resolve())


def test_nothing_is_run_that_the_user_does_not_allow(tmp_path: Path) -> None:
    bench = ABench(tmp_path, "no")
    assert bench.use("bash", command="touch x").error
    assert list(tmp_path.iterdir()) == []
    assert [ask.detail for ask in bench.asked] == ["touch x"]


@pytest.mark.parametrize(
    "command", ["cat", "read x", "python3 -c 'input()'", "git -c init.defaultBranch=x init -q . && git commit"]
)
def test_no_command_waits_for_a_keyboard(tmp_path: Path, command: str) -> None:
    began = time.monotonic()
    run(tmp_path, command, timeout=30)
    assert time.monotonic() - began < 25


def test_colours_pagers_and_progress_bars_are_not_in_the_output(tmp_path: Path) -> None:
    assert run(tmp_path, r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n'").text == "red\n100%"
    assert run(tmp_path, "echo $TERM $PAGER $GIT_PAGER $NO_COLOR").text == "dumb cat cat 1"


def test_a_command_that_takes_too_long_is_stopped_with_what_it_said(tmp_path: Path) -> None:
    given = run(tmp_path, "echo begun; sleep 100 & sleep 100", timeout=1)
    assert given.error
    assert given.text.startswith("begun\n[stopped after 1 seconds;")


def test_cancelling_kills_the_whole_group(tmp_path: Path) -> None:
    command = "trap '' TERM; (trap '' TERM; echo $BASHPID > inner; sleep 100) & echo $$ > outer; sleep 100"

    async def cancelled() -> None:
        task = asyncio.create_task(run_tool(tool_named("bash"), ABench(tmp_path), {"command": command}))
        while not all(
            (tmp_path / name).is_file() and (tmp_path / name).read_text().strip() for name in ("inner", "outer")
        ):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert all(gone(int((tmp_path / name).read_text())) for name in ("inner", "outer"))


def test_what_stays_in_the_background_does_not_hold_the_call(tmp_path: Path) -> None:
    began = time.monotonic()
    given = run(tmp_path, "sleep 60 & echo $!", timeout=50)
    assert time.monotonic() - began < 30
    pid, note = given.text.split("\n")
    assert note == "[something still runs in the background; its later output is not read]"
    assert alive(int(pid))
    bash.stop_background()
    assert gone(int(pid))


def test_what_was_printed_is_all_there_also_on_a_busy_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is held back for a moment, as it might be the beginning of a key."""
    idle = secrets.StreamRedactor.idle
    monkeypatch.setattr(secrets, "known_secrets", lambda: [("a-key-that-is-long-enough-to-be-one", "key")])
    monkeypatch.setattr(secrets.StreamRedactor, "idle", lambda self: (time.sleep(0.3), idle(self))[1])
    given = run(tmp_path, "sleep 60 & echo all; echo of it", timeout=50)
    bash.stop_background()
    assert given.text.startswith("all\nof it\n[something still runs")


def test_a_background_process_that_prints_much_does_not_block(tmp_path: Path) -> None:
    command = "(sleep 0.3; head -c 1000000 /dev/zero | tr '\\0' 'x'; touch done) & echo started"

    async def both() -> str:
        given = await run_tool(tool_named("bash"), ABench(tmp_path), {"command": command})
        end = time.monotonic() + 10
        while not (tmp_path / "done").exists() and time.monotonic() < end:
            await asyncio.sleep(0.01)
        return given.text

    assert asyncio.run(both()).startswith("started")
    assert (tmp_path / "done").exists()


def test_output_is_shown_while_it_runs(tmp_path: Path) -> None:
    bench = ABench(tmp_path)

    async def watched() -> None:
        task = asyncio.create_task(
            run_tool(tool_named("bash"), bench, {"command": "echo first; while ! [ -e go ]; do :; done"})
        )
        while not bench.shown:
            await asyncio.sleep(0.01)
        assert not task.done()
        (tmp_path / "go").touch()
        await task

    asyncio.run(watched())
    assert "".join(bench.shown) == "first\n"


def test_too_much_output_keeps_both_ends_and_all_of_it_behind_a_ref(tmp_path: Path) -> None:
    bench = ABench(tmp_path)
    given = bench.use("bash", command="seq 1 1000000")
    assert given.cut
    assert len(given.text.encode()) < bash.MAX_OUTPUT_BYTES + 200
    assert given.text.startswith("1\n2\n3\n")
    assert given.text.endswith("\n999999\n1000000")
    ref = given.text.partition("ref=")[2].partition("]")[0]
    opened = bench.use("tool_output_cache", ref_id=ref, offset=500_000, limit=2)
    assert "500000: 500000\n500001: 500001" in opened.text
    found = bench.use("tool_output_cache_grep", ref_id=ref, pattern="^77777.$", limit=2)
    assert "777770: 777770" in found.text


def test_the_room_is_kept_to(tmp_path: Path) -> None:
    meter = meters.for_model("gpt-4o")
    with output_budget.limit_output(400, meter):
        given = ABench(tmp_path).use("bash", command="seq 1 5000; exit 1")
    assert meter.count(given.text) <= 400
    assert given.text.startswith("1\n2\n")
    assert given.text.endswith("\n5000\n[exit 1]")
    assert given.cut


SIZES = (
    "import sys; sys.path[:0] = {path!r}\n"
    """
import resource, pathlib
from tests.agent.benches import ABench
from yohaku.agent.tools import bash
bench = ABench(pathlib.Path({root!r}))
bench.session = None
bench.use("bash", command="head -c 1000000 /dev/zero | tr '\\\\0' 'y'")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
given = bench.use("bash", command="head -c {size} /dev/zero | tr '\\\\0' 'y' | fold -w 99")
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(after - before, len(given.text), sum(map(len, bench.shown)))
"""
)


@pytest.mark.parametrize("size", [5_000_000, 100_000_000])
def test_memory_stays_flat_whatever_is_printed(tmp_path: Path, size: int) -> None:
    code = SIZES.format(path=sys.path, root=str(tmp_path), size=size)
    import subprocess

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    grown, length, _ = map(int, said.split())
    assert grown < 12_000  # KB
    assert length < bash.MAX_OUTPUT_BYTES + 200


def test_secrets_reach_neither_the_screen_nor_the_model_nor_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value-123")
    bench = ABench(tmp_path)
    given = bench.use("bash", command="echo $SOME_API_KEY; seq 1 100000; echo $SOME_API_KEY")
    ref = given.text.partition("ref=")[2].partition("]")[0]
    assert bench.session is not None
    everything = given.text + "".join(bench.shown) + str(bench.session.recall(ref))
    assert "very-secret-value-123" not in everything
    assert everything.count("[SOME_API_KEY hidden]") >= 4


def test_output_in_shift_jis_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("見つかりません。確認してください。\n".encode("cp932"))
    assert run(tmp_path, "cat a.txt").text == "見つかりません。確認してください。"


def test_it_leaves_no_open_pipe_behind(tmp_path: Path) -> None:
    run(tmp_path, "true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        run(tmp_path, "echo x")
    assert len(list(Path("/proc/self/fd").iterdir())) <= before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before


def test_where_commands_cannot_be_stopped_none_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "killpg")  # as on Windows
    done = run(tmp_path, "touch made")
    assert done.error and "inside WSL" in done.text and not (tmp_path / "made").exists()
