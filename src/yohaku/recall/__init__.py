"""Opening what was folded, by programs, by people and by the model itself."""

from __future__ import annotations

from yohaku.recall.blocks import Line
from yohaku.recall.lines import Lines, grep, read
from yohaku.recall.search import Found, Hit, search
from yohaku.recall.tools import call, definitions

__all__ = ["Found", "Hit", "Line", "Lines", "call", "definitions", "grep", "read", "search"]
