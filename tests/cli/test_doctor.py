from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid import __version__
from hybrid.operations.doctor import Ran, build_findings, judge
from hybrid.project.trust import accept
from hybrid.workspace import open_workspace
from tests.support.builders import command_environment, python_process, write_files

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Generator

    from hybrid.project.find import Project
    from tests.support.builders import Shop

ANSWER = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}}\n'
REPLACED = {"type": "command", "command": "node /opt/claude-mem/worker-service.cjs hook"}


def _findings(shop: Shop, *args: str, code: int = 0, **environ: str) -> list[tuple[str, str, str, str]]:
    """(level, area, what, remedy) of each finding, without a trial run unless asked for."""
    found = shop.json("doctor", "--no-trial", *args, code=code, **environ)["findings"]
    return [(each["level"], each["area"], each["what"], each["remedy"] or "") for each in found]


def _of(area: str, findings: list[tuple[str, str, str, str]]) -> list[tuple[str, str, str]]:
    return [(level, what, remedy) for level, where, what, remedy in findings if where == area]


def _files(shop: Shop) -> dict[str, bytes]:
    """Everything in the user's folders; SQLite leaves its working files beside a database that was read."""
    files = [path for path in shop.home.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {str(path.relative_to(shop.home)): path.read_bytes() for path in files}


def _project(shop: Shop) -> Project:
    workspace = open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home)})
    return workspace.require_project()


def _settings(shop: Shop) -> Path:
    """The user's settings of Claude Code, with the test's home folder."""
    return shop.home / "user" / ".claude" / "settings.json"


def test_a_reader_that_is_not_there_is_told(own_shop: Shop) -> None:
    """Records are judged without it, and the message names the setting."""
    told = [what for _, what, _ in _of("records", _findings(own_shop, HYBRID_MODEL_READER="/nowhere/model"))]

    assert any("judged without a reader (model.reader)" in what and "/nowhere/model" in what for what in told)
    assert not any("reader" in what for _, what, _ in _of("records", _findings(own_shop, HYBRID_MODEL_READER="")))


def test_a_whole_installation_has_no_problem(own_shop: Shop) -> None:
    """Every area is looked at; the installed command answers a sample prompt; nothing of the user is changed by it."""
    own_shop.out("hook", "install", "--client", "claude", "--scope", "user")
    own_shop.hook("How does the payment client retry?", "--client", "claude")
    own_shop.out("status")  # Every command keeps the resolved settings for the hooks.
    before = _files(own_shop)

    found = own_shop.json("doctor")

    *checks, trial = found["findings"]
    assert (0, []) == (found["problems"], found["fixed"])
    areas = "python install home rights settings model index state log records memory service hooks"
    assert areas == " ".join(dict.fromkeys(each["area"] for each in checks))
    assert {"ok"} == {each["level"] for each in checks}
    # How long it took is the machine's affair; that it answered is not.
    assert re.search(r"on a sample prompt (answered in|took) \d+ ms", trial["what"]), trial
    assert before == _files(own_shop)


def test_each_finding_is_a_line_with_its_remedy(new_project: Shop) -> None:
    """For people: level, area and finding in a line, what to type below it, the count at the end."""
    lines = new_project.out("doctor", "--no-trial").splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("warning  index"))
    assert ["warning  index    shop is not indexed", f"{'':<18}→ hybrid reindex"] == lines[at : at + 2]
    assert "0 problems, 2 warnings." == lines[-1]
    quiet = new_project.out("doctor", "--no-trial", "--quiet").splitlines()
    assert quiet
    assert not any(line.startswith("ok") for line in quiet)


def test_own_texts_with_a_secret_are_named_and_not_changed(own_shop: Shop) -> None:
    """A lesson with a secret stays as its owner wrote it; `doctor` names file and line, and does not print it."""
    lessons = own_shop.home / "LESSONS.md"
    text = "# LESSONS.md\n\n### [S001] [*----|-----] Sign in\n> The password: tiger7kiwi99 is asked for twice.\n"
    lessons.write_text(text)

    printed = own_shop.out("doctor", "--no-trial", code=0)

    assert f"{lessons} has a secret in 1 line (4), which is never shown" in printed
    assert "tiger7kiwi99" not in printed
    assert text == lessons.read_text()


