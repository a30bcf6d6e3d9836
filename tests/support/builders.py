"""Builders of small real objects that several test modules use."""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.chunking.chunker import chunk_document
from hybrid.config import load
from hybrid.index.build import build
from hybrid.index.manifest import Place
from hybrid.index.plan import BuildTask, BuildTools, Recipe, Summary
from hybrid.index.snapshot import Snapshot, open_snapshot
from hybrid.models.registry import HashingEmbedder
from hybrid.project.registry import path_key
from hybrid.types import ChunkLimits, Definition, Document, FileStamp, Found, Hit, Skipped
from tests.support.cases import project
from tests.support.forked import CAN_FORK, forked_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hybrid.index.segment import Segment
    from hybrid.types import Embedder

LIMITS = ChunkLimits(max_chars=1500, merge_chars=750, cut_chars=1000)
CHECKOUT = Path(__file__).resolve().parents[2]


@dataclass
class ListSource:
    """A source whose documents are texts in memory; its clock is the revision of a text."""

    texts: dict[str, str]
    reads: list[str] = field(default_factory=list)
    revisions: dict[str, int] = field(default_factory=dict)

    def put(self, path: str, text: str) -> None:
        """Add or change a document."""
        self.texts[path] = text
        self.revisions[path] = self.revisions.get(path, 0) + 1

    def scan(self) -> Iterator[Found]:
        """Every text, in order of path."""
        for path in sorted(self.texts):
            yield Found(path, FileStamp(len(self.texts[path]), self.revisions.get(path, 0)))

    def read(self, found: Found) -> Document | Skipped:
        """One text; texts that begin with `binary` are skipped."""
        self.reads.append(found.path)
        text = self.texts[found.path]
        if text.startswith("binary"):
            return Skipped(found.path, "binary")
        language = {"py": "python", "md": "markdown"}.get(found.path.rsplit(".", 1)[-1], "text")
        kind = "doc" if language == "markdown" else "code"
        return Document(found.path, kind, language, text, hashlib.sha256(text.encode()).digest())

    @property
    def skipped(self) -> Mapping[str, int]:
        """Nothing is left out unread."""
        return {}


def place_in(folder: Path, tree: str = "t1") -> Place:
    """A place below a folder."""
    return Place(folder / "catalog.db", folder / "trees" / tree, tree, f"/src/{tree}", folder / "build.lock")


def recipe(**changes: Any) -> Recipe:
    """The real chunker with the default limits."""
    values: dict[str, Any] = {
        "chunk": chunk_document,
        "limits": LIMITS,
        "chunker_version": "test",
        "source_version": "test",
    }
    return Recipe(**(values | changes))


def build_index(place: Place, source: ListSource, embedder: Embedder | None = None, **options: Any) -> Summary:
    """Build with the hashing embedder and a clock far after every text."""
    options.setdefault("now_ns", lambda: 10**18)
    how = options.pop("how", None) or recipe()
    of_tools = {name: options.pop(name) for name in BuildTools.__struct_fields__ if name in options}
    tools = BuildTools(source, embedder or HashingEmbedder(), how, **of_tools)
    return build(place, tools, BuildTask(**options))


def default_config(tmp_path: Path, **flags: object) -> Any:
    """The shipped settings with some changed: `hooks_budget=10`."""
    changes = {key.replace("_", ".", 1): value for key, value in flags.items()}
    return load(home=tmp_path, environ={}, flags=changes).config


def hit(row: int = 0, **changes: Any) -> Hit:
    """A hit with plausible values."""
    values: dict[str, Any] = {
        "row": row,
        "rank": 1,
        "kind": "code",
        "path": "src/a.py",
        "start_line": 1,
        "end_line": 3,
        "name": "f",
        "chunk_kind": "function",
        "scope": "",
        "signature": "def f()",
        "language": "python",
        "digest": bytes([row]) * 16,
        "cosine": 0.5,
        "cosine_rank": 1,
        "bm25": 4.0,
        "bm25_rank": 1,
        "rrf": 0.03,
        "relevance": 1.0,
    }
    return Hit(**(values | changes))


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    """Write text files below a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def hybrid_command(
    *args: str, cwd: Path, home: Path, stdin: bytes = b"", **environ: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the real command as a process of its own, started afresh."""
    settings = command_environment(home) | environ
    return subprocess.run(
        [sys.executable, "-m", "hybrid", *args],
        cwd=cwd,
        env=settings,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
    )


