"""What was folded and why, in the words of people: passes say it in English, here it is in Japanese.

Law: every reason of a pass of ours is here; the words of another stay as they are.
"""

from __future__ import annotations

import re

FOLDED = {
    "prompt": "指示",
    "reply": "返答",
    "image": "画像",
    "document": "文書",
    "audio": "音声",
    "video": "動画",
    "thought": "思考",
}
"""What a fold stands for, where no tool is named."""

_RESULT = re.compile(r"(.+) result")
_ARGUMENT = re.compile(r"(.+) argument (\S+)")
_BEFORE = re.compile(r"the conversation before this (step|prompt) \(([\d,]+) steps?\)")

REASONS = {
    "the window is full": "ウィンドウがいっぱいのため",
    "over the limit": "上限を超えたため",
    "old and big": "古くて大きいため",
    "old": "古いため",
    "old result": "古い結果のため",
    "old: the lines that name most": "古いため、手がかりの多い行だけ残しました",
    "outsized result": "結果が大きすぎるため",
    "cut as it arrived": "届いた時点で切り詰めました",
    "read once": "すでに一度読まれたため",
    "superseded": "新しい内容があるため",
    "thought in a turn that is over": "終わったやり取りでの思考のため",
    "unchanged on disk": "ディスク上の内容と同じため",
    "tool outputs over their budget": "ツール出力の割り当てを超えたため",
    "summed up by a model": "モデルが要約しました",
    "opened again by undo, and nothing else would fit": "元に戻されていましたが、ほかに空けられる場所がないため",
}
"""Why something was folded, by the words of the pass that folded it."""

_ALONE = "summed up without a model: "


def folded(what: str, why: str, lang: str) -> tuple[str, str]:
    """What a fold stands for and why it was made; the words of a pass that is not ours stay as they are."""
    if lang != "ja":
        return what, why
    if found := _BEFORE.fullmatch(what):
        what = f"この{'ステップ' if found[1] == 'step' else '指示'}より前の会話 ({found[2]} ステップ)"
    elif found := _ARGUMENT.fullmatch(what):
        what = f"{found[1]} の引数 {found[2]}"
    elif found := _RESULT.fullmatch(what):
        what = f"{found[1]} の結果"
    if why.startswith(_ALONE):
        why = f"モデルなしで要約しました ({why.removeprefix(_ALONE)})"
    return FOLDED.get(what, what), REASONS.get(why, why)
