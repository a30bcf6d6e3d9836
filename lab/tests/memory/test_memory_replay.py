"""Recorded sessions are replayed into a memory, and every event leads to the rows that tell of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.evaluation.measures import QrelsError
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.types import Observation
from hybrid_lab.memory.replay import (
    EVENT_MS,
    SESSION_MS,
    make_repository,
    read_recordings,
    replay,
    rows_by_name,
    told_text,
)
from lab.tests.memory.recordings import BOATS, SHOP, write_sessions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.records.memory.types import Row
    from hybrid_lab.memory.replay import Replayed

NOW_MS = 1_770_000_000_000


def environ(tmp_path: Path) -> Mapping[str, str]:
    """A home of its own."""
    return {"HYBRID_HOME": str(tmp_path / "home")}


def replayed(tmp_path: Path) -> tuple[Replayed, Mapping[str, Row]]:
    """Two projects, and all rows that they left."""
    folder = write_sessions(tmp_path / "sessions", shop_1=SHOP, boats_1=BOATS)
    found = replay(read_recordings(folder), tmp_path, environ(tmp_path), now_ms=NOW_MS)
    store = RecordStores(environ(tmp_path)).memory(found.workspaces["shop"])
    with store:
        return found, rows_by_name(store)


def test_every_event_leads_to_what_tells_of_it(tmp_path: Path) -> None:
    """A repeated read is one row for both, a filtered tool has none, prompt and end of turn have the summary."""
    found, rows = replayed(tmp_path)
    names = {number: found.rows[f"shop-1.jsonl:{number}"] for number in range(len(SHOP))}

    assert () == found.problems
    assert names[2] == names[3] != ()
    assert () == names[0] == names[4] == names[7]
    assert names[1] == names[6]
    assert ["s"] == [name[0] for name in names[1]]
    assert isinstance(rows[names[5][0]], Observation)
    assert set(rows) == {name for of_event in found.rows.values() for name in of_event}


def test_a_session_without_an_end_is_flushed(tmp_path: Path) -> None:
    """Its last use becomes an observation too."""
    found, _ = replayed(tmp_path)

    assert 1 == len(found.rows["boats-1.jsonl:1"])


def test_the_clock_is_made(tmp_path: Path) -> None:
    """Events are seconds apart, sessions an hour, and the questions come an hour after the last one."""
    found, rows = replayed(tmp_path)
    at = {ref: rows[names[0]].created_ms for ref, names in found.rows.items() if names}
    n_shop, n_boats = len(SHOP) + 1, len(BOATS) + 1
    shop_ms = NOW_MS - SESSION_MS - n_shop * EVENT_MS
    boats_ms = shop_ms - SESSION_MS - n_boats * EVENT_MS

    assert (shop_ms + 2 * EVENT_MS, shop_ms + 5 * EVENT_MS) == (at["shop-1.jsonl:2"], at["shop-1.jsonl:5"])
    assert boats_ms + 1 * EVENT_MS == at["boats-1.jsonl:1"]


def test_paths_are_those_of_the_made_repository(tmp_path: Path) -> None:
    """`$PROJECT` is its root, so files are named relative to it; what is compared with raw text stays as recorded."""
    found, rows = replayed(tmp_path)
    row = rows[found.rows["shop-1.jsonl:2"][0]]

    assert isinstance(row, Observation)
    assert ("src/pay.py",) == row.told.files
    assert "$PROJECT/src/pay.py" in found.texts["shop-1.jsonl:2"]
    assert "shop-1.jsonl:0" not in found.texts


def test_a_project_has_the_same_key_everywhere(tmp_path: Path) -> None:
    """It comes from the origin of the made repository, not from its folder."""
    keys = {
        make_repository(tmp_path / place / "shop", environ(tmp_path / place)).require_project().key for place in "ab"
    }

    assert 1 == len(keys)


def test_files_of_other_projects_stay_unread(tmp_path: Path) -> None:
    """What is kept aside is not even opened."""
    folder = write_sessions(tmp_path / "sessions", shop_1=SHOP)
    (folder / "secret-1.jsonl").write_bytes(b"\xff\xfe not text")

    assert ["shop-1.jsonl"] == [one.file for one in read_recordings(folder, ["shop"])]
    with pytest.raises(QrelsError, match="cannot be read"):
        read_recordings(folder)


def test_no_recording_is_an_error(tmp_path: Path) -> None:
    """The message names the folder, the projects and the form of the names."""
    folder = write_sessions(tmp_path / "sessions", shop_1=SHOP)

    with pytest.raises(QrelsError, match=r"of ferry; they are called PROJECT-….jsonl"):
        read_recordings(folder, ["ferry"])


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    """File and line, from 0."""
    folder = write_sessions(tmp_path / "sessions", shop_1=[*SHOP[:3], "{"])

    with pytest.raises(QrelsError, match=r"shop-1\.jsonl:3"):
        replay(read_recordings(folder), tmp_path, environ(tmp_path), now_ms=NOW_MS)


def test_what_an_event_says_are_its_values() -> None:
    """Names of fields, marks of yes and no, and what is the same in all events are left out."""
    event = {"session_id": "s", "tool_name": "Grep", "tool_input": {"pattern": "oven", "-n": True, "head_limit": 5}}
    event |= {"tool_response": {"filenames": ["a.py", ""], "more": [{"text": "bake()"}]}, "error": "none found"}

    assert "Grep\noven\n5\na.py\nbake()\nnone found" == told_text(json.loads(json.dumps(event)))
