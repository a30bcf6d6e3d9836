"""Lore that several processes write, of which some are killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.records.lore.json_records import DecisionDraft
from hybrid.records.lore.store import LoreFolder
from tests.support.builders import python_process
from tests.unit.records.lore.conftest import Given

if TYPE_CHECKING:
    from pathlib import Path

_WRITE = """
    import secrets, sys
    from pathlib import Path
    from hybrid.records.lore.json_records import DecisionDraft
    from hybrid.records.lore.store import LoreFolder
    from hybrid.records.lore.json_records import HandoffDraft
    from hybrid.records.lore.patterns import PatternDraft
    from hybrid.records.lore.store import LoreShelf, LoreStore
    from hybrid.records.lore.writing import LoreWriter, Moment

    folder, who = LoreFolder(Path(sys.argv[1]), "personal"), sys.argv[2]
    writer = LoreWriter(LoreShelf([LoreStore(folder)]), folder, "", Moment(1e9, lambda: secrets.token_hex(4)))
    for n in range(int(sys.argv[3])):
        print("decided", writer.add(DecisionDraft(f"{who} choice{n}", f"reason{n}"), is_forced=True), flush=True)
        print("learned", writer.add(PatternDraft(f"{who} way{n}", f"do{n}"), is_forced=True), flush=True)
        last = writer.add(DecisionDraft(f"{who} mistake{n}", f"haste{n}"), is_forced=True)
        writer.retract(last, "wrong")
        print("retracted", last, flush=True)
        print("left", writer.add(HandoffDraft(f"{who} handoff{n}")), flush=True)
"""


@pytest.fixture
def lore(tmp_path: Path) -> Given:
    """An empty folder."""
    return Given(LoreFolder(tmp_path / "lore", "personal"))


@pytest.mark.slow
def test_a_killed_process_loses_nothing_that_it_reported(lore: Given) -> None:
    """Whenever it dies: what it said is there, what it took back stays so, no file is broken, the next write works."""
    told: list[list[str]] = []
    for n_lines in (1, 6, 15):
        process = python_process(_WRITE, lore.folder.path, f"run{n_lines}", 300)
        assert process.stdout is not None
        told += [process.stdout.readline().decode().split() for _ in range(n_lines)]
        process.kill()
        process.communicate()

        read = lore.store.read()
        assert () == read.problems
        statuses = {one.id: one.status for one in read.decisions}
        assert {"active"} == {statuses[one] for said, one in told if said == "decided"}
        assert {"retracted"} >= {statuses[one] for said, one in told if said == "retracted"}
        assert {one for said, one in told if said == "learned"} <= {one.id for one in read.patterns}
        assert {one for said, one in told if said == "left"} <= {one.id for one in read.handoffs}
    identity = lore.writer().add(DecisionDraft("After", "all of it"))

    assert identity in {one.id for one in lore.store.read().decisions}


def test_two_processes_lose_no_record(lore: Given) -> None:
    """Each of two writers adds records of every kind at the same time; all are there afterwards."""
    writers = [python_process(_WRITE, lore.folder.path, who, 12) for who in ("left", "right")]
    told = [line.split() for one in writers for line in one.communicate(timeout=120)[0].decode().splitlines()]
    read = lore.store.read()

    assert ([0, 0], ()) == ([one.returncode for one in writers], read.problems)
    assert {one for said, one in told if said in ("decided", "retracted")} == {one.id for one in read.decisions}
    assert {one for said, one in told if said == "learned"} == {one.id for one in read.patterns}
    assert {one for said, one in told if said == "left"} == {one.id for one in read.handoffs}
    assert 2 * 12 * 4 == len(told)
