"""Rules in long chats, folded by `auto` without a model as the chat grows."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random

import pytest

from yohaku import Session

PROMPTS = 700


def chat(prompts: list[str], session: Session) -> str:
    """Return the view of a chat after its last prompt, fitted at every tenth."""
    messages: list[dict[str, str]] = []
    shown = ""
    for number, prompt in enumerate(prompts, 1):
        messages.append({"role": "user", "content": prompt})
        if number % 10 == 0 or number == len(prompts):
            fitted = session.fit({"messages": list(messages)})["messages"]
            shown = "\n".join(message["content"] for message in fitted)
        messages.append({"role": "assistant", "content": f"Done, number {number}."})
    return shown


def recorded_prompts(shared: Path) -> list[str]:
    found: dict[str, None] = {}
    for path in sorted((shared / "data").glob("*/**/*.gz")):
        rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
        texts = (row["content"] for row in rows[1:] if row["role"] == "user" and not row.get("mark"))
        found |= dict.fromkeys(text for text in texts if text and 5 < len(text) < 400)
    return list(found)


@pytest.mark.shared
def test_57_of_60_rules_in_the_middle_of_a_long_chat_of_real_prompts_stay_in_view(shared: Path) -> None:
    data = json.loads((shared / "exam" / "compint.json").read_text())
    sentences = [one["sentence"] for one in data["constraints"]]
    framed = [
        f"{framing}{sentence[0].lower()}{sentence[1:]}" for framing in data["framings"][1:] for sentence in sentences
    ]
    others = recorded_prompts(shared)
    kept = 0
    texts = [*sentences, *framed]
    for number in range(0, len(texts), 5):
        rules = texts[number : number + 5]
        prompts = [Random(number * PROMPTS + at).choice(others) for at in range(PROMPTS)]
        for at, rule in enumerate(rules):
            prompts[PROMPTS // 2 + at * 7] = rule
        shown = chat(prompts, Session(window=8_192))
        kept += sum(rule[-30:] in shown for rule in rules)
    assert kept >= 57


def test_rules_beyond_their_share_are_counted_and_opened_by_the_ref_beside_the_count() -> None:
    session = Session(window=4_096)
    prompts = ["Make the importer faster.", *(f"Never touch module_{n} of the importer." for n in range(300)), "Go on."]
    shown = chat(prompts, session)
    found = re.search(r"\[([\d,]+) more: ref=(\w+)\]", shown)
    assert found, shown
    listed = re.findall(r"^- Never touch module_(\d+) of the importer\.$", shown[: found.start()], re.M)
    original = session.recall(found[2])
    assert isinstance(original, str)
    hidden = {int(n) for n in re.findall(r"Never touch module_(\d+) ", original)}
    assert len(listed) + int(found[1].replace(",", "")) == len(hidden)
    assert max(map(int, listed)) == max(hidden)  # of equal ones the newest
