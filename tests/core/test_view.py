from __future__ import annotations

import base64
import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yohaku.core.folds import Cut, Fold, Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import (
    Slot,
    argument_text,
    arguments_of,
    is_media,
    original_at,
    original_of,
    ref_of,
    ref_of_turns,
    render_turns,
    replace_arguments,
)
from yohaku.core.view import View
from yohaku.testing import PNG, conversation

IMAGE = Opaque("image", PNG, "base64", "image/png", at=(3, "content", 1))
ARGUMENTS = '{"path":"a.py","content":"long"}'
LOOK = Step((Text("I look."), ToolUse(Call("1", "bash", ARGUMENTS), Result((Text("out 1"), IMAGE)))))
DONE = Step((Text("Done."),))
AGAIN = Step((ToolUse(Call("2", "bash", "{}"), Result((Text("out 2"),), error=True)),))


def history() -> History:
    """Two turns of two steps and one."""
    turns = [Turn((Text("first", at=(1,)), IMAGE), (LOOK, AGAIN)), Turn((Text("second"),), (DONE,))]
    return history_of(turns, [Text("be kind")], [Tool("bash", "{}")])


def stub(key: str, slot: Slot, text: str = "[folded]") -> Stub:
    return Stub(key, slot, text, "aaaaaaaaaaaa", "result", "why", 100, 10)


def gist(key: str, text: str = "[gist]", start: str = "", ack: str = "") -> Gist:
    return Gist(key, text, "bbbbbbbbbbbb", "before", "why", 100, 10, start=start, ack=ack)


CLOSING = "\n\n[End of the folded part, ref=bbbbbbbbbbbb. The user's own message follows:]\n"
STAND_IN = Step((Text("(What I did for this is in the folded part above, ref=bbbbbbbbbbbb.)"),))


def place(history: History, turn: int, step: int | None = None) -> str:
    return history.turns[turn].key if step is None else history.turns[turn].steps[step].key


# A view and its folds


def test_a_view_without_folds_shows_the_history() -> None:
    h = history()
    view = View(h)
    assert view.shown == h
    assert (view.folds, view.live, view.gist, view.cut) == ((), (), None, Cut(0, 0))
    assert tuple(view.visible()) == h.turns


def test_with_adds_folds_and_leaves_the_view_it_came_from_alone() -> None:
    h = history()
    before = View(h).with_([stub(place(h, 1, 0), Slot("item", 0))])
    after = before.with_([stub(place(h, 1, 0), Slot("item", 0), "[other]"), gist(place(h, 0, 0))])
    assert before.folds == (stub(place(h, 1, 0), Slot("item", 0)),)
    assert after.folds == (gist(place(h, 0, 0)), stub(place(h, 1, 0), Slot("item", 0), "[other]"))
    assert after.history is h


def test_stubs_show_where_they_stand_and_nowhere_else() -> None:
    h = history()
    view = View(h).with_(
        [
            stub(place(h, 0), Slot("prompt", 1), "[image]"),
            stub(place(h, 0, 0), Slot("item", 0), "[text]"),
            stub(place(h, 0, 0), Slot("argument", 1, "content"), "[argument]"),
            stub(place(h, 0, 0), Slot("result", 1, 1), "[screenshot]"),
            stub(place(h, 0, 1), Slot("result", 0, 0), "[result]"),
        ]
    )
    call = Call("1", "bash", '{"path":"a.py","content":"[argument]"}')
    look = Step((Text("[text]"), ToolUse(call, Result((Text("out 1"), Text("[screenshot]"))))))
    again = Step((ToolUse(Call("2", "bash", "{}"), Result((Text("[result]"),))),))
    assert view.shown == History(h.system, h.tools, (Turn((Text("first"), Text("[image]")), (look, again)), h.turns[1]))


def test_what_stands_in_keeps_the_place_the_speaker_and_the_mark_of_an_error() -> None:
    h = history_of([Turn((Text("rules", "system", (4,)),), (AGAIN,))])
    view = View(h).with_([stub(place(h, 0), Slot("prompt", 0)), stub(place(h, 0, 0), Slot("result", 0, 0))])
    (prompt,) = view.shown.turns[0].prompt
    assert isinstance(prompt, Text)
    assert (prompt.text, prompt.by, prompt.at) == ("[folded]", "system", (4,))
    assert view.shown.steps[0].uses[0].result.error
    assert [step.key for step in view.shown.steps] == [step.key for step in h.steps]


def test_a_stub_on_a_key_of_another_conversation_shows_nothing() -> None:
    h = history()
    view = View(h).with_([stub("of another conversation", Slot("prompt", 0)), gist("of another conversation")])
    assert (view.shown, view.live, view.gist, view.cut) == (h, (), None, Cut(0, 0))


