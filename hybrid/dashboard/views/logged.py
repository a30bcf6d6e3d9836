"""Views of the event log: what was decided and why, live; one decision in full; the gate's curve; marks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from hybrid.base.errors import HybridError
from hybrid.dashboard.rendering import curves, link
from hybrid.dashboard.service_client import NO_PROJECT, Owners, PageError
from hybrid.health.explaining import advice, gate_rows, item_place, kind_rows, learned_ids
from hybrid.health.status import USE_DAYS
from hybrid.log.events import (
    OUTCOMES,
    REASONS,
    STARTS,
    compared_in,
    is_decision,
    newest_events,
    reason_of,
)
from hybrid.log.log_index import COMPARED, INJECTED, PROMPT, LogFilter
from hybrid.log.marks import MEANINGS, add_mark, read_marks, remove_marks
from hybrid.log.outcomes import figures, outcome_in_words
from hybrid.operations.doctor import status_of
from hybrid.records.memory.types import parse_name
from hybrid.redact import redact
from hybrid.render.numbers import LOWEST_BAR, local_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from starlette.responses import Response

    from hybrid.dashboard.service_client import Asked, KnownProject
    from hybrid.log.log_index import LogIndex

    Event = dict[str, Any]

_PAGE = 50
_LOOK_S = 0.5
"""Seconds between two looks at the log for a page that follows it."""
_BEAT_S = 15.0
"""Seconds after which something is sent in any case, so that a browser that is gone is noticed."""
_CURVE = 200
"""Prompts of which the curve is drawn."""
_MOST_NAMED = 200
"""Rows of the memory whose titles are looked up for a page."""
_LISTED = 40
"""Prompts below the curve."""

_COMPARED = ("score", "threshold", "top_cosine")

_NO_EVENT: Event = {}
_OUTCOMES_BYTES = 1_000_000
"""Bytes at the end of the log of outcomes that a view reads: some thousand turns."""
SHOWN = {"": 0, "prompts": PROMPT, "injected": INJECTED}
"""Choice of lines of the log → the signs that a line must have."""
# --- now --------------------------------------------------------------------------------------------------


def now(asked: Asked) -> Response:
    """Show the last decisions, newest first, with what each gave and why."""
    log = asked.desk.log
    log.refresh()
    show, reason = asked.query.get("show", ""), asked.query.get("reason", "")
    wanted = asked.log_filter(signs=SHOWN.get(show, 0), reason=reason)
    before, marks = asked.query.get("before", ""), marks_of(asked)
    events, has_more = log.page(wanted, before=before, limit=_PAGE)
    newest = log.newest_id()
    here = filter(lambda one: asked.is_every_project or one.get("project") == asked.project.key, _outcomes(asked))
    return asked.page(
        "now.html",
        use=figures(here, days=USE_DAYS, now_s=time.time()),
        events=_named(asked, [described(event, marks, owners_of(asked)) for event in events]),
        owner="*" if asked.is_every_project else "",
        back=_this_view(asked, before=before),
        newest=newest,
        next_before=events[-1].get("id") if has_more else "",
        before=before,
        show=show,
        reason=reason,
        reasons=log.reasons(asked.log_filter()),
        sentences={name: known.sentence for name, known in REASONS.items()},
    )


def _outcomes(asked: Asked) -> Iterator[Event]:
    """Yield what became of decisions, the newest first."""
    return newest_events(asked.desk.log_folder, max_bytes=_OUTCOMES_BYTES, name=OUTCOMES)


def marks_of(asked: Asked) -> dict[str, str]:
    """Return id → word of the marks that count."""
    return {mark.event_id: mark.word for mark in read_marks(asked.desk.log_folder)}


def owners_of(asked: Asked) -> Owners | None:
    """Return whose the events are, where rows of several projects are shown; None elsewhere."""
    return Owners(asked.desk.projects()) if asked.is_every_project else None


def _this_view(asked: Asked, *, before: str = "") -> str:
    """Return the address of the decisions that are looked at: a mark leads back to it."""
    query = asked.query
    kept = {name: query.get(name, "") for name in ("owner", "show", "reason")}
    return link(asked.path("now"), **kept, before=before).unescape()


def described(event: Event, marks: Mapping[str, str], owners: Owners | None = None) -> Event:
    """Return what a row shows of an event; a line of the log may hold anything, so everything has a form here.

    Args:
        event: The event.
        marks: Id → word of the marks that count.
        owners: Names the project of the event, and leads to it; without it no project is named.
    """
    reason = str(event.get("reason") or "")
    known = reason_of(reason)
    verdicts = {kind: _dict(one) for kind, one in _dict(event.get("kinds")).items()}
    score, bar = map(_real, compared_in({**event, "kinds": verdicts, "items": _dicts(event.get("items"))}))
    return {
        "id": str(event.get("id") or ""),
        "at": str(event.get("at") or ""),
        "when": local_time(event.get("at") or "no time"),
        "reason": reason,
        "sentence": known.sentence if known else "",
        "is_injected": reason == "injected",
        "is_error": bool(event.get("error")),
        "project": owners.name(event) if owners else "",
        "base": owners.base(event) if owners else "",
        "client": str(event.get("client") or "–"),
        "about": _about(event),
        "prompt": " ".join(str(event.get("prompt") or "").split()),
        "prompt_chars": event.get("prompt_chars"),
        "digest": str(event.get("prompt_digest") or ""),
        "latency_ms": _real(event.get("latency_ms")),
        "score": score,
        "bar": bar,
        "kinds": {kind: _verdict(one) for kind, one in verdicts.items()},
        "items": [_item(item) for item in _dicts(event.get("items"))],
        "best": _best(event),
        "gate_kind": str(event.get("gate_kind") or "files"),
        "learned": learned_ids(event),
        "detail": str(event.get("error") or event.get("detail")),
        "mark": marks.get(str(event.get("id")), ""),
        "can_mark": is_decision(event) and reason not in STARTS and bool(event.get("id")),
        "good_means": MEANINGS[reason == "injected", True],
        "noise_means": MEANINGS[reason == "injected", False],
    }


def _verdict(said: Event) -> Event:
    return {**said, "is_open": bool(said.get("is_open")), **{name: _real(said.get(name)) for name in _COMPARED}}


def _real(value: object) -> float | None:
    """Return a number that can be drawn; None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None  # pyright: ignore[reportReturnType] - as just checked


