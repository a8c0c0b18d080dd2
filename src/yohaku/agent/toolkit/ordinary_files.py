"""Reading of ordinary files only, and names of files on one line.

Law: opening never waits: pipes, devices, sockets and folders raise `OSError`, also where a file becomes one of them
between a check and the opening. No name of a file can write a line, or steer a terminal.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Controls, line and paragraph ends, marks that reverse the order of letters, and bytes that are no text."""
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def open_ordinary(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading; `OSError` for anything else. `follow`: also through a link."""
    if not stat.S_ISREG(path.stat(follow_symlinks=follow).st_mode):  # opening a device may already do something
        raise _not_ordinary(path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_ordinary(path)
    return os.fdopen(descriptor, "rb")


def read_ordinary(path: Path, most: int = -1) -> bytes:
    """Return the bytes of a file, at most `most` of them."""
    with open_ordinary(path) as file:
        return file.read(most)


def show_name(name: str) -> str:
    """Return the name of a file as one line that can be sent and shown."""
    return name if name.isprintable() else _UNPRINTABLE.sub(_escape, name)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that Python keeps so
        return f"\\x{code - 0xDC00:02x}"
    return _ESCAPES.get(found[0]) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _not_ordinary(path: Path) -> OSError:
    return OSError(errno.EINVAL, "not an ordinary file", show_name(str(path)))
