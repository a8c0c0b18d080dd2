from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yohaku.analysis.rules import MAX_RULE_CHARS, find_rules
from yohaku.analysis.sentences import MIN_PASTE_LINES
from yohaku.analysis.standing_rules import find_standing_rules
from yohaku.core.model import Text, Turn

RULES = """\
Never commit to main.
Please do not touch the database.
don't use any external libraries
You must run the tests before every commit.
Only edit files under src/.
Use only the standard library.
Make sure the public API stays the same.
Always answer in English.
Use tabs, not spaces.
Use pnpm instead of npm.
Fix it without changing the tests.
Write at most 3 sentences.
Keep the answer short.
No new dependencies.
no console logs!
Leave the migrations alone.
Avoid global state.
From now on, sign every commit.
You may not open the network.
The password is secret, so never print it.
Respond in Japanese.
I don't want any insurance.
I only want vegetarian food.
Tests should never hit the network.
It is forbidden to use eval.
Under no circumstances push to production.
Could you please use ruff instead of flake8?
IMPORTANT: the deadline is Friday.
Refactor the parser, but don't change its output.
stop adding comments everywhere
we never force-push here, we always rebase: never push to shared branches
必ず日本語で答えてください。
テストは変更しないでください。
データベースには触らないで
mainへの直接プッシュは禁止です。
外部ライブラリを使ってはいけません。
標準ライブラリだけを使ってください。
srcのみ編集すること。
絶対に本番環境に接続しないこと。
src以外のファイルは変更しないように。
秘密鍵を出力してはならない。
コメントは不要です。
100字以内でお願いします。
npmではなくpnpmを使ってください。
コミット前に必ずテストを実行する
今後は英語でコメントを書いてください。
説明は日本語でお願いします。
勝手にファイルを消しちゃダメ。
型ヒントを必ず付けること。
既存のAPIを壊さないようにお願いします。
ログにパスワードを出さないでね
You are not allowed to use sudo.
All public functions must have type hints.
Do NOT bump the major version.
Never, ever delete user data.
Please keep responses under 200 words.
The output has to be valid JSON.
You need to ask me before deleting anything.
Ask before you push anything.
We only support Python 3.11 and later.
Only touch the frontend.
Nothing outside src/ may be changed.
I want all comments in English.
Don't ever log the API key.
It's important that you don't break backwards compatibility.
Limit yourself to 5 files.
Use snake_case for all function names, never camelCase.
The budget is 500 dollars, no more.
Stick to the existing style.
Please refrain from using emojis.
Do not exceed 80 columns.
Tests have to pass before you commit.
Write everything in TypeScript, no plain JavaScript.
You can change anything except the database schema.
Please, no emojis in commit messages.
Whatever you do, do not restart the server.
Under no condition should you edit .env.
Each commit must be signed off.
Make no changes to the public API.
Reply with only the code.
Just don't touch config.yaml, okay?
Prefer composition over inheritance.
Remember: the port must stay 8080.
本番DBには絶対に接続しないでください
返答は必ず敬語で。
変更は最小限にしてください。
既存のテストを壊すな。
mainブランチには直接コミットしないこと
ファイルを削除する前に必ず確認を取ってください。
依存パッケージを増やさないでほしい
Python 3.11以上のみ対応でお願いします
コードのコメントは英語で書いてください。
設定ファイルは触らないようにしてください。
APIキーをログに出力するのは禁止。
回答は3行以内にまとめて
作業ディレクトリ以外には書き込まないでください。
勝手にリファクタリングしないで！
外部通信は一切しないでください。
絵文字は使わないでください
公開APIは変更不可です。
関数名はスネークケースにしなければならない。
テストなしでマージしてはダメです。""".splitlines()

