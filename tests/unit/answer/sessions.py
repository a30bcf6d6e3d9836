"""Sessions of an agent in the payments project, with the hashing model and an open gate."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.answer.decide import Turn, decide
from hybrid.answer.recording import record
from hybrid.session.ledger import SessionKey
from hybrid.upkeep.indexing import reindex
from tests.support.builders import PAYMENTS, Shop, copied_shop, git_project
from tests.support.records import Talk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.answer.decide import Decision

RETRY = "How does the payment client retry a request after a timeout?"
DEPLOY = "How do we roll back a release with the load balancer?"
USERS = "Where is a user found by the e-mail address in the database?"
MAIN = SessionKey("claude", "s1")


@dataclass(frozen=True)
class Session(Talk):
    """A session that can also be asked what a prompt gets, before and after the reply is made of it."""

    flags: Mapping[str, object] = field(default_factory=lambda: {"model.name": "hashing", "hooks.gate_threshold": 0.0})

    def turn(self, prompt: str, *, environ: Mapping[str, str] | None = None, **flags: object) -> Turn:
        """A prompt that is to be answered."""
        event = self.event("UserPromptSubmit", prompt=prompt)
        return Turn(self.workspace(**flags), event, self.kinds, environ or {})

    def decide(self, prompt: str, *, environ: Mapping[str, str] | None = None, **flags: object) -> Decision:
        """What a prompt gets, without recording it."""
        return decide(self.turn(prompt, environ=environ, **flags))

    def decided(self, prompt: str, **flags: object) -> Decision:
        """What a prompt gets, recorded as the hook does it."""
        turn = self.turn(prompt, **flags)
        decision = decide(turn)
        record(turn, decision, latency_ms=12.345)
        return decision

    def age(self, seconds: float) -> None:
        """Let time pass for the ledger: its stamps lie further back."""
        path = self.home / "sessions" / MAIN.file_name
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line | {"t": line["t"] - seconds}) + "\n" for line in lines))


def new_session(folder: Path, files: Mapping[str, str] = PAYMENTS) -> Session:
    """A session in an indexed project of some files; that of the payments is copied."""
    if files is PAYMENTS:
        copied = copied_shop(_payments(), folder)
        return Session(copied.root, copied.home)
    session = Session(git_project(folder / "shop", files), folder / "home")
    reindex(session.workspace())
    return session


@cache
def _payments() -> Shop:
    """The payments project, indexed once in this process; only to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="hybrid-built-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = new_session(folder, dict(PAYMENTS))
    return Shop(session.root, session.home)
