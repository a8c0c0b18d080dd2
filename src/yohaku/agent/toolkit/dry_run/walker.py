"""Walk over the tree of a command: its lists, pipes, branches, loops, functions and redirections."""

from __future__ import annotations

from collections.abc import Mapping

from yohaku.agent.toolkit.dry_run.builtins import apply_builtin, folder_exists
from yohaku.agent.toolkit.dry_run.launchers import launch
from yohaku.agent.toolkit.dry_run.outputs import printed
from yohaku.agent.toolkit.dry_run.program import DESTROYERS, StartedProgram, as_source, program_name
from yohaku.agent.toolkit.dry_run.script_files import interpreter_of, scripts_of
from yohaku.agent.toolkit.dry_run.shell_state import ShellState, WordExpander, normalize
from yohaku.agent.toolkit.dry_run.values import ANY, drop_marks, limit, show_value
from yohaku.analysis.bash_syntax import parse_bash
from yohaku.analysis.bash_tree import Compound, Node, Pipeline, Redirect, Script, SimpleCommand, bare_text
from yohaku.analysis.shell import SHELLS

MAX_STARTED = 500
"""Programs looked at in one command."""
COMMAND_VARIABLES = frozenset(
    "EDITOR VISUAL PAGER MANPAGER BROWSER LESSOPEN PROMPT_COMMAND GIT_EDITOR GIT_PAGER GIT_SEQUENCE_EDITOR "
    "GIT_SSH_COMMAND GIT_ASKPASS SSH_ASKPASS".split()
)
"""Variables whose value other programs run."""
SHELL_SUFFIXES = (".sh", ".bash", ".command")
MAX_NESTED = 12
"""Levels of commands within commands: functions, `eval`, `sh -c` and the like."""


