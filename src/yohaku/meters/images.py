"""The size of a picture from the first bytes of its base64 text, and what each provider bills for a size.

Law: the weight of a picture depends on its width and height, never on how many bytes it has.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error
from collections.abc import Callable
from math import ceil, sqrt

Size = tuple[int, int]
"""Width and height in pixels."""

MAX_HEAD_CHARS = 256 * 1024
"""Characters of base64 read at most: a camera's JPEG may carry a large preview before its size."""
LARGE: tuple[Size, ...] = ((8192, 8192), (8192, 3072))
"""For a picture that cannot be measured: for every rule, one of these costs as much as any picture can."""

TO_PLAIN = str.maketrans("-_", "+/", " \t\r\n=")


def bytes_of(data: str, most: int = MAX_HEAD_CHARS) -> bytes:
    """The first bytes of base64 text, in either alphabet, bare or in a data URL; empty when it is not base64."""
    start = data.find(",") + 1 if data.startswith("data:") else 0
    text = data[start : start + most].translate(TO_PLAIN)
    whole = text if len(text) % 4 != 1 else text[:-1]
    try:
        return b64decode(whole + "=" * (-len(whole) % 4))
    except (Error, ValueError):
        return b""


def size(head: bytes) -> Size | None:
    """Width and height of a PNG, GIF, WebP or JPEG; None for anything else."""
    if head[:8] == b"\x89PNG\r\n\x1a\n" and len(head) >= 24:
        return positive(big(head, 16, 4), big(head, 20, 4))
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return positive(little(head, 6, 2), little(head, 8, 2))
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP" and len(head) >= 30:
        return webp(head)
    if head[:2] == b"\xff\xd8":
        return jpeg(head)
    return None


def webp(head: bytes) -> Size | None:
    match head[12:16]:
        case b"VP8 ":
            return positive(little(head, 26, 2) & 0x3FFF, little(head, 28, 2) & 0x3FFF)
        case b"VP8L":
            bits = little(head, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            return little(head, 24, 3) + 1, little(head, 27, 3) + 1
    return None


def jpeg(head: bytes) -> Size | None:
    at = 2
    while at + 9 <= len(head):
        if head[at] != 0xFF:
            return None
        kind = head[at + 1]
        if kind == 0xFF or kind == 0x01 or 0xD0 <= kind <= 0xD8:  # fill bytes and markers without a length
            at += 1 if kind == 0xFF else 2
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return positive(big(head, at + 7, 2), big(head, at + 5, 2))
        else:
            at += 2 + max(2, big(head, at + 2, 2))
    return None


def big(head: bytes, at: int, length: int) -> int:
    return int.from_bytes(head[at : at + length], "big")


def little(head: bytes, at: int, length: int) -> int:
    return int.from_bytes(head[at : at + length], "little")


def positive(width: int, height: int) -> Size | None:
    return (width, height) if width > 0 and height > 0 else None


def tiles(of: Size, hint: str, base: float, tile: float) -> int:
    """OpenAI's older models: into 2048 × 2048, the short side down to 768, then squares of 512."""
    if hint == "low":
        return ceil(base)
    width, height = shrink(of, 2048 / max(of))
    width, height = shrink((width, height), 768 / min(width, height))
    return ceil(base + tile * ceil(width / 512) * ceil(height / 512))


def patches(of: Size, hint: str, each: float, most: float) -> int:
    """OpenAI's newer and small models: squares of 32, shrunk until there are not more than `most`."""
    most = 10_000 if hint == "original" else most
    width, height = shrink(of, sqrt(most * 32 * 32 / (of[0] * of[1])))
    return ceil(each * min(most, ceil(width / 32) * ceil(height / 32)))


def area(of: Size, hint: str, edge: float, most: float, least: float = 0) -> int:
    """Claude, and most open vision models: squares of 28 (about 750 pixels), inside an edge and a ceiling."""
    width, height = shrink(of, edge / max(of))
    return ceil(max(least, min(most, ceil(width / 28) * ceil(height / 28)))) + 4


def crops(of: Size, hint: str, each: float, most: float) -> int:
    """Gemini 2: one square when small; otherwise squares two thirds of the short side wide, and an overview."""
    if max(of) <= 384:
        return ceil(each)
    wide = max(256, min(768, int(min(of) / 1.5)))
    return ceil(each * min(most, ceil(of[0] / wide) * ceil(of[1] / wide) + 1))


def steps(of: Size, hint: str, low: float, medium: float, high: float, ultra: float) -> int:
    """Gemini 3: by the resolution that was asked for alone."""
    asked = hint.lower().removeprefix("media_resolution_")
    return ceil({"low": low, "medium": medium, "ultra_high": ultra}.get(asked, high))


def shrink(of: Size, by: float) -> Size:
    return of if by >= 1 else (max(1, round(of[0] * by)), max(1, round(of[1] * by)))


RULES: dict[str, Callable[..., int]] = {
    "tiles": tiles,
    "patches": patches,
    "area": area,
    "crops": crops,
    "steps": steps,
}
