"""Commands of the user's own: Markdown files in `.yohaku/commands` of the project and in the config folder.

`/review src/a.py` sends the text of `review.md`, with what was typed after the name in place of `$ARGUMENTS`.
Law: a file is read when its command is typed, and never takes the name of a command of ours. One of the project that
leads out of it, or to secrets, is no command.
"""

from __future__ import annotations

import re
from pathlib import Path

from yohaku.agent.toolkit.ordinary_files import read_ordinary
from yohaku.config.settings import config_folder

FOLDER = Path(".yohaku") / "commands"
ARGUMENTS = "$ARGUMENTS"
MAX_BYTES = 200_000
"""Size of a file up to which it is a command."""
_NAME = re.compile(r"[\w][\w.-]{0,60}")


def list_own_commands(root: Path) -> dict[str, Path]:
    """Return the files by the names of their commands; those of the project come before the user's."""
    found: dict[str, Path] = {}
    for folder in (root / FOLDER, config_folder() / "commands"):
        try:
            paths = sorted(folder.glob("*.md"))
        except OSError:
            continue
        for path in paths:
            if _NAME.fullmatch(path.stem) and (folder.is_relative_to(config_folder()) or _stays_inside(path, root)):
                found.setdefault(path.stem.lower(), path)
    return found


def _stays_inside(path: Path, root: Path) -> bool:
    try:
        found = path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return False
    from yohaku.agent.toolkit.secrets import holds_secrets  # its patterns take longer than the first screen may wait

    return found.is_relative_to(root.resolve()) and not holds_secrets(str(found))


def expand_own_command(typed: str, root: Path) -> str | None:
    """Return the prompt that a line like `/name arguments` stands for; None where there is no such command."""
    name, _, arguments = typed.strip().removeprefix("/").partition(" ")
    path = list_own_commands(root).get(name.lower()) if typed.startswith("/") else None
    if path is None:
        return None
    try:
        text = read_ordinary(path, MAX_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return None
    if ARGUMENTS in text:
        return text.replace(ARGUMENTS, arguments.strip())
    return "\n\n".join(filter(None, (text, arguments.strip())))
