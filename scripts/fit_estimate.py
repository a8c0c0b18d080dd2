"""Fit the weights of `yohaku.meters.estimate` and write them to `estimate.json`.

    python scripts/fit_estimate.py DATA [--also TEXTS] [--locale /usr/share/locale] [--out FILE]

DATA holds trajectory-v1 files (gzip), TEXTS plain text files; message catalogues give the scripts agents rarely meet.
The truth for Claude is `ctok`; for a model nobody knows it is the largest count of eight open vocabularies.
"""

from __future__ import annotations

import argparse
import gettext
import gzip
import json
import random
from collections.abc import Callable, Iterator
from operator import mul
from pathlib import Path

from yohaku.meters.bpe import encoder, tokens_of
from yohaku.meters.claude import exact_counter
from yohaku.meters.estimate import BASES, CLASSES, features

OPEN = ("qwen3", "mistral_v3", "deepseek_v3", "llama3", "glm4", "gemma3", "kimi_k2", "phi4")
TONGUES = (
    "ar", "bg", "ca", "cs", "da", "de", "el", "es", "fa", "fi", "fr", "he", "hi", "hu", "id", "it", "ja", "ka", "ko",
    "nl", "pl", "pt_BR", "ro", "ru", "sv", "th", "tr", "uk", "vi", "zh_CN", "zh_TW",
)  # fmt: skip
PIECE = 6000
"""Characters a sample."""

Row = tuple[list[float], float]


def conversations(data: Path) -> Iterator[tuple[str, list[str]]]:
    for path in sorted(data.glob("*/*.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines][1:]
        texts = [entry["content"] for entry in rows if entry.get("content")]
        texts += [call["arguments"] for entry in rows for call in entry.get("tool_calls") or ()]
        yield path.parent.name, texts


def catalogues(locale: Path, limit: int = 40_000) -> Iterator[str]:
    for tongue in TONGUES:
        joined = ""
        for path in sorted((locale / tongue / "LC_MESSAGES").glob("*.mo")):
            with path.open("rb") as file:
                catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            joined += "\n".join(text for key, text in catalogue.items() if key and isinstance(text, str))
            if len(joined) > limit:
                break
        yield joined[:limit]


def pieces(text: str, rng: random.Random, most: int) -> list[str]:
    cut = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return cut if len(cut) <= most else rng.sample(cut, most)


def fit(rows: list[Row], rounds: int = 4000) -> list[float]:
    """Non-negative least squares of the relative error, by coordinate descent on the normal equations."""
    width = len(rows[0][0])
    gram = [[0.0] * width for _ in range(width)]
    aim = [0.0] * width
    for values, truth in rows:
        weight = 1.0 / (truth + 30.0) ** 1.5  # between absolute and relative: long pieces matter more, not all
        for i, value in enumerate(values):
            if value:
                aim[i] += weight * value * truth
                for j, other in enumerate(values):
                    gram[i][j] += weight * value * other
    found = [0.0] * width
    for _ in range(rounds):
        for i in range(width):
            if gram[i][i]:
                slope = aim[i] - sum(map(mul, gram[i], found))
                found[i] = max(0.0, found[i] + slope / gram[i][i])
    return found


def largest(text: str) -> int:
    return max(tokens_of(text, encoder(name)) for name in OPEN)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("data", type=Path)
    asked.add_argument("--also", type=Path)
    asked.add_argument("--locale", type=Path, default=Path("/usr/share/locale"))
    asked.add_argument("--sample", type=int, default=1_200_000, help="characters of DATA to count for the truth")
    asked.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/yohaku/meters/estimate.json")
    given = asked.parse_args()
    rng = random.Random(7)

    whole = list(conversations(given.data))
    sources = sorted({source for source, _ in whole})
    samples: list[str] = []
    for source in sources:  # as much of each source as of any other
        found = (text for name, texts in whole if name == source for text in texts)
        texts = [piece for text in found for piece in pieces(text, rng, 3)]
        rng.shuffle(texts)
        room = given.sample // len(sources)
        for text in texts:
            samples.append(text)
            room -= len(text)
            if room < 0:
                break
    also = [path.read_text("utf-8") for path in sorted(given.also.glob("*"))] if given.also else []
    samples += [piece for text in also for piece in pieces(text, rng, 99)] * 3
    samples += [piece for text in catalogues(given.locale) for piece in pieces(text, rng, 3)]
    rng.shuffle(samples)
    cut = len(samples) * 4 // 5

    by_text = {text: [float(value) for value in features(text)] for text in set(samples)}
    targets: dict[str, Callable[[str], int]] = {
        "claude_v3": exact_counter("3.0"), "claude_v48": exact_counter("4.8"), "any": largest
    }  # fmt: skip
    held = whole[:: max(1, len(whole) // 60)]
    written = {}
    for target, count in targets.items():
        truth = {text: count(text) for text in by_text}
        rows = [(by_text[text], float(truth[text])) for text in samples]
        raw = fit(rows[:cut])
        middle = [sum(map(mul, raw, values)) for values, _ in rows[cut:]]
        errors = sorted(abs(guess / real - 1) for guess, (_, real) in zip(middle, rows[cut:], strict=True) if real > 50)
        ratios = []
        for _, held_texts in held:
            some = [piece for text in held_texts for piece in pieces(text, rng, 4)]
            some = rng.sample(some, min(len(some), 25))
            guess = sum(sum(map(mul, raw, features(text))) for text in some)
            ratios.append(sum(map(count, some)) / guess)
        ratios += [count(text) / sum(map(mul, raw, features(text))) for text in also]
        ratios.sort()
        safety = max(1.0, round(ratios[-1] + 0.0005, 3))
        print(
            f"{target}: mean error {sum(errors) / len(errors):.1%}, p95 {errors[len(errors) * 95 // 100]:.1%};"
            f" whole conversations: exact / middle {ratios[0]:.3f}-{ratios[-1]:.3f}, safety {safety}"
        )
        named = {name: round(value, 4) for name, value in zip(BASES + CLASSES, raw, strict=True) if value > 0.002}
        written[target] = {"weights": named, "safety": safety}
    given.out.write_text(json.dumps(written, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
