"""The files in deploy/ start what exists, with options that exist."""

from __future__ import annotations

import json
import re
import shlex
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from yohaku.cli.parser import parser
from yohaku.config.keys import KEYS
from yohaku.proxy.server import STOP_TIMEOUT

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
OTHER_VARIABLES = {"YOHAKU_PROXY_TOKEN", "YOHAKU_TENANT", "YOHAKU_TENANT_KEY", "YOHAKU_UPSTREAM"}
"""Those of the proxy, which are no settings, and the one that compose.yaml itself reads."""


def unit(name: str) -> ConfigParser:
    found = ConfigParser(strict=False, interpolation=None)
    found.optionxform = str  # type: ignore[assignment, method-assign]
    found.read(DEPLOY / name)
    return found


def compose() -> dict[str, Any]:
    return msgspec.yaml.decode((DEPLOY / "compose.yaml").read_bytes(), type=dict[str, Any])


def container() -> dict[str, str]:
    """The last value of each instruction."""
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    return dict(line.split(" ", 1) for line in text.splitlines() if re.match("[A-Z]+ ", line))


def accept(words: list[str]) -> Any:
    """Parse a command as `yohaku` does; it exits where a word is wrong."""
    return parser().parse_args([re.sub(r"\$\{\w+:-(.*)\}", r"\1", word) for word in words])


@pytest.mark.parametrize("name", ["yohaku-proxy.service", "yohaku-collect.service"])
def test_a_unit_starts_a_command_that_exists(name: str) -> None:
    service = unit(name)["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "yohaku"
    assert accept(words).command in name
    assert service["Environment"].partition("=")[0] in {key.variable for key in KEYS.values()}
    assert service["StateDirectory"] in service["Environment"]


def test_both_units_are_of_one_user_and_the_proxy_has_time_to_stop() -> None:
    proxy, collect = unit("yohaku-proxy.service")["Service"], unit("yohaku-collect.service")["Service"]
    assert proxy["User"] == collect["User"]
    assert int(proxy["TimeoutStopSec"].removesuffix("min")) * 60 > STOP_TIMEOUT
    assert unit("yohaku-collect.timer")["Timer"]["OnCalendar"] == "daily"


def test_the_container_starts_a_proxy_that_others_can_reach() -> None:
    found = container()
    words = json.loads(found["ENTRYPOINT"]) + json.loads(found["CMD"])
    assert words[0] == "yohaku"
    assert (accept(words[1:]).command, accept(words[1:]).host) == ("proxy", "0.0.0.0")
    assert str(accept(words[1:]).port) == found["EXPOSE"]
    copied = re.findall(r"^COPY (.+) \S+$", (DEPLOY / "Containerfile").read_text("utf-8"), re.MULTILINE)
    assert all((DEPLOY.parent / name).exists() for names in copied for name in names.split())


def test_compose_has_a_proxy_on_either_store_and_every_proxy_needs_a_token() -> None:
    services = compose()["services"]
    proxies = {name: service for name, service in services.items() if "command" in service and "build" in service}
    assert len(proxies) == 2
    stores = {service["environment"]["YOHAKU_STORE"].partition(":")[0] for service in proxies.values()}
    assert stores == {"redis", "postgresql"}
    for service in proxies.values():
        assert accept(service["command"]).command == "proxy"
        assert ":?" in service["environment"]["YOHAKU_PROXY_TOKEN"]
        assert set(service["depends_on"]) <= services.keys()
        assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).exists()
    assert "noeviction" in services["redis"]["command"]


def test_every_variable_that_they_name_is_one_that_is_read() -> None:
    text = "".join(path.read_text("utf-8") for path in DEPLOY.iterdir())
    known = {key.variable for key in KEYS.values()} | OTHER_VARIABLES
    assert set(re.findall(r"YOHAKU_[A-Z_]+", text)) <= known