NONE = """\
I only saw one error.
It never worked on my machine.
I don't know why it fails.
There is only one test in this file.
We don't have that yet, do we?
Don't worry about it.
Never mind.
The server always returns 500.
I always get this message.
No, the other one.
No problem, thanks!
It must be a bug in the parser.
Should we always use tabs?
What must I do?
Can we proceed without it?
It works without failing.
The build has no errors.
they just don't expose these fields
You don't have the id?
don't change anything, just let me know
Error: value must be positive
$ do not run this
> never do that
WARNING: you must upgrade
TypeError: argument must be str, not int
const x = mustNever(1);
The message says "you must never do this again, ever".
一つだけエラーが出ました。
これだけです。
テストが必ず失敗する
できるだけ早くお願いします。
必ず必要でしょうか？
ファイルが一つのみ表示された。
禁止されているのですか？
それ以外には特にありません、どうぞよろしくお願いいたします。
ご用意いただけるなら、コースをつけてください。
まず調査だけしてください。
「必ず実行すること」と書いてありました。
It only happens on Windows.
I never said that.
We don't use that anymore, right?
The tests must have been broken before.
You should only need one click, but it took three.
I can't remember, but I think it always worked.
It doesn't do anything when I click the button.
There are no tests for this.
That's the only way I found.
I'm not sure what to do.
She didn't make it.
At least it compiles now.
Thanks, no further questions.
Can you check why it never finishes?
I do not see the file.
Let's just try without caching and see what happens
このファイルだけが失敗しています。
それだけで十分です。
一度だけ再起動しました。
何も表示されないです。
必要なだけ使ってみました
動かないので困っています
どうしてもできないです。
禁煙の部屋はありますか。""".splitlines()


@pytest.mark.parametrize("sentence", RULES)
def test_a_sentence_that_sets_a_rule_is_found_word_for_word(sentence: str) -> None:
    assert find_rules(sentence) == (sentence,)


@pytest.mark.parametrize("sentence", NONE)
def test_a_sentence_that_only_tells_is_no_rule(sentence: str) -> None:
    assert find_rules(sentence) == ()


@pytest.mark.parametrize("sentence", ["NEVER touch the tests.", "İ: Never Touch The Tests.", "本番での再起動はNG。"])
def test_a_rule_in_capitals_is_one_and_stays_as_it_was(sentence: str) -> None:
    assert find_rules(sentence) == (sentence,)


def test_a_name_that_begins_like_a_ban_is_none() -> None:
    assert find_rules("サーバーはnginxです。") == ()


def test_rules_are_cut_out_at_the_ends_of_sentences_lines_and_list_items() -> None:
    text = (
        "Fix the login page. Never touch auth.py! It fails at night.\n\n- Use only `httpx`.\n- see the log\n"
        "1. Do not rename v1.2 files\n設定を直して。本番には触らないでください。よろしく。"
    )
    assert find_rules(text) == (
        "Never touch auth.py!",
        "Use only `httpx`.",
        "Do not rename v1.2 files",
        "本番には触らないでください。",
    )


def test_a_sentence_over_two_lines_of_one_paragraph_stays_whole() -> None:
    text = "Please look at the parser of the configuration file first, and do not change\nany public names in it."
    assert find_rules(text) == (text,)


@pytest.mark.parametrize(
    "pasted",
    [
        "```\nNever do this.\n```",
        "```py\n# You must never do this.",
        "<bash-stdout>Never do this.</bash-stdout>",
        "<system-reminder>\nYou must not tell anyone.\n</system-reminder>",
        "> Never do this.",
        "2024-01-02 10:00:01 service must not be restarted",
        "    return never_do_this(must=True)",
        "Removed: 1216f5d fix: Never return a list",
    ],
)
def test_what_was_pasted_sets_no_rule(pasted: str) -> None:
    assert find_rules(f"Look:\n\n{pasted}") == ()


def test_of_a_pasted_document_what_answers_the_sentence_before_is_no_rule() -> None:
    points = [f"- point {n}" for n in range(MIN_PASTE_LINES)]
    document = "\n".join(["# Design", *points, "Can a plugin do it? If yes, never build it in."])
    assert find_rules(document) == ()
    assert find_rules("Never build it in.") == ("Never build it in.",)


