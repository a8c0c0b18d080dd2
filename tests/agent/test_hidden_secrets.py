"""A secret in what a tool gives is seen by nobody: not in what is sent, the transcript, the store or on the screen."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.agent.benches import ABench
from tests.agent.scripted import HERE, ScriptedClient, calls, ended, play, says
from yohaku.agent.agent import Agent
from yohaku.agent.events import Event
from yohaku.agent.toolkit import secrets
from yohaku.agent.toolkit.permissions import Permissions
from yohaku.agent.tools import tool_named
from yohaku.config.settings import Settings

VALUES = {
    "DATABASE_URL": "postgres://app:hunter2hunter2@db.internal/app",
    "REDIS_URL": "redis://cache.internal:6379/0",
    "GITHUB_PAT": "0123456789abcdef0123456789abcdef01234567",
    "STRIPE_SK": "fedcba9876543210",
    "SENTRY_DSN": "https://0123abcd@sentry.internal/7",
    "SLACK_WEBHOOK": "https://chat.internal/hooks/abcdefgh",
}
FORMS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "sk-proj-0123456789abcdefABCDEF0123456789",
    "sk-ant-api03-0123456789abcdefABCDEF0123456789",
    "xoxb-123456789012-abcdefghijABCDEFGHIJ0123",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "sk_live_0123456789abcdefABCDEF01",
    "AIza0123456789abcdefghijABCDEFGHIJ01234",
]
KEY_LINE = "MIIEpAIBAAKCAQEA0123456789abcdefghijABCDEFGHIJ"
FILE = "\n".join([*FORMS, "mysql://me:hunter3hunter3@db/x", "-----BEGIN RSA PRIVATE KEY-----", *[KEY_LINE] * 9,
                  "-----END RSA PRIVATE KEY-----", "the last line"])  # fmt: skip
HIDDEN = [*VALUES.values(), *FORMS, "hunter3hunter3", KEY_LINE]


def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **setting: Any) -> tuple[list[Event], bytes, str]:
    """Return the events, everything that is stored, and everything that was sent."""
    monkeypatch.setattr(secrets, "_hiding", True)  # and back again afterwards
    for name, value in VALUES.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "project"
    root.mkdir()
    (root / "config.txt").write_text(FILE + "\n" + "\n".join(VALUES.values()) + "\n")
    echo = "; ".join(f'echo "{name}=${name}"' for name in VALUES)
    client: Any = ScriptedClient(
        says("", calls("bash", 1, command=f"{echo}; cat config.txt")),
        says("", calls("read", 2, path="config.txt"), calls("grep", 3, pattern=".")),
        says("", calls("bash", 4, command=f"for n in $(seq 3000); do {echo}; done; cat config.txt")),
        says("", calls("edit", 5, path="config.txt", old_string="the last line", new_string="the end")),
        says("Done."),
    )
    tools = tuple(map(tool_named, ("bash", "read", "grep", "edit")))
    settings = Settings(data=tmp_path / "data", **setting)
    one = Agent(HERE, window=60_000, root=root, tools=tools, client=client, settings=settings,
                permissions=Permissions("yolo"))  # fmt: skip
    events = play(one, "Go.")
    assert ended(events).why == "done"
    asyncio.run(one.close())
    assert "the end" in (root / "config.txt").read_text()
    return events, _stored(tmp_path / "data"), json.dumps(client.sent)


def _stored(folder: Path) -> bytes:
    """Return the bytes of all files, and the originals of the store as they are opened."""
    from yohaku.stores import open as open_store

    data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    with sqlite3.connect(folder / "store.db") as rows:
        names = [row[0] for row in rows.execute("select name from sqlite_master where type = 'table'")]
        found = [row for name in names for row in rows.execute(f"select * from {name}")]
        refs = {value for row in found for value in row if isinstance(value, str) and len(value) == 12}
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    for ref in refs:
        try:
            data += "".join(store.open(ref).pieces).encode()
        except Exception:  # not a ref
            continue
    store.close()
    return data


def test_secrets_of_tool_outputs_are_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, stored, sent = played(tmp_path, monkeypatch)
    shown = repr(events)
    for secret in HIDDEN:
        assert secret not in shown, "on the screen"
        assert secret not in sent, "in what is sent"
        assert secret.encode() not in stored, "in transcript or store"
    for name in VALUES:
        assert f"[{name} hidden]" in shown and f"[{name} hidden]" in sent and f"[{name} hidden]".encode() in stored


def test_a_setting_turns_it_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events, stored, sent = played(tmp_path, monkeypatch, secrets="show")
    for secret in HIDDEN:
        assert secret in repr(events) and secret in sent and secret.encode() in stored
    assert " hidden]" not in repr(events)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ABench:
    monkeypatch.setattr(secrets, "_hiding", True)
    (tmp_path / "app.ini").write_text("url = postgres://me:hunter2hunter2@db/app\nsize = 1\n")
    return ABench(tmp_path)


def test_a_line_with_a_secret_can_be_edited_without_seeing_it(bench: ABench) -> None:
    shown = bench.use("read", path="app.ini").text
    assert "hunter2" not in shown and "postgres://me:[password hidden]@db/app" in shown
    done = bench.use("edit", path="app.ini", old_string="me:[password hidden]@db/app\nsize = 1",
                     new_string="me:[password hidden]@db/new\nsize = 2")  # fmt: skip
    assert not done.error and "hunter2" not in done.text + done.diff and "hunter2" not in bench.asked[-1].detail
    assert (bench.root / "app.ini").read_text() == "url = postgres://me:hunter2hunter2@db/new\nsize = 2\n"


def test_a_file_written_back_keeps_its_secret(bench: ABench) -> None:
    bench.use("read", path="app.ini")
    done = bench.use("write", path="app.ini", content="url = postgres://me:[password hidden]@db/app\nsize = 3\n")
    assert not done.error
    assert (bench.root / "app.ini").read_text() == "url = postgres://me:hunter2hunter2@db/app\nsize = 3\n"


def test_a_placeholder_is_not_written_into_another_file(bench: ABench) -> None:
    bench.use("read", path="app.ini")
    done = bench.use("write", path="other.ini", content="url = postgres://me:[password hidden]@db/app\n")
    assert done.error and "not shown" in done.text and not (bench.root / "other.ini").exists()