LESSONS = """\
### [L001] Retry payments
- **Learned**: 2026-01-02 | **Category**: gotcha
> Cap attempts at five.

### [L001] Receipts
- **Learned**: 2026-02-04 | **Category**: gotcha
> Keep them for ten years.

### [L003] Users table
- **Learned**: 2026-01-04 | **Category**: gotcha
"""


def test_malformed_records_are_told_with_file_and_line(own_shop: Shop) -> None:
    """Of LESSONS.md, patterns, decisions and sessions; what is beside them is read all the same."""
    lore = own_shop.home / "lore"
    write_files(own_shop.root, {".hybrid/LESSONS.md": LESSONS})
    write_files(
        lore,
        {
            "patterns/data/patterns.yaml": "patterns:\n  - id: pat-000001-aaaaaaaa\n    name: [\n",
            "journal/data/decisions.jsonl": '{"id": "dec-aaaaaaaa", "decision": "Use JSONL"}\n{"id": \n',
            "transfer/data/sessions/session-20260214-120000-aaaaaaaa.json": "[]",
        },
    )

    found = _of("records", _findings(own_shop))

    file = own_shop.root / ".hybrid" / "LESSONS.md"
    assert {"warning"} == {level for level, _, _ in found}
    told = "\n".join(what for _, what, _ in found)
    assert f"{file}:5: L001 is also the id of line 1" in told
    assert f"{file}:9: lesson L003 has no content" in told
    assert re.search(rf"{re.escape(str(lore))}/patterns/data/patterns.yaml:\d+: ", told)
    assert f"{lore}/journal/data/decisions.jsonl:2: " in told
    assert f"{lore}/transfer/data/sessions/session-20260214-120000-aaaaaaaa.json: " in told
    assert "mend line 9 of that file; the rest of it is read" in [remedy for _, _, remedy in found]
    assert 1 == own_shop.json("status")["records"]["lore"]["decisions"]


def test_of_many_malformed_places_the_first_are_told(own_shop: Shop) -> None:
    """Twenty places of a file are told, the others are counted."""
    entries = (f"### [L{number:03d}] Title\n" for number in range(1, 31))
    write_files(own_shop.root, {".hybrid/LESSONS.md": "\n".join(entries)})

    found = _of("records", _findings(own_shop))

    assert 21 == len(found)
    assert found[-1][1].endswith(".hybrid/LESSONS.md: 10 more places to mend")


def test_fix_gives_the_newer_of_two_lessons_with_one_id_a_new_one(own_shop: Shop) -> None:
    """`--fix` is offered and does it; the older keeps its id, no other line of the file changes."""
    file = own_shop.root / ".hybrid" / "LESSONS.md"
    write_files(
        own_shop.root, {".hybrid/LESSONS.md": LESSONS.replace("[L003] Users table\n", "[L003] Users table\n> x\n")}
    )
    before = file.read_text()

    offered = _of("records", _findings(own_shop))
    fixed = own_shop.json("doctor", "--no-trial", "--fix")["fixed"]

    assert ["hybrid doctor --fix"] == [remedy for _, _, remedy in offered]
    assert f"the newer lesson with the id L001 is now L004 ({file})" in fixed
    assert before.replace("[L001] Receipts", "[L004] Receipts") == file.read_text()
    assert [("ok", "3 lessons", "")] == _of("records", _findings(own_shop))
    assert [] == own_shop.json("doctor", "--no-trial", "--fix")["fixed"]


def test_records_of_a_tree_that_nobody_accepted_are_told(own_shop: Shop) -> None:
    """How many there are and where, with the command that accepts them; they are never called malformed."""
    write_files(own_shop.root, {".claude-recall/LESSONS.md": LESSONS})
    own_shop.out("trust", "--revoke", "--quiet")
    what = "3 lessons in .claude-recall/LESSONS.md: not given out, since nobody accepted this tree"

    assert [("warning", what, "read them, then hybrid trust")] == _of("records", _findings(own_shop))


