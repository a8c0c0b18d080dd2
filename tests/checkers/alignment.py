"""How a folded request is laid beside the original.

A message is read into a frame (what must stay as it is) and atoms (texts, calls, results, media, opaque blocks).
Law: every message and atom of `after` stands in `before`, in the same order, untouched or visibly folded (`ref=`);
what is new is plain user text with a ref, at a place where something was folded; nothing vanishes without a ref there.
No two messages of one role follow each other that did not in `before`: many chat templates refuse them.
But for thoughts: those of a turn that is over, and in which the model did nothing but speak, may be gone altogether.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

REF = "ref="
MODEL_ROLES = {"assistant", "model"}


def canonical(value: Any) -> str:
    """Equal text for equal JSON; unlike ==, it tells 1, 1.0 and True apart."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def without(mapping: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {k: v for k, v in mapping.items() if k not in keys}


@dataclass(frozen=True)
class Atom:
    kind: str  # text | call | result | media | opaque | thought | bound
    whole: str
    frame: str = ""  # the fields a fold must leave alone
    shown: Any = None  # what a fold may change: a text, the arguments (dict) or the content of a result
    marks: str = ""  # cache marks and signatures, for media that become a text
    id: str = ""


@dataclass(frozen=True)
class Message:
    role: str
    whole: str
    frame: str
    atoms: tuple[Atom, ...]
    plain: bool  # nothing but a role and content: the only form an inserted message may have


@dataclass(frozen=True)
class Match:
    score: int
    speaks: bool = False  # something in it was folded, and says so
    gist: bool = False  # it is a user text that says so, hence may stand for messages folded beside it
    dropped: bool = False  # some of its atoms are gone


MARKS = ("cache_control", "prompt_cache_breakpoint", "thoughtSignature", "thought_signature")


def _marks(block: Any) -> str:
    return canonical({k: block[k] for k in MARKS if isinstance(block, dict) and k in block})


def text(block: Any, key: str = "text") -> Atom:
    """A text block, or a bare string."""
    if isinstance(block, str):
        return Atom("text", canonical(block), "", block, "{}")
    return Atom("text", canonical(block), canonical(without(block, key)), block.get(key), _marks(block))


def media(block: Any) -> Atom:
    return Atom("media", canonical(block), marks=_marks(block))


def opaque(block: Any) -> Atom:
    return Atom("opaque", canonical(block))


def thought(block: Any, bound: bool = False) -> Atom:
    """`bound`: the provider looks for it, so it stays as it is wherever it stands."""
    return Atom("bound" if bound else "thought", canonical(block))


def call(block: dict[str, Any], frame: Any, arguments: Any, call_id: str | None) -> Atom:
    return Atom("call", canonical(block), canonical(frame), arguments, id=f"call {call_id}" if call_id else "")


def result(block: dict[str, Any], frame: Any, content: Any, call_id: str | None) -> Atom:
    return Atom("result", canonical(block), canonical(frame), content, id=f"result {call_id}" if call_id else "")


def compare(before: Sequence[Message], after: Sequence[Message], need_ref: bool = True) -> list[str]:
    """What `after` changed that a fold may not change."""
    before = _with_bound_thoughts(before)
    found = _anchors(before, after)
    if isinstance(found, str):
        return [found]
    problems: list[str] = []
    place: dict[int, int] = {}
    for (i0, j0), (i1, j1) in pairwise([(-1, -1), *found, (len(before), len(after))]):
        place.update(_segment(before, after, range(i0 + 1, i1), range(j0 + 1, j1), need_ref))
        if j1 < len(after):
            place[j1] = i1
    matches: dict[int, Match] = {}
    for j, i in place.items():
        verdict = match(before[i], after[j], need_ref)
        if isinstance(verdict, str):
            problems.append(f"message {j} (was {i}): {verdict}")
            verdict = Match(0, speaks=True, gist=True)
        matches[j] = verdict
    return problems + _gaps(before, after, place, matches, need_ref) + _repeated_roles(before, after, place)


def _repeated_roles(before: Sequence[Message], after: Sequence[Message], place: dict[int, int]) -> list[str]:
    """Neighbours of one role that were not neighbours; results of one reply may be several messages."""
    return [
        f"messages {j} and {j + 1} are both of the role {one.role}, which the original does not have there"
        for j, (one, two) in enumerate(pairwise(after))
        if one.role == two.role != "tool" and place.get(j + 1) != place.get(j, -2) + 1
    ]


