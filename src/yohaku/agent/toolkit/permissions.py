"""Permissions: reading inside the project is free, everything else is asked, once or for good.

Law: a path is judged after links are resolved; a dangerous request is asked again whatever was allowed before.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal, TypeAlias

from yohaku.agent.toolkit.danger import find_danger
from yohaku.agent.toolkit.harmless_commands import is_harmless
from yohaku.agent.toolkit.ordinary_files import show_name
from yohaku.agent.toolkit.permission_patterns import permission_keys
from yohaku.agent.toolkit.secrets import holds_secrets, redact
from yohaku.agent.toolkit.stored_permissions import StoredPermission, StoredPermissions
from yohaku.agent.toolkit.tool import PermissionRequest, ToolContext
from yohaku.messages import say

Mode: TypeAlias = Literal["ask", "plan", "yolo", "read-only"]
Answer: TypeAlias = Literal["once", "always", "no"]
AskUser: TypeAlias = Callable[[PermissionRequest], Awaitable[Answer]]

EDITS_KEY = "edits in the project"


class PermissionRefused(Exception):
    """Raised where the user did not allow what a tool was about to do."""


class Permissions:
    def __init__(
        self,
        mode: Mode = "ask",
        kept: StoredPermissions | None = None,
        on_remember: Callable[[str, bool], None] = lambda what, kept: None,
    ) -> None:
        """`on_remember` is called with what was allowed for good, and whether it is stored for the next run."""
        self.mode: Mode = mode
        self._stored = kept
        self._on_remember = on_remember
        self._always: set[StoredPermission] = set()
        """Allowed for this run only, because it could not be stored."""
        self._asking = asyncio.Lock()
        self.refused: list[str] = []
        """Titles of what was not allowed since the list was emptied, and not later on either."""

    @property
    def changes_nothing(self) -> bool:
        """True in the modes in which nothing may be changed."""
        return self.mode in ("plan", "read-only")

    @property
    def _kept(self) -> StoredPermissions | None:
        return self._stored if self.mode in ("ask", "plan") else None

    def verdict(self, request: PermissionRequest) -> bool | None:
        """Decide without asking; None where the user must be asked."""
        if request.kind == "inner":
            return True
        if self.changes_nothing and request.kind in ("write", "run"):
            return self.mode == "plan" and request.kind == "run" and request.harmless
        if self.mode == "yolo":
            return None if request.grave else True
        if request.danger or request.grave or not request.keys:
            return None
        allowed = self._always.union(self._kept.rows() if self._kept else ())
        return True if allowed.issuperset(_permissions_of(request)) else None

    async def decide(self, request: PermissionRequest, ask_user: AskUser | None = None) -> bool:
        """Decide, and remember what was refused."""
        allowed = await self._decide(request, ask_user)
        if request.title in self.refused:
            self.refused.remove(request.title)
        if not allowed:
            self.refused.append(request.title)
        return allowed

    async def _decide(self, request: PermissionRequest, ask_user: AskUser | None) -> bool:
        """Ask one question at a time: an "always" may decide the next one too. No user: no."""
        verdict = self.verdict(request)
        if verdict is not None:
            return verdict
        async with self._asking:
            verdict = self.verdict(request)
            if verdict is not None or ask_user is None:
                return bool(verdict)
            answer = await ask_user(request)
            if answer == "always" and request.remember and not request.danger and not request.grave:
                self._remember(request)
            return answer in ("once", "always")

    def _remember(self, request: PermissionRequest) -> None:
        kept = self._kept is not None and self._kept.add(_permissions_of(request))
        if not kept:
            self._always.update(_permissions_of(request))
        self._on_remember(request.remember, kept)


def _permissions_of(request: PermissionRequest) -> tuple[StoredPermission, ...]:
    return tuple(StoredPermission(request.kind, key) for key in request.keys)


def resolve_path(context: ToolContext, name: str) -> Path:
    """Return the absolute path with links resolved. `ValueError` if it cannot be a path."""
    text = name.strip().removeprefix("file://")
    if not text or "\0" in text:
        raise ValueError("the path is empty: give one" if not text else "a path cannot hold a NUL character")
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"there is no home folder {text.partition('/')[0]}") from None
    path = context.root / (_without_root(context, path) if context.careful else path)
    return (path if path.exists() else _find_same_name(path)).resolve()


def _without_root(context: ToolContext, path: Path) -> Path:
    """Return a path without the end of the project's own folder, which small models write before their paths.

    It stays where the project holds such a folder, or the user has named the path.
    """
    if (
        path.is_absolute()
        or not path.parts
        or (context.root / path.parts[0]).exists()
        or path.as_posix() in context.prompt
    ):
        return path
    root = context.root.parts
    for count in range(min(len(path.parts) - 1, len(root) - 1), 0, -1):
        if path.parts[:count] == root[-count:]:
            return Path(*path.parts[count:])
    return path


def _find_same_name(path: Path) -> Path:
    """Return the file with the same name in another form: accents and kana may be one character or two, and a name
    with a line feed in it is shown without."""
    if path.name.isascii() and "\\" not in path.name:
        return path
    wanted = unicodedata.normalize("NFC", path.name)
    try:
        for other in path.parent.iterdir():
            if wanted in (unicodedata.normalize("NFC", other.name), show_name(other.name)):
                return other
    except OSError:
        pass
    return path


def read_request(context: ToolContext, tool: str, path: Path) -> PermissionRequest | None:
    """Return the request to read a path; None where it is free."""
    shown = show_name(str(path))
    if holds_secrets(str(path)):
        why = say("tools_secret", context.lang)
        return PermissionRequest("read", tool, f"{tool} {context.files.name(path)}", shown, danger=why)
    if path.is_relative_to(context.root.resolve()):
        return None
    folder = str(path if path.is_dir() else path.parent)
    always = say("tools_always_folder", context.lang, folder=show_name(folder))
    return PermissionRequest("read", tool, f"{tool} {shown}", shown, remember=always, keys=(folder,))


def write_request(context: ToolContext, tool: str, path: Path, diff: str) -> PermissionRequest:
    title, why, grave = f"{tool} {context.files.name(path)}", "", False
    diff = redact(diff)
    if not path.is_relative_to(context.root.resolve()):
        why = "tools_outside"
        grave = any(part.startswith(".") for part in path.parts) or path.parts[1:2] in SYSTEM_FOLDERS
    elif ".git" in path.relative_to(context.root.resolve()).parts:
        why, grave = "tools_git", True
    elif holds_secrets(str(path)):
        why = "tools_secret"
    if why:
        return PermissionRequest("write", tool, title, diff, danger=say(why, context.lang), grave=grave, paths=(path,))
    always = say("tools_always_edits", context.lang)
    return PermissionRequest("write", tool, title, diff, remember=always, keys=(EDITS_KEY,), paths=(path,))


SYSTEM_FOLDERS = tuple(
    (name,) for name in "etc boot usr bin sbin lib lib64 dev proc sys System Library Windows".split()
)


def run_request(context: ToolContext, command: str) -> PermissionRequest:
    title = " ".join(command.split())
    title = title if len(title) <= 100 else title[:99] + "…"
    found = find_danger(command, context.root)
    if found:
        return PermissionRequest("run", "bash", title, command, danger=say(found.why, context.lang), grave=found.grave)
    known = permission_keys(command, context.root.resolve())
    harmless = is_harmless(command, context.root)
    always = ""
    if len(known) == 1:
        exactly = known[0].startswith("=")
        name = "tools_always_exactly" if exactly else "tools_always_command"
        always = say(name, context.lang, words=known[0].removeprefix("="))
    return PermissionRequest("run", "bash", title, command, remember=always, keys=known, harmless=harmless)
