from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from yohaku.agent.host.role_rules_cache import FILE_NAME, RoleRulesCache
from yohaku.client.endpoint import Endpoint
from yohaku.dialects.role_rules import NO_RULES, RoleRules

AT = Endpoint("llama.cpp", "llama.cpp", "openai_chat", "http://127.0.0.1:8080/v1", "m", key="secret", local=True)


def test_what_a_server_wants_is_known_the_next_time_and_of_no_other(tmp_path: Path) -> None:
    RoleRulesCache(tmp_path).learn(AT, RoleRules(alternate=True))
    RoleRulesCache(tmp_path).learn(replace(AT, model="n"), RoleRules(no_system=True))
    RoleRulesCache(tmp_path).learn(AT, RoleRules(alternate=True, no_tools=True))
    known = RoleRulesCache(tmp_path)
    assert known.rules(AT) == RoleRules(alternate=True, no_tools=True)
    assert known.rules(replace(AT, model="n")) == RoleRules(no_system=True)
    assert known.rules(replace(AT, url="http://127.0.0.1:8081/v1")) == NO_RULES


@pytest.mark.parametrize("text", ["", "{", "[]", '{"roles": 1}', '{"roles": {"http://127.0.0.1:8080/v1#m": "x"}}'])
def test_a_file_that_cannot_be_read_counts_as_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    assert RoleRulesCache(tmp_path).rules(AT) == NO_RULES
    RoleRulesCache(tmp_path).learn(AT, RoleRules(alternate=True))
    assert RoleRulesCache(tmp_path).rules(AT) == RoleRules(alternate=True)


def test_rules_of_a_later_version_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('{"roles": {"http://127.0.0.1:8080/v1#m": ["alternate", "no_jokes", 3]}}')
    assert RoleRulesCache(tmp_path).rules(AT) == RoleRules(alternate=True)


def test_the_file_is_its_owners_and_holds_no_key(tmp_path: Path) -> None:
    RoleRulesCache(tmp_path / "data").learn(AT, RoleRules(alternate=True))
    path = tmp_path / "data" / FILE_NAME
    assert "secret" not in path.read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_memory(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    RoleRulesCache(tmp_path / "data").learn(AT, RoleRules(alternate=True))
    assert RoleRulesCache(tmp_path / "data").rules(AT) == NO_RULES
