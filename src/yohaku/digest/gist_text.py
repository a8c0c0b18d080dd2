"""The text of a gist while it is filled: sections with titles, within a number of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from yohaku.analysis.file_access import AccessKind
from yohaku.analysis.language import are_mostly_japanese
from yohaku.core.model import Text, Turn

Count: TypeAlias = Callable[[str], int]


class GistTitles(NamedTuple):
    """Titles of the sections, in the language of the conversation."""

    header: str
    header_on: str
    """Header of a chapter behind others."""
    rules: str
    wished: str
    withdrawn: str
    goal: str
    files: str
    under: str
    more: str
    """In place of files that are not listed."""
    open: str
    plan: str
    found: str
    source: str
    states: dict[AccessKind, str]
    story: str
    speakers: dict[str, str]
    looked: str
    counted: str
    rows_left_out: str
    asked_user: str
    ahead: str
    """Before steps that answer a prompt which is still visible, behind them."""
    ahead_of: str
    """The same, with the beginning of that prompt."""
    as_before: str
    works_now: str
    untold: str
    said_again: str
    refused: str
    rejected: str
    still_failing: str
    lines: str
    passages: str
    folder: str


ENGLISH = GistTitles(
    header="[Earlier conversation folded: {what}; ref={ref}]",
    header_on="[It went on, folded: {what}; ref={ref}]",
    rules="The user's rules, still in force:",
    wished="The user wants kept, in their words:",
    withdrawn="Rules above that the user has taken back since:",
    goal="The goal, as the user put it:",
    files="Files:",
    under="Files, under {root}:",
    more="… {count} more, named above",
    open="Errors not yet solved:",
    plan="The plan at this point:",
    found="Seen in results:",
    source="from `{origin}`: ",
    states={"read": "read", "created": "created", "modified": "modified", "deleted": "deleted"},
    story="What happened, in order (what tools gave stands behind |):",
    speakers={"user": "User:", "assistant": "Assistant:"},
    looked="looked at",
    counted="({lines} lines)",
    rows_left_out="[… {rows} more such lines …]",
    asked_user="asked the user:",
    ahead="(what follows was done for the user's message further below)",
    ahead_of='(what follows was done for the user\'s message further below: "{prompt}")',
    as_before="as before",
    works_now="works now",
    untold="- not told here, but behind the ref: {what}",
    said_again="said again",
    refused="refused by the user, who said:",
    rejected="refused by the user, not done",
    still_failing="Failing when this was folded:",
    lines="Lines of what tools showed, under their calls:",
    passages="Passages of what tools showed:",
    folder="Paths are below {folder}",
)

JAPANESE = GistTitles(
    header="[これまでの会話を折りたたみました: {what}; ref={ref}]",
    header_on="[続きを折りたたみました: {what}; ref={ref}]",
    rules="ユーザーの決まり(今も有効):",
    wished="残しておきたいこと(ユーザーの言葉):",
    withdrawn="上の決まりのうち、ユーザーがその後取り消したもの:",
    goal="目的(ユーザーの言葉):",
    files="ファイル:",
    under="ファイル ({root} 以下):",
    more="… ほか {count} 件 (上に記載)",
    open="未解決のエラー:",
    plan="この時点の計画:",
    found="結果に出てきたもの:",
    source="`{origin}` より: ",
    states={"read": "読取", "created": "作成", "modified": "変更", "deleted": "削除"},
    story="経緯(順に。| の後はツールの出力):",
    speakers={"user": "ユーザー:", "assistant": "アシスタント:"},
    looked="閲覧",
    counted="({lines} 行)",
    rows_left_out="[… 同様の行があと {rows} 行 …]",
    asked_user="ユーザーに質問:",
    ahead="(以下は、後に出てくるユーザーのメッセージへの対応)",
    ahead_of="(以下は、後に出てくるユーザーのメッセージ「{prompt}」への対応)",
    as_before="前と同じ",
    works_now="今回は成功",
    untold="- ここでは省略 (ref で開けます): {what}",
    said_again="同じ発言",
    refused="ユーザーが断り、こう述べた:",
    rejected="ユーザーが拒否(実行されていない)",
    still_failing="折りたたんだ時点で失敗していたもの:",
    lines="ツールが示した行(呼び出しごと):",
    passages="ツールが示した内容の抜粋:",
    folder="パスは {folder} 以下",
)


def choose_titles(turns: Iterable[Turn]) -> GistTitles:
    return JAPANESE if are_mostly_japanese(user_prompts(turns)) else ENGLISH


def user_prompts(turns: Iterable[Turn]) -> list[str]:
    """Return what the user typed, without texts that the system put into prompts."""
    texts = (part.text for turn in turns for part in turn.prompt if isinstance(part, Text) and not part.by)
    return [text for text in texts if text.strip()]


MAX_MISSES = 8
"""After this many lines that did not fit into a section, no more are tried."""
MIN_LINE_TOKENS = 8
"""With fewer tokens left in a section, no more lines are tried."""


class GistText:
    """Text that is filled section by section, as long as tokens are left.

    Sections are filled in another order than they are shown in: set `place` before a section is added.
    """

    def __init__(self, tokens: int, count: Count) -> None:
        self.tokens, self.count = tokens, count
        self.left = tokens
        self.place = 0
        """Position of the next section in the text."""
        self._shares = 0.0
        """Sum of the shares taken."""
        self._start = 0
        """Tokens left when the first share was taken."""
        self._lines: dict[int, list[str]] = {}

    def open(self, *headers: str) -> bool:
        """Add the first of the headers that fits; False if none does."""
        for header in headers:
            if self.weigh(header) <= self.left:
                self._add([header])
                return True
        return False

    def take_share(self, share: float) -> int:
        """Return this share of the tokens left at the first call, plus what earlier sections did not use of theirs."""
        if not self._shares:
            self._start = self.left
        self._shares += share
        return min(self.left, int(self._start * self._shares) - (self._start - self.left))

    def add_section(self, title: str, lines: Sequence[str], tokens: int | None = None, last: bool = False) -> None:
        """Add a title and the lines that fit into `tokens`, in order; `last` prefers the last lines to the first."""
        left = (self.left if tokens is None else tokens) - self.weigh(title)
        kept: set[int] = set()
        misses = 0
        for at in reversed(range(len(lines))) if last else range(len(lines)):
            weight = self.weigh(lines[at])
            if weight <= left:
                left -= weight
                kept.add(at)
            else:
                misses += 1
                if misses > MAX_MISSES or left < MIN_LINE_TOKENS:
                    break
        if kept:
            self._add([title, *(lines[at] for at in sorted(kept))])

    def text(self) -> str:
        """Return the text. Lines weigh a little more together than apart: the last ones go until it is light enough."""
        lines = [line for place in sorted(self._lines) for line in self._lines[place]]
        while lines and self.count("\n".join(lines)) > self.tokens:
            lines = lines[: -max(1, len(lines) // 50)] if len(lines) > 1 else []
        return "\n".join(lines)

    def weigh(self, line: str) -> int:
        return self.count(f"{line}\n")

    def _add(self, lines: list[str]) -> None:
        self._lines.setdefault(self.place, []).extend(lines)
        self.left -= sum(map(self.weigh, lines))


def cut_to_tokens(text: str, tokens: int, count: Count) -> str:
    """Return the text, or as much of its beginning as weighs at most `tokens`, with a mark that it goes on."""
    text = text.strip()
    if len(text.encode("utf-8", "surrogatepass")) <= tokens or count(text) <= tokens:
        return text
    keep = min(len(text) - 1, tokens * 6)  # hardly any text has more than six characters a token
    while keep > 0:
        shown = f"{text[:keep].rstrip()} […]"
        weight = count(shown)
        if weight <= tokens:
            return shown
        keep = min(keep - 1, int(keep * max(0.3, 0.97 * tokens / weight)))
    return ""
