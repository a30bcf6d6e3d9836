"""The store of a team's index, whatever it is: `hybrid.team` and its tests are written against this.

A store proposes candidates, by vectors and by words; scores, fusion, gate and ranking are made here from what it keeps
of the files. It holds any number of repositories, and of each some generations. A generation is a commit: a list of
files that is written when all of them can be found. So readers see a push whole or not at all, two people may push at
once, and a push that was killed goes on where it stopped.

Every call has a deadline. What a store cannot do stands in its `Capabilities`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from hybrid.team.content import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.team.content import Generation, StoredFile, StoredText


class StoreKey(Struct, frozen=True):
    """What everything in a store was made by; what was made by something else is never read.

    Attributes:
        model: Key of the embedder.
        dim: Length of a vector.
        recipe: Versions and limits of chunks, tokens and the rules for secrets.
        schema: Version of what is stored of a file.
    """

    model: str
    dim: int
    recipe: str
    schema: int = SCHEMA


class Capabilities(Struct, frozen=True):
    """What a store can do.

    Attributes:
        product: Name and version, for people.
        lexical: It searches by words.
        concurrent_writers: Two may write at once.
        restarts: It runs in a process of its own, which may end and come back.
    """

    product: str
    lexical: bool
    concurrent_writers: bool
    restarts: bool


class Only(Struct, frozen=True):
    """Restricts a search before its best k are taken.

    Attributes:
        kinds: Kinds of files to keep, for example ("code",); empty for all.
        below: Beginning of the paths to keep, for example `src/`; empty for all.
    """

    kinds: tuple[str, ...] = ()
    below: str = ""


ALL = Only()


class Found(Struct, frozen=True):
    """A chunk that a store found; its place in the answer is its rank.

    Attributes:
        file: Id of the file.
        ordinal: Its place among the chunks of the file, from 0.
        raw: Score of the store: a cosine, or of the lexical leg a number that only the store can compare.
    """

    file: str
    ordinal: int
    raw: float


class Held(Struct, frozen=True):
    """Figures of a repository in a store.

    Attributes:
        repository: Its name.
        generations: Commits that can be searched, the newest push first, each with the time of its push in seconds.
        n_files: Texts of files, of all generations.
        n_texts: Files of which the text itself is stored, to be shown.
    """

    repository: str
    generations: Sequence[tuple[str, int]]
    n_files: int
    n_texts: int = 0


class TeamStore(Protocol):
    """An open store.

    Raises, in every call:
        StoreDownError: It does not answer, or not in time.
        StoreNotReadyError: It answers, and cannot do this yet: what is asked for is not loaded or not there.
        BusyError: It refuses for now, having too much to do.
    """

    @property
    def key(self) -> StoreKey:
        """What all that is read and written here was made by."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        ...

    def put(self, repository: str, files: Mapping[str, StoredFile], at_s: int, *, timeout_s: float) -> None:
        """Store some files by their ids, with the time of this push; a file is there whole or not at all."""
        ...

    def held(self, repository: str, *, timeout_s: float) -> Mapping[str, int]:
        """Return id → time of the last `put` of all files of a repository, those of no generation too, as of now."""
        ...

    def files(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredFile]:
        """Return id → file of some files; those that are not there are left out."""
        ...

    def commit(self, repository: str, generation: Generation, *, timeout_s: float) -> None:
        """Make a generation known; one of the same commit is replaced. All its files must be there."""
        ...

    def generations(self, repository: str, *, timeout_s: float) -> Sequence[tuple[str, int]]:
        """Return the commits of a repository, the newest push first, each with the time of its push in seconds."""
        ...

    def generation(self, repository: str, commit: str, *, timeout_s: float) -> Generation:
        """Return a generation.

        Raises:
            StoreNotReadyError: There is none of this commit.
        """
        ...

    def forget(self, repository: str, commit: str, *, timeout_s: float) -> None:
        """Delete a generation; its files stay until they are removed."""
        ...

    def remove(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """Delete some files with their texts, in whatever generations they are."""
        ...

    def remove_path(self, repository: str, path: str, *, timeout_s: float) -> None:
        """Delete every file that a path ever was, with its texts, in whatever generations it is."""
        ...

    def put_texts(self, repository: str, texts: Mapping[str, StoredText], *, timeout_s: float) -> None:
        """Store the texts of some files by the files' ids; secrets were masked before."""
        ...

    def texts(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredText]:
        """Return id → text of some files; those without a text are left out."""
        ...

    def with_text(self, repository: str, *, timeout_s: float) -> Set[str]:
        """Return the ids of all files of a repository of which the text is stored, as of now."""
        ...

    def remove_texts(self, repository: str, ids: Collection[str] | None = None, *, timeout_s: float) -> None:
        """Delete the texts of some files, with None all of a repository, also halves of a killed push; files stay."""
        ...

    def wait_visible(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """Return once searches find all of these files; those without a chunk are found by `files` alone.

        Raises:
            StoreDownError: It does not come to that in time.
        """
        ...

    def dense(
        self, repository: str, vectors: NDArray[np.float32], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[Found]]:
        """Return for each of some unit vectors the k nearest chunks of a repository, of any generation, best first.

        A vector of zeros finds nothing. `Found.raw` is the cosine.
        """
        ...

    def lexical(
        self, repository: str, queries: Sequence[Sequence[str]], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[Found]]:
        """Return for each of some lists of index terms the k best chunks by words, best first.

        A query without terms finds nothing. Only for a store that is `Capabilities.lexical`.
        """
        ...

    def latest(self, *, timeout_s: float) -> Mapping[str, str]:
        """Return repository → commit that was pushed last, of all repositories, in the order of their names."""
        ...

    def repositories(self, *, timeout_s: float) -> Sequence[Held]:
        """Return what is stored, repository by repository, in the order of their names."""
        ...

    def drop(self, repository: str | None = None, *, timeout_s: float) -> None:
        """Delete all of a repository; with None the whole store, what was made by other keys too."""
        ...

    def close(self) -> None:
        """Close the connection; no call may follow."""
        ...
