from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from yohaku.agent.toolkit import source_parser
from yohaku.agent.toolkit.source_outline import Section, outline_source, render_sketch

PYTHON = """import os

@cached
def first(a,
          b):
    return a

class Shop:
    size = 1

    @property
    def door(self) -> int:
        def inner(): ...
        return 2

    async def open(self): pass
"""
SOURCES = {
    "a.py": (PYTHON, ["3-6: def first(a, b)", "8-16: class Shop", "  11-14: def door(self) -> int",
                      "  16-16: async def open(self)"]),
    "a.js": ("const a = 1;\nfunction f() {\n}\nclass B {\n  m() {\n  }\n}\nconst g = () => {\n};\n",
             ["2-3: function f()", "4-7: class B", "  5-6: m()", "8-9: g = () =>"]),
    "a.ts": ("export interface I {\n  a: number\n}\nexport class C extends D {\n  private m(a: T): void {\n  }\n}\n",
             ["1-3: export interface I", "4-7: export class C extends D", "  5-6: private m(a: T): void"]),
    "a.go": ("package main\n\ntype S struct {\n\tA int\n}\n\nfunc (s *S) M() error {\n\treturn nil\n}\n",
             ["3-5: type S struct", "7-9: func (s *S) M() error"]),
    "a.rs": ("pub struct P { a: i32 }\nimpl P {\n    pub fn new() -> Self {\n        P{a:1}\n    }\n}\n",
             ["1-1: pub struct P", "2-6: impl P", "  3-5: pub fn new() -> Self"]),
    "A.java": ("package a;\npublic class A {\n  public int m(int a) {\n    return a;\n  }\n  enum E { X }\n}\n",
               ["2-7: public class A", "  3-5: public int m(int a)", "  6-6: enum E"]),
    "a.c": ("struct point { int x; };\nstruct point p;\nstatic int add(int a, int b)\n{\n  return a+b;\n}\n",
            ["1-1: struct point", "3-6: static int add(int a, int b)"]),
    "a.cpp": ("namespace n {\ntemplate<typename T>\nclass V {\n  void push(T t) { }\n};\n}\nint main() { return 0; }\n",
              ["1-6: namespace n", "  2-5: class V", "    4-4: void push(T t)", "7-7: int main()"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SOURCES)
def test_the_ranges_are_those_of_the_file(name: str) -> None:
    pytest.importorskip("tree_sitter")
    source, told = SOURCES[name]
    assert [str(section) for section in outline_source(source, name)] == told


@pytest.fixture
def no_grammars(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Parse in this process, where no grammar is found."""

    def ask(suffix: str, data: bytes) -> bytes:
        answer = io.BytesIO()
        source_parser.serve(io.BytesIO(f"{suffix} {len(data)}\n".encode() + data), answer)
        return answer.getvalue()

    monkeypatch.setattr(source_parser, "_parser", lambda *_: None)
    monkeypatch.setattr(source_parser._PARSER, "ask", ask)
    source_parser.find_declarations.cache_clear()
    yield
    source_parser.find_declarations.cache_clear()


@pytest.mark.usefixtures("no_grammars")
def test_without_a_grammar_python_is_read_by_its_own_parser() -> None:
    assert [str(section) for section in outline_source(PYTHON, "a.py")] == SOURCES["a.py"][1]


@pytest.mark.usefixtures("no_grammars")
def test_without_a_grammar_other_sources_are_read_by_their_look() -> None:
    assert [str(section) for section in outline_source(SOURCES["a.go"][0], "a.go")] == [
        "1-2: imports", "3-6: type S struct", "7-9: func (s *S) M() error",
    ]  # fmt: skip


def test_a_text_that_its_grammar_cannot_parse_in_time_is_outlined_by_its_look(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tree_sitter_typescript")
    monkeypatch.setattr(source_parser, "PARSE_SECONDS", 0.5)
    broken = "function f() {\n}\nfunction g() {\n}\n" + "a::b<" * 20_000
    parser = source_parser._PARSER
    assert [str(section) for section in outline_source(broken, "a.tsx")] == ["1-2: function f()", "3-5: function g()"]
    assert parser._process is None, "the parser still runs"
    monkeypatch.undo()
    source, told = SOURCES["a.ts"]
    assert [str(section) for section in outline_source(source, "a.ts")] == told
    assert parser._process is not None and parser._process.poll() is None


def test_the_parser_loads_nothing_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    source_parser._PARSER.end()
    source_parser.find_declarations.cache_clear()
    assert [str(section) for section in outline_source(PYTHON, "a.py")] == SOURCES["a.py"][1]


def test_a_broken_file_still_has_an_outline() -> None:
    broken = PYTHON + "\ndef (((:\n  '''\n\nclass Late:\n    pass\n"
    assert "8-16: class Shop" in [str(section) for section in outline_source(broken, "a.py")]


def test_japanese_names_are_not_cut_in_two() -> None:
    source = "class 店:\n    def 開ける(self, 鍵='あ' * 3):\n        return '日本語'\n\ndef 閉める():\n    pass\n"
    assert [str(section) for section in outline_source(source, "a.py")] == [
        "1-3: class 店", "  2-3: def 開ける(self, 鍵='あ' * 3)", "5-6: def 閉める()",
    ]  # fmt: skip


def test_of_too_many_parts_the_inner_ones_go_first_and_the_rest_is_grouped() -> None:
    classes = "".join(f"class C{number}:\n    def m(self): pass\n" for number in range(30))
    assert outline_source(classes, "a.py", 40)[0] == Section(1, 2, "class C0")
    assert len(outline_source(classes, "a.py", 40)) == 30
    assert outline_source(classes, "a.py", 10)[0] == Section(1, 6, "class C0 and 2 more")
    assert len(outline_source(classes, "a.py", 10)) == 10


@pytest.mark.parametrize("text", ["", "plain words\n" * 300, "a" * 100_000, "\n" * 5_000])
def test_what_has_no_structure_has_no_outline(text: str) -> None:
    assert outline_source(text, "a.txt") == []


def test_a_sketch_shows_both_ends_with_their_numbers() -> None:
    lines = [f"x{number} = {number}" for number in range(1, 201)]
    drawn = render_sketch(lines, [Section(3, 190, "def f()")], 2)
    assert drawn == (
        "1\tx1 = 1\n2\tx2 = 2\n[lines 3-198 of 200 are not shown; give offset and limit for details. Structure:]\n"
        "3-190: def f()\n[the last lines:]\n199\tx199 = 199\n200\tx200 = 200"
    )
    assert render_sketch(lines[:6], [Section(1, 6, "f")], 2) is None
