"""`yohaku proxy` in processes of its own, and upstreams that a test scripts."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from aiohttp import web

from tests.stores.servers import free_port, listening

ROOT = Path(__file__).resolve().parent.parent.parent
START_TIMEOUT = 60.0
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ProxyProcess:
    def __init__(self, url: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.url, self.process, self._log = url, process, log

    @property
    def log(self) -> str:
        return self._log.read_text("utf-8", "replace")

    @property
    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    @property
    def megabytes(self) -> float:
        """Memory in use, by the system's account."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    @property
    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def proxy_process(upstream: str, *options: str, **environment: str) -> Iterator[ProxyProcess]:
    """Start `yohaku proxy` before an upstream, with a home folder that goes with it."""
    port = free_port()
    command = [sys.executable, "-m", "yohaku", "proxy", "--port", str(port), "--upstream", upstream, *options]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("YOHAKU_", "XDG_"))}
    with tempfile.TemporaryDirectory(prefix="yohaku-proxy-") as home:
        log = Path(home, "log")
        with log.open("wb") as told:
            variables = {**plain, "HOME": home, **environment}
            process = subprocess.Popen(command, stdout=told, stderr=told, env=variables, cwd=ROOT)
        try:
            end = time.monotonic() + START_TIMEOUT
            while not listening(port):
                if process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"the proxy does not start: {log.read_text()}")
                time.sleep(0.02)
            yield ProxyProcess(f"http://127.0.0.1:{port}", process, log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@asynccontextmanager
async def upstream_at(handle: Handler) -> AsyncIterator[str]:
    """Serve every path by `handle`, on loopback."""
    app = web.Application(client_max_size=2**28)
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
