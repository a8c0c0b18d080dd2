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
    monkeypatch.setattr(secrets, "_hiding", True)


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://app:hunter2hunter2@db.internal/app"),
        ("DATABASE_URL", "postgres://db.internal:5432/app"),
        ("REDIS_URL", "redis://:hunter2hunter2@cache.internal:6379/0"),
        ("GITHUB_PAT", "0123456789abcdef0123456789abcdef01234567"),
        ("STRIPE_SK", "0123456789abcdef"),
        ("SENTRY_DSN", "https://0123abcd@sentry.internal/7"),
        ("SLACK_WEBHOOK", "https://chat.internal/hooks/abcdefgh"),
        ("SLACK_WEBHOOK_URL", "https://chat.internal/hooks/abcdefgh"),
        ("MONGODB_URI", "mongodb+srv://app:hunter2hunter2@cluster0.internal"),
        ("SQLALCHEMY_DATABASE_URI", "mysql://app:hunter2hunter2@db/app"),
        ("DB_PASS", "hunter2hunter2"),
        ("MYSQL_PWD", "hunter2hunter2"),
        ("AZURE_STORAGE_CONNECTION_STRING", "DefaultEndpointsProtocol=https;AccountName=x"),
    ],
)
def test_values_of_variables_whose_names_say_so_are_hidden(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert secrets.redact(f"it is {value} today") == f"it is [{name} hidden] today"


def test_a_password_within_an_address_is_hidden_by_itself_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://app:hunter2%21hunter2@db/app")
    assert secrets.redact("login with hunter2!hunter2 failed") == "login with [DATABASE_URL password hidden] failed"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "sqlite:///db.sqlite3"),
        ("REDIS_URL", "redis://localhost:6379/0"),
        ("POSTGRES_PASSWORD", "postgres"),
        ("NEXT_PUBLIC_AUTH_URL", "https://auth.example.com"),
        ("PATTERN", "everything"),
        ("SKIP_TESTS", "integration"),
        ("COMPAT", "python-three"),
    ],
)
def test_values_that_open_nothing_are_shown(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert secrets.redact(f"it is {value} today") == f"it is {value} today"


def test_a_setting_shows_them(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.set_hiding(False)
    streaming = secrets.StreamRedactor()
    assert secrets.redact(KEY) == KEY and streaming.feed(KEY.encode()) == KEY.encode()
    assert secrets.has_secret(KEY), "what is stored for good never holds one"


TOKENS = [
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "postgres://app:hunter2hunter2@db.internal/app",
    "Authorization: Bearer 0123456789abcdef0123",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA0123456789abcdef\n" * 9 + "-----END RSA PRIVATE KEY-----",
    "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw1",
    "0123456789abcdef0123456789abcdef-us12",
    KEY,
]
KNOWN_LATE = TOKENS[-3:-1]
"""Known only by what stands in their middle: a pause before that shows their beginning."""


@given(
    st.sampled_from(TOKENS),
    st.lists(st.integers(1, 60), max_size=9),
    st.sampled_from([b"", b"before ", b"a line\nx=", b"\xe6\x97\xa5 "]),
    st.sampled_from([b"", b" after", b"\nafter"]),
    st.booleans(),
)
def test_a_secret_of_any_form_that_comes_in_pieces_is_hidden(
    secret: str, cuts: list[int], before: bytes, after: bytes, pauses: bool
) -> None:
    rest = before + secret.encode() + after
    pauses = pauses and secret not in KNOWN_LATE
    redacting = secrets.StreamRedactor()
    out = b""
    for cut in cuts:
        out += redacting.feed(rest[:cut]) + (redacting.idle() if pauses else b"")
        rest = rest[cut:]
    out += redacting.feed(rest) + redacting.end()
    assert out == secrets.redact((before + secret.encode() + after).decode()).encode()
    assert b" hidden]" in out


@given(st.binary(max_size=300), st.lists(st.integers(1, 60), max_size=9))
def test_what_holds_no_secret_comes_out_as_it_went_in(data: bytes, cuts: list[int]) -> None:
    redacting = secrets.StreamRedactor()
    out, rest = b"", data
    for cut in cuts:
        out += redacting.feed(rest[:cut]) + redacting.idle()
        rest = rest[cut:]
    assert out + redacting.feed(rest) + redacting.end() == data


def test_dots_and_questions_are_shown_as_they_come() -> None:
    for text in (b".....F..", b"Continue? [y/N]", b"50%", b"installing... done", b">>> "):
        redacting = secrets.StreamRedactor()
        assert redacting.feed(text) + redacting.idle() == text


def test_a_model_that_was_shown_a_placeholder_can_edit_around_the_secret() -> None:
    original = f"key = {KEY}\nurl = postgres://me:hunter2hunter2@db/app\nsize = 1\n"
    shown = secrets.redact(original)
    assert shown != original
    assert secrets.restore_secrets(shown.replace("size = 1", "size = 2"), original) == original.replace("= 1", "= 2")


def test_a_placeholder_that_stands_for_nothing_or_for_two_is_refused() -> None:
    two = "redis://a:hunter2hunter2@x\nredis://a:hunter3hunter3@y\n"
    for text, original in (("k = [OPENAI_API_KEY hidden]", ""), (secrets.redact(two), two)):
        with pytest.raises(secrets.UnknownSecret):
            secrets.restore_secrets(text, original)
    assert secrets.restore_secrets("a [thing hidden] here", "") == "a [thing hidden] here"


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
     ".aws/credentials", "secrets.yaml", "SERVER.KEY", "service-account-x.json", "deploy/prod.env",
     "terraform.tfstate", "AuthKey_X.p8", "kubeconfig", ".docker/config.json", ".vault-token"],
)  # fmt: skip
def test_files_that_may_hold_secrets_are_known(path: str) -> None:
    assert secrets.holds_secrets(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "example.env",
        "environment.ts",
        "id_rsa.pub",
        "keyboard.py",
        "environment.md",
        "secrets.py",
        "a.txt",
        "",
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert not secrets.holds_secrets(path)
