"""Views of what is indexed and of how all is: search with evidence, any question, the index, a build, health."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import inspect
from starlette.responses import JSONResponse

from hybrid.dashboard.rendering import in_seconds
from hybrid.dashboard.service_client import PageError
from hybrid.operations.asking import rows
from hybrid.operations.doctor import findings_of, status_of
from hybrid.operations.types import described
from hybrid.records.types import OF_RECORDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from hybrid.dashboard.service_client import Asked, Done
    from hybrid.health.doctor import Finding
    from hybrid.operations.asking import Operation
    from hybrid.operations.types import Argument
    from hybrid.workspace import Workspace


KINDS = {"code": "Code", "doc": "Documents", **{kind: kind.capitalize() for kind in OF_RECORDS}}
"""Kind of knowledge that can be searched → its name."""

_LIMITS = (10, 25, 50)
_STEPS = {"scan": "finds files", "read": "reads and embeds", "write": "writes", "merge": "merges segments"}
_SKIPPED = {
    "binary": "holds bytes that are no text",
    "data": "data, such as a table of numbers",
    "empty": "holds nothing",
    "generated": "says that a program made it",
    "lock_file": "a lock file of packages",
    "minified": "minified: no person wrote it like this",
    "secret_file": "made for secrets",
    "too_large": "larger than index.max_file_bytes",
    "too_long": "lines too long to read",
    "unknown_type": "of no known type",
    "unreadable": "cannot be read",
    "vanished": "gone while it was read",
}
"""Reason of a skip → it in words."""


def search(asked: Asked) -> Response:
    """Show what fits a query, each hit with its lines and the numbers that gave it its place."""
    query = asked.query.get("q", "").strip()
    kinds = [kind for kind in asked.query.getlist("kind") if kind in KINDS]
    path = asked.query.get("path", "").strip()
    limit = next((one for one in _LIMITS if str(one) == asked.query.get("limit")), _LIMITS[0])
    result: dict[str, Any] = {}
    error: PageError | None = None
    if query:
        try:
            result = asked.command("search", query=query[:5_000], kind=kinds, path=path, limit=limit, lines=True).data
        except PageError as failed:
            error = failed
    return asked.page(
        "search.html",
        status=200 if error is None else 409,
        query=query,
        kinds=KINDS,
        chosen=kinds,
        path=path,
        limit=limit,
        limits=_LIMITS,
        result=result,
        error=error,
        strongest=_strongest(result),
    )


def _strongest(result: dict[str, Any]) -> dict[str, float]:
    """Return the largest bm25 and the largest sum of evidence among the hits, by which bars are drawn; 1 at least."""
    hits = [hit for part in result.get("lists", ()) for hit in part["hits"]]
    return {
        "bm25": max([1.0, *(hit["bm25"] or 0.0 for hit in hits)]),
        "evidence": max([1.0, *(abs(value) for hit in hits for value in hit["evidence"].values())]),
        "rrf": max([0.001, *(hit["rrf"] for hit in hits)]),
    }


# --- any question -----------------------------------------------------------------------------------------


def ask(asked: Asked) -> Response:
    """Show the questions of the command line, the form of one, and what it found."""
    # Reports look at the service from outside, and have views.
    questions = {row.name: row for row in rows() if row.about and not (row.is_writing or row.is_tolerant)}
    row = questions.get(asked.query.get("question", ""))
    texts = {one.name: "\n".join(asked.query.getlist(one.name)) for one in fields_of(row)} if row else {}
    done: Done | None = None
    error: PageError | None = None
    if row and "ask" in asked.query:
        try:
            done = asked.command(row.name, **values_of(row, texts))
        except PageError as failed:
            error = failed
    values = {"questions": questions, "row": row, "parts": fields_of(row) if row else [], "texts": texts}
    return asked.page("ask.html", status=200 if error is None else 409, done=done, error=error, **values)


def fields_of(row: Operation) -> list[Argument]:
    """Return the arguments of an operation that a person may give."""
    return [one for one in described(row.arguments) if one.about]


def values_of(row: Operation, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of an operation from the fields of its form; a list has a line for each of its texts."""
    values: dict[str, Any] = {}
    for one in fields_of(row):
        text = texts.get(one.name, "").strip()
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if text or one.is_needed:
            values[one.name] = lines if isinstance(one.kind, inspect.ListType) else text
    return values


def index(asked: Asked) -> Response:
    """Show the index of the project: figures, languages, what was left out and why, the last build, the files.

    Raises:
        PageError: The state cannot be had.
    """
    show = asked.query.get("show", "all")
    show = show if show in ("all", "indexed", "skipped") else "all"
    contains, after = asked.query.get("contains", "").strip(), asked.query.get("after", "")
    state = asked.desk.service.report(status_of, asked.project.root) if asked.project.root else {}
    problem, files, building = "", dict[str, Any](), {"is_building": False}
    try:
        building = asked.command("index progress").data
        files = asked.command("index files", show=show, contains=contains, after=after).data
    except PageError as error:
        problem = str(error)
    return asked.page(
        "index.html",
        state=state,
        index=state.get("index") or {},
        skipped=_SKIPPED,
        files=files,
        problem=problem,
        building=building,
        building_text=_in_words(building),
        last_build=_last_build(state, asked.project.root),
        show=show,
        contains=contains,
        after=after,
    )


def _last_build(state: dict[str, Any], root: str) -> dict[str, Any]:
    """Return what the service tells of its last build of a project; empty when it made none."""
    daemon: dict[str, Any] = state.get("daemon") or {}
    projects: list[dict[str, Any]] = daemon.get("projects") or []
    nothing: dict[str, Any] = {}
    return next((one for one in projects if one.get("root") == root), nothing)


def progress(asked: Asked) -> Response:
    """Return how far the running build is, for the script of the page."""
    told = asked.command("index progress").data
    return JSONResponse({"is_building": told["is_building"], "share": told["share"], "text": _in_words(told)})


def _in_words(told: dict[str, Any]) -> str:
    if not told["is_building"]:
        return ""
    files = f" {told['done']:,} of {told['total']:,} files" if told.get("total") else ""
    left = f", about {in_seconds(told['seconds_left'])} left" if told.get("seconds_left") is not None else ""
    return f"A build {_STEPS.get(told.get('step', ''), 'begins')}{files}, {told['share']:.0%} done{left}"


_ORDER = ("problem", "warning", "ok")


def _findings(workspace: Workspace) -> list[Finding]:
    return list(findings_of(workspace, has_trial=False))


def health(asked: Asked) -> Response:
    """Show the findings, the gravest first, and the state of service, hooks and settings."""
    service = asked.desk.service
    if asked.query.get("again"):
        service.forget_reports()
    root = asked.project.root or str(asked.desk.home)
    findings: list[Finding] = []
    state: dict[str, Any] = {}
    problems: list[str] = []
    try:
        findings = service.report(_findings, root)
        state = service.report(status_of, root) if asked.project.root else {}
    except PageError as error:
        problems.append(str(error))
    findings = sorted(findings, key=lambda one: _ORDER.index(one.level))
    return asked.page(
        "health.html",
        findings=findings,
        counts={level: sum(one.level == level for one in findings) for level in _ORDER},
        state=state,
        daemon=state.get("daemon") or {},
        hooks=state.get("hooks") or {},
        latency=(state.get("health") or {}).get("latency_ms") or {},
        problems=problems,
    )
