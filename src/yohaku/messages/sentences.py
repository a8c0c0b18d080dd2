"""What the commands say, in English and Japanese."""

from __future__ import annotations

PHRASES = {
    "fits": ("fits: {after:,} of {limit:,} tokens{about}", "収まっています: {after:,} / {limit:,} トークン{about}"),
    "folded": (
        "folded: {before:,} → {after:,} of {limit:,} tokens{about}, {count:,} folds",
        "折りたたみました: {before:,} → {after:,} / {limit:,} トークン{about}、{count:,} か所",
    ),
    "too_big_pinned": (
        (
            "does not fit: {name} would need {needs:,} tokens and the limit is {limit:,}; "
            "unpin {about}, or use a larger window"
        ),
        (
            "収まりません: ピン留めしたもの ({name}) があるため {needs:,} トークン必要ですが、上限は {limit:,} です。"
            "{about} のピンを外す (unpin) か、もっと大きいウィンドウを使ってください。"
        ),
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
    "doctor_healthy": ("{name}: nothing to repair", "{name}: 直すところはありません"),
    "doctor_written": (
        "{name}: {count:,} repairs; written to {about}",
        "{name}: {count:,} か所を直し、{about} に書きました",
    ),
    "doctor_same_file": (
        "{name}: the original is never written over; give another file with --out",
        "{name}: 元のファイルには上書きしません。--out で別のファイルを指定してください",
    ),
    "doctor_broken_json": (
        "the JSON is broken; read as far as it goes",
        "JSON が壊れています。読めるところまで読みました",
    ),
    "doctor_broken_gzip": (
        "the gzip data is broken; read as far as it goes",
        "gzip データが壊れています。読めるところまで読みました",
    ),
    "doctor_torn_line": (
        "the line is broken; kept what could be read of it",
        "行が壊れています。読めた部分を残しました",
    ),
    "doctor_lost_line": ("the line cannot be read; left out", "行が読めません。除きました"),
    "doctor_utf16": ("UTF-16 text; written as UTF-8", "UTF-16 です。UTF-8 に直しました"),
    "doctor_zeros": ("zero bytes, as a crash leaves them; left out", "異常終了で残ったゼロバイトを除きました"),
    "doctor_not_utf8": (
        "bytes that are not UTF-8 text; replaced by a mark",
        "UTF-8 でないバイトを記号に置き換えました",
    ),
    "doctor_role": ("unknown role “{name}”; taken for {why}", "不明な役割「{name}」を {why} としました"),
    "doctor_shape": ("“{name}” had the wrong form; corrected", "「{name}」の形を直しました"),
    "doctor_block": ("“{name}” cannot stand here; written as {why}", "「{name}」はここに置けません。{why} にしました"),
    "doctor_no_entry": ("“{name}” is no entry; left out", "「{name}」は発言ではないので除きました"),
    "doctor_empty": ("empty; left out", "空なので除きました"),
    "doctor_empty_result": (
        "a result without content; made an empty text",
        "結果に内容がないので、空の文字列にしました",
    ),
    "doctor_misplaced_calls": (
        "only the model can make calls; these were left out",
        "呼び出しはモデルだけができます。除きました",
    ),
    "doctor_arguments": (
        "the arguments of {name} are no JSON object; put into one",
        "{name} の引数が JSON オブジェクトではないので、包みました",
    ),
    "doctor_name": ("a call without a name; called {name}", "名前のない呼び出しを {name} としました"),
    "doctor_tools": ("tool definitions that cannot be read; left out", "読めないツール定義を除きました"),
    "doctor_same_id": ("id {name} is used twice; now {why}", "id {name} が重複しています。{why} にしました"),
    "doctor_no_id": ("the call of {name} has no id; now {why}", "{name} の呼び出しに id がないので、{why} としました"),
    "doctor_no_result": (
        "the call of {name} has no result; added one that says so",
        "{name} の呼び出しに結果がないので、その旨の結果を加えました",
    ),
    "doctor_orphan": (
        "a result without its call ({name}); kept as a text of the user",
        "呼び出しのない結果 ({name}) を、ユーザーの文として残しました",
    ),
    "doctor_fitted": (
        "this result names another call than {name}, which it answers; corrected",
        "{name} への結果ですが、別の呼び出しを指しているので直しました",
    ),
    "doctor_moved": ("in the wrong place; moved to where it belongs", "場所が違うので、あるべき場所に移しました"),
    "doctor_regrouped": (
        "results of one reply stood apart; put together",
        "一つの返答への結果が離れていたので、まとめました",
    ),
    "doctor_twice": ("written down twice; left out", "二度書かれているので、一つを除きました"),
    "doctor_opening": (
        "the model cannot speak first; an opening by the user was added",
        "モデルからは始められないので、ユーザーの一言を加えました",
    ),
    "doctor_thought": (
        "a thought without what it led to; left out",
        "続きのない思考は送れないので、除きました",
    ),
    "doctor_note": (
        "the system cannot speak here; written as the user's",
        "システムの発言はここに置けません。ユーザーの発言にしました",
    ),
    "doctor_blanks": ("blanks at the very end; left out", "末尾の空白を除きました"),
    "doctor_thinking": (
        "thinking is on, but the thought it needs is lost; switched off",
        "thinking に必要な思考が失われているので、切りました",
    ),
    "doctor_marks": (
        "more than four cache marks; the newest kept",
        "キャッシュ印が四つを超えるので、新しいものだけ残しました",
    ),
    "doctor_header": ("the first line was lost; made anew", "失われた先頭行を作り直しました"),
    "doctor_listed": (
        "lines of no session we know; written as one list of messages",
        "既知のセッション形式の行ではないので、一つのメッセージのリストにしました",
    ),
    "doctor_circle": (
        "descends from itself; put after the line before it",
        "自分自身の子孫になっているので、前の行につなぎました",
    ),
    "doctor_left_out": ("cannot be read ({why}); left out", "読めないので ({why}) 除きました"),
    "doctor_unasked": (
        "a result that answers nothing ({why}); kept as a text",
        "何にも答えていない結果 ({why}) を文として残しました",
    ),
    "export_out": ("a transcript needs a file: give --out FILE", "書き出すファイルを --out で指定してください"),
    "recall_what": (
        "give a ref, or --search WORDS: yohaku recall REF",
        "ref か --search 言葉 のどちらかを指定してください: yohaku recall REF",
    ),
    "recall_raw": (
        "--raw gives the whole original; leave out --offset and --limit",
        "--raw は全体をそのまま出します。--offset と --limit は付けられません",
    ),
    "search_none": ("nothing that is kept has “{name}” in a line", "「{name}」を含む行は見つかりません"),
    "search_late": (
        "the time ran out before everything was looked through: search again, or for longer words",
        "時間切れで、すべては調べられませんでした。もう一度か、長めの言葉で探してください",
    ),
    "search_more": (
        "there may be more: raise --limit, or give more words",
        "他にもあるかもしれません。--limit を増やすか、言葉を足してください",
    ),
    "receipts_none": (
        "no folding is recorded in {name}",
        "{name} に折りたたみの記録はありません",
    ),
    "receipt": (
        "{about}  {name}  {before:,} → {after:,} of {limit:,} tokens, {count:,} folds: {why}",
        "{about}  {name}  {before:,} → {after:,} / {limit:,} トークン、{count:,} か所: {why}",
    ),
    "was_undone": ("{why} (undone)", "{why} (取り消し済み)"),
    "undone": (
        "undone in session {name}: folding {number:,} ({before:,} → {after:,} tokens); yohaku redo brings it back",
        (
            "セッション {name} の折りたたみ {number:,} ({before:,} → {after:,} トークン) を取り消しました。"
            "yohaku redo で戻せます"
        ),
    ),
    "redone": (
        "standing again in session {name}: folding {number:,} ({before:,} → {after:,} tokens)",
        "セッション {name} の折りたたみ {number:,} ({before:,} → {after:,} トークン) をやり直しました",
    ),
    "undo_none": ("nothing to undo in session {name}", "セッション {name} に取り消せる折りたたみはありません"),
    "redo_none": ("nothing to redo in session {name}", "セッション {name} にやり直せる折りたたみはありません"),
    "pinned": ("pinned in session {name}: {about}", "セッション {name} でピン留めしました: {about}"),
    "unpinned": ("no longer pinned in session {name}: {about}", "セッション {name} のピンを外しました: {about}"),
    "pins_none": ("nothing is pinned in session {name}", "セッション {name} にピン留めはありません"),
    "diff_what": (
        "--diff compares foldings of a store: give at most two, and no file",
        "--diff は保存先の折りたたみを比べます。指定できるのは二つまでで、ファイルは付けられません",
    ),
    "same": ("no difference", "違いはありません"),
    "why_fold": (
        "{name}: {why}\n{before:,} → {after:,} tokens; last folded {about}",
        "{name}: {why}\n{before:,} → {after:,} トークン。最後の折りたたみ: {about}",
    ),
    "why_unrecorded": (
        "no folding is recorded for {name}, but yohaku recall {name} opens it",
        "{name} の折りたたみの記録はありませんが、yohaku recall {name} で開けます",
    ),
    "unknown_time": ("at an unknown time", "日時不明"),
    "collected": (
        "removed {count:,} originals ({size:,} bytes), {folds:,} folds and {rows:,} records; {after:,} bytes are left",
        (
            "原文 {count:,} 件 ({size:,} バイト)、折りたたみ {folds:,} 件、記録 {rows:,} 件を消しました。"
            "残りは {after:,} バイトです"
        ),
    ),
    "collect_over": (
        "{size:,} bytes more than wished for must stay: folds still show them",
        "折りたたみがまだ示しているため、指定より {size:,} バイト多く残ります",
    ),
    "collectable": (
        (
            "would remove {count:,} originals ({size:,} bytes), {folds:,} folds and {rows:,} records; "
            "{after:,} bytes would be left"
        ),
        (
            "原文 {count:,} 件 ({size:,} バイト)、折りたたみ {folds:,} 件、記録 {rows:,} 件を消せます。"
            "残りは {after:,} バイトになります"
        ),
    ),
    "check_fine": ("all is well", "問題ありません"),
    "check_wrong": ("{count:,} to put right (marked !!)", "直すところが {count:,} か所あります (!! の行)"),
    "check_python": ("Python {name}, yohaku {about}", "Python {name}、yohaku {about}"),
    "check_config": ("config file {name}", "設定ファイル {name}"),
    "check_no_config": ("no config file; it would be {name}", "設定ファイルはありません (置き場所: {name})"),
    "check_data": ("data folder {name}", "データフォルダ {name}"),
    "check_data_new": (
        "data folder {name}: made when first needed",
        "データフォルダ {name}: 必要になったときに作ります",
    ),
    "check_data_open": (
        "data folder {name} can be read by other users; chmod 700 keeps them out",
        "データフォルダ {name} は他のユーザーからも読めます。chmod 700 で防げます",
    ),
    "check_data_not_writable": (
        "data folder {name} cannot be written; change its owner, or set YOHAKU_DATA",
        "データフォルダ {name} に書けません。所有者を変えるか、YOHAKU_DATA で別の場所を指定してください",
    ),
    "check_store": ("store {name} opens", "ストア {name} は開けます"),
    "check_store_new": ("store {name}: made when first needed", "ストア {name}: 必要になったときに作ります"),
    "check_store_fails": (
        "store {name} does not open ({why}); check its address, or set YOHAKU_STORE",
        "ストア {name} が開けません ({why})。場所を確かめるか、YOHAKU_STORE を設定してください",
    ),
    "check_no_model": (
        "no model set; YOHAKU_MODEL or --model says whose tokens to count",
        "モデルが未設定です。YOHAKU_MODEL か --model で指定できます",
    ),
    "check_meter_exact": (
        "tokens of {name} are counted exactly ({about})",
        "{name} のトークンは正確に数えられます ({about})",
    ),
    "check_meter_estimate": ("tokens of {name} are estimated ({about})", "{name} のトークンは推定です ({about})"),
    "check_window": ("window of {count:,} tokens ({about})", "ウィンドウは {count:,} トークン ({about})"),
    "check_key": ("{name} is set", "{name} は設定されています"),
    "check_key_odd": (
        "{name} is set, but holds blanks or quotes; set it again without them",
        "{name} に空白か引用符が含まれています。除いて設定し直してください",
    ),
    "check_no_key": ("no API key is set; local models need none", "API キーは未設定です。ローカルモデルなら不要です"),
    "check_server": ("{name} answers at {about}", "{name} は {about} で応答します"),
    "check_no_server": ("{name} does not answer at {about}", "{name} は {about} で応答しません"),
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
