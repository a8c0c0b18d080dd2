"""Survey of what a folding retained: commands, errors and entities of the hidden part, and sentences that must stay.

Law: each is `kept` (shown as it was written), `by_ref` (a shown ref opens it) or `lost`. Folding loses nothing, and
this is where that is measured. The newest is surveyed first, within a bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from yohaku.analysis.activity import Activity, ToolEvent, describe_status, find_failures, read_activity
from yohaku.analysis.entities import (
    MAX_RANKED_CHARS,
    MAX_RESULT_CHARS,
    NEWEST_PROMPTS,
    Entity,
    extract_entities,
    rank_entities,
)
from yohaku.analysis.sentences import lower_in_place, split_sentences
from yohaku.analysis.standing_rules import choose_rules, read_prompt, read_standing_rules
from yohaku.analysis.tool_calls import describe_call
from yohaku.analysis.withdrawals import is_withdrawal
from yohaku.core.folds import Fold
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.core.originals import render_turns
from yohaku.core.view import View

Where: TypeAlias = Literal["kept", "by_ref", "lost"]


class Retained(NamedTuple):
    kind: str
    """"command", "error", or the kind of an entity."""
    text: str
    origin: str
    """The call it comes from; empty for what the user wrote."""
    where: Where


class RetentionCounts(NamedTuple):
    """Number of surveyed items by where they are."""

    kept: int
    by_ref: int
    lost: int


# Sentences that must stay


MAX_PASTED_RULE_CHARS = 4_000
"""Characters of all rules in long prompts, which are mostly pasted."""


def find_binding_sentences(turns: Iterable[Turn]) -> frozenset[str]:
    """Return the sentences to show of prompts however short they are cut: standing rules, and withdrawals of others.

    Without the withdrawal an older fold would go on showing a rule that no longer holds.
    """
    turns = tuple(turns)
    standing = read_standing_rules(turns)
    pasted = choose_rules([rule for rule in standing if not rule.brief], MAX_PASTED_RULE_CHARS, len).shown
    typed = (part.text for turn in turns for part in turn.prompt if isinstance(part, Text) and not part.by)
    withdrawals = (sentence for text in typed for sentence in _find_withdrawals(text))
    return frozenset([*(rule.text for rule in standing if rule.brief), *pasted, *withdrawals])


def find_binding_in(text: str, binding: Collection[str]) -> list[str]:
    """Return the binding sentences that a prompt states, in order."""
    return [one for one in dict.fromkeys([*read_prompt(text).rules, *_find_withdrawals(text)]) if one in binding]


def _find_withdrawals(text: str) -> Iterator[str]:
    if _withdraws(text[:MAX_RESULT_CHARS]):
        yield from filter(_withdraws, split_sentences(text, _withdraws))


def _withdraws(text: str) -> bool:
    return is_withdrawal(lower_in_place(text))


# The survey

MAX_SURVEYED = 400
"""Entities of results that are surveyed; commands half of that, entities of the user's prompts as many again."""
MAX_FAILURES = 60
MAX_COMMAND_CHARS = 120


