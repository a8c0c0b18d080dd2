"""Results are shown whole once, in small windows: then one line says what was read or run, and the model reads again
if it must."""

from __future__ import annotations

from yohaku.analysis.file_access import find_accesses
from yohaku.analysis.tool_calls import (
    find_command,
    find_errors,
    find_exit_code,
    has_failed,
    read_arguments,
    split_tool_name,
)
from yohaku.analysis.window_profile import profile_for
from yohaku.core.folds import Fold, Stub
from yohaku.core.model import Step, ToolUse
from yohaku.core.originals import ref_of
from yohaku.core.recipe import Pass, PassContext
from yohaku.core.view import View
from yohaku.passes.pieces import Piece, fold_whole, many, pieces

WHY = "read_once"
SHORT = 80
"""Characters of a command, path or pattern in a line."""

LANGUAGES = dict(
    pair.split("=")
    for pair in (
        "py=Python go=Go rs=Rust js=JavaScript jsx=JavaScript mjs=JavaScript ts=TypeScript tsx=TypeScript java=Java "
        "kt=Kotlin c=C h=C cc=C++ cpp=C++ hpp=C++ cs=C# rb=Ruby php=PHP swift=Swift scala=Scala sh=shell bash=shell "
        "md=Markdown html=HTML css=CSS scss=CSS json=JSON yaml=YAML yml=YAML toml=TOML sql=SQL vue=Vue lua=Lua "
        "ex=Elixir exs=Elixir erl=Erlang hs=Haskell ml=OCaml r=R jl=Julia dart=Dart zig=Zig xml=XML csv=CSV txt=text"
    ).split()
)


def one_line_results(keep: int = 1) -> Pass:
    """All results but those of the newest `keep` steps become one line each; in the smallest windows arguments too.

    The strategy for the window decides: above 16K nothing is done until there is need.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        folding = profile_for(context.budget.window).folding
        if folding not in ("full", "on"):
            return []
        steps = {step.key: step for turn in view.visible() for step in turn.steps}
        where = ("result", "argument") if folding == "full" else ("result",)
        return [
            _folded(piece, steps[piece.key], context) for piece in pieces(view, context, *where) if piece.step >= keep
        ]

    return propose


def _folded(piece: Piece, step: Step, context: PassContext) -> Stub:
    use = step.solid[piece.slot.item]
    if piece.media or piece.slot.where == "argument" or not isinstance(use, ToolUse):
        return fold_whole(piece, context, WHY)
    assert isinstance(piece.original, str)
    ref = ref_of(piece.original)
    text = f"{line(use, piece.original)} [folded; ref={ref}]"
    return Stub(piece.key, piece.slot, text, ref, piece.what, WHY, piece.weight, context.meter.count(text))


def line(use: ToolUse, said: str) -> str:
    """What a call did, in one line: `Read: main.go (500 lines, Go)`, `Ran: make (40 lines, exit 2: …)`."""
    ran = find_command(use)
    touch = next(iter(find_accesses(use)), None) if ran is None else None
    details = [many(said.count("\n") + (not said.endswith("\n")), "line")]
    if touch and touch.kind == "read" and "." in touch.path:
        details += filter(None, [LANGUAGES.get(touch.path.rsplit(".", 1)[-1].lower())])
    wrong = next(iter(find_errors(said, 1)), "") if has_failed(use) else ""
    code = find_exit_code(use) if ran is not None else None
    ended = [f"exit {code}" if code is not None else "failed" if has_failed(use) else "", _short(wrong, 2 * SHORT)]
    details += filter(None, [": ".join(filter(None, ended))])
    return f"{_did(use, ran, touch and touch.kind)}: {_about(use, ran, touch and touch.path)} ({', '.join(details)})"


VERBS = {"read": "Read", "created": "Wrote", "modified": "Edited", "deleted": "Deleted"}


def _did(use: ToolUse, ran: str | None, how: str | None) -> str:
    if ran is not None:
        return "Ran"
    words = split_tool_name(use.call.name)
    if how is None and words & {"grep", "search", "find"}:
        return "Searched"
    if how is None and words & {"glob", "list", "ls"}:
        return "Listed"
    return VERBS[how] if how else use.call.name


def _about(use: ToolUse, ran: str | None, path: str | None) -> str:
    if path:
        end = path[1 - SHORT :]
        return path if len(path) <= SHORT else "…" + end[max(0, end.find("/")) :]
    given = read_arguments(use)
    first = next((value for value in given.values() if isinstance(value, str) and value.strip()), "")
    return _short(ran or str(given.get("pattern") or given.get("query") or first), SHORT) or "…"


def _short(text: str, most: int) -> str:
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else text[: most - 1] + "…"