def test_lessons_left_behind_are_told(own_shop: Shop) -> None:
    """Lessons learned before a tree had a file of its own, and another tool's file that ours took the place of."""
    own_shop.out("trust", "--revoke", "--quiet")
    own_shop.out("lessons", "add", "Retry payments", "Cap attempts at five")
    accept(_project(own_shop), own_shop.home)
    write_files(own_shop.root, {".claude-recall/LESSONS.md": LESSONS, ".hybrid/LESSONS.md": "# Lessons\n"})

    found = _of("records", _findings(own_shop))
    own_shop.out("trust", "--quiet")
    then = _of("records", _findings(own_shop))

    (own,) = own_shop.home.glob("projects/*/trees/*/LESSONS.md.adopted-*")
    older = own_shop.root / ".claude-recall" / "LESSONS.md"
    ours = own_shop.root / ".hybrid" / "LESSONS.md"
    assert [
        (
            f"{own.with_name('LESSONS.md')} holds lessons of this tree, but {ours} is read",
            "hybrid trust brings them together",
        ),
        (f"{older} is not read: .hybrid/LESSONS.md stands in its place", f"hybrid lessons import '{older}'"),
    ] == [(what, remedy) for _, what, remedy in found]
    assert 1 == len(then)
    assert ["Retry payments"] == [one["title"] for one in own_shop.json("lessons", "list")["lessons"]]


def test_record_files_that_cannot_be_read_are_told(own_shop: Shop, tmp_path: Path) -> None:
    """Too large or no text; a folder of lore that is named and not there; a link in its place; a damaged acceptance."""
    (own_shop.root / ".hybrid" / "LESSONS.md").write_bytes(b"x" * 5_000_001)
    (own_shop.root / ".hybrid" / "lore").symlink_to(tmp_path)
    found = _of("records", _findings(own_shop, LORE_DATA_DIR="/no/such/lore"))
    (own_shop.home / "accepted.json").write_text("{")
    damaged = _of("records", _findings(own_shop, code=1))

    large, named, link = (what for _, what, _ in found)
    assert "is longer than 5 MB" in large
    assert "LORE_DATA_DIR names /no/such/lore, which is no folder" == named
    assert "mkdir -p '/no/such/lore', or unset LORE_DATA_DIR" == found[1][2]
    assert f"{own_shop.root / '.hybrid' / 'lore'} is a link, so no record in it is read" == link
    assert (
        "problem",
        f"{own_shop.home / 'accepted.json'} is damaged: the records of no tree are given out",
    ) == damaged[0][:2]


def test_a_damaged_index_of_the_records_is_told_and_made_again(own_shop: Shop) -> None:
    """Whatever is wrong with it, the remedy is to delete it: the files of the records are the truth."""
    own_shop.out("lessons", "add", "Retry payments", "Cap attempts of the payment client at five")
    records = own_shop.home / "records"
    own_shop.out("context", "How does the payment client retry attempts?")
    whole = _of("records", _findings(own_shop))
    (view,) = records.glob("views/lessons-*")
    (view / "manifest.json").write_text("{")
    of_view = _of("records", _findings(own_shop))
    (records / "catalog.db").write_bytes(b"no database " * 100)
    of_catalog = _of("records", _findings(own_shop))
    shutil.rmtree(records)
    own_shop.out("context", "How does the payment client retry attempts?")

    assert [("ok", "1 lesson", "")] == whole == _of("records", _findings(own_shop))
    assert list(records.glob("views/lessons-*/manifest.json"))
    assert [f"rm -r '{records}'; the next prompt makes it again"] == [remedy for _, _, remedy in of_view]
    assert str(view) in of_view[0][1]
    assert str(records / "catalog.db") in of_catalog[0][1]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are not those of POSIX")
def test_rights_of_others_are_found_and_taken_away(own_shop: Shop) -> None:
    """What tells of the owner is for the owner alone; `--fix` makes it so, and touches no link's target."""
    own_shop.hook("How does the payment client retry?")
    log = own_shop.home / "log" / "events.jsonl"
    outside = own_shop.root / "README.md"
    outside.chmod(0o644)
    log.chmod(0o644)
    own_shop.home.chmod(0o755)
    (own_shop.home / "log" / "link").symlink_to(outside)

    before = _of("rights", _findings(own_shop))
    fixed = own_shop.json("doctor", "--no-trial", "--fix")["fixed"]

    assert [
        ("warning", f"others may read 2 files or folders, such as {own_shop.home}", "hybrid doctor --fix")
    ] == before
    assert [f"took the rights of others from 2 files or folders in {own_shop.home}"] == fixed
    assert (0o600, 0o700, 0o644) == tuple(path.stat().st_mode & 0o777 for path in (log, own_shop.home, outside))
    assert [("ok", "only you can read it", "")] == _of("rights", _findings(own_shop))


