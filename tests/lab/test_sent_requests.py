from __future__ import annotations

import pytest

from tests.lab.sessions import METER, recorded, said, user
from yohaku.lab.sent_requests import RequestLog, SentRequest, common

SESSION = recorded(user("0123456789"), said("a"), user("b"), said("c"))
FIRST, A, B = SESSION.entries[:3]


def wire(limit: int = 100) -> RequestLog:
    return RequestLog(SESSION, METER, limit)


def test_a_first_request_is_all_written() -> None:
    assert wire().send([FIRST]) == SentRequest(3 + 14, 1.25 * 17, False)


def test_what_was_sent_before_is_read_from_the_cache() -> None:
    sending = wire()
    sending.send([FIRST])
    assert sending.send([FIRST, A, B]) == SentRequest(27, pytest.approx(0.1 * 17 + 1.25 * 10), False)
    assert sending.send([FIRST, A, B]) == SentRequest(27, pytest.approx(0.1 * 27), False)


def test_a_change_breaks_the_cache_from_where_the_text_differs() -> None:
    sending = wire()
    sending.send([FIRST, A, B])
    sent = sending.send([user("0123x"), A, B])
    assert sent == SentRequest(22, pytest.approx(0.1 * (3 + 4) + 1.25 * (22 - 7)), True)
    assert sending.send([user("0123x")]) == SentRequest(12, pytest.approx(0.1 * 12), True)


def test_what_is_over_the_limit_or_malformed_is_not_sent() -> None:
    sending = wire(20)
    sending.send([FIRST])
    assert sending.send([FIRST, A, B]) == "over"
    assert sending.send([A]) == "malformed"
    assert sending.send([FIRST]) == SentRequest(17, pytest.approx(1.7), False), "what was not sent is not in the cache"


def test_texts_share_their_beginning() -> None:
    assert [common("abcd", "abxd"), common("", "a"), common("abc", "abc"), common("abc", "abcd")] == [2, 0, 3, 3]
