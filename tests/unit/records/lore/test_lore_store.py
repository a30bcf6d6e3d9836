from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import astuple

from hybrid.base.stamps import stamp_of
from hybrid.records.lore import patterns
from hybrid.records.lore.json_records import DecisionDraft
from hybrid.records.lore.store import LoreFolder, LoreShelf, LoreStore, lore_folders
from hybrid.records.lore.types import ProjectNames, latest_handoff
from tests.support.cases import project
from tests.unit.records.lore.conftest import Given, decision, session

if TYPE_CHECKING:
    from pathlib import Path

SHOP = ProjectNames("shop", "a" * 16, ("payments", "flow"))

PATTERNS = project("lore/store.txt")["patterns.yaml"]


def test_a_missing_folder_is_a_source_that_is_skipped(lore: Given) -> None:
    """No records, no problems, nothing is made."""
    assert ((), ()) == (lore.store.read().problems, lore.shelf.records(SHOP))
    assert not lore.folder.path.exists()


def test_lines_of_patterns(lore: Given) -> None:
    """Problem and solution; the situation where there is no problem; symptom and fix.

    Placeholders are left out, and so is what names another project.
    """
    lore.patterns(PATTERNS)
    records = lore.shelf.records(SHOP)

    assert [
        ("Safe bash arithmetic (confidence: 0.9)", "Problem: ((x++)) returns exit code 1 when x is 0"),
        ("Small commits (confidence: 0.5)", "When: Reviewing a large change"),
        ("Parsing ls output (severity: medium)", "Symptom: file names with spaces split"),
        ("Avoid (severity: high)", "Fix: do not"),
    ] == [(record.shown, record.lines[0]) for record in records]
    assert ("Solution: Use x=$((x + 1)) instead",) == records[0].lines[1:]
    assert ("Solution: Cut it.", "Test each.") == records[1].lines[1:]
    assert "count=$((count + 1))" in records[0].text
    assert "sadness" == records[3].text.split("\n")[0]
    assert all(record.is_attributed for record in records)


def test_lines_of_decisions_and_handoffs(lore: Given) -> None:
    """As the specification shows them; what is searched besides are alternatives, tags, entities and the title."""
    lore.decisions(
        decision("dec-a1b2c3d4", project="shop", tags=["storage"], alternatives=["SQLite"], title="Store"),
        decision("dec-2", rationale="n/a", timestamp="once", project="shop"),
    )
    lore.session("session-20260214-100000-aaaaaaaa.json", session("Auth 80% complete", context={"project": "Shop"}))
    first, second, handoff = lore.shelf.records(SHOP)

    assert ("dec-a1b2c3d4 (2026-02-10)", ("Use JSONL for storage -- append-only, grep-friendly",)) == (
        first.shown,
        first.lines,
    )
    assert ("Use JSONL for storage", "Store\nappend-only, grep-friendly\nSQLite\nstorage") == (first.name, first.text)
    assert ("dec-2", ("Use JSONL for storage",)) == (second.shown, second.lines)
    assert ("session-20260214-100000-aaaaaaaa (2026-02-14)", ("Auth 80% complete",)) == (handoff.shown, handoff.lines)
    assert ("session-20260214-100000-aaaaaaaa", "shop", True) == (handoff.id, handoff.project, handoff.is_attributed)


def test_attributed_records_come_first(lore: Given) -> None:
    """This project's decisions, the newest first, its handoff; then those that name none, marked; never another's."""
    lore.decisions(
        decision("dec-1"),
        decision("dec-2", project="shop", timestamp="2026-02-11T00:00:00+02:00"),
        decision("dec-3", project="shop", timestamp="2026-02-10T22:30:00Z"),
        decision("dec-4", project="payments"),
        decision("dec-5", tags=["workflow"]),
        decision("dec-6", tags=["flow"]),
    )
    lore.session("session-1.json", session("older", id="session-1", project="shop"))
    newer = {"message": "newer", "created_at": "2026-03-01T00:00:00Z"}
    lore.session("session-2.json", session(id="session-2", project="shop", handoff=newer))
    lore.session("session-3.json", session("nobody's", id="session-3"))
    lore.session("session-4.json", session("foreign", id="session-4", context={"project": "payments"}))

    assert [
        "[decision] dec-3 (2026-02-10)",
        "[decision] dec-2 (2026-02-11)",
        "[handoff] session-2 (2026-03-01)",
        "[decision] dec-5 (2026-02-10) [unattributed]",
        "[decision] dec-1 (2026-02-10) [unattributed]",
        "[handoff] session-3 (2026-02-14) [unattributed]",
    ] == lore.shown(SHOP)
    latest = latest_handoff([lore.store.read()], SHOP)
    assert latest is not None
    assert "newer" == latest.message