def test_an_index_without_bars_is_told_with_its_remedy(own_shop: Shop) -> None:
    """An index of another background works, but not as it could; what changed besides is told in the same line."""
    (path,) = own_shop.home.rglob("manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"background": "0123456789abcdef"}))
    alone = _of("index", _findings(own_shop))
    (own_shop.root / "README.md").write_text("# Another shop\n")
    both = _of("index", _findings(own_shop))
    own_shop.out("reindex", "--quiet")

    size = "4 documents, 5 chunks"
    assert [("warning", f"{size}; not calibrated for the gate", "hybrid reindex")] == alone
    assert [("warning", f"{size}; 1 changed since, not calibrated for the gate", "hybrid reindex")] == both
    assert [("ok", f"ready: {size}", "")] == _of("index", _findings(own_shop))


def test_mistakes_in_settings_are_told(own_shop: Shop) -> None:
    """A mistake of the user is a problem with exit code 1, one of the project a warning."""
    (own_shop.root / ".hybrid" / "config.toml").write_text("[hooks]\nbudgte = 3\n")
    warned = _of("settings", _findings(own_shop))
    (own_shop.home / "config.toml").write_text('[hooks]\nbudget = "many"\n')
    found = _of("settings", _findings(own_shop, code=1))

    assert ["warning"] == [level for level, _, _ in warned]
    assert ["problem", "warning"] == [level for level, _, _ in found]
    assert "hooks.budget" in found[0][1]
    assert "hybrid config" == found[0][2]


def test_switches_are_told(own_shop: Shop) -> None:
    """A pause and HYBRID_DISABLE explain a silence before anything else does."""
    own_shop.out("pause", "--all")

    found = _of("switch", _findings(own_shop, HYBRID_DISABLE="1"))

    assert [
        ("warning", "HYBRID_DISABLE switches everything off", "unset HYBRID_DISABLE"),
        ("warning", "paused: all", "hybrid resume --all"),
    ] == found


def test_failures_in_a_row_are_told(own_shop: Shop) -> None:
    """One failure is a warning, three are a problem; a success after them is all well again."""
    own_shop.out("hook", "inject-context", stdin=b"not json")
    one = _of("log", _findings(own_shop))
    for _ in range(2):
        own_shop.out("hook", "inject-context", stdin=b"not json")
    three = _of("log", _findings(own_shop, code=1))
    own_shop.hook("How does the payment client retry?")
    after = _of("log", _findings(own_shop))

    assert ["warning", "problem", "ok"] == [found[0][0] for found in (one, three, after)]
    assert one[0][1].startswith("1 failure, last ")
    assert three[0][1].startswith("3 failures in a row, last ")
    assert "hybrid log --reason error" == three[0][2]


def test_state_that_was_set_aside_is_told(own_shop: Shop) -> None:
    """A damaged file that was kept under another name is named with its path."""
    aside = own_shop.root / ".hybrid" / "hook_state.json.corrupt-20261122T000000"
    aside.write_text("{")
    (own_shop.home / "pauses.json").write_text("{")

    found = _of("state", _findings(own_shop))

    assert [
        f"{aside} was damaged and set aside",
        "pauses.json is damaged: nothing is paused",
    ] == [what for _, what, _ in found]


def test_an_index_that_is_not_made_by_itself_is_told(new_project: Shop) -> None:
    """A working tree with more files than the service would index unasked: the finding says so, and what to type."""
    workspace = open_workspace(new_project.root, environ={"HYBRID_HOME": str(new_project.home)})
    note = {"reason": "too_many_files", "limit": 20_000, "at_s": 1.0}
    write_files(workspace.place.folder, {"refused.json": json.dumps(note)})

    found = _of("index", _findings(new_project))

    assert [("warning", "hybrid reindex; `index.exclude` leaves folders out")] == [(found[0][0], found[0][2])]
    assert "more than 20,000 files" in found[0][1]


def test_a_build_that_failed_is_told() -> None:
    """What the service says of its last build of a project: a failure is a problem, anything else is not."""
    last = ({"state": "failed", "reason": "no space"}, {"state": "built"}, {"state": "busy", "reason": "x"}, None)
    found = list(build_findings([{"root": f"/p{at}", "last_build": build} for at, build in enumerate(last)]))

    assert ["the last build of /p0 in the background failed: no space"] == [each.what for each in found]
    assert [] == list(build_findings(None))


def test_a_project_that_is_not_watched_is_told() -> None:
    """Doctor says why the service does not see changes of a project at once."""
    found = list(build_findings([{"root": "/p", "last_build": None, "watch_problem": "too few watches"}]))

    assert [("warning", "/p is not watched: too few watches")] == [(one.level, one.what) for one in found]


def test_a_damaged_index_is_a_problem(own_shop: Shop) -> None:
    """An index that cannot be opened is told with the command that makes it anew."""
    key = own_shop.json("status")["project"]["key"]
    (own_shop.home / "projects" / key / "catalog.db").write_bytes(b"no database" * 100)

    found = _of("index", _findings(own_shop, code=1))

    assert [("problem", "hybrid reindex --full")] == [(level, remedy) for level, _, remedy in found]


@contextlib.contextmanager
def _service(shop: Shop) -> Generator[subprocess.Popen[bytes]]:
    """A running service of the test's home; it is gone after the block whatever happened to it."""
    script = "import sys\nfrom hybrid.cli.main import run\nsys.exit(run(['daemon', 'run', '--quiet'], started_s=0.0))"
    environ = command_environment(shop.home) | {"HOME": str(shop.home / "user")}
    service = python_process(script, **environ)
    try:
        while shop.run("daemon", "status", "--quiet").returncode != 0:
            assert service.poll() is None
            time.sleep(0.05)
        yield service
    finally:
        service.kill()
        service.communicate(timeout=120)


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_service_that_lives_is_asked_and_one_that_hangs_or_died_is_told(own_shop: Shop) -> None:
    """One that runs is named with version, process and time of its answer; any other is a warning with its remedy."""
    with _service(own_shop) as service:
        (living,) = _of("service", _findings(own_shop))
        service.send_signal(signal.SIGSTOP)
        hung = _of("service", _findings(own_shop))
        service.kill()
        died = _of("service", _findings(own_shop))

    assert "ok" == living[0]
    assert living[1].startswith(f"version {__version__}, process {service.pid}, answers in ")
    for found in (hung, died):
        assert [("warning", "hybrid daemon start replaces it, as the next prompt does")] == [
            (level, remedy) for level, _, remedy in found
        ]
        assert f"names process {service.pid}, which does not answer" in found[0][1]


def test_hooks_that_are_missing_doubled_or_gone_are_told(own_shop: Shop) -> None:
    """No hook at all, two places of one client, and a command that is no longer there, each with its remedy."""
    none = _of("hooks", _findings(own_shop, "--client", "gemini"))
    own_shop.out("hook", "install", "--client", "claude", "--scope", "user")
    own_shop.run("hook", "install", "--client", "claude", "--scope", "local", "--force")
    doubled = _of("hooks", _findings(own_shop, code=1))
    text = _settings(own_shop).read_text().replace(str(Path(sys.executable).parent), "/nowhere")
    _settings(own_shop).write_text(text)
    gone = _of("hooks", _findings(own_shop, code=1))

    assert [("warning", "no client calls hybrid", "hybrid hook install --client gemini")] == none
    assert ["ok", "ok", "problem", "ok"] == [level for level, _, _ in doubled], doubled
    assert "calls hybrid from 2 places" in doubled[2][1]
    assert ("problem", "hybrid hook install --client claude --scope user") == (gone[0][0], gone[0][2])
    assert gone[0][1].endswith("python is not there") or "/nowhere" in gone[0][1]


def test_hooks_of_an_earlier_version_are_told(own_shop: Shop) -> None:
    """A registration for fewer tools than now is a warning with the command that renews it."""
    own_shop.out("hook", "install", "--client", "claude")
    settings = json.loads(_settings(own_shop).read_text())
    settings["hooks"]["PostToolUse"][0]["matcher"] = "Agent|Task|Edit|MultiEdit|Write|NotebookEdit"
    settings["hooks"]["SubagentStart"] = settings["hooks"]["Stop"]
    _settings(own_shop).write_text(json.dumps(settings))

    old = _of("hooks", _findings(own_shop))
    own_shop.out("hook", "install", "--client", "claude")
    new = _of("hooks", _findings(own_shop))

    assert [("warning", "hybrid hook install --client claude --subagents"), ("ok", "")] == [
        (each[0], each[2]) for each in old
    ]
    assert "registered for fewer tools than now (PostToolUse for Agent|Task|Edit|" in old[0][1]
    assert {"ok"} == {level for level, _, _ in new}


@pytest.mark.parametrize(
    ("client", "why"),
    [
        ("claude", "PostToolUseFailure is not registered; `hybrid hook install --client claude` registers it"),
        *((name, "") for name in ("codex", "gemini", "qwen", "copilot", "opencode")),
    ],
)
def test_where_failed_commands_are_not_seen_is_told(own_shop: Shop, client: str, why: str) -> None:
    """A file that others share leaves Claude Code's event out."""
    own_shop.out("hook", "install", "--client", client, "--scope", "project")
    told = [what.partition("failed commands are not seen: ")[2] for _, what, _ in _of("hooks", _findings(own_shop))]

    assert [why][: bool(why)] == [each.partition(" in your own")[0] for each in told if each]


def test_failed_commands_are_seen_by_hooks_for_a_version_that_tells_them(own_shop: Shop) -> None:
    """The installer asks the program for its version; then nothing is left to say."""
    program = own_shop.home / "bin" / "claude"
    write_files(program.parent, {"claude": "#!/bin/sh\necho '2.1.330 (Claude Code)'\n"})
    program.chmod(0o755)
    own_shop.out("hook", "install", "--client", "claude", PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")

    [hooks] = _of("hooks", _findings(own_shop))

    assert "PostToolUseFailure" in hooks[1]


def test_hooks_of_replaced_systems_are_named_and_switched_off_on_request(own_shop: Shop) -> None:
    """A system that would add its own text is a warning; only `--fix-foreign` removes it, and keeps a copy of the file."""
    path = _settings(own_shop)
    path.parent.mkdir(parents=True)
    kept = {"type": "command", "command": "echo mine"}
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [REPLACED, kept]}]}}, indent=2))
    text = path.read_text()

    named = _of("hooks", _findings(own_shop))
    unchanged = path.read_text()
    fixed = own_shop.json("doctor", "--no-trial", "--fix-foreign")["fixed"]

    assert "claude-mem" in named[-1][1]
    assert "hybrid doctor --fix-foreign" == named[-1][2]
    assert text == unchanged
    assert "echo mine" in path.read_text()
    assert "claude-mem" not in path.read_text()
    assert 2 == len(fixed)
    assert [text] == [copy.read_text() for copy in (own_shop.home / "installs").glob("*.original")]


