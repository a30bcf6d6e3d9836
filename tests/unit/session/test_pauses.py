from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid.session.pauses import NAME, Pause, is_damaged, is_paused, pause, pauses, resume
from tests.support.builders import python_process

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("paused", "expected"),
    [
        pytest.param(Pause("all", "", NOW), "all", id="all"),
        pytest.param(Pause("project", "k1", NOW), "project", id="project"),
        pytest.param(Pause("project", "k2", NOW), None, id="other-project"),
        pytest.param(Pause("session", "s1", NOW), "session", id="session"),
        pytest.param(Pause("session", "s2", NOW), None, id="other-session"),
        pytest.param(Pause("session", "s1", NOW, client="claude"), "session", id="same-client"),
        pytest.param(Pause("session", "s1", NOW, client="codex"), None, id="other-client"),
        pytest.param(Pause("all", "", NOW, NOW + 60), "all", id="not-over"),
        pytest.param(Pause("all", "", NOW - 60, NOW), None, id="over"),
        pytest.param(Pause("session", "s1", NOW - 40 * 86_400), None, id="session-of-last-month"),
        pytest.param(Pause("project", "k1", NOW - 400 * 86_400), "project", id="project-of-last-year"),
    ],
)
def test_a_pause_holds_for_its_scope_and_time(tmp_path: Path, paused: Pause, expected: str | None) -> None:
    """An event is paused by a pause of everything, of its project or of its session, until that is over."""
    pause(tmp_path, paused)

    assert expected == is_paused(tmp_path, "k1", "claude", "s1", at_s=NOW)


def test_the_widest_scope_is_named(tmp_path: Path) -> None:
    """Of several pauses the widest is named: resuming a narrower one would change nothing."""
    for paused in (Pause("session", "s1", NOW), Pause("project", "k1", NOW), Pause("all", "", NOW)):
        pause(tmp_path, paused)

    assert "all" == is_paused(tmp_path, "k1", "claude", "s1")
    assert ["all", "project", "session"] == [found.scope for found in pauses(tmp_path)]


def test_events_without_project_or_session_are_paused_by_all_only(tmp_path: Path) -> None:
    """An absent project or session equals no name of a pause."""
    pause(tmp_path, Pause("project", "", NOW))
    pause(tmp_path, Pause("session", "", NOW))

    assert is_paused(tmp_path, None, "claude", "") is None


def test_resume_ends_what_is_named(tmp_path: Path) -> None:
    """A pause is ended by its key; the others stay, and the number of those that were there is told."""
    pause(tmp_path, Pause("project", "k1", NOW))
    pause(tmp_path, Pause("all", "", NOW))

    assert 1 == resume(tmp_path, frozenset({"all:", "session:s1"}))
    assert 0 == resume(tmp_path, frozenset({"all:"}))
    assert ["project:k1"] == [found.key for found in pauses(tmp_path)]


def test_without_a_pause_nothing_is_written(tmp_path: Path) -> None:
    """Asking and resuming where nothing is paused makes no file."""
    assert (None, 0) == (is_paused(tmp_path, "k1", "claude", "s1"), resume(tmp_path, frozenset({"all:"})))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"pauses": 3}', b"\xff", b"[" * 50_000], ids=range(6))
def test_a_damaged_file_pauses_nothing_and_is_set_aside(tmp_path: Path, data: bytes) -> None:
    """Damage never silences or breaks a prompt; the next change keeps the file under another name."""
    (tmp_path / NAME).write_bytes(data)

    assert (True, None) == (is_damaged(tmp_path), is_paused(tmp_path, "k1", "claude", "s1"))
    pause(tmp_path, Pause("all", "", NOW))
    assert (False, "all") == (is_damaged(tmp_path), is_paused(tmp_path, "k1", "claude", "s1"))
    assert [data] == [path.read_bytes() for path in tmp_path.glob(f"{NAME}.corrupt-*")]


def test_foreign_entries_are_passed_over(tmp_path: Path) -> None:
    """An entry that is no pause hides no other one."""
    entries = {"moon:": {}, "all:": 3, "project:k1": {"since": "x", "until": None}}
    (tmp_path / NAME).write_text(json.dumps({"pauses": entries}))

    assert ["project:k1"] == [found.key for found in pauses(tmp_path)]


def test_processes_that_pause_at_once_lose_nothing(tmp_path: Path) -> None:
    """Pauses of several processes are all there, and the file is its owner's alone."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.session.pauses import Pause, pause
        for number in range(20):
            pause(Path(sys.argv[1]), Pause("project", f"{sys.argv[2]}{number}", 1.0))
    """
    writers = [python_process(script, tmp_path, name) for name in "abc"]
    for writer in writers:
        writer.communicate()

    assert {f"{name}{number}" for name in "abc" for number in range(20)} == {found.name for found in pauses(tmp_path)}
    assert 0o600 == (tmp_path / NAME).stat().st_mode & 0o777
