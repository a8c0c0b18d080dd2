"""Help pages and usage errors of a command line, in the user's language.

Law: in English they are what argparse writes, letter for letter. A sentence is looked up only when it is shown.
"""

from __future__ import annotations

import argparse
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from yohaku.messages import sentences

NOT_FIRST = "、。，．」』）】〉》：；！？・ー々…ぁぃぅぇぉっゃゅょァィゥェォッャュョ,.)]"
"""Characters that do not begin a line."""
STOPS = {"ja": "。"}
"""What ends a sentence, where it is not a full stop."""


def help_text(text: str, lang: str, facts: Mapping[str, str] | None = None) -> str:
    """Return the sentence of a code in the area `help`, or the translation of a sentence of argparse."""
    if found := sentences("help").get(f"help.{text}"):
        return found.get(lang, found["en"]).format(**(facts or {}))
    return text if lang == "en" else _argparse_sentences(lang).get(text, text)


def describe_command(code: str, lang: str, facts: Mapping[str, str] | None = None) -> str:
    """Return what a command does as a whole sentence."""
    about = help_text(code, lang, facts)
    return f"{about[:1].upper()}{about[1:]}{STOPS.get(lang, '.')}"


class HelpParser(argparse.ArgumentParser):
    """A parser whose help texts and titles are codes, and which reports an error in one line.

    `code` names what the command does; its examples have the code with `_examples` behind it.
    """

    def __init__(
        self, *, lang: str = "en", code: str = "", facts: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        self.lang, self.code, self.facts = lang, code, facts or {}
        options.setdefault("formatter_class", partial(HelpFormatter, lang=lang, facts=self.facts))
        super().__init__(**options)

    def add_commands(self, **options: Any) -> Any:
        """Return what `add_subparsers` does, for commands in the same language and with the same facts."""
        made: Any = partial(HelpParser, lang=self.lang, facts=self.facts)
        return self.add_subparsers(metavar="COMMAND", parser_class=made, **options)

    def format_help(self) -> str:
        if self.code:
            self.description = describe_command(self.code, self.lang, self.facts)
            examples = f"{self.code}_examples"
            self.epilog = examples if f"help.{examples}" in sentences("help") else None
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        with _argparse_in(self.lang):
            return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        line = sentences("help")["help.misuse"]
        self.exit(2, line.get(self.lang, line["en"]).format(prog=self.prog, message=message) + "\n")


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str, *, lang: str, facts: Mapping[str, str], **options: Any) -> None:
        super().__init__(prog, **options)
        self._lang, self._facts = lang, facts

    def _get_help_string(self, action: argparse.Action) -> str | None:
        return self._translate(action.help)

    def start_section(self, heading: str | None) -> None:
        super().start_section(self._translate(heading))

    def add_text(self, text: str | None) -> None:
        super().add_text(self._translate(text))

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, self._translate("usage: ") if prefix is None else prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        if not any(map(_is_wide, text)):
            return super()._split_lines(text, width)
        return list(wrap_columns(" ".join(text.split()), width))

    def _translate(self, text: str | None) -> str | None:
        return text if text in (None, argparse.SUPPRESS) else help_text(text, self._lang, self._facts)


class ArgumentType:
    """Type of an argument, with the name that an error gives it in the user's language."""

    def __init__(self, parse: Callable[[str], Any], code: str, lang: str) -> None:
        self._parse, self._code, self._lang = parse, code, lang

    def __call__(self, text: str) -> Any:
        return self._parse(text)

    @property
    def __name__(self) -> str:
        return help_text(self._code, self._lang)


def wrap_columns(text: str, width: int) -> Iterator[str]:
    """Yield lines of at most `width` columns. Japanese is broken between letters, everything else at spaces."""
    line, columns = "", 0
    for piece in _split_pieces(text):
        size = sum(1 + _is_wide(letter) for letter in piece)
        if line and columns + size > width and piece not in NOT_FIRST:
            yield line.rstrip()
            line, columns = "", 0
        if line or piece != " ":
            line, columns = line + piece, columns + size
    if line:
        yield line.rstrip()


def _split_pieces(text: str) -> Iterator[str]:
    """Yield spaces, wide letters, and words of narrow ones."""
    word = ""
    for letter in text:
        if letter != " " and not _is_wide(letter):
            word += letter
            continue
        if word:
            yield word
        yield letter
        word = ""
    if word:
        yield word


def _is_wide(letter: str) -> bool:
    return unicodedata.east_asian_width(letter) in "WF"


def _argparse_sentences(lang: str) -> dict[str, str]:
    found = ((code, each) for code, each in sentences("help").items() if code.startswith("argparse."))
    return {each["en"]: each.get(lang, each["en"]) for _, each in found}


@contextmanager
def _argparse_in(lang: str) -> Iterator[None]:
    """Let argparse write its errors in another language; it looks its sentences up by these two functions."""
    if lang == "en":
        yield
        return
    names: Sequence[str] = ("_", "ngettext")
    before = {name: getattr(argparse, name) for name in names}
    argparse._ = partial(help_text, lang=lang)  # type: ignore[attr-defined]
    argparse.ngettext = lambda one, many, count: help_text(many, lang)  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(argparse, name, function)