def hear_interrupts() -> None:
    """For a process that a test interrupts: who runs the tests in the background may have it ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command_environment(home: Path) -> dict[str, str]:
    """The environment of a command: nothing of the developer's own settings, warnings shown."""
    settings = {key: value for key, value in os.environ.items() if not key.startswith("HYBRID_")}
    return settings | {"HYBRID_HOME": str(home), "PYTHONPATH": str(CHECKOUT), "PYTHONWARNINGS": "default"}


PAYMENTS = project("projects/payments.txt")


def git_project(root: Path, files: Mapping[str, str] = PAYMENTS) -> Path:
    """A git working tree with some files, nothing committed."""
    write_files(root, files)
    (root / ".git").mkdir()
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    return root


def linked_worktree(main: Path, root: Path, files: Mapping[str, str] = PAYMENTS) -> Path:
    """A linked working tree of a repository, as `git worktree add` makes it, with some files."""
    write_files(root, files)
    folder = main / ".git" / "worktrees" / root.name
    folder.mkdir(parents=True)
    (folder / "commondir").write_text("../..\n")
    (folder / "gitdir").write_text(f"{root / '.git'}\n")
    (folder / "HEAD").write_text("ref: refs/heads/other\n")
    (root / ".git").write_text(f"gitdir: {folder}\n")
    return root


@dataclass(frozen=True)
class Shop:
    """A project and a `HYBRID_HOME` of its own, used through the real command only."""

    root: Path
    home: Path

    def run(
        self, *args: str, cwd: Path | None = None, stdin: bytes = b"", **environ: str
    ) -> subprocess.CompletedProcess[bytes]:
        """One command in the project's folder; hooks are given time, since tests run on slow machines too."""
        environ = {"HOME": str(self.home / "user"), "HYBRID_HOOKS_DEADLINE_MS": "60000"} | environ
        if not CAN_FORK:
            return hybrid_command(*args, cwd=cwd or self.root, home=self.home, stdin=stdin, **environ)
        settings = command_environment(self.home) | environ
        return forked_command(args, cwd=cwd or self.root, environ=settings, stdin=stdin)

    def out(self, *args: str, code: int = 0, **options: Any) -> str:
        """What a command prints; it must end with this code, and without a word on standard error."""
        done = self.run(*args, **options)
        assert (code, "") == (done.returncode, done.stderr.decode()), done.stdout.decode()
        return done.stdout.decode()

    def json(self, *args: str, code: int = 0, **options: Any) -> dict[str, Any]:
        """The one JSON object that a command prints."""
        found = json.loads(self.out(*args, "--json", code=code, **options))
        assert isinstance(found, dict)
        return found

    def error(self, *args: str, **options: Any) -> str:
        """The one line on standard error of a command that fails with code 2."""
        done = self.run(*args, **options)
        lines = done.stderr.decode().splitlines()
        assert (2, 1) == (done.returncode, len(lines)), done.stderr.decode()
        return lines[0]

    def hook(self, prompt: str, *args: str, session: str = "s1", **options: Any) -> str:
        """What the prompt hook adds to the agent's context; empty when it is silent."""
        event = {
            "session_id": session,
            "cwd": str(self.root),
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompt,
        }
        printed = self.out("hook", "inject-context", *args, stdin=json.dumps(event).encode(), **options)
        if not printed:
            return ""
        answer = json.loads(printed)
        assert "UserPromptSubmit" == answer["hookSpecificOutput"]["hookEventName"]
        return answer["hookSpecificOutput"]["additionalContext"]

    def reasons(self) -> list[str]:
        """Why the hook decided as it did, oldest first."""
        path = self.home / "log" / "events.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line)["reason"] for line in lines]


