"""One client at one desk: what the tests say to it, and what they look at afterwards."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.clients.desk import processes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.clients.desk import Desk
    from tests.clients.mock_api import MockApi
    from tests.clients.talking import Agent, Talk

_TROUBLE = re.compile(r"hook[^\n]{0,40}(error|fail|timed out|invalid)|traceback|invalid hook|hybrid: ", re.IGNORECASE)
_STOPPED_S = 5.0


@dataclass
class Seat:
    """A client that is pointed at the mock, in a project that `hybrid` has indexed."""

    desk: Desk
    agent: Agent
    talks: list[Talk] = field(default_factory=list)

    @property
    def api(self) -> MockApi:
        """What was asked of the model."""
        return self.desk.api

    def install(self, *flags: str, scope: str = "project") -> str:
        """Run our installer for this client; what it prints."""
        return self.desk.hybrid("hook", "install", "--client", self.agent.name, "--scope", scope, *flags)

    def uninstall(self, scope: str = "project") -> str:
        """Run our uninstaller for this client; what it prints."""
        return self.desk.hybrid("hook", "uninstall", "--client", self.agent.name, "--scope", scope)

    def talk(self, *prompts: str, **environ: str) -> Talk:
        """A conversation in one session; it must end well, and show nothing about hooks going wrong."""
        talk = self.agent.talk(self.desk, *prompts, **environ)
        self.talks.append(talk)
        assert 0 == talk.code, talk.shown[-3000:]
        assert [] == troubles(talk)
        assert [] == [text for request in self.api.requests for text in _troubles_told(request.body)]
        return talk

    def given(self, prompt: str, place: str) -> list[int]:
        """How often each request that holds a prompt shows the model an injection with a place in it."""
        return [sum(place in frame for frame in request.frames) for request in self.api.asked(prompt)]

    def settings_texts(self) -> dict[str, bytes]:
        """The files of the project and the home that call `hybrid`."""
        folders = [self.desk.project, self.desk.home]
        names = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".json", ".toml", ".js"}]
        read = {str(path.relative_to(self.desk.folder)): path.read_bytes() for path in names if path.is_file()}
        return {name: data for name, data in read.items() if b"hook run" in data or b"hybrid hook" in data}


def troubles(talk: Talk) -> list[str]:
    """Lines in which a client shows that a hook did not go well."""
    lines = talk.shown.splitlines()
    hooks = [answer for answer in hook_answers(talk) if _is_trouble(answer)]
    others = [line for line in lines if '"subtype":"hook_' not in line and _TROUBLE.search(line)]
    return [*map(str, hooks), *others]


def hook_answers(talk: Talk, event: str = "") -> list[dict[str, Any]]:
    """The ends of hook runs as Claude Code reports them, of one event or of all."""
    lines = [json.loads(line) for line in talk.stdout.splitlines() if '"subtype":"hook_response"' in line]
    return [line for line in lines if event in {"", line["hook_event"]}]


def _is_trouble(answer: dict[str, Any]) -> bool:
    return (answer["exit_code"], answer["outcome"], answer["stderr"]) != (0, "success", "")


def _troubles_told(body: object) -> Iterator[str]:
    """What the model is told about hooks that failed."""
    text = json.dumps(body)
    yield from re.findall(r"hook (?:failed|error)[^\"]{0,80}|missing required field[^\"]{0,80}", text)


def left_behind(desk: Desk) -> list[str]:
    """Programs of a desk that still run some seconds after all was stopped; they are killed, so that one test stays one."""
    until_s = time.monotonic() + _STOPPED_S
    while processes_of(desk) and time.monotonic() < until_s:
        time.sleep(0.05)
    found = processes_of(desk)
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return list(found.values())