class DryRun:
    """Runs a command without executing anything, and collects the programs it would start."""

    def __init__(self, root: str, home: str, environ: Mapping[str, str]) -> None:
        self.started: list[StartedProgram] = []
        self.complete = True
        """Whether all of the command was understood, and looked at."""
        self._state = ShellState(home, root, environ, [root])
        self._nested = 0

    def run(self, command: str) -> list[StartedProgram]:
        self.run_text(command, self._state)
        return self.started

    def run_simple_words(self, words: list[str]) -> None:
        """Run one command whose words are literal."""
        self.run_words([drop_marks(word) for word in words], self._state)

    def run_text(self, text: str, state: ShellState, stdin: list[str] | None = None) -> list[str]:
        if self._nested >= MAX_NESTED:
            self.complete = False
            return [ANY]
        script = parse_bash(text)
        self.complete = self.complete and (script.exact or self._nested > 0)
        return self._run_script(script, state, stdin)

    def _run_script(self, script: Script, state: ShellState, stdin: list[str] | None) -> list[str]:
        """Run a list. A `cd` that may fail leaves the folders before it possible from the next `;` on."""
        found: list[str] = []
        failed: list[str] = []
        before = ";"
        self._nested += 1
        for item in script.items:
            uncertain, state.uncertain = state.uncertain, state.uncertain or before in ("&&", "||")
            folders = state.folders
            if before == "||" and failed:
                state.folders = failed
            found += self._run_node(item.node, state, stdin)
            state.uncertain = uncertain
            if before == "||" and failed:
                failed = [] if _leaves(item.node) else state.folders
                state.folders = folders
            elif state.folders is not folders and not all(folder_exists(path, state) for path in state.folders):
                failed = [*failed, *folders]
            if item.connector in (";", "&") and failed:
                state.folders, failed = limit([*state.folders, *failed]), []
            before = item.connector
        self._nested -= 1
        return limit(found)

    def _substitute(self, script: Script, state: ShellState) -> list[str]:
        return self._run_script(script, state, None)

    def _run_node(self, node: Node, state: ShellState, stdin: list[str] | None) -> list[str]:
        if len(self.started) >= MAX_STARTED or self._nested > MAX_NESTED:
            self.complete = False
            return [ANY]
        if isinstance(node, SimpleCommand):
            return self._run_simple(node, state, stdin)
        if isinstance(node, Pipeline):
            passed = stdin
            for one in node.commands:
                passed = self._run_node(one, state.fork() if len(node.commands) > 1 else state, passed)
            return passed or []
        return self._run_compound(node, state, stdin)

    def _run_compound(self, node: Compound, state: ShellState, stdin: list[str] | None) -> list[str]:
        if node.kind == "function":
            state.functions[node.name] = node.parts[0]
            return []
        files = _Files(stdin)
        files.open_all(node.redirects, state, WordExpander(state, self._substitute))
        if files.writes or files.reads:
            self._note([], state, files)
        if node.kind == "subshell":
            return self._run_script(node.parts[0], state.fork(), files.stdin)
        if node.kind in ("if", "case", "loop"):
            WordExpander(state, self._substitute).expand_all(node.words)
            return self._run_branches(node.parts, state, files.stdin)
        if node.kind == "for":
            values = WordExpander(state, self._substitute).expand_all(node.words)
            if node.name:
                state.assign(node.name, limit(values))
        return limit(value for part in node.parts for value in self._run_script(part, state, files.stdin))

    def _run_branches(self, parts: tuple[Script, ...], state: ShellState, stdin: list[str] | None) -> list[str]:
        uncertain, in_branch = state.uncertain, state.in_branch
        state.uncertain = state.in_branch = True
        found = [value for part in parts for value in self._run_script(part, state, stdin)]
        state.uncertain, state.in_branch = uncertain, in_branch
        return limit(found)

    def _run_simple(self, command: SimpleCommand, state: ShellState, stdin: list[str] | None) -> list[str]:
        expander = WordExpander(state, self._substitute)
        names = expander.expand(command.words[0]) if command.words else []
        rest = expander.expand_all(command.words[1:])
        files = _Files(stdin)
        files.open_all(command.redirects, state, expander)
        before = {each.name: state.variables.get(each.name) for each in command.assignments}
        for assignment in command.assignments:
            one = len(assignment.values) == 1
            values = expander.expand_value(assignment.values[0]) if one else expander.expand_all(assignment.values)
            state.assign(assignment.name, values, append=assignment.append)
            if assignment.name in COMMAND_VARIABLES:
                for value in values:
                    self.run_text(as_source(value.lstrip("| ")), state.fork())
        if not names and not rest:
            if files.writes or files.reads:
                self._note([], state, files)
            return []
        found: list[str] = []
        for start in range(max(1, len(names))):  # several: it was split, or it has several values
            words = [*(names if not start else names[start : start + 1]), *rest]
            self._note(words, state, files)
            found += self._run(words, state, files.stdin)
        for name, old in before.items():  # they hold for this command; what it sets, as `read` does, stays
            state.variables.pop(name, None)
            state.variables |= {} if old is None else {name: old}
        state.written.update({path: limit(found) for write in files.writes for path in state.resolve(write)})
        return limit(found)

    def run_words(self, words: list[str], state: ShellState, stdin: list[str] | None = None) -> list[str]:
        if len(self.started) >= MAX_STARTED or self._nested > MAX_NESTED:
            self.complete = False
            return [ANY]
        self._note(words, state, _Files(stdin))
        self._nested += 1
        found = self._run(words, state, stdin)
        self._nested -= 1
        return found

    def _run(self, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
        name = show_value(words[0])
        if name in state.functions:
            arguments, state.arguments = state.arguments, words[1:]
            found = self._run_script(state.functions[name], state, stdin)
            state.arguments = arguments
            return found
        if name in state.aliases:
            inside = state.fork()
            inside.arguments = words[1:]
            return self.run_text(as_source(inside.aliases.pop(name)) + ' "$@"', inside, stdin)
        inside = state.fork()
        texts = scripts_of(name, inside) if "/" in name else []
        if texts:
            return limit(value for text in texts for value in self._run_file(text, words, inside, stdin))
        found_by = apply_builtin(self, words, state, stdin)
        if found_by is None:
            found_by = launch(self, words, state, stdin)
        if name == "tee" and stdin:
            state.written.update({path: stdin for word in words[1:] for path in state.resolve(word)})
        return printed(words, state, stdin) if found_by is None else found_by

    def _run_file(self, text: str, words: list[str], state: ShellState, stdin: list[str] | None) -> list[str]:
        """Run a script that is started by its path."""
        program = interpreter_of(text)
        if not program and not show_value(words[0]).endswith(SHELL_SUFFIXES) and "." in program_name(words[0]):
            return [ANY]
        if not program or program in SHELLS:
            state.arguments = words[1:]
            return self.run_text(text, state, stdin)
        return self.run_words([program, "/dev/stdin"], state, [text])

    def _note(self, words: list[str], state: ShellState, files: _Files) -> None:
        stdin = None if files.stdin is None else tuple(files.stdin)
        piped = stdin is not None and files.piped
        self.started.append(
            StartedProgram(
                (*words[:1], *_behind_links(words, state), *words[1:]),
                tuple(state.folders),
                tuple(files.writes),
                tuple(files.reads),
                stdin,
                piped,
                state.from_disk,
            )
        )


def _behind_links(words: list[str], state: ShellState) -> list[str]:
    """Return what words name that lead through a link which this command made; not the link itself."""
    if not state.links or not words or program_name(words[0]) not in DESTROYERS - {"git"}:
        return []
    return [
        target
        for word in words[1:]
        for folder in state.folders
        for path in [word if word.startswith("/") else normalize(folder) + "/" + word.removeprefix("./")]
        for target in [state.follow(path)]
        if target != path and path not in state.links
    ]


class _Files:
    """Redirections of one command."""

    def __init__(self, stdin: list[str] | None) -> None:
        self.stdin, self.writes, self.reads = stdin, list[str](), list[str]()
        self.piped = True

    def open_all(self, redirects: tuple[Redirect, ...], state: ShellState, expander: WordExpander) -> None:
        for redirect in redirects:
            if redirect.operator in ("<<", "<<-"):
                self.stdin, self.piped = [redirect.body], False
            elif redirect.operator == "<<<":
                self.stdin, self.piped = expander.expand_value(redirect.target), False
            elif not (redirect.operator in (">&", "<&") and bare_text(redirect.target).strip("-").isdigit()):
                targets = expander.expand(redirect.target)
                if ">" in redirect.operator:
                    self.writes += targets
                if "<" in redirect.operator:
                    self.reads += targets
                    texts = [
                        text
                        for word in targets
                        for path in state.resolve(word)
                        for text in state.written.get(path, [ANY])
                    ]
                    self.stdin, self.piped = limit(texts), False


def _leaves(node: Node) -> bool:
    """Return whether a command ends the script: `cd x || exit`."""
    if isinstance(node, Compound):
        return bool(node.parts and node.parts[-1].items) and _leaves(node.parts[-1].items[-1].node)
    return isinstance(node, SimpleCommand) and bool(node.words) and bare_text(node.words[0]) in (
        "exit", "return", "break", "continue",
    )  # fmt: skip
