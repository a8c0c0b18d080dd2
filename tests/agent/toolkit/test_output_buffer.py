from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit import output_buffer
from yohaku.agent.toolkit.output_buffer import OutputBuffer


@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(2, 100))
def test_it_holds_the_beginning_and_the_end_and_all_of_it_on_disk(pieces: list[bytes], size: int) -> None:
    held = OutputBuffer(size)
    for piece in pieces:
        held.feed(piece)
    whole, half = b"".join(pieces), size // 2
    head, tail = held.ends()
    spill = held.spilled()
    assert (held.total, head) == (len(whole), whole[:half])
    if held.full:
        assert tail == whole[-half:]
        assert spill is not None
        assert spill.read() == whole
    else:
        assert (held.whole(), spill) == (whole, None)
    with held:
        pass


def test_on_disk_too_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_buffer, "MAX_SPILLED_BYTES", 1_000)
    held = OutputBuffer(100)
    for _ in range(100):
        held.feed(b"x" * 99)
    spill = held.spilled()
    assert spill is not None
    assert len(spill.read()) == 1_000
    spill.close()


def test_what_comes_after_the_end_is_not_wanted() -> None:
    held = OutputBuffer(100)
    held.feed(b"a")
    held.close()
    held.feed(b"b")
    assert held.ends() == (b"a", b"")
