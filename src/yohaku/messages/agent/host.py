"""What is said about windows, servers and the built-in model, in English and in Japanese.

Law: each sentence says what is the matter and, where something can be done, what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yohaku.messages.agent import say

if TYPE_CHECKING:
    from yohaku.agent.host.capacity import ChosenWindow

WORDS: dict[str, tuple[str, str]] = {
    "host_window_memory": (
        "{window:,} tokens: as many as memory holds with some to spare",
        "{window:,} トークン: メモリに余裕をもって収まる大きさです",
    ),
    "host_window_card": (
        "{window:,} tokens: as many as fit on the graphics card beside the model",
        "{window:,} トークン: GPU メモリにモデルと一緒に収まる大きさです",
    ),
    "host_window_trained": (
        "{window:,} tokens: what the model was trained for",
        "{window:,} トークン: モデルが学習した長さです",
    ),
    "host_window_most": (
        "{window:,} tokens: memory would hold more; --context-window N asks for it",
        "{window:,} トークン: メモリにはまだ余裕があります。--context-window N で増やせます",
    ),
    "host_window_least": (
        "{window:,} tokens: the smallest window that can be worked with",
        "{window:,} トークン: 作業できる最小のウィンドウです",
    ),
    "host_window_asked": ("{window:,} tokens, as you asked", "{window:,} トークン: 指定された値です"),
    "host_window_forced": (
        "{window:,} tokens, as you asked: more than the {most:,} that fit, so it may be slow or fail to start",
        "{window:,} トークン: 指定された値です。収まるのは {most:,} までなので、遅くなるか起動できないことがあります",
    ),
    "host_window_shrunk": (
        (
            "memory does not hold a window of {asked:,} tokens: taking {asked:,} → {window:,}. "
            "Work on large files is split. --force keeps your number."
        ),
        (
            "メモリが足りないため、コンテキストを {asked:,} → {window:,} に調整しました。"
            "大きなファイルの作業は分割して行います。--force で指定値のまま使えます。"
        ),
    ),
    "host_window_beyond": (
        (
            "the model as it is served takes no more than {most:,} tokens: taking {asked:,} → {window:,}. "
            "--force keeps your number."
        ),
        (
            "このモデルが扱えるのは {most:,} トークンまでなので、コンテキストを {asked:,} → {window:,} に調整しました。"
            "--force で指定値のまま使えます。"
        ),
    ),
    "host_window_served": (
        "{window:,} tokens: what the server gives the model",
        "{window:,} トークン: サーバーがモデルに与えている大きさです",
    ),
    "host_window_learned": (
        "{window:,} tokens: this server took no more the last time",
        "{window:,} トークン: 前回、このサーバーが受け付けた上限です",
    ),
    "host_window_known": (
        "{window:,} tokens: known of this model",
        "{window:,} トークン: このモデルの既知の大きさです",
    ),
    "host_window_unknown": (
        "{window:,} tokens: nothing is known of this model, and any takes so many; --context-window N says more",
        (
            "{window:,} トークン: このモデルの情報がないため、どのモデルでも扱える大きさにしました。"
            "--context-window N で指定できます"
        ),
    ),
    "host_too_tight": (
        (
            "This model is almost too big for the memory of this machine: it may be slow or fail to start. "
            "A smaller model will work better."
        ),
        (
            "このモデルはこのマシンのメモリにはほぼ大きすぎます。遅くなるか、起動できないことがあります。"
            "もっと小さいモデルの方が快適です。"
        ),
    ),
    "host_nothing_found": (
        (
            "No model was found on this machine, and no key for one in the environment. The two easiest ways forward: "
            "install the built-in model with  pip install 'yohaku[embedded]'  and start again (it asks before it "
            "downloads about 1.1 GB, once); or set the key of a provider you have, such as "
            " export ANTHROPIC_API_KEY=…  (or OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY)."
        ),
        (
            "このマシンで動いているモデルも、環境変数の API キーも見つかりませんでした。簡単な方法は次の 2 つです。"
            "内蔵モデルを  pip install 'yohaku[embedded]'  で入れて起動し直す "
            "(約 1.1 GB のダウンロードは 1 回だけで、事前に確認します)。または、お持ちのプロバイダーのキーを"
            "設定する:  export ANTHROPIC_API_KEY=…  "
            "(OPENAI_API_KEY、GEMINI_API_KEY、OPENROUTER_API_KEY でも構いません)。"
        ),
    ),
    "host_nothing_runs": (
        (
            "No model was found on this machine, and no key for one in the environment. The two easiest ways forward: "
            "start a local server, for example Ollama with  ollama pull qwen3:8b ; or set the key of a provider you "
            "have, such as  export ANTHROPIC_API_KEY=…  (or OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY)."
        ),
        (
            "このマシンで動いているモデルも、環境変数の API キーも見つかりませんでした。簡単な方法は次の 2 つです。"
            "ローカルサーバーを起動する (例: Ollama を入れて  ollama pull qwen3:8b )。または、お持ちのプロバイダーの"
            "キーを設定する:  export ANTHROPIC_API_KEY=…  "
            "(OPENAI_API_KEY、GEMINI_API_KEY、OPENROUTER_API_KEY でも構いません)。"
        ),
    ),
    "host_no_server": (
        "{model}: {where} does not answer. Start it, or choose another model with --model.",
        "{model}: {where} が応答しません。起動するか、--model で別のモデルを選んでください。",
    ),
    "host_not_there": (
        "{where} does not have {model}, but it has {other}. Take that with --model, or give it {model} first.",
        "{where} に {model} はありません ({other} はあります)。--model でそれを選ぶか、先に追加してください。",
    ),
    "host_no_key": (
        "{model} needs a key: set {keys}, or choose another model with --model.",
        "{model} にはキーが必要です。{keys} を設定するか、--model で別のモデルを選んでください。",
    ),
    "host_no_file": (
        "{model}: there is no such file. Check the path, or choose another model with --model.",
        "{model}: ファイルがありません。パスを確かめるか、--model で別のモデルを選んでください。",
    ),
    "host_no_such_model": (
        "{model} is not known here. Write it as provider/model, http://host:port/v1#model or the path of a .gguf file.",
        (
            "{model} は見つかりません。provider/model、http://host:port/v1#model、.gguf ファイルのパスのいずれかで"
            "指定してください。"
        ),
    ),
    "host_offer": (
        (
            "The built-in model {name} ({gigabytes:.1f} GB, {licence}) can be downloaded once from {home} "
            "and then works without a network. Download it now?"
        ),
        (
            "内蔵モデル {name} ({gigabytes:.1f} GB、{licence}) を {home} から一度だけダウンロードすると、"
            "以後はネットワークなしで使えます。今ダウンロードしますか?"
        ),
    ),
    "host_offer_rest": (
        "The download of {name} stopped at {percent:.0f} % last time. Go on with it?",
        "{name} のダウンロードは前回 {percent:.0f} % で止まりました。続きから再開しますか?",
    ),
    "host_no_space": (
        (
            "{name} needs {needs:.1f} GB on disk, but {folder} has {free:.1f} GB free. "
            "Make room, or set YOHAKU_DATA to a folder on another disk."
        ),
        (
            "{name} には {needs:.1f} GB の空きが必要ですが、{folder} の空きは {free:.1f} GB です。"
            "空きを作るか、YOHAKU_DATA で別のディスクのフォルダを指定してください。"
        ),
    ),
    "host_wrong_hash": (
        (
            "What came down as {name} is not the file it should be, and was thrown away. Try again; if it happens "
            "again, something between here and {home} changes files."
        ),
        (
            "ダウンロードした {name} は正しいファイルではなかったため、破棄しました。もう一度試してください。"
            "繰り返す場合は、{home} までの経路のどこかでファイルが書き換えられています。"
        ),
    ),
    "host_download_cut": (
        "The download of {name} was cut off ({why}). What came down is kept: start again to go on from there.",
        "{name} のダウンロードが途切れました ({why})。取得済みの分は残っています。起動し直すと続きから再開します。",
    ),
    "host_download_busy": (
        "Another yohaku is downloading {name} already. Wait until it is done, then start again.",
        "別の yohaku が {name} をダウンロード中です。終わってからもう一度起動してください。",
    ),
    "host_not_writable": (
        "{folder} cannot be written to ({why}). Set YOHAKU_DATA to a folder that can.",
        "{folder} に書き込めません ({why})。YOHAKU_DATA で書き込めるフォルダを指定してください。",
    ),
    "host_no_engine": (
        "To run a model from a file, install the built-in engine: pip install 'yohaku[embedded]'",
        "ファイルのモデルを動かすには内蔵エンジンを入れてください: pip install 'yohaku[embedded]'",
    ),
    "host_not_served": (
        (
            "{name} could not be loaded: the file may be damaged, of a newer kind, or too big for this machine. "
            "Choose another with --model, or a smaller window."
        ),
        (
            "{name} を読み込めませんでした。ファイルの破損、未対応の形式、メモリ不足のいずれかです。"
            "--model で別のモデルを選ぶか、ウィンドウを小さくしてください。"
        ),
    ),
}


def reason(chosen: ChosenWindow, lang: str) -> str:
    """Why the window is what it is, in one sentence."""
    return say(f"host_window_{chosen.why}", lang, window=chosen.window, most=chosen.most, asked=chosen.asked or 0)


def warning(chosen: ChosenWindow, lang: str) -> str:
    """What the user must know of the window before work begins; empty where all is well."""
    if chosen.why in ("shrunk", "beyond", "forced", "unknown"):
        return reason(chosen, lang)
    return say("host_too_tight", lang) if chosen.most < chosen.window else ""


def nothing_found(lang: str, engine: bool = False) -> str:
    """The two easiest ways forward; `engine` says that the built-in one is installed already, and did not help."""
    return say("host_nothing_runs" if engine else "host_nothing_found", lang)
