"""Slash commands for any user interface: a typed line in, a text to show out.

To add a command: a function with the signature of the others, a row in `COMMANDS` at the end, and the sentence
`cmd_<name>` in the messages, from which /help and the completions are made.
Law: a command that cannot be done changes nothing and returns one plain sentence.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from yohaku import messages
from yohaku.agent import sessions
from yohaku.agent.commands.own_commands import expand_own_command, list_own_commands
from yohaku.agent.events import ConversationFolded
from yohaku.agent.format import describe_author, describe_folding, pad, wrap
from yohaku.agent.protocols import CommandContext, WorkingAgent
from yohaku.core.errors import YohakuError
from yohaku.messages import describe, say

if TYPE_CHECKING:  # the screen is drawn before all of this is loaded
    from yohaku.agent.toolkit.permissions import Mode
    from yohaku.core.folds import Fold
    from yohaku.session.fold_log import FoldingRecord


@dataclass(frozen=True, slots=True)
class CommandResult:
    text: str = ""
    kind: Literal["note", "warning", "error"] = "note"
    do: Literal["", "quit", "redraw", "prompt"] = ""
    """Left to the user interface; "redraw": the conversation was exchanged; "prompt": the text is sent to the model."""


@dataclass(frozen=True, slots=True)
class Command:
    name: str
    takes: str
    """Argument as shown in /help: `[words]` is optional, `<ref>` required."""
    run: Callable[[CommandContext, str], Awaitable[CommandResult]]
    while_working: bool = False
    """May be run while the agent works."""
    without_agent: bool = False
    """Needs no agent."""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.takes}".rstrip()

    def about(self, lang: str) -> str:
        return say(f"cmd_{self.name}", lang)


def is_command(typed: str) -> bool:
    """Return whether a line is a command: not one that begins with a path, as `/home/me/notes.txt says …`."""
    first = typed.split(maxsplit=1)[0] if typed.strip() else ""
    return first.startswith("/") and "/" not in first[1:]


async def run_command(context: CommandContext, typed: str) -> CommandResult:
    """Run a line that begins with a slash."""
    name, *more = typed.strip().removeprefix("/").split(maxsplit=1) or [""]
    rest, lang = "".join(more), context.lang
    command = COMMANDS.get(name.lower())
    if command is None and context.agent and (prompt := expand_own_command(typed, context.agent.root)):
        return CommandResult(prompt, do="prompt")
    if command is None:
        near = get_close_matches(name.lower(), COMMANDS, n=1)
        hint = say("cmd_near", lang, name=f"/{near[0]}") if near else ""
        return CommandResult(say("cmd_unknown", lang, name=f"/{name}", near=hint), "error")
    if not command.without_agent and context.agent is None:
        return CommandResult(say("cmd_not_yet", lang, name=f"/{command.name}"), "warning")
    if command.takes.startswith("<") and not rest.strip():
        return CommandResult(say("cmd_needs", lang, usage=command.usage), "error")
    try:
        return _add_reused(await command.run(context, rest.strip()), context)
    except YohakuError as error:
        return CommandResult(messages.explain(error, lang), "error")
    except OSError as error:
        return CommandResult(
            say("os_trouble", lang, name=error.filename or command.name, why=error.strerror or error), "error"
        )


def complete(typed: str, data: Path | None = None, root: Path | None = None) -> list[str]:
    """Return completions of a line: commands, sessions after /resume, stored permissions after /permissions."""
    name, space, rest = typed.partition(" ")
    if not typed.startswith("/") or "\n" in typed:
        return []
    if not space:
        names = dict.fromkeys([*COMMANDS, *list_own_commands(root or Path.cwd())])
        return [f"/{each}" for each in names if each.startswith(name[1:].lower())]
    if name == "/mode":
        return [f"/mode {each}" for each in MODES if each.startswith(rest)]
    if name == "/resume" and data is not None:
        found = sessions.list_sessions(data, root=root or Path.cwd())
        return [f"/resume {session.id}" for session in found if session.id.startswith(rest)]
    if name == "/permissions" and data is not None:
        from yohaku.agent.commands import permissions

        return [f"/permissions {each}" for each in permissions.complete_permissions(rest, data, root or Path.cwd())]
    return []


def help_text(lang: str) -> str:
    width = max(len(command.usage) for command in COMMANDS.values()) + 2
    lines = []
    for command in COMMANDS.values():
        first, *more = wrap(command.about(lang), HELP_COLUMNS - width)
        lines += [f"{pad(command.usage, width)}{first}", *(" " * width + line for line in more)]
    return "\n".join([*lines, "", say("screen_hint", lang)])


def _add_reused(done: CommandResult, context: CommandContext) -> CommandResult:
    """Add a sentence if the command has led to the use of folds made earlier."""
    reused = context.agent.take_reused() if context.agent else None
    return replace(done, text=f"{done.text} {describe_folding(reused, context.lang)}") if reused else done


async def _compact(context: CommandContext, words: str) -> CommandResult:
    agent = _agent_of(context)
    folded = await agent.compact(words)
    if folded is None:
        verdict = agent.session.receipt.verdict.name if agent.session.receipt else ""
        return CommandResult(say(UNFOLDED.get(verdict, "compact_fits"), context.lang))
    receipt = folded.receipt
    facts = {"before": receipt.before, "after": receipt.after, "count": len(receipt.outcome.folds)}
    survived = receipt.survived
    told = say("compact_done", context.lang, **facts, kept=survived.kept, by_ref=survived.by_ref)
    return CommandResult(" ".join(filter(None, (told, describe_author(receipt, context.lang)))))


async def _context(context: CommandContext, _: str) -> CommandResult:
    from yohaku.agent.commands.context import context_text

    return CommandResult(context_text(_agent_of(context), context.lang))


async def _undo(context: CommandContext, asked: str) -> CommandResult:
    from yohaku.agent.commands import files

    agent, lang = _agent_of(context), context.lang
    what, count = _parse_undo(asked)
    folding = _last_folding(agent) if what != "files" else None
    changes = agent.file_history.changes()[:1] if what != "folding" else []
    if folding and changes:
        labels = (describe_undo_folding(folding, lang), files.describe_change(changes[0], lang))
        newest_first = labels if folding.row.get("at", 0) > changes[0].at else labels[::-1]
        answer = await context.question(say("undo_which", lang), newest_first, own_words=False)
        if answer not in labels:
            return CommandResult(say("files_left", lang))
        folding, changes = (folding, []) if answer == labels[0] else (None, changes)
    if changes:
        return CommandResult(await files.take_back(context, count) or say("undo_none", lang))
    return await _undo_folding(context, count) if what != "files" else CommandResult(say("undo_none", lang))


async def _undo_folding(context: CommandContext, count: int) -> CommandResult:
    done, folded = await _agent_of(context).undo(count)
    if not done:
        return CommandResult(say("undo_none", context.lang))
    facts = {"after": done[0].row.get("after", 0), "before": done[-1].row.get("before", 0)}
    text = say("undo_done", context.lang, count=len(done), **facts)
    return CommandResult(f"{text} {say('undo_part', context.lang, after=folded.receipt.after)}" if folded else text)


def _last_folding(agent: WorkingAgent) -> FoldingRecord | None:
    from yohaku.session.fold_log import FoldLog

    session = agent.session
    log = FoldLog.of(session.store.recorded(session.key)) if session.key else FoldLog()
    return max((done for done in log.done if done.standing and done.id), key=lambda done: done.order, default=None)


def describe_undo_folding(folding: FoldingRecord, lang: str) -> str:
    facts = {"before": folding.row.get("before", 0), "after": folding.row.get("after", 0)}
    return say("undo_folding", lang, **facts)


def _parse_undo(asked: str) -> tuple[str, int]:
    """Parse what /undo and /redo take: `files`, `folding`, a number, or both."""
    words = asked.split()
    what = next((word for word in words if word in ("files", "folding")), "")
    return what, max([_parse_number(word, 1) for word in words if word != what] or [1])


async def _redo(context: CommandContext, asked: str) -> CommandResult:
    from yohaku.agent.commands import files

    what, count = _parse_undo(asked)
    done = await _agent_of(context).redo(count) if what != "files" else ()
    if done:
        return CommandResult(say("redo_done", context.lang, count=len(done)))
    told = await files.take_back(context, count, "redo") if what != "folding" else ""
    return CommandResult(told or say("redo_none", context.lang))


async def _diff(context: CommandContext, _: str) -> CommandResult:
    from yohaku.agent.commands.files import session_diff

    return CommandResult(session_diff(_agent_of(context).file_history, context.lang))


async def _why(context: CommandContext, ref: str) -> CommandResult:
    receipt = _agent_of(context).session.receipt
    folds = receipt.folds if receipt else ()
    wanted = ref.removeprefix("ref=")
    chosen = [fold for fold in folds if fold.ref == wanted] if wanted else list(folds[:MAX_WHY_ROWS])
    if not chosen:
        return CommandResult(say("why_unknown", context.lang, ref=wanted) if wanted else say("why_none", context.lang))
    lines = [_describe_fold(fold, context.lang) for fold in chosen]
    more = (
        []
        if wanted or len(folds) <= MAX_WHY_ROWS
        else [say("screen_more", context.lang, count=len(folds) - MAX_WHY_ROWS)]
    )
    return CommandResult("\n".join(lines + more))


def _describe_fold(fold: Fold, lang: str) -> str:
    what, why = describe(fold.what, fold.why, lang, fold.detail, fold.made_for)
    return say("why_row", lang, before=fold.before, after=fold.after, what=what, why=why, ref=fold.ref)


async def _recall(context: CommandContext, asked: str) -> CommandResult:
    from yohaku import recall
    from yohaku.recall.ref import parse_ref

    agent, lang, data = _agent_of(context), context.lang, context.begin.settings.data
    store = agent.session.store
    shown, _, offset = asked.partition(" ")
    place = parse_ref(shown)
    if place.ref != shown or (place.ref.isalnum() and len(place.ref) == 12):
        first = _parse_number(offset, place.line or 1) if offset else None
        return CommandResult(str(recall.open_ref(store, place, first)))
    words, refs = asked, None
    if shown == EVERYWHERE:
        words = offset.strip()
    elif data != Path():
        refs = sessions.refs_of_project(data, agent.root)
    found = recall.search(store, words, 20, refs=refs)
    lines = [f"ref={hit.ref}:{hit.number}: {hit.text}" for hit in found.hits]
    lines = lines or [messages.say("search_none", lang, name=words)]
    return CommandResult("\n".join(lines if refs is None else [*lines, messages.say("search_folder", lang)]))


async def _pin(context: CommandContext, what: str) -> CommandResult:
    session = _agent_of(context).session
    if what:
        return CommandResult(say("pin_done", context.lang, what=session.pin(what)))
    return CommandResult("\n".join(map(str, session.pins)) or say("pin_none", context.lang))


async def _unpin(context: CommandContext, what: str) -> CommandResult:
    return CommandResult(say("pin_gone", context.lang, what=_agent_of(context).session.unpin(what)))


async def _model(context: CommandContext, name: str) -> CommandResult:
    agent, lang = _agent_of(context), context.lang
    word, _, provider = name.partition(" ")
    if word == "forget":
        told = context.begin.forget_key(provider.strip())
        return CommandResult(told) if told else CommandResult(say("key_forget_which", lang), "error")
    chosen = await context.begin.choose_model(context, name, agent.endpoint)
    if chosen is None:
        return CommandResult(say("model_same", lang))
    folded = await agent.switch(*chosen)
    return CommandResult(_join(_describe_model(agent, lang), folded, lang))


async def _window(context: CommandContext, tokens: str) -> CommandResult:
    agent, lang, folded = _agent_of(context), context.lang, None
    if tokens:
        if not (wanted := _parse_number(tokens, 0)):
            return CommandResult(say("window_bad", lang), "error")
        folded = await agent.switch(agent.endpoint, wanted)
    return CommandResult(_join(say("window_now", lang, window=agent.window), folded, lang))


async def _permissions(context: CommandContext, asked: str) -> CommandResult:
    from yohaku.agent.commands import permissions
    from yohaku.agent.toolkit.stored_permissions import StoredPermissions

    settings, lang = context.begin.settings, context.lang
    kept = StoredPermissions(settings.data, _agent_of(context).root)
    if not asked:
        return CommandResult(permissions.list_permissions(kept, settings.permissions, lang))
    gone = permissions.forget_permissions(kept, asked, lang)
    return CommandResult(gone) if gone else CommandResult(say("permissions_which", lang), "error")


async def _init(context: CommandContext, _: str) -> CommandResult:
    return CommandResult(say("init_prompt", context.lang), do="prompt")


async def _mode(context: CommandContext, name: str) -> CommandResult:
    agent, lang = _agent_of(context), context.lang
    if name and name not in MODES:
        return CommandResult(say("mode_bad", lang), "error")
    if name:
        agent.set_mode(MODES[name])
    return CommandResult(say(f"mode_now_{agent.mode.replace('-', '_')}", lang))


async def _resume(context: CommandContext, name: str) -> CommandResult:
    lang, data = context.lang, context.begin.settings.data
    if name in ("", EVERYWHERE, EVERYWHERE.strip("-")):
        found = sessions.list_sessions(data, root=None if name else _agent_of(context).root)
        if not found:
            return CommandResult(say("resume_none", lang), "warning")
        labels = tuple(session.describe(lang, with_folder=bool(name)) for session in found)
        answer = await context.question(say("resume_choose", lang), labels, own_words=False)
        if answer not in labels:
            return CommandResult(say("model_same", lang))
        name = found[labels.index(answer)].id
    path = sessions.find_session(data, name, _agent_of(context).root)
    if path is None:
        return CommandResult(messages.say("no_file", lang, name=name), "error")
    agent = await context.renew(resume=str(path))
    turns = len(agent.conversation.history.turns) if agent else 0
    return CommandResult(say("resume_done", lang, name=path.name, turns=turns), do="redraw")


async def _export(context: CommandContext, name: str) -> CommandResult:
    from yohaku.agent.commands.export import to_markdown
    from yohaku.dialects import dialect_named
    from yohaku.session.transcript import Transcript

    agent, lang = _agent_of(context), context.lang
    history = agent.conversation.history
    if not history.turns:
        return CommandResult(say("export_none", lang), "warning")
    path = agent.root / Path(name or "conversation.md").expanduser()
    if path.exists():
        return CommandResult(say("export_there", lang, name=path), "error")
    dialect = dialect_named(agent.endpoint.dialect)
    match path.suffix:
        case ".jsonl":
            with Transcript(path, dialect.name, agent.endpoint.model, resume=False) as written:
                written.record(dialect.compose(history, agent.endpoint.model))
                calls = [use.call.id for step in history.steps for use in step.uses]
                written.record_outputs({call: ref for call in calls if (ref := agent.session.output_ref(call))})
        case ".json":
            import json

            body = dialect.compose(history, agent.endpoint.model)
            path.write_text(json.dumps(body, ensure_ascii=False, indent=1), "utf-8")
        case _:
            path.write_text(to_markdown(history), "utf-8", errors="backslashreplace")
    return CommandResult(say("export_done", lang, name=path))


async def _clear(context: CommandContext, _: str) -> CommandResult:
    await context.renew()
    return CommandResult(say("clear_done", context.lang), do="redraw")


async def _config(context: CommandContext, names: str) -> CommandResult:
    from yohaku.agent.commands.config import config_text, explain_settings

    settings, lang = context.begin.settings, context.lang
    return CommandResult(explain_settings(settings, names.split(), lang) if names else config_text(settings, lang))


async def _help(context: CommandContext, _: str) -> CommandResult:
    return CommandResult(help_text(context.lang))


async def _quit(context: CommandContext, _: str) -> CommandResult:
    return CommandResult(do="quit")


def _agent_of(context: CommandContext) -> WorkingAgent:
    assert context.agent is not None  # `run_command` has checked it
    return context.agent


def _describe_model(agent: WorkingAgent, lang: str) -> str:
    endpoint = agent.endpoint
    facts = {"model": endpoint.model, "name": endpoint.name, "dialect": endpoint.dialect, "window": agent.window}
    return say("model_now", lang, **facts)


def _join(text: str, folded: ConversationFolded | None, lang: str) -> str:
    """Return the text, with a sentence on the folding that the command led to."""
    return f"{text} {describe_folding(folded, lang)}" if folded else text


def _parse_number(text: str, default: int) -> int:
    """Parse 8192, 8,192 or 8k; the default for anything else."""
    text = text.strip().lower().replace(",", "").replace("_", "")
    factor = {"k": 1024, "m": 1024 * 1024}.get(text[-1:], 1)
    digits = text[:-1] if factor > 1 else text
    return int(digits) * factor if digits.isdecimal() and len(digits) < 10 else default


UNFOLDED = {"inflated": "compact_inflated", "refused": "compact_refused"}
"""Sentences on a folding that was not made, by verdict."""
MODES: Mapping[str, Mode] = {"ask": "ask", "plan": "plan", "yolo": "yolo"}
EVERYWHERE = "--all"
"""Before or instead of a name: in every folder, not only in this project."""
HELP_COLUMNS = 75
"""Columns of /help: a terminal of 80 shows it without breaking lines again."""
MAX_WHY_ROWS = 30
"""Folds listed by /why."""

COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command("compact", "[words]", _compact),
        Command("compress", "[words]", _compact),
        Command("context", "", _context, while_working=True),
        Command("undo", "[files] [count]", _undo),
        Command("redo", "[files] [count]", _redo),
        Command("diff", "", _diff, while_working=True),
        Command("why", "[ref]", _why, while_working=True),
        Command("recall", "<ref or words>", _recall, while_working=True),
        Command("pin", "[ref or text]", _pin, while_working=True),
        Command("unpin", "<ref or text>", _unpin, while_working=True),
        Command("model", "[name]", _model),
        Command("window", "[tokens]", _window),
        Command("permissions", "[forget]", _permissions, while_working=True),
        Command("init", "", _init),
        Command("mode", "[ask, plan or yolo]", _mode, while_working=True),
        Command("resume", "[file or id]", _resume),
        Command("export", "[file]", _export, while_working=True),
        Command("clear", "", _clear),
        Command("config", "[name]", _config, while_working=True, without_agent=True),
        Command("help", "", _help, while_working=True, without_agent=True),
        Command("quit", "", _quit, while_working=True, without_agent=True),
    )
}
