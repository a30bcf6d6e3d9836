"""The state of a project: the JSON of `hybrid status`; reads everything, changes nothing.

It says in words, too, which repositories inside a project its index leaves out, and where git refuses to list files:
`hybrid init`, `hybrid status` and `hybrid doctor` print that.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import sqlite3
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins

from hybrid import __version__
from hybrid.base.errors import IndexCorruptError, IndexMissingError, IndexUnavailableError, ModelError
from hybrid.config import unknown_variables
from hybrid.index.build_progress import is_held, read_holder
from hybrid.index.manifest import FORMAT_VERSION, NAME
from hybrid.ipc.spool import Spool
from hybrid.ipc.start import daemon_status
from hybrid.knowledge.stores import memory_status, record_paths, records_status
from hybrid.log.events import health
from hybrid.log.outcomes import figures
from hybrid.log.state import is_corrupt, read_state
from hybrid.models.registry import LazyEmbedder, embedder_info, embedder_of_key, present_name
from hybrid.render.numbers import LOWEST_BAR
from hybrid.search.scores import fixed_threshold
from hybrid.session.pauses import pauses_for
from hybrid.types import EmbedderInfo
from hybrid.upkeep.indexing import file_source
from hybrid.workspace import stand_ins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid.index.backend import SearchBackend
    from hybrid.index.snapshot import Snapshot
    from hybrid.search.gate.background import Calibration
    from hybrid.sources.files import FileSource
    from hybrid.workspace import Workspace


USE_DAYS = 7
"""Days of which the status and the page tell what became of what was given."""
_SHOWN_SETTINGS = ("budget_chars", "content_mode", "gate_threshold", "dedup_enabled")


def status(
    workspace: Workspace, *, installed: Mapping[str, Any] | None = None, environ: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Return the status with its stable keys; absent values are None.

    Args:
        workspace: The workspace of the project.
        installed: Client → the places where it is told to call us.
        environ: Environment variables; those that look like settings and are none are named.

    Raises:
        ProjectError: There is no project here.
    """
    project = workspace.require_project()
    model, error = _model(workspace)
    index, calibration = _index(workspace, model)
    return {
        "version": __version__,
        "project": {
            "name": project.name,
            "key": project.key,
            "root": str(project.root),
            "worktree": project.worktree,
        },
        "index": index,
        "model": {"name": model.name, "dim": model.dim or None, "sha256": model.sha256 or None, "error": error},
        "gate": _gate(workspace, model, calibration),
        "hooks": hooks_status(workspace, installed=installed),
        "records": records_status(workspace),
        "memory": memory_status(workspace),
        "use": figures(filter(workspace.is_here, workspace.outcomes.newest()), days=USE_DAYS, now_s=time.time()),
        "health": health(filter(workspace.is_here, workspace.log.newest())),
        "daemon": daemon_status(str(workspace.home)),
        "paused": [pause.as_json(time.time()) for pause in pauses_for(workspace.home, project.key)],
        "config_problems": [*workspace.loaded.problems, *unknown_variables(environ)],
        "config_waiting": dict(workspace.loaded.waiting),
    }


def _model(workspace: Workspace) -> tuple[EmbedderInfo, str | None]:
    """Return the model of the settings, and why it cannot be used: then only its name is known."""
    name = workspace.config.model.name
    try:
        return embedder_info(name, home=workspace.home), None
    except ModelError as error:
        return EmbedderInfo(present_name(name), 0, "", 0, None, None), str(error)


