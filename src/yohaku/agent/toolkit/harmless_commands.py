"""Commands that certainly change nothing, for the mode in which nothing may be changed.

Law: a command is harmless only where it was understood as bash understands it, stays in the project, reads no secrets,
and starts nothing but programs that print. When in doubt it is not.
"""

from __future__ import annotations

from pathlib import Path

from yohaku.agent.toolkit.danger import find_danger
from yohaku.agent.toolkit.permission_patterns import permission_keys
from yohaku.agent.toolkit.program_rules import READ_ONLY_PROGRAMS

READ_ONLY_VERBS = frozenset(
    f"git {verb}" for verb in "status log diff show ls-files blame rev-parse describe shortlog".split()
)
_HARMLESS_KEYS = READ_ONLY_PROGRAMS | READ_ONLY_VERBS | {"cd"}


def is_harmless(command: str, root: Path) -> bool:
    """Return whether a command only prints what is there."""
    keys = permission_keys(command, root.resolve())
    return bool(keys) and _HARMLESS_KEYS.issuperset(keys) and find_danger(command, root) is None
