"""Every exception of the package crosses processes: pickled or copied, it says and carries the same."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

import yohaku
from yohaku.agent.host.download import DownloadFailed
from yohaku.agent.host.embedded import CannotServe
from yohaku.agent.host.model_spec import ModelNotFound
from yohaku.agent.toolkit.lenient_json import NotJson
from yohaku.agent.toolkit.seen_files import StaleFile
from yohaku.client import connection
from yohaku.client.errors import (
    Busy,
    CutOff,
    Garbled,
    RequestFailed,
    RequestRefused,
    TooLong,
    Truncated,
    Unreachable,
)
from yohaku.client.faults import Fault
from yohaku.core import errors
from yohaku.core.model import Reply, Text
from yohaku.core.verdict import TooBig
from yohaku.dialects.answer import Answer
from yohaku.dialects.overflow import Overflow
from yohaku.proxy.bodies import BodyRefused

ANSWER = Answer(Reply((Text("half a"),)), stop="length")

SAMPLES: dict[type[BaseException], tuple[BaseException, ...]] = {
    errors.Malformed: (errors.Malformed("no role", "messages[3]"), errors.Malformed("no role")),
    errors.DoesNotFit: (errors.DoesNotFit(TooBig("pinned", 9, 5, "ref=a", "bash")),),
    errors.UnknownModel: (errors.UnknownModel("m"),),
    errors.UnknownRecipe: (errors.UnknownRecipe("r", ("auto", "local")),),
    errors.UnknownRef: (errors.UnknownRef("aaaaaaaaaaaa"),),
    errors.StoreFailed: (errors.StoreFailed("store.db", "the disk is full", "free some space", "disk_full"),),
    errors.BadSetting: (errors.BadSetting("no window", "bad_window", window=-1), errors.BadSetting("no window")),
    errors.Uncountable: (errors.Uncountable("mine", ZeroDivisionError("by zero")),),
    errors.Refused: (errors.Refused(),),
    RequestFailed: (RequestFailed("talk_too_long"),),
    TooLong: (TooLong(Overflow(5, 9)), TooLong(Overflow())),
    Truncated: (Truncated(5, 9, ANSWER, 8192),),
    Busy: (Busy(2.5, "host"), Busy()),
    RequestRefused: (RequestRefused(401, "no key", "host", "m"),),
    Garbled: (Garbled("<html>", "host"), Garbled(empty=True)),
    Unreachable: (Unreachable("stall", "host", seconds=3), Unreachable("refused", "host", "http://h", local=True)),
    CutOff: (CutOff(ANSWER, "host"),),
    ModelNotFound: (ModelNotFound("no_file", model="a.gguf"),),
    CannotServe: (CannotServe("no_file", model="a.gguf"),),
    DownloadFailed: (DownloadFailed("no_file", model="a.gguf"),),
    NotJson: (NotJson(7),),
    StaleFile: (StaleFile("a.py", "- one\n+ two"), StaleFile("a.py", "")),
    BodyRefused: (BodyRefused(413, "too large"),),
    connection._Failed: (connection._Failed(Fault(Busy(2.5, "host"), again=True)),),
}
"""Those with a constructor of their own; the others are made from a sentence."""


def classes() -> Iterator[type[BaseException]]:
    """Yield every exception class that a module of the package defines."""
    for module in pkgutil.walk_packages(yohaku.__path__, "yohaku."):
        if module.name.endswith("__main__"):
            continue
        try:
            names = vars(importlib.import_module(module.name))
        except (ImportError, errors.BadSetting):
            continue  # of an extra that is not installed
        for value in names.values():
            if isinstance(value, type) and issubclass(value, BaseException) and value.__module__ == module.name:
                yield value


CLASSES = sorted(set(classes()), key=lambda kind: f"{kind.__module__}.{kind.__name__}")


def samples(kind: type[BaseException]) -> tuple[BaseException, ...]:
    return SAMPLES.get(kind) or (kind("a sentence"),)


def state(error: BaseException) -> tuple[Any, ...]:
    return type(error), str(error), repr(error), {name: repr(value) for name, value in vars(error).items()}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_exception_is_the_same_when_it_is_pickled_or_copied(kind: type[BaseException]) -> None:
    for error in samples(kind):
        assert type(error) is kind
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert state(pickle.loads(pickle.dumps(error, protocol))) == state(error)
        assert state(copy.copy(error)) == state(copy.deepcopy(error)) == state(error)


def test_the_exceptions_of_the_core_are_among_them() -> None:
    assert {errors.YohakuError, errors.DoesNotFit, errors.StoreFailed, TooLong, StaleFile} <= set(CLASSES)
    assert SAMPLES.keys() <= set(CLASSES)


def _fit(window: int) -> None:
    yohaku.Session(window, model="gpt-4o").fit([{"role": "system", "content": "words " * window}])


def test_a_worker_process_raises_what_its_caller_can_catch() -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(yohaku.DoesNotFit) as raised:
        pool.submit(_fit, 200).result(60)
    assert raised.value.verdict.limit < raised.value.verdict.needs


class _Own(errors.YohakuError):
    """An exception as another package would write one."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}", first=first)
        self.second = second


def test_a_class_of_another_package_needs_nothing_more() -> None:
    found = pickle.loads(pickle.dumps(_Own(1, 2)))
    assert (str(found), found.second, found.facts) == ("1 and 2", 2, {"first": 1})
