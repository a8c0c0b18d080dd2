"""The agent: prompt → fit → send → stream → tools → step, until there is nothing left to do.

Law: the conversation is well formed at every moment, whatever is stopped, refused or lost; nothing the user typed is
lost either. What happens reaches the surface as values, and only as values.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace

from yohaku.agent import reply as replying
from yohaku.agent import tool_calls
from yohaku.agent.event_queue import Endless, Stopped
from yohaku.agent.events import Event, TurnEnded, UserNotice
from yohaku.agent.small_models import implied_edit, preload
from yohaku.agent.small_models.repetition import RepetitionGuard, once
from yohaku.agent.standing import Mark, Standing
from yohaku.agent.strategy import too_much_at_once
from yohaku.client.errors import RequestFailed, TooLong, Truncated
from yohaku.core.errors import BadSetting, DoesNotFit, YohakuError
from yohaku.core.model import Call, Reply, Result, Text
from yohaku.messages import explain

CHANGED = "[changed on disk since you read it: {names}. Read again what you need of it.]"


class Agent(Standing):
    async def _loop(self, prompt: str) -> TurnEnded:
        self._say(prompt)
        repeats, urges, text = RepetitionGuard(self.strategy.tier == "small"), list(replying.URGES), ""
        urge, begin, tries, wrote, urged = "", "", implied_edit.TRIES, False, list[str]()
        foreign: tuple[Reply, str] | None = None
        looked = await preload.look(self, prompt, self._use)
        for _ in range(self.steps):
            foldings = self.foldings
            answer = await replying.answered(self, urge, begin, text if urge in urged else "")
            begin = ""
            if self.foldings > foldings:
                repeats.forget()
            reply = replying.understood(self, answer)
            text = replying.said(reply)
            if foreign and urge == replying.JAPANESE:  # no more than words was asked for
                return self._final(*(foreign if reply.calls or not text.strip() else (reply, text)))
            if not reply.calls:
                found = (
                    implied_edit.change(self, prompt, text, wrote, looked.names)
                    if tries
                    else implied_edit.ImpliedEdit()
                )
                if found.urge and found.urge not in urged[-1:] and len(urged) < implied_edit.URGES:
                    urge, begin = found.urge, found.begin
                    urged.append(urge)
                    continue
                reply, tries = Reply((*reply.items, *found.edits)), tries - bool(found.edits)
            if not reply.calls:
                if replying.foreign(self, prompt, text):
                    urge, foreign = replying.JAPANESE, (reply, text)
                    continue
                if text.strip() or urge == replying.SPEAK:
                    return self._final(reply, text)
                urge = replying.SPEAK
                continue
            if repeats.again(reply.calls) or repeats.circling:
                if not urges:
                    return self._give_up(text)
                urge = urges.pop(0)
                repeats.warned(reply.calls)
                self.tell("loop_circling", "warning")
                continue
            urge = ""
            results = await self._use(reply)
            changed = any(map(self._changes, reply.calls))
            wrote |= changed
            repeats.stepped(reply.calls, results, text, changed=changed)
            if looked.failing and changed and not any(result.error for result in results.values()):
                await preload.again(self, looked.failing, self._use)
            self._take_in()
        self.tell("loop_steps", "warning", steps=self.steps)
        return TurnEnded("steps", text)

    async def work(self, prompt: str) -> AsyncGenerator[Event, None]:
        """Everything that happens while the prompt is answered. Closing it stops the work."""
        if self.busy:
            raise BadSetting("it is at work: queue what you want to say")
        self.busy = True
        try:
            async with aclosing(self._ear.of(self._work(prompt))) as events:
                async for event in events:
                    yield event
        finally:
            self.busy = False

    def stop(self) -> None:
        """Ends the step: what runs is killed, what was said and found stays."""
        self._ear.stop()

    def queue(self, text: str) -> None:
        """Typed while it works: taken in at the next step, and never lost."""
        self._queue.append(text)

    def unqueue(self) -> str | None:
        return self._queue.pop(0) if self._queue else None

    @property
    def queued(self) -> tuple[str, ...]:
        return tuple(self._queue)

    async def _work(self, prompt: str) -> None:
        mark = self.mark()
        try:
            ended = await self._loop(prompt)
        except Stopped:
            ended = TurnEnded("stopped", self._kept(self._ear.said, tool_calls.STOPPED))
        except Endless:
            self.tell("loop_endless", "error")
            ended = TurnEnded("failed", self._kept(once(self._ear.said)))
        except DoesNotFit as wrong:
            ended = self._too_big(wrong, mark)
        except (TooLong, Truncated):
            self.tell("loop_too_long", "error")
            ended = TurnEnded("too_big")
        except RequestFailed as wrong:
            self.hear(UserNotice(wrong.said(self.lang), "error"))
            ended = TurnEnded("failed", self._kept(self._ear.said))
        except YohakuError as wrong:
            self.hear(UserNotice(explain(wrong, self.lang), "error"))
            ended = TurnEnded("failed")
        await self._keep(ended)
        self.hear(self.gauge)
        self.hear(ended)

    async def _keep(self, ended: TurnEnded) -> None:
        """What was said last is fitted too: then it is in the transcript, and folded now, while nobody waits.

        After a stop nothing more is begun that takes time. What does not fit is told when it is to be sent.
        """
        if self.conversation.began and (ended.why == "done" or self.gauge.used < self.folds_at):
            with suppress(YohakuError, Stopped):
                await (self.fitted() if ended.why == "done" else self._fit())

    def _say(self, prompt: str) -> None:
        budget, weight = self.session.budget, self.meter.count(prompt)
        if self.ledger.fixed < budget.limit and too_much_at_once(self.window, weight, budget, self.ledger):
            self.tell("loop_split", window=self.window)
        self.said("\n\n".join(filter(None, (prompt, self._changed()))))

    async def _use(self, reply: Reply) -> dict[str, Result]:
        results: dict[str, Result] = {}
        try:
            await tool_calls.used(self, reply, results)
        finally:
            self.settle(reply, self._noted(tool_calls.stopped(reply, results)))
        self.hear(self.gauge)  # the first, cheap check: it says when the next call will fold
        return results

    def _final(self, reply: Reply, text: str) -> TurnEnded:
        if not text.strip():
            self.tell("loop_said_nothing", "warning")
        self.settle(reply, {})
        return TurnEnded("done", text)

    def _take_in(self) -> None:
        while (text := self.unqueue()) is not None:
            self._say(text)

    def _noted(self, results: dict[str, Result]) -> dict[str, Result]:
        """With a note of files that somebody else has changed, in the last of them."""
        if not (note := self._changed()) or not results:
            return results
        name, result = list(results.items())[-1]
        first, *rest = result.parts or (Text(""),)
        noted = Text(f"{first.text}\n{note}") if isinstance(first, Text) else first
        return {**results, name: replace(result, parts=(noted, *rest))}

    def _changed(self) -> str:
        names = self.files.changed()
        return CHANGED.format(names=", ".join(names)) if names else ""

    def _changes(self, call: Call) -> bool:
        tool = self.tool(call.name)
        return tool is not None and tool.kind == "write"

    def _give_up(self, text: str) -> TurnEnded:
        self.tell("loop_hopeless", "error")
        return TurnEnded("failed", text)

    def _too_big(self, wrong: DoesNotFit, mark: Mark) -> TurnEnded:
        """A prompt that cannot be sent is taken back, so that the conversation can go on without it."""
        if self.conversation.length == mark.entries + 1:
            self.back(mark)
        verdict = wrong.verdict
        if verdict.what.startswith("the system prompt"):  # ours: the user cannot shorten it
            self.tell("loop_window_small", "error", needs=verdict.needs, limit=verdict.limit)
        else:
            what = explain(wrong, self.lang).removeprefix("does not fit: ").removeprefix("収まりません: ")
            self.tell("loop_does_not_fit", "error", what=what.rstrip(".。"))
        return TurnEnded("too_big")

    def _kept(self, text: str, note: str = "") -> str:
        """What the model had said when it was interrupted is part of the conversation."""
        if text.strip():
            self.settle(Reply((Text(f"{text}\n{note}".rstrip()),)), {})
        return text
