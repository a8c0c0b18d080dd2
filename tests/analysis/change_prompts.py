"""Prompts by what they want: a change of files, or not."""

CHANGE = """\
Fix the bug in money.py.
fix it
Please fix the failing test in tests/test_cart.py
The function percent in money.py is wrong. Correct it.
`python3 test_money.py` fails. Make it pass.
Make the tests pass
Can you rename the variable x to count in parser.py?
could you please add a docstring to every function in util.py
Add a function median(values) to stats.py
Write a test for parse_date
Create a file hello.txt that says hello
Implement the TODO in server.go
Refactor the Session class into two modules.
Remove the unused imports in app.py
Delete the file old.py
Update the README with the new flag
In config.py, change the default timeout to 30 seconds
In config.py set the timeout to 30
Read main.py and fix the off-by-one error
Review cart.py and fix what is wrong.
Replace print by logging in worker.py
Find out why the login fails and fix it.
I want you to add type hints to models.py
I'd like you to simplify this function
Convert the script to Python 3.
Move helper() from a.py to b.py
Handle the empty list in average()
There is a typo in README.md; please correct it
Run the linter, then fix all errors
The version in pyproject.toml needs to be updated
Let's split utils.py into two files
Write a script that counts words in all .txt files
Use pathlib instead of os.path in io_helpers.py
Add error handling to the upload endpoint
Turn the list in data.json into an object
Document the public functions in api.py
You should rename Foo to Bar everywhere in the project, please
Help me fix this: TypeError in line 3 of a.py
Bump the version to 2.0
Sort the entries of words.json alphabetically
money.py の percent を修正してください
バグを直して
テストが通るようにしてください
`python3 test.py` が失敗します。直してください。
関数 median を stats.py に追加して
README に新しいオプションを追記してください
変数名 x を count に変更してもらえますか
未使用の import を削除して
ログ出力を print から logging に置き換えてください
テストを書いてください
hello.txt というファイルを作って
config.py のタイムアウトを 30 秒に変えて
main.py を読んで、不具合を修正してください
このクラスを 2 つに分割してください
型ヒントを付けて、関数を整理してください
リファクタリングをお願いします
エラー処理を追加し、テストも書いてください
動くように直してほしい
docstring を日本語に書き換えてください
サーバーの TODO を実装して
空のリストに対応してください
古いファイルを消して
設定ファイルを TOML に移行してください
Get rid of the global variable in app.js
please make the login button blue
The date is shown wrong in the footer, can you sort that out?
Port this to async
Support YAML config files too
it crashes on empty input, fix pls
Please clean up the imports
Add logging
Make parse_args accept a list
Switch the tests to pytest
Increase the retry count to 5 in client.py
Have the function return None instead of raising
Speed up the search in index.py
Wire the new handler into the router
Implement pagination for /users
Write unit tests for the cart module and make sure they pass
I need a script that renames all jpg files by date
We should drop Python 3.8 support
Rewrite this in Rust
Let the CLI take a --verbose flag
ログイン画面の文言を変えてください
この警告が出ないようにして
型エラーを解消してください
ユニットテストを追加してほしいです
関数名をわかりやすいものに変えて
重複コードをまとめてください
Python 3.12 に対応させてください
エラーメッセージを日本語にしてください
CI の設定ファイルを作成してください
main.go のバグ直して""".split("\n")