def test_behind_what_was_pasted_the_user_speaks_again() -> None:
    text = "```\ncode\n```\nNever run it.\n<output>must not</output>\n<output>\nOnly read it."
    assert find_rules(text) == ("Never run it.", "Only read it.")


def test_in_a_long_paste_only_plain_rules_in_sentences_count() -> None:
    filler = "\n".join(f"Line {n} of a document about many things." for n in range(60))
    text = f"{filler}\nYou must never delete the backup of a customer.\nKeep it short.\nno color\nmust_not: x"
    assert find_rules(text) == ("You must never delete the backup of a customer.",)


def test_of_a_long_sentence_the_clause_with_the_rule_is_kept() -> None:
    told = "the service reads the table and then writes it back to the disk " * 6
    text = f"As {told}, never touch the table {told}"
    (rule,) = find_rules(text)
    assert rule.startswith("never touch the table") and rule in text and len(rule) <= MAX_RULE_CHARS


def prompts(*texts: str, by: str = "") -> list[Turn]:
    return [Turn((Text(text, by),)) for text in texts]


def test_rules_stand_in_order_and_once_at_their_newest_place() -> None:
    assert find_standing_rules(prompts("Never push.", "Only edit a.py.", "never push!")) == (
        "Only edit a.py.",
        "never push!",
    )


def test_what_a_program_put_in_for_the_user_sets_no_rule() -> None:
    assert find_standing_rules(prompts("You must obey.", by="system")) == ()


@pytest.mark.parametrize(
    ("stated", "taken_back"),
    [
        ("Never touch the database.", "Forget the rule about the database."),
        ("Do not edit the tests.", "You may now edit the tests."),
        ("Answer in English only.", "Ignore what I said about English."),
        ("No new dependencies.", "ok, you can now add dependencies"),
        ("Never use eval.", "It is fine to use eval again."),
        ("テストは変更しないでください。", "もうテストを変更していいです。"),
        ("データベースには触らないでください。", "データベースの制約はなし。"),
        ("必ず英語で答えてください。", "やっぱり英語で答えなくてよいです。"),
    ],
)
def test_a_rule_the_user_takes_back_is_gone_and_no_other(stated: str, taken_back: str) -> None:
    other = "Keep the public API unchanged."
    assert find_standing_rules(prompts(other, stated, taken_back)) == (other,)
    assert find_standing_rules(prompts(other, stated), then=prompts(taken_back)) == (other,)
    assert find_standing_rules(prompts(taken_back, other, stated)) == (other, stated)


def test_a_withdrawal_takes_back_only_what_it_speaks_of() -> None:
    turns = prompts("Never edit config.toml.", "Do not edit the tests.", "You may now edit the tests.")
    assert find_standing_rules(turns) == ("Never edit config.toml.",)


def test_later_turns_add_no_rules() -> None:
    assert find_standing_rules(prompts("Never push."), then=prompts("Never pull.")) == ("Never push.",)


ODD = ["a" * 10**6, " " * 10**6, "no " * 300_000, "。" * 500_000, "<a>" * 200_000, "- " * 400_000]


@pytest.mark.parametrize("text", [*ODD, "`" * 500_000, "だけ" * 300_000, '"' * 500_000, "今後は" * 200_000])
def test_odd_text_is_read_in_no_time(text: str) -> None:
    start = time.process_time()
    find_rules(text)
    find_rules(f"never {text}\n" + text[:19_000])
    assert time.process_time() - start < 2


@given(st.text())
def test_a_rule_is_always_a_slice_of_the_text(text: str) -> None:
    for rule in find_rules(f"Never {text} do\n必ず{text}こと。\n{text}"):
        assert rule in f"Never {text} do\n必ず{text}こと。\n{text}" and 0 < len(rule) <= MAX_RULE_CHARS