def _gate(workspace: Workspace, model: EmbedderInfo, calibration: Calibration | None) -> dict[str, Any]:
    """Return the `gate` part of the status: the calibrated bars of the index, or the one threshold in force.

    `threshold` is that of tasks; a prompt must rise above both bars, so that fewer pass than each of them allows:
    `expected_rates` are the shares of the background's prompts that pass both.
    """
    origin = workspace.loaded.origins["hooks.gate_threshold"]
    fixed = fixed_threshold(workspace.config.hooks.gate_threshold, origin=origin, model=model)
    found: dict[str, Any] = {
        "threshold": fixed.value,
        "source": fixed.source,
        "calibrated_at": None,
        "expected_false_open_rate": fixed.expected_false_open_rate,
        "compares": "raw top cosine",
        **dict.fromkeys(("thresholds", "allowed_rates", "expected_rates", "background_prompts")),
    }
    if calibration is None or fixed.source != "auto":
        return found
    bars = {"talk": _finite(calibration.talk), "tasks": _finite(calibration.tasks)}
    expected = {"talk": round(calibration.expected_talk, 4), "tasks": round(calibration.expected_tasks, 4)}
    return found | {
        "threshold": bars["tasks"],
        "calibrated_at": _built_at(workspace.place.folder),
        "expected_false_open_rate": expected["talk"],
        "compares": "score",
        "thresholds": bars,
        "allowed_rates": {"talk": calibration.talk_rate, "tasks": calibration.task_rate},
        "expected_rates": expected,
        "background_prompts": calibration.n_prompts,
    }


def _finite(value: float) -> float | None:
    """Return a bar rounded to four digits; None for a bar that keeps nothing out."""
    return round(value, 4) + 0.0 if math.isfinite(value) and value > LOWEST_BAR else None


def _built_at(folder: Path) -> str | None:
    """Return the time at which the snapshot, and so its bars, was written, in ISO 8601; None without a snapshot."""
    with contextlib.suppress(OSError):
        return datetime.fromtimestamp((folder / NAME).stat().st_mtime, timezone.utc).isoformat(timespec="seconds")
    return None


