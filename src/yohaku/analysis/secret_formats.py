"""Keys, tokens and passwords, known by their form: those of AWS, GitHub, OpenAI … and private keys.

Law: time is linear in the length of any text. A replaced text has no secret in it, and is not changed by another pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class SecretFormat(NamedTuple):
    name: str
    """What stands in its place: `[name hidden]`."""
    literals: tuple[str, ...]
    """One of them is in every such secret; to find them is far quicker than to try the pattern everywhere."""
    pattern: re.Pattern[str]
    """Its group `secret`, or else all of it, is replaced."""
    before: tuple[int, ...] = (0,)
    """Characters of the pattern before the literal."""


def _format(name: str, literals: str, pattern: str, *before: int) -> SecretFormat:
    return SecretFormat(name, tuple(literals.split()), re.compile(pattern, re.ASCII), before or (0,))


_BEGIN = r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_END = r"-{4,5} ?END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_WHOLE_KEY = re.compile(
    _BEGIN
    + r"(?=(?:(?!----)[\s\S]){0,400}?[A-Za-z0-9+/]{24})"  # a program may name the first line without having a key
    + rf"(?:(?:(?!-{{4,5}} ?(?:BEGIN|END) )[\s\S]){{0,40000}}?{_END}|(?:[^-]{{0,16}}?[A-Za-z0-9+/=]{{16,}}){{1,1000}})",
    re.ASCII,
)
_KEY_BEGIN, _KEY_END = re.compile(_BEGIN, re.ASCII), re.compile(_END, re.ASCII)
_KEY_LINE = re.compile(r"[^A-Za-z\n]{0,16}[A-Za-z0-9+/=]{16,}[^A-Za-z0-9+/=\n]{0,8}$", re.ASCII)
_NOT_A_PASSWORD = re.compile(
    r"[$<{*…\[]|%[({]|\\\$|(?:%s|%d|password|passwd|pass|pwd|pw|secret|x+|\.+)$", re.IGNORECASE
)
"""Names and marks that stand where a password would."""

FORMATS = (
    _format("AWS key", "AKIA ASIA ABIA ACCA", r"(?<![A-Z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    _format(
        "AWS secret key", "aws AWS",
        r"(?i:aws.{0,20}?(?:key|pwd|pw|password|pass|token|secret).{0,20}?)(?<![0-9a-zA-Z/+])"
        r"(?:(?<=['\"])|(?![0-9a-f]{40}))(?P<secret>[0-9a-zA-Z/+]{40})(?![0-9a-zA-Z/+])",  # not the hash of a commit
    ),
    _format(
        "GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?<![A-Za-z0-9_])(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})",
    ),
    _format("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _format(
        "OpenAI key", "sk-",
        r"(?<![A-Za-z0-9_-])sk-(?:(?:proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,}|[0-9a-f]{32}(?![A-Za-z0-9_-])"
        r"|(?=[a-zA-Z_-]{0,200}\d)(?=[a-z0-9_-]{0,200}[A-Z])[A-Za-z0-9_-]{20,})",
    ),
    _format("Slack token", "xox xapp-", r"(?i:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,})"),
    _format(
        "Slack webhook", "hooks.slack.com",
        r"hooks\.slack\.com/(?i:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/+-]{10,})",
    ),
    _format("JWT", "eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_=-]{8,}\.[A-Za-z0-9_=-]{2,}(?:\.[A-Za-z0-9_.+/=-]*)?"),
    _format(
        "Stripe key", "k_live_ k_test_ whsec_",
        r"[rs]k_(?:live|test)_[0-9A-Za-z]{10,}|whsec_[A-Za-z0-9+/=]{24,}",
        1, 0,
    ),
    _format(
        "Google key", "AIza ya29. GOCSPX-",
        r"(?<![A-Za-z0-9_-])(?:AIza[0-9A-Za-z_-]{35}|ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,})",
    ),
    _format(
        "GitLab token", "glpat- gldt- glrt- glcbt- glsoat-",
        r"(?<![A-Za-z0-9])gl(?:pat|dt|rt|cbt|soat)-[0-9A-Za-z_.-]{20,}",
    ),
    _format(
        "npm token", "npm_ :_authToken", r"npm_[A-Za-z0-9]{36,}|:_authToken\s{0,4}=\s{0,4}(?P<secret>[A-Za-z0-9-]{20,})"
    ),
    _format("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{30,}"),
    _format("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _format("Hugging Face token", "hf_", r"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{30,}"),
    _format("Azure key", "AccountKey", r"AccountKey\s{0,4}=\s{0,4}(?P<secret>[A-Za-z0-9+/=]{60,})"),
    _format("Telegram token", ":AA", r"(?<!\d)\d{8,10}:AA[0-9A-Za-z_-]{33}(?![0-9A-Za-z_-])", 8, 9, 10),
    _format("Twilio key", "SK", r"(?<![A-Za-z0-9])SK[0-9a-f]{32}(?![0-9a-f])"),
    _format("Square token", "sq0", r"sq0(?:atp|csp|idp)-[0-9A-Za-z_-]{22,43}"),
    _format("Mailchimp key", "-us", r"(?<![0-9a-z])[0-9a-z]{32}-us[0-9]{1,2}(?![0-9a-z])", 32),
    _format("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}", 3),
    _format("Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    _format("xAI key", "xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{40,}"),
    _format("Databricks token", "dapi", r"(?<![A-Za-z0-9])dapi[0-9a-f]{32}"),
    _format("Vault token", "hvs.", r"(?<![A-Za-z0-9])hvs\.[A-Za-z0-9_-]{24,}"),
    _format("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _format(
        "Sentry DSN", "://",
        r"://(?P<secret>[0-9a-f]{32}(?::[0-9a-f]{32})?@[A-Za-z0-9.-]{1,200}(?::\d{1,5})?/[A-Za-z0-9/_-]{0,200}\d)",
    ),
    _format(
        "authorization", "uthorization",
        r"(?i:authorization['\"]?\s{0,4}[:=]\s{0,4}['\"]?(?:bearer|basic|token)\s{1,4})(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        1,
    ),
    _format("password", "://", r"://[^\s:@/?#'\"<>]{0,200}:(?P<secret>[^\s/'\"<>]{1,200})@(?=[^\s/'\"<>])"),
)  # fmt: skip
"""The longer before the shorter, where one may contain another."""

PRIVATE_KEY = "private key"
NAMES = frozenset((PRIVATE_KEY, *(each.name for each in FORMATS)))

OnSecret = Callable[[str, str], str]
"""Given the name and the value of a secret, returns what stands in its place."""


def placeholder(name: str) -> str:
    return f"[{name} hidden]"


def hide_formats(text: str, instead: OnSecret = lambda name, value: placeholder(name)) -> str:
    """Return the text with each secret of a known form replaced."""
    if "PRIVATE KEY" in text:
        text = _WHOLE_KEY.sub(lambda found: instead(PRIVATE_KEY, found[0]), text)
        text = _hide_last_lines(text, instead)
    for each in FORMATS:
        text = _hide_format(text, each, instead)
    return text


def _hide_format(text: str, form: SecretFormat, instead: OnSecret) -> str:
    done: list[str] = []
    at = 0
    for place in _occurrences(text, form.literals):
        starts = (place - before for before in form.before if place - before >= at)
        found = next((match for start in starts if (match := form.pattern.match(text, start))), None)
        if found:
            done += [text[at : found.start()], _replace(found, form.name, instead)]
            at = found.end()
    return "".join((*done, text[at:])) if done else text


def _occurrences(text: str, literals: tuple[str, ...]) -> list[int]:
    found: list[int] = []
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            found.append(at)
            at = text.find(literal, at + 1)
    return sorted(found) if len(literals) > 1 else found


def _replace(found: re.Match[str], name: str, instead: OnSecret) -> str:
    if "secret" not in found.re.groupindex or found["secret"] is None:
        return instead(name, found[0])
    if name == "password" and _NOT_A_PASSWORD.match(found["secret"]):
        return found[0]
    begin, end = found.start("secret") - found.start(), found.end("secret") - found.start()
    return f"{found[0][:begin]}{instead(name, found['secret'])}{found[0][end:]}"


def _hide_last_lines(text: str, instead: OnSecret) -> str:
    """Hide the end of a private key whose beginning was cut off: the lines before its last one."""
    done: list[str] = []
    at = 0
    for last in _KEY_END.finditer(text):
        lines = text[at : last.start()].split("\n")
        kept = len(lines) - 1
        while kept and _KEY_LINE.match(lines[kept - 1]):
            kept -= 1
        if kept < len(lines) - 1:
            head = "\n".join(lines[:kept]) + "\n" * bool(kept)
            done += [head, instead(PRIVATE_KEY, text[at + len(head) : last.end()])]
        else:
            done.append(text[at : last.end()])
        at = last.end()
    return "".join((*done, text[at:]))


_FIRST_WORDS = "-----BEGIN sk_live_ sk_test_ rk_live_ rk_test_ dop_v1_ authorization Authorization".split()
_BEGINNINGS = tuple(
    literal[:length]
    for literal in (*_FIRST_WORDS, *(literal for each in FORMATS for literal in each.literals))
    for length in range(1, len(literal))
)
_OPEN_TOKEN = re.compile(r"(?:[0-9a-z]{20,}|\d{8,})$", re.ASCII)
"""The part of a secret that may stand before the literal it is known by."""
_OPEN_LINE = re.compile(
    r"(?i:aws|authorization|:_authToken|AccountKey)|-{4,5}[A-Z0-9 ]{0,60}-{0,5}$",
    re.ASCII,
)
"""Secrets, and words before them, with spaces in between."""
MAX_LINE_REACH = 200
"""Characters from such a word to the end of the secret."""
MAX_HELD_CHARS = 64 * 1024
"""Characters that may be held back as the beginning of a secret."""


def open_secret(text: str, *, paused: bool = False) -> int:
    """Return where a secret may begin that goes on after the end of the text; the length of the text if none can.

    `paused`: nothing has followed for a while, so only what looks like a secret is suspected.
    """
    near = max(0, len(text) - MAX_HELD_CHARS)
    line = max(text.rfind("\n", near), text.rfind("\r", near), near - 1) + 1
    token = max(line, text.rfind(" ", line) + 1, text.rfind("\t", line) + 1)
    start = _open_token(text, token) if paused else token
    if found := _OPEN_LINE.search(text, max(line, len(text) - MAX_LINE_REACH)):
        start = min(start, found.start())
    begun = [found.start() for found in _KEY_BEGIN.finditer(text, near)] if text.find("PRIVATE KEY", near) >= 0 else []
    if begun and not ((ended := _KEY_END.search(text, begun[-1])) and ended.end() <= start):
        start = min(start, begun[-1])
    return start


def _open_token(text: str, token: int) -> int:
    last = text[token:]
    if _OPEN_TOKEN.search(last) or any(literal in last for each in FORMATS for literal in each.literals):
        return token
    ends = [len(each) for each in _BEGINNINGS if last.endswith(each) and not _within_word(last, each)]
    return len(text) - max(ends, default=0)


def _within_word(text: str, ending: str) -> bool:
    return ending[0].isalnum() and text[-len(ending) - 1 : -len(ending)].isalnum()
