"""What is the matter, in Japanese: errors, why a store failed, what is too big, and what is read once at the start.

English is in the errors and notices themselves.
"""

from __future__ import annotations

ERRORS = {
    "malformed": "{where}: 会話の形式が正しくありません ({what})。この箇所を直してからもう一度試してください。",
    "unreadable": "読み込めません: {message}",
    "does_not_fit": "収まりません: {what}に {needs:,} トークン必要ですが、上限は {limit:,} です。"
    "短くするか、もっと大きいウィンドウを使ってください。",
    "unknown_model": "モデル {model!r} は不明です。--window でウィンドウを指定するか、strict を外してください。",
    "unknown_recipe": "レシピ {name!r} はありません。使えるもの: {known}",
    "unknown_ref": "ref {ref!r} は見つかりません。",
    "store_failed": "保存先 {where} を使えません ({why})。空き容量、権限、接続を確かめてください。",
    "unknown_store": "その保存先は使えません。使えるもの: {known}",
    "no_store_file": "SQLite の保存先にはファイルが必要です。sqlite:///path の形で指定してください。",
    "no_client": "この保存先に必要なパッケージがありません: {message}",
    "unknown_pin": "{name!r} は見つかりません。表示されている ref、キー、または発言どおりの言葉を指定してください。",
    "pin_whole": "{name} は会話のまとまり全体です。その中の一つをピン留めするか、yohaku undo で開いてください。",
    "nothing_folded": "この保存先に折りたたみの記録はありません。yohaku receipts で確かめてください。",
    "taken_name": "{name} はすでにあります。続けるか、別の名前にしてください。",
    "unknown_session": "セッション {name!r} は特定できません。yohaku receipts で確かめてください。",
    "unknown_folding": "折りたたみ {name!r} はありません。使えるもの: {known}",
    "bad_pattern": "パターン {pattern!r} は使えません: {why}",
    "bad_window": "ウィンドウには正の数を指定してください。",
    "bad_reserve": "返答用の予約 {reserve:,} がウィンドウ {window:,} に対して大きすぎます。小さくしてください。",
    "uncountable": "トークンを数えられません: {meter} ({why})。別のメーターを使ってください。",
    "refused": "今は折りたたみません: {message}",
    "unanswered": "要約を頼む相手がいません: {message}",
    "async_summarise": "summarise か before が async です。fit ではなく afit を使ってください。",
    "unknown_dialect": "形式 {name!r} はありません。使えるもの: {known}",
    "error": "{message}",
    "bad_setting": "設定が正しくありません: {message}",
}
"""Japanese, by the code of the error."""

WHY = {
    "the disk is full": "空き容量がありません",
    "another program holds it locked": "別のプログラムが使っています",
    "it is read-only": "読み取り専用です",
    "it cannot be opened": "開けません",
    "reading or writing it failed": "読み書きに失敗しました",
    "the file is damaged": "ファイルが壊れています",
    "the file is not a store": "保存先のファイルではありません",
    "a newer yohaku wrote it": "新しい yohaku が書いたものです",
}
"""Why a store failed, where we know it."""

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

NOTICES = {
    "bad_config": "{file}: 読めません ({why})。なしで続けます。",
    "bad_value": "{where} の値 {value!r} は使えません。設定されていないものとして続けます。",
    "unknown_key": "{file}: {key} という設定はありません。",
    "local_model": "{model} のウィンドウはサーバーが決めます。{tokens} トークンとして続けます。"
    "--window か {variable} で指定できます。",
    "unknown_model": "モデル {model!r} は不明です。{tokens} トークンとして続けます。"
    "--window か {variable} で指定できます。",
    "transcript_failed": "記録 {name} に書けません ({why})。書かずに会話を続けます。",
    "store_failed": "保存先 {where} を使えません ({why})。メモリで続けます。今回折りたたんだものは後で開けません。",
}
"""Japanese, by the code of what a user should read once at the start."""
