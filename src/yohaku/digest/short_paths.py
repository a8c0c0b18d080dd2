"""Short forms of paths in a text: relative to the folder of the work, and by their name alone once they are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class ShortPaths:
    """Shows each path relative to the common folder the first time, and then by its name if no other file has it."""

    def __init__(self, paths: Iterable[str]) -> None:
        known = list(dict.fromkeys(paths))
        self.folder = find_common_folder(known)
        self._names = Counter(path.rsplit("/", 1)[-1] for path in {self.relative(path) for path in known})
        self._shown: set[str] = set()

    def show(self, path: str) -> str:
        short = self.relative(path)
        name = short.rsplit("/", 1)[-1]
        if short in self._shown and self._names[name] == 1:
            return name
        self._shown.add(short)
        return short

    def shorten(self, text: str) -> str:
        """Return a text without the common folder in its paths."""
        return text.replace(self.folder, "") if self.folder else text

    def relative(self, path: str) -> str:
        return path.removeprefix(self.folder) if self.folder else path


def find_common_folder(paths: list[str]) -> str:
    """Return the folder of most absolute paths; in sorted order one in ten may lie outside at either end."""
    folders = sorted(path.rsplit("/", 1)[0].split("/") for path in paths if path.startswith("/"))
    aside = len(folders) // 10
    most = folders[aside : len(folders) - aside]
    if len(most) < 2:
        return ""
    pairs = enumerate(zip(most[0], most[-1], strict=False))
    shared = next((at for at, (one, other) in pairs if one != other), min(len(most[0]), len(most[-1])))
    return "/".join(most[0][:shared]) + "/" if shared > 2 else ""
