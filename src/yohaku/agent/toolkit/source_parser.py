"""Declarations of a source text, by its grammar or by Python's own parser, found in a process of their own.

Law: no text can stall or end the program. Grammars take time by the square of a broken text, some gigabytes of memory;
after PARSE_SECONDS the process is ended, and the text has no declarations.

As a program it answers on standard output: for each line with a suffix and a number of bytes, and that many bytes of
text, one line of JSON. With "?" before the suffix the answer is the first syntax error instead, or null.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import IO, Any, NamedTuple

from yohaku.agent.toolkit.syntax_errors import DATA_SUFFIXES, SyntaxFault, locate_error

PARSE_SECONDS = 2.0
"""A second is enough for two megabytes that are well-formed."""
MAX_PARSER_BYTES = 2 << 30
MAX_TITLE_CHARS = 72
MAX_DEPTH = 3
PYTHON_SUFFIXES = (".py", ".pyi")

GRAMMARS = {
    **dict.fromkeys((".py", ".pyi"), ("tree_sitter_python", "language")),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": ("tree_sitter_c", "language"),
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh"), ("tree_sitter_cpp", "language")),
}
DECLARATION_NODES = frozenset(
    "class_definition function_definition class_declaration function_declaration generator_function_declaration "
    "method_definition abstract_class_declaration interface_declaration enum_declaration type_alias_declaration "
    "internal_module module method_declaration type_declaration function_item struct_item enum_item trait_item "
    "impl_item mod_item macro_definition union_item record_declaration annotation_type_declaration "
    "constructor_declaration struct_specifier class_specifier enum_specifier union_specifier namespace_definition "
    "preproc_function_def".split()
)
CONTAINER_NODES = frozenset(
    "decorated_definition export_statement template_declaration linkage_specification declaration_list class_body "
    "block field_declaration_list interface_body enum_body statement_block ambient_declaration lexical_declaration "
    "variable_declaration preproc_ifdef preproc_if preproc_else expression_statement enum_body_declarations".split()
)
"""Nodes that may contain declarations without being one."""
BODY_REQUIRED = frozenset("struct_specifier class_specifier enum_specifier union_specifier".split())
"""Declarations only if they have a body: `struct point p;` is a use."""


class Declaration(NamedTuple):
    first: int
    last: int
    title: str
    depth: int


@lru_cache(8)
def find_declarations(text: str, suffix: str) -> tuple[Declaration, ...]:
    """Return the declarations of a text in a file with this suffix; none if its language is not known."""
    if suffix not in GRAMMARS:
        return ()
    answer = _PARSER.ask(suffix, text.encode("utf-8", "replace"))
    try:
        return tuple(Declaration(*row) for row in json.loads(answer))
    except (ValueError, TypeError):  # the parser was ended, or could not be started
        return ()


@lru_cache(8)
def find_syntax_error(text: str, suffix: str) -> SyntaxFault | None:
    """Return the first error of a text in a file with this suffix; None if its language is not known."""
    if suffix not in GRAMMARS and suffix not in DATA_SUFFIXES:
        return None
    answer = _PARSER.ask(f"?{suffix}", text.encode("utf-8", "replace"))
    try:
        return SyntaxFault(*found) if (found := json.loads(answer)) else None
    except (ValueError, TypeError):  # the parser was ended, or could not be started
        return None


class _ParserProcess:
    """The process, started when it is first needed and again after it was ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = -1

    def ask(self, suffix: str, data: bytes) -> bytes:
        """Return the line it answers; empty if there is none in time."""
        with self._lock:
            try:
                process = self._running()
            except OSError:
                return b""
            answers: list[bytes] = []
            asking = threading.Thread(target=_exchange, args=(process, suffix, data, answers), daemon=True)
            asking.start()
            asking.join(PARSE_SECONDS)
            if not answers:
                self.end(asking)
            return answers[0] if answers else b""

    def end(self, asking: threading.Thread | None = None) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        if asking:
            asking.join()  # it holds the pipes until they end
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what it did not read cannot be flushed
                assert pipe is not None
                pipe.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self.end()
            command = [sys.executable, "-P", "-m", __name__]  # -P: the current folder may be anybody's
            paths = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=paths)
            self._owner = os.getpid()
        return self._process


def _exchange(process: subprocess.Popen[bytes], suffix: str, data: bytes, answers: list[bytes]) -> None:
    assert process.stdin is not None and process.stdout is not None
    with contextlib.suppress(OSError, ValueError):  # it was ended meanwhile
        process.stdin.write(f"{suffix} {len(data)}\n".encode() + data)
        process.stdin.flush()
        if (line := process.stdout.readline()).endswith(b"\n"):
            answers.append(line)


