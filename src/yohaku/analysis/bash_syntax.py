"""Parser of bash: a command line becomes a tree in which every word knows what was quoted and what is expanded.

Used where a wrong guess does harm, as in permissions; `analysis/shell.py` is the quick splitter for old conversations.
Law: parsing never fails and takes time linear in the text. What bash would refuse, or what is nested too deeply, is
read as well as possible and `Script.exact` is false.
"""

from __future__ import annotations

import re

from yohaku.analysis.bash_tree import (
    Assignment,
    Compound,
    Item,
    Node,
    Pipeline,
    Redirect,
    Script,
    SimpleCommand,
    Word,
    WordPiece,
    bare_text,
    plain_text,
)
from yohaku.analysis.bash_words import MAX_DEPTH, METACHARACTERS, PLAIN, WordParser


def parse_bash(text: str) -> Script:
    return BashParser(text, 0).parse_script()


def parse_word(text: str) -> Word:
    """Parse one word, as the default in `${name:-word}`."""
    return tuple(BashParser(text, 1).parse_pieces(None))


_BLANK = re.compile(r"(?:[ \t\r]+|\\\r?\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_CONNECTOR = re.compile(r"&&|\|\||;;&|;;|;&|;|\|&|\||&(?!>)|\n")
_REDIRECT = re.compile(r"(\d+|\{\w+\})?(&>>|&>|<<<|<<-?|<>|<&|>>|>\||>&|<(?!\()|>(?!\())")
_PIPE = re.compile(r"\|&?(?!\|)")
_CASE_END = re.compile(r";;&|;;|;&")
_NO_PARAMETERS = re.compile(r"\([ \t]*\)")
_CLOSING_WORDS = frozenset("then do done fi elif else esac in } ]]".split())
_KEY = re.compile(r"\[[^\]\n]*\]=")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?(\+?)=")


class BashParser(WordParser):
    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self._heredocs: list[Redirect] = []
        """Redirections whose text follows after the line."""

    # Lists and compound commands

    def _parse_items(self, stops: frozenset[str]) -> tuple[Item, ...]:
        """Parse commands up to a word or an operator of `stops`, which is not consumed."""
        items: list[Item] = []
        while True:
            self._skip_lines()
            if self.at >= len(self.text) or self._at_stop(stops):
                if (stops and not items) or (items and items[-1].connector in ("&&", "||")):
                    self.exact = False
                return tuple(items)
            before = self.at
            node = self._parse_pipeline()
            connector = self._take_connector()
            if node:
                items.append(Item(node, connector))
            else:  # an operator that cannot stand here
                self.exact = False
                self.at = max(self.at, before + 1)

    def _take_connector(self) -> str:
        self._skip_blank()
        found = _CONNECTOR.match(self.text, self.at)
        if not found or found[0].startswith(";;") or found[0] == ";&":
            return ";"
        self._consume(found.end())
        return found[0] if found[0] in ("&&", "||", "&") else ";"

    def _consume(self, end: int) -> None:
        """Move on; after a line feed read the heredocs that were opened before it."""
        line_ended = self.text[end - 1 : end] == "\n"
        self.at = end
        if line_ended and self._heredocs:
            self._read_heredocs()

    def _skip_blank(self) -> None:
        found = _BLANK.match(self.text, self.at)
        if found:
            self.at = found.end()
        comment = _COMMENT.match(self.text, self.at)
        if comment and (not self.at or self.text[self.at - 1] in METACHARACTERS):
            self.at = comment.end()

    def _skip_lines(self) -> None:
        self._skip_blank()
        while self.text[self.at : self.at + 1] == "\n":
            self._consume(self.at + 1)
            self._skip_blank()

    def _peek_word(self) -> str:
        """Return the unquoted characters that come next, without consuming them."""
        found = PLAIN.match(self.text, self.at)
        if not found or self.text[found.end() : found.end() + 1] in ("'", '"', "\\", "$", "`"):
            return ""
        return found[0]

    def _at_stop(self, stops: frozenset[str]) -> bool:
        return self._peek_word() in stops or any(
            self.text.startswith(mark, self.at) for mark in (")", ";;", ";&") if mark in stops
        )

    def accept(self, word: str) -> None:
        """Consume a word or an operator that must come here."""
        self._skip_lines()
        if self.text.startswith(word, self.at):
            self.at += len(word)
        else:
            self.exact = False

    def _parse_pipeline(self) -> Node | None:
        negated = False
        while self._peek_word() in ("!", "time"):
            negated = True
            self.at += len(self._peek_word())
            self._skip_blank()
            if self._peek_word() == "-p":
                self.at += 2
                self._skip_blank()
        commands: list[Node] = []
        while True:
            node = self._parse_command()
            if node:
                commands.append(node)
            else:
                self.exact = False
            self._skip_blank()
            found = _PIPE.match(self.text, self.at)
            if not found:
                break
            self.at = found.end()
            self._skip_lines()
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(tuple(commands), negated) if commands else None

    def _parse_command(self) -> Node | None:
        if self.depth >= MAX_DEPTH:
            self.exact = False
            self.at = len(self.text)
            return None
        self.depth += 1
        try:
            word = self._peek_word()
            if self.text.startswith("((", self.at) and (end := self.find_arithmetic_end(self.at)):
                return self._parse_arithmetic_command(end)
            if self.text[self.at : self.at + 1] == "(":
                self.at += 1
                return self._finish(Compound("subshell", (self.parse_script(")"),)), ")")
            if word == "{":
                self.at += 1
                return self._finish(Compound("group", (self.parse_script("}"),)), "}")
            if word in ("if", "while", "until", "for", "select", "case", "function", "[["):
                self.at += len(word)
                return self._parse_keyword(word)
            return self._parse_simple()
        finally:
            self.depth -= 1

    def parse_script(self, *stops: str) -> Script:
        items = self._parse_items(frozenset(stops))
        return Script(items, self.exact and not self._heredocs)

    def _finish(self, node: Compound, closing: str) -> Compound:
        """Consume the word that closes a compound command, and the redirections behind it."""
        self.accept(closing)
        redirects: list[Redirect] = []
        while True:
            self._skip_blank()
            if not self._take_redirect(redirects):
                return node._replace(redirects=tuple(redirects)) if redirects else node

    def _parse_keyword(self, word: str) -> Node:
        if word == "[[":
            return self._parse_test()
        if word == "if":
            return self._parse_if()
        if word == "case":
            return self._parse_case()
        if word == "function":
            self._skip_blank()
            name = self._peek_word()
            self.at += len(name)
            self._skip_blank()
            if self.text.startswith("()", self.at):
                self.at += 2
            return self._parse_function(name)
        if word in ("while", "until"):
            condition = self.parse_script("do")
            self.accept("do")
            return self._finish(Compound("loop", (condition, self.parse_script("done"))), "done")
        return self._parse_for()

    def _parse_if(self) -> Compound:
        parts = [self.parse_script("then")]
        while True:
            self.accept("then")
            parts.append(self.parse_script("elif", "else", "fi"))
            if self._peek_word() != "elif":
                break
            self.at += len("elif")
            parts.append(self.parse_script("then"))
        if self._peek_word() == "else":
            self.at += len("else")
            parts.append(self.parse_script("fi"))
        return self._finish(Compound("if", tuple(parts)), "fi")

    def _parse_for(self) -> Compound:
        self._skip_blank()
        head, name = SimpleCommand(()), self._peek_word()
        words: tuple[Word, ...] = ()
        if self.text.startswith("((", self.at):
            head = self._parse_arithmetic_command(self.find_arithmetic_end(self.at) or len(self.text))
        else:
            self.at += len(name)
            words = self._parse_for_words()
        self._skip_lines()
        if self.text[self.at : self.at + 1] == ";":
            self.at += 1
            self._skip_lines()
        closing = "}" if self._peek_word() == "{" else "done"
        self.accept("{" if closing == "}" else "do")
        body = self.parse_script(closing)
        return self._finish(Compound("for", (Script((Item(head, ";"),)), body), words, name), closing)

    def _parse_for_words(self) -> tuple[Word, ...]:
        self._skip_lines()
        if self._peek_word() != "in":
            return ((WordPiece("variable", "@", quoted=True),),)
        self.at += len("in")
        words: list[Word] = []
        while True:
            self._skip_blank()
            word = self.parse_word()
            if not word:
                return tuple(words)
            words.append(word)

    def _parse_case(self) -> Compound:
        self._skip_lines()
        words = [self.parse_word()]
        self._skip_lines()
        self.accept("in")
        parts: list[Script] = []
        while True:
            self._skip_lines()
            if self.at >= len(self.text) or self._peek_word() == "esac":
                return self._finish(Compound("case", tuple(parts), tuple(words)), "esac")
            before = self.at
            while self.at < len(self.text) and self.text[self.at] != ")":
                self._skip_lines()
                if self.text[self.at : self.at + 1] in ("(", "|"):
                    self.at += 1
                elif not self.parse_word():
                    break
            self.accept(")")
            parts.append(self.parse_script(";;", ";&", "esac"))
            found = _CASE_END.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at == before:
                self.exact = False
                self.at += 1

    def _parse_test(self) -> SimpleCommand:
        """Parse `[[ … ]]`, within which operators are words."""
        words: list[Word] = [(WordPiece("text", "[["),)]
        while self.at < len(self.text):
            self._skip_lines()
            word = self.parse_word()
            if word:
                words.append(word)
                if bare_text(word) == "]]":
                    return SimpleCommand(tuple(words))
            else:
                self.exact = self.exact and self.text[self.at : self.at + 1] in ("(", ")", "|", "&", "<", ">", "")
                self.at += 1
        self.exact = False
        return SimpleCommand(tuple(words))

    def _parse_function(self, name: str) -> Compound:
        self._skip_lines()
        body = self._parse_command()
        if not isinstance(body, Compound) or body.kind == "function":
            self.exact = False
        return Compound("function", (Script((Item(body, ";"),) if body else ()),), name=name)

    def _parse_arithmetic_command(self, end: int) -> SimpleCommand:
        inner = self.text[self.at + 2 : end - 2]
        self.at = end
        return SimpleCommand(((WordPiece("arithmetic", inner, script=self.parse_arithmetic(inner)),),))

    # Simple commands

    def _parse_simple(self) -> Node | None:
        words: list[Word] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        if self._peek_word() in _CLOSING_WORDS:
            self.exact = False
        while True:
            self._skip_blank()
            if self._take_redirect(redirects):
                continue
            assigned = None if words else self._take_assignment()
            if assigned:
                assignments.append(assigned)
                continue
            word = self.parse_word()
            if not word:
                break
            words.append(word)
            declared = self._take_array(words)
            if declared:
                words[-1] = declared
            if len(words) == 1 and self.text.startswith("(", self.at):
                self.exact = self.exact and not assignments and not redirects
                return self._parse_parenthesis(bare_text(word))
        if not words and not assignments and not redirects:
            return None
        return SimpleCommand(tuple(words), tuple(assignments), tuple(redirects))

    def _parse_parenthesis(self, name: str) -> Compound | None:
        found = _NO_PARAMETERS.match(self.text, self.at)
        if found and name:
            self.at = found.end()
            return self._parse_function(name)
        self.exact = False
        self.at += 1
        return None

    def _take_assignment(self) -> Assignment | None:
        found = _ASSIGNMENT.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        if self.text[self.at : self.at + 1] == "(":
            return Assignment(found[1], self._parse_array(), bool(found[3]))
        return Assignment(found[1], (self.parse_word(),), bool(found[3] or found[2]))

    def _take_array(self, words: list[Word]) -> Word | None:
        """Read the values of `declare a=(…)` into one word."""
        text = plain_text(words[-1]) or ""
        if len(words) < 2 or not text.endswith("=") or self.text[self.at : self.at + 1] != "(":
            return None
        spaced: list[WordPiece] = []
        for value in self._parse_array():
            spaced += [*value, WordPiece("quoted", " ")]
        return (*words[-1], *spaced)

    def _parse_array(self) -> tuple[Word, ...]:
        self.at += 1
        values: list[Word] = []
        while True:
            self._skip_lines()
            key = _KEY.match(self.text, self.at)
            self.at = key.end() if key else self.at
            word = self.parse_word()
            if not word and not key:
                self.accept(")")
                return tuple(values)
            values.append(word)

    def _take_redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.at)
        if not found:
            return False
        self.at = found.end()
        self._skip_blank()
        misplaced = _REDIRECT.match(self.text, self.at)
        target = self.parse_word()
        if not target or misplaced:
            self.exact = False
        redirects.append(Redirect(found[2], target, found[1] or ""))
        if found[2] in ("<<", "<<-"):
            self._heredocs.append(redirects[-1])
        return True

    def _read_heredocs(self) -> None:
        waiting, self._heredocs = self._heredocs, []
        for redirect in waiting:
            ending = re.escape(plain_text(redirect.target) or "")
            indent = "\t*" if redirect.operator == "<<-" else ""
            found = re.compile(rf"^{indent}{ending}[ \t\r]*(?:$|(?=\)))", re.MULTILINE).search(self.text, self.at)
            self.exact = self.exact and bool(found)
            end, after = found.span() if found else (len(self.text), len(self.text))
            redirect.body = self.text[self.at : end]
            self.at = min(len(self.text), after + (self.text[after : after + 1] == "\n"))
