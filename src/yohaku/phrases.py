"""What we say to people, in their language. English is in the errors themselves; here is the rest, and Japanese.

Law: a sentence says what is the matter and what to do next, and every sentence exists in every language we speak.
"""

from __future__ import annotations

from collections.abc import Mapping

from yohaku.core.errors import YohakuError

LANGUAGES = ("en", "ja")

ERRORS = {
    "malformed": "{where}: 会話の形式が正しくありません ({what})。この箇所を直してからもう一度試してください。",
    "unreadable": "読み込めません: {message}",
    "does_not_fit": "収まりません: {what}に {needs:,} トークン必要ですが、上限は {limit:,} です。"
    "短くするか、もっと大きいウィンドウを使ってください。",
    "unknown_model": "モデル {model!r} は不明です。--window でウィンドウを指定するか、strict を外してください。",
    "unknown_recipe": "レシピ {name!r} はありません。使えるもの: {known}",
    "unknown_ref": "ref {ref!r} は見つかりません。",
    "bad_window": "ウィンドウには正の数を指定してください。",
    "bad_reserve": "返答用の予約 {reserve:,} がウィンドウ {window:,} に対して大きすぎます。小さくしてください。",
    "unanswered": "要約を頼む相手がいません: {message}",
    "async_summarise": "summarise が async です。fit ではなく afit を使ってください。",
    "unknown_dialect": "形式 {name!r} はありません。使えるもの: {known}",
    "error": "{message}",
    "bad_setting": "設定が正しくありません: {message}",
}
"""Japanese, by the code of the error."""

WHAT = {
    "the system prompt with the tool definitions": "システムプロンプトとツール定義",
    "the newest prompt beside the system prompt": "システムプロンプトと最新の指示",
    "the newest prompt beside the tool definitions": "ツール定義と最新の指示",
    "the newest turn beside the system prompt": "システムプロンプトと最新のやり取り",
    "the newest turn beside the tool definitions": "ツール定義と最新のやり取り",
    "the system prompt": "システムプロンプト",
    "even an empty request": "空のリクエスト",
    "the tool definitions": "ツール定義",
    "the newest prompt": "最新の指示",
    "the newest turn": "最新のやり取り",
}

PHRASES = {
    "fits": ("fits: {after:,} of {limit:,} tokens{about}", "収まっています: {after:,} / {limit:,} トークン{about}"),
    "folded": (
        "folded: {before:,} → {after:,} of {limit:,} tokens{about}, {count:,} folds",
        "折りたたみました: {before:,} → {after:,} / {limit:,} トークン{about}、{count:,} か所",
    ),
    "estimated": (" (estimated)", " (推定)"),
    "no_file": ("{name}: no such file", "{name}: ファイルがありません"),
    "is_folder": ("{name}: is a folder; give a file", "{name}: フォルダです。ファイルを指定してください"),
    "no_permission": ("{name}: no permission to read or write it", "{name}: 読み書きの権限がありません"),
    "os_error": ("{name}: {why}", "{name}: {why}"),
    "too_large": (
        "{name}: {size:,} bytes is more than the {most:,} that are read",
        "{name}: {size:,} バイトあります。読めるのは {most:,} バイトまでです",
    ),
    "no_input": (
        "give a file, or pipe a conversation in: yohaku {command} FILE",
        "ファイルを指定するか、パイプで渡してください: yohaku {command} FILE",
    ),
    "no_window": (
        "how large is the window? give --window N, or --model NAME",
        "ウィンドウの大きさが分かりません。--window N か --model 名前 を指定してください",
    ),
    "system": ("system prompt", "システムプロンプト"),
    "tools": ("tool definitions", "ツール定義"),
    "turns": ("conversation", "会話"),
    "request": ("frame", "外枠"),
    "total": ("total", "合計"),
    "limit": ("limit", "上限"),
    "before": ("before", "前"),
    "after": ("after", "後"),
    "why": ("why", "理由"),
    "nothing_folded": ("nothing folded", "折りたたみはありません"),
    "stopped": ("stopped", "中断しました"),
    "demo_title": (
        "A recorded coding session of {steps:,} steps, {tokens:,} tokens, in a window of {window:,}",
        "録画された {steps:,} ステップ、{tokens:,} トークンの作業を、{window:,} のウィンドウで",
    ),
    "demo_step": ("step {step:,} of {steps:,}", "ステップ {step:,} / {steps:,}"),
    "demo_without": ("without yohaku", "yohaku なし"),
    "demo_with": ("with yohaku", "yohaku あり"),
    "demo_overflow": ("over the window since step {step:,}", "ステップ {step:,} から溢れています"),
    "demo_folded": (
        "step {step:,}: folded {before:,} → {after:,} tokens, {count:,} folds",
        "ステップ {step:,}: {before:,} → {after:,} トークンに折りたたみ、{count:,} か所",
    ),
    "demo_end": (
        (
            "{steps:,} requests, {over:,} over the limit without yohaku and {bad:,} with it; "
            "{folds:,} foldings; every one of {refs:,} refs opened to its original."
        ),
        (
            "{steps:,} 回のリクエストのうち、yohaku なしでは {over:,} 回、ありでは {bad:,} 回が上限を超えました。"
            "折りたたみ {folds:,} 回。{refs:,} 個の ref はすべて元の内容を開けました。"
        ),
    ),
}
"""English and Japanese, by name."""


NOTICES = {
    "bad_config": "{file}: 読めません ({why})。なしで続けます。",
    "bad_value": "{where} の値 {value!r} は使えません。設定されていないものとして続けます。",
    "unknown_key": "{file}: {key} という設定はありません。",
    "local_model": "{model} のウィンドウはサーバーが決めます。{tokens} トークンとして続けます。"
    "--window か {variable} で指定できます。",
    "unknown_model": "モデル {model!r} は不明です。{tokens} トークンとして続けます。"
    "--window か {variable} で指定できます。",
}
"""Japanese, by the code of what a user should read once at the start."""


def notice(code: str, text: str, facts: Mapping[str, str], lang: str) -> str:
    return NOTICES[code].format(**facts) if lang == "ja" and code in NOTICES else text


def say(name: str, lang: str, /, **facts: object) -> str:
    english, japanese = PHRASES[name]
    return (japanese if lang == "ja" else english).format(**facts)


def explain(error: YohakuError, lang: str) -> str:
    """One plain line for what went wrong."""
    if lang != "ja" or error.code not in ERRORS:
        return " ".join(str(error).split())
    facts = {**error.facts, "message": str(error)}
    facts["what"] = WHAT.get(str(facts.get("what")), facts.get("what"))
    return " ".join(ERRORS[error.code].format(**{"where": "", **facts}).removeprefix(": ").split())