def test_a_pending_reply_is_never_shown() -> None:
    turns = [Turn((Text("go"),), (AGAIN,))]
    h = history_of(turns, pending=Reply((Call("9", "bash", "{}"),)))
    assert h.pending and View(h).shown == history_of(turns)


# Gists


@pytest.mark.parametrize(
    ("turn", "step", "cut", "prompts", "steps"),
    [
        (0, 0, Cut(0, 1), [f"[gist]{CLOSING}first", "second"], [AGAIN, DONE]),
        (0, 1, Cut(0, 2), [f"[gist]{CLOSING}first", "second"], [STAND_IN, DONE]),
        (1, None, Cut(1, 0), [f"[gist]{CLOSING}second"], [DONE]),
        (1, 0, Cut(1, 1), [f"[gist]{CLOSING}second"], []),
    ],
)
def test_a_gist_hides_everything_up_to_its_step_but_not_the_prompt_being_answered(
    turn: int, step: int | None, cut: Cut, prompts: list[str], steps: list[Step]
) -> None:
    h = history()
    view = View(h).with_([gist(place(h, turn, step))])
    assert view.cut == cut and view.gist == gist(place(h, turn, step))
    assert [part.text for t in view.shown.turns for part in t.prompt if isinstance(part, Text)] == prompts
    assert list(view.shown.steps) == steps
    assert (view.shown.system, view.shown.tools) == (h.system, h.tools)


def test_the_gist_that_reaches_furthest_is_the_one_that_shows_whichever_came_first() -> None:
    h = history()
    near, far = gist(place(h, 1), "[near]"), gist(place(h, 0, 0), "[far]")
    for folds in ([near, far], [far, near]):
        view = View(h).with_(folds)
        assert (view.gist, view.cut) == (near, Cut(1, 0))
        assert view.shown.turns == (Turn((Text(f"[near]{CLOSING}second"),), (DONE,)),)


def test_only_the_stubs_after_the_newest_gist_are_live() -> None:
    h = history()
    hidden = stub(place(h, 0, 0), Slot("result", 1, 0))
    prompt = stub(place(h, 0), Slot("prompt", 0))
    later = stub(place(h, 0, 1), Slot("result", 0, 0))
    newest = stub(place(h, 1, 0), Slot("item", 0))
    view = View(h).with_([newest, later, prompt, hidden])
    assert view.live == (prompt, hidden, later, newest)
    assert view.with_([gist(place(h, 0, 0))]).live == (prompt, later, newest)
    assert view.with_([gist(place(h, 1))]).live == (newest,)


def test_what_a_gist_hides_has_the_prompts_of_whole_turns_only() -> None:
    h = history()
    view = View(h)
    assert view.hidden(Cut(0, 0)) == ()
    assert view.hidden(Cut(0, 1)) == (Turn((), (LOOK,)),)
    assert view.hidden(Cut(1, 0)) == (h.turns[0],)
    assert view.hidden(Cut(1, 1)) == (h.turns[0], Turn((), (DONE,)))


def test_hidden_and_visible_together_are_the_history() -> None:
    h = history()
    for fold in (gist(place(h, 0, 0)), gist(place(h, 0, 1)), gist(place(h, 1)), gist(place(h, 1, 0))):
        view = View(h).with_([fold])
        steps = [step for turns in (view.hidden(view.cut), view.visible()) for turn in turns for step in turn.steps]
        assert steps == list(h.steps)


# Chapters


def long_history() -> History:
    """Three turns, with three steps, one and two."""
    steps = [Step((Text(f"step {n}"), ToolUse(Call(str(n), "bash", "{}"), Result((Text("ok"),))))) for n in range(6)]
    turns = [Turn((Text("one"),), tuple(steps[:3])), Turn((Text("two"),), (steps[3],))]
    return history_of([*turns, Turn((Text("three"),), tuple(steps[4:]))])


def row(h: History, *ends: tuple[int, int | None]) -> list[Fold]:
    keys = [place(h, *end) for end in ends]
    return [gist(key, f"[{number}]", start) for number, (key, start) in enumerate(zip(keys, ["", *keys], strict=False))]


def texts(view: View) -> list[str]:
    found = (part for turn in view.shown.turns for part in (*turn.prompt, *(i for s in turn.steps for i in s.items)))
    return [part.text for part in found if isinstance(part, Text)]


