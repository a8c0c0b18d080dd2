"""The agent for editors: `yohaku acp` speaks the Agent Client Protocol over standard input and output.

Law: nothing but the protocol goes to standard output. A conversation that fails to start is an error of that request,
in a sentence, and the others go on.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import uuid
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.agent.connection import AgentSideConnection
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)
from acp.stdio import stdio_streams

from yohaku import __version__
from yohaku.acp.session import AcpSession, prompt_text
from yohaku.acp.session_index import SessionIndex
from yohaku.agent.agent import Agent
from yohaku.agent.commands.slash_commands import COMMANDS
from yohaku.agent.events import UserNotice
from yohaku.agent.sessions import find_session, list_sessions
from yohaku.agent.startup import Starter
from yohaku.agent.toolkit.permissions import Mode
from yohaku.config.settings import Settings
from yohaku.messages import say

MODES: tuple[Mode, ...] = ("ask", "plan", "yolo")
"""As Shift-Tab switches them in the terminal."""
LEFT_TO_EDITORS = ("clear", "resume", "quit")
"""Slash commands that an editor has of its own."""
MAX_LISTED_SESSIONS = 200
MAX_MESSAGE_BYTES = 50 * 1024 * 1024
INTRODUCTION_DELAY = 0.1
"""Seconds from the answer to a request for a conversation to the first update of it."""


class AcpServer:
    """Answers the requests of one editor; each conversation has an agent of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._index = SessionIndex(settings.data)
        self._sessions: dict[str, AcpSession] = {}
        self._starting = asyncio.Lock()
        self._first: Agent | None = None
        self._commands = [command for command in COMMANDS.values() if command.name not in LEFT_TO_EDITORS]
        self._client: Client | None = None
        self._starters: list[Starter] = []
        self._introducing: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION) or PROTOCOL_VERSION,
            agent_info=Implementation(name="yohaku", title="yohaku", version=__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=False, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(), close=SessionCloseCapabilities()
                ),
            ),
        )

    async def new_session(self, cwd: str, mcp_servers: list[Any] | None = None, **_: Any) -> NewSessionResponse:
        session = await self._start(str(uuid.uuid4()), cwd, mcp_servers)
        self._introduce_later(session)
        return NewSessionResponse(session_id=session.id, modes=self._modes(session))

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: list[Any] | None = None, **_: Any
    ) -> LoadSessionResponse:
        found = self._index.find(session_id)
        known = session_id == Path(session_id).name  # not the file of another tool
        path = found.transcript if found else find_session(self.settings.data, session_id) if known else None
        if path is None or not session_id:
            raise RequestError(-32002, say("resume_none", self.settings.lang))
        await self.close_session(session_id)
        session = await self._start(session_id, cwd, mcp_servers, resume=str(path))
        await session.replay()
        self._introduce_later(session)
        return LoadSessionResponse(modes=self._modes(session))

    async def list_sessions(self, cwd: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the conversations of a folder, those of the terminal too, by the ids that editors know them by."""
        ids = {session.transcript: session.id for session in self._index.all()}
        found = list_sessions(self.settings.data, MAX_LISTED_SESSIONS, Path(cwd) if cwd else None)
        rows = [
            SessionInfo(
                session_id=ids.get(session.path, session.id),
                cwd=session.root,
                title=session.title,
                updated_at=datetime.fromtimestamp(session.at, UTC).isoformat(),
            )
            for session in found
            if session.root
        ]
        return ListSessionsResponse(sessions=rows)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        agent = self._session(session_id).agent
        mode = next((mode for mode in MODES if mode == mode_id), None)
        if mode is None or agent is None:
            raise RequestError.invalid_params({"modeId": mode_id})
        agent.set_mode(mode)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> PromptResponse:
        session, text = self._session(session_id), prompt_text(prompt).strip()
        if not text:
            return PromptResponse(stop_reason="end_turn")
        async with session.turn:
            name = text.removeprefix("/").partition(" ")[0].lower()
            known = {*(command.name for command in self._commands), *session.own_commands}
            if text.startswith("/") and name in known:
                return await session.run_command(text)
            try:
                return await session.work(text)
            finally:
                self._remember(session)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session := self._sessions.get(session_id):
            session.cancel()

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        session = self._sessions.pop(session_id, None)
        if session and session.agent:
            await session.agent.close()
        return CloseSessionResponse()

    async def close(self) -> None:
        for session_id in list(self._sessions):
            await self.close_session(session_id)
        for starter in self._starters:
            starter.close()

    async def _start(self, session_id: str, cwd: str, mcp_servers: list[Any] | None, resume: str = "") -> AcpSession:
        root = Path(cwd)
        if not root.is_absolute() or not root.is_dir():
            raise RequestError(-32602, say("acp_no_folder", self.settings.lang, name=cwd))
        assert self._client is not None
        begin = Starter(self.settings, root)
        session = AcpSession(session_id, self._client, begin)
        async with self._starting:  # all use the model that the first one found, which may be in this process
            agent = await session.start(like=self._first, resume=resume)
            self._first = self._first or agent
            self._starters.append(begin)
        if mcp_servers:
            session.show_notice(UserNotice(say("acp_no_mcp", self.settings.lang)))
        self._sessions[session_id] = session
        return session

    def _introduce_later(self, session: AcpSession) -> None:
        """Send the commands after the answer: before it the editor does not know the conversation."""

        async def introduce() -> None:
            await asyncio.sleep(INTRODUCTION_DELAY)
            await session.introduce(self._commands)

        task = asyncio.ensure_future(introduce())
        self._introducing.add(task)
        task.add_done_callback(self._introducing.discard)

    def _session(self, session_id: str) -> AcpSession:
        if session_id not in self._sessions:
            raise RequestError(-32002, say("resume_none", self.settings.lang))
        return self._sessions[session_id]

    def _modes(self, session: AcpSession) -> SessionModeState:
        lang = self.settings.lang
        current: Mode = session.agent.mode if session.agent else "ask"
        rows = [
            SessionMode(id=mode, name=say(f"acp_mode.{mode}", lang), description=say(f"acp_mode_about.{mode}", lang))
            for mode in dict.fromkeys((*MODES, current))  # `--read-only` is none of them
        ]
        return SessionModeState(current_mode_id=current, available_modes=rows)

    def _remember(self, session: AcpSession) -> None:
        """Note the file of a conversation, which has one as soon as something was said."""
        agent = session.agent
        if agent and agent.session.transcript_path:
            self._index.add(session.id, agent.root, agent.session.transcript_path)


async def _serve(settings: Settings) -> None:
    reader, writer = await stdio_streams(limit=MAX_MESSAGE_BYTES)
    sys.stdout = sys.stderr  # it belongs to the protocol
    server = AcpServer(settings)
    this = asyncio.current_task()
    with suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel if this else lambda: None)
    connection = AgentSideConnection(server, writer, reader, listening=False)  # type: ignore[arg-type]
    try:
        await connection.listen()
    finally:
        await server.close()
        await asyncio.shield(connection.close())


def serve(settings: Settings) -> None:
    """Serve until the editor closes the pipe, or the process is told to end."""
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(settings))
