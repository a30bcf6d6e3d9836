"""The event log: one JSON line for every decision of a hook with its reason, and what they say of the product's health.

`hybrid log`, `explain` and `status` read it, and the status line, for which this module is cheap to import. The log is
bounded: it rotates at a size, and old parts go.

A reason, for which an event gets a text or nothing, has a sentence, a short form and advice: the engine gives a
decision one of these names, and `explain`, its advice and the status line show it. A new reason is added here and
nowhere else.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from itertools import takewhile

TYPE_CHECKING = False  # `typing` costs a status line four milliseconds, `datetime` and `pathlib` five.
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import Any, BinaryIO, Literal, TypeAlias

    ReasonName: TypeAlias = Literal[
        "injected",
        "disabled",
        "paused",
        "prompt",
        "no_project",
        "no_index",
        "index_corrupt",
        "index_mismatch",
        "loading",
        "gate",
        "no_results",
        "late",
        "same_topic",
        "all_seen",
        "budget",
        "at_file",
        "at_failure",
        "held_out",
        "oriented",
        "given_back",
        "reminded",
        "briefed",
        "resumed",
        "repeated",
        "nothing_given",
        "reset",
        "learned",
        "cited",
        "ignored",
        "off",
        "error",
    ]


FOLDER = "log"
"""Name of the log's folder in a `$HYBRID_HOME`."""

EVENTS, OUTCOMES = "events", "outcomes"
"""Names of the two logs: of decisions, and of what became of them (`log.outcomes`)."""


class EventLog:
    """A log of one `$HYBRID_HOME`, `EVENTS` or `OUTCOMES`."""

    def __init__(self, folder: Path, *, max_bytes: int, keep: int, name: str = EVENTS) -> None:
        self._folder = folder
        self._name = name
        self._path = folder / part_name(0, name)
        self._lock = folder / f"{name}.lock"
        self._max_bytes = max_bytes
        self._keep = keep

    def append(self, event: Mapping[str, Any]) -> str:
        """Write one event to the log; `id` and `at` are added.

        Returns:
            The event's id, 10 hex digits, for `hybrid explain`.

        Raises:
            OSError: The disk is full or read-only.
        """
        from datetime import datetime, timezone

        from hybrid.base.atomic import append_line

        event_id = f"{time.time_ns() // 1_000_000 & 0xFFFFFF:06x}{os.urandom(2).hex()}"
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        line = json.dumps({"id": event_id, "at": at, **event}, separators=(",", ":"), ensure_ascii=True)
        self._rotate()
        append_line(self._path, line.encode())
        return event_id

    def find(self, event_id: str) -> dict[str, Any] | None:
        """Return the newest event whose id begins with a text; None when none does."""
        return next((event for event in self.newest() if str(event.get("id", "")).startswith(event_id)), None)

    def newest(self) -> Iterator[dict[str, Any]]:
        """Yield the events of all projects, newest first; half-written or foreign lines are passed over."""
        # A rotation between two parts makes the first one the second: what it held is not given twice. Whole lines are
        # compared: two events of one millisecond may share an id.
        lines: set[bytes] = set()
        for number in range(self._keep + 1):
            before, lines = lines, set[bytes]()
            for line, event in _events(self._part(number)):
                lines.add(line)
                if line not in before:
                    yield event

    @contextlib.contextmanager
    def held_parts(self) -> Generator[list[Path]]:
        """Give the files of the log for the block, in which their names stay; lines may still be added to the newest.

        Raises:
            OSError: Another process changes the names at this moment.
        """
        from hybrid.base.atomic import locked

        with locked(self._lock, 1.0) as held:
            if not held:
                raise OSError(f"{self._folder / f'{self._name}.lock'} cannot be locked")
            yield [path for path in map(self._part, range(self._keep + 1)) if path.is_file()]

    def _part(self, number: int) -> Path:
        return self._folder / part_name(number, self._name)

    def _rotate(self) -> None:
        from hybrid.base.atomic import locked

        with contextlib.suppress(OSError):
            if self._path.stat().st_size < self._max_bytes:
                return
            with locked(self._lock, 0) as held:
                if not held or self._path.stat().st_size < self._max_bytes:
                    return
                for number in range(self._keep, 0, -1):
                    with contextlib.suppress(FileNotFoundError):
                        self._part(number - 1).replace(self._part(number))
                if self._keep == 0:
                    self._path.unlink()


def part_name(number: int, name: str = EVENTS) -> str:
    """Return the name of a part of a log: 0 is the newest."""
    return f"{name}.{number}.jsonl" if number else f"{name}.jsonl"


