"""Prompts that ask for a change of files, and replies that claim one, in English and Japanese.

Law: a prompt that only asks, explains or plans is no request for a change, also where it names one.
"""

from __future__ import annotations

import re

MAX_TEXT_CHARS = 8_000

_SENTENCE = re.compile(r"[.!?;:](?=\s|$)|[。！？\n]")
_CLAUSE = re.compile(r",\s*|\s+(?:and|then|but)\s+", re.IGNORECASE)
_FORBIDDEN = re.compile(
    r"\b(?:do not|don['’]?t|never|without|not)\s+(?:\w+ly\s+)?(?:chang|edit|modif|touch|writ|fix)\w*\s+"
    r"(?:anything|any\b|files?\b|the (?:files?|code)|it\b|them\b|code)"
    r"|\b(?:chang|edit|modify|touch)\w*\s+nothing\b"
    r"|(?:変更|修正|編集|実装|書き換え)(?:は|を)?(?:しないで|せず|しなくて|不要)|直さ(?:ないで|ず)|書き換えないで|触らないで",
    re.IGNORECASE,
)
_LEAD = (
    r"^\W*(?:(?:please|now|then|also|just|kindly|next|first|finally|again|ok|okay|so|hey|hi|try to|go ahead|let['’]?s"
    r"|(?:can|could|would|will) you(?: please)?|help me(?: to)?|(?:you|we) (?:should|must|need to|can|have to)"
    r"|i(?:['’]d| would)? (?:want|need|like)(?: you)? to|(?:in|inside|for|at) \S+|for me)[\s,]+)*"
)
_STRONG = re.compile(
    _LEAD
    + r"(?:fix|repair|refactor|rename|implement|correct(?! me\b)|patch|reformat|simplify|undo|revert|inline|extract"
    r"|optimi[sz]e|modify|edit|modernize|vectori[sz]e|deduplicate|bump"
    r"|get rid of|speed up|tidy|clean up|resolve|sort (?:that|it|this) out)\b",
    re.IGNORECASE,
)
_WEAK = re.compile(
    _LEAD
    + r"(?:add(?! up\b)|append|insert|write|create|make|update|change|replace|remove|delete|drop|move|rewrite|put|set"
    r"|turn|convert|generate|extend|split|merge|sort|port|migrate|use|document|cover|handle|increase|decrease|raise|lower"
    r"|complete|finish|build(?= an?\b| me\b| out\b)|translate|wrap|swap|switch|save|store|annotate|clean|support|wire"
    r"|hook|enable|disable|allow"
    r"|integrate|introduce|adjust|tweak|configure|reduce|apply|define|register|expose|hide|prevent|ensure|avoid|catch"
    r"|have (?!a look)|let (?!me|us|'s))\b(.*)",
    re.IGNORECASE | re.DOTALL,
)
_OBJECT = re.compile(
    r"`|[\w-]+\.[A-Za-z]\w{0,5}\b|\b\w+\(\)|\b\w+_\w+\b|/\w"
    r"|\b(?:files?|functions?|methods?|class(?:es)?|tests?|code|docstrings?|comments?|scripts?|modules?|readme|changelog"
    r"|imports?|types?|hints?|variables?|constants?|parameters?|arguments?|options?|flags?|endpoints?|routes?|fields?|columns?"
    r"|bugs?|errors?|exceptions?|returns?|loops?|line|lines|configs?|configuration|settings?|dependenc\w+|packages?"
    r"|version|default|defaults|timeouts?|messages?|logging|folders?|director\w+|project|api|component|button|page"
    r"|pass|work|compile|green|faster|instead of|it|them|this|that|support|router?|handlers?|cli|server|client"
    r"|command|lint\w*|warnings?|users?|search|cache|database|schema|input|output|blue|red|retry|retries)\b",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\b(?:poem|haiku|joke|story|song|essay|e-?mail|letter|list of|sure|ideas?|names|a look|commit message|summary"
    r"|explanation|overview|report|plan|outline|regex|regular expression|pseudo[- ]?code|sentences?"
    r"|(?:simple|other|own|plain|these|few) words|paragraph|password|diagram|answer)\b",
    re.IGNORECASE,
)
"""Texts that are wanted in the reply, unless a file is named with them."""
_FILE = re.compile(r"`|(?<![\w.])[\w./-]*\w\.[A-Za-z]\w{0,5}\b|\bREADME\b|\bCHANGELOG\b")
_NEEDED = re.compile(
    r"^\W*i(?:['’]d like| need| want) an? (?:new |small )?"
    r"(?:script|function|test|class|file|module|program|page|component)\b"
    r"|\b(?:needs?|must|should|has|have) (?:to )?be (?:fixed|changed|renamed|removed|updated|added)\b",
    re.I,
)
_QUESTION = re.compile(
    r"^\W*(?:how|why|what|which|who|when|where|whether|should|is|are|do|does|did|explain|describe|tell|show|suggest|propose"
    r"|plan|review|summari[sz]e|list|compare|think)\b",
    re.IGNORECASE,
)
_JA_NOUNS = (
    r"修正|変更|追加|削除|実装|更新|改名|リネーム|リファクタリング|作成|置換|移動|整形|最適化|追記|変換|統一|移行|編集"
    r"|対応|改善|分割|反映|適用|生成|簡潔に|高速化|共通化|型付け|翻訳"
)
_JA_ASKED = (
    r"(?:して|し)(?!い(?:る|ま|た|な)|しまっ|も(?:良|よ|い)|は(?:いけ|なら|だめ))"
    r"(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|頂け|おいて|みて|から|、|$|。|ね|よ)"
    r"|(?:せよ|しろ|お願い|(?:を)?頼|する(?:こと)?$)"
)
_JA_NOUN = re.compile(rf"(?:{_JA_NOUNS})(?:を)?(?:{_JA_ASKED})")
_JA_VERB = re.compile(
    r"(?:直|変え|書き換え|置き換え|書き直|消|取り除|付け加え|加え|足|増やし|減ら|入れ替え|揃え|まとめ直|分け|外)"
    r"(?:して|て|いて)(?!い(?:る|ま|た))|(?:直せ|直す$|変える$|書き換える$|消す$|直るように|通るように|動くように)"
)
_JA_BECOME = re.compile(
    r"(?:(?:よう|形)に|(?:を|は)[^、。]{1,30}に|[0-9A-Za-z] ?に対応)(?:して|させて)"
    r"(?:ください|下さい|ほしい|欲しい|くれ|もらえ|いただけ|$)"
    r"|(?:重複|共通)[^、。]{0,12}まとめて|(?:修正|解消|対応|解決)(?:さ|し)?(?:せて|て)(?:ください|ほしい)"
)
_JA_REPLY = re.compile(
    r"(?:回答|返答|返事|答え|説明|要約|出力|文章|一覧|計画|下書き|メール|メッセージ案|レポート|報告書|表|図)(?:は|を|も)"
    r"|まで足して|^\W*(?:もっと|もう少し)?簡潔に|翻訳して[^。]{0,9}[:：]|(?:英語|日本語)に翻訳"
)
"""Texts that are wanted in the reply, unless a file or a piece of code is named with them."""
_CONTINUATION = re.compile(
    r"(?:(?:yes|yep|yeah|ok|okay|sure|please|go on|go ahead|continue|do it|do that|proceed|next|carry on|try again"
    r"|again|fine|good|はい|お願い(?:します)?|続けて(?:ください)?|進めて(?:ください)?|やって(?:ください)?"
    r"|どうぞ|もう一度(?:お願いします)?)[\s,.!。、！]*){1,4}",
    re.IGNORECASE,
)
_JA_WRITE = re.compile(r"(?:書いて|作って|入れて|付けて|つけて|用意して)(?!い(?:る|ま|た))")
_JA_OBJECT = re.compile(
    r"`|[\w-]+\.[A-Za-z]\w{0,5}|ファイル|関数|メソッド|クラス|テスト|コード|コメント|スクリプト|モジュール|README|型|引数"
    r"|docstring|設定|処理|ログ|オプション|機能|ドキュメント",
    re.IGNORECASE,
)
_JA_QUESTION = re.compile(
    r"説明|なぜ|どう(?!ぞ|も)|何を|どこ|教え|提案|方法|べき(?:です)?か|でしょうか|ますか|違い|見せ"
)
_JA_POLITE = re.compile(r"(?:もらえ|いただけ|頂け|くれ)(?:ます|ません|る|ない)(?:でしょう)?か")

_CLAIM = re.compile(
    r"\bI(?:['’]ve| have)?(?: now| also| just| successfully| already)*"
    r" (?:changed|fixed|updated|added|modified|corrected|removed|renamed|created|written|wrote|implemented|replaced"
    r"|refactored|rewritten|rewrote|deleted|edited|applied|made the (?:change|edit|fix))\b"
    r"|\b(?:has|have) (?:now |also )?been (?:successfully )?(?:changed|fixed|updated|added|modified|corrected|removed"
    r"|renamed|created|written|implemented|replaced|refactored|deleted|edited|applied)\b"
    r"|(?:修正|変更|追加|更新|削除|実装|作成|編集|置換|反映|適用|改名)(?:を)?(?:いた)?(?:しました|済みです|が?完了しました|されました)"
    r"|(?:直し|書き換え|置き換え|変え|書き|付け加え|加え)ました"
)
_ADD = re.compile(
    r"\b(?:add|append|insert|create|write|implement|define|introduce)\b"
    r"|追加|追記|実装|作成|書いて|作って|付け加え|加えて",
    re.IGNORECASE,
)
_WANTS_RUN = re.compile(r"\b(?:run|execute|pass|passes|works?|green)\b|実行|走らせ|通る|通す|動く", re.IGNORECASE)


def asks_for_change(prompt: str) -> bool:
    """Return whether the user wants files changed, not only something explained."""
    text = prompt[:MAX_TEXT_CHARS]
    if _FORBIDDEN.search(text):
        return False
    sentences = [each.strip() for each in _SENTENCE.split(text) if each.strip()]
    return any(_asks_in_english(each) or _asks_in_japanese(each) for each in sentences)


def asks_to_add(prompt: str) -> bool:
    """Return whether the change that is wanted is something new."""
    return bool(_ADD.search(prompt[:MAX_TEXT_CHARS])) and asks_for_change(prompt)


def is_question(prompt: str) -> bool:
    """Return whether a prompt asks or wants something explained, and nothing changed."""
    text = prompt.strip()[:MAX_TEXT_CHARS]
    asks = _QUESTION.search(text) or _JA_QUESTION.search(text) or text.endswith(("?", "？", "か", "か。"))
    return bool(asks) and not asks_for_change(text)


def claims_change(reply: str) -> bool:
    """Return whether a reply says that something was changed."""
    return bool(_CLAIM.search(reply))


def is_continuation(prompt: str) -> bool:
    """Return whether a prompt only says that the model is to go on with what was asked before."""
    return bool(_CONTINUATION.fullmatch(prompt.strip()[:MAX_TEXT_CHARS]))


def wants_command(prompt: str) -> bool:
    """Return whether the prompt wants a command to run or to succeed, beside wanting a change."""
    return bool(_WANTS_RUN.search(prompt[:MAX_TEXT_CHARS])) and not is_question(prompt)


def _asks_in_english(sentence: str) -> bool:
    if _NEEDED.search(sentence) and not _QUESTION.search(sentence):
        return True
    for number, clause in enumerate(_CLAUSE.split(sentence)):
        if number == 0 and _QUESTION.search(clause) and not re.match(r"\W*(?:review|list|plan)\b", clause, re.I):
            return False
        talk = _TALK.search(clause) and not _FILE.search(clause)
        weak = _WEAK.search(clause)
        if not talk and (_STRONG.search(clause) or (weak and _OBJECT.search(weak[1]))):
            return True
    return False


def _asks_in_japanese(sentence: str) -> bool:
    if _JA_QUESTION.search(sentence) and not _JA_POLITE.search(sentence):
        return False
    if _JA_REPLY.search(sentence) and not _JA_OBJECT.search(sentence):
        return False
    if _JA_NOUN.search(sentence) or _JA_VERB.search(sentence):
        return True
    if _JA_BECOME.search(sentence) and not re.match(r"\W*(?:回答|返答|返事|答え)", sentence):
        return True
    return bool(_JA_WRITE.search(sentence) and _JA_OBJECT.search(sentence))
