"""How much a line tells a reader who does not see its neighbours.

A definition, a value, an error or a sentence stands for itself; a call in the middle of a function, an import or a
closing bracket does not, whatever it names. The first line of a function in a file that was read says little without
its body.
"""

from __future__ import annotations

import re

from yohaku.digest.output_shape import names_trouble

PROSE, DEFINITION, VALUE, TROUBLE = 1.0, 1.3, 1.0, 1.5
CHANGED = 1.5
FRAGMENT = 0.3
"""Of code or data that says little without what stands around it."""
FILE_VALUE = 0.5
"""Of a value in a file that was read: more of the file stands in passages, with what is around it."""
BOILERPLATE = 0.1
"""Of an import, and of what programs print around their output."""
MIN_PROSE_WORDS = 5
MIN_PROSE_CHARS_JA = 12

_FILE_LINE = re.compile(r"\s*\d{1,7}[→|:\t]")
_PLACE = re.compile(r"^\s*(?:\d{1,7}[→|:\t]|[^\s:]+:\d+[:-])\s?")
_MARK = re.compile(r"^\s*(?:[-+*>#|]\s*)*")
_CHANGED = re.compile(r"[+-](?![+-])\s*\S")
_IMPORT = re.compile(r"(?:import|from\s+[\w.\"'@/]+\s+import|export \* from|use|using|#include|require)\b|} from ['\"]")
_FRAME = re.compile(r"index [0-9a-f]{6,}\.\.[0-9a-f]{6,}|Wall time: |Chunk ID: |Process exited ")
"""Lines that programs print around what they were asked for."""
_DEFINES = re.compile(
    r"(?:export |public |private |protected |static |async |abstract |default |pub(?:\(\w+\))? |final |override )*"
    r"(?:def|class|func|fn|function|interface|type|enum|struct|impl|trait|module|package|resource|table|@@|diff --git"
    r"|(?:CREATE|ALTER|DROP) \w+|describe|test|it)\b.{3}",
)
_VALUE = re.compile(
    r"(?:export )?(?:const |let |var |static )*[\"']?[A-Za-z_][\w.\"'-]*(?:\s*:\s*[\w<>\[\]| ]+)?\s*(?::=|=|:)\s*"
    r"(?:[\"'`\d\[{/-]|true\b|false\b|True\b|False\b|null\b|None\b|re\.|new Reg)"
)
_LITERAL = re.compile(r"[\"'`][^\"'`]{6,}[\"'`]|--[a-z][\w-]+|https?://|\b\d{2,}\b")
_WORD = re.compile(r"(?<![\w.(])[A-Za-z][a-z']*(?![\w(.=])")
_JAPANESE = re.compile(r"[ぁ-ヿ一-鿿]")


def is_import(line: str) -> bool:
    """Test for a line, without its number, that takes names from elsewhere and says nothing of them."""
    return _IMPORT.match(line) is not None


def rate_line(line: str) -> float:
    """Return a factor for the worth of a line that is shown without its neighbours."""
    if names_trouble(line):
        return TROUBLE
    text = _MARK.sub("", _PLACE.sub("", line, count=1), count=1)
    if is_import(text) or _FRAME.match(text):
        return BOILERPLATE
    in_file = _FILE_LINE.match(line) is not None
    if _DEFINES.match(text):
        return FRAGMENT if in_file and line.rstrip()[-1] in "{(:" else DEFINITION
    if _CHANGED.match(line):
        return CHANGED
    if len(_WORD.findall(text)) >= MIN_PROSE_WORDS or len(_JAPANESE.findall(text)) >= MIN_PROSE_CHARS_JA:
        return PROSE
    if _VALUE.match(text) or _LITERAL.search(text):
        return FILE_VALUE if in_file else VALUE
    return FRAGMENT
