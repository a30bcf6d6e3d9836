"""A simulated week: many sessions at once through the real hook command, while hooks and the service are killed.

`hybrid eval week` calls it. Afterwards it is counted what the memory has of what the hooks acknowledged. A hook
acknowledges an event by ending with 0 before anybody killed it, which is all that a client sees.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.daemon.server import end_service, wait_for_end
from hybrid.evaluation.timing import sum_up
from hybrid.ipc.spool import Spool
from hybrid.ipc.start import daemon_status, start_command, stop
from hybrid.ipc.wire import read_endpoint
from hybrid.project.find import hybrid_home
from hybrid_lab.memory.replay import make_repository
from hybrid_lab.week.counting import Done, count_memory
from hybrid_lab.week.events import USES_OF_A_PROMPT, make_sessions, project_names

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from hybrid.evaluation.timing import Runner
    from hybrid_lab.week.events import Sent

_BARE = ("-I", "-S", "-c", "pass")
_BARE_EVERY = 20
"""Hooks of one worker between two bare starts of the interpreter, which are timed in turn with them."""
_AGAIN_SHARE = 0.01
"""Of the events that a client sends twice."""
_KILLED_AFTER_S = (0.005, 0.08)
_STOPPED_S = 15.0
_SETTLED_S = 120.0
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class WeekPlan(Struct, frozen=True):
    """The size of a simulated week.

    Attributes:
        n_events: Uses of tools over all sessions; prompts, stops, starts and ends come besides.
        n_sessions: Over all projects.
        n_projects: Git repositories of their own.
        n_processes: Hooks at once.
        n_kills: Of the service, and as many of hooks.
        seed: Of events and kills.
        uses_of_a_prompt: Uses of tools that follow each prompt.
        with_lessons: Every prompt holds a lesson.
        spares_hooks: Only the service is killed: then nothing at all may be missing.
        n_busy: Processes that do nothing but keep the processor busy.
    """

    n_events: int = 8_000
    n_sessions: int = 40
    n_projects: int = 5
    n_processes: int = 4
    n_kills: int = 10
    seed: int = 1
    uses_of_a_prompt: int = USES_OF_A_PROMPT
    with_lessons: bool = False
    spares_hooks: bool = False
    n_busy: int = 0


def simulate_week(
    plan: WeekPlan, folder: Path, runner: Runner, *, report_session: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Send a week of events, and count what is there afterwards; no service is left behind.

    Args:
        plan: What is simulated.
        folder: For the projects.
        runner: Of processes, with a home of its own that no service serves.
        report_session: Hears the id of each session that ended.

    Returns:
        What was sent, acknowledged, kept, missing and doubled; the state of the database; times in milliseconds beside
        those of a bare interpreter start; what the log says went wrong.
    """
    roots = {name: folder / name for name in project_names(plan.n_projects)}
    for root in roots.values():
        make_repository(root, runner.environ)
    sessions = make_sessions(
        plan.n_events,
        plan.n_sessions,
        plan.n_projects,
        seed=plan.seed,
        uses_of_a_prompt=plan.uses_of_a_prompt,
        with_lessons=plan.with_lessons,
    )
    week = _Week(plan, roots, runner, sum(len(session) for session in sessions))
    started_s = time.perf_counter()
    try:
        with _busy(plan.n_busy), ThreadPoolExecutor(plan.n_processes) as pool:
            try:
                for session in pool.map(week.play, sessions):
                    report_session(session)
            except BaseException:
                week.is_stopped = True
                raise
        seconds = time.perf_counter() - started_s
        n_kept = week.settle()
    finally:
        week.close()
    home = hybrid_home(runner.environ)
    return {
        "plan": asdict(plan),
        "seconds": round(seconds, 1),
        "kills": dict(week.kills),
        "kept_for_later": week.n_spooled,
        "left_in_spool": n_kept,
        **count_memory(week.done, roots, runner.environ),
        "times": week.times(),
        "log": logged_errors(home),
    }


