"""A hook as a process: event in, one JSON document or nothing out, exit code 0 whatever happens.

One of the two places where every exception is caught: a hook that fails is silent and leaves a line in the log. The
service reads the event and writes the answer; where there is none, this process starts it and answers by itself. Until
then only the standard library is imported, and of that only what is cheap.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from hybrid.base.home import home_path, is_switched_off
from hybrid.hooks.service import Call, Input, WireError, environment_of, event_of
from hybrid.ipc.settings import read_settings
from hybrid.ipc.spool import Spool, new_key

TYPE_CHECKING = False  # `typing` costs a hook four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.answer.events import Reply
    from hybrid.ipc.settings import HookSettings
    from hybrid.ipc.wire import Connection
    from hybrid.types import HookEvent

HARD_STOP_S = 1.5
"""Seconds after which the process ends in silence, until the settings are read and give another deadline."""

_MAX_BYTES = 32_000_000
"""Bytes of the longest event that is read: a prompt of a larger size is a mistake."""

_RECORD_S = 2.0
"""Seconds that counters and log may take once the answer is out; the agent waits for the end of the process."""

_READ_S = 0.6
"""Seconds beyond the deadline for a process that had no processor time to read its event, so that it can be kept."""

_GREETING_SHARE = 1 / 6
"""Share of the time left in which a living service greets; otherwise it is busy, stopped or dead. The rest is enough
for an answer without it: of a deadline of 1.5 seconds 0.25 go to waiting."""

_HERE_S = 0.5
"""Seconds that an answer without the service takes at least; with less left there is no point in trying."""

_NOTE_S = 0.05
"""Seconds before the deadline at which the answer is given up, so that as a rule the event is kept in time."""

_KEEP_S = 1.0
"""Seconds that keeping the event may take on a machine too busy for it; clients wait for five and more."""

_LOOK_S = 0.02
"""Seconds between two looks at the clock."""

_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
"""Through no link, and on Windows without a second character at the end of each line."""

_HELP = """\
usage: hybrid hook run --client NAME --event EVENT [--debug] < EVENT.json

What an installed hook calls: one event as JSON on standard input, one JSON document or nothing on standard output.
`hybrid hook install` registers it, `hybrid hook inject-context --help` shows the same for tries by hand.
"""

_SILENT = ("Stop", "PreCompact", "SessionEnd")
"""Events that never take a text: a service that is not there is not started for them."""


def main(argv: list[str]) -> int:
    """Run `hybrid hook run --client C --event E` and return 0, always. An unknown argument is logged and left out."""
    started_s = time.monotonic()
    is_help = "--help" in argv or "-h" in argv
    if is_help or os.isatty(0):
        # No agent gives a terminal, but one that did would take standard output for an answer.
        os.write(1 if is_help else 2, _HELP.encode())
        return 0
    options, unknown = _options(argv)
    mistake = f"unknown argument {' '.join(map(_plain, unknown))}" if unknown else ""
    if mistake and os.isatty(2):
        os.write(2, f"hybrid: {mistake}\n".encode())
    is_debug = "--debug" in argv
    _guard_streams(is_debug=is_debug)
    hook = _Hook(options.get("--client", "manual"), options.get("--event", ""), {}, started_s, is_debug=is_debug)
    line = hook.run(is_service_wanted=True, mistake=mistake)
    if is_debug:
        _tell(line)
    return 0


def _options(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the options of `hook run` by name, and the arguments that are no options."""
    options: dict[str, str] = {}
    unknown: list[str] = []
    words = iter(argv)
    for word in words:
        name, sign, value = word.partition("=")
        if name in ("--client", "--event"):
            options[name] = value if sign else next(words, "")
        elif word != "--debug":
            unknown.append(word)
    return options, unknown


