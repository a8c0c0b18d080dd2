from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from yohaku.agent.user_shell import MAX_KEPT_BYTES, UserCommand, kept_bytes, user_command_in


def ran(command: str, root: Path, lang: str = "en", window: int = 8_192) -> UserCommand:
    user = UserCommand(command, root, lang, window)
    asyncio.run(user.run())
    return user


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        ("!ls -la", "ls -la"),
        ("! git status ", "git status"),
        ("ls", ""),
        ("!", ""),
        ("!!", ""),
        ("![a picture](x.png)", ""),
        ("!= is wrong here", ""),
        ("!rm these\nfiles are old", ""),
        ("say !ls", ""),
    ],
)
def test_only_one_line_after_an_exclamation_mark_is_a_command(typed: str, command: str) -> None:
    assert user_command_in(typed) == command


def test_output_of_both_streams_and_the_exit_code_are_told_in_the_users_language(tmp_path: Path) -> None:
    done = ran("pwd; echo wrong >&2; exit 4", tmp_path)
    assert done.text == f"{tmp_path}\nwrong\n[exit 4]" and done.code == 4
    assert ran("true", tmp_path, "ja").for_model == "私が自分で実行しました:\n$ true\n(出力なし)"
    assert ran("kill -9 $$", tmp_path).code == 137
    assert ran("pwd", tmp_path / "gone").code == 127


def test_a_long_output_keeps_whole_lines_of_both_ends_within_the_bound(tmp_path: Path) -> None:
    done = ran("seq 1 200000", tmp_path)
    lines = done.text.split("\n")
    assert lines[0] == "1" and lines[-1] == "200000" and len(done.text) <= kept_bytes(8_192) + 40
    cut = next(line for line in lines if "left out" in line)
    numbers = [int(line) for line in lines if line != cut]
    assert numbers == sorted(numbers)
    assert kept_bytes(1_000_000) == MAX_KEPT_BYTES and kept_bytes(2_048) == 2_048


def test_colours_and_secrets_are_taken_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-verysecret-0123456789abcdef")
    done = ran("printf '\\033[31mred\\033[0m\\n'; echo $SHOP_API_KEY", tmp_path)
    assert done.text.startswith("red\n") and "verysecret" not in done.text


def test_something_in_the_background_is_not_waited_for(tmp_path: Path) -> None:
    done = ran("sleep 600 & echo $!", tmp_path)
    os.kill(int(done.text), 9)
    assert done.code == 0


def test_stopping_ends_the_whole_group_and_keeps_what_was_printed(tmp_path: Path) -> None:
    user = UserCommand("sleep 600 & echo $!; wait", tmp_path, "en", 8_192)

    async def stop() -> None:
        printed = asyncio.Event()
        running = asyncio.ensure_future(user.run(lambda text: printed.set()))
        await printed.wait()
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(stop())
    number, end = user.text.split("\n")
    assert end == "[stopped]"
    deadline = time.monotonic() + 30
    while is_running(int(number)):  # a killed process ends when it is next scheduled
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().split()[2] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize(("lang", "told"), [("en", "inside WSL"), ("ja", "WSL の中で")])
def test_where_commands_cannot_be_stopped_none_is_run_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lang: str, told: str
) -> None:
    monkeypatch.delattr(os, "killpg")  # as on Windows
    user = ran("touch made", tmp_path, lang)
    assert told in user.text and user.code == 127 and not (tmp_path / "made").exists()
