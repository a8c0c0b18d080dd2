"""Sessions of sixty steps on a real llama.cpp server whose chat template insists on alternation.

Folding alone must bring no refusal. A server that wants more than the input has is found out by its first refusals.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.scripted import tool
from tests.models import tiny
from tests.models.conftest import WINDOW, made
from tests.models.serving import PATHS, Refusal, Served
from tests.models.sessions import TinyMeter
from yohaku.agent.agent import Agent
from yohaku.agent.events import ConversationFolded, TurnEnded
from yohaku.agent.gauge import meter_for
from yohaku.agent.host.role_rules_cache import RoleRulesCache
from yohaku.agent.toolkit.tool import Arguments, ToolContext, ToolResult
from yohaku.client.connection import Connection
from yohaku.client.endpoint import Endpoint
from yohaku.client.errors import RequestRefused
from yohaku.client.faults import Fault
from yohaku.client.model_client import ModelClient
from yohaku.config.settings import Settings
from yohaku.core.folds import Gist
from yohaku.core.history_builder import history_of
from yohaku.core.model import Call, Result, Step, Text, ToolUse, Turn
from yohaku.dialects import dialect_named
from yohaku.dialects.answer import Answer
from yohaku.dialects.role_rules import NO_RULES, RoleRules
from yohaku.recipes.auto import RECIPES
from yohaku.session.session import Session

pytestmark = pytest.mark.slow  # a real server with a tiny model

STEPS = 60


@pytest.fixture(scope="module")
def taking_turns(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return made(tmp_path_factory.mktemp("turns"), tiny.WANTS_TURNS)


@pytest.fixture(scope="module")
def of_two_roles(tmp_path_factory: pytest.TempPathFactory) -> Served:
    return made(tmp_path_factory.mktemp("roles"), tiny.WANTS_TWO_ROLES)


def turn(number: int) -> Turn:
    """A call and an answer, or only an answer."""
    done = Step((Text(f"Part {number} is read. " + "It is as it was. " * (number % 7)),))
    if number % 3 == 0:
        return Turn((Text(f"What of part {number}?"),), (done,))
    found = Result((Text(f"line of part {number}\n" * (10 + number % 30)),))
    call = Call(f"call_{number}", "read_file", json.dumps({"path": f"part_{number}.py"}))
    return Turn((Text(f"Read part {number}. Never touch the database."),), (Step((ToolUse(call, found),)), done))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("dialect", PATHS)
def test_after_every_folding_the_template_takes_the_conversation(
    taking_turns: Served, dialect: str, recipe: str
) -> None:
    wire = dialect_named(dialect)
    session = Session(4_096, recipe=recipe, dialect=dialect, meter=TinyMeter())
    foldings = 0
    for number in range(STEPS):
        turns = [*map(turn, range(number)), Turn(turn(number).prompt)]
        body = wire.compose_question(history_of(turns, [Text("Be careful.")]), "tiny")
        sent = session.fit(body)
        assert session.receipt
        foldings += any(isinstance(fold, Gist) for fold in session.receipt.outcome.folds)
        reply = taking_turns.ask(dialect, {**sent, **wire.limit_fields(8, "tiny")})  # raises `Refusal`
        assert wire.read_reply(reply).text
    assert foldings >= 3


def test_the_template_refuses_two_prompts_in_a_row(taking_turns: Served) -> None:
    asked = [{"role": "user", "content": "Hi."}, {"role": "user", "content": "There."}]
    with pytest.raises(Refusal, match="roles must alternate"):
        taking_turns.ask("openai_chat", {"messages": asked})


# The agent


class CountingConnection(Connection):
    """Counts the requests that the server refuses."""

    refused = 0

    async def post(self, *args: Any, **how: Any) -> Answer | Fault:
        got = await super().post(*args, **how)
        self.refused += isinstance(got, Fault) and isinstance(got.error, RequestRefused)
        return got


class CountingClient(ModelClient):
    def __init__(self, endpoint: Endpoint, **how: Any) -> None:
        super().__init__(endpoint, **how)
        self.counting = CountingConnection(endpoint, self._connection.timeouts)
        self._connection = self.counting


def endpoint(served: Served) -> Endpoint:
    url = f"{served._server.listening_address}/v1"
    return Endpoint("llama.cpp", "llama.cpp", "openai_chat", url, "tiny", local=True, info={"path": str(served.model)})


def worked(served: Served, root: Path, prompts: int, roles: RoleRules = NO_RULES) -> tuple[int, RoleRules, int]:
    """Refused requests, the rules that were learned, and how often it was folded."""
    here, learned = endpoint(served), [roles]
    session = Session(WINDOW, dialect="openai_chat", meter=meter_for(here))
    budget = session.budget
    client = CountingClient(here, window=budget.window, reserve=budget.reserve, roles=roles, on_roles=learned.append)

    async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult("a line of the file\n" * 40)

    agent = Agent(
        here, window=budget.window, root=root, tools=(tool("read_file", run),), session=session, client=client
    )

    async def play() -> list[Any]:
        events = [event for n in range(prompts) async for event in agent.work(f"Read app.py again ({n}).")]
        await agent.close()
        return events

    events = asyncio.run(play())
    assert [event.why for event in events if isinstance(event, TurnEnded)] == ["done"] * prompts
    folded = sum(isinstance(event, ConversationFolded) for event in events)
    return client.counting.refused, learned[-1], folded


def test_the_agent_works_through_sixty_steps_without_a_refusal(taking_turns: Served, tmp_path: Path) -> None:
    refused, learned, folded = worked(taking_turns, tmp_path, STEPS)
    assert (refused, learned) == (0, NO_RULES) and folded >= 2


def test_a_model_without_a_tool_role_is_found_out_once_and_works(of_two_roles: Served, tmp_path: Path) -> None:
    refused, learned, folded = worked(of_two_roles, tmp_path, STEPS)
    assert learned.no_tools and refused <= 2 and folded >= 2
    assert worked(of_two_roles, tmp_path, 2, learned)[0] == 0, "what is known is not found out again"


def test_what_was_found_out_is_kept_for_the_next_start(of_two_roles: Served, tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    here = endpoint(of_two_roles)

    async def run(context: ToolContext, arguments: Arguments) -> ToolResult:
        return ToolResult("a line of the file\n")

    async def play() -> None:
        one = Agent(here, window=WINDOW, root=tmp_path, tools=(tool("read_file", run),), settings=settings)
        assert [event.why async for event in one.work("Read.") if isinstance(event, TurnEnded)] == ["done"]
        await one.close()

    asyncio.run(play())
    assert RoleRulesCache(settings.data).rules(here).no_tools
