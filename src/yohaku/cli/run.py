"""`yohaku run CLIENT`: start the proxy and a client together, with the client's own variables or options.

Law: no file of the client is changed, and the proxy stops with the client. Ctrl-C is the client's, who may go on after
it; its exit code is ours, 128 and the signal's number where a signal ended it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from yohaku import messages
from yohaku.cli.parser import read_flags
from yohaku.config import settings as setting
from yohaku.config.keys import KEYS, flag_of
from yohaku.config.settings import Settings

START_TIMEOUT = 20.0
LOG_FILE = "run.log"
"""In the data folder: what the proxy of the last run told."""
MISSING_KEY = "not-needed"
"""What a client is given for a key where the user has none: local servers ask for nothing, clients insist on one."""


class Client(NamedTuple):
    program: str
    package: str
    """Command that installs it."""
    environment: Callable[[str, str], dict[str, str]]
    """Variables for a proxy at `url` and a model, which may be empty."""
    options: Callable[[str, str], list[str]] = lambda url, model: []
    """Options that come before the user's own."""
    settings_variable: str = ""
    """Names a file of settings, where variables and options do not say everything; a temporary one is written."""
    settings: Any = None
    keys: tuple[str, ...] = ()
    """Variables of the user that say who they are; where one is set, ours for a missing key are left out."""


CLAUDE_MODELS = ("ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL")


def _claude(url: str, model: str) -> dict[str, str]:
    chosen = dict.fromkeys(CLAUDE_MODELS, model) if model else {}
    listed = {"CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY": "1"}
    # A token, not a key: the client asks about a key that it has not seen before, and writes the answer down.
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_AUTH_TOKEN": MISSING_KEY, **listed, **chosen}


def _codex_options(url: str, model: str) -> list[str]:
    provider = f'{{name="yohaku", base_url="{url}/v1", env_key="OPENAI_API_KEY", wire_api="responses"}}'
    chosen = ["-m", model] if model else []
    return ["-c", 'model_provider="yohaku"', "-c", f"model_providers.yohaku={provider}", *chosen]


def _opencode(url: str, model: str) -> dict[str, str]:
    providers = {
        "anthropic": {"options": {"baseURL": f"{url}/v1"}},
        "openai": {"options": {"baseURL": f"{url}/v1"}},
        "yohaku": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1"},
            "models": {model or "default": {}},
        },
    }
    config: dict[str, Any] = {"provider": providers, **({"model": f"yohaku/{model}"} if model else {})}
    return {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}


def _openai(url: str, model: str) -> dict[str, str]:
    base = f"{url}/v1"
    chosen = {"OPENAI_MODEL": model} if model else {}
    return {"OPENAI_BASE_URL": base, "OPENAI_API_BASE": base, "OPENAI_API_KEY": MISSING_KEY, **chosen}