def _dict(value: object) -> Event:
    """Return an object of JSON; an empty one in the place of anything else."""
    return cast("Event", value) if isinstance(value, dict) else {}


def _dicts(values: object) -> list[Event]:
    return [cast("Event", one) for one in _list(values) if isinstance(one, dict)]


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _about(event: Event) -> str:
    if event.get("is_report"):
        return "a subagent's report"
    name = event.get("event")
    return "" if name in (None, "UserPromptSubmit") else str(name)


def _item(item: Event) -> Event:
    place = item_place(item) if item.get("id") or item.get("path") else str(item.get("key") or "")
    whole = f"{item.get('path')}:{item.get('start_line')}-{item.get('end_line')}" if item.get("path") else place
    names = ("cosine", "cosine_rank", "bm25", "bm25_rank", "rrf", "relevance")
    numbers = {name: _real(item.get(name)) for name in names}
    return {
        **numbers,
        "place": whole,
        "kind": str(item.get("kind") or ""),
        "id": str(item.get("id") or ""),
        "name": str(item.get("name") or ""),
        "form": str(item.get("form") or ""),
        "why": str(item.get("why") or ""),
        "evidence": _pieces(_dict(item.get("evidence"))),
    }


def _pieces(evidence: Event) -> list[tuple[str, float]]:
    """Return the pieces of evidence, strongest first, equal ones by name."""
    numbers = [(name, number) for name, value in evidence.items() if (number := _real(value)) is not None]
    return sorted(numbers, key=lambda one: (-round(abs(one[1]), 2), one[0]))


def follow(asked: Asked) -> Response:
    """Send what is decided from now on, as server-sent events, each with the row that shows it."""
    wanted = asked.log_filter(signs=SHOWN.get(asked.query.get("show", ""), 0), reason=asked.query.get("reason", ""))
    return StreamingResponse(_following(asked, wanted, asked.query.get("after", "")), media_type="text/event-stream")


async def _following(asked: Asked, wanted: Any, after: str) -> AsyncIterator[str]:
    log, quiet_s, seen = asked.desk.log, 0.0, None
    yield "retry: 2000\n\n"
    while not asked.desk.stopping.is_set():
        # Several pages share the index: another one may have taken in what is new to this one.
        await run_in_threadpool(log.refresh)
        newest = log.newest_id()
        if newest != seen:
            seen = newest
            events = await run_in_threadpool(log.newer, wanted, after, limit=_PAGE)
            marks = await run_in_threadpool(marks_of, asked) if events else {}
            owners = await run_in_threadpool(owners_of, asked) if events else None
            shown = [described(event, marks, owners) for event in reversed(events)]
            for event in await run_in_threadpool(_named, asked, shown):
                row = asked.part("_event.html", event=event, is_new=True, back=_this_view(asked))
                yield f"data: {json.dumps({'id': event['id'], 'row': row})}\n\n"
            after = newest or after
        quiet_s += _LOOK_S
        if quiet_s >= _BEAT_S:
            quiet_s = _LOOK_S
            asked.desk.heard()
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK_S)


