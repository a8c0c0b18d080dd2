"""Patterns of standing orders, which are rules without a word of ban or duty, for `rules`.

`Before you run a command, show it and wait.`, `End every reply with DONE.`, `引用するときは一次資料を使ってください。`

Law: every pattern is linear in the length of a sentence. Sentences are matched in lower case.
"""

from __future__ import annotations

import re

from yohaku.analysis.rule_patterns import VERB

# English

WORK_VERB = (
    "(?:address|attach|begin|bump|choose|cite|clarify|close|compare|conclude|confirm|convert|default|describe|document"
    "|double-check|draft|end|ensure|finish|flag|follow|grep|group|highlight|let|link|mark|mention|note|notify|number|offer"
    "|order|pick|ping|post|prefer|prefix|propose|quote|rebase|record|repeat|report|restate|save|search|sign|skip|sort"
    "|spell|squash|start|state|stay|stop|suggest|tag|tick|translate|treat|try|verify|wait|warn)"
)
"""Verbs of orders on the way of working, beside those of VERB."""
ORDER = (
    r"(?:(?:please|pls|always|also|then|first|just|kindly|you\s+(?:must|should))\s+){0,2}"
    rf"(?:{VERB}|{WORK_VERB}|do\s+not|don['’]t|never)\b"
)
SCREEN_VERB = (
    r"(?:click|press|tap|hover|scroll|drag|type|have\s+(?:time|a\s)|get\s+(?:a\s|time|around)|can\b|could|want|wish|like"
    r"|look|see\b|ask\b|think|say\b|said|are\s+(?:ready|free|able|back)|feel)"
)
"""Verbs of a person before a screen, or of leave: `when you click save`, `when you have time`."""
LEAD_IN = r"^[\W_]*(?:(?:and|but|also|so|ok|okay|please|remember|note|one\s+more\s+thing)[\s,:–—-]+){0,2}"

CONDITION = re.compile(
    rf"""
    {LEAD_IN}(?:
      (?:before|after|when|whenever|once|if|while|unless|(?:each|every|any)\s?time)\s+you(?:['’]re)?\s+(?!{SCREEN_VERB})
      [^.;?!]{{2,160}}?[,:]\s*{ORDER}
    | (?:before|after|when|whenever|while)\s+\w+ing\b[^.;?!,]{{0,80}},\s*{ORDER}
    | (?:before|after|with|on)\s+(?:every|each|any)\s+\w[^.;?!,]{{0,60}},\s*{ORDER}
    | for\s+(?:every|each|any)\s[^.;?!,]{{1,40}}\syou\s[^.;?!,]{{1,40}},\s*{ORDER}
    | (?:if|when|whenever|once|unless)\s[^.;?!,]{{3,80}},\s*
      (?:(?:please|always|first|then|you\s+must|you\s+should)\s+){{0,2}}
      (?:ask|tell\s+me|stop|wait|warn|explain|let\s+me\s+know|report|confirm|check\s+with\s+me|propose|say\s+so)\b
    )
    """,
    re.X,
)
"""Orders for whenever something happens: `When you cite, use the primary source.`"""

ORDER_START = re.compile(rf"{LEAD_IN}{ORDER}|{CONDITION.pattern}", re.X)

ONE_OCCASION = re.compile(
    rf"""
    {LEAD_IN}(?:after|once|when|as\s+soon\s+as)\s+(?:you(?:['’](?:re|ve))?\s+(?:are\s+|have\s+)??)?
    (?:all\s+)?(?:have|done|ready|finish\w*|complet\w*|fix\w*|implement\w*|add\w*|creat\w*|found|got|get|merg\w*|updat\w*)
    (?:\s+(?:with\s+)?(?:the|this|that|it|these|those|all)\b
    | \s*,(?!\s*(?:please\s+|always\s+)?(?:end|close|conclude|finish|summari[sz]e|post|report|list|say|state|reply
      |respond|mention|include)\b))
    | {LEAD_IN}(?:before|after|when|once|if)\s[^,]{{0,60}}\b(?:this|that|these|those|today|tomorrow|tonight)\b
      [^,]{{0,40}},
    """,
    re.X,
)
"""A condition that comes true once: `When you have fixed the parser, push the branch.`"""

