"""How long a document, a recording or a film is, from its bytes: pages, seconds.

Law: an answer that cannot be had is None, and a wrong file costs time in proportion to its bytes, never more.
"""

from __future__ import annotations

import re
import zlib

PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
COUNT = re.compile(rb"/Count\s+(\d{1,6})\b")
PACKED = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
INFLATED = 32 << 20
"""Bytes of packed objects unpacked at most."""
STREAM = re.compile(rb"(?<!end)stream\r?\n")
FILTERED = re.compile(rb"/(?:LZW|ASCII85|ASCIIHex|RunLength)Decode|/Crypt\b")
SHOWN = re.compile(rb"\((?:[^()\\]|\\.)*\)|<[0-9A-Fa-f\s]*>", re.DOTALL)
DRAWS = re.compile(rb"\bBT\b|\bre\b|\bcm\b")
"""What a page does that has anything on it: without one, its content has not been found."""
SHOWS = re.compile(rb"\bT[jJ]\b|['\"]\s")

KBPS = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
"""Bit rates of MPEG-1 layer III, the usual ones; lower layers and rates sound shorter files longer, which is safe."""
KBPS_LOW = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)


def pages(pdf: bytes) -> int | None:
    if b"%PDF" not in pdf[:1024]:
        return None
    found = len(PAGE.findall(pdf))
    counted = [int(number) for number in COUNT.findall(pdf)]
    if not found and not counted:  # newer files keep their page objects packed
        for objects in unpacked(pdf):
            found += len(PAGE.findall(objects))
            counted += [int(number) for number in COUNT.findall(objects)]
    return found or max(counted, default=0) or None


def unpacked(pdf: bytes) -> list[bytes]:
    room, objects = INFLATED, []
    for match in PACKED.finditer(pdf):
        try:
            objects.append(zlib.decompressobj().decompress(pdf[match.end() :], room))
        except zlib.error:
            continue
        room -= len(objects[-1])
        if room <= 0:
            break
    return objects


def letters(pdf: bytes) -> int | None:
    """Bytes of text shown on its pages, at least one for a letter; None where they are sealed or packed unusually."""
    if b"/Encrypt" in pdf or FILTERED.search(pdf):
        return None
    room, shown, drawn, at = INFLATED, 0, False, 0
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
            texts = (match[0] for match in SHOWN.finditer(content))
            shown += sum(len(text) - 2 if text[:1] == b"(" else len(text) // 2 for text in texts)
        at += len(b"endstream")
    return shown if drawn else None


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
            rate = (KBPS if first else KBPS_LOW)[step] if step < 15 else 0
            if rate:
                return (len(media) - start) * 8 / (rate * 1000)
    return None
