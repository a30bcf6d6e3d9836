"""The view of the product's health: what `hybrid doctor` finds, with remedies, and what `hybrid status` tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.dashboard.service import PageError

if TYPE_CHECKING:
    from starlette.responses import Response

    from hybrid.dashboard.desk import Asked

_ORDER = ("problem", "warning", "ok")


def health(asked: Asked) -> Response:
    """Show the findings, the gravest first, and the state of service, hooks and settings."""
    service = asked.desk.service
    if asked.query.get("again"):
        service.forget_reports()
    root = asked.project.root or str(asked.desk.home)
    findings: list[dict[str, Any]] = []
    state: dict[str, Any] = {}
    problems: list[str] = []
    try:
        findings = service.report(root, "doctor", "--no-trial").get("findings", [])
    except PageError as error:
        problems.append(str(error))
    try:
        state = service.report(root, "status") if asked.project.root else {}
    except PageError as error:
        problems.append(str(error))
    findings = sorted(findings, key=lambda one: _ORDER.index(one["level"]) if one.get("level") in _ORDER else 0)
    return asked.page(
        "health.html",
        findings=findings,
        counts={level: sum(one.get("level") == level for one in findings) for level in _ORDER},
        state=state,
        daemon=state.get("daemon") or {},
        hooks=state.get("hooks") or {},
        latency=(state.get("health") or {}).get("latency_ms") or {},
        problems=problems,
    )
