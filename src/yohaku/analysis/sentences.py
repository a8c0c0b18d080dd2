"""Splitter of a prompt into the sentences that the user wrote, without what was pasted.

Law: a sentence is a slice of the text without the list mark before it. Fenced code, logs, quotes and text between tags
of pasted content are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from yohaku.analysis.language import has_japanese

MIN_PASTE_LINES = 40
"""A longer prompt is mostly pasted: its lines must look like sentences to count."""

FENCE = re.compile(r"[ \t>]*(?:```|~~~)")
TAG = re.compile(r"<(/?)([A-Za-z][\w:-]{0,40})(?:\s[^<>\n]{0,200})?>")
PASTED = re.compile(
    r"stdout|stderr|output|result|log|trace|code|file|document|diff|patch|reminder|caveat|example|description|issue"
    r"|problem|report|transcript|snapshot|summary|command-",
    re.I,
)
"""Names of tags around pasted content."""

NOISE = re.compile(
    r"""\s*(?:
        [>|$%➜❯│┃⎿⏺●✗✓✔✘+@{}\[\]<\\]                              # quotes, prompts of shells, diffs, data
      | \d{1,4}[-/:.]\d\d[-/:.T\d]*\s | \d+\s*[:|→+]                 # times, line numbers
      | (?:error|warn(?:ing)?|info|debug|fatal|hint|fail(?:ed|ure)?|traceback|exception|note)\b\s*[:\[(]
      | (?:at\s+\S+\s*\(|File\s+"|import\s|from\s+\S+\s+import|def\s|class\s|function\s|const\s|let\s|var\s|return\b)
      | \#\s*(?:include|define|!) | // | /\*
      | [\w.]{1,80}(?:Error|Exception|Warning)\b
    )""",
    re.X | re.I,
)
ENDS_AS_CODE = re.compile(r"(?:[;{}\\]|\)\s*:|=>|\[|\()\s*$")
COMMIT_LINE = re.compile(r"(?:^|\s)[0-9a-f]{7,40}\s+\w+(?:\([^()\n]{0,40}\))?!?:\s")
HEADING = re.compile(r"\s*#{1,6}\s")
MAX_LINE_CHARS = 20_000
"""A longer line is data."""
SENTENCE_END = re.compile(
    r"(?<=[.!?…])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)[\"'”’)*_]{0,3}\s+(?=\S)|(?<=[。！？!?])[」』）)]?"
)
LIST_MARK = re.compile(
    r"\s*(?:(?:[-*+•・‣◦–—]|\d{1,3}[.)）]|\(?[a-zA-Z]\)|#{1,6}|\[[ xX]?\]|[①-⑳])\s+|[・※●○■□◆◇]\s*)*"
)
QUOTED = re.compile(r"`[^`\n]{1,200}`|\"[^\"\n]{12,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』")
WORD = re.compile(r"[A-Za-z']{2,}")


def split_sentences(text: str, worth: Callable[[str], object] = bool) -> Iterator[str]:
    """Yield the sentences of lines that pass the test `worth`."""
    lines = strip_pasted(text).split("\n")
    pasted = len(lines) > MIN_PASTE_LINES
    for line in _join_wrapped(lines):
        if len(line) > MAX_LINE_CHARS or not worth(line) or (pasted and HEADING.match(line)) or _is_noise(line, pasted):
            continue
        for sentence in SENTENCE_END.split(line):
            bare = sentence[_end(LIST_MARK, sentence) :].strip()
            if 3 < len(bare) < 2_000:
                yield bare


def lower_in_place(text: str) -> str:
    """Return the text in lower case at the same length: the lower case of `İ` has two letters, so it becomes `i`."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("İ", "i").lower()


def mask_quotes(sentence: str) -> str:
    """Replace quotations by a placeholder of the same length: a user does not state what is quoted."""
    return QUOTED.sub(lambda quote: "`" + "x" * (len(quote[0]) - 2) + "`", sentence)


def strip_pasted(text: str) -> str:
    """Return the text without fenced code and text between tags of pasted content."""
    return _strip_pasted_tags(_strip_fenced(text))


def _strip_fenced(text: str) -> str:
    kept, fenced = [], False
    for line in text.split("\n"):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            kept.append(line)
    return "\n".join(kept)


def _strip_pasted_tags(text: str) -> str:
    last = {tag[2]: tag.start() for tag in TAG.finditer(text) if tag[1]}
    out, at, within = [], 0, ""
    for tag in TAG.finditer(text):
        if within:
            if tag[1] and tag[2] == within:
                at, within = tag.end(), ""
        elif not tag[1] and PASTED.search(tag[2]) and last.get(tag[2], -1) > tag.start():
            out.append(text[at : tag.start()])
            within = tag[2]
    return "\n".join([*out, text[at:]])


def _join_wrapped(lines: list[str]) -> Iterator[str]:
    """Yield lines, with those of a wrapped paragraph joined."""
    held = ""
    for line in lines:
        wraps = 50 < len(held.rpartition("\n")[2]) < 200 and held.rstrip()[-1:] not in ".!?:;。！？"
        if held and wraps and line.lstrip()[:1].islower() and len(held) < 2_000:
            held += "\n" + line
            continue
        if held.strip():
            yield held
        held = line
    if held.strip():
        yield held


def _is_noise(line: str, pasted: bool) -> bool:
    return bool(NOISE.match(line) or ENDS_AS_CODE.search(line) or COMMIT_LINE.search(line)) or _is_code(line, pasted)


def _is_code(line: str, pasted: bool) -> bool:
    """Test for a line with few words; in a long prompt also for one that is not a sentence."""
    words = QUOTED.sub("", line)
    if has_japanese(words):
        return False
    letters = sum(map(len, WORD.findall(words)))
    dense = len(words) - words.count(" ")
    return letters < dense * (0.8 if pasted else 0.6) or (pasted and len(WORD.findall(words)) < 4)


def _end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0
