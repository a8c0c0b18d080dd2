"""Scripts on the disk that a command runs: `bash x.sh`, `./x.sh`, `python x.py`.

Law: what they start is judged by what cannot be mistaken alone. They are long, and take arguments that nobody sees.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

from yohaku.agent.toolkit.dry_run.shell_state import ShellState
from yohaku.agent.toolkit.dry_run.values import drop_marks, has_wildcard, is_unknown

MAX_SCRIPT_BYTES = 20_000
_SYSTEM = ("/bin/", "/sbin/", "/usr/", "/lib/", "/opt/", "/nix/", "/snap/", "/proc/", "/dev/", "/sys/")
"""Where programs are installed: they do what they are for."""
_SHEBANG = re.compile(r"#!\s*(?:/\S*/env(?: -S)?\s+)?(\S+)")
_SHELL_CALL = re.compile(
    r"(?:system|[Pp]open|exec\w*|run|call|check_\w+|qx|shell_exec)\(\s*f?([\"'`])([^\"'`\n]{3,400})\1"
)


def scripts_of(word: str, state: ShellState) -> list[str]:
    """Return the texts that a file may have: what the command itself wrote, else what stands on the disk."""
    paths = state.resolve(word)
    if written := [text for path in paths for text in state.written.get(path, [])]:
        return written
    found = [] if is_unknown(word) or has_wildcard(word) else [text for path in paths for text in _read(path)]
    if found:
        state.from_disk, state.script = True, state.script or paths[0]
    return found


def interpreter_of(text: str) -> str:
    """Return the program that a script names in its first line; empty where there is none."""
    found = _SHEBANG.match(text)
    return found[1].rpartition("/")[2] if found else ""


def shell_lines(code: str) -> list[str]:
    """Return the commands that code of another language gives to a shell word for word."""
    return [found[2] for found in _SHELL_CALL.finditer(code)][:20]


def _read(path: str) -> list[str]:
    if path.startswith(_SYSTEM) or "\0" in path:
        return []
    try:
        file = Path(path)
        about = file.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_SCRIPT_BYTES:
            return []
        data = file.read_bytes()
    except (OSError, ValueError):
        return []
    return [] if b"\0" in data else [drop_marks(data.decode("utf-8", "replace"))]
