from __future__ import annotations

from yohaku.core.folds import Gist, Stub
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, History, Opaque, Reply, Result, Step, Text, Tool, ToolUse, Turn
from yohaku.core.originals import Slot
from yohaku.core.shape import WIDTH, shape
from yohaku.core.view import View
from yohaku.testing import PNG, ByteMeter

IMAGE = Opaque("image", PNG, "base64", "image/png")


def history() -> History:
    use = ToolUse(Call("1", "bash", '{"command":"ls"}'), Result((Text("a.py\nb.py"), IMAGE)))
    failed = ToolUse(Call("2", "read", '{"path":"c.py"}'), Result((Text("no such file"),), error=True))
    empty = ToolUse(Call("3", "bash", "{}"), Result())
    turns = [
        Turn((Text("look\n  around"), IMAGE), (Step((Opaque("thought", "hm"), Text("I look."), use, failed)),)),
        Turn((Text("and now", by="system"),), (Step((empty,)),)),
    ]
    return history_of(turns, [Text("be kind")], [Tool("bash", "{}")], Reply((Call("9", "bash", "{}"),)))


def test_white_space_takes_no_room_from_what_a_line_shows() -> None:
    said = "a" + " \n" * 60 + "b" * 70
    [line] = shape(View(history_of([Turn((Text(said),))])))
    assert line == f"user       a {'b' * (WIDTH - 3)}…"


def test_a_shape_has_one_line_for_each_thing_said() -> None:
    assert list(shape(View(history()))) == [
        "system     be kind",
        "tool       bash",
        "user       look around",
        "user       (image image/png)",
        "assistant  (thought )",
        "assistant  I look.",
        '  call     bash {"command":"ls"}',
        "  result   a.py b.py",
        "  result   (image image/png)",
        '  call     read {"path":"c.py"}',
        "  error    no such file",
        "system     and now",
        "  call     bash {}",
        "  result   (empty)",
        "open       bash",
    ]


def test_with_a_meter_a_line_says_what_its_part_weighs() -> None:
    assert list(shape(View(history_of([Turn((Text("x" * 1_234), IMAGE))])), ByteMeter())) == [
        "user          1,234  " + "x" * (WIDTH - 1) + "…",
        "user            100  (image image/png)",
    ]


def test_with_a_meter_a_call_weighs_its_name_and_arguments_as_they_are_shown() -> None:
    use = ToolUse(Call("1", "bash", '{"command":"ls"}'), Result((Text("a.py"),)))
    h = history_of([Turn((Text("go"),), (Step((use,)),))])
    stub = Stub(h.steps[0].key, Slot("argument", 0, "command"), "[; ref=aaa]", "aaa", "argument", "why", 9, 1)
    assert [list(shape(view, ByteMeter()))[1] for view in (View(h), View(h).with_([stub]))] == [
        '  call           21  bash {"command":"ls"}',
        '  call           30  bash {"command":"[]"} | ref=aaa',
    ]


def test_a_ref_that_stands_in_the_text_is_not_said_again() -> None:
    h = history_of([Turn((Text("a long paste"),))])
    stub = Stub(h.turns[0].key, Slot("prompt", 0), "[prompt folded; ref=aaa]", "aaa", "prompt", "why", 9, 1)
    assert list(shape(View(h).with_([stub]))) == ["user       [prompt folded] | ref=aaa"]


def test_folded_arguments_of_one_call_show_each_ref() -> None:
    use = ToolUse(Call("1", "write", '{"path":"a","content":"b"}'), Result())
    h = history_of([Turn((Text("go"),), (Step((use,)),))])
    stubs = [
        Stub(h.steps[0].key, Slot("argument", 0, n), "[]", ref, "a", "why", 9, 1)
        for n, ref in (("path", "aaa"), ("content", "bbb"))
    ]
    assert list(shape(View(h).with_(stubs)))[1] == '  call     write {"path":"[]","content":"[]"} | ref=aaa bbb'


def test_what_is_folded_shows_what_stands_in_and_its_ref() -> None:
    h = history()
    first = h.steps[0].key
    view = View(h).with_(
        [
            Stub(h.turns[0].key, Slot("prompt", 0), "[prompt folded]", "aaa", "prompt", "why", 9, 1),
            Stub(first, Slot("item", 0), "[reply folded]", "bbb", "reply", "why", 9, 1),
            Stub(first, Slot("result", 1, 1), "[image folded]", "ccc", "image", "why", 9, 1),
            Stub(first, Slot("argument", 1, "command"), "[argument folded]", "ddd", "argument", "why", 9, 1),
        ]
    )
    assert [line for line in shape(view) if "ref=" in line] == [
        "user       [prompt folded] | ref=aaa",
        "assistant  [reply folded] | ref=bbb",
        '  call     bash {"command":"[argument folded]"} | ref=ddd',
        "  result   [image folded] | ref=ccc",
    ]


def test_a_gist_stands_in_place_of_what_it_hides() -> None:
    h = history()
    view = View(h).with_([Gist(h.turns[1].key, "[Earlier conversation folded]", "eee", "before", "why", 99, 9)])
    assert list(shape(view)) == [
        "system     be kind",
        "tool       bash",
        "gist       [Earlier conversation folded] | ref=eee",
        "system     and now",
        "  call     bash {}",
        "  result   (empty)",
        "open       bash",
    ]


def test_a_long_text_is_cut_at_its_width_and_an_exact_one_is_not() -> None:
    lines = [" ".join(["word"] * count) for count in (12, 13)]
    shown = [line.removeprefix("user").strip() for line in shape(View(history_of([Turn(tuple(map(Text, lines)))])))]
    assert shown == [lines[0], lines[1][: WIDTH - 1] + "…"]
    assert len(shown[1]) == WIDTH


def test_an_empty_conversation_has_no_lines() -> None:
    assert list(shape(View(History()))) == []
