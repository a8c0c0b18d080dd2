from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from yohaku.config import settings as setting
from yohaku.doctor.setup import Check, checkup, report


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment with nothing in it, whose local servers are ports where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    names = ("OLLAMA_HOST", "LLAMACPP_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL")
    return {"HOME": str(tmp_path), **dict.fromkeys(names, f"http://127.0.0.1:{port}")}


def checks(environ: dict[str, str]) -> list[Check]:
    return list(checkup(setting.read(environ)))


def texts(environ: dict[str, str], mark: str) -> list[str]:
    return [check.text for check in checks(environ) if check.mark == mark]


def test_a_fresh_machine_is_well(home: dict[str, str]) -> None:
    page, code = report(setting.read(home))
    assert code == 0 and page.endswith("\nall is well")
    assert "!!" not in page


def test_it_speaks_japanese(home: dict[str, str]) -> None:
    page, _ = report(setting.read({**home, "LANG": "ja_JP.UTF-8"}))
    assert page.endswith("\n問題ありません")


def test_a_bad_value_and_a_bad_file_are_to_be_put_right(home: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("window = [broken")
    found = texts({**home, "YOHAKU_CONFIG": str(config), "YOHAKU_RESERVE": "many"}, "!!")
    assert len(found) == 2
    assert found[0].startswith(f"{config}: ") and "YOHAKU_RESERVE is 'many'" in found[1]
    assert report(setting.read({**home, "YOHAKU_RESERVE": "many"}))[1] == 1


def test_a_recipe_that_is_not_there_is_to_be_put_right(home: dict[str, str]) -> None:
    (found,) = texts({**home, "YOHAKU_RECIPE": "atuo"}, "!!")
    assert "atuo" in found


def test_keys_are_named_and_never_shown(home: dict[str, str]) -> None:
    page, code = report(setting.read({**home, "OPENAI_API_KEY": "sk-secret", "ANTHROPIC_API_KEY": ' "sk-other"'}))
    assert "ok OPENAI_API_KEY is set" in page and "!! ANTHROPIC_API_KEY is set, but holds blanks" in page
    assert "secret" not in page and "sk-other" not in page
    assert code == 1


def test_the_password_of_a_store_is_never_shown(home: dict[str, str]) -> None:
    (found,) = texts({**home, "YOHAKU_STORE": "nosuch://me:hidden@host/db"}, "!!")
    assert "hidden" not in found


def test_a_store_opens_or_is_said_not_to(home: dict[str, str], tmp_path: Path) -> None:
    broken = tmp_path / "store.db"
    broken.write_bytes(b"this is no database, and long enough to be looked at " * 40)
    assert len(texts({**home, "YOHAKU_STORE": f"sqlite://{broken}"}, "!!")) == 1
    assert broken.read_bytes().startswith(b"this is no database")
    assert "store memory: opens" in texts({**home, "YOHAKU_STORE": "memory:"}, "ok")


def test_a_look_makes_no_files(home: dict[str, str], tmp_path: Path) -> None:
    checks(home)
    assert list(tmp_path.iterdir()) == []


def test_a_data_folder_that_is_a_file_is_to_be_put_right(home: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    found = texts({**home, "YOHAKU_DATA": str(tmp_path / "data"), "YOHAKU_STORE": "memory:"}, "!!")
    assert len(found) == 1 and "YOHAKU_DATA" in found[0]


def test_a_data_folder_open_to_others_is_told(home: dict[str, str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    assert f"data folder {data}" in texts({**home, "YOHAKU_DATA": str(data)}, "ok")
    data.chmod(0o755)
    assert any("chmod 700" in text for text in texts({**home, "YOHAKU_DATA": str(data)}, "--"))


def test_it_says_whose_tokens_are_counted_exactly(home: dict[str, str]) -> None:
    assert "tokens of gpt-4o are counted exactly (o200k_base)" in texts({**home, "YOHAKU_MODEL": "gpt-4o"}, "ok")
    estimated = texts({**home, "YOHAKU_MODEL": "never-heard-of-it"}, "--")
    assert any(text.startswith("tokens of never-heard-of-it are estimated") for text in estimated)


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Page) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{serving.server_address[1]}"
        serving.shutdown()


def test_a_local_server_that_answers_is_told_from_one_that_does_not(home: dict[str, str], server: str) -> None:
    environ = {**home, "OLLAMA_HOST": server}
    assert f"ollama answers at http://{server}" in texts(environ, "ok")
    assert any(text.startswith("vllm does not answer") for text in texts(environ, "--"))


def test_a_server_elsewhere_is_not_called(home: dict[str, str]) -> None:
    assert any("does not answer" in text for text in texts({**home, "OLLAMA_HOST": "http://192.0.2.1:9"}, "--"))