def new_shop(folder: Path, files: Mapping[str, str] = PAYMENTS, *, is_indexed: bool = True) -> Shop:
    """A project on disk, indexed with the shipped model unless told otherwise."""
    if is_indexed and files is PAYMENTS and not (folder / "hybrid-home").exists():
        return copied_shop(built_shop(tuple(PAYMENTS.items())), folder)
    shop = Shop(git_project(folder / "shop", files), folder / "hybrid-home")
    if is_indexed:
        shop.out("reindex", "--quiet")
    return shop


def neighbour_of(shop: Shop, folder: Path, files: Mapping[str, str] = PAYMENTS) -> Shop:
    """Another project of the same home, indexed: one service and one worker serve all tests of a module."""
    found = Shop(git_project(folder / "shop", files), shop.home)
    found.out("reindex", "--quiet")
    return found


@cache
def built_shop(files: tuple[tuple[str, str], ...]) -> Shop:
    """A project, indexed once in this process; only to be copied."""
    folder = Path(tempfile.mkdtemp(prefix="hybrid-built-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    shop = Shop(git_project(folder / "shop", dict(files)), folder / "hybrid-home")
    shop.out("reindex", "--quiet")
    return shop


def copied_shop(built: Shop, folder: Path) -> Shop:
    """What a build in this folder would leave, in a tenth of its time: key, registry and catalog name the new path."""
    shop = Shop(folder / built.root.name, folder / built.home.name)
    for source, target in ((built.root, shop.root), (built.home, shop.home)):
        shutil.copytree(source, target)
    before, after = (os.path.realpath(one.root) for one in (built, shop))
    old, new = path_key(before), path_key(after)
    projects = shop.home / "projects"
    (projects / old).rename(projects / new)
    (projects / new / "trees" / old).rename(projects / new / "trees" / new)
    for file in filter(Path.exists, (projects / "registry.json", shop.home / "accepted.json")):
        file.write_text(file.read_text().replace(before, after).replace(old, new))
    with closing(sqlite3.connect(projects / new / "catalog.db")) as catalog, catalog:
        catalog.execute("UPDATE trees SET tree = ?, root = ?", (new, after))
    return shop


def python_process(script: str, *args: object, **environ: str) -> subprocess.Popen[bytes]:
    """Start a short script that imports `hybrid` as a process of its own; the caller waits for it."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, args)]
    settings = os.environ | {"PYTHONPATH": str(CHECKOUT)} | environ
    return subprocess.Popen(command, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def open_index(place: Place, embedder: Embedder | None = None, **options: Any) -> Snapshot:
    """Open a built index for searching."""
    return open_snapshot(place.folder, model=(embedder or HashingEmbedder()).info.key, **options)


def definitions_of(segment: Segment, row: int) -> list[Definition]:
    """Definitions that start in a chunk of a segment, in order; a segment keeps no signatures, so they come empty."""
    span = segment.definition_span(row)
    return [
        Definition(
            name=segment.text("def_name", i),
            kind=segment.text("def_kinds", int(segment.arrays["def_kind"][i])),
            start_line=int(segment.arrays["def_start"][i]),
            end_line=int(segment.arrays["def_end"][i]),
            signature="",
            scope=segment.text("def_scope", i),
            depth=int(segment.arrays["def_depth"][i]),
            is_value=bool(segment.arrays["def_is_value"][i]),
        )
        for i in range(span.start, span.stop)
    ]


def terms_of(snapshot: Snapshot, row: int) -> dict[str, int]:
    """Terms and frequencies of a row, from every posting of its segment."""
    part = next(part for part in reversed(snapshot.fields.parts) if part.first_row <= row)
    segment = part.segment
    at = np.flatnonzero(segment.post_row == row - part.first_row)
    of_term = np.searchsorted(segment.term_start, at, side="right") - 1
    return {segment.text("term", int(t)): int(n) for t, n in zip(of_term, segment.post_tf[at], strict=True)}