def test_gists_stand_in_a_row_each_for_its_stretch() -> None:
    h = long_history()
    folds = row(h, (0, 0), (0, 1), (2, 0))
    for some in (folds, folds[::-1]):
        view = View(h).with_(some)
        assert view.chapters == tuple(folds) and view.gist == folds[-1] and view.cut == Cut(2, 1)
        first, *rest = texts(view)
        assert first.startswith("[0]\n\n[1]\n\n[2]\n\n") and first.endswith("\nthree") and rest == ["step 5"]
    stretches = [render_turns(view.stretch(one)) for one in view.chapters]
    spoken = [re.findall(r"^## (?:user|assistant)\n(.*)", text, re.MULTILINE) for text in stretches]
    assert spoken == [["step 0"], ["step 1"], ["one", "step 2", "two", "step 3", "step 4"]]
    assert [dict(view.originals(one))[one.ref] for one in view.chapters] == stretches


def test_without_one_of_the_chapters_before_it_a_gist_does_not_show() -> None:
    h = long_history()
    first, second, third = row(h, (0, 0), (0, 1), (2, 0))
    assert View(h).with_([first, third]).chapters == (first,)
    assert View(h).with_([second, third]).shown == h
    assert View(h).with_([first, second, third]).chapters == (first, second, third)


def test_a_gist_of_everything_takes_the_place_of_the_chapters_and_others_follow_it() -> None:
    h = long_history()
    chapters = row(h, (0, 0), (0, 1), (1, None))
    anew = gist(place(h, 1), "[anew]")
    later = gist(place(h, 2), "[later]", start=anew.key)
    assert View(h).with_([*chapters, anew]).chapters == (anew,)
    assert View(h).with_([*chapters, anew, later]).chapters == (anew, later)


@pytest.mark.parametrize("start", ["self", "later", "unknown"])
def test_a_row_that_does_not_lead_to_the_beginning_does_not_show(start: str) -> None:
    h = long_history()
    near, far = place(h, 0, 1), place(h, 2, 0)
    starts = {"self": near, "later": far, "unknown": "of another conversation"}
    folds: list[Fold] = [gist(near, start=starts[start]), gist(far, start=near), gist(starts["unknown"])]
    assert View(h).with_(folds).shown == h


def test_chapters_are_acknowledged_together_if_the_newest_is() -> None:
    h = long_history()
    first = gist(place(h, 0, 0), "[0]")
    second = gist(place(h, 0, 1), "[1]", start=first.key, ack="I see.")
    view = View(h).with_([first, second])
    told, then = view.shown.turns[:2]
    assert told.prompt == (Text("[0]\n\n[1]"),) and told.steps == (Step((Text("I see."),)),)
    assert then.prompt == (Text("one"),)


def test_chapters_of_a_grown_view_are_those_of_a_fresh_one() -> None:
    h = long_history()
    folds = row(h, (0, 0), (0, 1))
    longer = history_of([*h.turns, Turn((Text("four"),), (DONE,))])
    grown, fresh = View(h).with_(folds).grown(longer), View(longer).with_(folds)
    assert grown.chapters == fresh.chapters == tuple(folds) and grown.shown == fresh.shown


@given(st.integers(0, 100_000))
def test_chapters_hide_everything_once_and_their_parts_are_shared_with_a_gist_of_it_all(seed: int) -> None:
    chance = Random(seed)
    h = conversation(chance, max_turns=5, max_steps=4)
    keys = [key for turn in h.turns for key in (turn.key, *(step.key for step in turn.steps))][1:]
    ends = sorted(chance.sample(range(len(keys)), min(len(keys), chance.randint(1, 4))))
    chosen = [keys[at] for at in ends]
    if not chosen:
        return
    folds = [gist(key, start=start) for key, start in zip(chosen, ["", *chosen], strict=False)]
    view = View(h).with_(folds)
    assert view.chapters == tuple(folds)
    steps = [step for one in folds for turn in view.stretch(one) for step in turn.steps]
    prompts = [part for one in folds for turn in view.stretch(one) for part in turn.prompt]
    hidden = view.hidden(view.cut)
    assert steps == [step for turn in hidden for step in turn.steps]
    assert prompts == [part for turn in hidden for part in turn.prompt]
    for one in folds:
        assert "\n\n".join(view.segments(one)) == render_turns(view.stretch(one))
    whole = gist(chosen[-1])
    parts = view.segments(whole)
    assert "\n\n".join(parts) == render_turns(hidden)
    assert {part for one in folds for part in view.segments(one)} == set(parts)


# Originals and refs


