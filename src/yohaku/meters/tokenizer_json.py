"""A counter from a `tokenizer.json`, the file every model on a hub has beside its weights.

Law: the count is that of the text alone, without the marks the file puts around a whole prompt.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yohaku.core.errors import Unreadable
from yohaku.core.meter import Overhead
from yohaku.core.model import Opaque
from yohaku.meters.bpe import Encode, tokens_of
from yohaku.meters.media import MediaRule, weigh

MAX_FILE_BYTES = 256 << 20
"""Bytes of a file read at most; the largest in use have about 35 million."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenizerFileMeter:
    name: str
    encode: Encode
    frame: Overhead = field(default_factory=Overhead)
    rule: MediaRule = field(default_factory=MediaRule)

    @property
    def exact(self) -> bool:
        return True

    def count(self, text: str) -> int:
        return tokens_of(text, self.encode)

    def weigh(self, part: Opaque) -> int:
        return weigh(part, self.rule, self.count)


def read(path: Path) -> Encode:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise Unreadable(f"{path}: too large for a tokenizer.json")
        return encoder_of(path.read_bytes())
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: not a tokenizer.json ({error})") from error


def encoder_of(data: bytes) -> Encode:
    """Raises ValueError for what is not a tokenizer."""
    import splintr

    try:
        said = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(said, dict) or not isinstance(said.get("model"), dict):
        raise ValueError("it has no model")
    tokenizer: Any = splintr.from_json_bytes(data)
    # Words added beside the vocabulary (Gemma's `<table>`, Qwen's `<think>`) are words; markers are not, in a text.
    if any(not added.get("special", False) for added in said.get("added_tokens") or ()):
        encode: Encode = tokenizer.encode_raw
        return encode
    around = len(tokenizer.encode_ordinary(""))

    def ordinary(text: str) -> list[int]:
        tokens: list[int] = tokenizer.encode_ordinary(text)
        return tokens[around:]

    return ordinary
