"""`hybrid eval records`: prompts that a record fits, prompts that none fits, and what each of them got."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.errors import HybridError
from hybrid.cli.main import run
from hybrid.evaluation.measures import QrelsError
from hybrid.knowledge.stores import RecordStores, names_of
from hybrid.workspace import open_workspace
from hybrid_lab.records.report import RecordAsked, RecordPrompt, RecordsReport, read_record_prompts
from hybrid_lab.records.setup import GivenRecord, copy_files, make_project, read_records, write_records
from tests.unit.evaluation.conftest import write_lines

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.workspace import Workspace

RECORDS: list[dict[str, Any]] = [
    {"kind": "lesson", "id": "L001", "name": "Anchors rust", "text": "Oil the anchor chain every spring.", "triggers": ["chain"]},
    {"kind": "lesson", "id": "S002", "name": "Knots", "text": "A bowline does not slip under load.", "triggers": []},
    {"kind": "pattern", "id": "pat-000001-aaaaaaaa", "name": "Reef early", "text": "On open water\nThe wind rises fast\nReef the mainsail before the gust"},
    {"kind": "anti-pattern", "id": "anti-000001-bbbbbbbb", "name": "Guessing depth", "text": "The keel touches the ground\nThe hull leaks\nRead the echo sounder"},
    {"kind": "decision", "id": "dec-cccccccc", "name": "Diesel for the harbour boat", "text": "Batteries do not last a shift\nelectric\nsteam"},
    {"kind": "handoff", "id": "session-20260110-080000-dddddddd", "name": "Rudder half done", "text": "The rudder hangs, its bolts are missing."},
]  # fmt: skip
PROMPTS: list[dict[str, Any]] = [
    {"id": "a", "prompt": "oil the anchor chain, it squeaks since spring", "gold": ["L001"], "kind": "lesson"},
    {"id": "b", "prompt": "why did we choose diesel for the harbour boat?", "gold": ["dec-cccccccc"], "kind": "decision"},
    {"id": "c", "prompt": "which bread has the thickest crust of all?", "gold": [], "kind": "none"},
    {"id": "d", "prompt": "what became of the record nobody wrote down?", "gold": ["L999"], "kind": "lesson"},
    {"id": "e", "prompt": "yes, please go on", "gold": ["L001"], "kind": "lesson"},
]  # fmt: skip
OPEN = ["--set", "model.name=hashing-256", "--set", "hooks.gate_threshold=0.3"]


@pytest.fixture
def records_file(tmp_path: Path) -> Path:
    """A record of each kind, and a lesson for all projects."""
    return write_lines(tmp_path / "records.jsonl", RECORDS)


@pytest.fixture
def prompts_file(tmp_path: Path) -> Path:
    """Prompts that a record fits, and others."""
    return write_lines(tmp_path / "prompts.jsonl", PROMPTS)


def evaluate(*arguments: object) -> int:
    """Run `hybrid eval records` in this process."""
    return run(["eval", "records", *map(str, arguments), *OPEN], started_s=0.0)


def project(tmp_path: Path) -> Workspace:
    """An empty project with a home of its own."""
    return make_project(tmp_path / "boats", {"HYBRID_HOME": str(tmp_path / "home")})


def asked(of: str, *given: str, gold: tuple[str, ...] = ("L001",), kind: str = "lesson", **changes: Any) -> RecordAsked:
    """A prompt that got these records."""
    values: dict[str, Any] = {"reason": "injected", "detail": "", "margins": {}, "is_open": bool(given), "rank": None}
    values |= {"relevance": None, "cosine": None, "missed": ""}
    return RecordAsked(prompt=RecordPrompt(of, "text", gold, kind), given=given, **{**values, **changes})


def test_records_are_written_as_users_have_them(tmp_path: Path, records_file: Path) -> None:
    """Every record may be given out afterwards under its own id, decisions and handoffs as the project's own."""
    workspace = project(tmp_path)
    write_records(workspace, read_records(records_file))
    stores = RecordStores({})

    lore = {record.id: record for record in stores.shelf(workspace).records(names_of(workspace))}

    assert ["L001", "S002"] == [record.id for record in stores.lessons(workspace).records]
    assert {"chain"} == set(stores.lessons(workspace).active["L001"].triggers)
    assert {one["id"] for one in RECORDS[2:]} == set(lore)
    assert "On open water\nThe wind rises fast\nReef the mainsail before the gust" in lore["pat-000001-aaaaaaaa"].text
    assert ("Diesel for the harbour boat -- Batteries do not last a shift",) == lore["dec-cccccccc"].lines
    assert all(record.is_attributed for record in lore.values())


