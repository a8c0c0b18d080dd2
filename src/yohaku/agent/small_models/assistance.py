"""Help for a model while it works on one prompt, behind three hooks of the agent's loop.

`Assistance` is what every model gets: one that repeats itself or says nothing is nudged. `SmallModelAssistance` also
opens what the prompt names, makes changes that are only shown, and wants Japanese answered in Japanese.

Law: help only decides; calls are run and the conversation is changed by the agent alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from yohaku.agent.model_texts import REFUSED
from yohaku.agent.reply import Nudge, text_of
from yohaku.agent.small_models import Workspace
from yohaku.agent.small_models.implied_edit import (
    MAX_EDITS,
    MAX_NUDGES,
    WRONG_LINE,
    ImpliedEdit,
    find_implied_edit,
)
from yohaku.agent.small_models.preload import Preloaded, RunTools, preload, rerun
from yohaku.agent.small_models.progress import CommandFailure, has_helped, read_failure
from yohaku.agent.small_models.put_back import edits_back, read_texts
from yohaku.agent.small_models.repetition import RepetitionGuard
from yohaku.agent.small_models.rewrites import Rewrites
from yohaku.agent.small_models.text_calls import drop_attempts
from yohaku.analysis.change_requests import asks_for_change
from yohaku.analysis.language import has_japanese, is_japanese
from yohaku.core.model import Call, Reply, Text, ToolUse
from yohaku.dialects.json_values import arguments_object

ACT = Nudge(
    "[You have made this call already. Its result is above, and nothing has changed since. If a file has to be "
    "changed, call edit or write now. If you have what I asked for, answer in words.]"
)
ANSWER = Nudge(
    "[That result is known already. Answer now, in words and in my language, with what you have; call no tool.]",
    tools=False,
)
REPETITION_NUDGES = (ACT, ANSWER)
"""For a model that repeats itself, one after the other; then the agent gives up."""
SPEAK = Nudge("[You said nothing. Make the next call, or answer in words and in my language.]")
NO_CALL = "[That is no call that can be made. Call one of {names}, with all of its arguments, or answer in words.]"
TASK = {"en": "[The task: {task}]", "ja": "[依頼された内容: {task}]"}
MAX_REMINDED_CHARS = 400
JAPANESE = Nudge("[日本語で答えてください。]", tools=False)

_OTHER_LANGUAGE = re.compile(r"英語|英文|英訳|翻訳|訳して|english", re.IGNORECASE)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


class RunCalls(NamedTuple):
    reply: Reply


class Finish(NamedTuple):
    reply: Reply


class Retry(NamedTuple):
    """Drop the reply and request another."""

    nudge: Nudge
    circling: bool = False


class GiveUp(NamedTuple):
    pass


Decision: TypeAlias = RunCalls | Finish | Retry | GiveUp


class Assistance:
    """Help for any model."""

    def __init__(self, workspace: Workspace, prompt: str) -> None:
        self.workspace = workspace
        self.prompt = prompt
        self.guard = RepetitionGuard(workspace.tier == "small")
        self.nudges = list(REPETITION_NUDGES)
        self.nudge: Nudge | None = None
        """The nudge that the newest reply answers."""
        self.changed = False
        """Whether a call of this turn has changed something, or was refused by the user."""
        self.notices: list[tuple[str, dict[str, str]]] = []
        """What the user is to be told, by the names of messages."""

    async def before_first_request(self, run_tools: RunTools) -> None:
        pass

    def remind(self, prompt: str) -> Nudge | None:
        """Return what to say again of the newest prompt, once there are results behind it."""
        return None

    def after_endless_reply(self, nudge: Nudge | None) -> Nudge | None:
        """Return what to say when a reply had no end, in place of this nudge; None to give up."""
        return None

    def after_reply(self, reply: Reply, *, folded: bool) -> Decision:
        """`folded`: something was folded before this request, so that the model may have to look again."""
        if folded:
            self.guard.forget()
        decision = self._check_calls(reply) if reply.calls else self._check_answer(reply)
        self.nudge = decision.nudge if isinstance(decision, Retry) else None
        return decision

    async def after_tools(self, uses: tuple[ToolUse, ...], text: str, run_tools: RunTools) -> None:
        """`text`: what the model wrote beside its calls."""
        writes = [use.result for use in uses if self._is_write(use)]
        changed = not all(result.error for result in writes)
        self.changed |= changed or any(result.text.startswith(REFUSED) for result in writes)
        self.guard.add_step(uses, text, changed=changed)

    def _check_calls(self, reply: Reply) -> Decision:
        if not self.guard.repeats_newest(reply.calls) and not self.guard.circling:
            return RunCalls(reply)
        if not self.nudges:
            return GiveUp()
        self.guard.warn(reply.calls)
        return Retry(self.nudges.pop(0), circling=True)

    def _check_answer(self, reply: Reply) -> Decision:
        names, text = [tool.name for tool in self.workspace.tools], text_of(reply)
        left = drop_attempts(text, names) if names else text
        if left != text:
            nudge = Nudge(NO_CALL.format(names=", ".join(names)), previous=text)
            if self.nudge is None or self.nudge.text != nudge.text:
                return Retry(nudge)
            others = (item for item in reply.items if not isinstance(item, Text))
            return Finish(Reply((*others, Text(left)))) if left else Finish(Reply(tuple(others)))
        if text.strip() or self.nudge == SPEAK:
            return Finish(reply)
        return Retry(SPEAK)

    def _is_write(self, use: ToolUse) -> bool:
        tool = self.workspace.tool(use.call.name)
        return tool is not None and tool.kind == "write"


class SmallModelAssistance(Assistance):
    """Help for models in small windows; files are opened and changed only for those on this machine."""

    def __init__(self, workspace: Workspace, prompt: str) -> None:
        super().__init__(workspace, prompt)
        self.preloaded = Preloaded()
        self.edits_left = MAX_EDITS
        self.edit_nudges: list[str] = []
        self.rewrites = Rewrites(workspace, prompt)
        self.failure = CommandFailure()
        self.before: dict[Path, str] = {}
        """The files that the newest calls may change, as they were."""
        self.had_endless_reply = False
        self.pending: Nudge | None = None
        """What is said with the next request."""
        self.foreign: Reply | None = None
        """An answer in another language than Japanese, kept for want of a better one."""

    async def before_first_request(self, run_tools: RunTools) -> None:
        if self._hands_on:
            self.preloaded = await preload(self.workspace, self.prompt, run_tools)
            self.failure = read_failure(self.preloaded.output)
            if asks_for_change(self.prompt):
                self.rewrites.suspect([*self.preloaded.suspects])
                self.rewrites.calls, self.rewrites.code = self.preloaded.calls, self.preloaded.code
                if self.workspace.has_small_model:
                    self.pending = self._ask_for_more("") if self.rewrites.known else None

    def remind(self, prompt: str) -> Nudge | None:
        pending, self.pending = self.pending, None
        needed = self.workspace.has_small_model and self._hands_on and not self.changed
        return pending or (Nudge(_say_again(prompt), reminds=True) if needed else None)

    def after_endless_reply(self, nudge: Nudge | None) -> Nudge | None:
        if self.had_endless_reply or not self.workspace.has_small_model:
            return None
        self.had_endless_reply = True
        return (nudge or Nudge(_say_again(self.prompt)))._replace(vary=True)

    async def after_tools(self, uses: tuple[ToolUse, ...], text: str, run_tools: RunTools) -> None:
        await super().after_tools(uses, text, run_tools)
        writes = [use for use in uses if self._is_write(use)]
        if not self._hands_on or not writes:
            return
        if all(use.result.error for use in writes):
            uses = await self._mend(writes, run_tools)
        if self.preloaded.failing and any(self._is_write(use) and not use.result.error for use in uses):
            self.rewrites.defer(text)
            await self._judge(run_tools)

    async def _mend(self, missed: list[ToolUse], run_tools: RunTools) -> tuple[ToolUse, ...]:
        """Make an edit that did not meet the text of the file by the names of what it defines, else ask for that."""
        use = next((use for use in missed if "old_string" in use.result.text and use.call.name == "edit"), None)
        arguments = arguments_object(use.call.arguments) if use else {}
        old, new = (str(arguments.get(name) or "") for name in ("old_string", "new_string"))
        if not new.strip() or not self.edits_left:
            return ()
        self.edits_left -= 1
        implied = find_implied_edit(self.workspace, self.prompt, f"```\n{new}\n```")
        if implied.edits:
            made = await run_tools(Reply(implied.edits))
            self.changed |= any(not use.result.error for use in made)
            return made
        for path in self._paths_of(missed)[:1] if asks_for_change(self.prompt) else ():
            self.pending = self.rewrites.after_missed_edit(path, old, new)
        return ()

    async def _judge(self, run_tools: RunTools) -> None:
        """Run the command that failed again; what has not helped is taken back."""
        result = await rerun(self.preloaded.failing, run_tools)
        if not result.error:
            self.edits_left = 0  # nothing more is changed for the model
            if self.workspace.has_small_model:
                command = self.preloaded.failing
                self.pending = Nudge(self.rewrites.wording.passed.format(command=command))
            return
        failure = read_failure(result.text)
        if has_helped(self.failure, failure) is not False:
            self.failure = failure
            return
        calls = edits_back(self.workspace, self.before)
        if not calls:
            return
        made = await run_tools(Reply(tuple(calls)))
        if any(use.result.error for use in made):
            return
        self.changed = False
        names = ", ".join(str(arguments_object(call.arguments)["path"]) for call in calls)
        self.notices.append(("loop_taken_back", {"names": names, "command": self.preloaded.failing}))
        self.pending = self._ask_for_more("", back=True)

    def _ask_for_more(self, said: str, *, back: bool = False) -> Nudge | None:
        """Ask for the next function that may be wrong; at the end for what was found out."""
        nudge = self.rewrites.ask(self.failure.why, said, back=back)
        self.edits_left *= not self.rewrites.ended
        return nudge

    def _paths_of(self, uses: Iterable[ToolUse] | Iterable[Call]) -> list[Path]:
        calls = [each.call if isinstance(each, ToolUse) else each for each in uses]
        named = (arguments_object(call.arguments).get("path") for call in calls)
        return [(self.workspace.root / name).resolve() for name in named if isinstance(name, str) and name]

    def after_reply(self, reply: Reply, *, folded: bool) -> Decision:
        if self.foreign:  # only words were wanted of this reply
            return Finish(self.foreign if reply.calls or not text_of(reply).strip() else reply)
        decision = super().after_reply(reply, folded=folded)
        if isinstance(decision, RunCalls):
            self.before = read_texts(self._paths_of(decision.reply.calls))
        return decision

    def _check_answer(self, reply: Reply) -> Decision:
        text = text_of(reply)
        implied = self._find_edit(text)
        if implied.nudge and self.rewrites.known and not self.changed:
            self.rewrites.defer(text if implied.same else "")
            if nudge := self._ask_for_more("" if implied.same else text):
                return Retry(nudge)
        elif implied.nudge and implied.nudge not in self.edit_nudges[-1:] and len(self.edit_nudges) < MAX_NUDGES:
            self.edit_nudges.append(implied.nudge)
            again = len(self.edit_nudges) > 1
            task = f"{_say_again(self.prompt)}\n" if self.workspace.has_small_model else ""
            return Retry(Nudge(task + implied.nudge, begin=implied.begin, previous=text, vary=again))
        if implied.edits:
            self.edits_left -= 1
            return self._check_calls(Reply((*reply.items, *implied.edits)))
        if is_foreign(self.prompt, text):
            self.foreign = reply
            return Retry(JAPANESE)
        return super()._check_answer(reply)

    def _find_edit(self, text: str) -> ImpliedEdit:
        if not self._hands_on or not self.edits_left:
            return ImpliedEdit()
        found = find_implied_edit(self.workspace, self.prompt, text, self.changed, self.preloaded.names)
        if found.nudge in self.edit_nudges[: None if found.same else -1]:  # it has not helped
            return ImpliedEdit(nudge=WRONG_LINE.format(why=self.preloaded.failure))
        return found

    @property
    def _hands_on(self) -> bool:
        return self.workspace.endpoint.local and bool(self.workspace.tools)


def assist(workspace: Workspace, prompt: str) -> Assistance:
    return (SmallModelAssistance if workspace.tier == "small" else Assistance)(workspace, prompt)


def follow_tier(assistance: Assistance) -> Assistance:
    """Return the help that suits the model now: in the middle of a turn its window may turn out to be small."""
    if isinstance(assistance, SmallModelAssistance) or assistance.workspace.tier != "small":
        return assistance
    new = SmallModelAssistance(assistance.workspace, assistance.prompt)
    new.guard, new.nudges, new.nudge = assistance.guard, assistance.nudges, assistance.nudge
    new.changed = assistance.changed
    return new


def _say_again(prompt: str) -> str:
    """Return a prompt as a reminder: behind a few results a small model no longer knows what was asked."""
    text = " ".join(prompt.split())
    shown = text if len(text) <= MAX_REMINDED_CHARS else text[:MAX_REMINDED_CHARS] + " …"
    return TASK["ja" if is_japanese([prompt]) else "en"].format(task=shown)


def is_foreign(prompt: str, reply: str) -> bool:
    """Return whether Japanese was answered in another language, which the user did not want."""
    if not is_japanese([prompt]) or _OTHER_LANGUAGE.search(prompt):
        return False
    words = _CODE.sub("", reply)
    return any(map(str.isalpha, words)) and not has_japanese(words)