REPLY = (
    r"(?:repl(?:y|ies)|answers?|responses?|messages?|outputs?|summar(?:y|ies)|explanations?|e-?mails?|commits?|prs?"
    r"|commit\s+messages?|pull\s+requests?|reviews?|comments?|turns?|posts?)"
)
REPLIES = "(?:replies|answers|responses|messages|outputs|summaries|explanations|commits|comments|reviews)"
REPLY_FORM = re.compile(
    rf"""
      \b(?:every|each|all(?:\s+of)?(?:\s+(?:your|the|my))?)\s+(?:single\s+|of\s+your\s+)?{REPLY}\b
    | \byour\s+(?:\w+\s+)?{REPLIES}\b
    | \b(?:end|start|begin|open|close|finish|conclude|sign)\s+(?:off\s+)?(?:your|the)\s+{REPLY}\s+(?:with|by|in)\b
    | \bin\s+everything\s+you\s+(?:write|say|do|produce)\b
    """,
    re.X,
)
"""Form of all replies: a rule in an order."""
REPLY_FACT = re.compile(
    rf"{LEAD_IN}(?:every|each|all(?:\s+of)?(?:\s+your)?|your)\s+{REPLY}\s+(?:starts?|begins?|ends?|contains?|includes?"
    r"|uses?|has|have|gets?|needs?|goes|go|comes?|should|will|stays?)\b"
)
"""Form of all replies, put as a fact: `Each reply starts with the ticket number.`"""
VALUE_FORM = re.compile(
    rf"{LEAD_IN}(?:write|give|format|express|report|state|quote|spell|list|show|print|put|use)\s+"
    r"(?:all\s+|every\s+|any\s+|the\s+)?(?:\w+\s+)?(?:numbers?|dates?|times?|prices?|amounts?|costs?|sums?|units?"
    r"|measurements?|distances?|weights?|temperatures?|currenc(?:y|ies)|percentages?|durations?|headings?|acronyms?"
    r"|abbreviations?|citations?|quotations?)\s(?:[^.;?!]{0,40}\s)?(?:as|in|with|using|to)\s",
)
"""Form of a kind of value: `Write dates as YYYY-MM-DD.`"""
WORK_ORDER = re.compile(
    rf"""
    {LEAD_IN}(?:
      (?:show|tell|ask|wait|get|confirm|check|explain|describe|propose|draft|send|run|verify|restate|let)\b[^.;?!]{{0,80}}
      \bbefore\s+(?:you\b|any\b|every\b|each\b|(?:start|mak|chang|edit|delet|remov|push|commit|merg|deploy|send|runn|writ
      |implement|cod|answer|repl|fix|touch|publish|releas)\w*ing\b)
    | {ORDER}[^.;?!]{{1,100}}\s(?:whenever|each\s+time|every\s+time|any\s*time)\s+you\b
    | (?:sign|tag|prefix|label|start|begin|end|close)\s+(?:every|each|all)\s
    | (?:call|address)\s+me\s+(?!back|when|if|at)\w
    )
    """,
    re.X,
)
"""Orders on the way of working: `Show me the plan before you start.`"""

SESSION = "(?:session|conversation|chat|thread|discussion|project)"
FRAME = re.compile(
    rf"""
      \b(?:for|during|throughout|over)\s+(?:the\s+)?(?:rest|remainder|whole|duration|entirety|entire|all)\s+(?:of\s+)?
      (?:(?:this|our|the)\s+)?(?:whole\s+)?{SESSION}\b
    | \bthroughout\s+(?:this|our)\s+{SESSION}\b
    | \b(?:important|key|hard|strict|standing|ground|house|firm|basic)\s+(?:rules?|constraints?|requirements?)\s*:
    | (?:この|本)(?:会話|セッション|チャット|プロジェクト)(?:では|の間|中)は?
    """,
    re.X,
)
"""Announcement that an order is for the whole conversation: `For the rest of this session.`"""
FRAME_ALONE_CHARS = 80
"""A shorter sentence that holds a frame and ends behind it announces the next sentence."""

