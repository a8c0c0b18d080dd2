"""Dialogs above the prompt: a permission, and a question to the user.

Law: nothing is answered by accident. The prompt keeps the keyboard: what is typed goes there, also while a dialog is
open, and no key is lost. An answer counts only after a pause without any key; a letter that answers, only if no other
key follows at once. "Always", and what is dangerous, must be selected first and confirmed with Enter; nothing is
selected beforehand. The conversation above stays visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from yohaku.agent.commands.slash_commands import is_command
from yohaku.agent.format import clip, strip_controls
from yohaku.agent.protocols import Allowed
from yohaku.messages import say
from yohaku.tui.diff import colour_diff, first_change, without_names

if TYPE_CHECKING:
    from yohaku.agent.toolkit.tool import PermissionRequest

MIN_LINES = 6
LINES_BELOW = 6
"""Lines of the screen that a dialog leaves to the prompt, the status, the gauge, and the conversation."""
ROOMY_LINES = 13
"""Lines of a dialog from which on its title may have more than one."""
QUIET_SECONDS = 0.6
"""Time without any key after which a dialog takes answers."""
FOLLOWING_SHARE = 0.5
"""Share of that time in which another key after `y` makes it a letter of the prompt."""

MAX_DIFF_LINES = 2000
"""Lines of a diff that are shown."""

Answer = TypeVar("Answer")


class AnswerChoice(Static, can_focus=False):
    """One answer; a click selects it."""

    def __init__(self, label: str, index: int) -> None:
        super().__init__(Content(f"  {label}"), markup=False)
        self.answer = label
        self.index = index

    def mark(self, *, selected: bool) -> None:
        self.set_class(selected, "-selected")
        self.update(Content(f"{'▸' if selected else ' '} {self.answer}"))

    class Chosen(Message):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def on_click(self) -> None:
        self.post_message(self.Chosen(self.index))


class Dialog(Vertical, Generic[Answer], can_focus=False):
    """Base of the dialogs. The prompt offers each key to `take_key` before it takes it itself."""

    def __init__(self, lang: str, quiet: float) -> None:
        super().__init__(classes="box")
        self.lang = lang
        self.quiet = quiet
        self.armed = False
        """Whether answers count."""
        self.selected = -1
        """Place of the selected answer; -1 for none."""
        self.type_text: Callable[[str], object] = lambda text: None
        """Gives the prompt a letter that turned out to be text."""
        self.has_text: Callable[[], bool] = lambda: False
        """Tells whether there is text in the prompt."""
        self.take_typed: Callable[[], str] = lambda: ""
        """Takes the text out of the prompt."""
        self.answered: Callable[[Answer], None] = lambda answer: None
        self._over = False
        self._armed_at = 0.0
        self._shown_at = float("inf")
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        self._fit()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._shown_at = Message().time
        self.wait_for_quiet()

    def on_resize(self) -> None:
        self._fit()

    def _fit(self) -> None:
        """Keep the answers in sight: of what is long, only a part is shown at once."""
        room = max(MIN_LINES, self.app.size.height - LINES_BELOW)
        self.styles.max_height = room
        width = (self.container_size.width or self.app.size.width) - 4
        taken = len(self.query(".answers AnswerChoice")) + 3  # the hint and the frame
        for part in self.query(".title, .danger, .lost"):
            lines = 3 if room >= ROOMY_LINES else 1 if part.has_class("title") else 2
            part.styles.max_height = lines
            taken += lines if cell_len(str(part.render())) > width else 1
        for part in self.query(".detail, .choices"):
            part.display = room > taken
            part.styles.max_height = max(1, room - taken)

    def scroll_page(self, pages: int) -> bool:
        """Scroll what is longer than its room; return whether there is something."""
        for part in self.query(".detail, .choices"):
            if part.max_scroll_y > 0:
                part.scroll_relative(y=pages * max(1, part.size.height - 1), animate=False)
                self.call_after_refresh(self.update_hint)
                return True
        return False

    def on_unmount(self) -> None:
        if self._timer:
            self._timer.stop()

    def wait_for_quiet(self) -> None:
        """Take no answer until there was no key for a while."""
        if self._timer:
            self._timer.stop()
        self._set_armed(False)
        self._timer = self.set_timer(max(self.quiet, 0.001), lambda: self._set_armed(True))

    def take_key(self, event: events.Key, typed: str, *, choosing: bool = False) -> bool:
        """Return whether a key was meant for the dialog. `typed`: text in the prompt; `choosing`: it is completed."""
        if self._over:
            return False
        if event.key == "escape" and not choosing and event.time >= self._shown_at + self.quiet:
            return self.answer_key("escape", typed)  # no harm can come of it
        if not self.armed or event.time < self._armed_at or choosing:
            self.wait_for_quiet()
            return False
        if self.answer_key(event.key, typed):
            return True
        self.select(-1)
        self.wait_for_quiet()
        return False

    def answer_key(self, key: str, typed: str) -> bool:
        """Handle a key after a pause; return False where it belongs to the prompt."""
        raise NotImplementedError

    def finish(self, answer: Answer) -> None:
        self._over = True
        self.answered(answer)

    def note_paste(self, typed: str) -> None:
        """Take notice of a paste, which goes to the prompt."""
        self.wait_for_quiet()

    def take_paste(self, text: str) -> bool:
        """Return whether a paste was meant for the dialog."""
        return False

    def give_back(self) -> None:
        """Give the prompt what the dialog holds: it closes without having been answered."""

    def select(self, index: int) -> None:
        choices = list(self.query(AnswerChoice))
        self.selected = index % len(choices) if index >= 0 and choices else -1
        for choice in choices:
            choice.mark(selected=choice.index == self.selected)
        if self.selected >= 0:
            choices[self.selected].scroll_visible(animate=False)
        self.update_hint()

    def move(self, step: int, first: int = 0) -> None:
        """Select the next answer, or the first one."""
        count = len(self.query(AnswerChoice))
        if count:
            self.select((self.selected + step) % count if self.selected >= 0 else first)

    def _set_armed(self, armed: bool) -> None:
        self.armed = armed
        self._armed_at = Message().time
        self.set_class(armed, "-armed")
        self.update_hint()

    def update_hint(self) -> None:
        for hint in self.query(".hint").results(Static):
            hint.update(self.hint())

    def hint(self) -> str:
        """Return the keys that answer now."""
        if not self.armed:
            return say("dialog_typing", self.lang)
        if self.has_text() and self.selected < 0:
            return say("dialog_typed", self.lang)
        return self.answer_hint()

    def answer_hint(self) -> str:
        raise NotImplementedError


_WORDS: dict[str, Allowed] = {"y": "once", "yes": "once", "はい": "once", "n": "no", "no": "no", "いいえ": "no"}
"""Texts in the prompt that answer, with Enter: they were typed before the pause."""


class PermissionDialog(Dialog[Allowed]):
    def __init__(self, request: PermissionRequest, lang: str, quiet: float = QUIET_SECONDS) -> None:
        super().__init__(lang, quiet)
        self.request = request
        self._letter = ""
        """`y` or `n`, until it is certain that it is no text."""
        detail = request.detail
        is_diff = detail.startswith(("--- ", "@@ ")) or "\n@@ " in detail
        self._diff = strip_controls(without_names(detail)) if is_diff else ""
        self._following: Timer | None = None
        self.answers: tuple[Allowed, ...] = ("once", "always", "no") if request.remember else ("once", "no")
        self.set_class(bool(request.danger), "-danger")

    def compose(self) -> ComposeResult:
        request, lang = self.request, self.lang
        self.border_title = say(f"allow_{request.kind}", lang)
        yield Static(strip_controls(request.title), classes="title", markup=False)
        if request.danger:
            yield Static(say("allow_danger", lang, why=strip_controls(request.danger)), classes="danger", markup=False)
        if request.lost:
            yield Static(strip_controls(request.lost), classes="lost", markup=False)
        if request.detail.strip() and request.detail.strip() != request.title.strip():
            with VerticalScroll(classes="detail", can_focus=False):
                yield Static(self._detail(), markup=False)
        labels = {
            "once": say("allow_once_danger" if request.danger else "allow_once", lang),
            "always": say("allow_always", lang, what=clip(request.remember, 40)),
            "no": say("allow_no", lang),
        }
        with Vertical(classes="answers"):
            for index, answer in enumerate(self.answers):
                yield AnswerChoice(labels[answer], index)
        yield Static(self.hint(), classes="hint", markup=False)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._show_first_change)

    def _show_first_change(self) -> None:
        """Scroll a diff so that its first change is seen whole, with the lines before it where there is room."""
        for part in self.query(".detail"):
            if not self._diff:
                return
            lines = self._diff.split("\n")
            width = max(1, part.scrollable_content_region.width)
            rows = [max(1, -(-cell_len(line) // width)) for line in lines]
            at, end = first_change(lines)
            top, bottom, room = sum(rows[:at]), sum(rows[:end]), part.size.height
            part.scroll_to(y=min(top, max(0, bottom - room)), animate=False)
        self.call_after_refresh(self.update_hint)

    def answer_hint(self) -> str:
        keys = say("allow_hint_danger" if self.request.danger else "allow_hint", self.lang)
        hidden = any(part.display and part.max_scroll_y > part.scroll_offset.y for part in self.query(".detail"))
        return say("allow_hint_more", self.lang, keys=keys) if hidden else keys

    def take_key(self, event: events.Key, typed: str, *, choosing: bool = False) -> bool:
        if self._letter:
            letter = self._take_letter()
            if event.key == "enter":
                self._answer_letter(letter)
                return True
            self.type_text(letter)
            self.wait_for_quiet()
            return False
        return super().take_key(event, typed, choosing=choosing)

    def answer_key(self, key: str, typed: str) -> bool:
        selecting = not typed or self.selected >= 0
        match key:
            case "escape":
                self.finish("no")
            case "enter" if self.selected >= 0:
                self.finish(self.answers[self.selected])
            case "enter" if not typed:
                pass
            case "enter" if typed.strip().lower() in _WORDS and (typed.strip()[0] in "nい" or not self.request.danger):
                self.finish(_WORDS[self.take_typed().lower()])
            case "tab":
                self.move(1, self._first)
            case "left" | "right" | "up" | "down" if selecting:
                self.move(1 if key in ("right", "down") else -1, self._first)
            case "y" | "n" if not typed and (key == "n" or not self.request.danger):
                self._letter = key
                self.select(self.answers.index("once" if key == "y" else "no"))
                self._following = self.set_timer(
                    max(self.quiet * FOLLOWING_SHARE, 0.001), lambda: self._answer_letter(self._take_letter())
                )
            case _:
                return False
        return True

    @property
    def _first(self) -> int:
        """Place of the answer that is selected first: the one that changes nothing, where the other is dangerous."""
        return len(self.answers) - 1 if self.request.danger else 0

    def _take_letter(self) -> str:
        letter, self._letter = self._letter, ""
        if self._following:
            self._following.stop()
        self.select(-1)
        return letter

    def _answer_letter(self, letter: str) -> None:
        if letter:
            self.finish("once" if letter == "y" else "no")

    def note_paste(self, typed: str) -> None:
        self.give_back()
        super().note_paste(typed)

    def give_back(self) -> None:
        if self._letter:
            self.type_text(self._take_letter())

    def on_answer_choice_chosen(self, chosen: AnswerChoice.Chosen) -> None:
        """A click answers; where that must be confirmed, the second one."""
        if not self.armed:
            return
        answer = self.answers[chosen.index]
        if answer == "no" or self.selected == chosen.index or (answer == "once" and not self.request.danger):
            self.finish(answer)
        else:
            self.select(chosen.index)

    def _detail(self) -> Content:
        if self._diff:
            return colour_diff(self._diff, self.lang, MAX_DIFF_LINES)
        return Content(strip_controls(self.request.detail))


class QuestionDialog(Dialog[str]):
    """A question with choices, or for words of one's own: those are typed into the prompt, after the pause."""

    def __init__(
        self, text: str, choices: tuple[str, ...], lang: str, *, own_words: bool = True, quiet: float = QUIET_SECONDS
    ) -> None:
        super().__init__(lang, quiet)
        self.text = text
        self.choices = choices
        self.own_words = own_words
        self.answering = False
        """Whether what stands in the prompt was typed as the answer."""

    def compose(self) -> ComposeResult:
        self.border_title = say("ask_title", self.lang)
        yield Static(strip_controls(self.text), classes="title", markup=False)
        if self.choices:
            with VerticalScroll(classes="choices", can_focus=False):
                for index, choice in enumerate(self.choices):
                    number = f"{index + 1}. " if self.own_words else ""  # a number answers only where text does
                    yield AnswerChoice(f"{number}{strip_controls(choice)}", index)
        yield Static(self.hint(), classes="hint", markup=False)

    def hint(self) -> str:
        return self.answer_hint() if self.answering else super().hint()

    def answer_hint(self) -> str:
        if not self.choices or self.answering:
            return say("ask_hint_own", self.lang)
        return say("ask_hint_both" if self.own_words else "ask_hint_choices", self.lang)

    def take_key(self, event: events.Key, typed: str, *, choosing: bool = False) -> bool:
        self.answering = self.answering and bool(typed) and not self._over
        if not self.answering or choosing or event.key in ("tab", "escape"):
            return super().take_key(event, typed, choosing=choosing)
        if event.key != "enter" or is_command(typed):
            return False
        self.finish(self._read(self.take_typed()))
        return True

    def answer_key(self, key: str, typed: str) -> bool:
        selecting = not typed or self.selected >= 0
        match key:
            case "escape":
                self.finish("")
            case "enter" if self.selected >= 0:
                self.finish(self.choices[self.selected])
            case "enter" if not typed:
                pass
            case "tab" if self.choices:
                self.move(1)
            case "up" | "down" if selecting and self.choices:
                self.move(1 if key == "down" else -1, 0 if key == "down" else len(self.choices) - 1)
            case _:
                self.answering = self.own_words and not typed
                return False
        return True

    def wait_for_quiet(self) -> None:
        if not self.answering:
            super().wait_for_quiet()

    def note_paste(self, typed: str) -> None:
        self.answering = self.answering or (self.armed and self.own_words and not typed)
        super().note_paste(typed)

    def _read(self, text: str) -> str:
        numbered = text.isdecimal() and 0 < int(text) <= len(self.choices)
        return self.choices[int(text) - 1] if numbered else text

    def on_answer_choice_chosen(self, chosen: AnswerChoice.Chosen) -> None:
        if self.armed:
            self.finish(self.choices[chosen.index])
