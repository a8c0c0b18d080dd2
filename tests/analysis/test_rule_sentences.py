"""Sentences that state rules without a ban word: conditions, orders on the form of replies, plain requests.

Half of them (HELD_OUT) were written before the patterns and never used to shape them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yohaku.analysis.rules import find_rules

JAPANESE = """\
コマンドを実行する前に、内容を見せて私の返事を待ってください。
作業が終わったら、最後に一行で要約を書いてください。
返信の最後には毎回「ご不明な点があればお知らせください」と添えてください。
引用するときは一次資料を使ってください。
論文を勧めるときは査読付きよりarXivを優先して。
数値は全部メートル法で。
答える前に、こっちの質問を一文で言い直すこと。
メールは下書きまでにしてください、送信は私がします。
返事は箇条書きで頼む。
コミットするときはメッセージを英語にしてくれ。
迷ったら勝手に決めずに聞いて。
ファイルを消すときは先に一声かけてね。
変更したら毎回テストを回して結果を貼ってほしい。
金額は税込みで書いてください。
確認はいらないからどんどん進めて。
本番サーバーに触るなら、事前に必ず許可を取ること。
電話番号はどのファイルにも書き込まないでください。
僕の名前は出さないで。
知っているつもりのことでも、回答前にウェブで調べてください。
数字は漢数字で書くようにお願いします。""".splitlines()

JAPANESE_HELD_OUT = """\
PRを出す前に差分を見せて、私のOKを待ってください。
タスクが完了したら、やったことを一行でまとめて締めくくってください。
毎回の返信の末尾に「以上です」と付けて。
出典を示すときは、まとめサイトじゃなくて原典を当たってください。
単位を書くときはヤード・ポンド法ではなくSIで統一してください。
質問に答える際は、まず結論から述べてください。
エラーが出たら、直す前に原因を説明してくれ。
外部にメッセージを送る場合は、下書きを作って私に渡すだけにしてください。
機密フォルダの中身は開かないこと。
いちいち確認しなくていいから、そのまま実行して。
わからないことがあれば、推測せずに質問してください。
コードを書くときは型注釈を付ける。
返答は敬語じゃなくタメ口でよろしく。
レビューの指摘は重要度順に並べてください。
新しいライブラリを入れるなら、まず相談して。
日付は西暦で表記すること。
段落は使わず箇条書きのみでお願いします。
テーブルを変更する際はマイグレーションファイルを必ず用意してください。
長い作業のときは、区切りごとに進捗を報告してほしいです。
数字は桁区切りなしで出力せよ。""".splitlines()

ENGLISH = """\
Before you run a command, show it and wait.
When you finish, end with a list of the changed files.
End every reply with the word DONE.
When you cite, use the primary source.
If you need a new dependency, ask me.
After every edit, run the formatter.
Each reply starts with the ticket number.
Write numbers as words.
Whenever you rename something, grep for other uses.
Give prices in euros.
Use metric units for the rest of this session.
Throughout this project, write the tests first.""".splitlines()

ENGLISH_HELD_OUT = """\
Before you push, run the linter and show me the output.
When you change a schema, write a migration too.
Start each answer with the conclusion.
End your messages with the next step.
If you are unsure, ask me first.
Whenever you touch the API, update the docs.
Once you're done with a task, post a short recap.
Sign every commit with my initials.
When quoting people, name the source.
After each change, run the unit tests.
Write dates as YYYY-MM-DD.
Use British spelling in everything you write.
Wait for my approval before deploying.
Show me the plan before you start coding.
Each time you finish a step, tick it off in TODO.md.
For every bug you fix, add a regression test.
Give temperatures in Celsius rather than Fahrenheit.
Call me Kei in your replies.
Put a one-line summary at the top of every reply.
If a test fails, explain why before fixing it.""".splitlines()

TELLS = """\
When I run the tests, it fails.
When you click the button, nothing happens.
When you have time, look at the parser.
Before you ask: yes, I restarted it.
If you look at line 30, the loop is wrong.
After the update, show() crashes.
If it works, great.
When was this written?
Before this commit everything passed.
Every reply was slow today.
When the user clicks save, write the file to disk.
If the list is empty, return None.
When you finish the parser, commit it.
When you're done, push the branch.
After you fix the bug, run the tests.
Once you have the list, delete the duplicates.
Before you merge this branch, rebase it.
After that, update the changelog.
When done, deploy it.
Run the tests again.
Check every file in src for typos.
For each file in the list, update the import.
Fix your last answer.
Give me the number of users in the table.
テストを実行すると失敗します。
終わったら教えて。
このファイルを削除してください。
ボタンを押したときに落ちます。
パーサーのバグを直してください。
もし動いたら嬉しいです。
変更したらエラーになりました。
返信が遅いです。
数字は合っていますか？
READMEを更新して。
ログを見せてください。
保存するときにファイルが壊れるようです。
テストが終わったらコミットしてください。
このファイルを消す前にバックアップを取って。
送信ボタンを押すときは確認ダイアログを出してください。
日付は3月3日でお願いします。
時間は10時にお願いします。
人数は2名でお願いします。
返信は明日で大丈夫です。
説明は分かりました。
関数名は変わっていません。
動かない場合はどうすればいいですか。
終わったらプッシュして。""".splitlines()


@pytest.mark.parametrize("sentence", [*JAPANESE, *ENGLISH])
def test_a_condition_or_an_order_on_form_is_a_rule(sentence: str) -> None:
    assert find_rules(sentence) == (sentence,)


@pytest.mark.parametrize("sentences", [JAPANESE_HELD_OUT, ENGLISH_HELD_OUT], ids=["japanese", "english"])
def test_19_of_20_sentences_that_shaped_no_pattern_are_found(sentences: list[str]) -> None:
    missed = [sentence for sentence in sentences if find_rules(sentence) != (sentence,)]
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("sentence", TELLS)
def test_a_report_or_a_single_task_with_the_same_words_is_no_rule(sentence: str) -> None:
    assert find_rules(sentence) == ()


@pytest.mark.shared
def test_57_of_the_60_public_constraints_are_found(shared: Path) -> None:
    data = json.loads((shared / "exam" / "compint.json").read_text())
    missed = []
    for framing in data["framings"]:
        for one in data["constraints"]:
            sentence = one["sentence"]
            text = f"{framing}{sentence[0].lower()}{sentence[1:]}" if framing else sentence
            found = find_rules(text)
            if not any(text in rule or sentence[1:] in rule for rule in found):
                missed.append(text)
    assert len(missed) <= 3, missed
