"""Input and output of commands: files, standard streams, notices.

Law: an error is an `InputError` with one plain line, and then nothing has been written.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from yohaku import messages
from yohaku.config import settings as setting

MAX_INPUT_BYTES = 256 * 1024 * 1024


class InputError(Exception):
    """Misuse or bad input: one line for standard error, and exit 2."""


class LoadedInput:
    """A conversation as the body of a request, and the bytes it came as."""

    def __init__(self, body: Any, dialect: str, model: str | None, raw: bytes | None) -> None:
        self.body, self.dialect, self.model, self.raw = body, dialect, model, raw


def load(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> LoadedInput:
    """Read a conversation, and convert a recording or another dialect to the one that is wanted."""
    from yohaku import dialects
    from yohaku.dialects.load import Request, load

    data = read(arguments, settings, command)
    loaded = load(data, name_of(arguments.file))
    wanted = arguments.dialect
    model = arguments.model
    if isinstance(loaded, Request):
        model = model or (loaded.value.get("model") if isinstance(loaded.value, dict) else None)
        model = model if isinstance(model, str) else None
        if wanted in (None, loaded.dialect):
            import gzip

            raw = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return LoadedInput(loaded.value, loaded.dialect, model or settings.model, raw)
        given = dialects.dialect_named(loaded.dialect)
        if field := given.state_in(loaded.value):
            raise InputError(messages.say("state_not_written", settings.lang, about=field, name=wanted))
        history = given.read(loaded.value).history()
    else:
        history, model = loaded.history, model or loaded.model or None
    dialect = dialects.dialect_named(wanted or "openai_chat")
    return LoadedInput(dialect.compose(history, model or ""), dialect.name, model or settings.model, None)


def read(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> bytes:
    lang, name = settings.lang, name_of(arguments.file)
    if arguments.file in (None, "-"):
        if sys.stdin.isatty():
            raise InputError(messages.say("no_input", lang, command=command))
        data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        size = len(data)
    else:
        path = Path(arguments.file)
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= MAX_INPUT_BYTES else b""
        except OSError as error:
            raise InputError(explain_os_error(error, name, lang)) from None
    if size > MAX_INPUT_BYTES:
        raise InputError(messages.say("too_large", lang, name=name, size=size, most=MAX_INPUT_BYTES))
    return data


def name_of(file: str | None) -> str:
    return "standard input" if file in (None, "-") else str(file)


def explain_os_error(error: OSError, name: str, lang: str) -> str:
    match error:
        case FileNotFoundError():
            return messages.say("no_file", lang, name=name)
        case IsADirectoryError():
            return messages.say("is_folder", lang, name=name)
        case PermissionError():
            return messages.say("no_permission", lang, name=name)
    return messages.say("os_error", lang, name=name, why=error.strerror)


def to_json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        return json.dumps(value).encode() + b"\n"


def write(out: str | None, data: bytes, settings: setting.Settings) -> None:
    """Write all or nothing: a file is written beside its place and moved there."""
    if out in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        _replace(Path(str(out)), data)
    except (OSError, ValueError) as error:
        cause = error if isinstance(error, OSError) else IsADirectoryError()
        raise InputError(explain_os_error(cause, str(out), settings.lang)) from None


def _replace(path: Path, data: bytes) -> None:
    if path.exists() and not path.is_file():  # a device or a pipe is written to, never replaced
        path.write_bytes(data)
        return
    path = path.resolve()
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o7777)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def print_notices(notices: Iterable[setting.Notice], lang: str) -> None:
    for notice in notices:
        print(f"yohaku: {messages.notice(notice.code, notice.text, notice.facts, lang)}", file=sys.stderr)