def hooks_status(workspace: Workspace, *, installed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the `hooks` part of the status, which `hybrid hook status --json` prints alone."""
    settings = workspace.config.hooks
    folder = workspace.state_folder
    state = read_state(folder)
    return {
        "installed": dict(installed or {}),
        "config": {"threshold": settings.threshold, "budget_lines": settings.budget}
        | {name: getattr(settings, name) for name in _SHOWN_SETTINGS},
        "injection_count": state.injection_count,
        "last_injection_time": state.last_injection_time,
        "last_session_id": state.last_session_id,
        "waiting_events": len(Spool(str(workspace.home)).waiting()),
        "is_state_corrupt": is_corrupt(folder),
        "set_aside": sorted(path.name for path in folder.glob("*.corrupt-*")),
    }


def _index(workspace: Workspace, model: EmbedderInfo) -> tuple[dict[str, Any], Calibration | None]:
    """Return the `index` part of the status, and the calibration of the snapshot, if it has one.

    Without one, since an older version built it, it is stale: the next build adds it. Of an
    index that waits to be embedded with another model, `reembedding` tells the state; its counts are those of what
    answers meanwhile. `stands_in` is true when there is none, and that of another working tree, or of a project around
    this one, answers. `progress` is the `Holder` of a build that runs.
    """
    place = workspace.place
    index: dict[str, Any] = {
        "state": "missing",
        "documents": 0,
        "chunks": 0,
        "by_kind": {},
        "languages": {},
        "stale_documents": 0,
        "last_built_at": None,
        "size_bytes": _size(place.folder) + _size(place.catalog.parent, only=place.catalog.name),
        "format_version": FORMAT_VERSION,
        "generation": 0,
        "segments": 0,
        "skipped": {},
        "fallbacks": {},
        **NOTHING.as_json(),
        "truncated_chunks": 0,
        "chunks_without_vector": 0,
        "commits": 0,
        "is_calibrated": False,
        "reembedding": None,
        "stands_in": False,
        "progress": None,
        "team": _team(workspace),
        "set_aside": sorted(path.name for path in place.catalog.parent.glob("*.corrupt-*")),
        "error": None,
    }
    if not place.catalog.exists():
        return index | {"stands_in": bool(stand_ins(workspace))}, None
    calibration: Calibration | None = None
    try:
        catalog, share = _catalog_part(workspace, model)
        index |= catalog
        from hybrid.index.history import open_history
        from hybrid.index.snapshot import open_snapshot

        snapshot = open_snapshot(place.folder, model=None)
        key = snapshot.manifest.model
        own = model if key == model.key else embedder_of_key(key, workspace.home)
        if key != model.key:
            index |= {"documents": len(snapshot.live_documents()), "chunks": snapshot.n_chunks}
            told = {"from": key.rpartition("@")[0], "to": model.name, "answers": own.name if own else None}
            index["reembedding"] = told | {"share": round(share, 3)}
        figures = snapshot.figures()
        index["generation"], index["segments"] = snapshot.generation, figures.n_segments
        index["truncated_chunks"], index["chunks_without_vector"] = figures.n_cut, figures.n_without_vector
        history = open_history(place.folder)
        index["commits"] = history.n_commits if history else 0
        calibration = _calibration(workspace, _joined(workspace, snapshot), own) if own else None
        index["is_calibrated"] = calibration is not None
        is_behind = index["stale_documents"] or index["reembedding"] or (calibration is None and index["chunks"] > 0)
        index["state"] = "stale" if is_behind else "ready"
    except IndexMissingError:
        index["state"], index["stands_in"] = "missing", bool(stand_ins(workspace))
    except (IndexUnavailableError, OSError) as error:
        index["state"], index["error"] = "error", str(error)
    if is_held(place.lock):
        holder = read_holder(place.lock)
        index |= {"state": "building", "progress": holder and to_builtins(holder)}
    return index, calibration


def _team(workspace: Workspace) -> dict[str, Any] | None:
    """Return the commit of the team's index that the tree differs from, and why its store is not asked, as last noted.

    None without a team's index; of a tree whose base was never downloaded the commit is None.
    """
    settings = workspace.config.index
    if settings.backend != "milvus":
        return None
    from hybrid.team.base import read_base, read_outage
    from hybrid.team.store import shown_uri

    folder = workspace.place.folder
    base, outage = read_base(folder), read_outage(folder)
    return {
        "uri": shown_uri(settings.uri),
        "commit": base.commit if base else None,
        "files": len(base) if base else 0,
        "problem": outage.problem if outage else None,
        "down_since": _iso(outage.at_s) if outage else None,
    }


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, timezone.utc).isoformat(timespec="seconds")


def _joined(workspace: Workspace, overlay: Snapshot) -> SearchBackend:
    """Return an index with the figures of the team's index that it lies over, or as it is without one."""
    if workspace.config.index.backend != "milvus":
        return overlay
    from hybrid.team.base import read_base
    from hybrid.team.joined import JoinedSnapshot

    base = read_base(workspace.place.folder)
    return JoinedSnapshot([], overlay, base.figures) if base else overlay


def _calibration(workspace: Workspace, backend: SearchBackend, model: EmbedderInfo) -> Calibration | None:
    from hybrid.search.gate.verdict import open_gate

    embedder = LazyEmbedder(model.name, workspace.home)
    gate = open_gate(backend, embedder, workspace.home, workspace.config.gate)
    return gate.calibration if gate else None


def _catalog_part(workspace: Workspace, model: EmbedderInfo) -> tuple[dict[str, Any], float]:
    """Return the figures of the catalog, and the share of the files, 0 to 1, that are embedded with a model."""
    from hybrid.index.catalog import Catalog

    place, project = workspace.place, workspace.require_project()
    try:
        with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
            figures, known = catalog.figures(), catalog.known()
            is_of_model = catalog.model() == model.key
    except sqlite3.DatabaseError as error:
        raise IndexCorruptError(f"{place.catalog} is damaged ({error}): run `hybrid reindex`") from error
    source = file_source(project.root, workspace.config.index, workspace.home, record_paths(workspace))
    stamps = {entry.path: entry.stamp for entry in source.scan(finds_ignored=True)}
    changed = sum(path not in known or known[path].stamp != stamp for path, stamp in stamps.items())
    for reason, count in source.skipped.items():
        figures["skipped"][reason] = figures["skipped"].get(reason, 0) + count
    share = len(known.keys() & stamps.keys()) / max(len(stamps), 1) if is_of_model else 0.0
    stale = {"stale_documents": changed + len(known.keys() - stamps.keys())}
    return figures | stale | _inside(source).as_json(), share


def _size(folder: Path, only: str = "") -> int:
    """Return the bytes of the files of a folder; with `only`, of those whose name begins so."""
    total = 0
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.is_file() and path.name.startswith(only):
                total += path.stat().st_size
    return total


# --- repositories inside a project ------------------------------------------------------------------------


_WHY = {
    "bare": "bare, so it has no files",
    "copy": "another working tree of a repository that is indexed",
    "ignored": "ignored by git",
    "setting": "index.inner_max_files is 0",
    "too_large": "more files than index.inner_max_files",
}
MISSED = ("ignored", "too_large")
"""Reasons for which a repository is left out that its owner may miss."""
HOW_TO_DECIDE = "index.include brings one in; index.exclude leaves it out without a word"
_NAMED = 5
_OF_ANOTHER_OWNER = ("dubious ownership", "unsafe repository")


class Inside(Struct, frozen=True):
    """The repositories of a project, as the last listing found them.

    Attributes:
        indexed: Repositories inside whose files are part of the index.
        left_out: Repository inside → why it is left out, a word of `hybrid.sources.listing.LeftOut`.
        refused: Repository, empty for the project itself → the message of git, which does not list it.
    """

    indexed: tuple[str, ...]
    left_out: Mapping[str, str]
    refused: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the keys of `hybrid status --json` for it."""
        return {
            "inner_repositories": list(self.indexed),
            "inner_left_out": dict(sorted(self.left_out.items())),
            "git_refused": dict(sorted(self.refused.items())),
        }


NOTHING = Inside((), {}, {})


def _inside(source: FileSource) -> Inside:
    """Return what the last scan of a source, with `finds_ignored`, found of repositories."""
    return Inside(source.repositories, source.left_out, source.refused)


def look_inside(workspace: Workspace) -> Inside:
    """List the files of a workspace's project for what they say of repositories."""
    root = workspace.require_project().root
    source = file_source(root, workspace.config.index, workspace.home, record_paths(workspace))
    source.scan(finds_ignored=True)
    return _inside(source)


def indexed_in_words(paths: Sequence[str]) -> str:
    """Return the repositories that are part of the index, a few by name; empty for none."""
    return f"{_few(paths)} (indexed with this project)" if paths else ""


def left_out_in_words(left_out: Mapping[str, str], reasons: tuple[str, ...] = tuple(_WHY)) -> str:
    """Return the repositories that are left out for some reasons, a few of each by name; empty for none."""
    parts: list[str] = []
    for reason in reasons:
        paths = sorted(path for path, why in left_out.items() if why == reason)
        parts += [f"{_few(paths)} ({_WHY[reason]})"] if paths else []
    return "; ".join(parts)


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return ", ".join(paths[:_NAMED]) + more


def refusals(refused: Mapping[str, str], root: Path) -> list[tuple[str, str]]:
    """Return a sentence on each repository that git does not list, and the command that mends it."""
    found: list[tuple[str, str]] = []
    for path, message in sorted(refused.items()):
        folder = root / path
        what = f"git does not list {folder} ({message}): ignore rules are followed without it, commits are not read"
        if any(words in message for words in _OF_ANOTHER_OWNER):
            remedy = f"if you trust its owner: git config --global --add safe.directory {shlex.quote(str(folder))}"
        elif message.startswith("git cannot be run"):
            remedy = "install git, or put it on PATH"
        else:
            remedy = f"git -C {shlex.quote(str(folder))} status shows what is wrong"
        found.append((what, remedy))
    return found
