"""Patterns of rules in English and Japanese, and of their withdrawal, for `rules`.

Law: every pattern is linear in the length of a sentence. Sentences are matched in lower case: a search that ignores
case takes twice as long.
"""

from __future__ import annotations

import re

VERB = (
    "(?:add|answer|apply|ask|build|call|change|check|clean|commit|copy|create|delete|deploy|do|edit|explain|fix|focus"
    "|format|generate|get|give|go|handle|implement|import|include|install|keep|leave|list|log|look|make|merge|mock"
    "|modify|move|name|open|output|print|produce|provide|publish|push|put|read|refactor|release|remove|rename|replace"
    "|reply|respond|return|review|rewrite|run|say|send|set|show|speak|store|summari[sz]e|switch|take|talk|tell|test"
    "|touch|update|upgrade|use|work|write)"
)
COMMAND_START = (
    r"(?:^[\W_]*|[,;:(–—*]\s*|\s-+\s+|\b(?:and|but|so|then|or|please|pls|should|must|shall)\s+)"
    r"(?:(?:please|pls|just|also|again|still|definitely|absolutely|then|now|yes|ok|okay)[\s,]+){0,2}"
)
"""Places where a command can begin: the front of a clause, or behind a word that introduces one."""

STATE_VERB = (
    "(?:actually|again|appear|been|believe|care|compile|ever|even (?:know|see|have)|exist|feel"
    "|get (?:it|why|what|how|the)|had|happen|have|i|it|know|like|match|mean|mind|need|pass|really|recall|remember|see"
    "|seem|seen|they|think|understand|we|work|worry|you)"
)
"""Verbs of states and feelings: a sentence with one reports instead of commanding."""

PLAIN_RULE = re.compile(
    rf"""
    \b(?:
        (?:must|shall)\s+(?!have\s+(?:been|had|\w+ed)\b|be\s+(?:a|an|some|because|due|that)\b)[a-z]
      | should\s*(?:n['’]t|\s(?:not|never|always|only))\s+
        (?!happen|fail|matter|need|take|cost|have\b|be\s+(?:possible|happening|missing|(?:an?\s)?(?:issue|problem)))
      | you\s+(?:may\s+not|can\s?not|can['’]t\s+(?:use|edit|change|touch|run)|are\s+(?:not|only)\s+(?:to|allowed))\b
      | we\s+(?:never|always|do\s+not|don['’]t)\s+{VERB}\b
      | (?<!to\s)make\s+(?:very\s|absolutely\s)?(?:sure|certain)\b
      | we\s+only\s+(?:support|use|allow|accept|want|need|deploy|ship)\b | i\s+want\s+(?:all|only|every|no)\s
      | (?<!\bi\s)(?<!\bwe\s)(?:has|have)\s+to\s+(?:be|pass|stay|remain|work|run|match|use|contain|start|end)\b
      | you\s+(?:need|have)\s+to\s.{{0,60}}\b(?:before|first|every|each|all|always)\b
      | nothing\b.{{0,40}}\b(?:may|should|can)\b | important\s+(?:that|to)\b
      | (?:forbidden|prohibited|disallowed|non-negotiable|mandatory|off[- ]limits|not\s+(?:allowed|permitted))\b
      | (?:under\s+no\s+(?:circumstances?|conditions?)|no\s+matter\s+what|at\s+all\s+costs)\b | try\s+to\s+avoid\b
      | (?:from\s+(?:now|here)\s+on|going\s+forward)\b
      | (?:answer|respond|reply|speak|write|talk|explain)\s+(?:\S+\s+){{0,3}}in\s+
        (?:english|japanese|chinese|french|german|spanish|korean)\b
      | (?:i|we)\s+(?:really\s+|definitely\s+)?(?:do\s+not|don['’]?t|would\s+not|wouldn['’]t)\s+
        (?:want\b|like\s+you\s+to)
      | i(?:\s+would|['’]d)?\s+only\s+(?:want|need|accept|use)\b
    )
    | {COMMAND_START}(?:
        (?:do\s+not|don['’]?t)\s+(?:ever\s+)?(?!{STATE_VERB}\b)[a-z`]
      | (?:never(?:,?\s+ever)?|always)\s+(?!\w*(?:[^e]ed|[^su]s)\b|{STATE_VERB}\b)[a-z`]
      | only\s+(?:ever\s+)?{VERB}\b
      | {VERB}\s+(?:(?:[\w./-]+\s+){{0,3}}only\b|no\s+(?!one\b|sense|difference|longer|more\b)[a-z])
      | be\s+(?:sure|certain)\s+(?:to|that|not)\b
      | (?:ensure|avoid|refrain\s+from|remember\s+to|be\s+careful|take\s+care|stick\s+(?:to|with))\b
      | (?:stop\s+\w+ing|limit\s+\w+|(?:ask|tell|warn)\s+(?:me\s+)?(?:before|first))\b
      | leave\s+(?:\S+\s+){{1,6}}(?:alone|as\s+(?:is|it\s+is|they\s+are)|untouched|unchanged)
    )
    | ,\s*no\s+more[.!]*$
    """,
    re.X,
)
"""Plain rules. Alternatives with a common beginning are grouped, since this is tried at every letter of a prompt."""
RESTRICTION = re.compile(
    r"""
      \bwithout\s+(?:\w+\s+)?\w+ing\b
    | \b(?:at\s+most|at\s+least|no\s+more\s+than|not\s+more\s+than|no\s+longer\s+than|max(?:imum)?(?:\s+of)?)\s
    | \b(?:under|below|within|up\s+to|less\s+than|fewer\s+than)\s+\d+
    | \b(?:use|using|with|in|write)\s+[^.;]{1,60}?,?\s(?:not|instead\s+of|rather\s+than)\s+\w
    | \b(?:instead\s+of|rather\s+than|nothing\s+(?:but|else|other)|exclusively|except|other\s+than)\b
    | \bkeep\s+(?:\S+\s+){1,5}(?:short|brief|concise|simple|unchanged|intact|compatible|as\s+is|the\s+same|secret)\b
    | [,;:(–—-]\s*(?:and\s+)?no\s+(?!need|one\b|longer|idea)[a-z-]+ | \bwith\s+no\s+[a-z]
    """,
    re.X,
)
"""Restrictions that are a rule in a command, and a statement elsewhere."""

