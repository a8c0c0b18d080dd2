"""Outline of a source file with line ranges: by its grammar where one is installed, else by its layout.

Law: line numbers are those of the file, from 1; a file that cannot be parsed has no outline, and raises no error.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import PurePath
from typing import Any, NamedTuple

from yohaku.analysis.outline import find_sections

MAX_TITLE_CHARS = 72
MAX_PARSED_CHARS = 2 * 1024 * 1024
MAX_DEPTH = 3

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


_DECLARED = re.compile(
    r"\b(?:def|class|function|fn|func(?:\s*\([^)]*\))?|type|struct|enum|union|trait|interface|mod|module|namespace|record)"
    r"\s+([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*\(",
    re.ASCII,
)


class Section(NamedTuple):
    first: int
    last: int
    title: str
    depth: int = 0

    @property
    def name(self) -> str:
        """The declared name; empty where none is found."""
        found = _DECLARED.search(self.title)
        return found[1] or found[2] if found else ""

    def __str__(self) -> str:
        return f"{'  ' * self.depth}{self.first}-{self.last}: {self.title}"


def outline_source(text: str, name: str, most: int = 80) -> list[Section]:
    """Return the outline of a text in a file of this name; with too many sections the deepest are left out first."""
    found = declarations(text, name)
    if len(found) < 2:
        found = [Section(*each) for each in find_sections(text, 1, most)]
    for depth in (2, 1):
        if len(found) > most:
            outer = [each for each in found if each.depth < depth]
            found = outer if len(outer) > 1 else found
    return found if len(found) <= most else _group(found, most)


def declarations(text: str, name: str) -> list[Section]:
    """Return the declarations of a text in a file of this name; none if its language is not known."""
    return _parse_with_grammar(text, name) or _parse_python(text, name)


def render_sketch(lines: list[str], parts: list[Section], ends: int) -> str | None:
    """Return the first and last lines, numbered, with the structure between them; None where that saves little."""
    if not parts or len(lines) <= 2 * ends + len(parts) + 4:
        return None
    count = len(lines)
    span = f"lines {ends + 1}-{count - ends} of {count}"
    hidden = f"[{span} are not shown; give offset and limit for details. Structure:]"
    last = [f"{number}\t{line}" for number, line in enumerate(lines[-ends:], count - ends + 1)]
    first = [f"{number}\t{line}" for number, line in enumerate(lines[:ends], 1)]
    return "\n".join([*first, hidden, *map(str, parts), "[the last lines:]", *last])


@cache
def _parser(module: str, language: str) -> Any:
    """Return the parser; None if the grammar is not installed."""
    try:
        sitter = import_module("tree_sitter")
        grammar = getattr(import_module(module), language)()
        return sitter.Parser(sitter.Language(grammar))
    except (ImportError, AttributeError, ValueError, TypeError):  # not there, or made for another version
        return None


def _parse_with_grammar(text: str, name: str) -> list[Section]:
    grammar = GRAMMARS.get(PurePath(name).suffix.lower())
    parser = _parser(*grammar) if grammar and len(text) <= MAX_PARSED_CHARS else None
    if parser is None:
        return []
    data = text.encode("utf-8", "replace")
    return list(_declared(parser.parse(data).root_node, data, 0))


def _declared(node: Any, data: bytes, depth: int) -> Iterator[Section]:
    for child in node.named_children:
        kind = child.type
        if kind in DECLARATION_NODES and not (kind in BODY_REQUIRED and child.child_by_field_name("body") is None):
            outer = child.parent if child.parent is not None and child.parent.type in OUTER else child
            yield _section(outer, child, data, depth)
            if depth + 1 < MAX_DEPTH and not kind.startswith(("function", "method", "generator", "constructor")):
                yield from _declared(child.child_by_field_name("body") or child, data, depth + 1)
        elif kind == "variable_declarator" and _is_function(child):
            yield _section(child.parent, child, data, depth)
        elif kind in CONTAINER_NODES:
            yield from _declared(child, data, depth)


OUTER = frozenset(("decorated_definition", "template_declaration", "export_statement"))
"""Wrappers that belong to the declaration inside: a range begins with its decorators."""


def _is_function(declarator: Any) -> bool:
    value = declarator.child_by_field_name("value")
    return value is not None and value.type in ("arrow_function", "function_expression", "function", "class")


def _section(outer: Any, inner: Any, data: bytes, depth: int) -> Section:
    body = inner.child_by_field_name("body")
    stop = body.start_byte if body is not None and body.start_byte > inner.start_byte else inner.end_byte
    start = outer.start_byte if outer.type == "export_statement" else inner.start_byte
    said = data[start : min(stop, start + 4 * MAX_TITLE_CHARS)].decode("utf-8", "ignore")
    said = said if body is not None else said.partition("\n")[0]
    return Section(outer.start_point[0] + 1, _last_line(outer), _shorten_title(said), depth)


def _last_line(node: Any) -> int:
    """Return the last line of a node; one that ends at column 0 does not include that line."""
    row, column = node.end_point
    return int(row) + (1 if column else 0)


def _parse_python(text: str, name: str) -> list[Section]:
    if PurePath(name).suffix.lower() not in (".py", ".pyi") or len(text) > MAX_PARSED_CHARS:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return list(_walk_python(tree, text.split("\n"), 0))


def _walk_python(tree: ast.AST, lines: list[str], depth: int) -> Iterator[Section]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first, last = _start_of(node)[0], node.end_lineno or node.lineno
            yield Section(first, last, _shorten_title(_signature(node, lines)), depth)
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


def _group(found: list[Section], most: int) -> list[Section]:
    """Merge neighbouring sections until at most `most` are left."""
    every = -(-len(found) // most)
    groups = [found[at : at + every] for at in range(0, len(found), every)]
    return [
        Section(group[0].first, max(each.last for each in group), _with(group[0].title, len(group) - 1))
        for group in groups
    ]


def _with(title: str, more: int) -> str:
    return f"{title} and {more} more" if more else title
