"""Set-up and everyday commands, for a machine that has only Python and pip.

    python3 dev.py demo       fold a long recorded session, live in the terminal
    python3 dev.py test       the tests (further arguments go to pytest); --quick for the everyday loop
    python3 dev.py check      lint, types
    python3 dev.py laws N     the ten laws on N generated conversations
    python3 dev.py counts     our counts beside what providers billed, by family
    python3 dev.py corpus     every recorded session at every window, in every dialect and recipe
    python3 dev.py bench      the benchmark: ratios within one run
    python3 dev.py growth     how the time of a fit grows with its input, for twenty shapes
    python3 dev.py soak       the agent on a real server: 300 tool calls at each of three windows
    python3 dev.py adapters   adapters and proxy with the real frameworks and SDKs, in .venv-adapters
    python3 dev.py fuzz N     N damaged requests and replies through the proxy (100,000; about an hour)
    python3 dev.py load       1,000 streams at once through the proxy, with faults; its memory over 100,000 requests
    python3 dev.py servers    install Redis, PostgreSQL and tmux for the tests (Debian, as root)
    python3 dev.py freeze     what users can observe, compared with the recorded state; --write records it again
    python3 dev.py pages      write the reference pages in docs/ again: settings, commands, errors, windows
    python3 dev.py trace      how many files one folding fit and one turn of the agent go through
    python3 dev.py house      size of the package, docstrings and names that need work; --list names them
    python3 dev.py stores     stores under load: 1,000 kills, 8 processes x 10,000, a gigabyte, and ratios

Each installs what it needs into .venv, once.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(PYTHON), "install", "-q"]

QUICK = ("-m", "not slow and not corpus", "--ignore=tests/corpus", "--hypothesis-profile=quick")
"""Leaves out what takes seconds a test, and draws fewer examples; `dev.py test` runs everything."""


def set_up(*groups: str) -> None:
    """Make a virtual environment with the package (editable) and these dependency groups, pinned by constraints.txt."""
    project = (HERE / "pyproject.toml").read_bytes()
    wanted = hashlib.sha256(project + (HERE / "constraints.txt").read_bytes() + repr(groups).encode()).hexdigest()
    done = HOME / f"installed-{'-'.join(groups) or 'base'}"
    if done.exists() and done.read_text() == wanted:
        return
    print("setting up .venv (once) …", file=sys.stderr, flush=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(HOME)], check=True)
    tables = tomllib.loads(project.decode())
    packages = [package for group in groups for package in tables["dependency-groups"][group]]
    subprocess.run([*PIP, "-c", str(HERE / "constraints.txt"), "-e", str(HERE), *packages], check=True)
    if "test" in groups:
        # It requires Python 3.12 but runs on 3.11; the tests compare with its exact counts.
        subprocess.run([*PIP, "--no-deps", "--ignore-requires-python", _pin("ctok")], check=True)
    done.write_text(wanted)


def test_adapters(*rest: str) -> None:
    """Run their tests in an environment of its own: the frameworks bring two hundred packages."""
    home = HERE / ".venv-adapters"
    python = home / PYTHON.relative_to(HOME)
    if not python.exists():
        print("setting up .venv-adapters (once) …", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    packages = tomllib.loads((HERE / "pyproject.toml").read_text())["dependency-groups"]["adapters"]
    subprocess.run([str(python), "-m", "pip", "install", "-q", "-e", str(HERE), *packages], check=True)
    command = [
        str(python),
        "-m",
        "pytest",
        "tests/adapters",
        "tests/proxy/test_sdks.py",
        "tests/proxy/test_sdks_before_ollama.py",
        "-o",
        "filterwarnings=",
        *rest,
    ]
    sys.exit(subprocess.run(command, cwd=HERE, check=False).returncode)


def _pin(package: str) -> str:
    lines = (HERE / "constraints.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith(f"{package}=="))


def run(*command: str, **environment: str) -> None:
    done = subprocess.run([str(PYTHON), *command], cwd=HERE, env={**os.environ, **environment}, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def main(name: str = "", *rest: str) -> None:
    match name:
        case "demo":
            set_up()
            run("-m", "yohaku", "demo", *rest)
        case "test":
            set_up("test")
            options = [option for word in rest for option in (QUICK if word == "--quick" else (word,))]
            run("-m", "pytest", "-n", str(os.cpu_count() or 1), *options)
        case "check":
            set_up("test", "check")
            run("-m", "ruff", "check", ".")
            run("-m", "ruff", "format", "--check", ".")
            run("-m", "mypy")
        case "laws":
            set_up("test")
            number = rest[0] if rest else "1000000"
            run("-m", "pytest", "-n", str(os.cpu_count() or 1), "tests/laws", YOHAKU_LAWS=number)
        case "counts":
            set_up("test")
            run("-m", "tests.corpus.wire", *rest)
        case "corpus":
            set_up("test")
            run("-m", "pytest", "-n", str(os.cpu_count() or 1), "tests/corpus", *rest, YOHAKU_CORPUS="all")
        case "adapters":
            test_adapters(*rest)
        case "servers":
            set_up("test")
            run("-m", "tests.stores.servers")
        case "stores":
            set_up("test")
            run("-m", "tests.stores.servers")
            run("-m", "tests.stores.loads", *rest)
            if not rest:
                run("benchmarks/stores.py")
        case "bench":
            set_up("test")
            if "--proxy" in rest:
                run("benchmarks/proxy.py", *(word for word in rest if word != "--proxy"))
                return
            run("benchmarks/fit.py", *rest)
            if not rest:
                run("benchmarks/start.py")
        case "growth":
            set_up("test")
            run("benchmarks/growth.py", *rest)
        case "fuzz":
            set_up("test")
            run("-W", "ignore", "-m", "tests.proxy.fuzz.run", *rest)
        case "load":
            set_up("test")
            run("-W", "ignore", "-m", "tests.proxy.load", *rest)
        case "freeze":
            set_up("test")
            run("scripts/freeze.py", *rest)
        case "pages":
            set_up("test")
            for page in ("settings", "commands", "errors", "windows"):
                run(f"scripts/{page}_page.py")
        case "trace":
            set_up("test")
            run("-m", "scripts.trace_files", *rest)
        case "house":
            set_up("test")
            run("scripts/house.py", *rest)
        case "soak":
            set_up("test")
            run("-m", "pytest", "tests/agent/test_long.py", *rest, YOHAKU_SOAK="300")
        case _:
            print(__doc__)
            sys.exit(0 if name in ("", "help", "-h", "--help") else 2)


if __name__ == "__main__":
    main(*sys.argv[1:])
