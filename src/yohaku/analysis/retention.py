"""What of a conversation is still there after a folding: the user's rules, and the facts in what was hidden.

Law: each is `kept` (it stands in what is shown, as it was said), or `by_ref` (a ref that is shown opens it), or `lost`;
folding loses nothing, and this is where that is looked at. The newest is looked at first, and no more than a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from yohaku.analysis.activity import Activity, ToolEvent, describe_status, find_failures, read_activity
from yohaku.analysis.entities import (
    MAX_RANKED_CHARS,
    MAX_RESULT_CHARS,
    Entity,
    describe_call,
    extract_entities,
    rank_entities,
)
from yohaku.analysis.file_log import build_file_log
from yohaku.analysis.rule_patterns import WITHDRAWS
from yohaku.analysis.rules import find_standing_rules
from yohaku.analysis.sentences import lower_in_place, split_sentences
from yohaku.core.folds import Fold, View, told
from yohaku.core.model import Step, Text, ToolUse, Turn
from yohaku.digest.gist import GistText, GistTitles, choose_titles

Where: TypeAlias = Literal["kept", "by_ref", "lost"]


class Retained(NamedTuple):
    kind: str
    """"rule", "command", "error", or the kind of a fact."""
    text: str
    origin: str
    """The call it comes from; empty for what the user said."""
    where: Where


class RetentionCounts(NamedTuple):
    """How many of the facts looked at stand where."""

    kept: int
    by_ref: int
    lost: int


# Rules


def rules(view: View) -> tuple[Retained, ...]:
    """The rules that stand, in the order they were stated."""
    seen, opened = _shown_text(view), _recallable_text(view)
    found = find_standing_rules(view.history.turns)
    return tuple(Retained("rule", rule, "", _where(rule in seen, rule in opened)) for rule in found)


def find_binding_sentences(turns: Iterable[Turn]) -> tuple[str, ...]:
    """What must be shown of a prompt however short it is cut: the rules that stand, and what took others back.

    Without the latter an older fold would go on telling of a rule that the user gave up.
    """
    turns = tuple(turns)
    return tuple(dict.fromkeys([*find_standing_rules(turns), *_find_withdrawals(turns)]))


def _find_withdrawals(turns: Iterable[Turn]) -> Iterator[str]:
    for part in (part for turn in turns for part in turn.prompt):
        if isinstance(part, Text) and not part.by and _withdraws(part.text[:MAX_RESULT_CHARS]):
            yield from filter(_withdraws, split_sentences(part.text, _withdraws))


def _withdraws(text: str) -> bool:
    return bool(WITHDRAWS.search(lower_in_place(text)))


# Facts


def survey_retention(view: View, most: int = 400, chars: int = MAX_RANKED_CHARS) -> tuple[Retained, ...]:
    """What became of the facts in all that is hidden: those that matter most, within so many characters of results."""
    seen, opened = _shown_text(view), _recallable_text(view)
    hidden, open_uses = _find_hidden(view)
    found = read_activity(hidden, most=most // 2)
    wrong = list(_collect_errors(found))
    names = _collect_entities(hidden, most, chars, "\n".join(line for _, line in wrong))
    flat = " ".join(seen.split()) if wrong else ""
    ran = [event for event in found.events if event.ran is not None and (event.bad or not event.looks)]
    return (
        *(_retained_command(event, _where(_shows_command(event, seen), id(event.use) in open_uses)) for event in ran),
        *(
            Retained("error", line, describe_call(event.use), _where(line in flat, id(event.use) in open_uses))
            for event, line in wrong
        ),
        *(
            Retained(fact.kind, fact.text, origin, _where(contains_word(seen, fact.text), fact.text in opened))
            for fact, origin in names
        ),
    )


def count_retained(found: Iterable[Retained]) -> RetentionCounts:
    where = [one.where for one in found]
    return RetentionCounts(where.count("kept"), where.count("by_ref"), where.count("lost"))


def _where(kept: bool, opened: bool) -> Where:
    return "kept" if kept else "by_ref" if opened else "lost"


def _retained_command(event: ToolEvent, where: Where) -> Retained:
    origin = describe_call(event.use, 120)
    return Retained("command", f"{origin}: {describe_status(event)}", origin, where)


def _shows_command(event: ToolEvent, seen: str) -> bool:
    """Whether a line that is shown says that a command ran and how it ended."""
    said, ended = describe_call(event.use).rstrip("…"), describe_status(event)
    at = seen.find(said)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            return False
        end = seen.find("\n", at)
        if ended in seen[at : min(at + MAX_LINE_CHARS, end if end >= 0 else len(seen))]:
            return True
        at = seen.find(said, at + 1)
    return False


MAX_OCCURRENCES = 100
MAX_LINE_CHARS = 600
"""Characters."""


def _collect_errors(found: Activity) -> Iterator[tuple[ToolEvent, str]]:
    for one in find_failures(found.events)[-60:]:
        yield from ((one.event, line) for line in one.lines())


def _collect_entities(hidden: Sequence[Turn], most: int, chars: int, wrong: str) -> list[tuple[Entity, str]]:
    """What results hold that matters most, and all that the user named."""
    asked = [part.text for turn in hidden[-20:] for part in turn.prompt if isinstance(part, Text)]
    named = dict.fromkeys(
        fact for text in asked for fact in extract_entities(text[:MAX_RESULT_CHARS]) if fact.kind != "quoted"
    )
    ranked = {one.fact: one.origin for one in rank_entities(hidden, most=most, chars=chars, open_errors=wrong)}
    return [*((fact, "") for fact in named if fact not in ranked), *ranked.items()][: 2 * most]


def contains_word(text: str, fact: str) -> bool:
    """Whether it stands there as a word of its own, not as a piece of another."""
    at = text.find(fact)
    for _ in range(MAX_OCCURRENCES):
        if at < 0:
            return False
        if not (_joins(text[at - 1 : at]) or _joins(text[at + len(fact) : at + len(fact) + 1])):
            return True
        at = text.find(fact, at + 1)
    return True


def _joins(letter: str) -> bool:
    return letter.isascii() and (letter.isalnum() or letter == "_")


# What is shown and what is not


def _shown_text(view: View) -> str:
    system = "\n".join(part.text for part in view.history.system if isinstance(part, Text))
    return f"{system}\n\n{told(view.shown.turns)}"


def _recallable_text(view: View) -> str:
    """All that the refs in what is shown open."""
    folds: list[Fold] = [*([view.gist] if view.gist else []), *view.live]
    originals = (original for fold in folds if _shows_ref(fold) for _, original in view.originals(fold))
    return "\n\n".join(original for original in originals if isinstance(original, str))


def _shows_ref(fold: Fold) -> bool:
    return f"ref={fold.ref}" in fold.text


def _find_hidden(view: View) -> tuple[tuple[Turn, ...], set[int]]:
    """What a gist or a stub hides, as turns; and which of the uses in it a ref that is shown opens, by identity."""
    turns = list(view.hidden(view.cut)) if view.gist else []
    opened: set[int] = set()
    if view.gist and _shows_ref(view.gist):
        opened |= {id(use) for turn in turns for step in turn.steps for use in step.uses}
    for turn in view.visible():
        stubs = view.stubs.get(turn.key, {})
        prompt = tuple(turn.prompt[item] for item in sorted({slot.item for slot in stubs}))
        steps = []
        for step in turn.steps:
            found = view.stubs.get(step.key, {}).items()
            folds = {slot: stub for slot, stub in found if slot.where != "thought"}  # a thought is not what was said
            items = {slot.item: step.solid[slot.item] for slot in sorted(folds, key=lambda slot: slot.item)}
            steps += [Step(tuple(items.values()))] if items else []
            opened |= {id(item) for item in items.values() if isinstance(item, ToolUse)}
            opened -= {id(step.solid[slot.item]) for slot, stub in folds.items() if not _shows_ref(stub)}
        if prompt or steps:
            turns.append(Turn(prompt, tuple(steps)))
    return tuple(turns), opened


# The facts that a model's summary dropped


def appendix_tokens(limit: int, share: float = 0.02, least: int = 60) -> int:
    """Tokens for the appendix of a gist."""
    return max(least, int(limit * share))


def write_appendix(turns: Sequence[Turn], text: str, tokens: int, count: Callable[[str], int]) -> list[str]:
    """What `text` does not tell of `turns`, in lines of at most `tokens`: errors, files, names with their calls.

    A summary by a model keeps few of them; they are added without it.
    """
    if tokens < MIN_TOKENS:
        return []
    words, found = choose_titles(turns), read_activity(turns, most=max(200, tokens))
    page = GistText(tokens, count)
    page.section(words.open, _failure_lines(found, text, words), page.share(0.4), last=True)
    page.section(words.files, _file_lines(found, text, words), page.share(0.3), last=True)
    _add_index(page, turns, text, words)
    return page.text().splitlines()


MIN_TOKENS = 24
"""Tokens. In less than that nothing can be said."""


def _failure_lines(found: Activity, text: str, words: GistTitles) -> list[str]:
    """How what still fails ended, each with what it said about that."""
    lines = []
    for one in find_failures(found.events)[-20:]:
        if not one.solved and (told := [line for line in one.lines(2) if line not in text]):
            ended = describe_status(one.event)
            lines.append(_source_line(one.event, ", ".join([*([ended] if ended != "failed" else []), *told]), words))
    return lines


def _file_lines(found: Activity, text: str, words: GistTitles) -> list[str]:
    files = build_file_log((event.step, touch) for event in found.events for touch in event.touches).values()
    dropped = [file for file in files if not contains_word(text, file.path)]
    dropped.sort(key=lambda file: (file.state != "read", file.step))
    return [f"{words.states[file.state]} {file.path}" for file in dropped]


def _add_index(page: GistText, turns: Sequence[Turn], text: str, words: GistTitles) -> None:
    """Names and numbers, by the call they come from."""
    room = page.left - page.weight(words.found)
    if room < MIN_TOKENS:
        return
    known = f"{text}\n{page.text()}"
    groups: dict[str, list[str]] = {}
    for one in rank_entities(turns, most=max(40, page.left), chars=min(MAX_RANKED_CHARS, 20_000 + 200 * page.left)):
        if contains_word(known, one.fact.text):
            continue
        opening = page.weight(words.source.format(origin=one.origin)) if one.origin not in groups else 0
        room -= page.weight(one.fact.text) + opening + 1
        if room < 0:
            break
        groups.setdefault(one.origin, []).append(one.fact.text)
    lines = [f"- {words.source.format(origin=origin)}{', '.join(names)}" for origin, names in groups.items()]
    page.section(words.found, lines)


def _source_line(event: ToolEvent, said: str, words: GistTitles) -> str:
    return f"- {words.source.format(origin=describe_call(event.use))}{said}"