COMMAND = re.compile(
    rf"^[\W_]*(?:(?:ok(?:ay)?|yes|yeah|also|and|but|so|then|now|please|pls|just|let['’]?s|first|next|finally"
    rf"|(?:can|could|would|will)\s+(?:you|we)|you\s+(?:can|should|must)|i\s+want\s+you\s+to)[\s,]+){{0,4}}{VERB}\b",
)
NO_FRAGMENT = re.compile(
    r"^[\W_]*(?:and\s+|but\s+|also\s+|absolutely\s+)?(?:please,?\s+)?no\s+(?!verify|problem|worr|idea|thank|longer|one\b|need|i\b|we\b|it\b"
    r"|that|you|this|the\b|not\b|but\b|way\b|matter|he\b|she\b|there|more\s+(?:questions|bookings)|other|further|luck"
    r"|sorry|changes?\b|difference|special|preference|rush|wait|please|what|why|how|just|don|do\b|can\b|is\b)"
    r"[a-z][\w-]*(?:\s+[\w/'’-]+){0,10}[.!]*$",
)
"""For example `No new dependencies.`"""
FINITE_VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|found|does|did|exists?|shows?|seems?)\b")
LABEL = re.compile(r"^[\W_]*(?:rules?|constraints?|important|critical)[*_]*\s*:\s*\S+\s+\S|^[\W_]*prefer\s+\w")
POLITE_REQUEST = re.compile(r"^[\W_]*(?:(?:and|but|so|also|ok)\s+)?(?:can|could|would|will)\s+(?:you|we)\b")
TAG_QUESTION = re.compile(r",?\s*(?:ok|okay|alright|please|got it|understood)\s*\?$")
"""A tag that makes a command look like a question."""
QUESTION = re.compile(
    r"^[\W_]*(?:(?:and|but|so|or|also|ok)\s+)?(?:what|why|how|who|is|are|was|were|does|did|has|have"
    r"|(?:do|would|should|could|can|will|must)\s+(?:i|we|you|it|they|this|that|the))\b",
)
REPORT = re.compile(r"\b(?:i|we)\s+(?:tried|was|were|had|got|saw|noticed|think|thought|guess|did)\b|\bcurrently\b")
ONE_TASK = re.compile(
    r"\b(?:anything|it)\b.{0,40}\bjust\s+(?:let|tell|check|validate|show|explain|answer|look|give|list|investigate|say)\b"
    r"|まず[^。]*だけ|何も[^。]*だけ",
)
"""Meant for one task only: `don't change anything, just tell me`."""

