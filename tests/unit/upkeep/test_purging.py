"""What is forgotten leaves the indexes too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.knowledge.stores import memory_name, reading_of
from hybrid.records.memory.types import Extracted, Owner
from hybrid.upkeep.purging import purge_index
from tests.support.records import new_talk

if TYPE_CHECKING:
    from pathlib import Path


def test_vectors_that_an_earlier_version_kept_beside_the_index_go(tmp_path: Path) -> None:
    """The memory was once read by a second model; a `forget` deletes the file with what that read."""
    talk = new_talk(tmp_path, {}, memory_cross_project=True)
    store = talk.kinds.stores.memory(talk.workspace())
    row = store.add_observation(
        Owner("s0", talk.workspace().require_project().key, "shop"), Extracted("change", "A"), 1
    )
    assert row is not None
    talk.kinds.open(talk.workspace(), ("memory",))
    file = reading_of(talk.home, memory_name(store.path, ""))
    file.write_bytes(b"vectors")
    store.forget([("observation", row.id)])

    assert () == purge_index(talk.workspace(), store)
    assert not file.exists()
