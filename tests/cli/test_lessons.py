from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.project.trust import accept
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

KEYS = [
    "id",
    "title",
    "content",
    "category",
    "uses",
    "velocity",
    "learned",
    "last",
    "type",
    "source",
    "triggers",
    "superseded",
]

OLDER = """\
## Active Lessons

### [L001] [***--|*----] Close files
- **Uses**: 12 | **Velocity**: 1.5 | **Learned**: 2026-01-02 | **Last**: 2026-02-01 | **Category**: gotcha
> Use a context manager.
"""


@pytest.fixture
def taught(new_project: Shop) -> Shop:
    """A project with three lessons of its own and one for all projects."""
    shop = new_project
    shop.out("lessons", "add", "Git commit format", "Use type(scope): description", "--category", "pattern")
    shop.out("lessons", "add", "Retry payments", "Cap attempts at five", "--trigger", "backoff", "--category", "gotcha")
    shop.out("lessons", "add", "Users table", "Never delete rows", "--type", "constraint")
    shop.out("lessons", "add", "Be brief", "Answer in one sentence", "--system", "--category", "preference")
    return shop


def test_list_shows_a_line_each(taught: Shop) -> None:
    """The project's lessons first, with category and counters; code 1 and a word when there are none."""
    assert """\
L001 Git commit format (pattern, uses 0, velocity 0)
L002 Retry payments (gotcha, uses 0, velocity 0)
L003 Users table (correction, uses 0, velocity 0)
S001 Be brief (preference, uses 0, velocity 0)
""" == taught.out("lessons", "list")
    assert "No lessons found\n" == taught.out("lessons", "list", "--search", "zeppelin", code=1)
    assert ["L003"] == [one["id"] for one in taught.json("lessons", "list", "--category", "correction")["lessons"]]
    assert ["L002"] == [one["id"] for one in taught.json("lessons", "list", "--search", "backoff")["lessons"]]
    assert ["L001"] == [one["id"] for one in taught.json("lessons", "list", "--search", "escript")["lessons"]]


def test_machine_forms_have_every_key(taught: Shop) -> None:
    """What is absent is null; `show` takes an id in any case."""
    (lesson,) = taught.json("lessons", "show", "l002")["lessons"]

    assert set(KEYS) <= set(lesson)
    assert ("L002", "gotcha", ["backoff"], None, None, 0) == (
        lesson["id"],
        lesson["category"],
        lesson["triggers"],
        lesson["superseded"],
        lesson["last"],
        lesson["uses"],
    )
    assert {"lessons": []} == taught.json("lessons", "show", "L099", code=1)
    assert "no id of a lesson" in taught.error("lessons", "show", "commit")


@pytest.mark.parametrize("command", [("lessons", "score"), ("score-local",)], ids=" ".join)
def test_score_shows_stars_relevance_and_content(taught: Shop, command: tuple[str, ...]) -> None:
    """One hit is two lines; none is `No lessons found` with code 1; both names are one command."""
    taught.out("lessons", "cite", "L001")

    shown = taught.out(*command, "How should I format git commits?")

    first, second = shown.splitlines()[:2]
    assert first.startswith("[L001] ⭐ (relevance: ")
    assert first.endswith("/10) Git commit format")
    assert "    -> Use type(scope): description" == second
    assert "No lessons found\n" == taught.out(*command, "zeppelin", "balloons", code=1)
    (hit,) = taught.json(*command, "payments", "--top", "1")["lessons"]
    assert {*KEYS, "relevance", "bm25"} <= set(hit)
    assert 1 <= hit["relevance"] <= 10
    assert [] == taught.json(*command, "payments", "--min-score", "10", code=1)["lessons"]


def test_a_near_duplicate_needs_force(taught: Shop) -> None:
    """It is told with code 1 and nothing is written; `--force` writes it."""
    again = ("lessons", "add", "Git commit format", "use type(scope) description!")

    assert "it resembles L001" in taught.out(*again, code=1)
    assert "L001" == taught.json(*again, code=1)["duplicate_of"]
    assert "L004" == taught.json(*again, "--force")["lesson"]["id"]


def test_cite_counts_known_lessons(taught: Shop) -> None:
    """Of both stores; an unknown one is named with code 2, it may be misspelt, and the others count all the same."""
    mixed = ("lessons", "cite", "l001", "S001", "L042")
    assert {"cited": ["L001", "S001"], "unknown": ["L042"]} == taught.json(*mixed, code=2)
    assert 1 == taught.json("lessons", "show", "S001")["lessons"][0]["uses"]
    assert "there is no active lesson L042; " in taught.error(*mixed)
    assert 2 == taught.json("lessons", "show", "L001")["lessons"][0]["uses"]
    assert "cited L001\n" == taught.out("lessons", "cite", "L001")


