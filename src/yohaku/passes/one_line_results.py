"""Show results whole only once in small windows: afterwards one line names what was read or run."""

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
MAX_NAME_CHARS = 80
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
    """Make a pass that replaces results before the newest `keep` steps by one line; in tiny windows arguments too.

    The profile of the window decides: above 16K nothing is done.
    """

    def propose(view: View, context: PassContext) -> list[Fold]:
        folding = profile_for(context.budget.window).folding
        if folding not in ("full", "on"):
            return []
        steps = {step.key: step for turn in view.visible() for step in turn.steps}
        where = ("result", "argument") if folding == "full" else ("result",)
        return [
            _fold(piece, steps[piece.key], context) for piece in pieces(view, context, *where) if piece.step >= keep
        ]

    return propose


def _fold(piece: Piece, step: Step, context: PassContext) -> Stub:
    use = step.solid[piece.slot.item]
    if piece.media or piece.slot.where == "argument" or not isinstance(use, ToolUse):
        return fold_whole(piece, context, WHY)
    assert isinstance(piece.original, str)
    ref = ref_of(piece.original)
    text = f"{summarise_use(use, piece.original)} [folded; ref={ref}]"
    return Stub(piece.key, piece.slot, text, ref, piece.what, WHY, piece.weight, context.meter.count(text))


def summarise_use(use: ToolUse, output: str) -> str:
    """Summarise a call in one line: `Read: main.go (500 lines, Go)`, `Ran: make (40 lines, exit 2: …)`."""
    ran = find_command(use)
    access = next(iter(find_accesses(use)), None) if ran is None else None
    details = [many(output.count("\n") + (not output.endswith("\n")), "line")]
    if access and access.kind == "read" and "." in access.path:
        details += filter(None, [LANGUAGES.get(access.path.rsplit(".", 1)[-1].lower())])
    wrong = next(iter(find_errors(output, 1)), "") if has_failed(use) else ""
    code = find_exit_code(use) if ran is not None else None
    ended = [
        f"exit {code}" if code is not None else "failed" if has_failed(use) else "",
        _shorten(wrong, 2 * MAX_NAME_CHARS),
    ]
    details += filter(None, [": ".join(filter(None, ended))])
    verb, target = _choose_verb(use, ran, access and access.kind), _name_target(use, ran, access and access.path)
    return f"{verb}: {target} ({', '.join(details)})"


VERBS = {"read": "Read", "created": "Wrote", "modified": "Edited", "deleted": "Deleted"}


def _choose_verb(use: ToolUse, ran: str | None, how: str | None) -> str:
    if ran is not None:
        return "Ran"
    words = split_tool_name(use.call.name)
    if how is None and words & {"grep", "search", "find"}:
        return "Searched"
    if how is None and words & {"glob", "list", "ls"}:
        return "Listed"
    return VERBS[how] if how else use.call.name


def _name_target(use: ToolUse, ran: str | None, path: str | None) -> str:
    if path:
        end = path[1 - MAX_NAME_CHARS :]
        return path if len(path) <= MAX_NAME_CHARS else "…" + end[max(0, end.find("/")) :]
    given = read_arguments(use)
    first = next((value for value in given.values() if isinstance(value, str) and value.strip()), "")
    return _shorten(ran or str(given.get("pattern") or given.get("query") or first), MAX_NAME_CHARS) or "…"


def _shorten(text: str, most: int) -> str:
    text = " ".join(text[: 4 * most].split())
    return text if len(text) <= most else text[: most - 1] + "…"