def run_by_hand(*, client: str, event: str, flags: Mapping[str, object], is_debug: bool = False) -> int:
    """Answer one event from standard input in this process, without the service.

    Args:
        client: Who calls.
        event: Name of the event; empty takes the input's own.
        flags: Settings from the command line.
        is_debug: Say on standard error what was decided; for people, never in an installed hook.

    Returns:
        0, always.
    """
    line = _Hook(client, event, flags, time.monotonic()).run(is_service_wanted=False)
    if is_debug:
        _tell(line)
    return 0


def _tell(line: str) -> None:
    """Say on standard error what was decided; a terminal obeys nothing in it."""
    from hybrid.render.visible import visible

    sys.stderr.write(visible(line).encode("utf-8", "backslashreplace").decode("utf-8") + "\n")


def note_failure(error: Exception | str, event: HookEvent | None = None) -> None:
    """Leave a line about a failure in the event log; where that fails too, there is nowhere left to say it."""
    try:
        _find_packages()
        from hybrid.hooks.taking import note_failure

        note_failure(error, event)
    except Exception:  # noqa: BLE001 - the rim
        pass


class Deadline:
    """Ends the process, in silence and with exit code 0, unless it is met.

    Args:
        started_s: `time.monotonic()` that deadlines count from.
        seconds: The first deadline.
        on_miss: Keeps the event and leaves a note; what it does not finish within a second is lost.
    """

    def __init__(self, started_s: float, seconds: float, on_miss: Callable[[str], None]) -> None:
        self._started_s = started_s
        self._seconds = seconds
        self._until_s = started_s + seconds
        self._on_miss = on_miss
        self._lock = _thread.allocate_lock()
        self._is_met = False
        try:
            _thread.start_new_thread(self._watch, ())
        except BaseException:  # noqa: BLE001 - no room for a thread, or Ctrl-C before the input was read
            return  # What is waited for has time limits of its own.

    @property
    def left_s(self) -> float:
        """Seconds left for an answer before the event has to be kept; 0 when none are left."""
        return max(self._until_s - _NOTE_S - time.monotonic(), 0.0)

    def set_ms(self, milliseconds: int) -> None:
        """Set another deadline, counted from the start of the process."""
        self._seconds = milliseconds / 1000
        self._until_s = self._started_s + self._seconds
        self._look()

    def meet(self) -> None:
        """Meet the deadline: the answer is being written, and the process is not ended from here on."""
        with self._lock:
            self._is_met = True

    def allow(self, seconds: float) -> None:
        """Set a new deadline for what is recorded after the answer, so many seconds from now."""
        self._seconds = seconds
        self._until_s = time.monotonic() + seconds
        self._is_met = False

    def _watch(self) -> None:
        while True:
            if self._is_met or self.left_s > 0:
                time.sleep(_LOOK_S)
                continue
            self._look()

    def _look(self) -> None:
        with self._lock:
            if not self._is_met and self.left_s <= 0:
                self._end()

    def _end(self) -> None:
        # The disk may be what hangs, so this is not waited for without end.
        done = _thread.allocate_lock()
        done.acquire()

        def note() -> None:
            try:
                self._on_miss(f"not done after {self._seconds:g} s")
            finally:
                done.release()

        try:
            _thread.start_new_thread(note, ())
        except Exception:  # noqa: BLE001 - as above
            note()
        done.acquire(timeout=_KEEP_S)
        os._exit(0)


