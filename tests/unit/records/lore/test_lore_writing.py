from __future__ import annotations

import errno
import json
import os
import re
from typing import Any

import pytest

from hybrid.records.lore.json_records import DecisionDraft, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.types import mapping_of
from hybrid.records.lore.writing import import_folder
from hybrid.records.types import DuplicateError, LoreError, LoreWriteError, NoRecordError, Record
from tests.unit.records.lore.conftest import Given, decision, session

TOKEN = "ghp_" + "aB3" * 12


def test_a_decision_is_appended_with_every_key(lore: Given) -> None:
    """A half line before it is ended first; secrets are not stored."""
    lore.decisions(decision("dec-9"))
    with lore.folder.decisions.open("ab") as file:
        file.write(b'{"id": "half')
    identity = lore.writer().add(
        DecisionDraft(f"Use {TOKEN}", "because", alternatives=("b",), tags=("t",), git_commit="c" * 40)
    )
    lines = lore.folder.decisions.read_bytes().split(b"\n")

    assert "dec-00000001" == identity
    assert [b'{"id": "half', b""] == [lines[1], lines[3]]
    assert {
        "id": "dec-00000001",
        "timestamp": "2026-02-10T05:48:04Z",
        "session_id": None,
        "decision": "Use [redacted:github_token]",
        "rationale": "because",
        "alternatives": ["b"],
        "outcome": "pending",
        "status": "active",
        "superseded_by": None,
        "retracted_reason": None,
        "type": "other",
        "entities": [],
        "tags": ["t"],
        "lesson_learned": None,
        "related_decisions": [],
        "git_commit": "c" * 40,
        "project": "shop",
    } == json.loads(lines[2])
    assert "[decision] dec-00000001 (2026-02-10)" in lore.shown()


def test_retracting_keeps_unknown_keys_and_the_old_line(lore: Given) -> None:
    """The last object with the change in it is appended; doing it again appends nothing."""
    lore.decisions(decision("dec-1", spec_quality=0.8, project="shop"))
    before = lore.folder.decisions.read_bytes()
    writer = lore.writer()

    assert writer.retract("dec-1", "wrong")
    after = lore.folder.decisions.read_bytes()
    assert after.startswith(before)
    assert decision(
        "dec-1", spec_quality=0.8, project="shop", status="retracted", retracted_reason="wrong"
    ) == json.loads(after[len(before) :])
    assert not writer.retract("dec-1", "wrong")
    assert after == lore.folder.decisions.read_bytes()
    assert [] == lore.shown()


def test_superseding(lore: Given) -> None:
    """The old decision names the new one and is given no more; both must be decisions, and two."""
    writer = lore.writer()
    old = writer.add(DecisionDraft("Use JSON files", "simple"))
    new = writer.add(DecisionDraft("Use SQLite", "many writers"))

    assert writer.supersede(old, new)
    assert [f"[decision] {new} (2026-02-10)"] == lore.shown()
    assert new == lore.store.read().decisions[-1].fields["superseded_by"]
    with pytest.raises(LoreError, match="two decisions"):
        writer.supersede(new, new)
    with pytest.raises(NoRecordError, match="no record dec-x"):
        writer.supersede(old, "dec-x")


def test_a_retraction_reaches_every_folder(lore: Given, other_lore: Given) -> None:
    """Copies of a record are withdrawn with it."""
    for one in (lore, other_lore):
        one.decisions(decision("dec-1", project="shop"))
        one.patterns("patterns:\n  - {id: p, name: A, solution: b}\n")
    writer = other_lore.writer(lore)

    assert (True, True) == (writer.retract("dec-1", "no"), writer.retract("p", "no"))
    assert ([], []) == (lore.shown(), other_lore.shown())


def test_patterns_anti_patterns_and_handoffs_are_written(lore: Given) -> None:
    """Ids hold the last six digits of the second; patterns stand newest first; a session has the whole schema."""
    writer = lore.writer()

    assert "pat-702484-00000001" == writer.add(PatternDraft("First", "Do this", problem="p", confidence=0.7))
    assert "pat-702484-00000002" == writer.add(PatternDraft("Second", "Do something else entirely"))
    assert "anti-702484-00000003" == writer.add(AntiPatternDraft("N", "s", "r", "f", category="git", severity="low"))
    assert "session-20260210-054804-00000004" == writer.add(HandoffDraft("Half done", next_steps=("test it",)))
    read = lore.store.read()
    assert ["Second", "First"] == [one.name for one in read.patterns]
    assert ("shop", 0.7) == (read.patterns[1].project, read.patterns[1].confidence)
    assert {"message", "next_steps", "blockers", "questions", "created_at"} == set(
        mapping_of(read.handoffs[0].fields["handoff"])
    )
    assert ("shop", ("test it",)) == (read.handoffs[0].project, read.handoffs[0].next_steps)
    with pytest.raises(LoreError, match="hybrid lore handoff"):
        writer.retract("session-20260210-054804-00000004", "no")


