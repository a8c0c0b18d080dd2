"""What the tests of adapters share: a conversation that is too long for its window."""

from __future__ import annotations

WINDOW = 4096
LONG = "all is well here, nothing to see in this line of the log; " * 60
