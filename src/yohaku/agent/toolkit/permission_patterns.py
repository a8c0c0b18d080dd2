"""Keys of a shell command, by which a user's "always" is remembered.

Law: the key is the first words only where the command was understood as bash understands it, nothing in it can hide
another one, leave the project or read secrets, and only for programs that are harmless with these arguments; else it is
the exact command. When in doubt there is none.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from yohaku.agent.toolkit import program_rules
from yohaku.agent.toolkit.bash_wildcards import compile_wildcards, match_files
from yohaku.agent.toolkit.dry_run.values import drop_marks, has_wildcard, mark_wildcards, unmark
from yohaku.agent.toolkit.secret_search import FolderSearch
from yohaku.agent.toolkit.secrets import holds_secrets
from yohaku.agent.toolkit.tracked_files import read_past_secrets, read_tracked_names
from yohaku.analysis.bash_syntax import parse_bash
from yohaku.analysis.bash_tree import Pipeline, Redirect, Script, SimpleCommand, Word, bare_text, plain_text

MAX_COMMAND_CHARS = 2_000
SECRET_NAMES = tuple(
    ".env .env.local .envrc id_rsa id_ed25519 a.pem a.key credentials secrets.json .netrc .npmrc".split()
)
"""Examples of files that hold secrets."""

_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@+-]*")
_ACTIVE = re.compile(r"^~|[=:]~|\{.*(?:,|\.\.).*\}", re.DOTALL)
"""Unquoted characters that may be expanded, other than wildcards."""
_SAMPLES = re.compile(r"(?:^|/)(?:tests?|testdata|fixtures?|examples?|samples?|vendor|node_modules)/", re.IGNORECASE)
"""Folders whose files of secrets are made up."""
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")


class _PlainCommand(NamedTuple):
    words: tuple[str, ...]
    """Without quotes; wildcards that are not quoted are marked."""
    piped: bool
    """Whether it reads what another prints."""

    @property
    def texts(self) -> list[str]:
        return [unmark(word) for word in self.words]


class _Surroundings(NamedTuple):
    root: Path
    folders: list[Path]
    """Folders a command may run in: a `cd` before it may have failed."""
    environ: Mapping[str, str]


def permission_keys(command: str, root: Path, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the keys that must all be allowed for this command to need no question; empty where it must be asked."""
    if len(command) > MAX_COMMAND_CHARS or "\r" in command or "\0" in command:
        return ()
    script = parse_bash(command.strip())
    parts = _read_plain(script) if script.exact else None
    if not parts:
        return ()
    found: list[str] = []
    around = _Surroundings(root, [root], os.environ if environ is None else environ)
    for part in parts:
        key = _key(part, around)
        if not key or (key.startswith("=") and (part.piped or len(around.folders) > 1)):
            return ()  # the same words mean something else with other input, or in another folder
        found.append(key)
        if part.words[0] == "cd":
            around.folders.append((around.folders[-1] / unmark(part.words[1])).resolve())
    return tuple(dict.fromkeys(found))


def _read_plain(script: Script) -> list[_PlainCommand] | None:
    """Return the commands of a line that has nothing but words, pipes, `;`, `&&` and `||`; else None."""
    found: list[_PlainCommand] = []
    for item in script.items:
        nodes = item.node.commands if isinstance(item.node, Pipeline) and not item.node.negated else (item.node,)
        for at, node in enumerate(nodes):
            if not isinstance(node, SimpleCommand) or node.assignments or not node.words or item.connector == "&":
                return None
            words = [_mark(word) for word in node.words]
            if not all(map(_is_harmless, node.redirects)) or None in words:
                return None
            found.append(_PlainCommand(tuple(word for word in words if word is not None), at > 0))
    return found


def _is_harmless(redirect: Redirect) -> bool:
    """Return whether a redirection only discards, or joins output and errors."""
    target = bare_text(redirect.target)
    if redirect.operator == ">&":
        return target in ("1", "2")
    return (
        redirect.operator in (">", ">>", "&>", "&>>", "<") and target == "/dev/null" and redirect.descriptor[:1] != "{"
    )


def _mark(word: Word) -> str | None:
    """Return a word without quotes and with its wildcards marked; None where something in it is expanded."""
    bare = "".join(piece.value if piece.kind == "text" else "\0" for piece in word)
    if plain_text(word) is None or _ACTIVE.search(bare):
        return None
    return "".join(
        mark_wildcards(drop_marks(piece.value)) if piece.kind == "text" else drop_marks(piece.value) for piece in word
    )


def _exact_key(words: tuple[str, ...]) -> str:
    """Return a key for this very command; a wildcard is not the same as the quoted character."""
    return "=" + " ".join(unmark(word) if has_wildcard(word) else shlex.quote(word) for word in words)


