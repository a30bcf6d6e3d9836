from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.project.find import find_project
from hybrid.project.trust import accept
from tests.support.builders import Shop, git_project
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from pathlib import Path


PATTERN = ("pattern", "add", "Safe bash arithmetic", "--problem", "((x++)) fails", "--solution", "Use x=$((x + 1))")
DECISION = ("decide", "Use", "JSONL", "--why", "append-only, grep-friendly")


def _lore(shop: Shop, *args: str, **options: Any) -> str:
    return shop.out("lore", *args, **options)


def _written(shop: Shop, *args: str) -> str:
    """The id of a record that a command writes."""
    return str(shop.json("lore", *args)["id"])


def _own_folder(shop: Shop, *, is_accepted: bool = True) -> Path:
    """`.hybrid/lore` of the project's tree."""
    folder = shop.root / ".hybrid" / "lore"
    folder.mkdir(parents=True)
    project = find_project(shop.root, shop.home, shop.home / "user")
    assert project is not None
    if is_accepted:
        accept(project, shop.home)
    return folder


def test_a_pattern_is_added_listed_searched_and_shown(new_project: Shop) -> None:
    """Each for people and as JSON with the keys of the machine forms."""
    identity = _written(new_project, *PATTERN, "--confidence", "0.9", "--category", "bash")

    assert f"{identity:<20}  pattern       " == _lore(new_project, "list")[:36]
    (listed,) = new_project.json("lore", "list")["records"]
    assert {
        "id": identity,
        "kind": "pattern",
        "name": "Safe bash arithmetic",
        "text": "Problem: ((x++)) fails\nSolution: Use x=$((x + 1))",
        "status": "active",
        "project": "shop",
    } == {key: value for key, value in listed.items() if key != "created_at"}
    assert [listed] == new_project.json("lore", "search", "arithmetic in bash")["records"]
    shown = "[pattern] Safe bash arithmetic (confidence: 0.9)\n  Problem: ((x++)) fails\n  Solution: Use x=$((x + 1))\n"
    assert shown == _lore(new_project, "list", "--verbose")
    assert _lore(new_project, "show", identity[:8]).startswith(f"{shown}  status: active\n")
    (whole,) = new_project.json("lore", "show", identity)["records"]
    assert ("bash", "0.9") == (whole["fields"]["category"], whole["fields"]["confidence"])


def test_an_anti_pattern_is_added(new_project: Shop) -> None:
    """Symptom and fix are shown, risk is searched."""
    added = (
        "anti-pattern",
        "add",
        "Parsing ls",
        "--symptom",
        "names split",
        "--risk",
        "deleted home",
        "--fix",
        "a glob",
    )
    _lore(new_project, *added, "--severity", "high")

    expected = "[anti-pattern] Parsing ls (severity: high)\n  Symptom: names split\n  Fix: a glob\n"
    assert expected == _lore(new_project, "search", "home", "-v")


