from __future__ import annotations

import struct
import zlib
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters.media_length import pages, seconds, text_of_pages

PAGE = b"<< /Type /Page /Parent 1 0 R >>\n"
TREE = b"<< /Type /Pages /Kids [] /Count 3 >>\n"


def test_pages_are_counted_and_the_tree_of_pages_is_not_one() -> None:
    assert pages(b"%PDF-1.4\n" + TREE + PAGE * 3 + b"<</Type/Page>>") == 4


def test_the_tree_tells_when_the_pages_are_elsewhere() -> None:
    assert pages(b"%PDF-1.4\n" + TREE) == 3


def test_packed_pages_are_unpacked() -> None:
    packed = zlib.compress(PAGE * 5)
    assert pages(b"%PDF-1.5\n<< /Type /ObjStm /Filter /FlateDecode >>\nstream\r\n" + packed + b"\nendstream") == 5


def test_what_is_not_a_pdf_has_no_pages() -> None:
    assert [pages(b""), pages(PAGE), pages(b"%PDF-1.4 nothing")] == [None, None, None]


def page(content: bytes, pack: bool = True) -> bytes:
    inside = zlib.compress(content) if pack else content
    return b"<< /Length 9 /Filter /FlateDecode >>\nstream\n" + inside + b"\nendstream\n"


def test_the_text_on_the_pages_is_read_packed_or_not() -> None:
    said = b"BT /F1 12 Tf (Hello \\) w\\157rld) Tj 0 -14 Td [(Lo) 17 (rem) -250 (ipsum) <61 62>] TJ ET"
    for pack in (True, False):
        pdf = b"%PDF-1.4\n" + page(said, pack) + page(b"0 0 9 9 re f", pack)
        assert text_of_pages(pdf) == ("Hello ) world Lorem ipsumab", 0)


def test_of_what_is_written_in_numbers_of_glyphs_the_bytes_are_counted() -> None:
    said = page(b"BT (Page 1) Tj <00480065006c> Tj (\\001\\002x) Tj ET")
    assert text_of_pages(b"%PDF-1.4\n" + said) == ("Page 1", 6 + 3)


def test_a_text_that_cannot_be_found_is_not_an_empty_one() -> None:
    said = page(b"BT (Hello) Tj ET")
    assert text_of_pages(b"%PDF-1.4\n" + page(b"0 0 9 9 re f")) == ("", 0)
    assert [text_of_pages(b"%PDF-1.4\n" + odd) for odd in (b"", b"/Encrypt 3 0 R" + said, b"/LZWDecode" + said)] == [
        None
    ] * 3
    assert text_of_pages(b"%PDF-1.4\n" + page(b"0 0 9 9 re f") + b"stream\nBT") is None


@pytest.mark.slow
def test_the_text_of_a_wrong_file_takes_time_in_proportion_to_it() -> None:
    assert text_of_pages(b"stream\n" * 400_000) is None
    assert text_of_pages(b"stream\n" * 400_000 + b"endstream") is None
    for noise in (b"(", b"(\\", b"<0", b"-", b"(a", b"<"):
        began = process_time()
        assert text_of_pages(b"%PDF-1.4\n" + page(b"BT (x) Tj re " + noise * 500_000)) is not None
        assert process_time() - began < 3


def test_a_wave_file_tells_its_seconds() -> None:
    wave = b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16) + b"data"
    assert round(seconds(wave + b"\0" * 64_000) or 0) == 2


def test_an_mp3_tells_its_seconds_by_its_bit_rate() -> None:
    frame = b"\xff\xfb\x90\x00"  # MPEG-1 layer III, 128 kbit/s
    tagged = b"ID3\x04\x00\x00\x00\x00\x01\x00" + b"\0" * 128
    assert [round(seconds(start + frame + b"\0" * 47_996) or 0) for start in (b"", tagged)] == [3, 3]


def test_an_mp3_whose_first_frame_is_a_table_tells_its_seconds_by_its_frames() -> None:
    table = b"\0" * 32 + b"Info" + struct.pack(">II", 1, 125)
    files = [start + table + b"\0" * 47_996 for start in (b"\xff\xfb\x50\x00", b"\xff\xf3\x50\x00")]
    assert [seconds(file) for file in files] == [125 * 1152 / 44_100, 125 * 576 / 22_050]
    silent = b"\xff\xfb\x90\x00" + b"\0" * 32 + b"Info" + struct.pack(">II", 0, 125) + b"\0" * 47_952
    assert seconds(silent) == 3.0  # the table leaves the number out


def test_a_film_tells_its_seconds_in_both_versions() -> None:
    short = b"\0\0\0\x18ftypmp42" + b"mvhd\0\0\0\0" + struct.pack(">IIII", 0, 0, 600, 6_000) + b"\0" * 40
    long = b"\0\0\0\x18ftypmp42" + b"mvhd\1\0\0\0" + struct.pack(">QQIQ", 0, 0, 1000, 90_000) + b"\0" * 40
    assert [seconds(short), seconds(long)] == [10.0, 90.0]


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"%PDF-1.4", b"RIFF0000WAVE", b"0000ftypmvhd", b"ID3", b"\xff\xfb"])
)
def test_broken_files_do_no_harm(noise: bytes, start: bytes) -> None:
    assert (pages(start + noise) or 1) > 0
    assert (seconds(start + noise) or 0.0) >= 0.0
    assert (text_of_pages(start + b"stream\nBT re (" + noise + b") Tj\nendstream") or ("", 0))[1] >= 0