REQUEST_JA = re.compile(
    r"(?:ください|下さい|お願い|こと|てね|しろ|せよ|てくれ|てほし|て欲し|てもら|ていただ|て頂|ましょう|ように|[ぁ-ん]て|んで|いで|べし|する"
    r"|使う|書く|行う|守る|答える|である)[ねよなで]?(?:します|いたします|致します|いです|しい|しいです)?[ねよ]?[\s。！!．.）)*]*$"
)
PLAIN_RULE_JA = re.compile(
    r"""
      [てで]は(?:いけ|なら|なり|だめ|ダメ|駄目|困り) | ちゃ(?:だめ|ダメ|駄目|いけ)
    | ないで(?:くだ|下|くれ|ね|よ|ほし|欲し|もら|いただ|頂|お願い|[\s。！!]*$)
    | ないこと[\s。！!）]*$ | ないよう(?:に|[\s。！!]|お願|気|注意|努)
    | (?:なければ|なくては|なきゃ)(?:なら|なり|いけ|だめ|ダメ) | べきで[はじ]?ゃ?な | べからず | ぬこと
    | 禁止 | 不可(?![欠能解避視逆思])
    | (?<![いあてな])[うくすつぬむるぐぶ]な[よ\s。！!]*$
    | 厳禁 | 厳守 | 遵守 | 必須(?:です|。|！|$|で(?!は)) | [はが]ng(?![a-z])
    | (?:今後|これから|以後|以降)[はも]、?.*(?:くだ|下さ|こと|お願い|て$|て。|する|ない)
    | (?:する|行う|使う|書く|守る|残す|含める|付ける|つける|返す|出す|答える|とる|入れる)こと[\s。！!）]*$
    | (?:日本語|英語|中国語)で(?:答|回答|返答|返事|返信|書|お願|説明|出力|話)(?!.*(?:ました|ています|か[?？])[\s。]*$)
    | (?:やめて|控えて|避けて|触らない|変えない|消さない)(?:くだ|下|ほし|欲し|お願い|ね|[\s。！!]*$|で)
    """,
    re.X,
)
RESTRICTION_JA = re.compile(
    r"必ず|絶対|最小限|常に|毎回|(?<!できる)(?<!いた)(?<!それ)(?<!これ)(?<!あれ)(?<!どれ)だけ(?!ど|れ)|のみ|以外|以内|に限[るりっ]"
    r"|ではなく|じゃなく|[はも](?:不要|なし|無し|いらない|要らない)|(?:なし|無し)で"
)
REPORT_JA = re.compile(
    r"[しっれいき]た(?:が|けど|ので|ら)?[\s。、！!]*$|(?:失敗|エラー|発生|落ち|起き|止ま|表示)\S{0,6}[るすた][\s。]*$"
    r"|(?:特に|他に|ほかに|以外)\S{0,8}(?:ありません|ございません|ない(?:です)?[\s。、])"
    r"|でしょうか|ますか|ですか|のか[\s。？?]*$|[?？]\s*$"
)
SHORT_REQUEST_JA = re.compile(
    r"(?:必ず|絶対)\S{1,20}で[\s。！!]*$"
    r"|(?:だけ|のみ|以外|以内|禁止|不要|なし|無し)(?:で(?:す|お願いします)?|に|を?お願いします)?[\s。！!）)]*$"
)
RULE_HINT = re.compile(
    r"never|always|only|must|shall|should|\bdo|sure|certain|ensure|avoid|refrain|remember|careful|take care|stick|stop"
    r"|leave|limit|prefer|before|first|have|has|not|forb|prohib|disallow|mandatory|no |from (?:now|here)"
    r"|going forward|without|most|least|max|under|want|below|within|up to|than|instead|nothing|exclusively|except"
    r"|keep|rule|constraint|important|critical| in |when|if |after|once|while|every|each|your| as | me |rest|whole"
    r"|through|[ぁ-ん]",
)
"""Every rule holds one of these: a line without is skipped."""