class _Hook:
    """One run of a hook; it holds the event until it has had its effects, and what the log tells of it."""

    def __init__(
        self, client: str, event: str, flags: Mapping[str, object], started_s: float, *, is_debug: bool = False
    ) -> None:
        self._is_debug = is_debug
        self._client = client
        self._name = event
        self._flags = flags
        self._started_s = started_s
        self._home = home_path(os.environ)
        self._key = new_key()
        self._read: HookEvent | None = None
        self._event: Input | None = None
        self._is_input_read = False

    def run(self, *, is_service_wanted: bool, mistake: str = "") -> str:
        """Answer and record; returns one line for a person.

        Args:
            is_service_wanted: Ask the service, and start it where there is none.
            mistake: In the command line, for the log.
        """
        settings = read_settings(self._home, os.environ) if is_service_wanted else None
        first_s = settings.deadline_ms / 1000 if settings else _first_deadline_s(os.environ)
        deadline = Deadline(self._started_s, first_s, self._note_late)
        try:
            event = Input(self._key, self._client, self._name, _working_directory(), _read_input())
            if _may_be_event(event.data):
                self._event = event
            self._is_input_read = True
            if is_service_wanted and is_switched_off(os.environ):
                # Switched off is off: no service is started for it, and nothing is imported.
                return "hybrid: skipped (disabled)"
            if mistake:
                self._note_briefly(mistake)
            if is_service_wanted and self._event is None:
                # Nothing to answer, so nothing is started and no folder is looked at.
                self._note_briefly("hook input is empty or no JSON object")
                return "hybrid: failed (hook input is empty or no JSON object)"
            if is_service_wanted and settings is None:
                settings = self._resolved(deadline)
            if settings and settings.is_daemon_enabled:
                return self._answer_with_service(event, deadline)
            return self._answer_here(event, deadline)
        except BaseException as error:
            # The rim: silent to the agent, a line in the log. What a user interrupts was typed all the same.
            if not (is_service_wanted or isinstance(error, Exception)):
                raise
            kept = self._keep()
            if isinstance(error, Exception) and not kept:
                self._note(error)
            else:
                self._note(f"{type(error).__name__}: {error}{kept}")
            if is_service_wanted and settings and settings.is_daemon_enabled:
                self._start_for_kept()
            return f"hybrid: failed ({type(error).__name__}: {error})"
        finally:
            deadline.meet()

    def _keep(self) -> str:
        """Keep the event if it has not had its effects yet; returns what became of it, in words, empty without one."""
        event = self._event
        if event is None or is_switched_off(os.environ):
            return ""
        settings = read_settings(self._home, os.environ)
        from hybrid.hooks.keeping import is_of_private_turn, keep_event, may_keep

        if not may_keep(self._home, settings, os.environ, event):
            return "; the event is not kept, as the settings want it"
        parts = event.parts(environment_of(os.environ))
        if is_of_private_turn(self._home, parts):
            return "; the event is not kept: its prompt wants to be left alone"
        if keep_event(Spool(self._home), event.key, parts, on_drop=self._note_briefly):
            return "; the event is kept and taken in later"
        return "; the event is lost: it cannot be kept"

    def _answer_with_service(self, event: Input, deadline: Deadline) -> str:
        """Ask the service; without one start it, and answer here if that fits into the time."""
        call = Call(self._home, os.environ)
        try:
            if call.reach(deadline.left_s * _GREETING_SHARE):
                return self._ask(call, event, deadline)
        except WireError:
            if deadline.left_s < _HERE_S:
                raise
            call.close()
        from hybrid.hooks.child import place

        with place(self._home) as is_mine:
            if is_mine and deadline.left_s > _HERE_S:
                call.close()
                return self._answer_first(event, deadline)
        self._start_service(event)
        call.wait(deadline.left_s)
        return self._ask(call, event, deadline)

    def _ask(self, call: Call, event: Input, deadline: Deadline) -> str:
        """Ask the service that was reached, print its answer and confirm it; return one line for a person."""
        printed, line = call.ask(event, elapsed_ms=self._elapsed_ms, left_s=deadline.left_s)
        self._event = None  # The service has it, or keeps it by itself.
        if printed:
            _give(printed, deadline)
            try:
                call.delivered(self._elapsed_ms)
            except WireError:
                # The service ended meanwhile. The agent has its text all the same, and must not get a second one.
                self._note("the service ended before it was told that its answer was given")
        call.close()
        return line

    def _answer_first(self, event: Input, deadline: Deadline) -> str:
        """Answer without the service, and start it then: the two would take the processor from each other.

        A child process answers where there can be one. The hook ends with the answer, and the agent waits neither for
        the books to be kept nor for the start.
        """
        from hybrid.hooks.child import CAN_FORK, Child

        child: Child | None = None
        if CAN_FORK and not self._is_debug:
            try:
                child = Child(lambda parent: self._be_child(event, parent))
            except Exception as error:  # noqa: BLE001 - whatever it is, there is no child
                self._note_briefly(f"answered without a child process: {type(error).__name__}")
        if child is None:
            try:
                return self._answer_here(event, deadline)
            finally:
                self._start_service(event)
        printed, line = child.answer(lambda: deadline.left_s, deadline.set_ms)
        self._event = None  # The child has it, or keeps it by itself.
        if printed:
            _give(printed, deadline)
            child.delivered(self._elapsed_ms)
        return line

    def _be_child(self, event: Input, parent: Connection) -> None:
        """Answer in the child, and afterwards record, take in kept events, and start the service."""
        import gc

        from hybrid.hooks.child import tell

        gc.disable()  # It takes a twentieth of the time of a process that ends soon.
        try:
            reply, printed = self._answered(event, lambda milliseconds: tell(parent, str(milliseconds).encode()))
            from hybrid.hooks.answer import deliver

            deliver(reply, printed, parent, lambda: self._elapsed_ms)
            self._take_rest(reply)
        except Exception as error:  # noqa: BLE001 - the rim, as in `run`
            tell(parent, b"", f"hybrid: failed ({type(error).__name__}: {error})".encode("utf-8", "replace"))
            kept = self._keep()
            self._note(f"{type(error).__name__}: {error}{kept}" if kept else error)
        finally:
            parent.close()
            self._start_service(event)

    def _answer_here(self, event: Input, deadline: Deadline) -> str:
        """Answer, print and record in this process; return one line for a person."""
        reply, printed = self._answered(event, deadline.set_ms)
        if reply.is_taken:
            self._event = None
        _give(printed, deadline)
        reply.finish(self._elapsed_ms)
        self._take_rest(reply)
        return reply.debug_line

    def _answered(self, event: Input, set_deadline: Callable[[int], None]) -> tuple[Reply, bytes]:
        # A query is one small matrix-vector product: a second thread costs more than it gives.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        _find_packages()
        from hybrid.hooks.event import EventError
        from hybrid.hooks.taking import answer_event, event_of_parts

        try:
            self._read, _ = event_of_parts(event.parts(environment_of(os.environ)), event.key)
        except EventError:
            self._event = None  # Nobody will be able to read it later.
            raise
        return answer_event(self._read, self._flags, set_deadline=set_deadline, elapsed_ms=lambda: self._elapsed_ms)

    def _take_rest(self, reply: Reply) -> None:
        """Take in kept events after the answer, and keep the present event if it has not had all its effects."""
        from hybrid.hooks.taking import take_rest

        take_rest(self._home)
        if not reply.is_taken:
            self._note_briefly(f"a part of what the event leaves behind is not done yet{self._keep()}")
        self._event = None

    def _start_for_kept(self) -> None:
        """Start the service if the event is still to be taken in, since nobody else may come for long."""
        if self._event is not None:
            try:
                self._start_service(self._event)
            except Exception:  # noqa: BLE001 - the rim: the event is kept, and waits for the next one
                return

    def _resolved(self, deadline: Deadline) -> HookSettings | None:
        """Resolve the settings here, where nobody did; None where they cannot be kept.

        This comes before the answer: a hook that ends at its deadline would leave it to the next one, which ends there
        too, and on a busy machine no service would ever start.
        """
        _find_packages()
        from pathlib import Path

        from hybrid.workspace import keep_hook_settings  # It reads TOML.

        keep_hook_settings(Path(self._home))
        settings = read_settings(self._home, os.environ)
        if settings:
            deadline.set_ms(settings.deadline_ms)
        return settings

    def _start_service(self, event: Input) -> None:
        """Start the service, unless the event is one that never takes a text."""
        if event_of(self._name) in _SILENT:
            return
        from hybrid.ipc.start import start_service

        start_service(self._home, os.environ, cwd=_session_directory(event))

    def _note(self, error: Exception | str) -> None:
        note_failure(error, self._read)

    def _note_late(self, message: str) -> None:
        """Keep the event, and say so in the log; a process that has not read its event gets a moment for it first."""
        until_s = time.monotonic() + _READ_S
        while not self._is_input_read and time.monotonic() < until_s:
            time.sleep(0.01)
        self._note_briefly(message + self._keep())

    def _note_briefly(self, message: str) -> None:
        """Append a failure's line to the log as plain text, since an import would take too long on a busy machine."""
        now_s = time.time()
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s)) + f".{int(now_s * 1000) % 1000:03d}+00:00"
        values = {
            "id": f"{int(now_s * 1000) & 0xFFFFFF:06x}{os.getpid() & 0xFFFF:04x}",
            "at": at,
            "client": "".join(filter(str.isalnum, self._client[:40])),
            "event": "".join(filter(str.isalnum, self._name[:40])),
            "cwd": _plain(_working_directory()),
            "reason": "error",
            "error": message,
        }
        line = ",".join(f'"{name}":"{value}"' for name, value in values.items())
        _append(os.path.join(self._home, "log", "events.jsonl"), f"{{{line}}}\n".encode("ascii", "replace"))  # noqa: PTH118

    @property
    def _elapsed_ms(self) -> float:
        return (time.monotonic() - self._started_s) * 1000