# --- all projects ------------------------------------------------------------------------------------------


def projects(asked: Asked) -> Response:
    """Show the projects that are known here, with what was decided and what is remembered in each."""
    log, desk = asked.desk.log, asked.desk
    log.refresh()
    n_rows: dict[str, int] = {}
    names: dict[str, str] = {}
    problem = ""
    try:
        found = asked.command("memory browse", project="*", limit=1).data["projects"]
        n_rows = {key: n for key, _, n in found}
        names = {key: name for key, name, _ in found}
    except PageError as error:
        problem = str(error)
    known = desk.projects()
    rows = [_project_row(log, one, None if problem else n_rows.pop(one.key, 0)) for one in known]
    elsewhere = [(names[key], n) for key, n in n_rows.items()]
    return asked.page("projects.html", rows=rows, elsewhere=elsewhere, problem=problem)


def _project_row(log: LogIndex, project: KnownProject, n_rows: int | None) -> Event:
    """Return what is shown of a project; `n_rows` is None where the memory could not be asked."""
    wanted = LogFilter(key=project.key, root=project.root)
    reasons = log.reasons(wanted)
    last = log.page(wanted, limit=1)[0] if reasons else []
    return {
        "project": project,
        "n_events": sum(reasons.values()),
        "n_injected": reasons.get("injected", 0),
        "last": local_time(last[0].get("at") or "no time") if last else "",
        "n_rows": n_rows,
    }


# --- one decision -----------------------------------------------------------------------------------------


def decision(asked: Asked) -> Response:
    """Show one event in full: what was compared, what was given, what was held back, and what would change it.

    Raises:
        PageError: The log does not hold it any more.
    """
    log = asked.desk.log
    log.refresh()
    event = log.find(asked.query.get("id", ""))
    if event is None:
        raise PageError("the log holds no such event any more; it keeps a bounded number of lines", "usage")
    owners = Owners(asked.desk.projects())
    owner = owners.of(event) or NO_PROJECT
    # The address may be of another project: the event, its session and the settings are those of its own.
    named = owners if owner.key != asked.project.key else None
    [shown] = _named(asked, [described(event, marks_of(asked), named)])
    rows = [] if event.get("gate_kind") in shown["kinds"] else _rows(lambda: gate_rows(event))
    for kind, compared in shown["kinds"].items():
        rows += _rows(lambda kind=kind, compared=compared: kind_rows(kind, compared))
    workspace = asked.desk.workspace(owner)
    settings = workspace.config
    outcome = next((one for one in _outcomes(asked) if event.get("id") in _list(one.get("decisions"))), _NO_EVENT)
    return asked.page(
        "decision.html",
        event=shown,
        text=workspace.texts.find(shown["id"]),
        outcome=outcome_in_words(outcome),
        rows=rows,
        parts=_parts(event),
        hints=_hints(event, _earlier(asked, event, owners), settings),
        held_back=[
            (str(one.get("key", "")).rpartition(":")[0], str(one.get("reason")))
            for one in _dicts(event.get("held_back"))
        ],
        facts=_facts(event),
        most_bm25=max((item["bm25"] or 0 for item in shown["items"]), default=0) or 1,
    )


def _best(event: Event) -> Event:
    """Return the best candidate of a silence: place, name and cosine; empty without one."""
    best = _dict(event.get("best"))
    path, start, end, _ = (*str(best.get("key") or "").rsplit(":", 3), "", "", "", "")[:4]
    place = str(best.get("id") or "") or (f"{path}:{start}-{end}" if end else path)
    return {"place": place, "name": str(best.get("name") or ""), "cosine": _real(best.get("cosine"))} if place else {}


def _rows(make: Any) -> list[tuple[str, str]]:
    """Return rows of a verdict; none of one that a damaged line holds."""
    try:
        return make()
    except (TypeError, ValueError, KeyError, AttributeError):
        return []


def _hints(event: Event, earlier: list[Event], settings: Any) -> list[str]:
    try:
        return advice(event, earlier, settings)
    except (TypeError, ValueError, KeyError, AttributeError):
        return []


