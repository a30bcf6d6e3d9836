"""Takes in events that hooks kept because they ran out of time, and answers one in this process, without a service.

The one module of the hook path that imports the engine: `run` imports it when there is no service to ask. The service
takes kept events in, and so does a hook without one. One process at a time does it, oldest event first. An event is
deleted once it has had its effects, so a process that is killed meanwhile leaves it to the next one; what it had done
already does not count twice.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter, OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.answer.decide import Turn
from hybrid.answer.events import answer, take_in
from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.hooks.answer import client_of, printed_answer
from hybrid.hooks.event import EventError, parse_event
from hybrid.ipc.spool import MAX_AGE_S, MAX_TRIES, Spool
from hybrid.knowledge.open_indexes import OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.answer.events import Reply
    from hybrid.ipc.spool import KeptEvent
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


_MOST_KEYS = 4_000
_FORGET_S = 5.0
_WRITING_S = 5.0
"""Seconds that the writer of a file needs at most: a hook ends a second after its deadline."""


def environment(sent: bytes) -> dict[str, str]:
    """Return the environment variables of a client, by name, from the bytes in which they were sent or kept."""
    pairs = sent.decode("utf-8", "surrogateescape").split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def event_of_parts(parts: Sequence[bytes], key: str) -> tuple[HookEvent, dict[str, str]]:
    """Return an event and its client's variables from its parts: client, name, directory, variables and input.

    Raises:
        EventError: The input is no event.
    """
    if len(parts) < 5:
        raise EventError("it has too few parts")
    client, name, cwd = (part.decode("utf-8", "surrogateescape") for part in parts[:3])
    environ = environment(parts[3])
    return parse_event(parts[4], client=client_of(client, environ), event=name, cwd=cwd, key=key), environ


def forget_waiting(home: Path, environ: Mapping[str, str], is_meant: Callable[[Workspace, HookEvent], bool]) -> int:
    """Delete the kept events that somebody wants forgotten, before they have any effect.

    Args:
        home: `$HYBRID_HOME`.
        environ: The environment in which settings are resolved.
        is_meant: Tells of an event and its workspace whether it goes; an event that cannot be read stays.

    Returns:
        Number of events that were deleted.

    Raises:
        BusyError: Another process takes events in, and does not end within seconds.
    """
    spool = Spool(str(home))
    if not spool.has_files():
        return 0
    n = 0
    # Who takes events in just now is waited for: what it stores is forgotten after this.
    with locked(Path(spool.lock_path), _FORGET_S) as held:
        if not held:
            raise BusyError("kept events are being taken in; try again in a moment")
        spool.remove_leftovers(_WRITING_S)
        for kept in spool.waiting():
            try:
                event, sent = event_of_parts(spool.read(kept) or [], kept.key)
            except EventError:
                continue
            workspace = open_workspace(Path(event.cwd or "/"), environ={**environ, **sent, "HYBRID_HOME": str(home)})
            if is_meant(workspace, event):
                spool.remove(kept)
                n += 1
    return n


class Taker:
    """Takes in what waits in a `$HYBRID_HOME`; safe to use from several threads.

    Args:
        home: The folder.
        environ: Gives the environment in which the settings of an event are resolved, by its client's variables.
        kinds: Gives what is open for such an environment.
        on_taken: Hears of the workspace and environment of each event that was taken in.
    """

    def __init__(
        self,
        home: Path,
        environ: Callable[[Mapping[str, str]], Mapping[str, str]],
        kinds: Callable[[Mapping[str, str]], OpenKinds],
        on_taken: Callable[[Workspace, Mapping[str, str]], None] = lambda _workspace, _environ: None,
    ) -> None:
        self.spool = Spool(str(home))
        self._home = home
        self._environ = environ
        self._kinds = kinds
        self._on_taken = on_taken
        self._lock = threading.Lock()
        self._keys: OrderedDict[str, bool] = OrderedDict()
        self._keys_lock = threading.Lock()

    def begin(self, key: str) -> None:
        """Note that this process answers an event, so that a kept copy of it is left alone meanwhile."""
        self._set(key, False)

    def end(self, key: str, *, is_taken: bool) -> None:
        """Note that the event was answered; if it has had its effects (`is_taken`), a kept copy is only deleted."""
        if is_taken:
            self._set(key, True)
            return
        with self._keys_lock:
            self._keys.pop(key, None)

    def take_waiting(self, *, until_s: float | None = None) -> None:
        """Take in the events that wait, unless another thread or process does so now.

        A line in the log counts those that were dropped: too old, tried in vain, or no events.

        Args:
            until_s: Monotonic time after which none is begun; None for no limit.
        """
        # A lone half of a file counts too: its writer was killed, and it may hold a whole prompt.
        if not self.spool.has_files() or not self._lock.acquire(blocking=False):
            return
        dropped: Counter[str] = Counter()
        try:
            with locked(Path(self.spool.lock_path), 0) as held:
                if held:
                    self._take(until_s, dropped)
        finally:
            self._lock.release()
            for why, n in dropped.items():
                count = "a kept event was" if n == 1 else f"{n} kept events were"
                self._note(f"{count} dropped and without effect: {why}", None)

    def _take(self, until_s: float | None, dropped: Counter[str]) -> None:
        """Take events in, with the lock held; `dropped` counts the dropped ones by reason."""
        self.spool.remove_leftovers()
        for kept in self.spool.waiting():
            if until_s is not None and time.monotonic() > until_s:
                break
            state = self._keys.get(kept.key)
            if state is not None:
                if state:  # Its service answered it after all.
                    self.spool.remove(kept)
                continue
            if kept.n_tries >= MAX_TRIES or time.time() - kept.at_ms / 1000 > MAX_AGE_S:
                self.spool.remove(kept)
                dropped["too old" if kept.n_tries < MAX_TRIES else "tried in vain"] += 1
            elif self.spool.is_due(kept):
                self._take_one(kept, dropped)

    def _take_one(self, waiting: KeptEvent, dropped: Counter[str]) -> None:
        """Let one event have its effects and delete it; it stays when a database is busy or something else fails."""
        kept = self.spool.begin(waiting)
        if kept is None:
            return
        parts = self.spool.read(kept)
        event: HookEvent | None = None
        try:
            if parts is None:
                raise EventError("it cannot be read")
            event, sent = event_of_parts(parts, kept.key)
            environ = self._environ(sent)
            workspace = open_workspace(Path(event.cwd or "/"), environ=environ)
            take_in(Turn(workspace, event, self._kinds(environ), environ, at_ms=kept.at_ms, is_late=True))
            self._on_taken(workspace, environ)
        except EventError as error:
            dropped[str(error)] += 1
        except BusyError:
            return
        except Exception as error:  # noqa: BLE001 - the rim: the event is tried again later
            self._note(f"a kept event could not be taken in: {type(error).__name__}: {error}", event)
            return
        self._set(kept.key, True)
        self.spool.remove(kept)

    def _set(self, key: str, is_taken: bool) -> None:
        if not key:
            return
        with self._keys_lock:
            self._keys[key] = is_taken
            self._keys.move_to_end(key)
            while len(self._keys) > _MOST_KEYS:
                self._keys.popitem(last=False)

    def _note(self, message: str, event: HookEvent | None) -> None:
        with contextlib.suppress(Exception):
            from hybrid.answer.recording import record_error

            record_error(open_workspace(self._home, environ=self._environ({})), event, message)


# --- without a service ------------------------------------------------------------------------------------


_MOST_NEW = 300
"""Number of new records that are indexed while a prompt waits; a larger first index is for the service or a command."""

_TAKING_S = 0.3
"""Seconds after which no more kept event is begun while an event waits; the first takes a hundred milliseconds, since
it brings the extraction, the others some ten."""

_REST_S = 0.7
"""Seconds after which no more kept event is begun once the answer is out."""


def answer_event(
    event: HookEvent,
    flags: Mapping[str, object],
    *,
    set_deadline: Callable[[int], None],
    elapsed_ms: Callable[[], float],
) -> tuple[Reply, bytes]:
    """Decide what an event gets, and what is printed for it.

    Args:
        event: The event.
        flags: Settings from the command line.
        set_deadline: Told the configured deadline in milliseconds as soon as it is known.
        elapsed_ms: Gives the milliseconds since the hook started.

    Raises:
        HybridError: A flag is wrong, or a model cannot be loaded.
        OSError: Files cannot be read.
    """
    workspace = open_workspace(Path(event.cwd or "/"), flags=flags)
    set_deadline(workspace.config.hooks.deadline_ms)
    # To connect with a team's store takes longer than a hook has: a service does it.
    kinds = OpenKinds(indexes=OpenIndexes(asks_team=False, most_new=_MOST_NEW))
    _take_waiting(kinds, workspace.home, _TAKING_S)
    reply = answer(Turn(workspace, event, kinds), is_alone=True)
    return reply, printed_answer(reply.text, event, notice=reply.notice(elapsed_ms()))


def take_rest(home: str) -> None:
    """Take in kept events once the answer is out, for a moment: the agent waits for the end of this process."""
    _take_waiting(OpenKinds(), Path(home), _REST_S)


def _take_waiting(kinds: OpenKinds, home: Path, seconds: float) -> None:
    """Take in kept events; none is begun after so many seconds."""
    taker = Taker(home, _own_environ, lambda _: kinds)
    taker.take_waiting(until_s=time.monotonic() + seconds)


def _own_environ(sent: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with the settings of the client that sent an event in place of its own."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_") or name == "HYBRID_HOME"}
    return own | {name: value for name, value in sent.items() if name != "HYBRID_HOME"}


def note_failure(error: Exception | str, event: HookEvent | None) -> None:
    """Leave a line in the event log that says what failed, with the event if it was read."""
    from hybrid.answer.recording import record_error

    cwd = Path(event.cwd) if event and event.cwd else Path()
    record_error(open_workspace(cwd), event, str(error) if isinstance(error, EventError) else error)
