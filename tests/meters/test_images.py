from __future__ import annotations

import struct
import zlib
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.meters.images import Size, area, bytes_of, crops, patches, size, steps, tiles


def png(width: int, height: int) -> bytes:
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0)


def jpeg(width: int, height: int, before: int = 60) -> bytes:
    head = b"\xff\xd8\xff\xe0" + struct.pack(">H", before + 2) + b"\xff" * before + b"\xff\xff\xdb\x00\x04ab"
    return head + b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03" + b"\x00" * 9


def webp(kind: bytes, width: int, height: int) -> bytes:
    match kind:
        case b"VP8 ":
            body = b"\x00" * 3 + b"\x9d\x01\x2a" + struct.pack("<HH", width, height)
        case b"VP8L":
            body = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            body = b"\x00" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", 100) + b"WEBP" + kind + struct.pack("<I", len(body)) + body + b"\x00" * 20


@given(st.integers(1, 16000), st.integers(1, 16000))
def test_every_format_tells_its_size(width: int, height: int) -> None:
    forms = [png, gif, jpeg, *(lambda w, h, kind=kind: webp(kind, w, h) for kind in (b"VP8 ", b"VP8L", b"VP8X"))]
    assert [size(form(width, height)) for form in forms] == [(width, height)] * 6


@given(
    st.binary(max_size=80), st.sampled_from([b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF1234WEBPVP8X"])
)
def test_broken_pictures_have_no_size_and_do_no_harm(noise: bytes, start: bytes) -> None:
    found = size(start + noise)
    assert found is None or min(found) > 0


def test_only_the_head_of_a_large_picture_is_decoded() -> None:
    data = b64encode(jpeg(640, 480) + b"\x00" * 5_000_000).decode()
    assert len(bytes_of(data)) < 200_000
    assert size(bytes_of(data)) == (640, 480)


def test_a_preview_before_the_size_is_passed_over() -> None:
    assert size(bytes_of(b64encode(jpeg(640, 480, before=60_000)).decode())) == (640, 480)


def test_base64_is_read_in_both_alphabets_with_breaks_and_in_a_data_url() -> None:
    raw = png(1, 2) + bytes(range(256))
    plain, url = b64encode(raw).decode(), urlsafe_b64encode(raw).decode().rstrip("=")
    broken = "\n".join(plain[at : at + 76] for at in range(0, len(plain), 76))
    assert [bytes_of(form) for form in (plain, url, broken, f"data:image/png;base64,{plain}")] == [raw] * 4
    assert bytes_of("漢字") == b""


@pytest.mark.parametrize(
    ("of", "hint", "tokens"),
    [
        ((1024, 1024), "high", 765),
        ((2048, 4096), "high", 1105),
        ((4096, 8192), "low", 85),
        ((540, 360), "auto", 425),
        ((512, 512), "", 255),
    ],
)
def test_openai_counts_squares_of_512(of: Size, hint: str, tokens: int) -> None:
    assert tiles(of, hint, 85, 170) == tokens


def test_openai_counts_squares_of_32_up_to_a_ceiling() -> None:
    assert patches((1024, 1024), "", 1.0, 1536) == 1024
    assert patches((1280, 720), "", 1.2, 1536) == 1104
    assert 1400 <= patches((1800, 2400), "", 1.0, 1536) <= 1536
    assert patches((3200, 3200), "original", 1.0, 1536) == 10_000


def test_claude_counts_an_area_inside_an_edge() -> None:
    assert area((540, 360), "", 1568, 1568) == 264  # billed: 263
    assert area((8000, 8000), "", 1568, 1568) == 1572
    assert area((2576, 1449), "", 2576, 4784) == 4788


def test_gemini_2_counts_crops_and_an_overview() -> None:
    assert crops((384, 200), "", 258, 17) == 258
    assert crops((540, 360), "", 258, 17) == 1806  # billed: 1806
    assert crops((9000, 9000), "", 258, 17) == 17 * 258


def test_gemini_3_counts_what_was_asked_for() -> None:
    asked = {hint: steps((10, 10), hint, 280, 560, 1120, 2240) for hint in ("", "MEDIA_RESOLUTION_LOW", "medium")}
    assert asked == {"": 1120, "MEDIA_RESOLUTION_LOW": 280, "medium": 560}


@given(st.tuples(st.integers(1, 100_000), st.integers(1, 100_000)), st.sampled_from(["", "low", "high"]))
def test_no_rule_is_free_or_without_a_ceiling(of: Size, hint: str) -> None:
    weights = [
        tiles(of, hint, 85, 170),
        patches(of, hint, 1.62, 1536),
        area(of, hint, 2576, 4784),
        crops(of, hint, 258, 17),
    ]
    assert all(0 < weight <= 5000 for weight in weights)
