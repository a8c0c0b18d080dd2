from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit import secrets

KEY = "sk-test-0123456789abcdef"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(secrets, "_REGISTERED", {})


def test_values_of_variables_named_like_keys_are_hidden() -> None:
    assert secrets.redact(f"export K={KEY}; echo") == "export K=[OPENAI_API_KEY hidden]; echo"


def test_a_key_from_the_settings_is_hidden_too() -> None:
    secrets.register_secret("key", "another-secret-value")
    assert secrets.redact("x another-secret-value y") == "x [key hidden] y"


def test_paths_short_values_and_other_variables_are_no_secrets() -> None:
    environ = {"SSH_AUTH_SOCK": "/tmp", "TOKEN": "short", "KEYBOARD": "japanese-106", "MONKEY": "banana-banana",
               "DB_PASSWORD": "hunter2-hunter2", "GITHUB_TOKEN": "ghp_abcdefgh", "HOME": "/home/someone"}  # fmt: skip
    found = secrets.secrets_in(environ)
    assert found == {"hunter2-hunter2": "DB_PASSWORD", "ghp_abcdefgh": "GITHUB_TOKEN"}


@given(st.lists(st.integers(1, 60), max_size=6), st.binary(max_size=40), st.binary(max_size=40))
def test_a_secret_that_comes_in_pieces_is_hidden(cuts: list[int], before: bytes, after: bytes) -> None:
    whole = before + KEY.encode() + after
    redacting = secrets.StreamRedactor()
    out = b""
    for cut in cuts:
        out += redacting.feed(whole[:cut])
        out += redacting.idle()
        whole = whole[cut:]
    out += redacting.feed(whole) + redacting.end()
    assert out == before + b"[OPENAI_API_KEY hidden]" + after


def test_a_prompt_without_a_line_feed_is_shown_when_nothing_follows() -> None:
    redacting = secrets.StreamRedactor()
    assert redacting.feed(b"password: ") + redacting.idle() == b"password: "


@pytest.mark.parametrize(
    "path",
    [".env", "a/.env.production", "id_rsa", "x/server.pem", "credentials", "credentials.json", ".netrc", "me/.ssh/x",
     ".aws/credentials", "secrets.yaml", "SERVER.KEY", "service-account-x.json"],
)  # fmt: skip
def test_files_that_may_hold_secrets_are_known(path: str) -> None:
    assert secrets.holds_secrets(path)


@pytest.mark.parametrize(
    "path", [".env.example", "id_rsa.pub", "keyboard.py", "environment.md", "secrets.py", "a.txt", ""]
)
def test_other_files_are_not(path: str) -> None:
    assert not secrets.holds_secrets(path)