def _parts(event: Event) -> list[tuple[str, float]]:
    """Return the parts of the score of the gate that decided; those that count for nothing are left out."""
    numbers = [(name, _real(value)) for name, value in _dict(event.get("parts")).items()]
    return [(name, value) for name, value in numbers if value is not None and round(value, 2)]


def _named(asked: Asked, events: list[Event]) -> list[Event]:
    """Return events whose rows of the memory have their titles, of which the log keeps none, where they can be had."""
    items = [item for event in events for item in event["items"] if item["kind"] in ("observation", "summary")]
    names = list(dict.fromkeys(item["id"] for item in items if parse_name(item["id"])))[:_MOST_NAMED]
    if names and asked.desk.service.is_there:
        with contextlib.suppress(PageError):
            rows = asked.command("memory show", id=names).data["records"]
            titles = {row["id"]: redact(row["title"] or "") for row in rows}
            for item in items:
                item["name"] = item["name"] or titles.get(item["id"], "")
    return events


def _earlier(asked: Asked, event: Event, owners: Owners) -> list[Event]:
    """Return the events before this one of the same client, session and agent, newest first."""
    keys = ("client", "session", "agent", "project")
    wanted = owners.lines(event, session=str(event.get("session") or ""))
    before, _ = asked.desk.log.page(wanted, before=str(event.get("id")), limit=_PAGE * 4)
    return [other for other in before if all(other.get(key) == event.get(key) for key in keys)]


def _facts(event: Event) -> list[tuple[str, str]]:
    """Return what else is known of an event, as name and value."""
    passages, withheld = _dict(event.get("passages")), _dict(event.get("withheld"))
    took = event.get("latency_ms")
    facts = [
        ("session", event.get("session")),
        ("agent", event.get("agent")),
        ("in English", event.get("english")),
        ("by title", ", ".join(f"{n} {kind}" for kind, n in passages.items())),
        ("detail", event.get("detail")),
        ("error", event.get("error")),
        ("topic", event.get("topic_id")),
        ("held back", ", ".join(f"{n} {why}" for why, n in sorted(withheld.items()))),
        *((("problem", problem)) for problem in _list(event.get("problems"))),
        *((("settings", problem)) for problem in _list(event.get("config_problems"))),
        (
            "answered in",
            f"{took} ms, with {event.get('bytes')} bytes" if took else "",
        ),
    ]
    return [(name, str(value)) for name, value in facts if value]


# --- gate -------------------------------------------------------------------------------------------------


def gate(asked: Asked) -> Response:
    """Show how far the last prompts came above or below their bar, and let a person mark them."""
    log = asked.desk.log
    log.refresh()
    wanted = asked.log_filter(signs=PROMPT | COMPARED)
    events, _ = log.page(wanted, limit=_CURVE)
    marks = marks_of(asked)
    points = [point for event in events if (point := _point(event, marks)) is not None]
    bars: Event = {}
    if asked.project.root:
        with contextlib.suppress(PageError):
            bars = _dict(asked.desk.service.report(status_of, asked.project.root).get("gate"))
    return asked.page(
        "gate.html",
        points=points,
        curve=curves(points) if points else "",
        events=[described(event, marks) for event in islice(events, _LISTED)],
        bars=bars,
        n_injected=sum(point["is_injected"] for point in points),
        n_marked=sum(bool(point["mark"]) for point in points),
    )


def _point(event: Event, marks: Mapping[str, str]) -> Event | None:
    shown = described(event, marks)
    score, bar = shown["score"], shown["bar"]
    if score is None or bar is None or bar <= LOWEST_BAR:
        return None
    return {"margin": score - bar, "is_injected": shown["is_injected"], "mark": shown["mark"]}


def mark(asked: Asked) -> Response:
    """Mark a decision as good or noise, or take its mark back.

    Raises:
        PageError: There is no such decision, or the word is none.
        HybridError: The marks are in use.
    """
    event_id, word = asked.field("id"), asked.field("word")
    back = asked.back("now")
    if word == "none":
        remove_marks(asked.desk.log_folder, event_id)
        return asked.done(f"{event_id} is not marked any more", back)
    log = asked.desk.log
    log.refresh()
    event = log.find(event_id)
    if event is None or not is_decision(event) or word not in ("good", "noise"):
        raise PageError("only a decision of the log can be marked, as good or noise", "usage")
    try:
        add_mark(asked.desk.log_folder, event, is_good=word == "good", note=asked.field("note"))
    except HybridError as error:
        raise PageError(str(error), "busy") from error
    return asked.done(f"Marked {word}: {MEANINGS[event.get('reason') == 'injected', word == 'good']}", back)