def seconds_of(at: object) -> float:
    """Return the time of a line of a log in seconds since 1970; 0 for what is none."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(str(at)).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def log_folder(home: Path) -> Path:
    """Return the folder of the log of a `$HYBRID_HOME`."""
    return home / FOLDER


def newest_events(folder: str | Path, *, max_bytes: int, name: str = EVENTS) -> Iterator[dict[str, Any]]:
    """Yield the events at the end of the log, newest first, for callers that cannot wait for all of it.

    Args:
        folder: Folder of the log, as of an `EventLog`.
        max_bytes: So much of the current part is read; of the one before only when the current one was just begun.
        name: Name of the log.
    """
    size = 0
    for number in (0, 1):
        path = os.path.join(folder, part_name(number, name))  # noqa: PTH118 - see above
        data, is_whole = _end_of(path, max_bytes - size)
        size += len(data)
        yield from (event for _, event in _parsed(data if is_whole else data.partition(b"\n")[2]))
        if size >= max_bytes:
            return


def compared_in(event: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return score and bar that a gate compared: those of the files, each None when the event does not hold it.

    For an injection of records alone, those of the kind that was open most clearly; (None, None) without a search.
    """
    kinds: dict[str, dict[str, Any]] = event.get("kinds") or {}
    items: list[dict[str, Any]] = event.get("items") or []
    if kinds and items and all(item.get("id") for item in items):
        opened = [verdict for verdict in kinds.values() if verdict.get("is_open") and verdict.get("score") is not None]
        if not any(verdict.get("is_open") for verdict in kinds.values()):
            return None, None  # Given without a search: a handoff, or the last summaries.
        if opened:
            verdict = max(opened, key=lambda verdict: verdict["score"] - (verdict.get("threshold") or 0))
            return verdict["score"], verdict.get("threshold")
    # Lines of earlier versions have no score: they compared the raw top cosine.
    return event.get("score", event.get("top_cosine")), event.get("threshold")


def open_part(path: str | Path) -> BinaryIO:
    """Open a file of the log for reading; a pipe in its place is not waited for."""
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))


def _end_of(path: str, max_bytes: int) -> tuple[bytes, bool]:
    """Return the last bytes of a file, and whether they are the whole file; empty when it cannot be read."""
    try:
        with open_part(path) as file:
            begin = max(file.seek(0, os.SEEK_END) - max_bytes, 0)
            file.seek(begin)
            return file.read(max_bytes), begin == 0
    except OSError:
        return b"", True


