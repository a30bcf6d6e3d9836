from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import git_project, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

LESSONS = """\
### [L001] Retry payments
- **Learned**: 2026-01-02 | **Category**: gotcha
> Cap attempts of the payment client at five.

### [L002] Receipts
- **Learned**: 2026-01-04 | **Category**: pattern
> Keep every receipt of the provider for ten years.
"""

LORE = {
    ".hybrid/lore/patterns/data/patterns.yaml": """\
patterns:
  - id: pat-000001-aaaaaaaa
    name: Safe sum
    problem: ((x++)) ends with 1
    solution: Use x=$((x + 1))
    category: bash
    confidence: 0.9
anti_patterns:
  - id: anti-000001-aaaaaaaa
    name: Parsing ls
    symptom: names are split
    fix: use a glob
""",
    ".hybrid/lore/journal/data/decisions.jsonl": '{"id": "dec-aaaaaaaa", "decision": "Use JSONL", "rationale": "grep"}\n',
    ".hybrid/lore/transfer/data/sessions/session-20260214-120000-aaaaaaaa.json": json.dumps(
        {"id": "session-20260214-120000-aaaaaaaa", "handoff": {"message": "OAuth is next"}}
    ),
}


@pytest.fixture
def cloned(new_project: Shop) -> Shop:
    """A project whose tree came with lessons and lore; nobody accepted them."""
    write_files(new_project.root, {".hybrid/LESSONS.md": LESSONS, **LORE})
    return new_project


def _titles(shop: Shop) -> list[str]:
    done = shop.run("lessons", "list", "--json")
    return [lesson["title"] for lesson in json.loads(done.stdout)["lessons"]]


def test_trust_says_what_it_accepts(cloned: Shop) -> None:
    """Each file of records with its counts, and how to take it back; again it says that nothing is new."""
    shown = cloned.out("trust")
    again = cloned.out("trust", str(cloned.root / "src"))

    assert (
        f"""\
The records of shop in {cloned.root} are accepted; agents get those that fit:
  .hybrid/LESSONS.md: 2 lessons
  .hybrid/lore/patterns/data/patterns.yaml: 1 pattern and 1 anti-pattern
  .hybrid/lore/journal/data/decisions.jsonl: 1 decision
  .hybrid/lore/transfer/data/sessions: 1 handoff
`hybrid trust --revoke` takes it back
"""
        == shown
    )
    assert "are accepted, as before;" in again
    assert "" == cloned.out("trust", "--quiet")


def test_trust_has_a_machine_form(cloned: Shop) -> None:
    """Counts by kind, and of each file; what is absent is null."""
    form = cloned.json("trust")

    assert (True, True, str(cloned.root)) == (form["accepted"], form["is_new"], form["root"])
    assert [2, 1, 1, 1, 1] == [form[kind] for kind in ("lessons", "patterns", "anti_patterns", "decisions", "handoffs")]
    path = str(cloned.root / ".hybrid" / "LESSONS.md")
    assert {"path": path, "is_read": True, "lessons": 2, "problems": 0} == form["files"][0]
    assert (None, None) == (form["moved"], form["problem"])


def test_revoke_takes_it_back(cloned: Shop) -> None:
    """The records are not read any more, and the files stay; code 1 when nothing was accepted."""
    cloned.out("trust", "--quiet")
    accepted = _titles(cloned)
    said = cloned.out("trust", "--revoke")
    form = cloned.json("trust", "--revoke", code=1)

    assert ["Retry payments", "Receipts"] == accepted
    assert said.startswith(f"The records of shop in {cloned.root} are not given out any more; `hybrid trust`, ")
    assert {"accepted": False, "root": str(cloned.root), "changed": False} == form
    assert "were not accepted; nothing was changed" in cloned.out("trust", "--revoke", code=1)
    assert [] == _titles(cloned)
    assert LESSONS == (cloned.root / ".hybrid" / "LESSONS.md").read_text()