def test_supersede_and_delete_take_out_of_use(taught: Shop) -> None:
    """They are listed with `--all` only, and never score."""
    taught.out("lessons", "supersede", "L001", "L002")
    taught.out("lessons", "delete", "L003")

    assert "L001" not in taught.out("lessons", "list")
    assert "[superseded by L002]" in taught.out("lessons", "list", "--all")
    assert "[deleted]" in taught.out("lessons", "list", "--all")
    taught.out("lessons", "score", "git commit format", code=1)
    assert "there is no lesson L077" in taught.error("lessons", "delete", "L077")
    assert "superseded" in taught.error("lessons", "supersede", "L002", "L001")


def test_edit_by_options(taught: Shop) -> None:
    """Only what is named changes; an empty trigger takes them away."""
    edited = taught.json("lessons", "edit", "L002", "--title", "Cap retries", "--trigger", "", "--promotable", "no")

    lesson = edited["lesson"]
    assert ("Cap retries", [], "Cap attempts at five", False) == (
        lesson["title"],
        lesson["triggers"],
        lesson["content"],
        lesson["promotable"],
    )
    assert "Promotable: no" in taught.error("lessons", "promote", "L002")


def test_edit_in_an_editor(taught: Shop, tmp_path: Path) -> None:
    """Without options `$EDITOR` gets the entry; what it changes is written, nothing changed is code 1."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\n"
        "p.write_text(p.read_text().replace('Never delete rows', 'Rows stay\\n> for ever'))\n",
        encoding="utf-8",
    )
    editor = shlex.join([sys.executable, str(script)])

    taught.out("lessons", "edit", "L003", EDITOR=editor, VISUAL="")

    assert "Rows stay\nfor ever" == taught.json("lessons", "show", "L003")["lessons"][0]["content"]
    assert "as it was" in taught.out("lessons", "edit", "L003", EDITOR=editor, VISUAL="", code=1)
    assert "EDITOR" in taught.error("lessons", "edit", "L003", EDITOR="", VISUAL="")


def test_promote_makes_it_one_for_all_projects(taught: Shop) -> None:
    """Here it is superseded by the copy."""
    promoted = taught.json("lessons", "promote", "L001")

    assert "S002" == promoted["lesson"]["id"]
    assert "S002" == taught.json("lessons", "show", "L001")["lessons"][0]["superseded"]
    assert "for all projects already" in taught.error("lessons", "promote", "S001")


def test_decay_is_due_once_a_week(taught: Shop) -> None:
    """Not on the day that the lessons were learned, unless forced."""
    taught.out("lessons", "cite", "L001")

    assert {"decayed": False, "lessons": []} == taught.json("lessons", "decay", code=1)
    assert {"decayed": True, "lessons": ["L001"]} == taught.json("lessons", "decay", "--force")
    assert 0.5 == taught.json("lessons", "show", "L001")["lessons"][0]["velocity"]


def test_stats_of_all_and_of_one(taught: Shop) -> None:
    """How many there are, how often they were given and cited."""
    taught.out("lessons", "cite", "L001")

    stats = taught.json("lessons", "stats")
    assert (4, 4, 1, 0) == tuple(stats[key] for key in ("n_lessons", "n_active", "citations", "injections"))
    assert {"correction": 1, "gotcha": 1, "pattern": 1, "preference": 1} == stats["categories"]
    assert "lessons: 4, 4 active" in taught.out("lessons", "stats")
    assert "cited: 1" in taught.out("lessons", "stats", "L001")


def test_stats_by_week_come_from_the_event_log(taught: Shop) -> None:
    """Lessons given, cited and used in each ISO week, of one lesson or of all; half-written events count nothing."""
    key = taught.json("status")["project"]["key"]
    log = taught.home / "log" / "events.jsonl"
    log.parent.mkdir(exist_ok=True)
    events = [
        {"at": "2026-03-02T10:00:00+00:00", "items": [{"key": "lesson:L001:abc"}, {"key": "src/a.py:1:2:abc"}]},
        {"at": "2026-03-03T10:00:00+00:00", "items": [{"key": "lesson:L002:abc"}], "cited": ["L001"]},
        {"at": "2026-03-10T10:00:00+00:00", "cited": ["L002"]},
        {"at": None, "items": "none", "cited": 3},
    ]
    lines = [json.dumps({"id": str(n), "project": key, "reason": "x", **event}) for n, event in enumerate(events)]
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")

    became = [{"kind": "lesson", "place": name, "how": how} for name, how in (("L001", "opened"), ("L002", "ignored"))]
    turn = {"at": "2026-03-02T11:00:00+00:00", "project": key, "became": became}
    (log.parent / "outcomes.jsonl").write_text(json.dumps(turn) + "\n", encoding="utf-8")

    weeks = taught.json("lessons", "stats", "--weekly")["weeks"]
    assert [("2026-W11", 0, 1, 0), ("2026-W10", 2, 1, 1)] == [tuple(week.values()) for week in weeks]
    [week] = taught.json("lessons", "stats", "L001", "--weekly")["weeks"]
    assert {"week": "2026-W10", "given": 1, "cited": 1, "used": 1} == week
    assert "in 1 turn cited or followed by work" in taught.out("lessons", "stats")


def test_validate_names_what_is_not_there(own_shop: Shop) -> None:
    """Paths are looked for in the tree, symbols in the index; it is advice, so the code is 0."""
    rule = "See `src/payments/client.py`, `payments/client.py`, lib/gone.py, `src/nowhere/`, http://a.b/c.html, a/b"
    own_shop.out("lessons", "add", "Where clients are", f"{rule} and `PaymentsGone` or `no_such_name()`")

    found = own_shop.json("lessons", "validate")["missing"]

    named = [
        ("path", "src/nowhere/"),
        ("path", "lib/gone.py"),
        ("symbol", "PaymentsGone"),
        ("symbol", "no_such_name()"),
    ]
    assert named == [(one["kind"], one["name"]) for one in found]
    assert "L001 names lib/gone.py, a path that is not there" in own_shop.out("lessons", "validate")


def test_import_reports_and_a_dry_run_writes_nothing(taught: Shop, tmp_path: Path) -> None:
    """Imported with old and new id, duplicates, what is malformed with its line."""
    old = tmp_path / "other" / ".claude-recall" / "LESSONS.md"
    old.parent.mkdir(parents=True)
    old.write_text(
        f"{OLDER}\n### [L002] Git commit format\n> Use type(scope): description\n\n### [L3] x\n", encoding="utf-8"
    )

    dry = taught.json("lessons", "import", str(old.parent), "--dry-run")
    assert 4 == len(taught.json("lessons", "list")["lessons"])
    done = taught.json("lessons", "import", str(tmp_path / "other"))

    assert {**dry, "dry_run": False} == done
    assert [{"from": "L001", "id": "L004", "title": "Close files"}] == done["imported"]
    assert [{"from": "L002", "duplicate_of": "L001"}] == done["duplicates"]
    assert [10] == [one["line"] for one in done["malformed"]]
    assert 12 == taught.json("lessons", "show", "L004")["lessons"][0]["uses"]
    assert "0 imported, 2 duplicates, 1 malformed" in taught.out("lessons", "import", str(old))
    assert "holds none" in taught.error("lessons", "import", str(tmp_path))


def test_outside_of_a_project_only_system_lessons_are_there(taught: Shop, tmp_path: Path) -> None:
    """Writing one of a project is an error that says what to do."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()

    assert "S001 Be brief (preference, uses 0, velocity 0)\n" == taught.out("lessons", "list", cwd=nowhere)
    assert "--system" in taught.error("lessons", "add", "T", "c", cwd=nowhere)
    taught.out("lessons", "add", "Other rule", "for everyone", "--system", cwd=nowhere)


