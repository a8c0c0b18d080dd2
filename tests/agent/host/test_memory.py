from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from yohaku.agent.host.memory import NO_LIMIT, container_limits, parse_meminfo, radeon_memory, read_memory, usable_cores


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root


def test_this_machine_has_memory_and_cores() -> None:
    found = read_memory()
    assert 0 <= found.free <= found.ram and 0 <= found.vram_free <= found.vram and usable_cores() >= 1


def test_linux_tells_what_is_to_be_had_and_not_only_what_lies_idle() -> None:
    text = "MemTotal:       16000 kB\nMemFree:         1000 kB\nMemAvailable:    9000 kB\nHugePages_Total: 0\n"
    assert parse_meminfo(text) == (16_000 * 1024, 9_000 * 1024)
    assert parse_meminfo("MemTotal: 16000 kB\nMemFree: 1000 kB\n") == (16_000 * 1024, 1_000 * 1024)
    assert parse_meminfo("nothing of the kind") is None


def test_a_container_has_its_limit_less_what_it_uses_and_cannot_give_back(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/memory.max": "4000\n",
            "sys/fs/cgroup/memory.current": "3000\n",
            "sys/fs/cgroup/memory.stat": "anon 1000\ninactive_file 1500\n",
        },
    )
    assert container_limits(root) == (4000, 2500)


def test_the_tightest_of_the_groups_around_counts(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/outer/inner\n",
            "sys/fs/cgroup/outer/inner/memory.max": "max\n",
            "sys/fs/cgroup/outer/memory.max": "900\n",
            "sys/fs/cgroup/outer/memory.current": "100\n",
        },
    )
    assert container_limits(root) == (900, 800)


def test_the_older_layout_of_containers_is_read_too(tmp_path: Path) -> None:
    limited = {
        "proc/self/cgroup": "5:cpu,cpuacct:/\n3:memory:/docker/x\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "5000\n",
        "sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes": "7000\n",
    }
    assert container_limits(tree(tmp_path, limited)) == (5000, 0)


def test_outside_of_containers_there_is_no_limit(tmp_path: Path) -> None:
    assert container_limits(tmp_path) == (NO_LIMIT, NO_LIMIT)


def test_cards_write_down_their_memory(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "sys/class/drm/card0/device/mem_info_vram_total": "8000",
            "sys/class/drm/card0/device/mem_info_vram_used": "500",
            "sys/class/drm/card1/device/mem_info_vram_total": "4000",
            "sys/class/drm/card2/device/vendor": "0x8086",
        },
    )
    assert radeon_memory(root) == (12_000, 11_500)
    assert radeon_memory(tmp_path / "none") == (0, 0)


def test_without_psutil_the_machine_is_still_read() -> None:
    code = (
        "import sys; sys.modules['psutil'] = None\n"
        "from yohaku.agent.host.memory import *; print(read_memory().ram, usable_cores())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    ram, real = map(int, told.stdout.split())
    assert ram >= read_memory().ram * 9 // 10 and real >= 1
