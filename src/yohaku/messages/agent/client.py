"""What is said when a model's server does not answer as it should."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "talk_too_long": (
        (
            "The conversation is longer than this model takes. Make it smaller with /compact, or take a model with a "
            "larger window with /model."
        ),
        (
            "会話がこのモデルの上限を超えています。/compact で短くするか、/model "
            "でウィンドウの大きいモデルを選んでください。"
        ),
    ),
    "talk_too_long_counted": (
        (
            "The conversation has {needs:,} tokens, and this model takes {limit:,}. Make it smaller with /compact, "
            "or take a model with a larger window with /model."
        ),
        (
            "会話は {needs:,} トークンで、このモデルの上限 {limit:,} を超えています。/compact で短くするか、/model "
            "でウィンドウの大きいモデルを選んでください。"
        ),
    ),
    "talk_truncated": (
        (
            "The server read only {told:,} of {sent:,} tokens and dropped the beginning without saying so: the "
            "answer may miss something. Give it a larger window with /window, or make the conversation smaller with "
            "/compact."
        ),
        (
            "サーバーは {sent:,} トークンのうち {told:,} だけを読み、始めの部分を黙って捨てました。"
            "答えに抜けがあるかもしれません。/window でウィンドウを広げるか、/compact で会話を短くしてください。"
        ),
    ),
    "talk_busy": (
        "{server} has too much to do right now. Nothing is lost: wait a minute and send again.",
        "{server} は今混み合っています。何も失われていません。1 分ほど待ってからもう一度送ってください。",
    ),
    "talk_busy_until": (
        "{server} has too much to do and asks to wait {seconds:,} seconds. Nothing is lost: send again after that.",
        (
            "{server} は混み合っていて、{seconds:,} 秒待つように求めています。何も失われていません。"
            "その後もう一度送ってください。"
        ),
    ),
    "talk_again": (
        "{server} does not answer properly yet; trying again in {seconds:,} s.",
        "{server} からまだ正しい応答がありません。{seconds:,} 秒後にもう一度試します。",
    ),
    "talk_loading": (
        "{server} is still loading the model; waiting for it.",
        "{server} はまだモデルを読み込んでいます。終わるまで待ちます。",
    ),
    "talk_refused": (
        (
            "{server} refused the request ({status}): {text}. Nothing is lost: change the request, or take another "
            "model with /model."
        ),
        (
            "{server} がリクエストを断りました ({status}): {text}。何も失われていません。内容を変えるか、/model "
            "で別のモデルを選んでください。"
        ),
    ),
    "talk_failed": (
        (
            "{server} failed ({status}): {text}. Nothing is lost: send again in a moment, or look into the server's "
            "own messages."
        ),
        (
            "{server} で障害が起きました ({status}): {text}。何も失われていません。少し待ってもう一度送るか、"
            "サーバー側のメッセージを確かめてください。"
        ),
    ),
    "talk_key": (
        (
            "{server} does not accept the key for {model} ({status}): {text}. Check the API key in your environment "
            "or settings."
        ),
        "{server} が {model} のキーを受け付けません ({status}): {text}。環境変数か設定の API キーを確かめてください。",
    ),
    "talk_unpaid": (
        (
            "The account at {server} has nothing left for {model} ({status}): {text}. Check its plan and billing, or "
            "take another model with /model."
        ),
        (
            "{server} のアカウントには {model} を使う残高がありません ({status}): {text}。契約と支払いを確かめるか、"
            "/model で別のモデルを選んでください。"
        ),
    ),
    "talk_no_model": (
        (
            "{server} does not know {model}, or not at this address ({status}): {text}. Choose a model with /model, "
            "or check the address."
        ),
        (
            "{server} に {model} がないか、アドレスが違います ({status}): {text}。/model でモデルを選ぶか、"
            "アドレスを確かめてください。"
        ),
    ),
    "talk_garbled": (
        "{server} answers, but not as a model's server does: {text}. Check the address and the kind of server.",
        (
            "{server} から応答はありますが、モデルのサーバーの形式ではありません: {text}。"
            "アドレスとサーバーの種類を確かめてください。"
        ),
    ),
    "talk_empty": (
        (
            "{server} answered with nothing. Some servers do so when a conversation is too long for them: make it "
            "smaller with /compact, or send again."
        ),
        (
            "{server} の応答が空でした。会話が長すぎるとそうなるサーバーもあります。/compact で短くするか、"
            "もう一度送ってください。"
        ),
    ),
    "talk_unreachable": (
        (
            "Cannot reach {server} at {where}: {why}. Check the network and the address, or take a local model with "
            "/model."
        ),
        (
            "{server} ({where}) に接続できません: {why}。ネットワークとアドレスを確かめるか、/model "
            "でローカルのモデルを選んでください。"
        ),
    ),
    "talk_unreachable_here": (
        "Cannot reach {server} at {where}: {why}. See that it is running and start it again if need be.",
        "{server} ({where}) に接続できません: {why}。動いているか確かめ、必要なら起動し直してください。",
    ),
    "talk_stalled": (
        (
            "{server} gave no sign of life for {seconds:,} seconds. Nothing is lost: send again; a smaller "
            "conversation (/compact) or a smaller model is answered sooner."
        ),
        (
            "{server} から {seconds:,} 秒間何も届きません。何も失われていません。もう一度送ってください。"
            "会話を短くする (/compact) か小さいモデルにすると、早く応答します。"
        ),
    ),
    "talk_cut_off": (
        "The reply of {server} broke off. What came is kept: send again to go on.",
        "{server} の返答が途中で切れました。届いた分は残っています。もう一度送ると続けられます。",
    ),
    "talk_why_refused": ("nothing is listening there", "そこで待ち受けているものがありません"),
    "talk_why_unknown": ("there is no such host", "そのホストが見つかりません"),
    "talk_why_tls": ("its certificate cannot be trusted", "証明書を信頼できません"),
    "talk_why_proxy": ("the proxy does not let us through", "プロキシを通れません"),
    "talk_why_late": ("no connection in time", "時間内に接続できませんでした"),
    "talk_why_stall": ("no answer in time", "時間内に応答がありません"),
    "talk_why_lost": ("the connection was lost", "接続が切れました"),
    "talk_why_address": ("this is not an address", "アドレスの形式が正しくありません"),
}
