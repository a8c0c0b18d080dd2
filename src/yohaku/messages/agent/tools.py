"""What tools and permissions say to people."""

from __future__ import annotations

WORDS: dict[str, tuple[str, str]] = {
    "tools_rm": ("It deletes files for good.", "ファイルを完全に削除します。"),
    "tools_root": (
        "It can destroy the whole system or your home folder.",
        "システム全体やホームフォルダを壊すおそれがあります。",
    ),
    "tools_sudo": ("It runs with the rights of another user.", "別のユーザー (管理者など) の権限で実行します。"),
    "tools_disk": ("It writes to a disk or device directly.", "ディスクやデバイスに直接書き込みます。"),
    "tools_pipe_shell": (
        "It runs what it downloads or computes without anyone having seen it.",
        "ダウンロードや生成した内容を、確認なしにそのまま実行します。",
    ),
    "tools_push": ("It overwrites history on a server.", "サーバー上の履歴を上書きします。"),
    "tools_lose": ("It throws away changes that are not committed.", "コミットしていない変更を捨てます。"),
    "tools_bomb": ("It starts processes without end.", "プロセスを際限なく起動します。"),
    "tools_rights": ("It changes the rights of many files.", "多くのファイルの権限を変えます。"),
    "tools_home": (
        "It changes files that decide how you log in or what your shell runs.",
        "ログインやシェルの動作を決めるファイルを変更します。",
    ),
    "tools_system": ("It stops or changes the system.", "システムを停止または変更します。"),
    "tools_secret_sent": (
        "It touches files that may hold keys or passwords.",
        "鍵やパスワードを含むかもしれないファイルに触れます。",
    ),
    "tools_hidden": (
        "What it really runs cannot be seen here.",
        "実際に何が実行されるか、ここからは分かりません。",
    ),
    "tools_secret": (
        "This file may hold keys or passwords; the model would see them.",
        "このファイルには鍵やパスワードがあるかもしれません。モデルに見えるようになります。",
    ),
    "tools_outside": ("It is outside the project.", "プロジェクトの外にあります。"),
    "tools_git": (
        "Files of Git itself can make it run commands.",
        "Git 自身のファイルは、コマンドを実行させることがあります。",
    ),
    "tools_private": (
        "This address is on your machine or in your own network.",
        "このアドレスはこのパソコンまたは社内・家庭内ネットワークのものです。",
    ),
    "tools_always_edits": ("all edits inside the project", "プロジェクト内のすべての編集"),
    "tools_always_folder": ("reading in {folder}", "{folder} の中の読み取り"),
    "tools_always_command": ("commands that begin with `{words}`", "`{words}` で始まるコマンド"),
    "tools_always_exactly": ("exactly `{words}`", "`{words}` とまったく同じコマンド"),
    "tools_always_host": ("pages of {host}", "{host} のページ"),
}
