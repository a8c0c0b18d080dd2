"""Real servers for the tests: started on a free port of this machine, with their data in a folder that goes with them.

python3 -m tests.stores.servers     installs what is missing, where that is possible (Debian, as root)
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

PACKAGES = {"redis-server": "redis-server", "postgres": "postgresql", "tmux": "tmux"}


def program(name: str) -> str | None:
    """Debian keeps PostgreSQL's programs out of the way."""
    found = shutil.which(name)
    return found or next((str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)


def install() -> None:
    missing = [package for name, package in PACKAGES.items() if not program(name)]
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit(f"install {' and '.join(missing)} to test all stores: only root on Debian can do that here")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
        subprocess.run(["apt-get", "-qq", *command], check=True, env=environment, stdout=subprocess.DEVNULL)


def lacking(why: str) -> str:
    """Where all tests must run nothing may be skipped."""
    if os.environ.get("YOHAKU_SERVERS") == "required":
        pytest.fail(why)
    pytest.skip(why)


@contextmanager
def redis() -> Iterator[str]:
    server = program("redis-server") or lacking("redis-server is not installed: apt-get install redis-server")
    with tempfile.TemporaryDirectory(prefix="yohaku-redis-") as folder:
        port = free_port()
        options = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "yes"]
        with running([server, *options], lambda: listening(port)):
            yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def postgres() -> Iterator[str]:
    """It refuses to run as root: then it runs as the user that its package made."""
    server = program("postgres") or lacking("postgres is not installed: apt-get install postgresql")
    made = program("initdb") or lacking("initdb is not installed: apt-get install postgresql")
    user = "postgres" if os.geteuid() == 0 else None
    place = "/tmp" if user else None  # where that user can reach it
    with tempfile.TemporaryDirectory(prefix="yohaku-postgres-", dir=place) as folder:
        data, port = f"{folder}/data", free_port()
        if user:
            owner = pwd.getpwnam(user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        command = [made, "-D", data, "-U", "yohaku", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)
        options = ["-p", str(port), "-h", "127.0.0.1", "-k", folder, "-c", "max_connections=50", "-c", "fsync=off"]
        url = f"postgresql://yohaku@127.0.0.1:{port}/postgres"
        with running([server, "-D", data, *options], lambda: accepting(url), user, stop=signal.SIGQUIT):
            yield url


@contextmanager
def running(
    command: list[str], ready: Callable[[], bool], user: str | None = None, stop: int = signal.SIGTERM
) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(command, stdout=told, stderr=told, user=user, cwd="/")
        try:
            end = time.monotonic() + 60
            while not ready():
                if process.poll() is not None or time.monotonic() > end:
                    told.seek(0)
                    raise RuntimeError(f"{command[0]} does not start: {told.read().decode(errors='replace')}")
                time.sleep(0.02)
            yield process
        finally:
            process.send_signal(stop)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def accepting(url: str) -> bool:
    """It listens before it can answer."""
    import psycopg

    try:
        psycopg.connect(url, connect_timeout=2).close()
        return True
    except psycopg.OperationalError:
        return False


def listening(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
        return True
    except OSError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    install()