# Japanese

DICTIONARY_FORM = "[うくすつぬむるぐぶ]"
ASKS_JA = "(?:確認|相談|許可|承認|質問|聞|訊|尋ね|報告|連絡|説明|知らせ|声|言っ|伝え|待|教え)"
TOPIC_JA = (
    "(?:返信|返事|返答|回答|答え|応答|説明|要約|報告|レビュー|指摘|コメント|コミットメッセージ|メッセージ|メール|文章|文体|口調|語尾"
    "|表記|表現|単位|数値|数字|金額|日付|時刻|見出し|引用|出典|用語|変数名|関数名|出力)"
)
ONE_OCCASION_JA = re.compile(
    r"この|その(?!都度)|今回|今日|明日|さっき|先ほど|ボタン|クリック|ダイアログ|画面|押[すし]"
    r"|は[^、。]{0,6}[0-9０-９一二三四五六七八九十]+(?:月|日|時|分|円|名|人|泊|個|万)"
)
"""Words of a single case, of a screen to be built, or of a value to be booked."""
CONDITION_JA = re.compile(
    rf"""
      (?:{DICTIONARY_FORM}|[ぁ-ん一-龯]の)(?:とき|時|際|場合)(?:に?は|[、,]|に)
    | {DICTIONARY_FORM}前に?[はも]?[、,]? | [一-龯ァ-ヶーa-z]{{2,}}前に[はも]?[、,]?
    | (?:する|{DICTIONARY_FORM})(?:たび|度|ごと|毎)に?
    | (?<!でき)(?<!あ)(?<!い){DICTIONARY_FORM}(?:なら|のなら|のであれば)[、,]?.*{ASKS_JA}
    | (?:迷|困|詰ま|不安|疑問|不明|わから|分から|判断|エラー|失敗|問題|必要|見つ|見当|間違|変わ).{{0,14}}
      (?:たら|れば|なら|ときは|場合は)[、,]?.*{ASKS_JA}
    | (?:[しっいきれ]|ん)[ただ]ら[、,]?(?:毎回|必ず|都度|その都度)
    | (?:終わ|完了|済|仕上が|でき).{{0,4}}たら[、,]?.*(?:要約|まとめ|一行|一文|最後|末尾|締め|一覧|箇条書き)
    """,
    re.X,
)
"""Conditions under which a request is an order for every such case."""
FORM_JA = re.compile(
    rf"(?:^|[、。\s]|の|や){TOPIC_JA}(?:に)?は.*(?:で|に|と|まで|を|ず)"
    r"|(?:いちいち|わざわざ|都度).{0,20}(?:なくて|ずに|ないで)|(?:確認|許可|承認|質問)(?:は|しなくて|を取らなく|を求めなく).{0,8}"
    r"(?:いらない|要らない|不要|いい|よい|結構|大丈夫)|勝手に.{0,20}(?:ず|ない)",
)
"""Form of replies and values, and leave to go on without asking."""
STANDING_REQUEST_JA = re.compile(
    r"(?:ください|下さい|お願い(?:します|いたします|致します|したい(?:です)?)?|こと|しろ|せよ|くれ|[てで](?:ほしい|欲しい)(?:です)?"
    r"|[てで]もらえますか|[てで]いただ(?:けますか|きたい(?:です)?)|頼む|頼みます|よろしく|なさい|[ぁ-ん]て|んで|いで|で)"
    r"[ねよな]?(?:お願いします|頼みます)?[\s。！!．.）)*]*$|(?:ください|下さい)[、,]"
)
"""Endings of requests, with short ones: `箇条書きで頼む`, `メートル法で。`"""
PLAIN_ORDER_JA = re.compile(rf"を[^がはを、。]{{1,12}}{DICTIONARY_FORM}[\s。！!]*$")
"""An order in the dictionary form: `型注釈を付ける。`"""