def _with_bound_thoughts(messages: Sequence[Message]) -> list[Message]:
    """Thoughts that must stay marked as bound: those of the newest turn, and of those with calls."""
    turns: list[list[Message]] = []
    answered = True
    for message in messages:
        by_model = message.role in MODEL_ROLES or message.role in ("tool", "function")
        prompts = not by_model and any(atom.kind in ("text", "media") for atom in message.atoms)
        turns += [[]] if prompts and answered else []
        turns[-1:] = [[*(turns[-1] if turns else ()), message]]
        answered = by_model or (answered and not prompts)
    found: list[Message] = []
    for number, turn in enumerate(turns):
        done = [atom.kind for m in turn for atom in m.atoms if m.role in (*MODEL_ROLES, "tool", "function")]
        free = number < len(turns) - 1 and set(done) <= {"text", "thought", "bound"}
        found += turn if free else [replace(m, atoms=tuple(map(_bound, m.atoms))) for m in turn]
    return found


def _bound(atom: Atom) -> Atom:
    return replace(atom, kind="bound") if atom.kind == "thought" else atom


def _segment(
    before: Sequence[Message], after: Sequence[Message], rows: range, columns: range, need_ref: bool
) -> dict[int, int]:
    """Pairs the messages between two anchors: equals from the front, what fits from the back, then the rest."""

    def score(i: int, j: int) -> int:
        verdict = match(before[i], after[j], need_ref)
        return 0 if isinstance(verdict, str) else verdict.score

    place: dict[int, int] = {}
    while rows and columns and score(rows[-1], columns[-1]):
        place[columns[-1]] = rows[-1]
        rows, columns = rows[:-1], columns[:-1]
    while rows and columns and before[rows[0]].whole == after[columns[0]].whole:
        place[columns[0]] = rows[0]
        rows, columns = rows[1:], columns[1:]
    return place | align(rows, columns, score)


def _gaps(
    before: Sequence[Message],
    after: Sequence[Message],
    place: dict[int, int],
    matches: dict[int, Match],
    need_ref: bool,
) -> list[str]:
    """Judges what stands, and what is missing, between the messages that were found again."""
    problems: list[str] = []
    nothing = Match(0)
    ends = [(-1, -1), *sorted((j, i) for j, i in place.items()), (len(after), len(before))]
    told: set[int] = set()  # messages of `after` with an inserted text beside them
    for (j0, i0), (j1, i1) in pairwise(ends):
        left, right = matches.get(j0, nothing), matches.get(j1, nothing)
        inserted, removed = range(j0 + 1, j1), range(i0 + 1, i1)
        for j in inserted:
            reason = _insertable(after[j], need_ref)
            heard = _told_before(after, place, matches, j - 1) or (j > 0 and not _insertable(after[j - 1], need_ref))
            if heard and _acknowledges(after[j]):
                continue
            if reason:
                near = [match(before[i], after[j], need_ref) for i in removed if before[i].role == after[j].role]
                hints = [why for why in near if isinstance(why, str)]
                problems.append(f"message {j} is not in the original: {'; '.join([reason, *hints[:1]])}")
        if inserted:
            told |= {j0, j1}
            if not removed and not left.dropped and not right.dropped and not _gone_after(before, after, place, j1):
                problems.append(f"message {j0 + 1} was inserted where nothing was folded")
        elif removed and need_ref and not (left.gist or right.gist or _told_before(after, place, matches, j0)):
            if j0 > 0 and left.speaks and _acknowledges(after[j0]) and matches.get(j0 - 1, nothing).gist:
                continue  # words of the model that stand in for replies and name the ref of the text before them
            problems.append(f"messages {removed[0]}-{removed[-1]} vanished without a {REF}")
        if left.gist or right.gist:
            told |= {j0, j1}
    for j, found in sorted(matches.items()):
        heard = j in told or _told_before(after, place, matches, j - 1)
        if found.dropped and need_ref and not found.speaks and not heard:
            problems.append(f"message {j} lost a part without a {REF}")
    return problems


