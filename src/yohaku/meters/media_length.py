"""Length of a document, a recording or a film, from its bytes: pages and their text, seconds.

Law: an unknown length is None, and a broken file costs time in proportion to its bytes, never more.
"""

from __future__ import annotations

import re
import zlib

PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
COUNT = re.compile(rb"/Count\s+(\d{1,6})\b")
PACKED = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
MAX_UNPACKED_BYTES = 32 << 20
"""Bytes of packed objects."""
STREAM = re.compile(rb"(?<!end)stream\r?\n")
FILTERED = re.compile(rb"/(?:LZW|ASCII85|ASCIIHex|RunLength)Decode|/Crypt\b")
SHOWN = re.compile(rb"\(((?:[^()\\]|\\.)*)\)?|<([0-9A-Fa-f\s]*)>|-[2-9]\d\d|\bT[jJdDm*]", re.DOTALL)
"""A text in one of two forms, ended or not (to look for its end again from each bracket takes forever), or what may
stand for a space: a gap inside a line, a step to somewhere else."""
ESCAPED = re.compile(rb"\\(?:([0-7]{1,3})|(.))", re.DOTALL)
GLYPH = re.compile(rb"[\0-\x08\x0e-\x1f]")
"""In a text: its bytes are numbers of glyphs, not letters."""
DRAWS = re.compile(rb"\bBT\b|\bre\b|\bcm\b")
"""Operators of every page that has content: without one, the content has not been found."""
SHOWS = re.compile(rb"\bT[jJ]\b|['\"]\s")

KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Bit rates of MPEG-1 layer III, the usual ones; lower layers and rates sound shorter files longer, which is safe."""
HERTZ = ((11_025, 12_000, 8_000), (1, 1, 1), (22_050, 24_000, 16_000), (44_100, 48_000, 32_000))
"""Samples a second by version (2.5, none, 2, 1) and step."""
KBPS_LOW = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def pages(pdf: bytes) -> int | None:
    if b"%PDF" not in pdf[:1024]:
        return None
    found = len(PAGE.findall(pdf))
    counted = [int(number) for number in COUNT.findall(pdf)]
    if not found and not counted:  # newer files keep their page objects packed
        for objects in unpack(pdf):
            found += len(PAGE.findall(objects))
            counted += [int(number) for number in COUNT.findall(objects)]
    return found or max(counted, default=0) or None


def unpack(pdf: bytes) -> list[bytes]:
    room, objects = MAX_UNPACKED_BYTES, []
    for match in PACKED.finditer(pdf):
        try:
            objects.append(zlib.decompressobj().decompress(pdf[match.end() :], room))
        except zlib.error:
            continue
        room -= len(objects[-1])
        if room <= 0:
            break
    return objects


def text_of_pages(pdf: bytes) -> tuple[str, int] | None:
    """The text on its pages as far as it can be read, and the bytes of what cannot; None where all is sealed or packed
    unusually."""
    if b"/Encrypt" in pdf or FILTERED.search(pdf):
        return None
    room, texts, glyphs, drawn, at = MAX_UNPACKED_BYTES, [], 0, False, 0
    while match := STREAM.search(pdf, at):
        at = pdf.find(b"endstream", match.end())
        if at < 0:
            return None
        content = pdf[match.end() : at]
        try:
            content = zlib.decompressobj().decompress(content, room)
        except zlib.error:
            pass  # not packed, or a picture
        room -= len(content)
        if room <= 0:
            return None
        drawn = drawn or DRAWS.search(content) is not None
        if b"BT" in content and SHOWS.search(content):
            text, unread = texts_in(content)
            texts.append(text)
            glyphs += unread
        at += len(b"endstream")
    return ("\n".join(texts), glyphs) if drawn else None


def texts_in(content: bytes) -> tuple[str, int]:
    pieces, glyphs = [], 0
    for match in SHOWN.finditer(content):
        said = match[1] if match[1] is not None else match[2]
        if said is None:
            pieces.append(" ")
            continue
        text = ESCAPED.sub(unescape, said) if match[1] is not None else from_hex(said)
        if GLYPH.search(text):
            glyphs += len(text)
        else:
            pieces.append(text.decode("latin-1"))
    return " ".join("".join(pieces).split()), glyphs


def unescape(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 8) & 0xFF])
    return {b"n": b"\n", b"r": b"\n", b"t": b"\t", b"\n": b""}.get(match[2], match[2])


def from_hex(said: bytes) -> bytes:
    digits = b"".join(said.split()).decode("ascii")
    return bytes.fromhex(digits + "0" * (len(digits) % 2))


def seconds(media: bytes) -> float | None:
    """Of WAV, MP3, MP4 and its relatives."""
    if media[:4] == b"RIFF" and media[8:12] == b"WAVE":
        rate = int.from_bytes(media[28:32], "little")
        return len(media) / rate if rate else None
    if media[4:8] == b"ftyp":
        return film(media)
    if media[:3] == b"ID3" or (media[:1] == b"\xff" and len(media) > 1 and media[1] & 0xE0 == 0xE0):
        return mp3(media)
    return None


def film(media: bytes) -> float | None:
    at = media.find(b"mvhd")
    if at < 0 or at + 36 > len(media):
        return None
    long = media[at + 4] == 1  # version 1 has 64-bit times
    scale = int.from_bytes(media[at + 24 : at + 28] if long else media[at + 16 : at + 20], "big")
    length = int.from_bytes(media[at + 28 : at + 36] if long else media[at + 20 : at + 24], "big")
    return length / scale if scale else None


def mp3(media: bytes) -> float | None:
    at = 0
    if media[:3] == b"ID3":
        at = 10 + sum((byte & 0x7F) << shift for byte, shift in zip(media[6:10], (21, 14, 7, 0), strict=False))
    for start in range(at, min(at + 4096, len(media) - 3)):
        if media[start] == 0xFF and media[start + 1] & 0xE0 == 0xE0:
            first = media[start + 1] >> 3 & 3 == 3
            step = media[start + 2] >> 4
            told = frames(media[start : start + 64])
            if told and media[start + 2] >> 2 & 3 < 3:
                return told * (1152 if first else 576) / HERTZ[media[start + 1] >> 3 & 3][media[start + 2] >> 2 & 3]
            rate = (KBPS if first else KBPS_LOW)[step] if step < 15 else 0
            if rate:
                return (len(media) - start) * 8 / (rate * 1000)
    return None


def frames(head: bytes) -> int | None:
    """Return the number of frames, where the first holds a table instead of sound: its bit rate then means nothing."""
    at = max(head.find(b"Xing"), head.find(b"Info"))
    if at < 0 or len(head) < at + 12 or not head[at + 7] & 1:
        return None
    return int.from_bytes(head[at + 8 : at + 12], "big")
