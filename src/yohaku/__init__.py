"""yohaku keeps a conversation with a language model inside its context window. It folds; it never deletes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yohaku.core.budget import Budget as Budget
    from yohaku.core.errors import DoesNotFit as DoesNotFit
    from yohaku.core.errors import Malformed as Malformed
    from yohaku.core.errors import UnknownModel as UnknownModel
    from yohaku.core.errors import UnknownRef as UnknownRef
    from yohaku.core.errors import Unreadable as Unreadable
    from yohaku.core.errors import YohakuError as YohakuError
    from yohaku.core.folds import Gist as Gist
    from yohaku.core.folds import Stub as Stub
    from yohaku.core.model import History as History
    from yohaku.core.recipe import Question as Question
    from yohaku.core.recipe import Recipe as Recipe
    from yohaku.core.recipe import Rung as Rung
    from yohaku.core.verdict import Folded as Folded
    from yohaku.core.verdict import TooBig as TooBig
    from yohaku.core.view import View as View
    from yohaku.session.receipt import Receipt as Receipt
    from yohaku.session.session import Session as Session

__version__ = "0.1.0"

_HOME = {
    "Budget": "yohaku.core.budget",
    "Folded": "yohaku.core.verdict",
    "Question": "yohaku.core.recipe",
    "Recipe": "yohaku.core.recipe",
    "Rung": "yohaku.core.recipe",
    "TooBig": "yohaku.core.verdict",
    "DoesNotFit": "yohaku.core.errors",
    "Malformed": "yohaku.core.errors",
    "UnknownModel": "yohaku.core.errors",
    "UnknownRef": "yohaku.core.errors",
    "Unreadable": "yohaku.core.errors",
    "YohakuError": "yohaku.core.errors",
    "Gist": "yohaku.core.folds",
    "Stub": "yohaku.core.folds",
    "View": "yohaku.core.view",
    "History": "yohaku.core.model",
    "Receipt": "yohaku.session.receipt",
    "Session": "yohaku.session.session",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'yohaku' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
