"""A process that changes a project, or takes changes back, until done or killed: worker.py DATA ROOT WHAT SEED."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

from yohaku.agent.file_history.file_history import FileHistory
from yohaku.agent.toolkit.seen_files import write_atomically

COMMANDS = (
    "sed -i 's/a/bb/' '{file}'",
    "rm '{file}'",
    "mv '{file}' '{new}'",
    "mkdir -p '{new}' && mv '{file}' '{new}/inside'",
    "rm -rf '{folder}'",
    "mv '{folder}' '{new}'",
    "chmod {mode} '{file}'",
    "chmod 700 '{folder}'",
    "ln -sfn '{file}' '{new}'",
    "ln -sfn nowhere//./at-all '{new}'",
    "rm -rf '{file}' && mkdir '{file}' && echo x > '{file}/y'",
    "rm -rf '{folder}' && echo flat > '{folder}'",
    "mkdir -p '{new}/empty/below'",
    "head -c 3000 /dev/urandom >> '{file}'",
    "find . -type f -name '*.txt' -exec sort -o {{}} {{}} ';'",
    'for each in $(find . -name \'*.py\'); do expand "$each" > tmp && cat tmp > "$each"; done; rm -f tmp',
    ": > '{file}'",
    "printf 'line\\n%.0s' $(seq 500) > '{new}'",
    "cp -r '{folder}' '{new}'",
    "printf 'odd' > \"$(printf 'two\\nlines {number}')\"",
    "cp '{file}' '{file}.orig' && sed -i 's/e/E/g' '{file}' && mv '{file}.orig' '{new}'",
)


def make_project(root: Path, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(25):
        path = root / f"d{number % 4}" / f"s{number % 3}" / f"f{number}.{chance.choice(['txt', 'py', 'bin', 'md'])}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            chance.randbytes(200) if path.suffix == ".bin" else b"a line\n\tband\nzeta \xff\r\n" * chance.randint(0, 9)
        )
        path.chmod(chance.choice([0o644, 0o600, 0o755, 0o640]))
    (root / "d0" / "empty").mkdir(mode=0o750)
    (root / "d1" / "link").symlink_to("../d0//./f0.txt")
    (root / "d1" / "folder-link").symlink_to("../d2", target_is_directory=True)
    (root / b"bad\xff\nname".decode("utf-8", "surrogateescape")).write_bytes(b"\0\1\2")
    (root / ".gitignore").write_text("ignored/\n*.log\n")
    (root / "ignored").mkdir()
    (root / "ignored" / "kept.bin").write_bytes(b"not ours")


def work(history: FileHistory, root: Path, chance: random.Random) -> None:
    for _ in range(chance.randint(3, 9)):
        paths = sorted(path for path in root.rglob("*") if not path.is_symlink() and "ignored" not in path.parts)
        plain = [path for path in paths if path.is_file() and "'" not in str(path) and "\n" not in str(path)]
        folders = [path for path in paths if path.is_dir()]
        if not plain or not folders:
            return
        file, folder = chance.choice(plain), chance.choice(folders)
        if chance.random() < 0.5:
            if chance.random() < 0.3:
                file = folder / f"made{chance.randrange(1000)}" / "deep" / "new.txt"
            change = history.begin(f"edit {file.name}", [file])
            write_atomically(file, b"edited %d\n" % chance.randrange(10**9) * chance.randint(1, 5000))
        else:
            names = {
                "file": file.relative_to(root),
                "folder": folder.relative_to(root),
                "mode": chance.choice(["755", "600"]),
            }
            command = chance.choice(COMMANDS).format(
                **names, new=f"n{chance.randrange(10_000)}", number=chance.randrange(1000)
            )
            change = history.begin(command)
            subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, check=False)
        history.end(change)


def take_back(history: FileHistory) -> None:
    while (plan := history.plan_undo()).changes:
        history.undo(plan)


if __name__ == "__main__":
    data, root, what, seed = sys.argv[1:]
    history = FileHistory(Path(data), Path(root))
    print("ready", flush=True)
    if what == "work":
        work(history, Path(root), random.Random(int(seed)))
    else:
        take_back(history)
