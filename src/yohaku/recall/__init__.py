"""Opening what was folded, by programs, by people and by the model itself."""

from __future__ import annotations

from yohaku.recall.lines import Found, Hit, Line, Lines, grep, read, search
from yohaku.recall.tools import call, definitions

__all__ = ["Found", "Hit", "Line", "Lines", "call", "definitions", "grep", "read", "search"]
