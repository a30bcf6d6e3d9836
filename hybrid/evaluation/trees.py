"""Opens repositories for evaluation: settings in force, an index in a scratch home, nothing written into the tree.

`opening`, `gate` and `speed` call it. A repository is any folder: neither git nor `.hybrid/` has to be there.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import ConfigError
from hybrid.config import load
from hybrid.evaluation.qrels import QrelsError
from hybrid.index.build import build
from hybrid.models.registry import load_embedder
from hybrid.project.find import FOLDER_NAME, Project
from hybrid.project.places import hybrid_home
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.types import Skipped
from hybrid.upkeep.indexing import file_source, recipe_of
from hybrid.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from hybrid.config import Loaded
    from hybrid.evaluation.measures import Passage
    from hybrid.index.plan import Summary
    from hybrid.types import Document, Embedder, Found, Source


class Scope(Struct, frozen=True):
    """What of a repository is indexed.

    Attributes:
        folder: Only files in this folder, relative to the repository; empty for all.
        code_only: Leave out documents of the kind doc, and data and configuration (JSON, YAML, XML, …).
        held_out: Lines that are blank for the index; the other lines keep their numbers.
        left_out: Paths of files that are no documents here.
        variant: Tells indexes apart that differ in how they are built, not in what of.
    """

    folder: str = ""
    code_only: bool = False
    held_out: tuple[Passage, ...] = ()
    left_out: tuple[str, ...] = ()
    variant: str = ""

    @property
    def label(self) -> str:
        """Tells scopes of one repository apart, so that one home can hold an index of each."""
        label = f"{self.folder}|{'code' if self.code_only else 'all'}"
        more = [part for part in (self.held_out, self.left_out, self.variant) if part]
        return "|".join([label, *map(repr, more)])


WHOLE = Scope()


@contextlib.contextmanager
def scratch_home(chosen: Path | None) -> Generator[Path]:
    """A folder for the indexes: the chosen one, which stays, or a temporary one, which is removed."""
    if chosen is not None:
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="hybrid-eval-", ignore_cleanup_errors=True) as folder:
        yield Path(folder).resolve()


def repositories(names: Iterable[str], folder: Path, only: Iterable[str] = ()) -> dict[str, Path]:
    """Those of the named repositories that lie in a folder, in order of name.

    Args:
        names: Of repositories; one with a slash lies in a folder of its last part.
        folder: Holds one folder for each.
        only: Restricts the names; empty for all.

    Raises:
        QrelsError: None of them is there.
    """
    wanted = set(names) & set(only) if only else set(names)
    found = {name: folder / name.rpartition("/")[2] for name in sorted(wanted)}
    found = {name: path for name, path in found.items() if path.is_dir()}
    if not found:
        shown = ", ".join(sorted(wanted)[:5]) or "no name is left"
        raise QrelsError(f"{folder} holds none of the judged repositories ({shown}); --repos names their parent folder")
    return found


def settings_in_force(
    assignments: Iterable[str] = (), *, environ: Mapping[str, str] = os.environ, folder: Path | None = None
) -> Loaded:
    """The user's settings with `section.key=value` assignments on top.

    Args:
        assignments: As on a command line.
        environ: Environment variables.
        folder: `.hybrid/` of a project whose own settings count too.

    Raises:
        ConfigError: An assignment or the user's settings are wrong.
    """
    from hybrid.config import parse_text

    flags: dict[str, object] = {}
    for assignment in assignments:
        key, sign, text = assignment.partition("=")
        if not sign:
            raise ConfigError(f"{assignment!r}: a setting is given as section.key=value")
        flags[key.strip()] = parse_text(key.strip(), text.strip())
    loaded = load(home=hybrid_home(environ), project_folder=folder, is_accepted=True, environ=environ, flags=flags)
    if loaded.own_problems:
        raise ConfigError("; ".join(loaded.own_problems))
    return loaded


def workspace_at(root: Path, home: Path, loaded: Loaded, scope: Scope = WHOLE) -> Workspace:
    """The workspace of a folder, as if it were the top of a project."""
    root = root.resolve()
    key, tree = (hashlib.sha256(text.encode()).hexdigest()[:16] for text in (str(root), f"{root}|{scope.label}"))
    project = Project(
        root=root,
        name=root.name,
        key=key,
        worktree=False,
        tree=tree,
        is_git=(root / ".git").exists(),
        main_root=root,
        has_folder=(root / FOLDER_NAME).is_dir(),
        reason="evaluation",
    )
    return Workspace(home, project, loaded)


def build_index(workspace: Workspace, scope: Scope = WHOLE, *, embedder: Embedder | None = None) -> Summary:
    """Bring the index of a workspace up to date, restricted to a scope.

    The restriction is made before indexing, so that statistics come from what is in the scope and nothing else.

    Raises:
        ModelError: The embedder cannot be loaded.
        BusyError: Another process builds in the same home.
    """
    settings = workspace.config.index
    source: Source = file_source(workspace.require_project().root, settings, workspace.home)
    if scope != WHOLE:
        source = ScopedSource(source, scope)
    embedder = embedder or load_embedder(workspace.config.model.name, home=workspace.home)
    return build(
        workspace.place,
        source,
        embedder,
        recipe_of(settings),
        max_segments=settings.max_segments,
        annotator=GateAnnotator(embedder, workspace.home, with_hub=workspace.config.gate.hub),
        workers=settings.workers,
    )


_NOT_PROGRAMS = frozenset({"json", "xml", "yaml", "toml", "ini", "properties", "csv", "dtd", "gitignore", "gomod"})


def _is_program(document: Document) -> bool:
    return document.kind == "code" and document.language not in _NOT_PROGRAMS


class ScopedSource:
    """The documents of another source that lie in a scope; fulfils `hybrid.types.Source`."""

    def __init__(self, source: Source, scope: Scope) -> None:
        self._source = source
        self._scope = scope

    def scan(self) -> Iterator[Found]:
        """As `Source.scan`."""
        prefix = f"{self._scope.folder}/" if self._scope.folder else ""
        left_out = self._scope.left_out
        found = self._source.scan()
        return (each for each in found if each.path.startswith(prefix) and each.path not in left_out)

    def read(self, found: Found) -> Document | Skipped:
        """As `Source.read`; a document of another kind is skipped as `out_of_scope`, what is held out is blank."""
        document = self._source.read(found)
        if isinstance(document, Skipped):
            return document
        if self._scope.code_only and not _is_program(document):
            return Skipped(found.path, "out_of_scope")
        held_out = [passage for passage in self._scope.held_out if passage.path == found.path]
        return _without(document, held_out) if held_out else document

    @property
    def skipped(self) -> Mapping[str, int]:
        """As `Source.skipped`."""
        return self._source.skipped


def _without(document: Document, held_out: Sequence[Passage]) -> Document:
    """The document with some of its lines blank."""
    lines = document.text.split("\n")
    for passage in held_out:
        start, end = passage.start_line or 1, min(passage.end_line or len(lines), len(lines))
        lines[start - 1 : end] = [""] * max(0, end - start + 1)
    text = "\n".join(lines)
    return replace(document, text=text, digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
