"""Write docs/errors.md: every code of an error, what it means and what to do next. Takes no arguments."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from scripts.page_tables import quote, table  # noqa: E402 - nothing need be installed
from yohaku.core import errors  # noqa: E402
from yohaku.core.errors import YohakuError  # noqa: E402
from yohaku.messages import LANGUAGES, find, sentences  # noqa: E402

PAGE = ROOT / "docs" / "errors.md"
SOURCE = ROOT / "src" / "yohaku"
HOST_ERRORS = ("ModelNotFound", "CannotServe", "DownloadFailed")
"""Errors of finding and starting a model; their sentences are `host_<code>`."""


def library_codes() -> dict[str, str]:
    """Return the exception of each code that the library raises."""
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, YohakuError)]
    found = {kind.code: kind.__name__ for kind in classes}
    found |= dict.fromkeys(constants_given_to("BadSetting", keyword="code"), "BadSetting")
    return {
        code: found.get(code, found[code.removesuffix("_pinned")]) for code in sorted({*found, "does_not_fit_pinned"})
    }


def server_codes() -> list[str]:
    """Return the codes of requests that fail: all that are written in the module of their exceptions."""
    tree = ast.parse((SOURCE / "client" / "errors.py").read_text("utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return sorted(code for code in sentences("client") if code in texts)


def host_codes() -> dict[str, str]:
    found = {code: name for name in HOST_ERRORS for code in constants_given_to(name)}
    return dict(sorted(found.items()))


def constants_given_to(name: str, keyword: str = "") -> Iterator[str]:
    """Yield the texts that the source gives to calls of `name`: as this keyword, or else as the first argument."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                given = [each.value for each in node.keywords if each.arg == keyword] if keyword else node.args[:1]
                given += node.args[1:2] if keyword else []
                yield from (str(value.value) for value in given if isinstance(value, ast.Constant))


def in_languages(code: str) -> list[str]:
    """Return a sentence in each language, with its facts as names in capitals."""
    sentence = find(code)
    if sentence is None:
        raise SystemExit(f"{code} has no sentence in src/yohaku/messages")
    return [re.sub(r"\{(\w+)[^}]*\}", lambda fact: fact[1].upper(), sentence[lang]) for lang in LANGUAGES]


def page() -> str:
    library = [(quote(code), quote(name), *in_languages(f"remedy.{code}")) for code, name in library_codes().items()]
    server = [(quote(code), *in_languages(code)) for code in server_codes()]
    host = [(quote(code), quote(name), *in_languages(f"host_{code}")) for code, name in host_codes().items()]
    return f"""# Errors

<!-- Written by `python3 dev.py pages`; edit the code, not this page. -->

On the command line an error is one line that says what is wrong, where, and what to do next, in the language of your
messages; exit codes are in [commands](commands.md). In a program every error is a `YohakuError` with a `code` and the
`facts` that fill its sentence.

## Of the library

{table(("code", "exception", "what it means, and what to do", "日本語"), library)}

## Of a model's server

Raised as subclasses of `RequestFailed` in `yohaku.client.errors`. In the agent each is said as it stands here; what you
typed is not lost.

{table(("code", "what is said", "日本語"), server)}

## Of finding and starting a model

{table(("code", "exception", "what is said", "日本語"), host)}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
