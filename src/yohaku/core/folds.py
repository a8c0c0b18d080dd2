"""Folds: recorded decisions to show something shorter.

Laws: a fold hides, it never deletes, and its text has the ref that opens the original; a fold is found again by the key
of the turn or step it stands on, in any process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from yohaku.core.model import Step, Text, Turn
from yohaku.core.originals import Slot


class Subject(NamedTuple):
    """Name of what a fold hides. `str` gives the words that the model reads in the stub."""

    code: str
    """`result`, `argument`, `prompt`, `reply`, `thought`, `before_step`, `before_prompt`, `stretch`, or a medium."""
    tool: str = ""
    argument: str = ""
    steps: int = 0

    def __str__(self) -> str:
        match self.code:
            case "result":
                return f"{self.tool} result"
            case "argument":
                return f"{self.tool} argument {self.argument}"
            case "before_step" | "before_prompt":
                return f"the conversation before this {self.code.removeprefix('before_')} ({self._size})"
            case "stretch":
                return f"a stretch of the conversation ({self._size})"
        return self.code

    @property
    def _size(self) -> str:
        return f"{self.steps:,} step{'' if self.steps == 1 else 's'}"


class MadeFor(NamedTuple):
    """Recipe and limit that a fold was made for. In another window, or for another recipe, it is not shown again."""

    recipe: str = ""
    """Empty in a fold of an older version, which may serve any."""
    limit: int = 0
    """Tokens; 0 if it is not known."""
    how: str = ""
    """`manual` if the user folded, `quiet` if a quiet rung did; empty if the conversation was too large."""


UNKNOWN_MAKER = MadeFor()
"""Of folds that no engine has accepted yet, and of those that an older version stored."""
MANUAL, QUIET = "manual", "quiet"


@dataclass(frozen=True, slots=True)
class Stub:
    """One result, argument, text or image, shown shorter; or a thought, of which nothing is shown."""

    key: str
    slot: Slot
    text: str
    ref: str
    what: Subject | str
    """A text if a pass of another package, or an older version, made the fold."""
    why: str
    """Code of the reason, with a sentence in the catalogue; or a sentence of a pass of another package."""
    before: int
    after: int
    kind: str = "stub"
    made_for: MadeFor = field(default=UNKNOWN_MAKER, compare=False)
    detail = ""


@dataclass(frozen=True, slots=True)
class Gist:
    """A stretch of the conversation up to a step, shown as one text in front of the prompt still being answered.

    Several stand in a row as chapters, each from where the one before it ends.
    """

    key: str
    text: str
    ref: str
    what: Subject | str
    why: str
    before: int
    after: int
    kind: str = "gist"
    ack: str = ""
    """Reply of the model to it, for recipes that show the gist as a turn of its own."""
    detail: str = ""
    """Message of the error that is the reason, if there was one."""
    start: str = ""
    """Key of the gist before it, at whose end its stretch begins; empty if it begins with the conversation."""
    made_for: MadeFor = field(default=UNKNOWN_MAKER, compare=False)

    @property
    def turn(self) -> Turn:
        """The gist with its acknowledgement, or with the line that parts it from the prompt; for weighing."""
        if self.ack:
            return Turn((Text(self.text),), (Step((Text(self.ack),)),))
        return Turn((Text(f"{self.text}{self.closing}"),))

    @property
    def closing(self) -> str:
        """Line that parts the gist from the prompt behind it, in the language of the gist.

        It names the ref: nothing that the gist quotes can hold that, since the ref is a hash of it.
        """
        return f"\n\n{(CLOSING_JA if self._japanese else CLOSING).format(ref=self.ref)}\n"

    @property
    def stand_in(self) -> str:
        """Words of the model in place of all its replies to a prompt that is still shown, before the next prompt."""
        return (STAND_IN_JA if self._japanese else STAND_IN).format(ref=self.ref)

    @property
    def _japanese(self) -> bool:
        return bool(KANA.search(self.text.partition("\n")[0]))


CLOSING = "[End of the folded part, ref={ref}. The user's own message follows:]"
CLOSING_JA = "[折りたたんだ部分はここまで; ref={ref}。以下はユーザー自身のメッセージ:]"
STAND_IN = "(What I did for this is in the folded part above, ref={ref}.)"
STAND_IN_JA = "(これに対して行ったことは、上の折りたたんだ部分にあります; ref={ref})"
KANA = re.compile(r"[ぁ-ヿ]")

Fold: TypeAlias = Stub | Gist

Place: TypeAlias = tuple[str, Slot | None]
"""Place of a fold: its key, and the slot of a stub; a gist has no slot."""


FoldId: TypeAlias = tuple[str, Slot | None, MadeFor]
"""Place of a fold and what it was made for: folds for several windows stand in one place of a store side by side."""


def place_of(fold: Fold) -> Place:
    return fold.key, fold.slot if isinstance(fold, Stub) else None


def id_of(fold: Fold) -> FoldId:
    return *place_of(fold), fold.made_for


class Cut(NamedTuple):
    """End of a gist: hidden are all turns before `turn` and its first `steps` steps, but not its prompt."""

    turn: int
    steps: int
