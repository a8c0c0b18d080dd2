from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yohaku.core.errors import Unreadable
from yohaku.meters import from_file


def words(**added: Any) -> dict[str, Any]:
    """A vocabulary of six letters and two words, as a hub would hold it."""
    vocabulary = {"h": 0, "e": 1, "l": 2, "o": 3, "Ġ": 4, "!": 5, "he": 6, "ll": 7, "<s>": 8, "<t>": 9}
    to_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": to_bytes,
        "decoder": to_bytes,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["h e", "l l"]},
        **added,
    }


def special(number: int, content: str, *, marker: bool) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": content, "special": marker, **flags}


def write(folder: Path, said: object) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(said), "utf-8")
    return path


def test_a_text_is_counted_with_the_merges_of_the_file(tmp_path: Path) -> None:
    meter = from_file(write(tmp_path, words()))
    assert (meter.name, meter.exact) == ("tokenizer.json", True)
    assert [meter.count(text) for text in ("", "hello", "hello hello!")] == [0, 3, 8]


def test_the_marks_around_a_whole_prompt_are_not_counted(tmp_path: Path) -> None:
    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [8], "tokens": ["<s>"]}},
    }
    said = words(added_tokens=[special(8, "<s>", marker=True)], post_processor=template)
    assert from_file(write(tmp_path, said)).count("hello") == 3


def test_a_word_added_beside_the_vocabulary_is_one_token(tmp_path: Path) -> None:
    said = words(added_tokens=[special(9, "<t>", marker=False)])
    assert from_file(write(tmp_path, said)).count("<t>hello") == 4


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model": 3}', '{"model": {"type": "Unheard"}}', "\udcff漢"])
def test_what_is_not_a_tokenizer_is_unreadable(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(Unreadable, match="not a tokenizer"):
        from_file(path)