def test_the_file_of_another_tool_is_read_in_place_and_can_be_taken_over(new_project: Shop) -> None:
    """Counted in its own form until `import` makes it ours: ids, counters and what was counted meanwhile stay."""
    theirs = new_project.root / ".claude-recall" / "LESSONS.md"
    theirs.parent.mkdir()
    theirs.write_text(OLDER, encoding="utf-8")
    project = open_workspace(new_project.root, environ={"HYBRID_HOME": str(new_project.home)}).require_project()
    accept(project, new_project.home)
    new_project.out("lessons", "cite", "L001")
    before = theirs.read_bytes()

    assert b"[***--|****-]" in before
    new_project.json("lessons", "import", ".claude-recall", "--dry-run")
    assert not (new_project.root / ".hybrid").exists()
    assert ["L001"] == [one["id"] for one in new_project.json("lessons", "import", ".claude-recall")["imported"]]
    (lesson,) = new_project.json("lessons", "show", "L001")["lessons"]
    assert (13, 2.5, 1) == (lesson["uses"], lesson["velocity"], lesson["citations"])
    assert before == theirs.read_bytes()
    assert "### [L001] Close files\n" in (new_project.root / ".hybrid" / "LESSONS.md").read_text(encoding="utf-8")
    assert "lessons.stats.json" in (new_project.root / ".hybrid" / ".gitignore").read_text(encoding="utf-8")