LASTING = re.compile(
    r"\b(?:never|always|every|each|must|shall|all|whenever|forbidden|from\s+(?:now|here)\s+on|going\s+forward|rest\s+of"
    r"|under\s+no|no\s+matter|important|critical|rules?|non-negotiable)\b"
    r"|必ず|絶対|常に|毎回|いつも|今後|これから|以後|以降|禁止|厳禁|厳守|一切|すべて|全て"
)
"""Words of rules that are meant for the whole conversation."""

WITHDRAWAL = re.compile(
    r"""
    \b(?:
        (?:forget|drop|lift|remove|ignore|disregard|scratch|cancel|undo|skip|waive)\b.{0,40}?\b(?:rules?|constraints?
        |restrictions?|requirements?|limit(?:ation)?s?|instructions?|what\s+i\s+(?:said|told|wrote|asked)|ban)\b
      | you\s+(?:may|can|are\s+(?:allowed|free)\s+to)\s+(?:now|again|after\s+all)\b
      | (?:now|from\s+now\s+on),?\s+you\s+(?:may|can|are\s+allowed\s+to)\b
      | no\s+longer\s+(?:need|have|must|required|necessary|appl|forbidden|a\s+(?:rule|constraint))
      | (?:ok(?:ay)?|fine|allowed)\s+(?:now\s+)?to\b.{0,80}\b(?:now|again|after\s+all)\b
    )
    | (?:制約|制限|ルール|規則|指示|条件|禁止|縛り|話|件)(?:は|を|も|については|に関しては)?
      (?:なし|無し|解除|撤回|取り消|取消|忘れ|無視|撤廃|廃止|不要|なくし)
    | (?:もう|やっぱり?|やはり|今後は|これからは).{1,40}[てで]も?(?:いい|良い|よい|かまわ|構わ|ok|大丈夫)
    """,
    re.X,
)
BANNED_BEFORE = re.compile(r"(?:\b(?:never|not|circumstances?)|n['’]t)\b[^,;.—–]{0,60}$")
"""A ban right before a withdrawal makes it a rule: `Never ignore rate limits.`"""
WITHDRAWAL_HINT = re.compile(
    r"forget|drop|lift|remove|ignore|disregard|scratch|cancel|undo|skip|waive|now|again|after|longer"
    r"|制約|制限|ルール|規則|指示|条件|禁止|縛り|話|件|もう|やっぱ|やはり|今後は|これからは"
)
"""Every withdrawal holds one of these: a text without is skipped."""
STOP_WORDS = frozenset(
    "about after again all allow allowed also always an and any anymore anything are as at ban be but by can "
    "cancel constraint disregard do does don done dont drop ever fine for forget free from had has have if ignore "
    "in instruction into is it its just lift limit limitation longer make may me more must my need never no not "
    "now of off ok okay on only or our please remove required requirement restriction rule said scratch should "
    "skip so still sure that the their them then there these thing this those to told too undo up us use was we "
    "what when will with without wrote you your ルール 不要 今後 以外 件 何 使 制約 制限 取消 変 変更 大丈夫 必 "
    "忘 指示 撤回 条件 構 無 無視 禁止 絶対 縛 良 規則 解除 話".split()
)
COMMON_WORDS = frozenset("add answer chang creat delet edit file modify reply respond run touch updat writ 答".split())
"""Words too common to tell rules apart, used only if there are no others."""
CONTENT_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+#-]+|[一-龯々]+|[ァ-ヶー]{2,}")

REFERS_BACK = re.compile(r"(?:if (?:yes|no|so|not|it does|it is|they do)|otherwise|in that case|instead)\b")
"""Beginning of a sentence that means nothing without the one before it."""
