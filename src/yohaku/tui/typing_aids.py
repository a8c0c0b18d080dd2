"""Help while typing: completions of commands, files after `@`, the search through what was typed (Ctrl-R), keys (`?`).

Law: only Tab and Enter on an open list change the text, and what is chosen is never sent by the same key; a search that
is given up leaves what was typed before it.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from textual.widgets import TextArea

from yohaku.agent.commands import slash_commands
from yohaku.agent.protocols import AgentStarter, WorkingAgent
from yohaku.messages import say
from yohaku.tui.conversation import ConversationView
from yohaku.tui.dialog_host import DialogHost
from yohaku.tui.file_picker import list_files, match_files, mention_before
from yohaku.tui.prompt import CompletionList, PromptInput

MAX_TYPED_SHOWN = 30


class TypingAids(DialogHost):
    begin: AgentStarter
    agent: WorkingAgent | None

    def __init__(self, quiet: float) -> None:
        super().__init__(quiet)
        self._files: list[str] = []
        """Files of the project, listed again at each new `@`."""
        self._mentioning = False
        self._searching = False
        """Whether the list shows what was typed before, and the prompt holds what is searched."""
        self._before_search = ""

    @property
    def project(self) -> Path:
        return self.agent.root if self.agent else Path.cwd()

    def on_text_area_changed(self, changed: TextArea.Changed) -> None:
        if changed.text_area is self.query_one(PromptInput):
            self._complete()

    def _complete(self) -> None:
        prompt = self.query_one(PromptInput)
        found = self._find_typed(prompt) if self._searching else self._find_completions(prompt)
        found = [] if found == [prompt.text] and not self._searching else found
        self.query_one(CompletionList).show(found)
        prompt.choosing = bool(found) or self._searching

    def _find_typed(self, prompt: PromptInput) -> list[str]:
        wanted = prompt.text.lower()
        newest_first = dict.fromkeys(reversed(prompt.typed.lines))
        return [line for line in newest_first if wanted in line.lower()][:MAX_TYPED_SHOWN]

    def _find_completions(self, prompt: PromptInput) -> list[str]:
        mention = mention_before(prompt.text_before_cursor)
        before, self._mentioning = self._mentioning, mention is not None
        if mention is None:
            return slash_commands.complete(prompt.text, self.begin.settings.data, self.project)
        if not before:
            self.run_worker(self._list_files(), group="files", exclusive=True, exit_on_error=False)
        return [] if mention in self._files else [f"@{name}" for name in match_files(self._files, mention)]

    async def _list_files(self) -> None:
        self._files = await asyncio.to_thread(list_files, self.project)
        self._complete()

    def on_prompt_input_search_asked(self) -> None:
        prompt, choices = self.query_one(PromptInput), self.query_one(CompletionList)
        if self._searching:
            choices.action_cursor_down()
        elif prompt.typed.lines:
            self._searching, self._before_search = True, prompt.text
            self._complete()

    async def on_prompt_input_keys_asked(self) -> None:
        await self.query_one(ConversationView).note(say("screen_keys", self.lang))

    def on_prompt_input_asked(self, asked: PromptInput.Asked) -> None:
        prompt, choices = self.query_one(PromptInput), self.query_one(CompletionList)
        match asked.key:
            case "up":
                choices.action_cursor_up()
            case "down":
                choices.action_cursor_down()
            case "escape" if self._searching:
                self._close_list()
                prompt.take(self._before_search)
            case "escape":
                self._close_list()
            case "enter" if self._searching and not choices.texts:
                self._close_list()
            case "enter" if (prompt.text in choices.texts and not self._searching) or not choices.texts:
                self._close_list()  # or it has closed meanwhile
                prompt._send()
            case _ if choices.texts:
                self._choose(prompt, choices.chosen)

    def _choose(self, prompt: PromptInput, chosen: str) -> None:
        if self._searching:
            self._close_list()
            prompt.take(chosen)
        elif chosen.startswith("@"):
            prompt.complete_word(f"{chosen} ", mention_before(prompt.text_before_cursor) or "")
        else:
            command = slash_commands.COMMANDS.get(chosen.removeprefix("/"))
            prompt.take(chosen + (" " if command and command.takes else ""))

    def _close_list(self) -> None:
        self._searching = False
        self.query_one(CompletionList).show([])
        self.query_one(PromptInput).choosing = False