_PARSER = _ParserProcess()
atexit.register(_PARSER.end)


# In the process


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    while header := requests.readline().decode():
        suffix, size = header.split()
        data = requests.read(int(size))
        answers.write(json.dumps(_answer(suffix, data)).encode() + b"\n")
        answers.flush()


def _answer(suffix: str, data: bytes) -> list[Declaration] | SyntaxFault | None:
    if not suffix.startswith("?"):
        return _parse_with_grammar(data, suffix) or _parse_python(data, suffix)
    suffix = suffix.removeprefix("?")
    needed = suffix in GRAMMARS and suffix not in PYTHON_SUFFIXES
    return locate_error(data, suffix, _parser(*GRAMMARS[suffix]) if needed else None)


@cache
def _parser(module: str, language: str) -> Any:
    """Return the parser; None if the grammar is not installed."""
    try:
        sitter = import_module("tree_sitter")
        grammar = getattr(import_module(module), language)()
        return sitter.Parser(sitter.Language(grammar))
    except (ImportError, AttributeError, ValueError, TypeError):  # not there, or made for another version
        return None


def _parse_with_grammar(data: bytes, suffix: str) -> list[Declaration]:
    parser = _parser(*GRAMMARS[suffix])
    return list(_declared(parser.parse(data).root_node, data, 0)) if parser else []


def _declared(node: Any, data: bytes, depth: int) -> Iterator[Declaration]:
    for child in node.named_children:
        kind = child.type
        if kind in DECLARATION_NODES and not (kind in BODY_REQUIRED and child.child_by_field_name("body") is None):
            outer = child.parent if child.parent is not None and child.parent.type in OUTER else child
            yield _declaration(outer, child, data, depth)
            if depth + 1 < MAX_DEPTH and not kind.startswith(("function", "method", "generator", "constructor")):
                yield from _declared(child.child_by_field_name("body") or child, data, depth + 1)
        elif kind == "variable_declarator" and _is_function(child):
            yield _declaration(child.parent, child, data, depth)
        elif kind in CONTAINER_NODES:
            yield from _declared(child, data, depth)


OUTER = frozenset(("decorated_definition", "template_declaration", "export_statement"))
"""Wrappers that belong to the declaration inside: a range begins with its decorators."""


def _is_function(declarator: Any) -> bool:
    value = declarator.child_by_field_name("value")
    return value is not None and value.type in ("arrow_function", "function_expression", "function", "class")


def _declaration(outer: Any, inner: Any, data: bytes, depth: int) -> Declaration:
    body = inner.child_by_field_name("body")
    stop = body.start_byte if body is not None and body.start_byte > inner.start_byte else inner.end_byte
    start = outer.start_byte if outer.type == "export_statement" else inner.start_byte
    said = data[start : min(stop, start + 4 * MAX_TITLE_CHARS)].decode("utf-8", "ignore")
    said = said if body is not None else said.partition("\n")[0]
    return Declaration(outer.start_point[0] + 1, _last_line(outer), _shorten_title(said), depth)


def _last_line(node: Any) -> int:
    """Return the last line of a node; one that ends at column 0 does not include that line."""
    row, column = node.end_point
    return int(row) + (1 if column else 0)


def _parse_python(data: bytes, suffix: str) -> list[Declaration]:
    if suffix not in PYTHON_SUFFIXES:
        return []
    text = data.decode("utf-8", "replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_walk_python(tree, text.split("\n"), 0))


def _walk_python(tree: ast.AST, lines: list[str], depth: int) -> Iterator[Declaration]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first, last = _start_of(node)[0], node.end_lineno or node.lineno
            yield Declaration(first, last, _shorten_title(_signature(node, lines)), depth)
            if isinstance(node, ast.ClassDef) and depth + 1 < MAX_DEPTH:
                yield from _walk_python(node, lines, depth + 1)


def _start_of(node: ast.stmt) -> tuple[int, int]:
    """Return line and byte of a statement, decorators included."""
    above = [each.lineno for each in getattr(node, "decorator_list", ())]
    return (min(above), 0) if above else (node.lineno, node.col_offset)


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]) -> str:
    """Return the source before the body."""
    line, column = _start_of(node.body[0])
    last = lines[line - 1].encode("utf-8", "replace")[:column].decode("utf-8", "ignore")
    return " ".join([*lines[node.lineno - 1 : line - 1], last])[: 4 * MAX_TITLE_CHARS]


def _shorten_title(said: str) -> str:
    title = " ".join(said.split()).rstrip("{:; =")
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_PARSER_BYTES, MAX_PARSER_BYTES))


if __name__ == "__main__":
    _limit_memory()
    serve(sys.stdin.buffer, sys.stdout.buffer)