def test_a_tree_without_records_is_accepted_for_those_to_come(new_project: Shop) -> None:
    """It says so with code 0; a lesson that comes later is read. Nothing is written into the tree."""
    said = new_project.out("trust")
    made = (new_project.root / ".hybrid").exists()
    write_files(new_project.root, {".claude-recall/LESSONS.md": LESSONS})

    assert f"No record files in {new_project.root} yet; those that come are accepted" == said.splitlines()[0]
    assert not made
    assert ["Retry payments", "Receipts"] == _titles(new_project)


def test_trust_outside_of_a_project_is_one_line(cloned: Shop, tmp_path: Path) -> None:
    """Code 2, and what to do."""
    (tmp_path / "elsewhere").mkdir()

    assert "hybrid: no project here: " in cloned.error("trust", cwd=tmp_path / "elsewhere")


def test_lessons_learned_before_move_into_the_tree(cloned: Shop) -> None:
    """Ids are kept where they are free, counters come along, twins are skipped; the old file is kept."""
    quiet = ("--quiet",)
    cloned.out("lessons", "add", "Retry payments", "Cap attempts of the payment client at five", *quiet)
    cloned.out("lessons", "add", "Users table", "Never delete rows", *quiet)
    cloned.out("lessons", "add", "Nightly backup", "It runs at two", *quiet)
    cloned.out("lessons", "cite", "L002", "L003", *quiet)

    said = cloned.out("trust")

    file = (cloned.root / ".hybrid" / "LESSONS.md").read_text()
    (aside,) = cloned.home.glob("projects/*/trees/*/LESSONS.md.adopted-*")
    lessons = {one["title"]: one for one in cloned.json("lessons", "list")["lessons"]}
    assert "Moved 2 lessons learned here before into .hybrid/LESSONS.md: L004, L003" in said
    assert f"1 of them was there already, withdrawn or malformed; all are kept in {aside}" in said
    assert LESSONS in file
    assert ["L001", "L002", "L004", "L003"] == [one["id"] for one in lessons.values()]
    assert [0, 0, 1, 1] == [one["uses"] for one in lessons.values()]
    assert "Nightly backup" in aside.read_text()
    assert "Moved" not in cloned.out("trust")


def test_init_and_reindex_accept_and_say_so(cloned: Shop, tmp_path: Path) -> None:
    """By hand they accept, with one line when it is new; again they say nothing."""
    line = (
        "Accepted 2 lessons, 1 pattern, 1 anti-pattern, 1 decision and 1 handoff of this tree "
        "(`hybrid trust --revoke` takes it back)"
    )
    other = git_project(tmp_path / "other", {"a.py": "x = 1\n", ".hybrid/LESSONS.md": LESSONS})

    first, second = cloned.out("reindex").splitlines(), cloned.out("reindex").splitlines()
    init = cloned.out("init", str(other)).splitlines()

    assert line == first[-1]
    assert not any(each.startswith("Accepted") for each in second)
    assert "Accepted 2 lessons of this tree (`hybrid trust --revoke` takes it back)" in init
    assert (False, 2) == tuple(cloned.json("reindex")["accepted"][key] for key in ("is_new", "lessons"))
    assert (False, 1) == tuple(cloned.json("init")["accepted"][key] for key in ("is_new", "decisions"))


def test_lessons_that_cannot_be_moved_stay_and_are_told(cloned: Shop) -> None:
    """The tree is accepted all the same; a warning names the file, and the next run takes it over."""
    cloned.out("lessons", "add", "Users table", "Never delete rows", "--quiet")
    file = cloned.root / ".hybrid" / "LESSONS.md"
    file.write_bytes(b"\xff\xfe")

    done = cloned.run("trust", "--quiet")
    (own,) = cloned.home.glob("projects/*/trees/*/LESSONS.md")
    file.write_text(LESSONS)
    then = cloned.out("trust")

    assert (0, b"") == (done.returncode, done.stdout)
    assert f"hybrid: warning: {own} was not taken over: " in done.stderr.decode()
    assert "Moved 1 lesson learned here before into .hybrid/LESSONS.md: L003" in then
    assert not own.exists()