NO_CHANGE = """\
What does money.py do?
Explain how the parser works.
Why does test_cart fail?
How do I fix this error?
How would you rename a variable in vim?
Where is the timeout set?
Which functions use print?
Is there a bug in money.py?
Should I refactor this class?
Find the slow test
find the function that computes the discount
List the files
Summarise the README in three sentences
Review this diff
Describe what would have to change to support Windows
Tell me what to change in config.py
Show me how to add a test
Suggest names for the new function
Explain the bug in cart.py, do not change anything
Look at a.py and tell me what is wrong; don't edit files
Write a haiku about spring
Tell me a joke
Make sure you understand the code first
Run the tests and tell me which fail
Run `pytest -q`
What would you change in this file?
hello
thanks, that is all
Compare a.py and b.py
What did you change?
Did the last commit fix the bug?
Count the lines in all Python files
Does removing the cache break something?
Plan the refactoring of session.py without changing any files
Propose a fix for the race condition
Who calls update_cart()?
Check whether the links in the README work
What is a context window?
Translate "good morning" into French
When was the last change to main.py?
money.py は何をしますか
このコードを説明してください
なぜテストが失敗しますか
修正方法を教えてください
どこでタイムアウトを設定していますか
バグはありますか
README を要約してください
どう直せばいいですか
変更せずに、原因だけ教えてください
何を変更しましたか
この関数を使っている場所を探して
テストを実行して結果を教えて
俳句を書いてください
こんにちは
修正案を提案してください
このクラスは分割すべきですか
ファイルの一覧を見せて
ファイルは変更しないで、問題点を挙げてください
a.py と b.py の違いは何ですか
コンテキストウィンドウとは何ですか
最後の変更はいつですか
行数を数えて
どの関数が print を使っていますか
Could you walk me through the auth flow?
what's the difference between these two functions
Is it safe to remove the cache?
Give me an overview of the repo
which tests are slow?
Do we have a function to parse dates?
Tell me why CI fails
Any idea what this error means?
can you explain how to add a new route?
Read the README
Search for TODOs
How many lines does cli.py have
Thoughts on splitting this module?
Would it make sense to rename this class?
Show the last 20 lines of app.log
who wrote this?
Generate three ideas for a project name
What happens if I delete this file?
Check the code for security problems
I don't understand the change in utils.py
このリポジトリの構成を教えて
なぜ遅いのか調べてください
どのファイルを変更すればいいですか
テストは通っていますか
このエラーの意味は？
セキュリティ上の問題がないか確認してください
変更点を要約して
この修正は正しいですか
使い方を説明して
設定はどこに書かれていますか""".split("\n")

FRESH_CHANGE = """\
Give the function a better name
Stop using deprecated APIs in http.py
Ship a Dockerfile for this service
Extract the validation into its own module
The tests are flaky; make them deterministic.
Throw a ValueError when the name is empty
Return 404 when the item is missing
Please bring the docs up to date
Change tabs to spaces in all files
Set up eslint
Undo your last edit
Comment out the failing assertion in test_api.py
Apply the same fix to the other handlers
Put the constants at the top of the file
Could you make this work on Windows?
Finish the half-written parser in expr.py
Split this 500 line function
Use a dataclass here
Add a changelog entry for the release
Correct the spelling mistakes in docs/intro.md
ボタンの色を青にしてください
この関数にコメントを付けてください
テストが落ちているので直してください
変数 tmp を削除し、代わりに引数を使ってください
例外を握りつぶさないように修正して
requirements.txt を更新して
この処理を関数に切り出してください
並列化して速くしてください
TODO を片付けてください
README.md に使い方を書いてください""".split("\n")
"""Written after the patterns, which were not changed for them: how well it is told in general."""

FRESH_NO_CHANGE = """\
Describe the data flow between client and server
Have a look at app.py and tell me what you think
Let me know which tests fail
What would it take to support Windows?
Are there any warnings in the build?
Point me to the file where routes are defined
I want to understand how the cache works
Can this be made faster?
Is the handler registered?
Help me understand this regex
Which commit introduced the bug?
Give me the list of endpoints
Walk through what happens when a user logs in
Estimate how long the migration takes
Don't change the code, just tell me what is wrong
Why did you change the timeout?
Find all callers of save()
Does the parser handle empty input?
Print the version
Rate the quality of this module from 1 to 10
このコードは何をしていますか
変更する前に計画を説明してください
速くする方法はありますか
回答は日本語にしてください
どのテストが落ちていますか
ログを見て原因を調べて
この設計についてどう思いますか
ドキュメントを読んで要点を挙げて
関数の一覧を出して
この変更の影響範囲を教えてください""".split("\n")

