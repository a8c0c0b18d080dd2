"""Tokens that a machine without a graphics card reads in bearable time, by what was measured or by an estimate.

Law: where nothing is known there is no bound.
"""

from __future__ import annotations

import re

from yohaku.agent.host.capacity import MachineMemory
from yohaku.agent.host.model_size import billions_of
from yohaku.client.endpoint import Endpoint

MAX_READING_SECONDS = 600.0
"""That reading a full window may take: after a folding much of it is read again."""

BILLIONS_PER_CORE = 30.0
"""Tokens in a second that a core reads, times billions of parameters, at four or five bits each."""

_ACTIVE = re.compile(r"(?<![a-z0-9])a(\d{1,3}(?:\.\d{1,2})?)b(?![a-z0-9])")
"""`30b-a3b`: three billions of it work on a token."""


def readable_tokens(endpoint: Endpoint, memory: MachineMemory, cores: int, measured: float = 0.0) -> int | None:
    """Return the tokens of a model on this machine that can be read in time; None: no bound is known."""
    reading = measured or estimate_reading(endpoint, memory, cores)
    return int(reading * MAX_READING_SECONDS) if reading else None


def estimate_reading(endpoint: Endpoint, memory: MachineMemory, cores: int) -> float:
    """Estimate tokens in a second without a graphics card; 0 with one, or where the size is not known."""
    if memory.vram or memory.unified or not endpoint.local:
        return 0.0
    active = _ACTIVE.search(endpoint.model.lower())
    billions = float(active[1]) if active else billions_of(endpoint)
    return BILLIONS_PER_CORE * max(1, cores) / billions if billions else 0.0