def _find_packages() -> None:
    """Add the folders of installed packages to the path where the interpreter was started without them (`-S`)."""
    if "site" not in sys.modules:
        import site

        site.main()


def _read_input() -> bytes:
    """Return the bytes of standard input, at most about as many as an event may have."""
    parts: list[bytes] = []
    n_bytes = 0
    while n_bytes <= _MAX_BYTES:
        try:
            part = os.read(0, 1 << 20)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
        n_bytes += len(part)
    return b"".join(parts)


def _may_be_event(data: bytes) -> bool:
    """Return whether the input begins as a JSON object does; the service reads it as a whole."""
    return data[:65_536].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"


def _guard_streams(*, is_debug: bool) -> None:
    """Fill the places of closed standard streams, or the next file that is opened would be one; stderr is silent.

    What is put in the place of standard output cannot be written: a text that nobody gets was not given.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)
    if not is_debug:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)


def _give(printed: bytes, deadline: Deadline) -> None:
    """Write the answer, which nothing interrupts; what follows has a time limit of its own.

    Raises:
        OSError: The client does not read it (any more), so nothing was given.
    """
    deadline.meet()
    try:
        view = memoryview(printed)
        while view:
            view = view[os.write(1, view) :]
    finally:
        deadline.allow(_RECORD_S)


def _append(path: str, line: bytes) -> None:
    """Append a line to a file, made with its folder if missing; what cannot be written is left out."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)  # noqa: PTH103, PTH120
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _AS_IT_IS, 0o600)
    except OSError:
        return
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def _plain(text: str) -> str:
    """Return a text if it can stand in JSON as it is, else an empty one."""
    return text if text.isascii() and text.isprintable() and not set(text) & set('"\\') else ""


def _first_deadline_s(environ: Mapping[str, str]) -> float:
    """Return the deadline in seconds until the settings are read: 1.5, or more if the environment sets a longer one."""
    text = environ.get("HYBRID_HOOKS_DEADLINE_MS", "")
    return max(HARD_STOP_S, int(text) / 1000) if text.isascii() and text.isdigit() else HARD_STOP_S


def _session_directory(event: Input) -> str:
    """Return the directory that the event names if it exists, else the hook's, which clients may start elsewhere."""
    import json

    try:
        cwd = json.loads(event.data.decode("utf-8-sig", "replace"))["cwd"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return event.cwd
    return cwd if isinstance(cwd, str) and os.path.isdir(cwd) else event.cwd  # noqa: PTH112 - pathlib is 6 ms


def _working_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - a deleted directory must not raise through Path
    except OSError:
        return ""