def test_a_stub_opens_to_what_it_hides() -> None:
    h = history()
    originals = {
        Slot("prompt", 0): (0, None, "first"),
        Slot("prompt", 1): (0, None, base64.b64decode(PNG)),
        Slot("item", 0): (0, 0, "I look."),
        Slot("argument", 1, "content"): (0, 0, "long"),
        Slot("result", 1, 0): (0, 0, "out 1"),
        Slot("result", 1, 1): (0, 0, base64.b64decode(PNG)),
    }
    for slot, (turn, step, original) in originals.items():
        fold = stub(place(h, turn, step), slot)
        view = View(h).with_([fold])
        assert list(view.originals(fold)) == [(fold.ref, original)]
        owner = h.turns[turn] if step is None else h.turns[turn].steps[step]
        assert original_at(owner, slot) == original


def test_a_gist_opens_to_its_transcript_and_to_each_image_in_it() -> None:
    h = history()
    fold = gist(place(h, 0, 0))
    picture = base64.b64decode(PNG)
    view = View(h).with_([fold])
    assert list(view.originals(fold)) == [(fold.ref, render_turns(view.hidden(Cut(0, 1)))), (ref_of(picture), picture)]


def test_an_original_opens_whether_or_not_the_fold_still_shows() -> None:
    h = history()
    older, newer = gist(place(h, 0, 0)), gist(place(h, 1))
    view = View(h).with_([older, newer])
    assert dict(view.originals(older))[older.ref] == render_turns(view.hidden(Cut(0, 1)))


def test_a_ref_is_the_address_of_what_it_opens() -> None:
    assert ref_of("日本語") == ref_of("日本語".encode()) == "o4ik5xdu5t5d"
    assert ref_of("日本語") != ref_of("日本語 ")


@given(st.one_of(st.text(st.characters()), st.binary()))
@settings(max_examples=50)
def test_a_ref_is_twelve_letters_and_digits_whatever_it_opens(original: str | bytes) -> None:
    assert re.fullmatch("[a-z2-7]{12}", ref_of(original)) and ref_of(original) == ref_of(original)


def test_a_lone_surrogate_has_a_ref_too() -> None:
    assert re.fullmatch("[a-z2-7]{12}", ref_of("\ud800"))


# Texts to read


def test_turns_are_told_verbatim() -> None:
    h = history()
    image = f"[image image/png; ref={ref_of(base64.b64decode(PNG))}]"
    assert render_turns(h.turns) == "\n\n".join(
        [
            "## user\nfirst",
            f"## user\n{image}",
            "## assistant\nI look.",
            f"## call bash\n{ARGUMENTS}",
            f"## result\nout 1\n{image}",
            "## call bash\n{}",
            "## error\nout 2",
            "## user\nsecond",
            "## assistant\nDone.",
        ]
    )


def test_what_is_not_text_is_told_by_what_it_says_and_who_said_it() -> None:
    turn = Turn(
        (Text("rules", by="system"), Opaque("document", "https://e.org/a.pdf", "url", "application/pdf")),
        (Step((Opaque("thought", "hm"), Opaque("web_search", '{"q":"x"}'))),),
    )
    assert render_turns([turn]) == "\n\n".join(
        [
            "## system\nrules",
            f"## user\n[document application/pdf; ref={ref_of('https://e.org/a.pdf')}]",
            "## assistant\n[thought]\nhm",
            '## assistant\n[web_search]\n{"q":"x"}',
        ]
    )
    assert render_turns([]) == ""


@given(st.integers(0, 10_000))
def test_turns_have_the_ref_of_what_they_are_told_as(seed: int) -> None:
    turns = (*conversation(Random(seed)).turns, Turn((Text("\ud800 折る"),)))
    assert ref_of_turns(turns) == ref_of(render_turns(turns))
    assert ref_of_turns(()) == ref_of("")


def test_bytes_are_said_as_bytes_and_what_is_no_base64_as_it_is() -> None:
    assert original_of(IMAGE) == base64.b64decode(PNG)
    assert original_of(Opaque("image", "not base64!", "base64")) == "not base64!"
    assert original_of(Opaque("image", "https://e.org/a.png", "url")) == "https://e.org/a.png"
    assert original_of(Text("日本語")) == "日本語"


def test_only_media_may_be_shown_as_a_text_instead() -> None:
    kinds = ("image", "document", "audio", "video", "thought", "web_search")
    assert [kind for kind in kinds if is_media(Opaque(kind, "x"))] == ["image", "document", "audio", "video"]
    assert not is_media(Text("image"))


# Arguments


def test_one_argument_is_replaced_and_the_others_stay_in_order() -> None:
    said = '{ "path": "日.py", "content": "long", "n": 3, "flags": {"a": [1, null]} }'
    assert replace_arguments(said, {"content": "[folded]"}) == (
        '{"path":"日.py","content":"[folded]","n":3,"flags":{"a":[1,null]}}'
    )


