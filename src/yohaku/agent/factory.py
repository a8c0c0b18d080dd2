"""The client and the session of an agent, by endpoint and settings.

Law: an agent that cannot store anything still works.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yohaku import meters
from yohaku.agent.events import Event
from yohaku.agent.gauge import meter_for
from yohaku.agent.hooks import Hooks
from yohaku.agent.host.role_rules_cache import RoleRulesCache
from yohaku.agent.host.speed_cache import SpeedCache
from yohaku.agent.sessions import FOLDER
from yohaku.agent.summary_writer import SummaryWriter
from yohaku.agent.toolkit.ordinary_files import read_ordinary
from yohaku.agent.toolkit.secrets import holds_secrets, redact
from yohaku.client.endpoint import Endpoint
from yohaku.client.window_cache import WindowCache
from yohaku.config.settings import Settings
from yohaku.core.budget import Budget
from yohaku.core.meter import Meter
from yohaku.session.count_gaps import CountGaps
from yohaku.session.recorder import TranscriptFolder
from yohaku.session.session import Session
from yohaku.stores import default_url

if TYPE_CHECKING:
    from yohaku.client.model_client import ModelClient

MAX_FILE_BYTES = 2_000_000
"""Size of a file up to which it is read again after a folding."""


def open_client(
    endpoint: Endpoint, window: int, lang: str, emit: Callable[[Event], None], settings: Settings
) -> ModelClient:
    from yohaku.client.model_client import ModelClient, timeouts_for  # and with it the HTTP client

    timeouts, reserve = timeouts_for(endpoint, settings.stall), choose_reserve(endpoint, window, settings)
    options: dict[str, Any] = {}
    if settings.data != Path():
        known = RoleRulesCache(settings.data)
        options = {"roles": known.rules(endpoint), "on_roles": lambda rules: known.learn(endpoint, rules)}
    return ModelClient(endpoint, window=window, reserve=reserve, lang=lang, notify=emit, timeouts=timeouts, **options)


def choose_reserve(endpoint: Endpoint, window: int, settings: Settings) -> int:
    """Return the tokens kept free for the reply: the user's number where that leaves room for a conversation."""
    wanted = settings.reserve if settings.reserve and settings.reserve <= window // 2 else None
    return Budget.of(window, wanted, endpoint.output).reserve


def open_session(
    endpoint: Endpoint,
    window: int,
    root: Path,
    writer: SummaryWriter,
    hooks: Hooks,
    settings: Settings,
    old: Session | None = None,
    meter: Meter | None = None,
    *,
    beside: bool = False,
) -> Session:
    """Open a session for an endpoint; with `old` it shares that one's store and knows what was folded there.

    `beside`: it is not the same conversation, but one that helps it.
    """
    options: dict[str, Any] = {"store": old.store if old else settings.store or _store(settings)}
    if settings.data != Path():
        options["transcript"] = TranscriptFolder(settings.data / FOLDER, _describe_transcript(root, old, beside))
    options |= {"summarise": writer.ask, "background": writer.works_beside, "summary_model": writer.chosen}
    if old is None and settings.tokenizer:  # given for the model of the start; another one has another tokenizer
        meter = meters.from_file(settings.tokenizer, endpoint.model)
    if hooks.before:
        options["before"] = hooks.run_before
    return Session(
        window,
        choose_reserve(endpoint, window, settings),
        settings.recipe,
        endpoint.model,
        dialect=endpoint.dialect,
        meter=meter or meter_for(endpoint),
        provider=endpoint.provider,
        look=lambda path: read_project_file(root, path),
        gaps=old.gaps if old else CountGaps.in_folder(settings.data),
        settings=settings,
        **options,
    )


def read_project_file(root: Path, path: str) -> str | None:
    """Return the text of a file as it is now, without secrets; None for files outside the project, those that may hold
    secrets, big ones and those without text."""
    try:
        found = (root / path).resolve()
        if not found.is_relative_to(root.resolve()) or holds_secrets(str(found)):
            return None
        data = read_ordinary(found, MAX_FILE_BYTES + 1)
        return redact(data.decode("utf-8")) if len(data) <= MAX_FILE_BYTES else None
    except (OSError, ValueError, RuntimeError):
        return None


def _describe_transcript(root: Path, old: Session | None, beside: bool) -> dict[str, object]:
    """Return what the transcript tells of its place: the project, and the file that it goes on from."""
    about: dict[str, object] = {"root": str(root)}
    if beside:
        about["beside"] = True
    elif old and old.transcript_path:
        about["continues"] = old.transcript_path.stem
    return about


def remember(endpoint: Endpoint, window: int, settings: Settings) -> None:
    """Keep the window that a provider named for the next start."""
    if settings.data != Path():
        WindowCache(settings.data).learn(endpoint, window, "overflow")


def known_speed(endpoint: Endpoint, settings: Settings) -> float:
    """Return the tokens a second that a model read when it was measured last; 0: never."""
    return SpeedCache(settings.data).reading(endpoint) if settings.data != Path() else 0.0


def remember_speed(endpoint: Endpoint, reading: float, settings: Settings) -> None:
    """Keep the speed of a model on this machine for the next start."""
    if endpoint.local and reading and settings.data != Path():
        SpeedCache(settings.data).learn(endpoint, reading)


def _store(settings: Settings) -> str | None:
    return default_url(settings.data) if settings.data != Path() else None
