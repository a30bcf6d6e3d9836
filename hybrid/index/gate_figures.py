"""Puts together what the segments of a snapshot keep for the gate; its calibration and verdict ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.backend import BackgroundFigures, RecordBlock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from hybrid.index.columns import SegmentPart


class SegmentGate:
    """Gives the figures of some segments that the gate compares prompts with; see `hybrid.index.backend.GateFigures`.

    Args:
        key: Key of the background; empty for segments that were built without one.
        parts: The segments, annotated with it when the key is not empty.
    """

    def __init__(self, key: str, parts: Sequence[SegmentPart]) -> None:
        self.key = key
        self._parts = parts

    @property
    def has_records(self) -> bool:
        """See `GateFigures.has_records`; segments written for a model without lengths hold no evidence for records."""
        return bool(self._parts) and all(part.segment.has("background_record") for part in self._parts)

    def figures(self) -> BackgroundFigures:
        """See `GateFigures.figures`: the largest values of all segments, and the sums of the frequencies.

        Raises:
            KeyError: A segment is not annotated; ask only when the key is not empty.
        """
        tops = self._arrays("background_top")
        # Segments that an earlier version annotated lack it until the next build.
        is_whole = all(part.segment.has("background_together") for part in self._parts)
        together = self._arrays("background_together") if is_whole else []
        records = self._arrays("background_record") if self.has_records else []
        return BackgroundFigures(
            n_rows=sum(part.segment.n_chunks for part in self._parts),
            top=np.max(tops, axis=0) if tops else None,
            frequencies=np.asarray(np.sum(self._arrays("background_df"), axis=0, dtype=np.float64)),
            together=np.max(together, axis=0) if together else None,
            records=np.max(records, axis=0) if records else None,
        )

    def records(self) -> list[RecordBlock]:
        """See `GateFigures.records`."""
        return [record_block(part.segment.array, part.segment.is_live) for part in self._parts]

    def triggers(self) -> Iterator[tuple[int, str]]:
        """See `GateFigures.triggers`; the first name that a record defines is its title, and is left out."""
        for part in self._parts:
            chunks: NDArray[np.int32] = part.segment.array("def_chunk")
            for number in (np.flatnonzero(np.diff(chunks) == 0) + 1).tolist():
                yield part.first_row + int(chunks[number]), part.segment.text("def_name", number)

    def _arrays(self, name: str) -> list[NDArray[Any]]:
        return [part.segment.array(name) for part in self._parts]


def record_block(array: Callable[[str], NDArray[Any]], is_live: NDArray[np.bool_] | None = None) -> RecordBlock:
    """The records of one segment.

    Args:
        array: Gives the arrays of the segment by name, those of its terms' vectors too.
        is_live: For each record, whether it can be found; None when all can.
    """
    return RecordBlock(
        vectors=array("vector"),
        scales=array("vector_scale"),
        term_vectors=array("term_vector"),
        term_scales=array("term_vector_scale"),
        term_starts=array("term_start"),
        holders=array("post_row"),
        is_live=is_live,
    )