def _key(part: _PlainCommand, around: _Surroundings) -> str:
    words = part.texts
    name, second, third = (*words, "", "")[:3]
    if not _PROGRAM.fullmatch(name) or has_wildcard(part.words[0]):
        return ""
    if any(_leaves_project(word, name, around) for word in part.words[1:]):
        return ""
    if name in ("cd", "pushd", "popd"):
        return name if name == "cd" and len(words) == 2 and _stays_put(part.words[1], around) else ""
    if program_rules.reads_below(words) and _meets_secrets(part, around):
        return ""
    if name == "git" and program_rules.shows_contents(words) and _tracks_secrets(around, words):
        return ""
    if program_rules.does_more(words):
        return _exact_key(part.words)
    if _PYTHON.fullmatch(name) and second == "-m" and third in program_rules.MODULES:
        return f"{name} -m {third}"
    if second in program_rules.VERBS.get(name, ()):
        if second not in program_rules.NESTED_VERBS or not third:
            return f"{name} {second}"
        return f"{name} {second} {third}" if _PROGRAM.fullmatch(third) else _exact_key(part.words)
    covered = name in program_rules.READ_ONLY_PROGRAMS | program_rules.CHECK_PROGRAMS
    return name if covered else _exact_key(part.words)


def _stays_put(word: str, around: _Surroundings) -> bool:
    """Return whether `cd` leads to the folder its words say: bash takes `..` off the name, also after a link."""
    text = unmark(word)
    if has_wildcard(word) or text.startswith("-") or (around.environ.get("CDPATH") and not text.startswith((".", "/"))):
        return False
    for folder in around.folders:
        written = Path(os.path.normpath(folder / text))
        if written != (folder / text).resolve() or not written.is_relative_to(around.root):
            return False
        steps = folder
        for step in Path(text).parts:  # a link on the way out and back
            steps = steps / step
            if steps.is_symlink():
                return False
    return True


def _leaves_project(word: str, name: str, around: _Surroundings) -> bool:
    """Return whether a word names something outside the project, or secrets, also through a link or a wildcard."""
    for path in _paths_in(word, name):
        if name == "git" and _may_name_secrets(path):
            return True
        for folder in around.folders:
            found = match_files(folder, path, around.environ) if has_wildcard(path) else [folder / path]
            if found is None or not all(_is_free(each, around.root) for each in found):
                return True
    return False


def _may_name_secrets(path: str) -> bool:
    """Return whether a wildcard, which git itself matches against files of any commit, could stand for secrets."""
    last = mark_wildcards(path.rpartition("/")[2])
    return has_wildcard(last) and any(map(compile_wildcards(last).fullmatch, SECRET_NAMES))


def _is_free(path: Path, root: Path) -> bool:
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a loop, or a name that cannot be one
        return False
    return real.is_relative_to(root) and not holds_secrets(str(path)) and not holds_secrets(str(real))


def _paths_in(word: str, name: str) -> Iterator[str]:
    """Yield what may be a path in a word: all of it, or what stands behind `=` or letters of options (`-nf.env`)."""
    if not word:
        return
    yield word
    yield from (word[at + 1 :] for at, letter in enumerate(word[:-1]) if letter == "=")
    if word.startswith("-"):
        letters = re.match(r"-\w*", word)
        yield from (word[at:] for at in range(2, min(letters.end() if letters else 0, 16) + 1) if word[at:])
    if name == "git":  # `HEAD:path`, `:(glob)path`
        yield from filter(None, re.split(r"[:)!]", word))


def _meets_secrets(part: _PlainCommand, around: _Surroundings) -> bool:
    """Return whether a search below folders meets a file that may hold secrets, or a link out of the project."""
    words = part.texts
    if part.piped and words[0] == "rg" and len([word for word in words[1:] if not word.startswith("-")]) < 2:
        return False  # it reads the pipe
    search = FolderSearch.from_words(words)
    for folder in around.folders:
        given = [folder / word for word in words[1:] if not word.startswith("-") and (folder / word).is_dir()]
        given += [path for word in part.words[1:] if has_wildcard(word)
                  for path in match_files(folder, word, around.environ) or [folder] if path.is_dir()]  # fmt: skip
        if not given and words[0] != "diff":
            given = [folder]
        if any(search.meets_secrets(top, around.root) for top in given):
            return True
    return False


def _tracks_secrets(around: _Surroundings, words: list[str]) -> bool:
    """Return whether git has files of secrets, also in the past where it looks at more than its index."""
    rest = words[2:]
    only_files = all(
        word.startswith("-") or any((folder / word).exists() for folder in around.folders) for word in rest
    )
    only_index = words[1] in ("diff", "add") and only_files and not any(re.match("--(?:cac|st)", word) for word in rest)
    names = read_tracked_names(around.root)
    past = () if only_index else read_past_secrets(around.root)
    if names is None or past is None:
        return True
    return any(holds_secrets(name) and not _SAMPLES.search(name) for name in (*names, *past))