CLIENTS = {
    "claude": Client(
        "claude",
        "npm install -g @anthropic-ai/claude-code",
        _claude,
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    ),
    "codex": Client(
        "codex",
        "npm install -g @openai/codex",
        lambda url, model: {"OPENAI_API_KEY": MISSING_KEY},
        _codex_options,
    ),
    "gemini": Client(
        "gemini",
        "npm install -g @google/gemini-cli",
        lambda url, model: {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": MISSING_KEY},
        lambda url, model: ["-m", model] if model else [],
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH",  # by its variables alone it takes a way to log in that it then refuses
        {"security": {"auth": {"selectedType": "gemini-api-key"}}},
    ),
    "qwen": Client("qwen", "npm install -g @qwen-code/qwen-code", _openai),
    "opencode": Client("opencode", "npm install -g opencode-ai", _opencode),
    "aider": Client(
        "aider",
        "pip install aider-chat",
        lambda url, model: {**_openai(url, model), "ANTHROPIC_API_BASE": url},
        lambda url, model: ["--model", f"openai/{model}"] if model else [],
    ),
}


OWN_OPTIONS = frozenset(
    (
        "--upstream",
        "--model",
        "--window",
        "--reserve",
        "--recipe",
        "--store",
        "--believe",
        "--summaries",
        "--summary-wait",
    )
) | {flag_of(name) for key in KEYS.values() if key.is_option for name in (key.name, *key.aliases)}


OWN_SWITCHES = frozenset(("--recall-tool", "--squeeze", "--hold-state"))


def _take_own_options(arguments: argparse.Namespace) -> argparse.Namespace:
    """Parse our options directly after the client's name too; from the first other word on all is the client's."""
    words, at = arguments.arguments, 0
    while at < len(words) and words[at].partition("=")[0] in OWN_OPTIONS | OWN_SWITCHES:
        at += 1 if "=" in words[at] or words[at] in OWN_SWITCHES else 2
    if not at:
        return arguments
    more: argparse.Namespace = arguments.parse_more([*words[:at], arguments.client, *words[at:]])
    given = {
        name: value for name, value in vars(arguments).items() if value is not None and not getattr(more, name, None)
    }
    return argparse.Namespace(**{**vars(more), **given})


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    arguments = _take_own_options(arguments)
    settings = setting.with_flags(settings, read_flags(arguments))
    client = CLIENTS[arguments.client]
    program = shutil.which(client.program)
    if program is None:
        print(
            f"yohaku: {messages.say('run_missing', settings.lang, name=client.program, command=client.package)}",
            file=sys.stderr,
        )
        return 2
    from yohaku.cli.proxy import open_proxy

    proxy = open_proxy(arguments, settings)
    if proxy is None:
        return 2
    with _log_to_file(settings.data), proxy as app, _serve(app) as url, _private_folder(settings) as folder:
        model = arguments.model or ""
        ours = client.environment(url, model)
        # The client's own login goes to its own provider.
        if not arguments.upstream or any(os.environ.get(name) for name in client.keys):
            ours = {name: value for name, value in ours.items() if value != MISSING_KEY}
        kept = {name: value for name, value in os.environ.items() if value and ours.get(name) == MISSING_KEY}
        if client.settings_variable:
            path = folder / "settings.json"
            path.write_text(json.dumps(client.settings), encoding="utf-8")
            ours[client.settings_variable] = str(path)
        environment = {**os.environ, **ours, **kept}
        command = [program, *client.options(url, model), *arguments.arguments]
        return _run_client(command, environment)


def _run_client(command: list[str], environment: dict[str, str]) -> int:
    """Run a client to its end and return its exit code; a signal to end us ends it first."""
    with subprocess.Popen(command, env=environment) as process:
        # Not ignored, which the client would inherit: a terminal sends Ctrl-C to both of us.
        handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: process.terminate()}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()} if _is_main() else {}
        try:
            code = process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    return code if code >= 0 else 128 - code


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def _log_to_file(data: Path) -> Iterator[None]:
    """Write what the proxy tells to a file of the user's alone: the screen is the client's."""
    import logging

    from yohaku.proxy.app import hide_secrets

    handler: logging.Handler = logging.NullHandler()
    with suppress(OSError):
        data.mkdir(parents=True, exist_ok=True)
        (data / LOG_FILE).touch(mode=0o600)
        os.truncate(data / LOG_FILE, 0)
        handler = logging.FileHandler(data / LOG_FILE, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    handler.addFilter(hide_secrets)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


@contextmanager
def _private_folder(settings: Settings) -> Iterator[Path]:
    """Make a folder for a while. It is not in /tmp: clients refuse settings from where others may write."""
    settings.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="run-", dir=settings.data) as folder:
        yield Path(folder)


@contextmanager
def _serve(app: Any) -> Iterator[str]:
    """Serve on a free loopback port, in a thread, until the client is done."""
    from yohaku.proxy.server import build_server

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = build_server(app, "127.0.0.1", 0)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        end = time.monotonic() + START_TIMEOUT
        while not server.started and thread.is_alive() and time.monotonic() < end:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(5)