def test_a_client_that_is_none_is_an_error(own_shop: Shop) -> None:
    """A misspelt client is told the known ones, not what to install for it."""
    assert "'cluade' is no client; hybrid knows claude, " in own_shop.error("doctor", "--client", "cluade")


def test_codex_that_never_called_is_told_to_be_trusted(own_shop: Shop) -> None:
    """Codex says nothing of hooks that it does not trust: that none was called is a warning with the step to take."""
    own_shop.out("hook", "install", "--client", "codex", "--scope", "user")

    found = _of("hooks", _findings(own_shop, "--client", "codex"))

    assert ("warning", "approve the hooks in Codex: type /hooks") == (found[0][0], found[0][2])


@pytest.mark.parametrize(
    ("ran", "level", "said"),
    [
        (Ran(0, ANSWER, b"", 40.0), "ok", "answered in 40 ms"),
        (Ran(0, b"", b"", 1500.0), "warning", "stayed silent after 1500 ms"),
        (Ran(0, ANSWER, b"", 4000.0), "warning", "took 4000 ms"),
        (Ran(1, b"", b"Traceback\nboom\n", 40.0), "problem", "ended with code 1: boom"),
        (Ran(0, ANSWER, b"WARN x\n", 40.0), "problem", "wrote to standard error: WARN x"),
        (Ran(0, b"WARN x\n" + ANSWER, b"", 40.0), "problem", "something else than one JSON answer"),
        (Ran(0, b"[]", b"", 40.0), "problem", "something else than one JSON answer"),
        (Ran(0, b'{"hookSpecificOutput": 3}', b"", 40.0), "problem", "something else than one JSON answer"),
        (Ran(None, b"", b"", 30_000.0), "problem", "did not end within 30 s"),
        (Ran(127, b"", b"no such file", 0.0), "problem", "ended with code 127: no such file"),
    ],
    ids=["good", "silent", "slow", "code", "stderr", "log-line", "list", "shape", "hung", "missing"],
)
def test_what_a_run_of_the_command_says(ran: Ran, level: str, said: str) -> None:
    """Exit code 0, an empty standard error and one JSON answer are what a client needs; anything else is told."""
    finding = judge("hybrid hook run", ran)

    assert level == finding.level
    assert said in finding.what
    assert bool(finding.remedy) == (level != "ok")


