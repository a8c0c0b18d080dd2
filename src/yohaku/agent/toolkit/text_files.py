"""Decoding of files and back: encoding, byte order mark and line ends are kept.

Law: unchanged text is written as the bytes it was read from; binary files are not taken for text.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from yohaku.analysis.language import count_kana

SAMPLE_BYTES = 64 * 1024
"""Bytes from which the encoding is guessed."""

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
ENCODING_NAMES = {"cp932": "Shift_JIS", "euc_jp": "EUC-JP", "iso2022_jp": "ISO-2022-JP", "cp1252": "Windows-1252"}
"""Names for people; other encodings keep their own."""

_HALF = re.compile(r"[｡-ﾟ\ue000-\uf8ff]")
_TOGETHER = re.compile(r"[一-鿿々。、（）「」！？ー]{2}")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class TextFormat(NamedTuple):
    """Encoding, byte order mark and line ends of a file."""

    encoding: str = "utf-8"
    bom: bytes = b""
    newline: str = "\n"
    """Line end of most lines."""

    @property
    def name(self) -> str:
        return ENCODING_NAMES.get(self.encoding, self.encoding.upper())

    @property
    def wide(self) -> bool:
        """True where a line feed takes more than one byte."""
        return self.encoding.startswith(("utf-16", "utf-32"))

    def encode(self, text: str) -> bytes:
        """Encode a text; `UnicodeEncodeError` for a character the encoding lacks."""
        return self.bom + text.encode(self.encoding)

    def decode(self, data: bytes) -> str:
        """Decode bytes; `UnicodeDecodeError` if the sample was not like the rest."""
        return data.removeprefix(self.bom).decode(self.encoding)


def detect_format(data: bytes) -> TextFormat | None:
    """Detect the format from the first bytes; None if it is not text."""
    sample = data[:SAMPLE_BYTES]
    for bom, encoding in BOMS:
        if sample.startswith(bom):
            whole = sample[: len(sample) - (len(sample) - len(bom)) % 4] if "-" in encoding[4:] else sample
            return TextFormat(encoding, bom, _newline(whole.removeprefix(bom).decode(encoding, "replace").encode()))
    if b"\0" in sample or len(_CONTROL.findall(sample)) > len(sample) // 50:
        return None
    newline = _newline(sample)
    if len(data) > SAMPLE_BYTES and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n")]
    encoding = _guess_encoding(sample)
    return TextFormat(encoding, b"", newline) if encoding else None


def decode_file(data: bytes) -> tuple[str, TextFormat] | None:
    """Return the whole text and its format; None if it is not text."""
    form = detect_format(data)
    if form is None:
        return None
    try:
        return form.decode(data), form
    except UnicodeDecodeError:
        encoding = _guess_encoding(data)
        return (data.decode(encoding), form._replace(encoding=encoding)) if encoding and not form.bom else None


def decode_output(data: bytes) -> str:
    """Decode the output of a program in any encoding; a character cut in two at either end is left out."""
    begin = next((at for at in range(min(4, len(data))) if data[at] & 0xC0 != 0x80), 0)
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(data[begin:])
    if text.count("\ufffd") > 2 and (encoding := _guess_encoding(data[1:-1])) and encoding != "cp1252":
        return data.decode(encoding, "replace")
    return text


def _newline(sample: bytes) -> str:
    both, feeds = sample.count(b"\r\n"), sample.count(b"\n")
    if not feeds:
        return "\r" if b"\r" in sample else "\n"
    return "\r\n" if 2 * both > feeds else "\n"


def _guess_encoding(sample: bytes) -> str:
    """Guess the encoding of bytes without a byte order mark; empty where none of ours fits."""
    if _try_decode(sample, "utf-8") is not None:
        escaped = b"\x1b$" in sample and sample.isascii() and _try_decode(sample, "iso2022_jp") is not None
        return "iso2022_jp" if escaped else "utf-8"
    found = {name: text for name in ("euc_jp", "cp932") if (text := _try_decode(sample, name)) is not None}
    best = max(found, key=lambda name: _japanese_score(found[name]), default="")
    if best and _japanese_score(found[best]) > 0:
        return best
    return "cp1252" if _try_decode(sample, "cp1252") is not None else ""


def _try_decode(sample: bytes, encoding: str) -> str | None:
    try:
        return sample.decode(encoding)
    except UnicodeDecodeError:
        return None


def _japanese_score(text: str) -> int:
    """How much it reads like Japanese: kana, characters side by side, and not what a wrong guess makes of them."""
    return 2 * count_kana(text) + len(_TOGETHER.findall(text)) - 3 * len(_HALF.findall(text))
