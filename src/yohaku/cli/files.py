"""Files that commands of the command line read and write.

Law: what goes wrong is a `InputError` with one plain line, and then nothing has been written.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

from yohaku import messages
from yohaku.config import settings as setting

MOST = 256 * 1024 * 1024
"""Bytes of input that are read at most."""


class InputError(Exception):
    """Something to tell the user in one line, and end with exit 2."""


class LoadedInput:
    """A conversation to work on: a body in a dialect, and the bytes it came as."""

    def __init__(self, body: Any, dialect: str, model: str | None, raw: bytes | None) -> None:
        self.body, self.dialect, self.model, self.raw = body, dialect, model, raw


def load(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> LoadedInput:
    """A recording, or a body of another dialect than the one asked for, is put into that dialect first."""
    from yohaku import dialects
    from yohaku.dialects.load import Request, load

    data = read(arguments, settings, command)
    loaded = load(data, called(arguments.file))
    wanted = arguments.dialect
    model = arguments.model
    if isinstance(loaded, Request):
        model = model or (loaded.value.get("model") if isinstance(loaded.value, dict) else None)
        model = model if isinstance(model, str) else None
        if wanted in (None, loaded.dialect):
            raw = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            return LoadedInput(loaded.value, loaded.dialect, model or settings.model, raw)
        history = dialects.dialect_named(loaded.dialect).read(loaded.value).history()
    else:
        history, model = loaded.history, model or loaded.model or None
    dialect = dialects.dialect_named(wanted or "openai_chat")
    return LoadedInput(dialect.compose(history, model or ""), dialect.name, model or settings.model, None)


def read(arguments: argparse.Namespace, settings: setting.Settings, command: str) -> bytes:
    lang, name = settings.lang, called(arguments.file)
    if arguments.file in (None, "-"):
        if sys.stdin.isatty():
            raise InputError(messages.say("no_input", lang, command=command))
        data = sys.stdin.buffer.read(MOST + 1)
        size = len(data)
    else:
        path = Path(arguments.file)
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= MOST else b""
        except OSError as error:
            raise InputError(os_trouble(error, name, lang)) from None
    if size > MOST:
        raise InputError(messages.say("too_large", lang, name=name, size=size, most=MOST))
    return data


def called(file: str | None) -> str:
    return "standard input" if file in (None, "-") else str(file)


def os_trouble(error: OSError, name: str, lang: str) -> str:
    match error:
        case FileNotFoundError():
            return messages.say("no_file", lang, name=name)
        case IsADirectoryError():
            return messages.say("is_folder", lang, name=name)
        case PermissionError():
            return messages.say("no_permission", lang, name=name)
    return messages.say("os_error", lang, name=name, why=error.strerror)


def as_json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair can only be written as an escape
        return json.dumps(value).encode() + b"\n"


def write(out: str | None, data: bytes, settings: setting.Settings) -> None:
    """All of it or nothing: a file is written beside its place and moved there."""
    if out in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        replace(Path(str(out)), data)
    except (OSError, ValueError) as error:
        why = error if isinstance(error, OSError) else IsADirectoryError()
        raise InputError(os_trouble(why, str(out), settings.lang)) from None


def replace(path: Path, data: bytes) -> None:
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