OTHER_NO_CHANGE = """\
Write a commit message for these changes
Write a summary of what this repo does
Write me an explanation of the cache
Create a plan for the migration
Make a list of all TODOs
Give me a code review of cart.py
Can you add 2 and 3?
Can you check if the tests pass?
Could you look at why this fails
Run the linter
Run ruff check and show me the errors
Build the project
Start the server
Commit this
Push it to origin
git status
ls -la
Install the dependencies
Open a.py
Go to line 30 of app.py
Draft an email to the team about the release
Convert 100 USD to EUR
Turn this sentence into French: I like tea
Calculate the sum of 1 to 100
Use the grep tool to find TODO
Use English please
Let me see the diff
Let's talk about the architecture
Continue
go on
yes
ok
no, stop
Thanks!
Never touch the database.
Remember that we use tabs.
From now on answer in German
Please be brief
Set the scene: what does this module do?
Make sure the tests pass and tell me the result
Put this in simple words
Change of topic: what is a monad?
Add up the numbers in data.csv
Sort these words: b, a, c
Split "a,b,c" by commas for me
Replace what with what? I do not understand your last answer
Which files would change if I rename Foo?
If I delete this file, will the tests fail?
I fixed the bug myself, please check whether it works
I have updated config.py. Is it right now?
I removed the cache. Run the tests again.
You removed the wrong line!
The test was fixed yesterday, explain how
Compare the old and the updated version
Show how to fix it, but do not edit
Only explain, no edits
Without editing anything, tell me how to fix this
I don't want you to change anything yet. What would you do?
Before you fix anything, explain the cause.
Read the file and write down what you notice
Write pseudo code for the algorithm
Generate a regex that matches dates
Generate a random password
Print hello world
Debug the problem and report what you find
Investigate the failing test
Analyse the log file and find the error
Profile the code
Benchmark parse() against parse2()
Test the login
Verify that the fix works
Download the page https://example.com and summarise it
Fetch example.com
Look up how to use asyncio.TaskGroup
Search the web for the newest version of ruff
Name three ways to speed this up
Outline the changes needed
What needs to be fixed?
What must be changed in a.py?
Is this correct?
Correct me if I am wrong, but this is O(n)
Update me on the progress
Move on to the next question
Complete this sentence: the sky is
Finish your explanation
Document how it works for me in two sentences
Cover the basics of SQL for me
Support for Windows: does it exist?
コミットメッセージを書いてください
コミットしてください
テストを実行してください
ビルドして
サーバーを起動して
一覧を作成してください
計画を作って
要約を書いてください
レビューをお願いします
確認をお願いします
英語に翻訳してください: おはよう
この文章を英語にして
1 から 10 まで足して
続けて
はい
ありがとう
日本語で答えてください
もっと簡潔に説明してください
簡潔にしてください
図にして説明して
表にまとめてください
修正しました。確認してください。
設定を変更したので、テストを実行してください
config.py を直しました。これで合っていますか。
修正が必要な箇所を挙げて
修正すべき点はどこですか
変更が必要かどうか教えて
変更履歴を見せて
追加した関数を説明して
削除されたファイルを調べて
直す前に原因を説明して
まだ変更しないでください。原因だけ調べて。
編集はせずに方針だけ示して
コードは触らないで
調査をお願いします
調べて報告して
検討してください
デバッグして原因を教えて
ログを解析して
どう実装するか考えて
実装方針を書いてください
更新日時を調べて
最新版に更新されているか確認して
依存関係をインストールして
コードを読んで理解して
メールの下書きを作成して
git の状態を見せて
差分を出して
この関数をテストして
対応状況を教えて
改善案を出して
改善点を挙げて""".split("\n")
"""Tasks that change no file, or only the conversation, of which many had been taken for changes."""
