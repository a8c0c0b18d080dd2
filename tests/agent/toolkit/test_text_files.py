from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.agent.toolkit.text_files import TextFormat, decode_file, decode_output, detect_format

JAPANESE = "これは日本語の文章です。設定ファイルを読み込みます。\r\n二行目、漢字とカタカナ。\r\n"


@pytest.mark.parametrize("encoding", ["utf-8", "cp932", "euc_jp", "iso2022_jp"])
def test_japanese_is_read_in_the_encoding_it_is_in(encoding: str) -> None:
    assert decode_file(JAPANESE.encode(encoding)) == (JAPANESE, TextFormat(encoding, b"", "\r\n"))


@pytest.mark.parametrize(
    ("bom", "encoding"),
    [(codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")],
)
def test_a_byte_order_mark_is_believed_and_kept(bom: bytes, encoding: str) -> None:
    data = bom + JAPANESE.encode(encoding)
    found = decode_file(data)
    assert found == (JAPANESE, TextFormat(encoding, bom, "\r\n"))
    assert found[1].encode(found[0]) == data


def test_half_width_katakana_in_shift_jis_is_read() -> None:
    text = "ﾃｽﾄ データを読み込みました。設定を確認してください。"
    assert decode_file(text.encode("cp932")) == (text, TextFormat("cp932"))


def test_western_text_is_not_taken_for_japanese() -> None:
    text = "Le café est fermé; à bientôt, André.\n"
    assert decode_file(text.encode("cp1252")) == (text, TextFormat("cp1252"))


@pytest.mark.parametrize("data", [b"\x7fELF\x02\x01\x01\x00\x00", b"PK\x03\x04\x14\x00\x00\x00", bytes(range(256)) * 4])
def test_what_is_no_text_is_not_taken_for_one(data: bytes) -> None:
    assert decode_file(data) is None


def test_a_character_on_the_edge_of_the_sample_does_not_mislead() -> None:
    data = ("あ" * 60 + "\n").encode() * 2_000
    assert detect_format(data) == TextFormat()
    assert detect_format("あ".encode() * 100_000) is not None


def test_what_a_program_printed_in_shift_jis_can_be_read() -> None:
    assert (
        decode_output("指定されたファイルが見つかりません。\n".encode("cp932"))
        == "指定されたファイルが見つかりません。\n"
    )


def test_a_character_cut_in_two_is_left_out() -> None:
    assert decode_output("日本".encode()[1:-1]) == ""
    assert decode_output("日本語".encode()[3:-1]) == "本"


@given(st.text())
def test_utf8_comes_back_as_it_was(text: str) -> None:
    found = decode_file(text.encode())
    assert found is None or found[1].encode(found[0]) == text.encode()
