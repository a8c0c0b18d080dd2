"""Files of the project that a source file imports, in Python, JavaScript and TypeScript.

Law: only files that are there, inside the folders a project has; nothing is run, and what cannot be found is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MAX_IMPORTS = 30
MAX_TEXT_CHARS = 200_000
PYTHON_SUFFIXES = (".py", ".pyi")
SCRIPT_SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".mts", ".cts")
SOURCE_FOLDERS = ("", "src", "lib")

_PYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(\([^()]{1,600}\)|[^\n()]{1,300})"
    r"|import[ \t]+([\w.]+(?:[ \t]*,[ \t]*[\w.]+){0,9}))",
    re.MULTILINE,
)
_SCRIPT = re.compile(r"""(?:\bfrom|\bimport|\brequire\s?\(|\bimport\s?\()\s{0,4}["'](\.{1,2}/[^"'\n]{1,200})["']""")


def find_imported_files(root: Path, path: Path, text: str) -> list[Path]:
    """Return the files that a file with this text imports, in the order of its imports."""
    if path.suffix in PYTHON_SUFFIXES:
        found = _python_files(root, path, text[:MAX_TEXT_CHARS])
    elif path.suffix in SCRIPT_SUFFIXES:
        found = _script_files(path, text[:MAX_TEXT_CHARS])
    else:
        return []
    files = dict.fromkeys(each.resolve() for each in found)
    return [each for each in files if each != path.resolve()][:MAX_IMPORTS]


def _python_files(root: Path, path: Path, text: str) -> Iterator[Path]:
    for source, names, modules in _PYTHON.findall(text):
        for module in filter(None, (each.strip() for each in modules.split(","))):
            yield from _module_file(_folders(root, path), module)
        if source:
            yield from _files_of_from(root, path, source, names)


def _files_of_from(root: Path, path: Path, source: str, names: str) -> Iterator[Path]:
    """Yield what `from source import names` means: the module, or modules in the package."""
    dots = len(source) - len(source.lstrip("."))
    folders = [path.parents[dots - 1]] if 0 < dots <= len(path.parents) else _folders(root, path)
    module = source.lstrip(".")
    inside = [".".join(filter(None, (module, name))) for name in re.findall(r"\w+", names)[:10]]
    found = [file for each in inside for file in _module_file(folders, each)]
    yield from found or _module_file(folders, module)


def _folders(root: Path, path: Path) -> list[Path]:
    """The folders that a module is looked for in: beside the file that imports it, and those of the project."""
    return [path.parent, *(root / folder for folder in SOURCE_FOLDERS)]


def _module_file(folders: list[Path], module: str) -> list[Path]:
    parts = [part for part in module.split(".") if part]
    if not parts:
        return []
    tried = (
        file
        for folder in folders
        for file in (folder.joinpath(*parts).with_suffix(".py"), folder.joinpath(*parts, "__init__.py"))
    )
    return [found] if (found := next((file for file in tried if file.is_file()), None)) else []


def _script_files(path: Path, text: str) -> Iterator[Path]:
    for name in _SCRIPT.findall(text):
        target = path.parent / name
        tried = [target, *(target.with_name(target.name + suffix) for suffix in SCRIPT_SUFFIXES)]
        tried += [target.with_suffix(suffix) for suffix in (".ts", ".tsx") if target.suffix == ".js"]
        tried += [target / f"index{suffix}" for suffix in SCRIPT_SUFFIXES]
        if found := next((file for file in tried if file.is_file()), None):
            yield found
