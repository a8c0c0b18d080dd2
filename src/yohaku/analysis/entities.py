"""The things in a text that are not found again once they are gone: paths, addresses, ids, quantities, names.

Law: a fact stands in the text as it is, and Japanese around it does not hide it. One pass over the text, whose time
grows with its length alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from yohaku.analysis.tool_calls import find_command, read_arguments
from yohaku.core.model import Text, ToolUse, Turn

Kind: TypeAlias = Literal["path", "url", "id", "quantity", "command", "name", "quoted"]


class Entity(NamedTuple):
    kind: Kind
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
"""Extensions that are as often what is asked of an object: `console.log`."""

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
"""Japanese says what it counts in one letter."""

_ENTITY_BYTES = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./\\@+~:#$%,-"
_SEPARATORS_TO_SPACES = bytes(code if code in _ENTITY_BYTES else 32 for code in range(256))
"""Everything that cannot be inside a fact becomes a space. Text in other scripts has become question marks before."""

_URL = re.compile(r"(?:https?|ftp|ssh|git|file|s3|gs|wss?|postgres|redis|mongodb)://[A-Za-z0-9._~:/?#@!$&*+,;=%-]+")
_QUOTED = re.compile(
    r"[\"`](?<![A-Za-z0-9_].)([^\s\"`][^\"`\n]{1,78})[\"`](?![A-Za-z0-9_])|[「『]([^「」『』\n]{2,80})[」』]"
)
SPACED_UNITS = (
    "ms sec seconds minutes hours days weeks months years KB MB GB TB KiB MiB GiB bytes tokens px USD EUR JPY kg km"
).split()
"""Units that stand after a space and mean nothing else."""

_SPACED_QUANTITY = re.compile(rf"[0-9](?<![A-Za-z0-9_.,][0-9])[0-9,.]{{0,20}} (?:{'|'.join(SPACED_UNITS)})\b")
_COUNTED_QUANTITY = re.compile(rf"[0-9](?<![A-Za-z0-9_.,][0-9])[0-9,.]{{0,20}} ?[{COUNTERS}]間?")

_SHAPES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
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
"""Characters. What is longer is data, not something one would name."""


def extract_entities(text: str) -> Iterator[Entity]:
    """The facts of a text, each once: those of one word in the order they first stand in it, then the others."""
    tokens = dict.fromkeys(text.encode("ascii", "replace").translate(_SEPARATORS_TO_SPACES).split())
    found = dict.fromkeys(map(classify_word, tokens))
    if "://" in text:
        found |= dict.fromkeys(Entity("url", url.rstrip(".,;:!?")) for url in _URL.findall(text))
    if not _SPACED_UNIT_BYTES.isdisjoint(tokens):
        found |= dict.fromkeys(Entity("quantity", said) for said in _SPACED_QUANTITY.findall(text))
    if not text.isascii():
        found |= dict.fromkeys(Entity("quantity", said) for said in _COUNTED_QUANTITY.findall(text))
    quoted = (one or other for one, other in _QUOTED.findall(text))
    found |= dict.fromkeys(Entity("quoted", said) for said in quoted if " " in said or not said.isascii())
    found.pop(None, None)
    return iter(found)  # type: ignore[arg-type]


_SPACED_UNIT_BYTES = frozenset(unit.encode() for unit in SPACED_UNITS)


@lru_cache(1 << 16)
def classify_word(word: bytes) -> Entity | None:
    """What a word is, if it is more than a word."""
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
    if token.startswith("/") and len(parts) == 2:  # also the end of a tag in HTML
        return parts[1] in FOLDERS or "." in parts[1]
    if token.startswith(("/", "./", "../", "~/")):
        return len(token) > 3 and any(len(part) > 1 for part in parts)
    if token.startswith(("@", "#", "$")):
        return False
    ends = parts[-1].rpartition(".")
    return (
        bool(ends[1] and ends[2].lower() in EXTENSIONS)
        or len(parts) > 3
        or not FOLDERS.isdisjoint(parts)
        or any("_" in part or "-" in part or part.startswith(".") for part in parts if part)
    )


def _is_name(token: str) -> bool:
    """Written as names in programs are, not as a word: `snake_case`, `CamelCase`, `a.b`, `utf8`."""
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


# What of all that matters


class RankedEntity(NamedTuple):
    fact: Entity
    origin: str
    """The call whose result it stands in."""
    score: float


MAX_RANKED_CHARS = 300_000
"""Characters of results that are looked at; what is older is seldom asked for by name."""

MAX_RESULT_CHARS = 24_000
"""Characters of one result that are looked at, half of them at its end."""


def rank_entities(
    turns: Sequence[Turn], *, most: int = 400, chars: int = MAX_RANKED_CHARS, open_errors: str = ""
) -> list[RankedEntity]:
    """The facts in the results of turns, those that matter most first.

    That is: what the user or the assistant has named, what stands in an error still open, what is new, what is rare.
    """
    origins: dict[Entity, tuple[int, str]] = {}
    seen: Counter[Entity] = Counter()
    said: set[Entity] = set()
    for age, step in enumerate(step for turn in reversed(turns) for step in reversed(turn.steps)):
        for item in step.items:
            if isinstance(item, ToolUse):
                text = _shorten_result(item.result.text)
                here = {
                    fact
                    for fact in extract_entities(text)
                    if fact.kind != "quoted" and not _DURATION.fullmatch(fact.text)
                }
                seen.update(here)
                chars -= len(text)
                origin = describe_call(item)
                for fact in here - origins.keys():
                    origins[fact] = age, origin
                said.update(extract_entities(item.call.arguments[:2_000]))
            elif isinstance(item, Text):
                said.update(extract_entities(item.text[:MAX_RESULT_CHARS]))
        if chars < 0:
            break
    prompts = [part.text for turn in turns[-20:] for part in turn.prompt if isinstance(part, Text)]
    said.update(fact for prompt in prompts for fact in extract_entities(prompt[:MAX_RESULT_CHARS]))
    wrong = set(extract_entities(open_errors))
    found = [
        RankedEntity(
            fact,
            origin,
            WORTH_OF_KIND[fact.kind] + 2 * (fact in said) + 3 * (fact in wrong) + 1 / seen[fact] + 10 / (10 + age),
        )
        for fact, (age, origin) in origins.items()
    ]
    return sorted(found, key=lambda one: (-one.score, one.fact))[:most]


WORTH_OF_KIND: dict[Kind, float] = {
    "id": 0.5, "path": 0.5, "url": 0.4, "name": 0.3, "command": 0.3, "quantity": 0.0, "quoted": -0.5,
}  # fmt: skip


_DURATION = re.compile(r"[0-9.]+ ?(?:[mµn]?s|sec|seconds)")
"""How long something took is in every result and asked for by nobody."""


def _shorten_result(text: str) -> str:
    return (
        text if len(text) <= MAX_RESULT_CHARS else f"{text[: MAX_RESULT_CHARS // 2]}\n{text[-MAX_RESULT_CHARS // 2 :]}"
    )


def describe_call(use: ToolUse, most: int = 60) -> str:
    """A call in a few words: its command, or its name with what it was asked about. Of a long path the end is shown."""
    ran = find_command(use)
    if ran is None:
        values = [value for value in read_arguments(use).values() if isinstance(value, str) and 0 < len(value) <= 200]
        short = [value if len(value) <= most else f"…{value[-most:]}" for value in values if "\n" not in value]
        return " ".join((use.call.name, *short[:2]))
    ran = " ".join(_SURROUNDINGS.sub("", ran[: 8 * most]).split())
    return ran if len(ran) <= most else f"{ran[: most - 1]}…"


_SURROUNDINGS = re.compile(r"^\s*cd [^&;|\n]{1,200}(?:&&|;)\s*|(?<=git)\s+-C\s+\S{1,200}|\s2>&1|\s2>/dev/null")
"""What of a command says where, not what."""
