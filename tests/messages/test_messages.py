from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

import yohaku
from yohaku import dialects, messages
from yohaku.config import settings
from yohaku.core import errors
from yohaku.core.budget import Budget
from yohaku.core.errors import (
    BadSetting,
    DoesNotFit,
    Malformed,
    Refused,
    StoreFailed,
    Unanswered,
    Uncountable,
    UnknownModel,
    UnknownRecipe,
    UnknownRef,
    Unreadable,
    YohakuError,
)
from yohaku.core.history_builder import history_of
from yohaku.core.model import Step, Text, Tool, Turn
from yohaku.core.verdict import TOO_BIG, TooBig, too_big
from yohaku.core.view import View
from yohaku.core.weigh import weigh
from yohaku.messages import AREAS, LANGUAGES, explain, find, notice, say, sentences
from yohaku.session.count_gaps import WAYS_TO_EXACT
from yohaku.stores.chunks import damaged
from yohaku.stores.sqlite_file import REASONS
from yohaku.testing import ByteMeter

SOURCE = Path(yohaku.__file__).parent


CATALOGUE = {code: sentence for area in AREAS for code, sentence in sentences(area).items()}


def codes(kind: str) -> set[str]:
    """Codes of one kind: those of `error` are the codes of errors."""
    return {code.removeprefix(f"{kind}.") for code in CATALOGUE if code.startswith(f"{kind}.")}


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def error_classes() -> list[type[YohakuError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, YohakuError)]
    return sorted(found, key=lambda kind: kind.__name__)


