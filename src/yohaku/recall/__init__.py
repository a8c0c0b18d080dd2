"""Recall: open and search what was folded, for programs, people and the model itself."""

from __future__ import annotations

from yohaku.recall.blocks import FoundLine
from yohaku.recall.contents import Contents, list_contents, open_ref
from yohaku.recall.lines import OpenedLines, grep, read
from yohaku.recall.search_originals import SearchHit, SearchResult, search
from yohaku.recall.tools import call, definitions

__all__ = [
    "Contents",
    "FoundLine",
    "OpenedLines",
    "SearchHit",
    "SearchResult",
    "call",
    "definitions",
    "grep",
    "list_contents",
    "open_ref",
    "read",
    "search",
]
