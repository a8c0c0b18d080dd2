from __future__ import annotations

import time

import pytest

from yohaku.analysis.outline import find_sections, render_outline

GO = "\n".join(
    [
        "package main",
        'import "fmt"',
        "",
        "type Server struct {",
        "\tport int",
        "}",
        "",
        "func main() {",
        '\tfmt.Println("hello")',
        "}",
        "",
        "func (s *Server) handle(r Request) error {",
        "\treturn nil",
        "}",
    ]
)


def test_each_part_has_its_lines_and_its_first_line_as_title() -> None:
    assert find_sections(GO) == [
        (1, 3, "imports"),
        (4, 7, "type Server struct"),
        (8, 11, "func main()"),
        (12, 14, "func (s *Server) handle(r Request) error"),
    ]


KNOWN = {
    "class A:\n    def f(self):\n        pass\n\nasync def g():\n    pass": ["class A", "def f(self)", "async def g()"],
    "pub(crate) fn a() {\n}\nimpl<T> B for C<T> {\n}\nenum D {}": [
        "pub(crate) fn a()",
        "impl<T> B for C<T>",
        "enum D {}",
    ],
    "export interface A {\n}\nexport const b = async () => {\n}\ntype C = string": [
        "export interface A",
        "export const b = async () =>",
        "type C = string",
    ],
    "public class A {\n    private static int f(int x) {\n        return x;\n    }\n}": [
        "public class A",
        "private static int f(int x)",
    ],
    "static int f(int x) {\n}\nint main(void) {\n  if (x) {\n  }\n}": ["static int f(int x)", "int main(void)"],
    "# A\ntext\n## B\ntext\n### C": ["# A", "## B", "### C"],
}


@pytest.mark.parametrize("text", KNOWN, ids=["python", "rust", "typescript", "java", "c", "markdown"])
def test_the_common_languages_are_known(text: str) -> None:  # L5
    assert [title for _, _, title in find_sections(text)] == KNOWN[text]


def test_a_comment_in_a_program_is_no_heading() -> None:
    assert [title for *_, title in find_sections("# about\ndef a():\n    pass\n# more\ndef b():\n    pass")] == [
        "beginning",
        "def a()",
        "def b()",
    ]


def test_a_text_without_structure_has_no_sections() -> None:
    assert find_sections("just a line\n" * 100) == []
    assert find_sections("def alone():\n    pass") == []
    assert find_sections("") == []


@pytest.mark.parametrize("mark", ["{:>6}\t", "{}: ", "{}|", "{:>5}→"])
def test_numbers_before_the_lines_are_taken_at_their_word(mark: str) -> None:
    numbered = "\n".join(mark.format(number) + line for number, line in enumerate(GO.split("\n"), 41))
    assert find_sections(numbered) == [(first + 40, last + 40, title) for first, last, title in find_sections(GO)]


def test_too_many_parts_are_told_without_what_is_inside_them_and_then_in_groups() -> None:
    classes = "\n".join(f"class C{n}:\n    def f(self):\n        pass" for n in range(30))
    assert [title for *_, title in find_sections(classes, limit=40)] == [f"class C{n}" for n in range(30)]
    assert find_sections(classes, limit=10)[:2] == [(1, 9, "class C0 and 2 more"), (10, 18, "class C3 and 2 more")]


def test_a_sketch_keeps_both_ends_and_says_how_to_read_the_rest() -> None:  # L5
    text = "\n".join(f"def f{n}():\n    return {n}\n" for n in range(60))
    shown = render_outline(text, "abc", ends=3, limit=5)
    assert shown is not None
    assert shown.split("\n") == [
        "def f0():",
        "    return 0",
        "",
        "[lines 4-176 of 179 folded; ref=abc]",
        "Structure:",
        "  1-36: def f0() and 11 more",
        "  37-72: def f12() and 11 more",
        "  73-108: def f24() and 11 more",
        "  109-144: def f36() and 11 more",
        "  145-179: def f48() and 11 more",
        "Give offset and limit for details.",
        "[the last 3 lines]",
        "",
        "def f59():",
        "    return 59",
    ]


def test_what_is_hardly_longer_than_its_sketch_has_none() -> None:
    assert render_outline(GO, "abc", ends=5) is None
    assert render_outline("no structure\n" * 500, "abc") is None


@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, " " * 1_000_000, "public " * 150_000, "def (\n" * 100_000, "#" * 10**6]
)
def test_no_text_makes_it_slow(text: str) -> None:
    began = time.process_time()
    find_sections(text)
    assert time.process_time() - began < 2
