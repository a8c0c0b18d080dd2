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
from typing import Literal

from yohaku import messages
from yohaku.agent import sessions
from yohaku.agent.commands import permissions
from yohaku.agent.events import ConversationFolded
from yohaku.agent.format import describe_author, describe_folding, pad
from yohaku.agent.protocols import CommandContext, WorkingAgent
from yohaku.agent.toolkit.stored_permissions import StoredPermissions
from yohaku.core.errors import YohakuError
from yohaku.core.folds import Fold
from yohaku.messages import describe, say


@dataclass(frozen=True, slots=True)
class CommandResult:
    text: str = ""
    kind: Literal["note", "warning", "error"] = "note"
    do: Literal["", "quit", "redraw"] = ""
    """Left to the user interface; "redraw": the conversation was exchanged."""


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


async def run_command(context: CommandContext, typed: str) -> CommandResult:
    """Run a line that begins with a slash."""
    name, _, rest = typed.strip().removeprefix("/").partition(" ")
    lang = context.lang
    command = COMMANDS.get(name.lower())
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
        return [f"/{each}" for each in COMMANDS if each.startswith(name[1:].lower())]
    if name == "/resume" and data is not None:
        return [f"/resume {session.id}" for session in sessions.list_sessions(data) if session.id.startswith(rest)]
    if name == "/permissions" and data is not None:
        return [f"/permissions {each}" for each in permissions.complete_permissions(rest, data, root or Path.cwd())]
    return []


def help_text(lang: str) -> str:
    width = max(len(command.usage) for command in COMMANDS.values()) + 2
    lines = [f"{pad(command.usage, width)}{command.about(lang)}" for command in COMMANDS.values()]
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


async def _undo(context: CommandContext, count: str) -> CommandResult:
    done, folded = await _agent_of(context).undo(_parse_number(count, 1))
    if not done:
        return CommandResult(say("undo_none", context.lang))
    facts = {"after": done[0].row.get("after", 0), "before": done[-1].row.get("before", 0)}
    text = say("undo_done", context.lang, count=len(done), **facts)
    return CommandResult(f"{text} {say('undo_part', context.lang, after=folded.receipt.after)}" if folded else text)


async def _redo(context: CommandContext, count: str) -> CommandResult:
    done = await _agent_of(context).redo(_parse_number(count, 1))
    return CommandResult(say("redo_done", context.lang, count=len(done)) if done else say("redo_none", context.lang))


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

    store = _agent_of(context).session.store
    shown, _, offset = asked.partition(" ")
    ref, line = parse_ref(shown)
    if ref != shown or (ref.isalnum() and len(ref) == 12):
        return CommandResult(str(recall.read(store, ref, _parse_number(offset, line or 1), 200)))
    found = recall.search(store, asked, 20)
    hits = [f"ref={hit.ref}:{hit.number}: {hit.text}" for hit in found.hits]
    return CommandResult("\n".join(hits) or messages.say("search_none", context.lang, name=asked))


async def _pin(context: CommandContext, what: str) -> CommandResult:
    session = _agent_of(context).session
    if what:
        return CommandResult(say("pin_done", context.lang, what=session.pin(what)))
    return CommandResult("\n".join(map(str, session.pins)) or say("pin_none", context.lang))


async def _unpin(context: CommandContext, what: str) -> CommandResult:
    return CommandResult(say("pin_gone", context.lang, what=_agent_of(context).session.unpin(what)))


async def _model(context: CommandContext, name: str) -> CommandResult:
    agent, lang = _agent_of(context), context.lang
    found = await context.begin.models(name)
    if not found:
        return CommandResult(say("model_none", lang), "warning")
    chosen = found[0]
    if not name:
        labels = tuple(f"{endpoint.model}  ({endpoint.name}, {window:,})" for endpoint, window in found)
        answer = await context.question(say("model_choose", lang), labels, own_words=False)
        if answer not in labels:
            return CommandResult(say("model_same", lang))
        chosen = found[labels.index(answer)]
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
    settings, lang = context.begin.settings, context.lang
    kept = StoredPermissions(settings.data, _agent_of(context).root)
    if not asked:
        return CommandResult(permissions.list_permissions(kept, settings.permissions, lang))
    gone = permissions.forget_permissions(kept, asked, lang)
    return CommandResult(gone) if gone else CommandResult(say("permissions_which", lang), "error")


async def _resume(context: CommandContext, name: str) -> CommandResult:
    lang, data = context.lang, context.begin.settings.data
    if not name:
        found = sessions.list_sessions(data)
        if not found:
            return CommandResult(say("resume_none", lang), "warning")
        labels = tuple(f"{session.id}  {session.title}" for session in found)
        answer = await context.question(say("resume_choose", lang), labels, own_words=False)
        if answer not in labels:
            return CommandResult(say("model_same", lang))
        name = found[labels.index(answer)].id
    path = sessions.find_session(data, name)
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
MAX_WHY_ROWS = 30
"""Folds listed by /why."""

COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        Command("compact", "[words]", _compact),
        Command("compress", "[words]", _compact),
        Command("context", "", _context, while_working=True),
        Command("undo", "[count]", _undo),
        Command("redo", "[count]", _redo),
        Command("why", "[ref]", _why, while_working=True),
        Command("recall", "<ref or words>", _recall, while_working=True),
        Command("pin", "[ref or text]", _pin, while_working=True),
        Command("unpin", "<ref or text>", _unpin, while_working=True),
        Command("model", "[name]", _model),
        Command("window", "[tokens]", _window),
        Command("permissions", "[forget]", _permissions, while_working=True),
        Command("resume", "[file or id]", _resume),
        Command("export", "[file]", _export, while_working=True),
        Command("clear", "", _clear),
        Command("config", "[name]", _config, while_working=True, without_agent=True),
        Command("help", "", _help, while_working=True, without_agent=True),
        Command("quit", "", _quit, while_working=True, without_agent=True),
    )
}