def test_an_id_that_is_taken_is_an_error(tmp_path: Path) -> None:
    """A lesson under another id than the judged one would never be found."""
    workspace = project(tmp_path)
    lesson = GivenRecord("lesson", "L001", "Knots", "A bowline does not slip.")
    write_records(workspace, [lesson])

    with pytest.raises(QrelsError, match="L001"):
        write_records(workspace, [lesson])


@pytest.mark.parametrize(
    ("change", "message"),
    [({"kind": "rumour"}, "rumour"), ({"kind": "lesson", "id": "first"}, "first"), ({"name": None, "id": None}, "")],
    ids=["kind", "id", "twice"],
)
def test_a_record_of_another_form_is_an_error(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """The message names file and line."""
    lines = [RECORDS[2] | change, RECORDS[2] | change]

    with pytest.raises(QrelsError, match=rf"records\.jsonl.*{message}"):
        read_records(write_lines(tmp_path / "records.jsonl", lines))


def test_gold_is_a_list(tmp_path: Path) -> None:
    """A single id in place of a list would be read letter by letter."""
    with pytest.raises(QrelsError, match="gold is no list"):
        read_record_prompts(write_lines(tmp_path / "p.jsonl", [PROMPTS[0] | {"gold": "L001"}]))


def test_files_are_copied_into_the_project(tmp_path: Path) -> None:
    """Lessons and lore of a user are read where a project has them; what is not there is an error."""
    (tmp_path / "LESSONS.md").write_text("## Active Lessons\n\n### [L007] Knots\n> A bowline does not slip.\n")
    decision = {"id": "dec-1", "decision": "Diesel", "rationale": "Batteries are weak", "tags": ["boats"]}
    (tmp_path / "lore" / "journal" / "data").mkdir(parents=True)
    write_lines(tmp_path / "lore" / "journal" / "data" / "decisions.jsonl", [decision])
    workspace = project(tmp_path)
    copy_files(workspace, tmp_path / "LESSONS.md", tmp_path / "lore")
    stores = RecordStores({})

    assert ["L007"] == [record.id for record in stores.lessons(workspace).records]
    assert ["dec-1"] == [record.id for record in stores.lore(workspace)]
    with pytest.raises(QrelsError, match="no file"):
        copy_files(workspace, tmp_path / "none.md", None)
    with pytest.raises(QrelsError, match="no folder"):
        copy_files(workspace, None, tmp_path / "LESSONS.md")


def test_the_figures_of_a_report() -> None:
    """Of the wanted counts a fitting record, of the others anything; reciprocal ranks leave the gate aside."""
    report = RecordsReport(
        (
            asked("a", "L002", "L001", rank=2, is_open=True),
            asked("b", "L002", rank=4, is_open=True),
            asked("c", gold=("dec-1",), kind="decision", rank=1),
            asked("d", gold=(), kind="none"),
        ),
        {"lesson": 2},
    )
    rows = {(row.is_wanted, row.kind): row for row in report.rows()}

    assert [(True, "all"), (True, "lesson"), (True, "decision"), (False, "all"), (False, "none")] == list(rows)
    lesson = rows[True, "lesson"]
    assert (2, 0.5, 1.0, 0.0, 0.375) == (lesson.n, lesson.given, lesson.opened, lesson.first, lesson.reciprocal)
    assert lesson.low <= 0.5 <= lesson.high
    assert (0.0, 0.0, 1.0) == (
        rows[True, "decision"].given,
        rows[True, "decision"].opened,
        rows[True, "decision"].first,
    )
    assert 0.0 == rows[False, "all"].given
    assert report.as_json() == json.loads(json.dumps(report.as_json(), allow_nan=False))
    assert rows[False, "none"].as_json()["reciprocal"] is None


def test_the_command_asks_every_prompt(
    records_file: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fitting record is given and ranked first; what is missed says why; a prompt of another topic gets nothing."""
    code = evaluate(prompts_file, "--records", records_file, "--explain", "--json")
    form = json.loads(capsys.readouterr().out)
    found = {one["id"]: one for one in form["asked"]}

    assert (0, []) == (code, form["problems"])
    assert {"lesson": 2, "pattern": 1, "anti-pattern": 1, "decision": 1, "handoff": 1} == form["records"]
    assert ("L001", None, 1) == (found["a"]["given"][0], found["a"]["missed"], found["a"]["rank"])
    assert "dec-cccccccc" in found["b"]["given"]
    assert [] == found["c"]["given"]
    assert ("unknown", "rule") == (found["d"]["missed"], found["e"]["missed"])
    assert 0.5 == next(row["given"] for row in form["rows"] if row["is_wanted"] and row["kind"] == "all")


def test_the_command_prints_what_went_wrong(
    records_file: Path, prompts_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A behind-the-gate record is told with its rank; a closed gate gives nothing to anyone."""
    args = ["--set", "hooks.gate_threshold=0.99"]
    code = run(
        ["eval", "records", str(prompts_file), "--records", str(records_file), "--explain", *OPEN, *args], started_s=0.0
    )
    shown = capsys.readouterr().out

    assert 0 == code
    assert "a lesson: missed by gate" in shown
    assert "e lesson: missed by rule (" in shown
    assert "wanted L001 (rank 1, relevance 1.00" in shown
    assert "got something\n" not in shown


def test_a_handoff_that_nobody_asked_for_does_not_count(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest handoff is offered to every first prompt of a session; here only those count that were searched."""
    lessons = tmp_path / "LESSONS.md"
    lessons.write_text("## Active Lessons\n\n### [L001] Anchors rust\n> Oil the anchor chain every spring.\n")
    sessions = tmp_path / "lore" / "transfer" / "data" / "sessions"
    sessions.mkdir(parents=True)
    session = {"id": "session-1", "handoff": {"message": "Rudder half done"}, "ended_at": "2999-01-01T00:00:00Z"}
    session |= {"context": {"project": "evaluated"}}
    (sessions / "session-1.json").write_text(json.dumps(session))
    prompts = write_lines(tmp_path / "p.jsonl", PROMPTS[:1])
    given: list[list[str]] = []
    for days in ([], ["--set", "lore.handoff_days=14"]):
        evaluate(prompts, "--lessons", lessons, "--lore", tmp_path / "lore", "--json", "--explain", *days)
        given.append(json.loads(capsys.readouterr().out)["asked"][0]["given"])

    assert [["L001"], ["L001", "session-1"]] == given


def test_records_must_be_named_once(records_file: Path, prompts_file: Path, tmp_path: Path) -> None:
    """Either files of users or judged records; a folder that is in use would bring records of its own."""

    def error(*arguments: object) -> str:
        from argparse import ArgumentParser

        from hybrid_lab.commands import records as evaluate_records

        parser = ArgumentParser()
        evaluate_records.configure(parser)
        with pytest.raises(HybridError) as raised:
            evaluate_records.run(parser.parse_args([str(prompts_file), *map(str, arguments)]))
        return str(raised.value)

    assert "--lessons and --lore, or from --records" in error()
    assert "--lessons and --lore, or from --records" in error("--records", records_file, "--lore", tmp_path)
    assert "no name of a project" in error("--records", records_file, "--name", "../up")
    assert "not empty" in error("--records", records_file, "--home", tmp_path)


def test_through_the_hook_the_same_is_given(
    tmp_path: Path, records_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hook process and its service give what the engine gives here, and nothing of them is left."""
    prompts = write_lines(tmp_path / "p.jsonl", [PROMPTS[0], PROMPTS[2]])
    code = evaluate(
        prompts, "--records", records_file, "--through", "hook", "--json", "--explain", "--home", tmp_path / "kept"
    )
    form = json.loads(capsys.readouterr().out)

    assert (0, []) == (code, form["differs"])
    assert "L001" in form["asked"][0]["given"]
    assert [] == form["asked"][1]["given"]
    workspace = open_workspace(
        tmp_path / "kept" / "projects" / "evaluated", environ={"HYBRID_HOME": str(tmp_path / "kept" / "home")}
    )
    assert not (workspace.home / "run" / "daemon").exists()


def _folder(top: Path, name: str) -> Path:
    """A set of one project: a lesson and prompts of both halves."""
    folder = top / name
    folder.mkdir(parents=True)
    (folder / "LESSONS.md").write_text(
        "## Active Lessons\n\n### [L001] Anchors rust\n> Oil the anchor chain every spring.\n"
    )
    lines = [
        {"id": f"{name}/1", "set": name, "prompt": PROMPTS[0]["prompt"], "gold": ["L001"], "kind": "fits", "how": "words", "half": "dev"},
        {"id": f"{name}/2", "set": name, "prompt": PROMPTS[2]["prompt"], "gold": [], "kind": "none_other", "how": "none", "half": "dev"},
        {"id": f"{name}/3", "set": name, "prompt": PROMPTS[2]["prompt"], "gold": [], "kind": "none_talk", "how": "none", "half": "kept"},
    ]  # fmt: skip
    write_lines(folder / "prompts.jsonl", lines)
    return folder


def test_a_folder_holds_prompts_and_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of one project or of several; what lies beside them is asked of each, and a half is asked alone."""
    (first, _) = (_folder(tmp_path / "sets", name) for name in ("boats", "ships"))
    other = {"id": "o", "set": "any", "prompt": PROMPTS[2]["prompt"], "gold": [], "kind": "none_other", "half": "dev"}
    write_lines(tmp_path / "sets" / "other_tasks.jsonl", [other])
    forms: list[dict[str, Any]] = []
    for args in ([first], [tmp_path / "sets"], [tmp_path / "sets", "--half", "dev"]):
        assert 0 == evaluate(*args, "--json", "--explain")
        forms.append(json.loads(capsys.readouterr().out))
    one, both, half = ({row["kind"]: row["n"] for row in form["rows"]} for form in forms)

    assert {"all": 2, "words": 1, "none_other": 1, "none_talk": 1} == one
    assert {"all": 6, "words": 2, "none_other": 4, "none_talk": 2} == both
    assert {"all": 4, "words": 2, "none_other": 4} == half
    assert ["boats", "ships"] == list(forms[1]["projects"])
    assert {"o@boats", "o@ships"} <= {asked["id"] for asked in forms[1]["asked"]}
    assert 2 == evaluate(tmp_path / "sets", "--half", "none")
    assert "no prompt is of the half" in capsys.readouterr().err
    assert 2 == evaluate(tmp_path, "--lessons", first / "LESSONS.md")
    assert "name no other records" in capsys.readouterr().err
    assert 2 == evaluate(tmp_path / "user")


def test_a_prompt_that_was_judged_by_lessons_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What else it gets does not count, neither for it nor against it."""
    records = write_lines(
        tmp_path / "r.jsonl",
        [
            RECORDS[0],
            {"kind": "pattern", "id": "pat-000001-aaaaaaaa", "name": "Oil the anchor chain", "text": "a\nb\nc"},
        ],
    )
    prompt = {"id": "a", "prompt": PROMPTS[0]["prompt"], "gold": ["L001"], "kind": "fits"}
    given: dict[str, list[str]] = {}
    for name in ("", "lessons", "lore"):
        prompts = write_lines(tmp_path / "p.jsonl", [prompt | {"set": name}])
        evaluate(prompts, "--records", records, "--json", "--explain")
        given[name] = sorted(json.loads(capsys.readouterr().out)["asked"][0]["given"])

    assert {"": ["L001", "pat-000001-aaaaaaaa"], "lessons": ["L001"], "lore": ["pat-000001-aaaaaaaa"]} == given


def test_the_curve_tells_both_shares_at_each_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For programs and for people; at a fixed threshold the rates change nothing."""
    folder = _folder(tmp_path, "boats")
    evaluate(folder, "--curve", "--json")
    points = json.loads(capsys.readouterr().out)["curve"]
    evaluate(folder, "--curve")
    shown = capsys.readouterr().out

    assert sorted(point["rate"] for point in points) == [point["rate"] for point in points]
    assert {"rate", "fits", "precision", "all", "none_other", "none_talk"} == set(points[0])
    assert {(1.0, 1.0, 0.0)} == {(point["fits"], point["precision"], point["all"]) for point in points}
    assert "as more may pass" in shown


def test_recall_and_precision_count_records() -> None:
    """Of all fitting records those that were given, of all that were given those that fit."""
    rows = RecordsReport((asked("a", "L001", "L003", gold=("L001", "L002")), asked("b")), {"lesson": 3}).rows()

    assert (1 / 3, 1 / 2) == (rows[0].recall, rows[0].precision)
    assert None is RecordsReport((asked("b"),), {}).rows()[0].as_json()["precision"]
