"""The model is to know which of the files it has read are no longer what it has read (P9)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.session.file_watch import FileWatch
from yohaku.session.session import Session
from yohaku.testing import ByteMeter


def used(tool: str, error: bool = False, **arguments: str) -> Step:
    return Step((ToolUse(Call("c", tool, json.dumps(arguments)), Result((Text("ok"),), error)),))


def steps(*said: Step) -> tuple[Step, ...]:
    return history_of([Turn((Text("Fix it."),), said)]).turns[0].steps


READ = used("read_file", path="a.py")


def test_a_file_that_is_what_it_was_is_no_news() -> None:
    watch = FileWatch({"a.py": "x = 1"}.get)
    watch.observe(steps(READ))
    assert watch.changed() == ()


def test_a_file_that_changed_since_it_was_read_is_named_until_it_is_read_again() -> None:
    disk = {"a.py": "x = 1", "b.py": "y = 1"}
    watch = FileWatch(disk.get)
    said = [READ, used("read_file", path="b.py")]
    watch.observe(steps(*said))
    disk["a.py"] = "x = 2"
    assert watch.changed() == watch.changed() == ("a.py",)
    watch.observe(steps(*said, used("bash", command="ls")))
    assert watch.changed() == ("a.py",)
    watch.observe(steps(*said, used("bash", command="ls"), READ))
    assert watch.changed() == ()
    disk["a.py"] = "x = 1"
    assert watch.changed() == ("a.py",)


def test_a_file_that_is_gone_has_changed() -> None:
    disk = {"a.py": ""}
    watch = FileWatch(disk.get)
    watch.observe(steps(READ))
    del disk["a.py"]
    assert watch.changed() == ("a.py",)


def test_what_the_model_itself_did_is_no_news_to_it() -> None:
    disk = {"a.py": "x = 1"}
    watch = FileWatch(disk.get)
    watch.observe(steps(READ))
    disk["a.py"] = "x = 2"
    edit = used("edit_file", path="a.py", old="1", new="2")
    watch.observe(steps(READ, edit))
    assert watch.changed() == ()
    disk["a.py"] = "x = 3"
    assert watch.changed() == ("a.py",)
    del disk["a.py"]
    watch.observe(steps(READ, edit, used("bash", command="rm a.py")))
    assert watch.changed() == ()


def test_what_was_only_written_was_not_read() -> None:
    disk = {"a.py": "x = 1"}
    watch = FileWatch(disk.get)
    watch.observe(steps(used("write_file", path="a.py", content="x = 1")))
    disk["a.py"] = "x = 2"
    assert watch.changed() == ()


def test_a_read_that_failed_read_nothing() -> None:
    disk = {"a.py": "x = 1"}
    watch = FileWatch(disk.get)
    watch.observe(steps(used("read_file", error=True, path="a.py")))
    disk["a.py"] = "x = 2"
    assert watch.changed() == ()


def test_a_file_by_two_paths_is_one() -> None:
    disk = {"src/a.py": "x = 1", "/home/hana/src/a.py": "x = 1"}
    watch = FileWatch(disk.get)
    short, long = used("read_file", path="src/a.py"), used("edit_file", path="/home/hana/src/a.py", new="x = 2")
    watch.observe(steps(short))
    disk["src/a.py"] = disk["/home/hana/src/a.py"] = "x = 2"
    watch.observe(steps(short, long))
    assert watch.changed() == ()
    disk["src/a.py"] = disk["/home/hana/src/a.py"] = "x = 3"
    assert watch.changed() == ("/home/hana/src/a.py",)


def test_what_cannot_be_read_is_not_watched() -> None:
    def look(path: str) -> str:
        raise errors[path]

    errors: dict[str, Exception] = {"src": IsADirectoryError(), "a.bin": UnicodeDecodeError("utf-8", b"", 0, 1, "no")}
    watch = FileWatch(look)
    watch.observe(steps(used("bash", command="ls src"), used("bash", command="cat a.bin")))
    assert watch.changed() == ()


def test_a_step_is_looked_at_once_and_a_file_once_a_fit() -> None:
    def look(path: str) -> str:
        looked.append(path)
        return "x = 1"

    looked: list[str] = []
    watch = FileWatch(look)
    said = [READ, used("bash", command="cat b.py a.py"), READ]
    watch.observe(steps(*said))
    watch.observe(steps(*said))
    assert sorted(looked) == ["a.py", "b.py"]


@given(st.lists(st.sampled_from(["read", "edit", "rm", "outside"]), max_size=12))
def test_a_file_has_changed_when_it_is_not_what_it_was_after_the_last_touch(events: list[str]) -> None:
    tools = {
        "read": READ,
        "edit": used("edit_file", path="a.py", new="x"),
        "rm": used("bash", command="rm a.py"),
    }
    disk, watch, said = {"a.py": "x"}, FileWatch(lambda path: disk.get(path)), list[Step]()
    read, then = False, None
    for number, event in enumerate(events):
        if event == "rm":
            disk.pop("a.py", None)
        elif event != "read":
            disk["a.py"] = str(number)
        if event != "outside":
            said.append(tools[event])
            watch.observe(steps(*said))
            read, then = read or event == "read", None if event == "rm" else disk.get("a.py")
    expected = read and then is not None and disk.get("a.py") != then
    assert watch.changed() == (("a.py",) if expected else ())


# In a session


def body(*paths: str) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"role": "user", "content": "Fix it."}]
    for number, path in enumerate(paths):
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{number}", "content": "text " * 40})
    return said


def test_a_session_watches_what_its_conversation_reads() -> None:
    disk = {"a.py": "a", "b.py": "b"}
    s = Session(2_000, 0, meter=ByteMeter(), look=disk.get)
    s.fit(body("a.py"))
    disk["a.py"] = "changed"
    s.fit(body("a.py", "b.py"))
    assert s.changed() == ("a.py",)
    s.fit(body("a.py", "b.py", *"cdefghijk"))
    assert s.receipt and s.receipt.folds and s.changed() == ("a.py",)
    s.fit(body("a.py", "b.py", *"cdefghijk", "a.py"))
    assert s.changed() == ()


def test_an_edit_of_the_history_does_not_make_it_forget() -> None:
    disk = {"a.py": "a"}
    s = Session(2_000, 0, meter=ByteMeter(), look=disk.get)
    first = [*body("a.py"), {"role": "user", "content": "Go on."}]
    s.fit(first)
    disk["a.py"] = "changed"
    s.fit([*first[:-1], {"role": "user", "content": "Stop."}])
    assert s.changed() == ("a.py",)


def test_where_nobody_can_look_nothing_is_known_to_have_changed() -> None:
    s = Session(2_000, 0, meter=ByteMeter())
    s.fit(body("a.py"))
    assert s.changed() == ()
