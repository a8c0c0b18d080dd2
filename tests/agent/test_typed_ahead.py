from __future__ import annotations

import os
import threading
import time

import pytest

from yohaku.agent.typed_ahead import TypedAhead

pty = pytest.importorskip("pty", reason="there are no terminals of this kind here")


def test_what_was_typed_before_a_question_is_kept_for_the_prompt() -> None:
    keyboard, terminal = pty.openpty()
    try:
        os.write(keyboard, "yes, do that\nthen \x7f たぶ".encode())
        ahead = TypedAhead()
        assert ahead.collect(terminal, quiet=0.05)
        assert (ahead.lines, ahead.begun) == (["yes, do that"], "then たぶ")
        assert ahead.take_begun() == "then たぶ"
        assert ahead.begun == ""
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_it_waits_until_no_key_comes_any_more_and_leaves_the_terminal_as_it_was() -> None:
    import termios

    keyboard, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)

    def type_slowly() -> None:
        for letter in b"abc\n":
            os.write(keyboard, bytes([letter]))
            time.sleep(0.02)

    try:
        typing = threading.Thread(target=type_slowly)
        typing.start()
        ahead = TypedAhead()
        assert ahead.collect(terminal, quiet=1.0)
        typing.join()
        assert (ahead.lines, ahead.begun) == (["abc"], "")
        assert termios.tcgetattr(terminal) == before
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_without_a_terminal_it_says_so() -> None:
    reading, writing = os.pipe()
    try:
        assert not TypedAhead().collect(reading, quiet=0.01)
    finally:
        os.close(reading)
        os.close(writing)