def _events(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    with contextlib.suppress(OSError), open_part(path) as file:
        yield from _parsed(file.read())


def _parsed(data: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
    for line in reversed(data.splitlines()):
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield line, event


# --- health -----------------------------------------------------------------------------------------------


PROMPT = "UserPromptSubmit"

_SAMPLE = 200
"""Number of the last prompts of which percentiles are taken."""

CITED = "lessons cite"
"""The name of the event of a person who counts a use of lessons."""

_NO_DECISION = frozenset({"Stop", "SessionEnd", "PreCompact", CITED})
"""Events that are only noted: nothing was decided, so they prove neither health nor the end of a failure."""


def is_decision(event: dict[str, Any]) -> bool:
    """Return whether an event is a decision without an error, silence included; events that are only noted are none."""
    return not event.get("error") and event.get("event") not in _NO_DECISION


def is_prompt(event: dict[str, Any]) -> bool:
    """Return whether an event answers what a person typed; lines of the first versions name no event: all did."""
    return is_decision(event) and event.get("event") in (None, PROMPT) and not event.get("is_report")


def health(newest_first: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the `health` part of the status: a success is any decision that was made, silence included.

    Args:
        newest_first: Events of one project, newest first.

    Returns:
        `last_success` and `last_error` (time, or an object with time and message; None when there was none),
        `consecutive_failures`, and `latency_ms` with p50 and p95 of the last 200 prompts (None before the first).
    """
    events = [event for event in newest_first if event.get("error") or is_decision(event)]
    decisions = [event for event in events if not event.get("error")]
    failures = [event for event in events if event.get("error")]
    prompts = [event for event in decisions if is_prompt(event)]
    latencies = sorted(
        float(event["latency_ms"]) for event in prompts[:_SAMPLE] if isinstance(event.get("latency_ms"), (int, float))
    )
    return {
        "last_success": decisions[0].get("at") if decisions else None,
        "last_error": {"at": failures[0].get("at"), "message": failures[0].get("error")} if failures else None,
        "consecutive_failures": sum(1 for _ in takewhile(lambda event: event.get("error"), events)),
        "latency_ms": {"p50": percentile(latencies, 0.5), "p95": percentile(latencies, 0.95)},
    }


def percentile(ordered: list[float], share: float) -> float | None:
    """Return the smallest of ascending values that a share of them does not exceed (nearest rank); None for none."""
    if not ordered:
        return None
    return ordered[max(math.ceil(share * len(ordered)), 1) - 1]


class Reason:
    """One reason.

    Attributes:
        sentence: The sentence that `hybrid explain` shows first.
        short: Text in the status line after "silent"; empty for a reason that has a line of its own there.
        advice: Text on what would have changed it, where no setting and no earlier event has a say; empty otherwise.
    """

    __slots__ = ("advice", "sentence", "short")

    def __init__(self, sentence: str, *, short: str = "", advice: str = "") -> None:
        self.sentence = sentence
        self.short = short
        self.advice = advice


REASONS: dict[ReasonName, Reason] = {
    "injected": Reason("The gate was open and these records fitted."),
    "disabled": Reason(
        "hybrid is switched off by HYBRID_DISABLE.",
        advice="Take HYBRID_DISABLE out of the environment that the client was started in.",
    ),
    "paused": Reason("hybrid is paused here."),
    "prompt": Reason("The prompt itself asks for nothing that could be looked up.", short="nothing to look up"),
    "no_project": Reason(
        "The session's directory lies in no project.",
        short="no project here",
        advice="Start the session inside a git working tree, or run `hybrid init` in the folder.",
    ),
    "no_index": Reason("The project was not indexed yet.", advice="Run `hybrid reindex`; then ask again."),
    "index_corrupt": Reason(
        "The index is damaged.",
        advice="Run `hybrid reindex`, which repairs the index; `hybrid doctor` looks for the cause.",
    ),
    "index_mismatch": Reason(
        "The index is of another format, or its model is gone.",
        advice="The service makes it anew by itself; `hybrid reindex` does it at once.",
    ),
    "loading": Reason(
        "The model of the index was being loaded, and no prompt waits for that.",
        short="the model is being loaded",
        advice="Ask again: it is loaded in the background.",
    ),
    "gate": Reason("Nothing in the project is close enough to the prompt: the gate stayed closed."),
    "no_results": Reason("The gate was open, but no result reached the floor.", short="nothing close enough"),
    "late": Reason("Something fitted, but the agent did not wait for it.", short="too late"),
    "same_topic": Reason("The results are those of this session's last injection.", short="given before"),
    "all_seen": Reason("This session already has every result.", short="given before"),
    "budget": Reason("No result fits the budget.", short="nothing fits the budget"),
    "at_file": Reason("The agent opened or edited a file that these records are about."),
    "at_failure": Reason("A command failed as it did in an earlier session, where it passed after these steps."),
    "held_out": Reason(
        "Held out, the session or the record, so that `hybrid eval holdout` can compare.",
        advice="`hybrid config set experiment.holdout 0 --user` ends the experiment.",
    ),
    "oriented": Reason("A new session was told where it is and how to search."),
    "given_back": Reason("After a compaction the session got back the best of what it had been given."),
    "reminded": Reason("The lessons that are used most were given again, as `lessons.remind_every` wants it."),
    "briefed": Reason("A subagent got the best of what its session had been given."),
    "resumed": Reason("A resumed session still has what it was given."),
    "repeated": Reason(
        "The same start was answered already: the hook is registered twice.",
        advice="`hybrid doctor` names the places that call hybrid; remove all but one.",
    ),
    "nothing_given": Reason("There was nothing to give back."),
    "reset": Reason("The client compacts its context: what was given may be given again."),
    "learned": Reason("At the end of a turn lessons were cited or written down."),
    "cited": Reason("Lessons were cited by hand."),
    "ignored": Reason("The event asks for nothing."),
    "off": Reason("A setting switches this off."),
    "error": Reason("The hook failed."),
}

UNSEARCHABLE = frozenset({"no_index", "index_corrupt", "index_mismatch"})
"""Reasons that mean that there is no index to search."""

STARTS = frozenset({"oriented", "resumed", "given_back"})
"""Reasons of events in which a session began or went on."""

PROMPT_RULES = {
    "opted_out": "It holds `[no-hybrid]`: leave that out.",
    "machine_made": "The client made it, nobody typed it: such prompts are never searched.",
    "subagent_report": "It is a subagent's report: `hooks.subagent_reports` decides whether those are looked up.",
    "slash_command": "It is a bare slash command: its arguments would be searched, its name is not.",
    "empty": "Nothing is left of it once private spans and injected blocks are cut.",
    "acknowledgement": "It only acknowledges: name what you want to know.",
    "session_turn": "It is a turn of the conversation: name the file, identifier or subject and it is searched.",
    "too_few_words": "One plain word says too little: name an identifier or a path, or use more words.",
    "role_play": "It asks for a role to be played; as a task about code it would be searched.",
}
"""Prompt rule that kept silent → advice; the advice on `skip_prefix` depends on settings."""


def reason_of(name: object) -> Reason | None:
    """Return the reason of a given name in the log; None for a name that this version does not know."""
    return REASONS.get(name)  # pyright: ignore[reportArgumentType, reportCallIssue] - the line may hold anything