def test_a_near_duplicate_needs_force(lore: Given) -> None:
    """Of the last twenty of its kind only; other kinds and older ones do not count."""
    writer = lore.writer()
    first = writer.add(DecisionDraft("Use JSONL for storage", "append-only"))
    with pytest.raises(DuplicateError, match=f"{first} says nearly the same .*--force"):
        writer.add(DecisionDraft("use jsonl for storage!", "append only"))
    writer.add(DecisionDraft("Use JSONL for storage", "append-only"), is_forced=True)
    writer.add(PatternDraft("Use JSONL for storage", "append-only"))
    with pytest.raises(DuplicateError, match="pattern"):
        writer.add(PatternDraft("Use JSONL for storage", "append-only"))
    lore.decisions(decision("dec-old", "Paint it red"), *(decision(f"dec-{n}", f"word{n} thing{n}") for n in range(20)))
    assert lore.writer().add(DecisionDraft("Paint it red", "append-only, grep-friendly"))


def test_a_secret_of_a_like_record_is_not_told(lore: Given) -> None:
    """Another tool wrote it; the message that names the record would show it to whoever writes the same."""
    said = f"Rotate {TOKEN} {' '.join(f'word{n}' for n in range(40))}"
    lore.decisions(decision("dec-old", said))
    with pytest.raises(DuplicateError, match="dec-old says nearly the same") as refused:
        lore.writer().add(DecisionDraft(said, "append-only, grep-friendly"))

    assert TOKEN[:12] not in str(refused.value)


def test_a_refused_write_changes_nothing(lore: Given) -> None:
    """A file in a form that cannot be added to keeps its bytes."""
    lore.patterns("patterns: [{id: a, name: b}]\n")
    with pytest.raises(LoreWriteError):
        lore.writer().add(PatternDraft("New", "Do it"))

    assert b"patterns: [{id: a, name: b}]\n" == lore.folder.patterns.read_bytes()


THERE = """\
patterns:
  - {id: pat-1, name: A, solution: b, spec_quality: 0.80, examples: [{bad: x}, {good: "1.0"}]}
  - {id: pat-2, name: Mine, solution: c, project: payments, note: ~}
  - {id: pat-3, name: "broken
"""


def test_importing_adds_what_is_not_there(lore: Given, other_lore: Given) -> None:
    """By id, with every key; the history of a decision comes along; malformed records are reported; again: nothing."""
    lore.patterns(THERE)
    lore.decisions(
        decision("dec-1", "Old words", extra=1), decision("dec-1", extra=1), b"{half", decision("dec-2", project="x")
    )
    lore.session("session-1.json", session(id="session-1", related={"goals": []}))
    other_lore.decisions(decision("dec-2", "Ours"))
    dry = import_folder(lore.folder, other_lore.folder, is_dry=True)
    assert not other_lore.folder.patterns.exists()
    report = import_folder(lore.folder, other_lore.folder, project="shop")

    expected = {"pattern": 2, "anti-pattern": 0, "decision": 1, "handoff": 1}
    assert expected == dry.added == report.added
    assert {"pattern": 0, "anti-pattern": 0, "decision": 1, "handoff": 0} == report.present
    assert [(f"{lore.folder.patterns}", 4), (f"{lore.folder.decisions}", 3)] == [
        (problem.file, problem.line) for problem in report.problems
    ]
    read = other_lore.store.read()
    assert [{"id": "pat-1", "name": "A", "solution": "b", "spec_quality": "0.80", "project": "shop"}] == [
        {key: value for key, value in one.fields.items() if key != "examples"} for one in read.patterns[:1]
    ]
    assert [{"bad": "x"}, {"good": "1.0"}] == read.patterns[0].fields["examples"]
    assert (None, "payments") == (read.patterns[1].fields["note"], read.patterns[1].project)
    assert b"spec_quality: 0.80\n" in other_lore.folder.patterns.read_bytes()
    assert ["Ours", "Use JSONL for storage"] == [one.decision for one in read.decisions]
    assert ["Ours", "Old words", "Use JSONL for storage"] == [
        json.loads(line)["decision"] for line in other_lore.folder.decisions.read_text().splitlines()
    ]
    assert (1, "shop") == (read.decisions[1].fields["extra"], read.decisions[1].project)
    assert ("shop", {"goals": []}) == (read.handoffs[0].project, read.handoffs[0].fields["related"])
    again = import_folder(lore.folder, other_lore.folder, project="shop")
    assert 0 == sum(again.added.values())


def test_importing_without_a_project_copies_lines_as_they_are(lore: Given, other_lore: Given) -> None:
    """Not a byte of a line or a session changes, unless it holds a secret."""
    line = b'{ "id":"dec-1",  "decision":"Use \\u00e9", "n": 1.00 }'
    lore.decisions(line, decision("dec-2", f"Use {TOKEN}"))
    lore.session("session-1.json", b'{"id":"session-1",\n "handoff":{"message":"m"}}')
    report = import_folder(lore.folder, other_lore.folder)

    assert line == other_lore.folder.decisions.read_bytes().split(b"\n")[0]
    assert TOKEN.encode() not in other_lore.folder.decisions.read_bytes()
    assert 1 == report.redacted
    assert (
        b'{"id":"session-1",\n "handoff":{"message":"m"}}'
        == (other_lore.folder.sessions / "session-1.json").read_bytes()
    )