def _warned(shop: Shop, *args: str, code: int = 0, **environ: str) -> list[str]:
    """What the doctor warns of, with its area."""
    found = shop.json("doctor", "--no-trial", *args, code=code, **environ)["findings"]
    return [f"{one['area']}: {one['what']}" for one in found if one["level"] != "ok"]


def test_doctor_says_that_the_home_is_a_file(own_shop: Shop, tmp_path: Path) -> None:
    """It said "ok home", since a file can be written."""
    file = tmp_path / "file"
    file.write_text("x")

    for home in (file, file / "below"):
        assert f"home: {file} is a file, not a folder" in _warned(own_shop, code=1, HYBRID_HOME=str(home))


def test_doctor_names_a_damaged_registry(own_shop: Shop) -> None:
    """It is named where it lies, and after a build set it aside."""
    registry = own_shop.home / "projects" / "registry.json"
    registry.write_text('{"proj')

    assert any(f"state: {registry} is damaged: " in finding for finding in _warned(own_shop))
    own_shop.out("reindex", "--quiet")
    assert any(f"state: {registry}.corrupt-" in finding for finding in _warned(own_shop))


MALFORMED = """\
### [L01x] Odd id
> Text.

### [L001] Dates
**Learned**: 2026-13-45 | **Category**: pattern
> Text.

### [L002] Counters
- **Uses**: many | **Velocity**: fast | **Learned**: 2026-01-02 | **Last**: soon | **Category**: gotcha
> Text.
"""