def survey_retention(view: View, limit: int = MAX_SURVEYED, max_chars: int = MAX_RANKED_CHARS) -> tuple[Retained, ...]:
    """Return what became of the most important items of the hidden part, within `max_chars` of results."""
    shown, recallable = _shown_text(view), _recallable_text(view)
    hidden, open_uses = _find_hidden(view)
    activity = read_activity(hidden, limit // 2)
    errors = list(_collect_errors(activity))
    entities = _collect_entities(hidden, limit, max_chars, "\n".join(line for _, line in errors))
    flat = " ".join(shown.split()) if errors else ""
    ran = [event for event in activity.events if event.command is not None and (event.failed or not event.only_looks)]
    return (
        *(_retained_command(event, _where(_shows_command(event, shown), id(event.use) in open_uses)) for event in ran),
        *(
            Retained("error", line, describe_call(event.use), _where(line in flat, id(event.use) in open_uses))
            for event, line in errors
        ),
        *(
            Retained(
                entity.kind, entity.text, origin, _where(contains_word(shown, entity.text), entity.text in recallable)
            )
            for entity, origin in entities
        ),
    )


def count_retained(found: Iterable[Retained]) -> RetentionCounts:
    where = [one.where for one in found]
    return RetentionCounts(where.count("kept"), where.count("by_ref"), where.count("lost"))


def _where(kept: bool, opened: bool) -> Where:
    return "kept" if kept else "by_ref" if opened else "lost"


def _retained_command(event: ToolEvent, where: Where) -> Retained:
    origin = describe_call(event.use, MAX_COMMAND_CHARS)
    return Retained("command", f"{origin}: {describe_status(event)}", origin, where)


def _collect_errors(activity: Activity) -> Iterator[tuple[ToolEvent, str]]:
    for failure in find_failures(activity.events)[-MAX_FAILURES:]:
        yield from ((failure.event, line) for line in failure.lines())


def _collect_entities(hidden: Sequence[Turn], limit: int, max_chars: int, errors: str) -> list[tuple[Entity, str]]:
    """Return the entities that the user named and the highest ranked ones of results, each with its origin."""
    prompts = [part.text for turn in hidden[-NEWEST_PROMPTS:] for part in turn.prompt if isinstance(part, Text)]
    found = (entity for text in prompts for entity in extract_entities(text[:MAX_RESULT_CHARS]))
    named = dict.fromkeys(entity for entity in found if entity.kind != "quoted")
    ranking = rank_entities(hidden, limit=limit, max_chars=max_chars, open_errors=errors)
    ranked = {one.entity: one.origin for one in ranking}
    return [*((entity, "") for entity in named if entity not in ranked), *ranked.items()][: 2 * limit]


# Tests for what a text shows

MAX_OCCURRENCES = 100
"""Occurrences of a text that are tested, so that a frequent one does not cost time without bound."""
MAX_LINE_CHARS = 600


def _shows_command(event: ToolEvent, shown: str) -> bool:
    """Test for a line that shows a command and how it ended."""
    command, status = describe_call(event.use).rstrip("…"), describe_status(event)
    at = shown.find(command)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            return False
        end = shown.find("\n", at)
        if status in shown[at : min(at + MAX_LINE_CHARS, end if end >= 0 else len(shown))]:
            return True
        at = shown.find(command, at + 1)
    return False


def contains_word(text: str, word: str) -> bool:
    """Test for `word` with no letter, digit or underscore on either side."""
    at = text.find(word)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            return False
        if not (_joins(text[at - 1 : at]) or _joins(text[at + len(word) : at + len(word) + 1])):
            return True
        at = text.find(word, at + 1)
    return True


def _joins(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter == "_")


# The shown and the hidden part of a view


def _shown_text(view: View) -> str:
    system = "\n".join(part.text for part in view.history.system if isinstance(part, Text))
    return f"{system}\n\n{render_turns(view.shown.turns)}"


def _recallable_text(view: View) -> str:
    """Return all originals that shown refs open."""
    folds: list[Fold] = [*view.chapters, *view.live]
    originals = (original for fold in folds if _shows_ref(fold) for _, original in view.originals(fold))
    return "\n\n".join(original for original in originals if isinstance(original, str))


def _shows_ref(fold: Fold) -> bool:
    return f"ref={fold.ref}" in fold.text


def _find_hidden(view: View) -> tuple[tuple[Turn, ...], set[int]]:
    """Return what gists and stubs hide, as turns, and the identities of the uses in it that a shown ref opens."""
    turns = list(view.hidden(view.cut))
    opened: set[int] = set()
    for gist in filter(_shows_ref, view.chapters):
        opened |= {id(use) for turn in view.stretch(gist) for step in turn.steps for use in step.uses}
    for turn in view.visible():
        stubs = view.stubs.get(turn.key, {})
        prompt = tuple(turn.prompt[item] for item in sorted({slot.item for slot in stubs}))
        steps = []
        for step in turn.steps:
            found = view.stubs.get(step.key, {}).items()
            folds = {slot: stub for slot, stub in found if slot.where != "thought"}  # thoughts are not surveyed
            items = {slot.item: step.solid[slot.item] for slot in sorted(folds, key=lambda slot: slot.item)}
            steps += [Step(tuple(items.values()))] if items else []
            opened |= {id(item) for item in items.values() if isinstance(item, ToolUse)}
            opened -= {id(step.solid[slot.item]) for slot, stub in folds.items() if not _shows_ref(stub)}
        if prompt or steps:
            turns.append(Turn(prompt, tuple(steps)))
    return tuple(turns), opened