def test_importing_keeps_repeated_lines(lore: Given, other_lore: Given) -> None:
    """Retracted, taken up again, retracted in the same words: the last line decides here as there."""
    active, gone = decision("dec-1", project="shop"), decision("dec-1", project="shop", status="retracted")
    lore.decisions(gone, active, decision("dec-2"), gone)
    report = import_folder(lore.folder, other_lore.folder)

    assert lore.folder.decisions.read_bytes() == other_lore.folder.decisions.read_bytes()
    assert (2, 0) == (report.added["decision"], report.withdrawn)
    assert ["[decision] dec-2 (2026-02-10) [unattributed]"] == other_lore.shown()


def test_importing_a_file_with_a_byte_order_mark(lore: Given, other_lore: Given) -> None:
    """Its first decision comes along too."""
    lore.decisions(b"\xef\xbb\xbf" + json.dumps(decision("dec-1")).encode())

    assert 1 == import_folder(lore.folder, other_lore.folder).added["decision"]
    assert ["dec-1"] == [one.id for one in other_lore.store.read().decisions]


def test_importing_again_withdraws_what_was_withdrawn_there(lore: Given, other_lore: Given) -> None:
    """Once, as the project that it has here; what was taken up again here afterwards stays so."""
    lore.decisions(decision("dec-1"), decision("dec-2"), decision("dec-3", status="retracted"))
    import_folder(lore.folder, other_lore.folder, project="shop")
    superseded: dict[str, Any] = {"status": "superseded", "superseded_by": "dec-4", "own": 1}
    lore.decisions(decision("dec-1"), decision("dec-2"), decision("dec-1", **superseded), decision("dec-4"))
    dry = import_folder(lore.folder, other_lore.folder, is_dry=True)
    report = import_folder(lore.folder, other_lore.folder)

    assert (1, 1, 1, 2) == (dry.withdrawn, report.withdrawn, report.added["decision"], report.present["decision"])
    assert decision("dec-1", **superseded, project="shop") == other_lore.store.read().decisions[-1].fields
    assert ["dec-2", "dec-4"] == [one.id for one in other_lore.store.read().decisions if one.is_active]
    assert 0 == import_folder(lore.folder, other_lore.folder).withdrawn

    with other_lore.folder.decisions.open("ab") as file:
        file.write(json.dumps(decision("dec-1", project="shop")).encode() + b"\n")
    assert 0 == import_folder(lore.folder, other_lore.folder).withdrawn
    lore.decisions(decision("dec-1", **superseded), decision("dec-1"), decision("dec-1", **superseded))
    assert 1 == import_folder(lore.folder, other_lore.folder).withdrawn


def test_importing_keeps_a_project_that_is_no_text(lore: Given, other_lore: Given) -> None:
    """`--project` is for records that name none."""
    lore.decisions(decision("dec-1", project={"name": "other"}))
    lore.session("session-1.json", session(id="session-1", context={"project": ["other"]}))
    import_folder(lore.folder, other_lore.folder, project="shop")

    assert [] == other_lore.shown()
    assert {"name": "other"} == other_lore.store.read().decisions[0].fields["project"]


@pytest.mark.parametrize("place", ["journal", "patterns", "transfer", "."])
def test_a_file_that_cannot_be_written_is_named(lore: Given, place: str) -> None:
    """With the reason and what to do, whichever file it is; here a file stands where a folder must be."""
    blocked = lore.folder.path / place
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_bytes(b"")
    write = {
        "journal": lambda: lore.writer().add(DecisionDraft("Use tabs", "habit")),
        "patterns": lambda: lore.writer().add(PatternDraft("A", "b")),
        "transfer": lambda: lore.writer().add(HandoffDraft("Half done")),
        ".": lambda: lore.writer().add(DecisionDraft("Use tabs", "habit")),
    }[place]

    with pytest.raises(LoreWriteError, match=rf"^{re.escape(str(blocked))}.* cannot be written \(.*\).*make room"):
        write()


def test_a_full_disk_is_told(lore: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the system's."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("hybrid.records.lore.store.append_line", full)
    with pytest.raises(LoreWriteError, match=rf"decisions\.jsonl cannot be written \({os.strerror(errno.ENOSPC)}\)"):
        lore.writer().add(DecisionDraft("Use tabs", "habit"))


def test_importing_nothing_or_oneself_is_refused(lore: Given, other_lore: Given) -> None:
    """The message says what was looked for."""
    with pytest.raises(LoreError, match="no lore in"):
        import_folder(lore.folder, other_lore.folder)
    lore.decisions(decision())
    with pytest.raises(LoreError, match="uses already"):
        import_folder(lore.folder, lore.folder)


def _record(kind: str, identity: str, text: str, day: int = 1, *, is_attributed: bool = True) -> Record:
    at = f"2026-02-{day:02}T00:00:00Z"
    return Record(kind, identity, "", text, "", (), created_at=at, is_attributed=is_attributed)  # pyright: ignore