def test_doctor_and_validate_name_odd_ids_dates_and_counters(own_shop: Shop) -> None:
    """These were passed over in silence; what else is in the file is read all the same."""
    file = own_shop.root / ".hybrid" / "LESSONS.md"
    file.write_text(MALFORMED)

    told = own_shop.json("lessons", "validate")["problems"]

    assert [
        (1, "looks like a lesson, but its heading is not `### [L001] Title`"),
        (5, "L001 has Learned '2026-13-45'; write a date as 2026-02-14"),
        (9, "L002 has Uses 'many'; write a whole number from 0"),
        (9, "L002 has Velocity 'fast'; write a number from 0, as 1.5"),
        (9, "L002 has Last 'soon'; write a date as 2026-02-14"),
    ] == [(one["line"], one["message"]) for one in told]
    warned = _warned(own_shop)
    assert all(f"records: {file}:{one['line']}: {one['message']}" in warned for one in told)
    assert file.read_text() == MALFORMED


def test_doctor_names_counters_beside_the_lessons_that_cannot_be_read(own_shop: Shop) -> None:
    """Counters that somebody wrote by hand counted as 0, unsaid."""
    own_shop.out("lessons", "add", "Cap retries", "Cap retries at five.")
    (file,) = own_shop.home.rglob("lessons.stats.json")
    file.write_text('{"L001": {"uses": "many", "velocity": 1, "last": "soon"}}')

    warned = _warned(own_shop)

    assert f'records: {file}: L001 has uses "many", which is no number from 0' in warned
    assert f'records: {file}: L001 has last "soon", which is no date as 2026-02-14' in warned


def test_doctor_says_what_a_switched_on_rerank_lacks(own_shop: Shop) -> None:
    """Without its package or its key lessons keep their local order, which nobody noticed."""
    on = {"HYBRID_LESSONS_USE_HAIKU_SCORING": "true", "ANTHROPIC_API_KEY": ""}

    assert any("ANTHROPIC_API_KEY is not set" in finding for finding in _warned(own_shop, **on))
    if find_spec("anthropic") is None:
        assert any("the package anthropic is not installed" in finding for finding in _warned(own_shop, **on))
    assert not any("use_haiku_scoring" in finding for finding in _warned(own_shop))