def _gone_after(before: Sequence[Message], after: Sequence[Message], place: dict[int, int], j: int) -> bool:
    """Whether something is missing behind the prompts, still being answered, that follow from here."""
    while j in place and after[j].role not in MODEL_ROLES and after[j].role != "tool":
        if place.get(j + 1, len(before)) - place[j] > 1:
            return True
        j += 1
    return False


def _told_before(after: Sequence[Message], place: dict[int, int], matches: dict[int, Match], j: int) -> bool:
    """Whether only prompts that are still being answered stand between here and a text that speaks of what is gone."""
    while j >= 0 and j in place and not matches[j].gist:
        if after[j].role in MODEL_ROLES or after[j].role == "tool":
            return False
        j -= 1
    return j >= 0


def _anchors(before: Sequence[Message], after: Sequence[Message]) -> list[tuple[int, int]] | str:
    """Messages that can be told beyond doubt: by the id of a call or result, or by being the only one of their kind."""

    def keys(message: Message) -> set[str]:
        return {atom.id for atom in message.atoms if atom.id} | {message.whole}

    once = [{key for key, n in Counter(k for m in side for k in keys(m)).items() if n == 1} for side in (before, after)]
    home = {key: i for i, m in enumerate(before) for key in keys(m) if key in once[0]}
    pairs: list[tuple[int, int]] = []
    for j, message in enumerate(after):
        places = {home[key] for key in keys(message) if key in once[1] and key in home}
        if len(places) > 1:
            return f"message {j} mixes the original messages {sorted(places)}"
        if places:
            pairs.append((places.pop(), j))
    for (i0, _), (i1, j1) in pairwise(pairs):
        if i1 == i0:
            return f"message {j1}: the original message {i1} was split or doubled"
        if i1 < i0:
            return f"message {j1}: order changed (original {i1} after original {i0})"
    return pairs


def align(rows: Sequence[int], columns: Sequence[int], score: Callable[[int, int], int]) -> dict[int, int]:
    """The best order-keeping pairing of columns with rows, as {column: row}; a score of 0 pairs nothing.

    Of equals the latest is taken, since folds stand before what was kept.
    """
    scores = [[score(i, j) for j in columns] for i in rows]
    best = [[0] * (len(columns) + 1) for _ in range(len(rows) + 1)]
    for r in range(1, len(rows) + 1):
        for c in range(1, len(columns) + 1):
            paired = best[r - 1][c - 1] + scores[r - 1][c - 1] if scores[r - 1][c - 1] else 0
            best[r][c] = max(best[r - 1][c], best[r][c - 1], paired)
    found: dict[int, int] = {}
    r, c = len(rows), len(columns)
    while r and c:
        if scores[r - 1][c - 1] and best[r][c] == best[r - 1][c - 1] + scores[r - 1][c - 1]:
            r, c = r - 1, c - 1
            found[columns[c]] = rows[r]
        elif best[r][c] == best[r][c - 1]:
            c -= 1
        else:
            r -= 1
    return found


def match(b: Message, a: Message, need_ref: bool) -> Match | str:
    """Whether `a` is `b`, untouched or lawfully folded; else why not."""
    if b.whole == a.whole:
        return Match(1000)
    if b.frame != a.frame:
        return f"role or other fields changed: {b.frame[:200]} -> {a.frame[:200]}"

    def score(i: int, j: int) -> int:
        if b.atoms[i].whole == a.atoms[j].whole:
            return 20
        return 0 if fold_error(b.atoms[i], a.atoms[j], need_ref) else 5

    found = align(range(len(b.atoms)), range(len(a.atoms)), score)
    speaks = gist = False
    for j, atom in enumerate(a.atoms):
        if j in found:
            changed = b.atoms[found[j]].whole != atom.whole
            speaks |= changed
            gist |= changed and atom.kind == "text" and a.role == "user"
        elif a.role == "user" and atom.kind == "text" and atom.frame in _PLAIN_TEXT and _has_ref(atom.shown):
            speaks = gist = True
        else:
            left = [fold_error(b.atoms[i], atom, need_ref) for i in range(len(b.atoms)) if i not in found.values()]
            return f"part {j} ({atom.kind}): {next(filter(None, left), 'not in the original')}"
    gone = [atom for i, atom in enumerate(b.atoms) if i not in found.values()]
    dropped = any(atom.kind != "thought" for atom in gone)
    if not found:
        return "nothing of the original message is left"
    if dropped and b.role in MODEL_ROLES:
        return "a part of a model reply was dropped"
    if gone and not dropped and not any(atom.kind == "text" and str(atom.shown).strip() for atom in a.atoms):
        return "a reply lost its thought and says nothing"
    return Match(10 + len(found), speaks, gist, dropped)


