"""Extractor of what a text names: paths, addresses, ids, quantities, code names.

Two functions, for two uses. `extract_entities` classifies, and is used where entities are listed by kind and rank: the
index of a gist and the survey of what a folding kept. `extract_names` does not classify, splits names into their parts
and knows Japanese names; it is quick enough for every line of a conversation, and decides which lines are shown again.

Law: an entity stands in the text as it is, and Japanese around it does not hide it. Time grows with the length of the
text alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

from yohaku.analysis.tool_calls import describe_call
from yohaku.core.model import Text, ToolUse, Turn

# Entities by kind

EntityKind: TypeAlias = Literal["path", "url", "id", "quantity", "command", "name", "quoted"]


class Entity(NamedTuple):
    kind: EntityKind
    text: str


EXTENSIONS = frozenset(
    """py pyi ipynb js jsx ts tsx mjs cjs mts cts vue svelte go rs c h cc cpp cxx hpp hh cs java kt kts scala swift
    m mm rb php pl lua r jl ex exs erl hs ml clj dart zig nim sql sh bash zsh fish ps1 bat cmd html htm css scss sass
    less md mdx rst txt tex csv tsv json jsonl ndjson json5 yaml yml toml ini cfg conf env lock xml svg png jpg jpeg
    gif webp pdf doc docx xls xlsx ppt pptx zip tar gz tgz bz2 xz whl jar log out diff patch proto graphql gql tf hcl
    nix gradle cmake mk pony so dll exe bin img db sqlite plist pem key crt sum mod tmpl ejs hbs snap map
    wasm""".split()
)
METHOD_NAMES = frozenset("key map log m r mod sum out env in so db img".split())
"""Extensions that are as often the method of an object: `console.log`."""

FOLDERS = frozenset(
    """src lib libs app apps test tests spec specs doc docs bin etc usr var tmp home cmd pkg internal packages modules
    scripts config configs public static assets components utils core api server client web tools examples dist build
    node_modules vendor include third_party .git .github .vscode""".split()
)
UNITS = frozenset(
    """ms µs ns s sec secs second seconds min mins minute minutes h hr hrs hour hours day days week weeks month months
    year years B kB KB MB GB TB KiB MiB GiB TiB byte bytes bit bits px em rem pt dpi fps Hz kHz MHz GHz mm cm km kg mg
    g m x % token tokens USD EUR JPY""".split()
)
COUNTERS = "円個件分秒時日週月年人名回枚本台行歳倍点％"
"""Japanese counters: each is one letter behind the number."""

SPACED_UNITS = (
    "ms sec seconds minutes hours days weeks months years KB MB GB TB KiB MiB GiB bytes tokens px USD EUR JPY kg km"
).split()
"""Units that are written after a space and mean nothing else."""

_SPACED_UNIT_BYTES = frozenset(unit.encode() for unit in SPACED_UNITS)

_ENTITY_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./\\@+~:#$%,-"
_SEPARATORS_TO_SPACES = bytes(code if code in _ENTITY_BYTES else 32 for code in range(256))
"""Translation table: bytes that no entity holds become spaces. Other scripts have become question marks before."""

_URL = re.compile(r"(?:https?|ftp|ssh|git|file|s3|gs|wss?|postgres|redis|mongodb)://[A-Za-z0-9._~:/?#@!$&*+,;=%-]+")
_QUOTED = re.compile(
    r"[\"`](?<![A-Za-z0-9_].)([^\s\"`][^\"`\n]{1,78})[\"`](?![A-Za-z0-9_])|[「『]([^「」『』\n]{2,80})[」』]"
)
_SPACED_QUANTITY = re.compile(rf"[0-9](?<![A-Za-z0-9_.,][0-9])[0-9,.]{{0,20}} (?:{'|'.join(SPACED_UNITS)})\b")
_COUNTED_QUANTITY = re.compile(rf"[0-9](?<![A-Za-z0-9_.,][0-9])[0-9,.]{{0,20}} ?[{COUNTERS}]間?")

_SHAPES: tuple[tuple[EntityKind, re.Pattern[str]], ...] = (
    ("id", re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")),
    ("id", re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}|0x[0-9A-Fa-f]{4,}")),
    ("id", re.compile(r"[A-Z][A-Z0-9]{1,9}-[0-9]{1,7}|#[0-9]{1,7}|[0-9]{5,}")),
    ("id", re.compile(r"(?=[A-Z]*[0-9])(?=[0-9]*[A-Z])[A-Z0-9]{5,16}")),
    ("quantity", re.compile(rf"[$][0-9][0-9,.]*|[0-9][0-9,.]*(?:{'|'.join(sorted(UNITS))})")),
    ("quantity", re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")),
    ("quantity", re.compile(r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:T[0-9:.]+)?)?|v?[0-9]+(?:\.[0-9]+){1,3}(?:[-+][\w.]+)?")),
)
_PLAIN_WORD = re.compile(r"[A-Za-z]?[a-z]*|[A-Z]+|[0-9]{0,4}")
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|-|@|/|:)\w+)*")

MAX_ENTITY_CHARS = 300
"""A longer word is data, not something a person would name."""


def extract_entities(text: str) -> Iterator[Entity]:
    """Yield each entity once: first those of one word, in order of appearance, then those of several."""
    words = dict.fromkeys(text.encode("ascii", "replace").translate(_SEPARATORS_TO_SPACES).split())
    found = dict.fromkeys(map(classify_word, words))
    if "://" in text:
        found |= dict.fromkeys(Entity("url", url.rstrip(".,;:!?")) for url in _URL.findall(text))
    if not _SPACED_UNIT_BYTES.isdisjoint(words):
        found |= dict.fromkeys(Entity("quantity", quantity) for quantity in _SPACED_QUANTITY.findall(text))
    if not text.isascii():
        found |= dict.fromkeys(Entity("quantity", quantity) for quantity in _COUNTED_QUANTITY.findall(text))
    quotes = (one or other for one, other in _QUOTED.findall(text))
    found |= dict.fromkeys(Entity("quoted", quote) for quote in quotes if " " in quote or not quote.isascii())
    found.pop(None, None)
    return iter(found)  # type: ignore[arg-type]


@lru_cache(1 << 16)
def classify_word(word: bytes) -> Entity | None:
    """Return the entity a word is, or None for a plain word."""
    token = word.decode().strip(",:").rstrip(".-+~@,")
    if _PLAIN_WORD.fullmatch(token) or not 1 < len(token) <= MAX_ENTITY_CHARS:
        return None
    for kind, shape in _SHAPES:
        if shape.fullmatch(token):
            return Entity(kind, token)
    if "," in token or "://" in token:
        return None
    path = token.split(":", 1)[0] if ":" in token and "::" not in token and "\\" not in token else token
    if _is_path(path):
        return Entity("path", path)
    return Entity("name", token) if _is_name(token) else None


def _is_path(token: str) -> bool:
    parts = token.replace("\\", "/").split("/")
    if len(parts) == 1:
        stem, dot, extension = token.rpartition(".")
        known = extension.lower() in EXTENSIONS and (extension not in METHOD_NAMES or "-" in stem or stem.isupper())
        return bool(dot and stem and stem[-1] != "." and known)
    if token.startswith("/") and len(parts) == 2:  # may also be a closing tag in HTML
        return parts[1] in FOLDERS or "." in parts[1]
    if token.startswith(("/", "./", "../", "~/")):
        return len(token) > 3 and any(len(part) > 1 for part in parts)
    if token.startswith(("@", "#", "$")):
        return False
    _, dot, extension = parts[-1].rpartition(".")
    return (
        bool(dot and extension.lower() in EXTENSIONS)
        or len(parts) > 3
        or not FOLDERS.isdisjoint(parts)
        or any("_" in part or "-" in part or part.startswith(".") for part in parts if part)
    )


def _is_name(token: str) -> bool:
    """Test for a name as programs write them: `snake_case`, `CamelCase`, `a.b`, `utf8`."""
    bare = token.lstrip("@$#~./")
    if not bare or not _DOTTED_NAME.fullmatch(bare):
        return False
    if "_" in bare.strip("_") or "::" in bare or token[0] in "@$":
        return True
    if "." in bare:
        return all(bare.split(".")) and len(bare) > 4
    inner = bare[1:]
    if "-" in bare or "/" in bare or ":" in bare:
        return bare.count("-") > 1 or any(letter.isdigit() for letter in bare)
    return (inner != inner.lower() and bare != bare.upper()) or any(letter.isdigit() for letter in bare)


# Entities by rank


class RankedEntity(NamedTuple):
    entity: Entity
    origin: str
    """The call whose result holds it, as `describe_call` writes it."""
    score: float


MAX_RANKED_CHARS = 300_000
"""Characters of results that are scanned, the newest first; older ones are seldom referred to by name."""

MAX_RESULT_CHARS = 24_000
"""Characters of one result that are scanned, half of them at its end."""

MAX_ARGUMENT_CHARS = 2_000
"""Characters of the arguments of one call that are scanned."""

NEWEST_PROMPTS = 20
"""Turns whose prompts are scanned for entities that the user named."""

WORTH_OF_KIND: dict[EntityKind, float] = {
    "id": 0.5, "path": 0.5, "url": 0.4, "name": 0.3, "command": 0.3, "quantity": 0.0, "quoted": -0.5,
}  # fmt: skip
"""Part of a score that depends on the kind alone."""

_DURATION = re.compile(r"[0-9.]+ ?(?:[mµn]?s|sec|seconds)")
"""Nearly every result holds one, and nothing refers to it later."""


def rank_entities(
    turns: Sequence[Turn], *, limit: int = 400, max_chars: int = MAX_RANKED_CHARS, open_errors: str = ""
) -> list[RankedEntity]:
    """Return the entities in the results of `turns`, the most important first.

    A score rises with the kind, with being named by the user or the assistant (+2), with standing in an error that is
    still open (+3), with rarity and with recency (up to +1 each).
    """
    origins: dict[Entity, tuple[int, str]] = {}
    seen: Counter[Entity] = Counter()
    named: set[Entity] = set()
    for age, step in enumerate(step for turn in reversed(turns) for step in reversed(turn.steps)):
        for item in step.items:
            if isinstance(item, ToolUse):
                text = _shorten_result(item.result.text)
                here = _rankable_entities(text)
                seen.update(here)
                max_chars -= len(text)
                origin = describe_call(item)
                for entity in here - origins.keys():
                    origins[entity] = age, origin
                named.update(extract_entities(item.call.arguments[:MAX_ARGUMENT_CHARS]))
            elif isinstance(item, Text):
                named.update(extract_entities(item.text[:MAX_RESULT_CHARS]))
        if max_chars < 0:
            break
    prompts = [part.text for turn in turns[-NEWEST_PROMPTS:] for part in turn.prompt if isinstance(part, Text)]
    named.update(entity for prompt in prompts for entity in extract_entities(prompt[:MAX_RESULT_CHARS]))
    wrong = set(extract_entities(open_errors))
    ranked = []
    for entity, (age, origin) in origins.items():
        score = WORTH_OF_KIND[entity.kind] + 2 * (entity in named) + 3 * (entity in wrong)
        ranked.append(RankedEntity(entity, origin, score + 1 / seen[entity] + 10 / (10 + age)))
    return sorted(ranked, key=lambda one: (-one.score, one.entity))[:limit]


def _rankable_entities(text: str) -> set[Entity]:
    found = extract_entities(text)
    return {entity for entity in found if entity.kind != "quoted" and not _DURATION.fullmatch(entity.text)}


def _shorten_result(text: str) -> str:
    half = MAX_RESULT_CHARS // 2
    return text if len(text) <= MAX_RESULT_CHARS else f"{text[:half]}\n{text[-half:]}"


# Names without a kind

MAX_NAME_CHARS = 200

_CANDIDATE = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_./-]*|[ァ-ヶー]{3,40}|第?[0-9０-９]{1,8}[一-龥々]{1,8}|[一-龥々]{4,12}"
)
"""Words that may be names. In Japanese: words in katakana, numbered things, long compounds."""
_ASCII_CANDIDATE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{2,}")
"""The same for ASCII text, in half of the time."""
_NAME_SIGN = re.compile(r"[A-Za-z]_|_[A-Za-z]|[a-z][A-Z]|[A-Z]{2}[a-z]{2}|[A-Za-z]\d|\d[A-Za-z]|\d{4}|[\w-]\.[\w-]|/")
"""Signs that a word is a name: an underscore, a capital inside, letters beside digits, a dot or slash inside."""
_HYPHENATED = re.compile(r"[A-Za-z]{2,}(?:-[A-Za-z]{2,})+")
_JOINTS = re.compile(r"[.-]")
_LETTERS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")


def extract_names(text: str) -> frozenset[str]:
    """Return the paths, code names, ids and numbers of a text, with the names inside longer ones; no plain words."""
    return frozenset(chain.from_iterable(map(names_in_word, find_candidates(text))))


def find_candidates(text: str) -> list[str]:
    """Return the words that may be names, as they are written."""
    return (_ASCII_CANDIDATE if text.isascii() else _CANDIDATE).findall(text)


@lru_cache(maxsize=1 << 16)
def names_in_word(word: str) -> tuple[str, ...]:
    """Return the name a word is, with the file at the end of a path or the names joined in it; () for plain words."""
    if word[-1] > "\u3000":
        return (word,)
    if word.isidentifier():
        return (word,) if 3 <= len(word) <= MAX_NAME_CHARS and _NAME_SIGN.search(word) else ()
    bare = word.strip("./-")
    if len(bare) < 3 or len(word) > MAX_NAME_CHARS:
        return ()
    if not _NAME_SIGN.search(bare):
        return (bare,) if _HYPHENATED.fullmatch(bare) else ()
    name = word.rstrip(".-/")
    parts = name.rsplit("/", 1)[1:] if "/" in name else _JOINTS.split(name)
    return (name, *[part for part in parts if len(part) >= 3 and part != name and _NAME_SIGN.search(part)])


def is_hyphenated(name: str) -> bool:
    """Test for words joined by hyphens alone: `react-dom` is a name, but `well-known` is not."""
    return "-" in name and _HYPHENATED.fullmatch(name) is not None


def split_words(text: str) -> frozenset[str]:
    """Return the words of a name or a text in lower case: `getJobId` holds get and job."""
    return frozenset([word.lower() for word in _LETTERS.findall(text)])


words_in_name = lru_cache(maxsize=1 << 16)(split_words)
"""`split_words` for names only: whole texts would stay in its cache."""
