from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode

from hypothesis import given
from hypothesis import strategies as st

from yohaku.core.model import Opaque
from yohaku.meters.families import rule
from yohaku.meters.media import MediaRule, weigh

PNG = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (540).to_bytes(4, "big") + (360).to_bytes(4, "big")).decode()
PDF = b64encode(b"%PDF-1.4\n" + b"<</Type/Page>>" * 2).decode()
CLAUDE, OPENAI, GEMINI = rule("claude_v3"), rule("openai"), rule("gemini_3")


def by_words(text: str) -> int:
    return len(re.findall(r"\w+", text))


def block(kind: str, **said: object) -> Opaque:
    return Opaque(kind, json.dumps({"type": kind, **said}))


def test_a_picture_weighs_what_its_provider_bills() -> None:
    picture = Opaque("image", PNG, "base64", "image/png")
    assert [weigh(picture, each, by_words) for each in (CLAUDE, OPENAI, GEMINI)] == [264, 425, 1120]


def test_a_picture_that_is_only_named_weighs_the_ceiling() -> None:
    named = [Opaque("image", "https://x.org/a.png", "url"), block("image", source={"type": "file", "file_id": "f1"})]
    assert [weigh(part, CLAUDE, by_words) for part in named] == [1572, 1572]
    assert weigh(named[0], OPENAI, by_words) == 85 + 8 * 170


def test_a_data_url_is_data_and_not_a_name() -> None:
    assert weigh(Opaque("image_url", f"data:image/png;base64,{PNG}", "url"), OPENAI, by_words) == 425


def test_a_document_weighs_its_pages() -> None:
    assert weigh(Opaque("document", PDF, "base64", "application/pdf"), CLAUDE, by_words) == 2 * 3000
    assert weigh(Opaque("document", "https://x.org/a.pdf", "url"), CLAUDE, by_words) == 8 * 3000


def sheet(content: bytes) -> Opaque:
    said = b"%PDF-1.4\n<</Type/Page>>\nstream\n" + zlib.compress(content) + b"\nendstream"
    return Opaque("document", b64encode(said).decode(), "base64", "application/pdf")


def test_a_page_weighs_its_picture_and_its_text_with_the_ends_of_its_lines() -> None:
    little, much = sheet(b"BT (Dummy PDF file) Tj ET"), sheet(b"BT (" + b"word " * 2000 + b") Tj ET")
    assert [weigh(little, each, by_words) for each in (CLAUDE, OPENAI, GEMINI)] == [1660 + 4, 225 + 4, 1120]
    assert [weigh(much, each, by_words) for each in (CLAUDE, OPENAI, GEMINI)] == [1660 + 2140, 225 + 2140, 1120]


def test_a_page_whose_text_cannot_be_read_weighs_by_its_bytes_and_not_more_than_a_full_one() -> None:
    few, many = sheet(b"BT <0102030405> Tj ET"), sheet(b"BT <" + b"01" * 20_000 + b"> Tj ET")
    assert [weigh(each, CLAUDE, by_words) for each in (few, many)] == [1660 + 3, 1660 + 3000]


def test_a_block_that_loads_a_tool_weighs_more_than_its_words() -> None:
    assert weigh(block("tool_reference", tool_name="x"), CLAUDE, by_words) == 4 + 150


def test_a_document_that_is_text_weighs_its_text() -> None:
    data = b64encode(b"four words of text").decode()
    assert weigh(Opaque("document", data, "base64", "text/plain"), CLAUDE, by_words) == 4


def test_a_recording_and_a_film_weigh_their_seconds() -> None:
    sound = b64encode(b"\xff\xfb\x90\x00" + b"\0" * 47_996).decode()
    assert weigh(Opaque("audio", sound, "base64", "audio/mp3"), GEMINI, by_words) == 96
    assert weigh(Opaque("video", "gs://bucket/film.mp4", "url", "video/mp4"), GEMINI, by_words) == 120 * 105


def test_a_thought_weighs_its_text_and_not_its_signature() -> None:
    said = block("thought", thinking="one two three", signature="c2ln" * 60)
    assert weigh(said, CLAUDE, by_words) == 3 + 8


def test_a_thought_whose_text_is_withheld_weighs_by_the_length_of_its_seal() -> None:
    sealed = block("thought", data="QUJD" * 250)
    assert weigh(sealed, CLAUDE, by_words) == (1000 - 230) * 0.2
    signed = block("thought", thoughtSignature="QUJD" * 250)
    assert [weigh(signed, each, by_words) for each in (GEMINI, rule("gemini_2"))] == [203, 0]


def test_an_unknown_block_weighs_its_words_without_its_base64() -> None:
    plain = weigh(block("novelty", note="some words here"), CLAUDE, by_words)
    assert plain == 6  # with the names of its fields and its kind
    assert weigh(block("novelty", note="some words here", blob=PNG + "A" * 300_000), CLAUDE, by_words) < plain + 2000


def test_a_picture_inside_an_unknown_block_weighs_as_a_picture() -> None:
    inside = block("screenshot", image_url=f"data:image/png;base64,{PNG}")
    assert weigh(inside, OPENAI, by_words) == 425 + 3


def test_a_document_inside_an_unknown_block_weighs_its_pages() -> None:
    long = b64encode(b"%PDF-1.4\n" + b"<</Type/Page>>" * 20).decode().rstrip("=")
    assert weigh(block("novelty", blob=long), CLAUDE, by_words) == 20 * 3000 + 3


@given(
    st.text(max_size=300),
    st.sampled_from(["base64", "url", "json"]),
    st.sampled_from(["image", "thought", "x", "audio"]),
)
def test_no_data_breaks_the_scales(data: str, form: str, kind: str) -> None:
    assert weigh(Opaque(kind, data, form), MediaRule(), by_words) >= 0  # type: ignore[arg-type]


def test_a_block_nested_beyond_reason_is_weighed_as_text() -> None:
    assert weigh(Opaque("novelty", "[" * 100_000), CLAUDE, len) > 100_000