def test_sessions_that_do_not_count(lore: Given) -> None:
    """Compressed ones, examples, empty handoffs and other files are passed over; a broken one is a problem."""
    lore.session("session-1.compressed.json", session())
    lore.session("session-example.json", session())
    lore.session("session-2.json", session(""))
    lore.session("session-3.json", {"id": "session-3", "handoff": None})
    lore.session("notes.json", session())
    lore.session("session-4.json", b'{"id": "session-4", "hand')
    lore.session("session-5.json", b"[]")
    read = lore.store.read()

    assert () == read.handoffs
    assert ["session-5.json", "session-4.json"] == [problem.file.rsplit("/", 1)[-1] for problem in read.problems]


def test_a_handoff_shows_what_comes_next(lore: Given) -> None:
    """Below the message, a line of at most 200 characters each: 3 next steps, 2 blockers, 2 questions."""
    handoff = {
        "message": "Half\ndone",
        "next_steps": ["Register\nthe app", "x" * 300, "TODO", "third", "fourth"],
        "blockers": ["b1", "b2", "b3"],
        "questions": ["q1", "q2", "q3"],
    }
    lore.session("session-1.json", {"handoff": handoff, "project": "shop"})
    (record,) = lore.shelf.records(SHOP)

    steps = ("Next: Register the app", f"Next: {'x' * 193}…", "Next: third")
    assert ("Half", "done", *steps, "Blocker: b1", "Blocker: b2", "Question: q1", "Question: q2") == record.lines
    assert "fourth" in record.text


@pytest.mark.parametrize(("n_chars", "n_lines"), [(3000, 1), (1100, 2), (10, 7)])
def test_what_comes_next_never_costs_a_handoff_its_place(lore: Given, n_chars: int, n_lines: int) -> None:
    """Lines that would make it too long for the budget of 1,500 characters are left out, the message never."""
    many = ["y" * 300] * 3
    handoff = {"message": "m" * n_chars, "next_steps": many, "blockers": many, "questions": many}
    lore.session("session-1.json", {"handoff": handoff, "project": "shop"})
    (record,) = lore.shelf.records(SHOP)

    assert ("m" * n_chars, n_lines) == (record.lines[0], len(record.lines))


def test_a_handoff_without_message_shows_what_comes_next(lore: Given) -> None:
    """Next steps, blockers and questions stand in its place."""
    handoff = {"message": "", "next_steps": ["Register"], "blockers": ["No key", "..."], "questions": []}
    lore.session("session-20260214-1.json", {"handoff": handoff, "project": "shop"})
    (record,) = lore.shelf.records(SHOP)

    assert ("session-20260214-1", ("Next: Register", "Blocker: No key")) == (record.shown, record.lines)


def test_secrets_are_taken_out_of_what_is_given(lore: Given) -> None:
    """Of every field, wherever it stands in a file of many records."""
    token = "ghp_" + "aB3" * 12
    lore.patterns(f"patterns:\n  - {{id: p, name: Token {token}, solution: 'send {token}'}}\n")
    lore.decisions(*(decision(f"dec-{n}") for n in range(150)), decision("dec-x", f"Use {token}", tags=[token]))
    lore.session("session-1.json", session(f"The key is {token}"))
    records = lore.shelf.records(SHOP)

    assert 153 == len(records)
    assert token not in repr(records)
    assert "Use [redacted:github_token] -- append-only, grep-friendly" in [record.lines[-1] for record in records]


def test_every_text_of_a_record_is_well_formed(lore: Given) -> None:
    """Bytes that are not UTF-8 and halves of escaped pairs become U+FFFD in each kind of record; fields keep them."""
    odd: dict[str, Any] = {
        "project": "shop\ud83d",
        "tags": ["\udcff", "shop"],
        "title": "t\ud83d",
        "rationale": "\udc00",
    }
    lore.decisions(
        decision("dec-\ud83d", "Use \ud83d", **odd),
        b'{"id":"dec-2\xff","decision":"Use \xff","timestamp":"2026-02-10\xff","alternatives":["a\xff"]}',
    )
    lore.patterns(
        b"patterns:\n  - {id: p, name: N \xff, problem: \xff, solution: \xff x, examples: [{bad: \xff}]}\n"
        b"anti_patterns:\n  - {id: a, name: \xff x, symptom: s\xff, fix: f\xff, severity: \xff}\n"
    )
    handoff = {"message": "m\ud83d", "next_steps": ["n\ud83d"], "blockers": [], "questions": []}
    lore.session("session-1.json", {"id": "session-\ud83d", "handoff": handoff, "summary": "s\ud83d"})
    records = lore.shelf.records(ProjectNames("shop\ud83d", ""))

    assert ["pattern", "anti-pattern", "decision", "decision", "handoff"] == [record.kind for record in records]
    for record in records:
        texts = [value for value in astuple(record) if isinstance(value, str)]
        "\n".join([*texts, *record.lines, *record.triggers, record.key]).encode("utf-8")
        assert "\ufffd" in record.id + record.name
    assert "dec-\ud83d" == lore.store.read().decisions[0].fields["id"]


