"""One reply of the model: fitted, sent, heard; and healed once where it is too long or was cut off.

Law: nothing is sent that was not fitted, and what a provider teaches about its window holds from then on.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

from yohaku.agent.event_queue import Enough
from yohaku.agent.events import ReplyFinished, TextDelta
from yohaku.agent.overflow import healed, more_room
from yohaku.agent.small_models.text_calls import calls_in
from yohaku.analysis.language import has_japanese, is_japanese
from yohaku.client.errors import CutOff, TooLong, Truncated
from yohaku.core.model import Call, Part, Reply, Text
from yohaku.dialects.dialect import RAW, Answer, Json, Usage, arguments_object, dump

if TYPE_CHECKING:
    from yohaku.agent.loop import Agent

BELIEVED = 0.9
"""Of what was sent: Ollama leaves out of its count what it finds in its cache, and that is no lesson."""

ACT = (
    "[You have made this call already. Its result is above, and nothing has changed since. If a file has to be "
    "changed, call edit or write now. If you have what I asked for, answer in words.]"
)
ANSWER = "[That result is known already. Answer now, in words and in my language, with what you have; call no tool.]"
STEADY_TEMPERATURE = 0.2
SPEAK = "[You said nothing. Make the next call, or answer in words and in my language.]"
JAPANESE = "[日本語で答えてください。]"
"""Said to a small model that answers someone who writes Japanese in another language."""
URGES = (ACT, ANSWER)
"""What is said to a model that repeats itself, one after the other."""
_OTHER = re.compile(r"英語|英文|英訳|翻訳|訳して|english", re.IGNORECASE)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
ENDING = re.compile(r"[}>`)]")


async def answered(agent: Agent, urge: str = "", begin: str = "", before: str = "") -> Answer:
    """The model's answer to the conversation as it stands; raises `TooLong` and others only after a second try.

    `urge` is said on top of it, this once, behind what the model said `before`; with `begin` its answer begins so,
    where the server can begin one.
    """
    tried = False
    begin = begin if agent.talk.begins else ""
    while True:
        body = await agent.fitted()
        sent = agent.gauge.used
        asked = _steadied(_urged(body, agent, urge, begin, before) if urge else body, agent)
        if not agent.endpoint.local:
            asked = agent.conversation.dialect.mark_cache(asked)
        agent.listen((lambda text: bool(_calls(agent, text))) if agent.endpoint.local and agent.tools else None)
        if begin:
            agent.hear(TextDelta(begin))
        try:
            answer = await agent.doing(agent.talk.send(asked, agent.hear, weighs=sent))
        except Enough:
            agent.hear(ReplyFinished(None, "call"))
            return Answer(Reply((Text(agent.heard),)))
        except (TooLong, Truncated) as wrong:
            if tried:
                raise
            _heal(agent, wrong, sent)
        except CutOff as wrong:
            if tried:
                return _kept(agent, wrong.answer)
            agent.tell("loop_cut_off", "warning")
        else:
            agent.talk.reserve = agent.session.budget.reserve
            _learn(agent, answer.usage if not urge else None, sent)
            agent.hear(ReplyFinished(answer.usage, answer.stop))
            answer = _begun(answer, begin)
            if not agent.conversation.dialect.was_cut_off(answer):
                return answer
            if tried:
                return _kept(agent, answer)
            await _make_room(agent)
        tried = True


def understood(agent: Agent, answer: Answer) -> Reply:
    """The reply with calls that small models write as text made into calls, and every call one that can be sent."""
    reply, agent.replies = answer.reply, agent.replies + 1
    if not reply.calls and agent.tools:
        text, written = _first(agent, said(reply))
        if written:
            beside = (item for item in reply.items if not isinstance(item, Text | Call))
            reply = Reply((*beside, *((Text(text),) if text.strip() else ()), *written))
    items: list[Part | Call] = []
    for number, item in enumerate(reply.items):
        if isinstance(item, Call):
            # Some servers number their calls anew in each reply, and some dialects want each id once.
            name = (
                item.id if item.id and item.id not in agent.ids else f"call_{agent.replies}_{number}_{len(agent.ids)}"
            )
            agent.ids.add(name)
            items.append(Call(name, item.name, dump(arguments_object(item.arguments or "{}"))))
        else:
            items.append(item)
    return Reply(tuple(items))


def foreign(agent: Agent, prompt: str, said: str) -> bool:
    """Whether a small model has answered Japanese in words of another language, which nobody asked for."""
    if agent.strategy.tier != "small" or not is_japanese([prompt]) or _OTHER.search(prompt):
        return False
    words = _CODE.sub("", said)
    return any(map(str.isalpha, words)) and not has_japanese(words)


def _calls(agent: Agent, text: str) -> tuple[Call, ...]:
    """Calls that are written as text."""
    schemas = {tool.name: tool.parameters for tool in agent.tools}
    return calls_in(text, tuple(schemas), schemas, salt=str(agent.replies))[1] if _may_call(text) else ()


def _first(agent: Agent, text: str) -> tuple[str, tuple[Call, ...]]:
    """The first of them, and what was said before it: what small models say after a call, they have made up."""
    found = _calls(agent, text)
    if not found:
        return text, ()
    ends = [match.end() for match in ENDING.finditer(text)]
    end = ends[min(bisect_left(ends, 1, key=lambda at: len(_calls(agent, text[:at]))), len(ends) - 1)]
    schemas = {tool.name: tool.parameters for tool in agent.tools}
    before, calls = calls_in(text[:end], tuple(schemas), schemas, salt=str(agent.replies))
    return before, (calls or found)[:1]


def _may_call(text: str) -> bool:
    """Quickly: nearly all texts hold none."""
    return "name" in text or "tool" in text or "(" in text


def said(reply: Reply) -> str:
    return "".join(item.text for item in reply.items if isinstance(item, Text))


def _heal(agent: Agent, wrong: TooLong | Truncated, sent: int) -> None:
    """The next request is smaller by what the provider says, and so is every one after it."""
    budget = agent.session.budget
    named = wrong.overflow.limit if isinstance(wrong, TooLong) else wrong.window or wrong.told
    if isinstance(wrong, TooLong):
        found = healed(budget, sent, named, wrong.overflow.needs)
        agent.tell("loop_window_learned", "warning", window=found.window)
    else:
        found = healed(budget, sent, named)
        agent.tell("loop_truncated", "warning", told=wrong.told, sent=wrong.sent)
    agent.resize(found, sure=found.window == named)


def _learn(agent: Agent, usage: Usage | None, sent: int) -> None:
    if usage and usage.prompt and (agent.conversation.dialect.reports_cached_tokens or usage.prompt >= BELIEVED * sent):
        agent.session.learn(usage)


async def _make_room(agent: Agent) -> None:
    """For a longer reply: by folding, unless there is room enough that was only not asked for."""
    budget = agent.session.budget
    agent.tell("loop_cut_off", "warning")
    if more_room(budget, agent.gauge.used) < 2 * budget.reserve:
        await agent.fitted(fold=True)
    agent.talk.reserve = more_room(budget, agent.gauge.used)


def _kept(agent: Agent, answer: Answer) -> Answer:
    """Of a reply that was cut off twice: what was said, and those calls that came whole."""
    items = (item for item in answer.reply.items if not isinstance(item, Call) or _whole(item))
    agent.talk.reserve = agent.session.budget.reserve
    agent.tell("loop_still_cut", "warning")
    return Answer(Reply(tuple(items)), answer.usage, answer.stop)


def _whole(call: Call) -> bool:
    return RAW not in arguments_object(call.arguments or "{}")


def _steadied(body: Json, agent: Agent) -> Json:
    """A small model here is asked for what is likeliest: at what servers take by default it writes calls amiss."""
    if not agent.endpoint.local or agent.strategy.tier != "small":
        return body
    return {**agent.conversation.dialect.temperature_fields(STEADY_TEMPERATURE), **body}


def _begun(answer: Answer, begin: str) -> Answer:
    """The answer with what it was begun with, which servers do not say again."""
    if not begin:
        return answer
    first, *rest = answer.reply.items or (Text(""),)
    items = (Text(begin + first.text), *rest) if isinstance(first, Text) else (Text(begin), first, *rest)
    return Answer(Reply(items), answer.usage, answer.stop)


def _urged(body: Json, agent: Agent, urge: str, begin: str, before: str) -> Json:
    """The body with a word for a model that repeats itself, said this once, and the beginning of what it answers.

    Where it is to answer in words the tools stay all the same, if they can, and so does what the server has cached.
    """
    dialect = agent.conversation.dialect
    brief = agent.meter.count(before) <= agent.session.budget.reserve // 3  # this comes on top of what was fitted
    added = [dialect.model_entry(before)] if before.strip() and brief else []
    added += [dialect.user_entry(urge), *([dialect.model_entry(begin)] if begin else [])]
    said = dialect.with_entries(body, [*dialect.entries_of(body), *added])
    return dialect.without_tool_calls(said) if urge in (ANSWER, JAPANESE) else said
