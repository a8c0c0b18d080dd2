"""Memory of this machine: main memory within the limits of a container, and graphics cards.

Law: it only reads, quickly, and what is not known counts as absent. Where graphics and programs share one memory there
is no card to add.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from yohaku.agent.host.capacity import GIB, MachineMemory

FALLBACK = MachineMemory(8 * GIB, 4 * GIB)
"""Assumed where nothing can be read: a small machine."""

NO_LIMIT = 1 << 60
"""Bytes. Older containers report a larger number where there is no limit."""

ROOT = Path("/")


def read_memory() -> MachineMemory:
    ram, free = _main_memory() or (FALLBACK.ram, FALLBACK.free)
    limit, left = container_limits()
    vram, vram_free = _nvidia_memory() or radeon_memory()
    unified = sys.platform == "darwin" and platform.machine() == "arm64"
    return MachineMemory(min(ram, limit), min(free, left), vram, vram_free, unified)


def usable_cores() -> int:
    """Return the physical cores this process may use; two threads on one core are no faster."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        import psutil

        real = psutil.cpu_count(logical=False) or allowed
    except ImportError:
        real = allowed
    return max(1, min(allowed, real, _cpu_quota()))


def parse_meminfo(text: str) -> tuple[int, int] | None:
    """Return total and available bytes from /proc/meminfo."""
    rows = {name: int(kib) * 1024 for name, kib in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    total, free = rows.get("MemTotal"), rows.get("MemAvailable", rows.get("MemFree"))
    return (total, free) if total and free is not None else None


def container_limits(root: Path = ROOT) -> tuple[int, int]:
    """Return the limit of this container and what is left of it; `NO_LIMIT` outside one."""
    limit = left = NO_LIMIT
    for folder, most, now, cache in _control_groups(root):
        allowed = _read_number(folder / most)
        if allowed is None or allowed >= NO_LIMIT:
            continue
        reclaimable = re.search(rf"^{cache} (\d+)$", _read_text(folder / "memory.stat"), re.MULTILINE)
        used = max((_read_number(folder / now) or 0) - (int(reclaimable[1]) if reclaimable else 0), 0)
        limit, left = min(limit, allowed), min(left, max(allowed - used, 0))
    return limit, left


def radeon_memory(root: Path = ROOT) -> tuple[int, int]:
    """Return total and free bytes of AMD cards, as reported by their driver."""
    total = used = 0
    for folder in sorted((root / "sys/class/drm").glob("card[0-9]*/device")):
        total += _read_number(folder / "mem_info_vram_total") or 0
        used += _read_number(folder / "mem_info_vram_used") or 0
    return total, max(total - used, 0)


def _main_memory() -> tuple[int, int] | None:
    try:
        import psutil

        found = psutil.virtual_memory()
        return int(found.total), int(found.available)
    except (ImportError, OSError, RuntimeError):
        return parse_meminfo(_read_text(ROOT / "proc/meminfo")) or _sysconf_memory()


def _sysconf_memory() -> tuple[int, int] | None:
    try:
        page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return page * pages, page * pages // 2  # free memory is not reported


def _control_groups(root: Path) -> Iterator[tuple[Path, str, str, str]]:
    """Yield the control groups of this process, from its own to the outermost, of version 2 and version 1."""
    lines = _read_text(root / "proc/self/cgroup").splitlines()
    paths = {fields[1]: fields[2] for line in lines if len(fields := line.split(":", 2)) == 3}
    for name, folder, files in (
        ("", root / "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")),
        (
            "memory",
            root / "sys/fs/cgroup/memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ):
        own = next((path for names, path in paths.items() if name in names.split(",")), "/")
        inner = folder / own.strip("/")
        for each in (inner, *inner.parents):
            yield each, *files
            if each == folder:
                break


def _cpu_quota() -> int:
    """Return the cores a container may use."""
    said = _read_text(ROOT / "sys/fs/cgroup/cpu.max").split()
    if len(said) == 2 and all(word.isdecimal() for word in said) and int(said[1]):
        return max(1, int(said[0]) // int(said[1]))
    return 1 << 16


def _nvidia_memory() -> tuple[int, int] | None:
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError, OSError):  # no driver, no card
        return None
    try:
        cards = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in range(pynvml.nvmlDeviceGetCount())]
        found = [pynvml.nvmlDeviceGetMemoryInfo(card) for card in cards]
        return sum(int(each.total) for each in found), sum(int(each.free) for each in found)
    except (pynvml.NVMLError, OSError):
        return None
    finally:
        pynvml.nvmlShutdown()


def _read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _read_number(path: Path) -> int | None:
    said = _read_text(path).strip()
    return int(said) if said.isdecimal() else None
