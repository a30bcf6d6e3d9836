"""Draws a frame of `hybrid top`: the service, builds, rates and times, and below the last decisions with reasons."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import to_builtins
from rich.cells import set_cell_size
from rich.console import Group
from rich.text import Text

from hybrid.cli.log import compared, quoted_prompt
from hybrid.feedback.reasons import reason_of
from hybrid.health.explaining import item_place, learned_ids
from hybrid.render.marks import harmless_line
from hybrid.render.numbers import amount, build_in_words, duration, local_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.health.live import Live

_NARROW, _MIDDLE, _WIDE = 70, 100, 140
"""Columns from which a decision shows its client and gate, its session, and its prompt beside what was given."""
_REASONS = 4
_LABEL = 9
_PROMPT = "UserPromptSubmit"


def frame(live: Live, project: str, *, width: int, n_events: int, is_paused: bool = False) -> list[Text]:
    """Return the lines of a frame, none wider than the terminal.

    Args:
        live: After a look.
        project: Name of the project; empty for all.
        width: Columns.
        n_events: Decisions at most.
        is_paused: Say so.
    """
    heads = [_title(project, width, is_paused=is_paused), *_service(live.service), *_builds(live), *_figures(live)]
    events = live.newest(n_events)
    rows = [_row_of_any(event, width, has_project=not project) for event in events]
    hint = Text("`hybrid explain ID` says why in full, `hybrid mark ID good` or `noise` judges it.", "dim")
    if width < _NARROW:
        hint = Text("`hybrid explain` says why of the last one.", "dim")
    nothing = Text("Nothing was decided yet: the hooks of your agents add a line for each prompt.")
    table = [_columns(width), *rows, hint] if rows else [nothing]
    lines = [*heads, Text(""), *table]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return lines


def fitting(lines: Sequence[Text], height: int) -> Group:
    """Return as many of the lines as a screen holds: the last one, which explains, goes before the others do."""
    kept = list(lines) if len(lines) <= height else list(lines[:-1])
    text = Text("\n").join(kept[:height])
    text.no_wrap = True
    return Group(text)


def _title(project: str, width: int, *, is_paused: bool) -> Text:
    left = Text.assemble(("hybrid top", "bold"), f"  {harmless_line(project) or 'all projects'}")
    now = f"{datetime.now().astimezone():%H:%M:%S}"
    left.append(f"  {now}")
    if is_paused:
        left.append("  paused: p goes on", "yellow")
    keys = "q leaves, p pauses"
    gap = width - left.cell_len - len(keys)
    return left.append(" " * gap).append(keys, "dim") if gap > 1 else left


def _labelled(label: str, *parts: str | tuple[str, str]) -> Text:
    return Text.assemble((f"{label:<{_LABEL}}", "bold"), *parts)


def _service(service: dict[str, Any]) -> list[Text]:
    if not service.get("running"):
        return [_labelled("service", ("does not answer", "yellow"), "; the next prompt of an agent starts it")]
    memory = f", {service['rss_bytes'] / 1e6:.0f} MB" if service.get("rss_bytes") else ""
    indexes = cast("dict[str, int]", service.get("indexes") or {})
    parts = f": process {service['pid']}{memory}, up {duration(service.get('uptime_s') or 0)}"
    answers = amount(service.get("answers") or 0, "answer")
    n_open = amount(indexes.get("open", 0), "open index", "open indexes")
    return [_labelled("service", ("runs", "green"), f"{parts}, {answers}, {n_open}")]


def _builds(live: Live) -> list[Text]:
    builds = ((harmless_line(one.project), build_in_words(to_builtins(one.holder))) for one in live.builds)
    return [_labelled("build", (name, "yellow"), f": {how_far}") for name, how_far in builds]


def _figures(live: Live) -> list[Text]:
    figures = live.figures
    n, latency = figures["prompts"], figures["latency_ms"]
    if not n:
        return [*_failure(figures)]
    share = f"{figures['injected'] / n:.0%}"
    lines = [_labelled("prompts", f"{n:,}, of which {figures['injected']:,} ({share}) got something")]
    if latency["p50"] is not None:
        about = f"p50 {latency['p50']:.0f} ms, p95 {latency['p95']:.0f} ms of the last {min(n, 200)}"
        lines.append(_labelled("times", about))
    reasons = list(figures["reasons"].items())
    if reasons:
        told = [f"{name} {count}" for name, count in reasons[:_REASONS]]
        others = sum(count for _, count in reasons[_REASONS:])
        lines.append(_labelled("silent", ", ".join([*told, *([f"others {others}"] if others else [])])))
    return [*lines, *_failure(figures)]


def _failure(figures: dict[str, Any]) -> list[Text]:
    error = figures["last_error"]
    if not error:
        return []
    told = f", last at {_clock(error['at'])}: {harmless_line(str(error['message']))}"
    return [_labelled("failed", (str(figures["failures"]), "red"), told)]


def _clock(at: object) -> str:
    """Return the local time of an event, `14:03:22`."""
    shown = local_time(at)
    return shown[11:19] if len(shown) == 19 else "no time"


def _widths(width: int) -> dict[str, int]:
    """Return the columns that a terminal has room for, with their widths; the last one takes the rest."""
    columns = {"time": 8}
    if width >= _NARROW:
        columns |= {"id": 10}
    if width >= _MIDDLE:
        columns |= {"session": 8, "client": 8}
    columns |= {"ms": 5, "decision": 20 if width >= _MIDDLE else 14}
    if width >= _NARROW:
        columns |= {"score/bar": 11}
    return columns


def _columns(width: int) -> Text:
    last = ["prompt"] if width < _WIDE else [set_cell_size("prompt", _prompt_width(width)), "given, or why not"]
    heads = [f"{name:>{size}}" if name == "ms" else f"{name:<{size}}" for name, size in _widths(width).items()]
    return Text("  ".join([*heads, *last]), "dim")


def _prompt_width(width: int) -> int:
    taken = sum(size + 2 for size in _widths(width).values())
    return (width - taken - 2) // 2


def _row_of_any(event: dict[str, Any], width: int, *, has_project: bool) -> Text:
    """Return an event as a line; of a damaged one, whose values have other types, that it is one."""
    try:
        return _row(event, width, has_project=has_project)
    except (TypeError, ValueError, KeyError, AttributeError):
        return Text("a damaged line of the log", "dim")


def _row(event: dict[str, Any], width: int, *, has_project: bool) -> Text:
    """Return an event as a line: when, which, where, how long, what was decided, and for what."""
    sizes = _widths(width)
    latency = event.get("latency_ms")
    decision, style = _decision(event)
    cells = {
        "time": _clock(event.get("at")),
        "id": str(event.get("id") or ""),
        "session": str(event.get("session") or "–"),
        "client": str(event.get("client") or "–"),
        "ms": f"{latency:.0f}" if isinstance(latency, (int, float)) else "–",
        "decision": decision,
        "score/bar": compared(event),
    }
    line = Text()
    for name, size in sizes.items():
        text = harmless_line(cells[name])
        text = f"{text:>{size}}" if name == "ms" else set_cell_size(text, size)
        line.append(f"{text}  ", style if name == "decision" else "dim" if name in ("time", "id") else "")
    name = os.path.basename(str(event.get("root") or "")) if has_project else ""  # noqa: PTH119 - a path of any system
    prompt, given = harmless_line(quoted_prompt(event)), harmless_line(_given(event))
    told = f"{harmless_line(name)}: {prompt}" if name and prompt else harmless_line(name) or prompt
    if width >= _WIDE:
        line.append(f"{set_cell_size(told, _prompt_width(width))}  {given}")
    else:
        line.append(f"{told} {'→ ' if told and event.get('items') else ''}{given}".strip())
    return line


def _decision(event: dict[str, Any]) -> tuple[str, str]:
    """Return in a word or two what was decided, and its style."""
    if event.get("error"):
        return "failed", "red"
    reason, n = str(event.get("reason")), len(event.get("items") or ())
    if n:
        return f"gave {n}" if reason == "injected" else f"gave {n} ({reason})", "green"
    name = event.get("event")
    said = reason.replace("_", " ")
    return f"silent: {said}" if name in (None, _PROMPT) else f"{said} ({name})", ""


def _given(event: dict[str, Any]) -> str:
    """Return the places of what was given, else why nothing was."""
    items = [item_place(item) for item in event.get("items") or ()]
    if items:
        return ", ".join(items)
    learned = "; ".join(f"{what} {', '.join(ids)}" for what, ids in learned_ids(event).items())
    known = reason_of(event.get("reason"))
    return learned or str(event.get("error") or (known.sentence if known else event.get("detail") or ""))
