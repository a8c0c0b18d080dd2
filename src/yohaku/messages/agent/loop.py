"""What the loop says to people."""

WORDS: dict[str, tuple[str, str]] = {
    "loop_window_learned": (
        "The server takes {window:,} tokens, less than was thought. Older parts are folded, and it goes on.",
        "サーバーが受け付けるのは {window:,} トークンまででした。古い部分を折りたたんで続けます。",
    ),
    "loop_truncated": (
        (
            "The server silently dropped part of the prompt ({told:,} of {sent:,} tokens were read). "
            "Older parts are folded, and it goes on."
        ),
        (
            "サーバーが指示の一部を黙って切り捨てました ({sent:,} トークンのうち {told:,} だけが読まれました)。"
            "古い部分を折りたたんで続けます。"
        ),
    ),
    "loop_too_long": (
        (
            "The model says that this is too long, even after folding. Nothing is lost. Shorten what you asked, fold "
            "with /compact, give a smaller window with /window, or take a model with a larger one with /model."
        ),
        (
            "折りたたんでもまだ長すぎるとモデルが答えました。失われたものはありません。指示を短くするか、/compact で"
            "折りたたむか、/window でウィンドウを小さくするか、/model でもっと大きいモデルに替えてください。"
        ),
    ),
    "loop_window_small": (
        (
            "This window is too small for the agent: its own instructions need {needs:,} tokens, and there are "
            "{limit:,}. Give it a larger one with --window, or only talk, with --chat."
        ),
        (
            "このウィンドウはエージェントには小さすぎます: 指示だけで {needs:,} トークン必要ですが、"
            "{limit:,} しかありません。--window で大きくするか、--chat で会話だけにしてください。"
        ),
    ),
    "loop_does_not_fit": (
        (
            "This does not fit: {what}. Nothing was sent and nothing is lost. Shorten it, or give it as a file and ask "
            "about parts of it."
        ),
        (
            "収まりません: {what}。何も送っておらず、失われたものもありません。短くするか、ファイルにして一部ずつ"
            "聞いてください。"
        ),
    ),
    "loop_cut_off": (
        "The reply was cut off. Older parts are folded to make room, and it is asked again.",
        "返答が途中で切れました。古い部分を折りたたんで場所を空け、もう一度頼みます。",
    ),
    "loop_still_cut": (
        "The reply is longer than there is room for, and ends here. Say “go on” to hear the rest.",
        "返答が長すぎて、ここで切れています。「続けて」と言えば続きを聞けます。",
    ),
    "loop_said_nothing": (
        "The model said nothing. Ask in other words, or take another model with /model.",
        "モデルが何も答えませんでした。別の言い方で頼むか、/model で別のモデルを使ってください。",
    ),
    "loop_circling": (
        "The model repeats itself; it is told so.",
        "モデルが同じことを繰り返しているので、そう伝えます。",
    ),
    "loop_hopeless": (
        (
            "The model keeps doing the same without getting further, so this was stopped. Say what to try instead, "
            "make the task smaller, or take another model with /model."
        ),
        (
            "モデルが同じことを繰り返して進まないため、止めました。別のやり方を伝えるか、作業を小さくするか、"
            "/model で別のモデルを使ってください。"
        ),
    ),
    "loop_endless": (
        "The model repeated the same words without end, so this was stopped. Ask again, or in other words.",
        "モデルが同じ言葉を際限なく繰り返したため、止めました。もう一度、または別の言い方で頼んでください。",
    ),
    "loop_steps": (
        "This took {steps} steps, as many as one prompt may take. Say “go on” to let it go on.",
        "1 回の指示で使える {steps} ステップに達しました。「続けて」と言えば続けます。",
    ),
    "loop_split": (
        "This is more than fits into the window at once ({window:,} tokens), so it is worked on part by part.",
        "一度にウィンドウ ({window:,} トークン) に入りきらないため、少しずつ分けて進めます。",
    ),
    "loop_instructions_cut": (
        "{name} is long for this window: only its beginning is in the prompt.",
        "{name} はこのウィンドウには長いため、先頭だけをプロンプトに入れました。",
    ),
    "loop_gone_on": (
        "Went on from {name} (prompts: {turns:,}, steps: {steps:,}).",
        "{name} から再開しました: 指示 {turns:,} 件、{steps:,} ステップ。",
    ),
    "loop_calm": ("nothing: there is room", "何もしません: 余裕があります"),
    "loop_soon": (
        "folds at {at:,} tokens, {left:,} from here",
        "あと {left:,} トークンで ({at:,} に達すると) 折りたたみます",
    ),
    "loop_now": (
        "folds before the next call: over {at:,} tokens",
        "{at:,} トークンを超えたので、次の呼び出しの前に折りたたみます",
    ),
    "loop_over": (
        "folds before it is sent: {over:,} tokens more than fit",
        "収まる量を {over:,} トークン超えたので、送る前に折りたたみます",
    ),
    "loop_hook_failed": (
        "A hook failed and was passed over: {why}",
        "フックが失敗したため、飛ばしました: {why}",
    ),
}
