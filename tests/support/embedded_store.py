"""A team's store in a folder, searched by the product's own engine: what the other stores are compared with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from hybrid.base.arrays import write_arrays
from hybrid.base.errors import StoreDownError, StoreNotReadyError
from hybrid.index.backend import Filter
from hybrid.index.drafting import SegmentDocument, encode_segment
from hybrid.index.manifest import FORMAT_VERSION, Manifest
from hybrid.index.segment import Segment
from hybrid.index.snapshot import Snapshot
from hybrid.index.vectors import StoredVectors
from hybrid.team.store import (
    ALL,
    Capabilities,
    Generation,
    Held,
    Only,
    StoredHit,
    decode_file,
    decode_files,
    decode_text,
    encode_file,
    encode_files,
    encode_text,
)
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.team.store import StoredFile, StoredText, StoreKey


class EmbeddedStore:
    """Fulfils `hybrid.team.store.TeamStore`; everything lies in files, so that opening it again finds it.

    Attributes:
        is_down: Set by tests: then no call is answered.
        calls: Name of each call that was made, in order.
    """

    def __init__(self, folder: Path, key: StoreKey) -> None:
        self.key = key
        self.capabilities = Capabilities("embedded", lexical=True)
        self.is_down = False
        self.calls: list[str] = []
        self._folder = folder / msgspec.json.encode(key).hex()[-40:]
        self._opened: dict[tuple[str, frozenset[str]], tuple[Snapshot, list[tuple[str, int]]]] = {}

    def _of(self, repository: str, kind: str, timeout_s: float, call: str) -> Path:
        self.calls.append(call)
        if self.is_down or timeout_s <= 0:
            raise StoreDownError("the store does not answer in time")
        folder = self._folder / f"00{repository.encode().hex()}" / kind
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def put(self, repository: str, files: Mapping[str, StoredFile], at_s: int, *, timeout_s: float) -> None:
        """See `TeamStore.put`."""
        folder = self._of(repository, "file", timeout_s, "put")
        for name, file in files.items():
            (folder / name).write_bytes(encode_file(file))
            os.utime(folder / name, (at_s, at_s))

    def held(self, repository: str, *, timeout_s: float) -> dict[str, int]:
        """See `TeamStore.held`."""
        folder = self._of(repository, "file", timeout_s, "held")
        return {path.name: int(path.stat().st_mtime) for path in folder.iterdir()}

    def files(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredFile]:
        """See `TeamStore.files`."""
        folder = self._of(repository, "file", timeout_s, "files")
        return {name: decode_file((folder / name).read_bytes()) for name in sorted(ids) if (folder / name).exists()}

    def commit(self, repository: str, generation: Generation, *, timeout_s: float) -> None:
        """See `TeamStore.commit`."""
        folder = self._of(repository, "generation", timeout_s, "commit")
        form = generation.at_s, encode_files(generation.files), generation.figures
        (folder / generation.commit).write_bytes(msgspec.msgpack.encode(form))

    def generations(self, repository: str, *, timeout_s: float) -> Sequence[tuple[str, int]]:
        """See `TeamStore.generations`."""
        folder = self._of(repository, "generation", timeout_s, "generations")
        form = tuple[int, bytes, bytes]
        found = [(path.name, msgspec.msgpack.decode(path.read_bytes(), type=form)[0]) for path in folder.iterdir()]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def generation(self, repository: str, commit: str, *, timeout_s: float) -> Generation:
        """See `TeamStore.generation`."""
        path = self._of(repository, "generation", timeout_s, "generation") / commit
        if not path.exists():
            raise StoreNotReadyError(f"no commit {commit}")
        at_s, files, figures = msgspec.msgpack.decode(path.read_bytes(), type=tuple[int, bytes, bytes])
        return Generation(commit, at_s, decode_files(files), figures)

    def forget(self, repository: str, commit: str, *, timeout_s: float) -> None:
        """See `TeamStore.forget`."""
        (self._of(repository, "generation", timeout_s, "forget") / commit).unlink(missing_ok=True)

    def remove(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """See `TeamStore.remove`."""
        folder = self._of(repository, "file", timeout_s, "remove")
        for name in ids:
            (folder / name).unlink(missing_ok=True)
        self.remove_texts(repository, ids, timeout_s=timeout_s)

    def remove_path(self, repository: str, path: str, *, timeout_s: float) -> None:
        """See `TeamStore.remove_path`."""
        folder = self._of(repository, "file", timeout_s, "remove_path")
        of_files = [one.name for one in folder.iterdir() if decode_file(one.read_bytes()).path == path]
        texts = self._of(repository, "text", timeout_s, "remove_path")
        of_texts = [one.name for one in texts.iterdir() if decode_text(one.read_bytes()).path == path]
        self.remove(repository, {*of_files, *of_texts}, timeout_s=timeout_s)

    def put_texts(self, repository: str, texts: Mapping[str, StoredText], *, timeout_s: float) -> None:
        """See `TeamStore.put_texts`."""
        folder = self._of(repository, "text", timeout_s, "put_texts")
        for name, text in texts.items():
            (folder / name).write_bytes(encode_text(text))

    def texts(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredText]:
        """See `TeamStore.texts`."""
        folder = self._of(repository, "text", timeout_s, "texts")
        return {name: decode_text((folder / name).read_bytes()) for name in sorted(ids) if (folder / name).exists()}

    def with_text(self, repository: str, *, timeout_s: float) -> set[str]:
        """See `TeamStore.with_text`."""
        return {path.name for path in self._of(repository, "text", timeout_s, "with_text").iterdir()}

    def remove_texts(self, repository: str, ids: Collection[str] | None = None, *, timeout_s: float) -> None:
        """See `TeamStore.remove_texts`."""
        folder = self._of(repository, "text", timeout_s, "remove_texts")
        for path in list(folder.iterdir()):
            if ids is None or path.name in ids:
                path.unlink()

    def wait_visible(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """See `TeamStore.wait_visible`."""
        self._of(repository, "file", timeout_s, "wait_visible")

    def dense(
        self, repository: str, vectors: NDArray[np.float32], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """See `TeamStore.dense`."""
        self._of(repository, "file", timeout_s, "dense")
        return self._legs(
            repository, lambda snapshot, one: snapshot.dense(vectors[one], k, _filter(only)), len(vectors)
        )

    def lexical(
        self, repository: str, queries: Sequence[Sequence[str]], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """See `TeamStore.lexical`."""
        self._of(repository, "file", timeout_s, "lexical")
        return self._legs(
            repository, lambda snapshot, one: snapshot.lexical(queries[one], k, _filter(only)), len(queries)
        )

    def _legs(self, repository: str, ask: Callable[[Snapshot, int], object], n: int) -> list[list[StoredHit]]:
        snapshot, chunks = self._snapshot(repository)
        legs = [ask(snapshot, one) for one in range(n)]
        return [[StoredHit(*chunks[entry.row], entry.raw) for entry in ranking(leg)] for leg in legs]  # type: ignore[attr-defined]

    def _snapshot(self, repository: str) -> tuple[Snapshot, list[tuple[str, int]]]:
        names = frozenset(self.held(repository, timeout_s=60))
        known = self._opened.get((repository, names))
        if known is not None:
            return known
        held = sorted(self.files(repository, names, timeout_s=60).items(), key=lambda entry: (entry[1].path, entry[0]))
        vectors = [file.vectors(self.key.dim) for _, file in held]
        dim = self.key.dim
        nothing = StoredVectors(np.zeros((0, dim), np.int8), np.zeros(0, np.float32), np.zeros(0, np.bool_))
        parts = [nothing, *vectors]
        together = StoredVectors(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.scale for part in parts]),
            np.concatenate([part.is_cut for part in parts]),
        )
        documents = [SegmentDocument(file.path, 0, file.kind, file.language, file.records) for _, file in held]
        path = self._folder / f"{len(self._opened)}.safetensors"
        write_arrays(path, encode_segment(documents, together), {})
        manifest = Manifest(FORMAT_VERSION, 1, self.key.model, dim, self.key.recipe, (), {}, "")
        chunks = [(name, ordinal) for name, file in held for ordinal in range(len(file.records))]
        self._opened[repository, names] = Snapshot(manifest, [Segment(path)]), chunks
        return self._opened[repository, names]

    def latest(self, *, timeout_s: float) -> Mapping[str, str]:
        """See `TeamStore.latest`."""
        return {held.repository: held.generations[0][0] for held in self.repositories(timeout_s=timeout_s)}

    def repositories(self, *, timeout_s: float) -> Sequence[Held]:
        """See `TeamStore.repositories`."""
        self._of("", "file", timeout_s, "repositories")
        names = sorted(bytes.fromhex(path.name[2:]).decode() for path in self._folder.iterdir() if path.is_dir())
        every = [
            Held(
                name,
                self.generations(name, timeout_s=timeout_s),
                len(self.held(name, timeout_s=timeout_s)),
                len(self.with_text(name, timeout_s=timeout_s)),
            )
            for name in names
        ]
        return [held for held in every if held.generations]

    def drop(self, repository: str | None = None, *, timeout_s: float) -> None:
        """See `TeamStore.drop`."""
        self._of(repository or "", "file", timeout_s, "drop")
        for folder in self._folder.iterdir():
            if folder.is_dir() and (repository is None or folder.name == f"00{repository.encode().hex()}"):
                for path in folder.glob("*/*"):
                    path.unlink()

    def close(self) -> None:
        """See `TeamStore.close`."""
        self._opened.clear()


def _filter(only: Only) -> Filter:
    below = only.below.replace("[", "[[]") + "*" if only.below else ""
    return Filter(only.kinds, below)