def source_calls(name: str) -> Iterator[ast.Call]:
    """Every place in the source that calls `name`, or a method of that name."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == name:
                yield node


def setting_codes() -> set[str]:
    """The codes given to BadSetting anywhere in the source."""
    found = {"bad_setting"}
    for node in source_calls("BadSetting"):
        given = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "code")]
        found |= {str(value.value) for value in given if isinstance(value, ast.Constant)}
    return found


def raised(code: str) -> BadSetting:
    with pytest.raises(BadSetting) as caught:
        if code == "unknown_dialect":
            dialects.dialect_named("openai")
        Budget(0 if code == "bad_window" else 100, 200)
    return caught.value


SAMPLES: list[tuple[YohakuError, str]] = [
    (Malformed("call '1' has no result", "messages[3]"), "messages[3]: call '1' has no result"),
    (Unreadable("this is a number"), "this is a number"),
    (
        DoesNotFit(TooBig("system_prompt", 12_345, 7_168)),
        (
            "does not fit: the system prompt would need 12,345 tokens and the limit is 7,168; "
            "shorten it, or use a larger window"
        ),
    ),
    (UnknownModel("gpt-9"), "unknown model 'gpt-9': give its window, or leave strict mode"),
    (UnknownRecipe("atuo", ("auto", "chat")), "unknown recipe 'atuo': use one of auto, chat"),
    (UnknownRef("aaaa"), "unknown ref 'aaaa'"),
    (
        StoreFailed("/data/store.db", "the disk is full", "free some space"),
        "the store /data/store.db: the disk is full; free some space",
    ),
    (
        BadSetting("unknown store 'ftp:'", code="unknown_store", known="memory:, sqlite:///path"),
        "unknown store 'ftp:'",
    ),
    (BadSetting("no client", code="no_client"), "no client"),
    (BadSetting("which file?", code="no_store_file"), "which file?"),
    (
        BadSetting("the pattern '(' cannot be used", code="bad_pattern", pattern="(", why="missing )"),
        "the pattern '(' cannot be used",
    ),
    (BadSetting("no such pin", code="unknown_pin", name="words"), "no such pin"),
    (BadSetting("a whole part", code="pin_whole", name="aaaa"), "a whole part"),
    (BadSetting("nothing yet", code="nothing_folded"), "nothing yet"),
    (BadSetting("is there", code="taken_name", name="a.jsonl"), "is there"),
    (BadSetting("no such session", code="unknown_session", name="abc"), "no such session"),
    (BadSetting("no such folding", code="unknown_folding", name="9", known="1, 2"), "no such folding"),
    (
        BadSetting("--stall is 'x'", "bad_value", where="--stall", value="x", expected="seconds", expects="seconds"),
        "--stall is 'x'",
    ),
    (BadSetting("no such setting", code="unknown_setting", name="windo"), "no such setting"),
    (raised("bad_window"), "a window of 0 tokens: give a positive number"),
    (BadSetting("needs a token", code="proxy_host", host="0.0.0.0", variable="T"), "needs a token"),
    (BadSetting("is taken", code="proxy_port", port="8787", other="8788"), "is taken"),
    (BadSetting("cannot listen", code="proxy_listen", host="h", port="80", why="no"), "cannot listen"),
    (BadSetting("no address", code="proxy_upstream", url="h:1"), "no address"),
    (BadSetting("needs a key", code="tenant_key", variable="K"), "needs a key"),
    (BadSetting("openai needs its key", code="summaries_key", name="openai", variable="K"), "openai needs its key"),
    (raised("bad_reserve"), "a reserve of 200 tokens in a window of 100: give one from 0 to below the window"),
    (BadSetting("no such thing"), "no such thing"),
    (BadSetting("summarise is async here", code="async_summarise"), "summarise is async here"),
    (raised("unknown_dialect"), f"unknown dialect 'openai': use one of {', '.join(dialects.BUILT_IN)}"),
    (
        Uncountable("mine", ValueError("no vocabulary")),
        "the meter 'mine' cannot count this: no vocabulary; nothing was folded, use another meter",
    ),
    (Refused(), "no folding is wanted now"),
    (Unanswered("nobody is there"), "nobody is there"),
    (YohakuError("something"), "something"),
]


def test_we_speak_english_and_japanese() -> None:
    assert LANGUAGES == ("en", "ja")


def test_a_code_stands_in_one_area() -> None:
    assert len(CATALOGUE) == sum(len(sentences(area)) for area in AREAS)
    assert {path.stem for path in (SOURCE / "messages").glob("*.toml")} == set(AREAS)


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_sentence_exists_in_every_language_with_the_same_facts(code: str) -> None:
    sentence = CATALOGUE[code]
    assert tuple(sentence) == LANGUAGES and all(sentence.values())
    if sentence["en"] not in ("{message}", "{text}"):
        assert fields(sentence["en"]) == fields(sentence["ja"])


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("code", [*sentences("commands"), *sentences("doctor")])
def test_a_sentence_is_said_with_its_facts(code: str, lang: str) -> None:
    texts = {"about", "name", "why", "command", "url", "where", "header"}
    names = sorted(fields(CATALOGUE[code]["en"]))
    facts: dict[str, object] = {field: "TEXT" if field in texts else 1_234 for field in names}
    told = say(code, lang, **facts)
    assert "{" not in told and all(("TEXT" if field in texts else "1,234") in told for field in facts)


def test_one_japanese_word_stands_for_folding() -> None:
    assert [code for code, sentence in CATALOGUE.items() if "折りたた" in sentence["ja"]] == []


def test_an_unknown_language_is_answered_in_english() -> None:
    assert say("total", "de") == "total"
    assert explain(UnknownRef("a"), "de") == "unknown ref 'a'"


def test_every_phrase_the_source_says_is_there() -> None:
    said = [node.args[0] for node in source_calls("say") if node.args and isinstance(node.args[0], ast.Constant)]
    names = {node.value for node in said if isinstance(node.value, str)}
    assert names and names <= CATALOGUE.keys()


@pytest.mark.parametrize("kind", error_classes())
def test_every_error_of_the_tree_has_a_sentence_in_japanese(kind: type[YohakuError]) -> None:
    assert kind.code in codes("error")


def test_the_tree_drawn_in_the_docstring_is_the_tree() -> None:
    assert [kind.__name__ for kind in error_classes() if kind.__name__ not in (errors.__doc__ or "")] == []


@pytest.mark.parametrize("code", sorted(setting_codes()))
def test_every_code_of_a_bad_setting_has_a_sentence_in_japanese(code: str) -> None:
    assert code in codes("error")


def test_there_is_no_sentence_nobody_says() -> None:
    assert codes("error") == {kind.code for kind in error_classes()} | setting_codes() | {"does_not_fit_pinned"}


@pytest.mark.parametrize(("error", "english"), SAMPLES, ids=lambda value: getattr(value, "code", ""))
def test_an_error_is_explained_in_one_line_in_both_languages(error: YohakuError, english: str) -> None:
    assert explain(error, "en") == english
    japanese = explain(error, "ja")
    assert "\n" not in japanese and "{" not in japanese
    for name, fact in error.facts.items():
        if name not in ("expected", "expects") and (not error.facts.get("reason") or name == "where"):
            told = f"{fact:,}" if isinstance(fact, int) else str(fact)
            assert (say(f"too_big.{told}", "ja") if find(f"too_big.{told}") else told) in japanese


def test_every_code_has_a_sample_here() -> None:
    assert {error.code for error, _ in SAMPLES} | {"does_not_fit_pinned"} == codes("error")


def test_what_is_too_big_is_said_in_japanese() -> None:
    verdict = TooBig("system_prompt", 12_345, 7_168)
    assert explain(DoesNotFit(verdict), "ja") == (
        "収まりません: システムプロンプトに 12,345 トークン必要ですが、上限は 7,168 です。"
        "短くするか、もっと大きいウィンドウを使ってください。"
    )


def test_a_pin_that_stands_in_the_way_is_named_with_how_to_unpin_it() -> None:
    error = DoesNotFit(TooBig("pinned", 12_345, 7_168, "ref=abcdefgh2345", "`cat a.log`"))
    assert explain(error, "en") == (
        "does not fit: what is pinned (`cat a.log`) would need 12,345 tokens and the limit is 7,168; "
        "unpin ref=abcdefgh2345, or use a larger window"
    )
    assert explain(error, "ja") == (
        "収まりません: ピン留めしたもの (`cat a.log`) があるため 12,345 トークン必要ですが、上限は 7,168 です。"
        "ref=abcdefgh2345 のピンを外す (unpin) か、もっと大きいウィンドウを使ってください。"
    )


def test_everything_that_can_be_too_big_has_a_name_in_japanese() -> None:
    weights = (0, 40, 80, 200)
    named = {verdict.what for given in product(weights, repeat=4) if (verdict := refused(*given))}
    assert named | {"empty_request", "pinned", "unfolded_conversation"} == codes("too_big") == TOO_BIG.keys()
    assert {code: CATALOGUE[f"too_big.{code}"]["en"] for code in TOO_BIG} == TOO_BIG


def refused(system: int, tools: int, prompt: int, reply: int) -> TooBig | None:
    """The verdict on a conversation of so many bytes in a window of a hundred, if it is too big."""
    steps = (Step((Text("x" * reply),)),) if reply else ()
    history = history_of([Turn((Text("x" * prompt),), steps)], [Text("x" * system)], [Tool("x", "x" * tools)])
    view = View(history)
    after = weigh(history, ByteMeter())
    return too_big(view, after, Budget(100, 0)) if after.total > 100 else None


def test_a_place_that_is_not_known_is_left_out() -> None:
    assert explain(Malformed("call '1' has no result"), "ja").startswith("会話の形式が正しくありません")


def test_a_message_of_several_lines_becomes_one() -> None:
    assert explain(Unreadable("a\n  b"), "en") == "a b"


def test_a_message_of_several_lines_becomes_one_in_japanese_too() -> None:
    assert "\n" not in explain(Unreadable("a\n  b"), "ja")


def test_every_notice_has_a_sentence_in_japanese() -> None:
    names = ("config/settings.py", "config/resolve.py", "session/persistence.py", "session/recorder.py",
             "session/server_state.py")  # fmt: skip
    source = "".join((SOURCE / name).read_text(encoding="utf-8") for name in names)
    found = set(re.findall(r"(?:warn|Notice)\(\s*\"(\w+)\"", source))
    found |= {f"estimate_{way}" for way in WAYS_TO_EXACT}
    assert found == codes("notice")
    read = settings.read({"WINDOW": "", "YOHAKU_WINDOW": "many", "HOME": "/nowhere"})
    (told,) = read.warnings
    assert "YOHAKU_WINDOW" in messages.notice(told.code, told.text, told.facts, "ja")
    assert messages.notice(told.code, told.text, told.facts, "en") == told.text


def test_why_a_store_failed_is_said_in_japanese_too() -> None:
    assert {reason for reason, _, _ in REASONS.values()} | {"newer_version", "removed", "damaged_data"} == codes(
        "store"
    )
    assert CATALOGUE["store.damaged_data"]["en"] == damaged("store.db").facts["why"]
    for reason, why, remedy in REASONS.values():
        assert CATALOGUE[f"store.{reason}"]["en"] == why
        assert why not in explain(StoreFailed("store.db", why, remedy, reason), "ja")
        assert why not in notice("store_failed", "", {"where": "store.db", "why": why, "reason": reason}, "ja")
    assert "timeout" in explain(StoreFailed("store.db", "timeout", "wait"), "ja")


OTHER_WORDS = {
    "フォルダ(?!ー)": "フォルダー",
    "プロバイダ(?!ー)": "プロバイダー",
    "サーバ(?!ー)": "サーバー",
    "ユーザ(?!ー)": "ユーザー",
    "[（）]": "( )",
    "折りたた|折り畳": "圧縮",
    "断りま|お断り": "拒否",
    "パソコン": "マシン",
    "要求": "リクエスト",
    "速さ": "速度",
    "切詰": "切り詰め",
    "ますか。": "ますか?",
}
"""Words that stand for the same as another, and that one."""


@pytest.mark.parametrize("other", OTHER_WORDS)
def test_japanese_has_one_word_for_one_thing(other: str) -> None:
    said = {code: text["ja"] for area in AREAS for code, text in sentences(area).items()}
    assert [code for code, text in said.items() if re.search(other, text)] == [], f"say {OTHER_WORDS[other]}"
