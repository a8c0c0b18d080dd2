"""The place for new code in a file, as an edit: at its end, but before the lines that run it."""

from __future__ import annotations

import re

MAX_ANCHOR_LINES = 20

_MAIN = re.compile(r"^if __name__ == .*$", re.MULTILINE)


def find_place(text: str, code: str) -> tuple[str, str] | None:
    """Return lines that stand in the text exactly once, and the same with the code; None where there are none."""
    main = _MAIN.search(text)
    if main and text.count(main[0]) == 1:
        return main[0], f"{code}\n\n\n{main[0]}"
    lines = text.rstrip().split("\n")
    for count in range(1, min(len(lines), MAX_ANCHOR_LINES) + 1):
        last = "\n".join(lines[-count:])
        if last.strip() and text.count(last) == 1:
            return last, f"{last}\n\n\n{code}"
    return None
