"""What a proxy adds to a request, as ratios within one run.

python3 dev.py bench --proxy                     ours, and a pass-through on the same stack
python3 dev.py bench --proxy --beside            and headroom and tooltrim, each in a throw-away environment

A session of each size goes on, a step a request, through every proxy in turn; what a request takes without any proxy is
taken off. Start is the time until the port answers; memory is what the system says of the process.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import http.client
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]

import history  # noqa: E402

SIZES = {39_000: "39 KB", 334_000: "334 KB", 3_200_000: "3.2 MB"}
PATH = "/v1/chat/completions"
WINDOWS = {"folding": 8192, "fitting": 2_000_000}
MAX_OF_JSON = 15
"""Times the standard library's parse of the body: what our proxy may add to one of 3.2 MB."""
START_TIMEOUT = 120.0
REPLY = json.dumps({"id": "r", "object": "chat.completion", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Done."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}).encode()  # fmt: skip


class Program(NamedTuple):
    command: list[str]
    """PORT and UPSTREAM are put in."""
    variables: dict[str, str]


PYTHON = sys.executable
BARE = """
import uvicorn
from starlette.applications import Starlette
uvicorn.run(Starlette(), port=PORT, log_level="error")
"""
BESIDE = {"headroom": "headroom-ai[proxy]", "tooltrim": "tooltrim"}


def programs(beside: Path | None) -> dict[str, Program]:
    """Return the proxies to compare; those of others are installed in a folder."""
    ours = [PYTHON, "-m", "yohaku", "proxy", "--port", "PORT", "--upstream", "UPSTREAM", "--window"]
    found = {
        "pass-through": Program([PYTHON, str(HERE / "pass_through.py"), "UPSTREAM", "PORT"], {}),
        **{f"yohaku, {name}": Program([*ours, str(window)], {}) for name, window in WINDOWS.items()},
    }
    if beside is None:
        return found
    for name, package in BESIDE.items():
        if not (beside / name).exists():
            subprocess.run([PYTHON, "-m", "venv", str(beside / name)], check=True)
            subprocess.run([str(beside / name / "bin" / "pip"), "install", "-q", package], check=True)
    tooltrim, headroom = (str(beside / name / "bin" / name) for name in ("tooltrim", "headroom"))
    found["tooltrim"] = Program([tooltrim, "proxy", "--port", "PORT", "--upstream", "UPSTREAM/v1"], {})
    options = ["--openai-api-url", "UPSTREAM/v1", "--no-rate-limit", "--no-cache", "--no-telemetry"]
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    found["headroom"] = Program([headroom, "proxy", "--port", "PORT", *options], offline)
    return found


class Running(NamedTuple):
    process: subprocess.Popen[bytes]
    port: int
    started: float
    """Seconds until it answered."""

    def megabytes(self, field: str) -> float:
        """Return VmRSS (now) or VmHWM (peak) of the process and its children."""
        return sum(_status(pid, field) for pid in (self.process.pid, *_children(self.process.pid))) / 1024


def _status(pid: int, field: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextmanager
def running(program: Program, upstream: str) -> Iterator[Running]:
    port, begun = free_port(), time.perf_counter()
    command = [word.replace("PORT", str(port)).replace("UPSTREAM", upstream) for word in program.command]
    with tempfile.TemporaryDirectory() as home:
        variables = {**os.environ, "HOME": home, **program.variables}
        with Path(home, "log").open("wb") as log:
            process = subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)
        try:
            while not _answers(port):
                if process.poll() is not None or time.perf_counter() > begun + START_TIMEOUT:
                    raise SystemExit(f"{command} does not start: {Path(home, 'log').read_text()[-2000:]}")
                time.sleep(0.005)
            yield Running(process, port, time.perf_counter() - begun)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, raw: bytes) -> float:
    """Return the seconds of one request, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.connect()
    assert connection.sock
    connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    headers = {"Content-Type": "application/json", "Authorization": "Bearer key"}
    begun = time.perf_counter()
    connection.request("POST", PATH, raw, headers)
    response = connection.getresponse()
    data = response.read()
    took = time.perf_counter() - begun
    connection.close()
    if response.status != 200:
        raise SystemExit(f"port {port} answers with {response.status}: {data[:500]!r}")
    return took


def session(size: int) -> dict[str, Any]:
    """Return a conversation of about so many bytes."""
    messages = history.messages(max(10, size // 450))
    while len(json.dumps(messages)) > size:
        del messages[-2:]
    while messages[-1]["role"] != "tool":
        messages.pop()
    return {"model": "gpt-4o", "messages": messages}


def added(ports: dict[str, int], size: int, rounds: int) -> dict[str, tuple[float, float]]:
    """Return what each proxy adds: to the first request, and to the median of those after it; parse times too."""
    body, chance = session(size), Random(1)
    times: dict[str, list[float]] = {name: [] for name in ports}
    parse: list[float] = []
    for number in range(rounds + 1):
        raw = json.dumps(body).encode()
        for name in sorted(ports, key=lambda name: chance.random()):
            times[name].append(ask(ports[name], raw))
        begun = time.perf_counter()
        json.loads(raw)
        parse.append(time.perf_counter() - begun)
        body["messages"] += history.step(chance, 100_000 + number)
    direct = statistics.median(times.pop("upstream"))
    found = {name: (taken[0] - direct, statistics.median(taken[1:]) - direct) for name, taken in times.items()}
    return {**found, "json.loads": (parse[0], statistics.median(parse))}


async def serve_upstream(port: int) -> None:
    """Read requests and answer them at once, with as little work as possible."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(REPLY)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
                if length is not None:
                    await reader.readexactly(length)
                while length is None and lines[0].startswith(b"post"):
                    size = int((await reader.readline()).strip() or b"0", 16)
                    await reader.readexactly(size + 2)
                    if not size:
                        break
                writer.write(head + REPLY)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", port, limit=1 << 23)
    await server.serve_forever()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", nargs="?", type=Path, const=Path(tempfile.gettempdir(), "yohaku-beside"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--upstream", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.upstream:
        asyncio.run(serve_upstream(given.upstream))
    found = programs(given.beside)
    with running(Program([PYTHON, str(HERE / "proxy.py"), "--upstream", "PORT"], {}), "") as upstream:
        url = f"http://127.0.0.1:{upstream.port}"
        start_and_memory(found, url)
        good = [at_size(found, url, upstream.port, size, given.rounds) for size in SIZES]
    print("ok   ahead at every size" if all(good) else "BEHIND or too slow")
    return 0 if all(good) else 1


def start_and_memory(found: dict[str, Program], url: str) -> None:
    bare = Program([PYTHON, "-c", BARE], {})
    all_programs = {"bare uvicorn and starlette": bare, **found}
    print("start and idle memory")
    starts: dict[str, float] = {}
    for name, program in all_programs.items():
        seconds = []
        for _ in range(3 if name != "headroom" else 1):
            with running(program, url) as one:
                time.sleep(0.5)
                seconds.append(one.started)
                idle = one.megabytes("VmRSS")
        starts[name] = statistics.median(seconds)
        times = starts[name] / starts["bare uvicorn and starlette"]
        print(f"     {name:28} {starts[name]:6.2f} s ({times:5.1f} × bare)   idle {idle:4.0f} MB", flush=True)


def at_size(found: dict[str, Program], url: str, upstream: int, size: int, rounds: int) -> bool:
    gc.disable()
    with ExitStack() as stack:
        started = {name: stack.enter_context(running(program, url)) for name, program in found.items()}
        warm = json.dumps(session(5000)).encode()
        for one in started.values():
            ask(one.port, warm)
        took = added({"upstream": upstream, **{name: one.port for name, one in started.items()}}, size, rounds)
        peaks = {name: one.megabytes("VmHWM") for name, one in started.items()}
    parse = took["json.loads"][1]
    print(f"{SIZES[size]}: added to the first request, and to one that goes on (median of {rounds})")
    for name in found:
        first, next_ = took[name]
        detail = f"{next_ / took['pass-through'][1]:6.1f} × pass-through, {next_ / parse:6.1f} × json.loads"
        print(
            f"     {name:28} {first * 1e3:8.1f} ms  {next_ * 1e3:8.1f} ms   {detail}   peak {peaks[name]:5.0f} MB",
            flush=True,
        )
    ours = max(took[name][1] for name in found if name.startswith("yohaku"))
    others = [took[name][1] for name in ("headroom", "tooltrim") if name in took]
    return (size < max(SIZES) or ours <= MAX_OF_JSON * parse) and all(ours < other for other in others)


if __name__ == "__main__":
    sys.exit(main())