@given(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.booleans(), st.none()), min_size=1))
@settings(max_examples=50)
def test_a_replaced_argument_is_the_only_thing_that_changes(arguments: dict[str, object]) -> None:
    name = min(arguments)
    assert json.loads(replace_arguments(json.dumps(arguments), {name: "s"})) == {**arguments, name: "s"}


def test_the_original_of_an_argument_is_its_text_or_its_json() -> None:
    call = Call("1", "write", '{"content":"a\\nb","lines":[1,"日"]}')
    assert [argument_text(call, name) for name in ("content", "lines")] == ["a\nb", '[1, "日"]']


@pytest.mark.parametrize("arguments", ['{"n":1e400,"content":"long"}', '["long"]', "long", "", "[" * 100_000])
def test_arguments_that_are_no_object_or_would_not_come_back_have_no_names_to_fold_by(arguments: str) -> None:
    assert arguments_of(arguments) == {}


# Folds found again


def test_the_same_folds_are_told_in_the_same_order_however_they_came_about() -> None:
    h = history_of([Turn((Text("go"),), (LOOK, DONE))])
    slots = (Slot("item", 0), Slot("argument", 1, "content"), Slot("result", 1, 0))
    stubs = [stub(h.steps[0].key, slot) for slot in slots]
    assert View(h).with_(stubs).live == View(h).with_(stubs[::-1]).live


def thinking(*thoughts: Opaque) -> History:
    return history_of([Turn((Text("go"),), (Step((*thoughts, *LOOK.items)), DONE))])


def test_a_view_grown_by_a_turn_shows_what_a_fresh_one_shows() -> None:
    h = history()
    longer = history_of([*h.turns, Turn((Text("third"),), (DONE,))], h.system, h.tools)
    folds: list[Fold] = [gist(h.steps[0].key), stub(h.steps[1].key, Slot("result", 0, 0))]
    grown, fresh = View(h).with_(folds).grown(longer), View(longer).with_(folds)
    assert (grown, grown.cut, grown.shown) == (fresh, fresh.cut, fresh.shown)


@pytest.mark.parametrize("slot", [Slot("item", 0), Slot("argument", 1, "content"), Slot("result", 1, 0)])
def test_a_fold_is_found_again_when_the_client_drops_the_thoughts_before_it(slot: Slot) -> None:
    before, after = thinking(Opaque("thought", "hm")), thinking()
    assert before.steps[0].key == after.steps[0].key
    folds: list[Fold] = [stub(before.steps[0].key, slot)]
    shown = View(after).with_(folds).shown.steps[0].items
    assert shown == View(before).with_(folds).shown.steps[0].items[1:]


# The original of a gist, in parts


def chained(seed: int) -> tuple[View, list[Gist]]:
    """A conversation with gists at some of the places where one may end."""
    chance = Random(seed)
    history = conversation(chance, max_turns=5, max_steps=5)
    view = View(history)
    places = [Cut(n, s) for n, turn in enumerate(history.turns) for s in range(len(turn.steps) + 1)][1:]
    chosen = sorted(chance.sample(places, min(len(places), chance.randint(1, 5))))
    return view.with_(made := [gist(view.key_at(cut)) for cut in chosen]), made


@pytest.mark.parametrize("seed", range(200))
def test_the_parts_of_a_gists_original_are_all_of_it(seed: int) -> None:
    view, made = chained(seed)
    for one in made:
        whole = dict(view.originals(one))[one.ref]
        assert "\n\n".join(view.segments(one)) == whole == render_turns(view.hidden(view._cuts[one.key]))


def test_the_parts_of_an_earlier_gist_are_parts_of_a_later_one() -> None:
    turns = [Turn((Text(f"prompt {n}"),), tuple(Step((Text(f"step {n}.{s}"),)) for s in range(4))) for n in range(4)]
    view = View(history_of([Turn(turn.prompt, _with_calls(turn.steps)) for turn in turns]))
    known: set[str] = set()
    for cut in (Cut(0, 2), Cut(0, 4), Cut(1, 1), Cut(2, 3), Cut(3, 0)):
        view = view.with_([gist(view.key_at(cut))])
        parts = set(view.segments(gist(view.key_at(cut))))
        assert known <= parts
        known = parts


def _with_calls(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Replies without calls would be one reply."""
    return tuple(Step((*step.items, ToolUse(Call(f"{n}", "bash", "{}"), Result()))) for n, step in enumerate(steps))