class _Week:
    """Sends events from several threads; every hook is a process, as a client starts it."""

    def __init__(self, plan: WeekPlan, roots: dict[str, Path], runner: Runner, n_all: int) -> None:
        self._roots = roots
        self._runner = runner
        self._home = runner.environ["HYBRID_HOME"]
        self._lock = threading.Lock()
        self._drawn = random.Random(plan.seed)
        self.n_spooled = 0
        n_kills = plan.n_kills
        self._service_kills = {(number + 1) * n_all // (n_kills + 1) for number in range(n_kills)}
        n_hook_kills = 0 if plan.spares_hooks else min(n_kills, n_all)
        self._hook_kills = set(self._drawn.sample(range(n_all), n_hook_kills))
        self._n = 0
        self._bare_s: list[float] = []
        self.is_stopped = False
        self.done: list[Done] = []
        self.kills: Counter[str] = Counter()

    def play(self, session: Sequence[Sent]) -> str:
        """Send a session, one event after the other as an agent does; its id."""
        for sent in session:
            if self.is_stopped:
                break
            for _ in range(1 + self._is_sent_again(sent)):
                self._send(sent)
        return session[0].session_id

    def _is_sent_again(self, sent: Sent) -> bool:
        with self._lock:
            return bool(sent.use_id) and self._drawn.random() < _AGAIN_SHARE

    def _send(self, sent: Sent) -> None:
        with self._lock:
            number, self._n = self._n, self._n + 1
            wait_s = self._drawn.uniform(*_KILLED_AFTER_S) if number in self._hook_kills else None
        if number in self._service_kills:
            self._kill_service()
        done = self._hook(sent, wait_s)
        bare_s = self._bare() if number % _BARE_EVERY == 0 else None
        with self._lock:
            self.done.append(done)
            self.kills["hooks"] += done.code is None
            if bare_s is not None:
                self._bare_s.append(bare_s)

    def _hook(self, sent: Sent, killed_after_s: float | None) -> Done:
        root = str(self._roots[sent.project])
        command = start_command("hook", "run", "--client", "claude", "--event", sent.event)
        data = sent.as_json(root)
        started_s = time.perf_counter()
        process = subprocess.Popen(
            command,
            env=dict(self._runner.environ),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            # A hook that is killed while it reads breaks the pipe.
            with contextlib.suppress(OSError):
                if process.stdin is not None:
                    process.stdin.write(data)
                    process.stdin.close()
            try:
                code = process.wait(killed_after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return Done(sent, time.perf_counter() - started_s, None)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return Done(sent, time.perf_counter() - started_s, code)

    def _bare(self) -> float:
        command = [start_command()[0], *_BARE]
        started_s = time.perf_counter()
        subprocess.run(command, env=dict(self._runner.environ), stdin=subprocess.DEVNULL, check=True)
        return time.perf_counter() - started_s

    def _kill_service(self) -> None:
        # One that is too busy to answer is killed too.
        pid = int((read_endpoint(self._home) or {}).get("pid", "0"))
        if pid and pid != os.getpid() and _is_service(pid):
            with contextlib.suppress(OSError):
                os.kill(pid, _KILL)
                with self._lock:
                    self.kills["services"] += 1

    def settle(self) -> int:
        """Let a service take in what waits; how many events it left."""
        self._runner.run("-m", "hybrid", "daemon", "start", "--quiet")
        spool = Spool(self._home)
        until_s = time.monotonic() + _SETTLED_S
        while spool.waiting() and time.monotonic() < until_s:
            time.sleep(0.1)
        self.n_spooled = sum(
            "is kept and taken in later" in str(line.get("error")) for line in _log_lines(Path(self._home) / "log")
        )
        return len(spool.waiting())

    def close(self) -> None:
        """Stop the service, also one that is just starting, and wait for its end."""
        pid = daemon_status(self._home)["pid"]
        stop(self._home, timeout_s=_STOPPED_S)
        wait_for_end(pid or 0, _STOPPED_S)
        end_service(Path(self._home))

    def times(self) -> dict[str, Any]:
        """Return the times of hooks that nobody killed, by event, and their difference to a bare start."""
        bare = sum_up([seconds * 1000 for seconds in self._bare_s])
        by_event: dict[str, list[float]] = {}
        for one in self.done:
            if one.code is not None:
                name = "PostToolUse" if one.sent.use_id else one.sent.event
                by_event.setdefault(name, []).append(one.seconds * 1000)
        found: dict[str, Any] = {"bare_start": bare.as_json()}
        for name, times_ms in by_event.items():
            times = sum_up(times_ms)
            added = {
                "added_median_ms": round(times.median_ms - bare.median_ms, 2),
                "added_p95_ms": round(times.p95_ms - bare.p95_ms, 2),
            }
            found[name] = times.as_json(per_bare_start=bare.median_ms) | {"max_ms": round(max(times_ms), 1)} | added
        return found


def _is_service(pid: int) -> bool:
    """Return whether a process is a service: its number may have become that of another one."""
    try:
        return b"\0daemon\0run\0" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return not Path("/proc/self").exists()


@contextlib.contextmanager
def _busy(n: int) -> Generator[None]:
    """So many processes beside the block that do nothing but keep the processor busy."""
    spinning = [subprocess.Popen([start_command()[0], "-I", "-S", "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def logged_errors(home: Path) -> dict[str, int]:
    """Return the faults in the event log, without numbers and paths, each with its count."""
    counts: Counter[str] = Counter()
    for event in _log_lines(home / "log"):
        if event.get("reason") in ("error", "late"):
            said = str(event.get("error") or event.get("reason"))
            counts["".join("#" if char.isdigit() else char for char in said)[:160]] += 1
    return dict(counts.most_common(20))


def _log_lines(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.glob("events*")):
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict):
                    yield value