_PLAIN_TEXT = {"", canonical({}), canonical({"type": "text"}), canonical({"type": "input_text"})}


def _insertable(message: Message, need_ref: bool) -> str:
    if message.role != "user":
        return f"a {message.role} message"
    if (
        not message.plain
        or not message.atoms
        or any(a.kind != "text" or a.frame not in _PLAIN_TEXT for a in message.atoms)
    ):
        return "more than plain text"
    if need_ref and not any(_has_ref(atom.shown) for atom in message.atoms):
        return f"no {REF}"
    return ""


def _acknowledges(message: Message) -> bool:
    """A few plain words of the model to the text that was put in before them."""
    return (
        message.role in MODEL_ROLES
        and message.plain
        and all(a.kind == "text" and a.frame in _PLAIN_TEXT and len(a.shown) < 200 for a in message.atoms)
    )


def fold_error(b: Atom, a: Atom, need_ref: bool) -> str | None:
    """None when `a` is `b` or a lawful fold of it."""
    if b.whole == a.whole:
        return None
    if b.kind == "media" and a.kind == "text":
        return _text_error(a.shown, need_ref) or (None if b.marks == a.marks else "marks of a folded image changed")
    if b.kind != a.kind:
        return f"a {b.kind} became a {a.kind}"
    if b.kind in ("opaque", "media", "thought", "bound"):
        return f"changed: {b.whole[:120]} -> {a.whole[:120]}"
    if b.frame != a.frame:
        return f"fields changed: {b.frame[:200]} -> {a.frame[:200]}"
    if b.kind == "text":
        return _text_error(a.shown, need_ref)
    if b.kind == "result":
        if canonical(b.shown).count('"cache_control"') != canonical(a.shown).count('"cache_control"'):
            return "a cache mark inside a result changed"
        return _text_error(a.shown if isinstance(a.shown, str) else canonical(a.shown), need_ref)
    return _arguments_error(b.shown, a.shown, need_ref)


def _text_error(shown: Any, need_ref: bool) -> str | None:
    if not isinstance(shown, str) or not shown.strip():
        return "a text became empty"
    return None if _has_ref(shown) or not need_ref else f"changed without a {REF}: {shown[:120]!r}"


def _arguments_error(b: Any, a: Any, need_ref: bool) -> str | None:
    if not isinstance(b, dict) or not isinstance(a, dict):
        return "arguments that are no object changed"
    if list(b) != list(a):
        return f"argument names changed: {list(b)} -> {list(a)}"
    changed = [key for key in b if canonical(b[key]) != canonical(a[key])]
    if not changed:
        return "arguments were rewritten though nothing is folded"
    silent = [key for key in changed if not _has_ref(a[key])]
    return f"arguments {silent} changed without a {REF}" if silent and need_ref else None


def _has_ref(shown: Any) -> bool:
    return REF in (shown if isinstance(shown, str) else canonical(shown))


def fields(before: dict[str, Any], after: dict[str, Any], conversation: Iterable[str]) -> list[str]:
    """Every field of the request outside the conversation must be the same."""
    keys = [k for k in {**before, **after} if k not in conversation]
    return [
        f"field {k!r} {'was added' if k not in before else 'vanished' if k not in after else 'changed'}"
        for k in keys
        if (k in before) != (k in after) or canonical(before[k]) != canonical(after[k])
    ]


def compare_system(before: Message | None, after: Message | None, need_ref: bool) -> list[str]:
    if before is None or after is None:
        return [] if before is after else ["the system prompt was added or vanished"]
    verdict = match(before, after, need_ref)
    if isinstance(verdict, str):
        return [f"system prompt: {verdict}"]
    return ["system prompt: a part vanished"] if verdict.dropped else []
