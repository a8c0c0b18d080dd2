from __future__ import annotations

import pytest

from yohaku.analysis.language import are_mostly_japanese, has_japanese, is_japanese


@pytest.mark.parametrize(
    ("texts", "japanese"),
    [
        (["テストを直してください。src/app/main.py です。"], True),
        (["Please fix テスト.py and then run the tests again, with coverage."], False),
        (["fix it"], False),
        ([], False),
        (["修正して", "Traceback (most recent call last): ValueError"], True),
    ],
)
def test_the_language_of_the_user_is_told_by_kana(texts: list[str], japanese: bool) -> None:
    assert is_japanese(texts) is japanese


def test_most_texts_decide_the_language_of_titles() -> None:
    log = "Traceback (most recent call last): ValueError"
    assert are_mostly_japanese(["修正してください", "テストも直して", log])
    assert not are_mostly_japanese(["修正してください", log]) and not are_mostly_japanese([])


def test_kana_and_chinese_characters_are_japanese_and_marks_alone_are_not() -> None:
    assert has_japanese("see あ") and has_japanese("ア") and has_japanese("字")
    assert not has_japanese("plain → text…") and not has_japanese("。、「」")
