"""What was folded and why, in the words of people."""

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
    "window_full": ("the window is full", "ウィンドウがいっぱいのため"),
    "over_limit": ("over the limit", "上限を超えたため"),
    "old_and_big": ("old and big", "古くて大きいため"),
    "old": ("old", "古いため"),
    "old_result": ("old result", "古い結果のため"),
    "old_lines": ("old: the lines that name most", "古いため、手がかりの多い行だけ残しました"),
    "outsized_result": ("outsized result", "結果が大きすぎるため"),
    "cut_on_arrival": ("cut as it arrived", "届いた時点で切り詰めました"),
    "read_once": ("read once", "すでに一度読まれたため"),
    "superseded": ("superseded", "新しい内容があるため"),
    "finished_thought": ("thought in a turn that is over", "終わったやり取りでの思考のため"),
    "unchanged_on_disk": ("unchanged on disk", "ディスク上の内容と同じため"),
    "tool_output_budget": ("tool outputs over their budget", "ツール出力の割り当てを超えたため"),
    "by_model": ("summed up by a model", "モデルが要約しました"),
    "undone_but_needed": (
        "opened again by undo, and nothing else would fit",
        "元に戻されていましたが、ほかに空けられる場所がないため",
    ),
    "without_model.far_too_long": (
        "summed up without a model: its answer was far too long",
        "モデルなしで要約しました (モデルの答えが長すぎました)",
    ),
    "without_model.too_long": (
        "summed up without a model: its answer was too long",
        "モデルなしで要約しました (モデルの答えが長すぎました)",
    ),
    "without_model.off_task": (
        "summed up without a model: it did not do what was asked",
        "モデルなしで要約しました (モデルが指示に従いませんでした)",
    ),
    "without_model.empty": (
        "summed up without a model: its answer had no content",
        "モデルなしで要約しました (モデルの答えに内容がありませんでした)",
    ),
    "without_model.unfounded": (
        "summed up without a model: most of its answer named files, numbers or commands that are not in the record",
        "モデルなしで要約しました (モデルの答えの大半が、記録にないファイルや数やコマンドでした)",
    ),
    "without_model.unanswered": (
        "summed up without a model: {detail}",
        "モデルなしで要約しました ({detail})",
    ),
    "without_model.no_model": (
        "summed up without a model: nobody is there to answer",
        "モデルなしで要約しました (答えるモデルがありません)",
    ),
    "without_model.no_room": (
        "summed up without a model: there is no room for a summary",
        "モデルなしで要約しました (要約を入れる余地がありません)",
    ),
    "without_model.no_room_to_ask": (
        "summed up without a model: there is no room to ask in",
        "モデルなしで要約しました (モデルに頼むだけの余地がありません)",
    ),
}
"""English and Japanese, by the code of the reason."""


def folded(what: str, why: str, lang: str, detail: str = "") -> tuple[str, str]:
    """Return the subject and the reason of a fold. A reason without an entry is shown as it is: that of a pass of
    another package, or one stored by an older version."""
    english, japanese = REASONS.get(why, ("{why}", "{why}"))
    why = (japanese if lang == "ja" else english).format(why=why, detail=detail)
    if lang != "ja":
        return what, why
    if found := _BEFORE.fullmatch(what):
        what = f"この{'ステップ' if found[1] == 'step' else '指示'}より前の会話 ({found[2]} ステップ)"
    elif found := _ARGUMENT.fullmatch(what):
        what = f"{found[1]} の引数 {found[2]}"
    elif found := _RESULT.fullmatch(what):
        what = f"{found[1]} の結果"
    return FOLDED.get(what, what), why