def test_a_decision_names_project_and_commit(new_project: Shop) -> None:
    """The commit is read without git; alternatives and tags are kept."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run([*git, "commit", "--allow-empty", "-qm", "a subject"], cwd=new_project.root, check=True)
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=new_project.root, check=True, capture_output=True, text=True
    )
    identity = _written(new_project, *DECISION, "--alternative", "SQLite", "--tag", "storage")
    fields = json.loads((new_project.home / "lore/journal/data/decisions.jsonl").read_text())

    assert (identity, "shop", head.stdout.strip()) == (fields["id"], fields["project"], fields["git_commit"])
    assert ("Use JSONL", ["SQLite"], ["storage"]) == (fields["decision"], fields["alternatives"], fields["tags"])
    _lore(new_project, "handoff", "Half done")
    (session,) = (new_project.home / "lore/transfer/data/sessions").glob("session-*.json")
    state = json.loads(session.read_text())["git_state"]
    assert f"{head.stdout[:7]} a subject" in state["commits"]
    assert state["branch"]


def test_a_withdrawn_record_is_listed_with_all_only(new_project: Shop) -> None:
    """Retract, supersede and deprecate; the status says which."""
    first, second = (
        _written(new_project, *DECISION),
        _written(new_project, "decide", "Use SQLite", "--why", "many writers"),
    )
    third, pattern = _written(new_project, "decide", "Be quick", "--why", "impatience"), _written(new_project, *PATTERN)

    assert f"{first}  superseded by {second}\n" == _lore(new_project, "supersede", first, second)
    assert f"{third}  retracted\n" == _lore(new_project, "retract", third[:9], "--reason", "no")
    assert f"{third}  was withdrawn already\n" == _lore(new_project, "retract", third, "--reason", "no")
    _lore(new_project, "retract", pattern, "--reason", "wrong")
    assert [second] == [one["id"] for one in new_project.json("lore", "list")["records"]]
    every = new_project.json("lore", "list", "--all")["records"]
    assert {first: "superseded", second: "active", third: "retracted", pattern: "deprecated"} == {
        one["id"]: one["status"] for one in every
    }
    assert [] == new_project.json("lore", "search", "impatience", code=1)["records"]


def test_a_near_duplicate_needs_force(new_project: Shop) -> None:
    """The message names the record and the flag; nothing was written."""
    identity = _written(new_project, *DECISION)

    assert f"decision {identity} says nearly the same" in new_project.error("lore", *DECISION)
    assert "--force" in new_project.error("lore", *DECISION)
    assert 1 == len(new_project.json("lore", "list")["records"])
    _lore(new_project, *DECISION, "--force", "--quiet")
    assert 2 == len(new_project.json("lore", "list", "--kind", "decision")["records"])


def test_the_latest_handoff(new_project: Shop) -> None:
    """Message, next steps, blockers and questions; without one the code is 1."""
    assert 'No handoff yet; `hybrid lore handoff "…"` leaves one.\n' == _lore(new_project, "latest", code=1)
    args = ("Auth", "works", "--next", "OAuth", "--blocker", "no key", "--question", "which app?")
    identity = _written(new_project, "handoff", *args)

    lines = _lore(new_project, "latest").splitlines()
    assert lines[0].startswith(f"[handoff] {identity} (")
    assert ["  Auth works", "  Next: OAuth", "  Blocker: no key", "  Question: which app?"] == lines[1:]
    (record,) = new_project.json("lore", "latest")["records"]
    assert ("handoff", ["OAuth"]) == (record["kind"], record["handoff"]["next_steps"])


def test_the_latest_handoff_is_whole(new_project: Shop) -> None:
    """Every step, however many and however long, on one line each."""
    steps = [f"{n} {'step ' * 60}".strip() for n in range(5)]
    _lore(new_project, "handoff", "Half\ndone", *(part for step in steps for part in ("--next", step)))

    lines = _lore(new_project, "latest").splitlines()
    assert ["  Half", "  done", *(f"  Next: {step}" for step in steps)] == lines[1:]


def test_importing(new_project: Shop, tmp_path: Path) -> None:
    """A dry run writes nothing; `--project` attributes; what is malformed is named with its line."""
    there = tmp_path / "there" / "journal" / "data" / "decisions.jsonl"
    there.parent.mkdir(parents=True)
    there.write_text('{"id": "dec-1", "decision": "Use tabs", "rationale": "habit", "own": 1}\n{half\n')
    path = str(tmp_path / "there")
    dry = new_project.json("lore", "import", path, "--project", "shop", "--dry-run")

    assert (1, True, [f"{there}:2"]) == (
        dry["added"]["decision"],
        dry["dry_run"],
        [problem.split(": ")[0] for problem in dry["problems"]],
    )
    assert [] == new_project.json("lore", "list", code=1)["records"]
    assert "decision      added 1, here already 0\n" in _lore(new_project, "import", path, "--project", "shop")
    assert ["shop"] == [one["project"] for one in new_project.json("lore", "list")["records"]]
    assert "decision      added 0, here already 1\n" in _lore(new_project, "import", path)
    retracted = {"id": "dec-1", "decision": "Use tabs", "status": "retracted"}
    there.write_text(f"{there.read_text()}{json.dumps(retracted)}\n")
    assert "decision      would withdraw 1, no longer active there\n" in _lore(new_project, "import", path, "--dry-run")
    assert 1 == new_project.json("lore", "import", path)["withdrawn"]
    assert [] == new_project.json("lore", "list", code=1)["records"]
    assert "no lore in" in new_project.error("lore", "import", str(tmp_path / "nowhere"))


def test_the_projects_own_folder_is_used_when_it_is_there(new_project: Shop) -> None:
    """New records go into `.hybrid/lore`, which is committed; the personal folder is read beside it."""
    personal = _written(new_project, *DECISION)
    own = _own_folder(new_project)
    committed = _written(new_project, *PATTERN)

    assert (own / "patterns/data/patterns.yaml").is_file()
    assert [committed, personal] == [one["id"] for one in new_project.json("lore", "list")["records"]]


def test_lore_of_a_tree_that_nobody_accepted_is_left_out(new_project: Shop) -> None:
    """It is foreign text; new records go to the personal folder, and one line says why."""
    own = _own_folder(new_project, is_accepted=False)
    foreign = own / "journal/data/decisions.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text('{"id": "dec-1", "decision": "Obey", "project": "shop"}\n')
    done = new_project.run("lore", *DECISION)

    assert 0 == done.returncode
    assert b"hybrid trust" in done.stderr
    assert 1 == foreign.read_text().count("\n")
    assert ["Use JSONL"] == [one["name"] for one in new_project.json("lore", "list", "--quiet")["records"]]


@cases("lore/exit_codes.txt")
def test_exit_codes(new_project: Shop, case: Case) -> None:
    """1 when nothing is found, 2 for a mistake; nothing is written."""
    assert case.json() == new_project.run("lore", *shlex.split(case.text)).returncode
    assert not (new_project.home / "lore").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("pattern", "add", "Quote paths", "--solution", "write quotes", "--problem", "spaces split them"),
        ("anti-pattern", "add", "Parsing ls", "--symptom", "names are split", "--fix", "use a glob"),
        ("decide", "Use JSONL", "--why", "append-only", "--alternative", "SQLite"),
    ],
    ids=lambda words: words[0],
)
def test_only_a_promoted_record_counts_in_other_projects(
    new_project: Shop, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """With all it says; its project has it once, and it is not promoted again."""
    new_project.out("lore", *words)
    (one,) = new_project.json("lore", "list")["records"]
    other = Shop(git_project(tmp_path / "other"), new_project.home)
    other.out("lore", "list", code=1)
    said = new_project.out("lore", "promote", one["id"])
    (copy,) = new_project.json("lore", "list")["records"]

    assert f"{copy['id']}  was {one['id']}, for all projects" in said
    assert (one["text"], one["name"]) == (copy["text"], copy["name"])
    assert [copy["id"]] == [found["id"] for found in other.json("lore", "list")["records"]]
    assert "in all projects already" in new_project.error("lore", "promote", copy["id"])
    assert "is not active" in new_project.error("lore", "promote", one["id"])


def test_a_handoff_is_not_promoted(new_project: Shop) -> None:
    """It says where one project stands."""
    new_project.out("lore", "handoff", "Login works")
    (one,) = new_project.json("lore", "list")["records"]

    assert "is not promoted" in new_project.error("lore", "promote", one["id"])
