"""`yohaku proxy`: what it says before it serves, and where it cannot."""

from __future__ import annotations

import socket
import urllib.request
from pathlib import Path

import pytest
from tests.proxy.processes import proxy_process

from yohaku.cli.main import main


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YOHAKU_DATA", str(tmp_path))


def refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What is said where the proxy does not start."""
    assert main(["proxy", "--store", "memory:", *words]) == 2
    said = capsys.readouterr()
    assert "listens on" not in said.err and "Traceback" not in said.err and said.out == ""
    return said.err


@pytest.mark.parametrize(("lang", "words"), [("en", "another program"), ("ja", "ほかのプログラム")])
def test_a_taken_port_is_said_in_one_line_with_what_to_do(
    lang: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = refusal(capsys, "--port", str(port), "--lang", lang)
    assert str(port) in said and words in said and "--port" in said and said.count("\n") == 1


def test_an_address_of_another_machine_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, "--host", "192.0.2.1", "--token", "t")
    assert "192.0.2.1" in said and said.count("\n") == 1


@pytest.mark.parametrize("port", ["65536", "-1", "http"])
def test_a_port_that_is_none_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["proxy", "--port", port])
    assert "port" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["proxy", "run"])
@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "localhost", "htp://x", "http://", "https://:443", "http://h:port", "http://h:99999"]
)
def test_an_upstream_without_an_address_is_refused_before_anything_starts(
    url: str, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: "/bin/true")
    assert main([command, "--upstream", url, *(["claude"] if command == "run" else [])]) == 2
    said = capsys.readouterr().err
    assert url in said and "http://" in said and said.count("\n") == 1


def test_an_upstream_of_a_route_is_checked_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text('[routes."qwen*"]\nupstream = "127.0.0.1:1"\n')
    monkeypatch.setenv("YOHAKU_CONFIG", str(tmp_path / "config.toml"))
    assert "127.0.0.1:1" in refusal(capsys)


def test_a_browser_at_the_proxy_is_told_what_it_is() -> None:
    with proxy_process("", "--store", "memory:") as proxy:
        for path in ("/", "/yohaku/"):
            with urllib.request.urlopen(proxy.url + path) as page:
                assert page.headers["Content-Type"].startswith("text/plain")
                assert "yohaku proxy" in page.read().decode()


def test_on_a_shared_address_the_token_is_part_of_the_advice_and_never_shown() -> None:
    with proxy_process("http://127.0.0.1:9", "--host", "0.0.0.0", "--token", "hush", "--store", "memory:") as proxy:
        with urllib.request.urlopen(f"{proxy.url}/token/hush/yohaku/health"):
            pass
        assert "/token/TOKEN" in proxy.log and "hush" not in proxy.log
