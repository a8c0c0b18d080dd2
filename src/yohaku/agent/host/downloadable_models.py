"""Table of models that can be downloaded, and the choice of one that suits a machine.

Law: only files with a pinned hash, and nothing is downloaded without asking.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yohaku.agent.host.capacity import MachineMemory, usable_bytes, window_for
from yohaku.messages import say

HUB_URL = "https://huggingface.co"

MIN_COMFORTABLE_WINDOW = 16_384
"""Window a larger model must leave to be offered."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    name: str
    repository: str
    file: str
    bytes: int
    sha256: str
    billions: float
    card: bool = False
    """Whether it is too slow without a graphics card."""
    licence: str = "Apache-2.0"

    def url(self, home: str = HUB_URL) -> str:
        return f"{home}/{self.repository}/resolve/main/{self.file}"


MODEL_FILES = (
    ModelFile(
        "Qwen2.5-Coder 1.5B",
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        1.5,
    ),
    ModelFile(
        "Qwen2.5-Coder 7B",
        "Qwen/Qwen2.5-Coder-7B-Instruct-GGUF",
        "qwen2.5-coder-7b-instruct-q4_k_m.gguf",
        4_683_073_536,
        "509287f78cb4d4cf6b3843734733b914b2c158e43e22a7f4bf5e963800894d3c",
        7.6,
        card=True,
    ),
)
"""The smallest first."""


@dataclass(frozen=True, slots=True)
class DownloadableModel:
    """A download the user may want."""

    weights: ModelFile
    path: Path
    """Target of the download."""
    here: int = 0
    """Bytes downloaded before."""

    def said(self, lang: str) -> str:
        """Return the question to the user."""
        facts = {"name": self.weights.name, "licence": self.weights.licence, "home": HUB_URL.partition("://")[2]}
        if self.here:
            return say("host_offer_rest", lang, **facts, percent=100 * self.here / self.weights.bytes)
        return say("host_offer", lang, **facts, gigabytes=self.weights.bytes / 1e9)


def choose_download(folder: Path, memory: MachineMemory) -> DownloadableModel:
    """Return the largest model this machine runs well; a partly downloaded one goes first."""
    offers = [
        DownloadableModel(each, folder / each.file, file_size(partial_path(folder / each.file))) for each in MODEL_FILES
    ]
    begun = [each for each in offers if each.here]
    fitting = [each for each in offers if _suits(each.weights, memory)]
    return (begun or fitting or offers[:1])[-1]


def _suits(weights: ModelFile, memory: MachineMemory) -> bool:
    ram, card = usable_bytes(memory)
    room = card if weights.card and not memory.unified else ram + card
    return room > weights.bytes and window_for(memory, weights.bytes, weights.billions).window >= MIN_COMFORTABLE_WINDOW


def partial_path(path: Path) -> Path:
    return path.with_name(path.name + ".partial")


def file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
