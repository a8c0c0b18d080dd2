"""Record the session that `yohaku demo` plays: real tools over this repository, asked for in English and Japanese.

    python3 scripts/record_demo.py        writes src/yohaku/demo/session.jsonl.gz

What the tools print is what they printed; what user and assistant say is written here.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "src" / "yohaku" / "demo" / "session.jsonl.gz"
SYSTEM = (
    "You are a careful engineer working in a repository. Use the tools bash and read_file. "
    "Answer in the user's language. Never write to a file you have not read."
)

Row = dict[str, Any]


class Recorder:
    def __init__(self) -> None:
        self.rows: list[Row] = [{"role": "system", "content": SYSTEM}]
        self._calls = 0

    def user(self, text: str) -> None:
        self.rows.append({"role": "user", "content": text})

    def says(self, text: str) -> None:
        self.rows.append({"role": "assistant", "content": text})

    def bash(self, command: str, because: str | None = None) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": "src"}
        done = subprocess.run(
            command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        output = clean(done.stdout + done.stderr) + (f"\n[exit {done.returncode}]" if done.returncode else "")
        self._use("bash", {"command": command}, output, because, bool(done.returncode))
        return output

    def read(self, path: str, first: int = 1, last: int | None = None, because: str | None = None) -> None:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        last = min(last or len(lines), len(lines))
        body = "\n".join(f"{number:5}\t{lines[number - 1]}" for number in range(first, last + 1))
        self._use("read_file", {"path": path, "offset": first, "limit": last - first + 1}, body, because)

    def _use(self, name: str, arguments: Row, output: str, because: str | None, error: bool = False) -> None:
        self._calls += 1
        call = {"id": f"call_{self._calls:04}", "name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
        self.rows.append({"role": "assistant", "content": because, "tool_calls": [call]})
        result: Row = {"role": "tool", "tool_call_id": call["id"], "name": name, "content": output}
        if error:
            result["error"] = True
        self.rows.append(result)


def clean(text: str) -> str:
    """Remove the traces of the machine it was recorded on."""
    text = text.replace(str(ROOT), ".").replace(sys.prefix, ".venv").replace(sys.base_prefix, "python")
    text = text.replace(str(Path.home()), "~")
    return re.sub(r"\d+\.\d+s\b", "0.1s", text)


def sources(folder: str) -> Iterator[str]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if path.stat().st_size > 400:
            yield str(path.relative_to(ROOT))


def size(path: str) -> int:
    return len((ROOT / path).read_text(encoding="utf-8").splitlines())


def record(tape: Recorder) -> None:
    look_around(tape)
    core(tape)
    japanese(tape)
    dialects(tape)
    failing_test(tape)
    meters(tape)
    wrap_up(tape)


def look_around(tape: Recorder) -> None:
    tape.user("I am new here. Have a look around and tell me what this project is. Only read, don't change anything.")
    tape.bash("ls -la", "Let me see what is here.")
    tape.bash("git ls-files | head -200", "And which files are tracked.")
    tape.read("README.md", because="The README first.")
    tape.read("pyproject.toml")
    tape.bash("find src -name '*.py' | xargs wc -l | sort -n", "How big is it?")
    tape.read("CONTEXT.md", because="The glossary will tell me the words.")
    tape.says(
        "yohaku keeps a conversation with a language model inside its context window. A conversation is read from a "
        "wire format into an immutable History, passes propose folds on it, the engine accepts those that make it "
        "smaller, and the dialect writes the body back, changing only what is folded. Nothing is deleted: each fold "
        "has a ref that opens to the original."
    )


def core(tape: Recorder) -> None:
    tape.user(
        "Explain the core to me, file by file. You must always name the file and the line when you quote code, "
        "and never guess: if you did not read it, say so."
    )
    tape.bash("ls -la src/yohaku/core src/yohaku/passes")
    for path in sources("src/yohaku/core"):
        tape.read(path, because=f"Next is {path}.")
        name = Path(path).stem
        tape.bash(f"grep -rn 'import.*{name}\\|{name} import' src --include=*.py | head -40", f"Who uses {name}?")
    tape.bash("grep -rn 'class .*:' src/yohaku/core | head -80", "The classes on one screen.")
    tape.says(
        "The core is pure. model.py is the language, history_builder.py reads a conversation and chains its keys, "
        "folds.py has Stub and Gist, budget.py the levels, weigh.py the weights, engine.py the plan. Beside it, "
        "passes/ has one pass a file and recipes/ the tables of rungs. I read the core in full."
    )


def japanese(tape: Recorder) -> None:
    tape.user(
        "ここからは日本語でお願いします。トークンの数え方について教えてください。"
        "必ず実際のコードを読んでから答えてください。ファイルの変更は禁止です。"
    )
    tape.bash("ls -la src/yohaku/meters", "まず meters フォルダを見ます。")
    for path in sources("src/yohaku/meters"):
        tape.read(path, because=f"次に {path} を読みます。")
    tape.bash(
        "grep -rn '日本語\\|漢\\|かな\\|kana\\|han' src tests --include=*.py | head -60", "日本語の扱いを探します。"
    )
    for text in (
        "こんにちは、世界",
        "余白は紙の上に残された空間です。",
        "The quick brown fox",
        "エラー: ファイルが見つかりません",
    ):
        tape.bash(
            f"printf '%s' '{text}' | python -m yohaku count - --text --model gpt-4o",
            f"「{text}」を実際に数えてみます。",
        )
    tape.says(
        "文字数や「4文字で1トークン」のような目安は使わず、モデルごとの語彙で正確に数えています。"
        "語彙が公開されていないモデルでは較正した推定値を使い、推定であることを必ず示します。"
        "同じ文章は一度しか数えないので、会話が長くなっても一回ごとの費用は増えた分だけです。"
    )


def dialects(tape: Recorder) -> None:
    tape.user(
        "Now the dialects. Which providers are supported, and what does each file do about parallel calls? "
        "Only report what is in the code."
    )
    tape.bash("ls -la src/yohaku/dialects src/yohaku/dialects/recordings")
    for path in sources("src/yohaku/dialects"):
        for first in range(1, size(path) + 1, 150):
            tape.read(path, first, first + 149)
    tape.bash("grep -rn 'tool_calls\\|tool_use\\|functionCall\\|function_call' src/yohaku/dialects | head -120")
    tape.says(
        "Five dialects: OpenAI chat, OpenAI Responses, Anthropic Messages, Gemini and Ollama. A reply with several "
        "calls is one step in all of them: its calls and all their results are cut away together or not at all."
    )


def failing_test(tape: Recorder) -> None:
    tape.user("Run the tests of the core and tell me if anything fails. If something does, find out why.")
    tape.bash("ls -R tests | head -120", "Which tests are there?")
    tape.bash("python -m pytest -q -p no:cacheprovider tests/core 2>&1 | tail -40", "The core first.")
    tape.bash("python -m pytest -q -p no:cacheprovider tests/test_imports.py -v 2>&1 | tail -40")
    for path in sources("tests/core"):
        tape.read(path, because=f"What does {path} promise?")
    tape.bash("python -c 'import yohaku; yohaku.Session(window=-1)'", "And what does misuse look like?")
    tape.says("The tests pass. A negative window is refused with a plain sentence, as it should be.")


def meters(tape: Recorder) -> None:
    tape.user("最後に、設定とカタログも確認してください。環境変数の優先順位はどうなっていますか。")
    tape.bash("ls -la src/yohaku/config/catalog")
    for name in ("settings.py", "catalog/__init__.py", "catalog/names.py"):
        path = f"src/yohaku/config/{name}"
        for first in range(1, size(path) + 1, 120):
            tape.read(path, first, first + 119, because="続きを読みます。" if first > 1 else f"{path} を読みます。")
    tape.bash("head -c 3000 src/yohaku/config/catalog/providers.json", "プロバイダの表です。")
    tape.bash("grep -n 'MAX_CONTEXT_LENGTH' -r src tests | head -60", "環境変数はどこで使われていますか。")
    tape.says(
        "優先順位は、引数、YOHAKU_WINDOW、プロバイダごとの *_MAX_CONTEXT_LENGTH、DEFAULT_MAX_CONTEXT_LENGTH、"
        "カタログ、最後に安全な 4,096 です。正の整数でない値は一度だけ警告され、無視されます。"
    )


def wrap_up(tape: Recorder) -> None:
    tape.user("Thanks. One more thing: which files would you read again before changing how a gist is written?")
    for word in ("Gist", "told", "notice", "ref_of", "originals"):
        tape.bash(f"grep -rn '{word}' src tests --include=*.py | head -60", f"Where does {word} occur?")
    for path in ("src/yohaku/core/folds.py", "src/yohaku/passes/drop_oldest.py", "src/yohaku/dialects/dialect.py"):
        tape.read(path, because=f"I read {path} again to be sure.")
    tape.says(
        "core/folds.py, passes/drop_oldest.py and dialects/dialect.py: the gist is made, shown and written there."
    )


def main() -> None:
    tape = Recorder()
    record(tape)
    header = {
        "format": "trajectory-v1",
        "id": "yohaku-demo",
        "source": "yohaku",
        "licence": "Apache-2.0",
        "model": None,
        "tools": [{"name": "bash"}, {"name": "read_file"}],
        "lang": "en",
        "domain": "coding",
    }
    lines = [json.dumps(row, ensure_ascii=False) for row in (header, *tape.rows)]
    data = ("\n".join(lines) + "\n").encode()
    OUT.write_bytes(gzip.compress(data, 9, mtime=0))
    steps = sum(row["role"] == "assistant" for row in tape.rows)
    print(f"{OUT.relative_to(ROOT)}: {steps} steps, {len(data):,} bytes, {OUT.stat().st_size:,} compressed")


if __name__ == "__main__":
    main()
