"""Performs operations for tools of agents and for the page; one question and one answer of JSON on a connection.

The question: `cwd`, `client`, `session` (empty where unknown), `environ`, `arguments`. The answer: `result` and `text`,
or an `error` with a `kind` and a `message`; of a kind `building` also the `progress` of the build that is waited for.
"""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hybrid.base.errors import (
    BusyError,
    HybridError,
    IndexMissingError,
    IndexUnavailableError,
    ProjectError,
)
from hybrid.index.holder import is_held, read_holder
from hybrid.operations.asking import Asking, OperationError, Outcome
from hybrid.operations.table import OPERATIONS, perform
from hybrid.session.ledger import EMPTY, Given, SessionKey
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.workspace import Workspace


class Question(msgspec.Struct, frozen=True):
    """A question as it is sent.

    Attributes:
        cwd: A directory of the project.
        client: Who asks.
        session: The agent's session; empty where it is not known.
        environ: Variables of the asker that are meant for hybrid.
        arguments: Those of the operation.
    """

    cwd: str
    client: str = "manual"
    session: str = ""
    environ: dict[str, str] = {}
    arguments: dict[str, Any] = {}


class Performer:
    """Performs operations with the open stores of the service.

    Args:
        environ_of: Gives the environment of the service, with what an asker sent laid over it.
        kinds_of: Gives the open stores and indexes of an environment.
        build: Has the index of a workspace built, if that is allowed there.
    """

    def __init__(
        self,
        environ_of: Callable[[Mapping[str, str]], dict[str, str]],
        kinds_of: Callable[[Mapping[str, str]], OpenKinds],
        build: Callable[[Workspace, Mapping[str, str]], None],
    ) -> None:
        self._environ_of = environ_of
        self._kinds_of = kinds_of
        self._build = build

    def answer(self, name: str, data: bytes) -> bytes:
        """Return the answer to a question, as JSON; what goes wrong is a part of it."""
        workspace: Workspace | None = None
        environ: Mapping[str, str] = {}
        try:
            question = msgspec.json.decode(data, type=Question)
            environ = self._environ_of(question.environ)
            workspace = open_workspace(Path(question.cwd or "/"), environ=environ)
            key = SessionKey(question.client, question.session) if question.session else None
            ledger = workspace.ledgers.read(key) if key else EMPTY
            kinds = self._kinds_of(environ)
            now_ms = time.time_ns() // 1_000_000
            asking = Asking(workspace, kinds, environ, question.client, question.session, now_ms, ledger)
            outcome = perform(name, asking, question.arguments)
            if key is not None and outcome.shown and not OPERATIONS[name].is_writing:
                _note(workspace, key, outcome)
            return msgspec.json.encode({"result": outcome.value, "text": outcome.text})
        except msgspec.DecodeError as error:
            return _error("usage", f"the question cannot be read: {error}")
        except IndexMissingError as error:
            return self._missing(workspace, environ, error)
        except Exception as error:  # noqa: BLE001 - the rim: one answer fails, not the service
            return _error(_kind_of(error), _message(error))

    def _missing(self, workspace: Workspace | None, environ: Mapping[str, str], error: IndexMissingError) -> bytes:
        """Return that the index is being built, as far as it is; or that it is missing and why it is not built."""
        if workspace is None or workspace.project is None:
            return _error("no_index", str(error))
        from hybrid.upkeep.indexing import reason_against

        reason = "index_auto_off" if not workspace.config.index.auto else reason_against(workspace)
        if reason and not is_held(workspace.place.lock):
            return _error("no_index", f"{error} ({reason})")
        self._build(workspace, environ)
        holder = read_holder(workspace.place.lock) if is_held(workspace.place.lock) else None
        progress = msgspec.to_builtins(holder) if holder else None
        return _error("building", "the index of this project is being built; ask again in a moment", progress=progress)


def _note(workspace: Workspace, key: SessionKey, outcome: Outcome) -> None:
    records = [(one.hit.digest, one.form) for one in outcome.shown]
    with contextlib.suppress(OSError):  # A full disk: the session may be given it once more.
        workspace.ledgers.record(key, Given(records))


def _kind_of(error: Exception) -> str:
    if isinstance(error, OperationError):
        return "usage"
    if isinstance(error, ProjectError):
        return "no_project"
    if isinstance(error, BusyError):
        return "busy"
    return "no_index" if isinstance(error, IndexUnavailableError) else "failed"


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, HybridError) else f"{type(error).__name__}: {error}"


def _error(kind: str, message: str, **more: object) -> bytes:
    return json.dumps({"error": {"kind": kind, "message": message, **more}}).encode()
