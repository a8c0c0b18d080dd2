"""/permissions: list and forget what was allowed for good in this project."""

from __future__ import annotations

from pathlib import Path

from yohaku.agent.toolkit.stored_permissions import StoredPermission, StoredPermissions
from yohaku.messages import say

FORGET, ALL = "forget", "all"


def list_permissions(kept: StoredPermissions, mode: str, lang: str) -> str:
    rows = kept.rows()
    if not rows:
        return say("permissions_none", lang)
    lines = [f"{number:>3}  {row.describe(lang)}" for number, row in enumerate(rows, 1)]
    idle = [] if mode == "ask" else [say("permissions_idle", lang, mode=mode)]
    return "\n".join([say("permissions_head", lang), *lines, *idle, say("permissions_how", lang)])


def forget_permissions(kept: StoredPermissions, asked: str, lang: str) -> str | None:
    """Forget permissions and return a sentence about them; None where none matches."""
    chosen = _choose(kept.rows(), asked)
    if not chosen:
        return None
    kept.forget(chosen)
    return say("permissions_gone", lang, what=", ".join(row.describe(lang) for row in chosen))


def complete_permissions(typed: str, data: Path, root: Path) -> list[str]:
    """Return completions of what is typed after /permissions."""
    rows = StoredPermissions(data, root).rows()
    each = [f"{FORGET} {number}" for number in range(1, len(rows) + 1)]
    return [one for one in (*each, f"{FORGET} {ALL}") if rows and one.startswith(typed)]


def _choose(rows: tuple[StoredPermission, ...], asked: str) -> tuple[StoredPermission, ...]:
    word, _, which = asked.partition(" ")
    which = which.strip()
    if word != FORGET:
        return ()
    if which == ALL:
        return rows
    return rows[int(which) - 1 : int(which)] if which.isdecimal() and 0 < int(which) <= len(rows) else ()
