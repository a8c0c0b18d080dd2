"""Parser of the words of bash: quotes, expansions and substitutions."""

from __future__ import annotations

import re
from typing import Literal

from yohaku.analysis.bash_tree import Script, Word, WordPiece

MAX_DEPTH = 24
"""Levels of nested substitutions and compound commands."""
METACHARACTERS = frozenset(" \t\r\n;&|<>()")
"""Characters that end a word."""
PLAIN = re.compile(r"[^\s'\"\\$`;&|<>()]+")

_IN_QUOTES = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\d|[@*#?$!_-]")
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)*)(`?)", re.DOTALL)
_ANSI_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)('?)", re.DOTALL)
_ANSI = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|[uU]([0-9a-fA-F]{1,8})|c(.)|(.))", re.DOTALL)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}


class WordParser:
    def __init__(self, text: str, depth: int) -> None:
        self.text, self.at, self.depth, self.exact = text, 0, depth, True
        """`exact`: all was understood so far as bash understands it."""

    def parse_script(self, *stops: str) -> Script:
        """Parse commands up to one of the words or operators `stops`, which is not consumed."""
        raise NotImplementedError

    def accept(self, word: str) -> None:
        """Consume a word or an operator that must come here."""
        raise NotImplementedError

    def parse_arithmetic(self, text: str) -> Script:
        """Return the commands substituted in an arithmetic expression."""
        if self.depth >= MAX_DEPTH or ("$" not in text and "`" not in text):
            return Script(())
        pieces = type(self)(text, self.depth + 1).parse_pieces(None)
        return Script(tuple(item for piece in pieces if piece.script for item in piece.script.items))

    def parse_word(self) -> Word:
        return tuple(self.parse_pieces(METACHARACTERS))

    def parse_pieces(self, ends: frozenset[str] | None) -> list[WordPiece]:
        """Parse up to an unquoted character of `ends`; None: to the end of the text."""
        pieces: list[WordPiece] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in "<>" and self.text[self.at + 1 : self.at + 2] == "(" and ends is not None:
                self.at += 1
                pieces.append(self._parse_substitution("process", quoted=False))
            elif ends is not None and char in ends:
                break
            else:
                self._parse_piece(char, pieces)
        return pieces

    def _parse_piece(self, char: str, pieces: list[WordPiece]) -> None:
        if char == "'":
            self._parse_single_quotes(pieces)
        elif char == '"':
            self._parse_double_quotes(pieces)
        elif char == "\\":
            escaped = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            if escaped != "\n":
                pieces.append(WordPiece("quoted", escaped))
        elif char in "$`":
            pieces.append(self._parse_expansion(quoted=False))
        else:
            found = PLAIN.match(self.text, self.at)
            pieces.append(WordPiece("text", found[0] if found else char))
            self.at = found.end() if found else self.at + 1

    def _parse_single_quotes(self, pieces: list[WordPiece]) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            self.exact = False
            end = len(self.text)
        pieces.append(WordPiece("quoted", self.text[self.at + 1 : end]))
        self.at = end + 1

    def _parse_double_quotes(self, pieces: list[WordPiece]) -> None:
        self.at += 1
        pieces.append(WordPiece("quoted"))
        while True:
            char = self.text[self.at : self.at + 1]
            if not char:
                self.exact = False
                return
            if char == '"':
                self.at += 1
                return
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                self.at += 2
                kept = escaped if escaped and escaped in '"\\$`' else "" if escaped == "\n" else "\\" + escaped
                pieces.append(WordPiece("quoted", kept))
            elif char in "$`":
                pieces.append(self._parse_expansion(quoted=True))
            else:
                found = _IN_QUOTES.match(self.text, self.at)
                assert found is not None
                pieces.append(WordPiece("quoted", found[0]))
                self.at = found.end()

    def _parse_expansion(self, *, quoted: bool) -> WordPiece:
        if self.text[self.at] == "`":
            return self._parse_backquotes(quoted)
        self.at += 1
        following = self.text[self.at : self.at + 1]
        if following == "'" and not quoted:
            return self._parse_ansi_quotes()
        if following == '"' and not quoted:  # a translated string
            pieces: list[WordPiece] = []
            self._parse_double_quotes(pieces)
            if all(piece.kind == "quoted" for piece in pieces):
                return WordPiece("quoted", "".join(piece.value for piece in pieces))
            self.exact = False
            return WordPiece("variable", "?", quoted=True)
        if self.text.startswith("((", self.at) and (end := self.find_arithmetic_end(self.at)):
            inner = self.text[self.at + 2 : end - 2]
            self.at = end
            return WordPiece("arithmetic", inner, quoted, self.parse_arithmetic(inner))
        if following == "(":
            return self._parse_substitution("command", quoted=quoted)
        if following == "{":
            closing = self._find_closing(self.at + 1, "{", "}")
            inner = self.text[self.at + 1 : closing]
            self.at = min(len(self.text), closing + 1)
            self.exact = self.exact and closing < len(self.text)
            return WordPiece("variable", inner, quoted)
        found = _NAME.match(self.text, self.at)
        if not found:
            return WordPiece("quoted" if quoted else "text", "$")
        self.at = found.end()
        return WordPiece("variable", found[0], quoted)

    def _parse_substitution(self, kind: Literal["command", "process"], *, quoted: bool) -> WordPiece:
        self.at += 1
        if self.depth >= MAX_DEPTH:
            self.exact = False
            self.at = len(self.text)
            return WordPiece(kind, "", quoted, Script((), exact=False))
        self.depth += 1
        start = self.at
        script = self.parse_script(")")
        inner = self.text[start : self.at]
        self.depth -= 1
        self.accept(")")
        return WordPiece(kind, inner, quoted, script)

    def _parse_backquotes(self, quoted: bool) -> WordPiece:
        found = _BACKQUOTED.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        inner = re.sub(r"\\([$`\\])", r"\1", found[1])
        if self.depth >= MAX_DEPTH:
            self.exact = False
            return WordPiece("command", inner, quoted, Script((), exact=False))
        script = type(self)(inner, self.depth + 1).parse_script()
        self.exact = self.exact and script.exact and bool(found[2])
        return WordPiece("command", inner, quoted, script)

    def _parse_ansi_quotes(self) -> WordPiece:
        found = _ANSI_QUOTED.match(self.text, self.at)
        assert found is not None
        self.at = found.end()
        self.exact = self.exact and bool(found[2])
        return WordPiece("quoted", _ANSI.sub(_decode_ansi, found[1]))

    def find_arithmetic_end(self, start: int) -> int:
        """Return the end of `((…))` at `start`; 0 where these are two subshells in one another."""
        closing = self._find_closing(start + 2, "(", ")")
        return closing + 2 if self.text.startswith("))", closing) else 0

    def _find_closing(self, start: int, opening: str, closing: str) -> int:
        """Return the place of the bracket that closes the one before `start`; the end of the text if there is none."""
        level, at = 1, start
        while at < len(self.text):
            char = self.text[at]
            if char == "\\":
                at += 1
            elif char in "'\"":
                end = self.text.find(char, at + 1)
                at = end if end >= 0 else at
            elif char == opening:
                level += 1
            elif char == closing:
                level -= 1
                if not level:
                    return at
            at += 1
        return len(self.text)


def _decode_ansi(found: re.Match[str]) -> str:
    octal, hexadecimal, point, control, letter = found.groups()
    if octal:
        return chr(int(octal, 8) & 0xFF)
    if hexadecimal or point:
        number = int(hexadecimal or point, 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_LETTERS.get(letter, letter if letter in "\\'\"?" else "\\" + letter)