def test_what_is_withdrawn_in_one_folder_is_given_from_none(lore: Given, other_lore: Given) -> None:
    """Neither a retracted decision nor a deprecated pattern comes back from a copy."""
    lore.decisions(decision("dec-1", project="shop"), decision("dec-2", project="shop"))
    lore.patterns("patterns:\n  - {id: p, name: A, solution: b}\n  - {id: q, name: C, solution: d}\n")
    other_lore.decisions(decision("dec-1", status="retracted"), decision("dec-2", "Ours", project="shop"))
    other_lore.patterns("patterns:\n  - {id: p, name: '[DEPRECATED] A', solution: b}\n")
    records = LoreShelf([other_lore.store, lore.store]).records(SHOP)

    assert ["pattern:q", "decision:dec-2"] == [record.key for record in records]
    assert "Ours" == records[1].name


def test_only_what_changed_is_read_again(lore: Given) -> None:
    """Unchanged files give the same objects once their stamps are proof; every change is seen at once."""
    lore.decisions(decision("dec-1", project="shop"))
    lore.patterns(PATTERNS)
    store = LoreStore(lore.folder, now_ns=lambda: 2**62)
    shelf = LoreShelf([store])
    before, records = store.read(), shelf.records(SHOP)
    stamp = stamp_of(lore.folder.decisions, follows_links=False)

    assert before is store.read()
    assert records is shelf.records(SHOP)

    lore.writer().add(DecisionDraft("Use tabs", "habit"))

    assert stamp != stamp_of(lore.folder.decisions, follows_links=False)
    assert ["dec-1", "dec-00000001"] == [one.id for one in store.read().decisions]
    assert before.patterns is store.read().patterns
    assert len(records) + 1 == len(shelf.records(SHOP))
    lore.folder.decisions.unlink()
    assert () == store.read().decisions


def test_a_young_file_is_read_again(lore: Given) -> None:
    """A stamp within two seconds of the reading proves nothing: the file may change again in the same tick."""
    lore.decisions(decision("dec-1"))
    stamp = stamp_of(lore.folder.decisions, follows_links=False)
    assert stamp is not None
    changed_ns = max(stamp.mtime_ns, stamp.ctime_ns)

    assert not stamp.is_proof_at(changed_ns + 1_999_999_999)
    assert stamp.is_proof_at(changed_ns + 2_000_000_000)


def test_a_huge_file_is_refused_and_named(lore: Given) -> None:
    """The other sources are read."""
    lore.patterns(b"#" * (patterns.MAX_BYTES + 1))
    lore.decisions(decision("dec-1"))
    read = lore.store.read()

    assert ["dec-1"] == [one.id for one in read.decisions]
    assert [f"{lore.folder.patterns}: {lore.folder.patterns} is larger than 5 MB and was not read; shorten it"] == [
        str(problem) for problem in read.problems
    ]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_no_link_leads_out_of_a_projects_folder(other_lore: Given, lore: Given) -> None:
    """A cloned tree cannot have files of the user read, nor written."""
    lore.decisions(decision("dec-1"))
    other_lore.folder.path.mkdir(parents=True)
    (other_lore.folder.path / "journal").symlink_to(lore.folder.path / "journal")
    read = other_lore.store.read()

    assert () == read.decisions
    assert "is a link" in read.problems[0].message
    with pytest.raises(Exception, match="is a link"):
        other_lore.writer().add(DecisionDraft("Write there", "why"))
    assert 1 == lore.folder.decisions.read_bytes().count(b"\n")


def test_where_lore_lies(tmp_path: Path) -> None:
    """The setting, else the variable, else the home; the project's own folder first, when it is there."""
    home, root = tmp_path / "home", tmp_path / "tree"
    environ = {"LORE_DATA_DIR": str(tmp_path / "env"), "HOME": str(tmp_path / "user")}

    assert (LoreFolder(home / "lore", "personal"),) == lore_folders(home, {}, "", None)
    assert (LoreFolder(tmp_path / "env", "personal"),) == lore_folders(home, environ, "", root)
    assert (LoreFolder(tmp_path / "user" / "my", "personal"),) == lore_folders(home, environ, "~/my", root)
    own = root / ".hybrid" / "lore"
    own.mkdir(parents=True)
    assert [LoreFolder(own, "project"), LoreFolder(home / "lore", "personal")] == list(lore_folders(home, {}, "", root))
    assert (LoreFolder(own, "personal"),) == lore_folders(home, {}, str(own), root)