def test_what_somebody_wrote_by_hand_is_printed_clean(taught: Shop) -> None:
    """No command prints terminal escapes, other control characters or a secret of a file, in words or as JSON."""
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    file = next(taught.root.rglob("LESSONS.md"), None) or next(taught.home.glob("projects/*/trees/*/LESSONS.md"))
    entry = f"### [L009] Red \x1b[31mzebra\x07 {token}\n- **Category**: od\x08d | **Triggers**: \x1b[1mz\n> a\u202eb {token}\n"
    file.write_text(f"{file.read_text(encoding='utf-8')}\n{entry}", encoding="utf-8")
    commands = (
        ("list",),
        ("list", "--verbose"),
        ("show", "L009"),
        ("score", "red"),
        ("stats", "L009"),
        ("delete", "L009"),
    )
    printed = [taught.out("lessons", *command, *form) for command in commands for form in ((), ("--json",))]

    assert all("Red zebra" in text for text in printed)
    assert all(not set(text) & set("\x1b\x07\x08\u202e") and token not in text for text in printed)
    assert all("\\u001b" not in text and "\\b" not in text for text in printed)


def test_what_a_turn_taught_is_shown(taught: Shop) -> None:
    """`log` and `explain` name the lessons that were cited and written down; `stats --weekly` counts them."""
    event = {
        "hook_event_name": "Stop",
        "session_id": "s1",
        "cwd": str(taught.root),
        "last_assistant_message": (
            "By [L001] and [S001].\nAI LESSON: Ports in tests - Never bind a fixed port in a test"
        ),
    }
    stdin = json.dumps(event).encode()
    taught.out("hook", "run", "--client", "claude", stdin=stdin, HYBRID_DAEMON_ENABLED="false")

    assert "learned (Stop)" in taught.out("log")
    assert "cited L001, S001; recorded L004" in taught.out("log")
    explained = taught.out("explain")
    assert "At the end of a turn lessons were cited or written down." in explained
    assert "  cited      L001, S001\n  recorded   L004\n" in explained
    assert [2] == [week["cited"] for week in taught.json("lessons", "stats", "--weekly")["weeks"]]


def test_file_without_lessons_is_told_as_such(own_shop: Shop, tmp_path: Path) -> None:
    """`lessons import` reported zeros of everything."""
    file = tmp_path / "README.md"
    file.write_text("# Notes\n\nNothing here.\n")

    told = own_shop.out("lessons", "import", str(file), code=1)

    assert f"{file} holds no lesson; one begins with a heading `### [L001] Title`\n" == told


def test_citations_by_hand_count_by_week(own_shop: Shop) -> None:
    """They were left out, and prove neither health nor an answer to a prompt."""
    own_shop.out("lessons", "add", "Cap retries", "Cap retries at five.")
    own_shop.out("lessons", "cite", "L001")

    (week,) = own_shop.json("lessons", "stats", "--weekly")["weeks"]

    assert (0, 1) == (week["given"], week["cited"])
    assert "cited (lessons cite)" in own_shop.out("log")
    assert own_shop.json("status")["health"]["last_success"] is None
    assert "given 0 times, cited 1 time\n" in own_shop.out("lessons", "stats")


def test_names_of_places_and_members_are_looked_for(own_shop: Shop) -> None:
    """`validate` passed over paths with a line, members of a class, and calls of what is a word only (#17)."""
    expected = {
        "`src/payments/gone.py:12`": "path",
        "gone.py:12": "path",
        "`client.py:9999`": "line",
        "src/payments/client.py:3-9999": "line",
        "`PaymentClient.nope`": "symbol",
        "`PaymentGone.retry`": "symbol",
        "`attempts_of()`": "symbol",
        "`client()`": "symbol",
    }
    own_shop.out("lessons", "add", "A rule", f"See {', '.join(expected)}.")

    missing = own_shop.json("lessons", "validate")["missing"]

    assert {name.strip("`"): kind for name, kind in expected.items()} == {one["name"]: one["kind"] for one in missing}


def test_names_that_are_there_are_not_told_as_missing(own_shop: Shop) -> None:
    """Places, members and calls that the code has; a port and a file's name are no members."""
    names = "`client.py:2`, src/payments/client.py:1-3, `PaymentClient.retry`,"
    names += " `PaymentClient.charge()`, `wait_before_retry()`"
    own_shop.out("lessons", "add", "A rule", f"See {names}, localhost:8080, example.com:443, `Gemfile.lock`.")

    assert [] == own_shop.json("lessons", "validate")["missing"]
