"""Whether an event may lie on disk: not where its owner wants nothing kept of it."""

from __future__ import annotations

import fnmatch
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.hooks import keeping
from hybrid.hooks.keeping import may_keep
from hybrid.hooks.service import Input
from hybrid.ipc.settings import HookSettings
from hybrid.session.pauses import Pause, pause
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

LESSON = "LESSON: title - text"


def is_kept(
    home: Path,
    *,
    prompt: str = LESSON,
    name: str = "UserPromptSubmit",
    cwd: str = "/src/shop/api",
    environ: dict[str, str] | None = None,
    is_stale: bool = False,
    **settings: Any,
) -> bool:
    """Whether a prompt in a project may be kept."""
    data = json.dumps({"session_id": "s1", "cwd": cwd, "prompt": prompt}).encode()
    found = None if is_stale else HookSettings(1500, True, **settings)
    return may_keep(str(home), found, environ or {}, Input("", "claude", name, "/", data))


def test_events_are_kept(tmp_path: Path) -> None:
    """With the usual settings, also when nobody resolved them yet."""
    assert is_kept(tmp_path)
    assert is_kept(tmp_path, is_stale=True)


@cases("hooks/kept.txt")
def test_what_its_owner_switched_off_is_not_kept(tmp_path: Path, case: Case) -> None:
    """Nothing is kept that would have no effect."""
    assert case.json() == is_kept(tmp_path, **case.given())


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Pause("all", "", 0.0), False),
        (Pause("session", "s1", 0.0), False),
        (Pause("session", "s2", 0.0), True),
        (Pause("project", "k1", 0.0, root="/src/shop"), False),
        (Pause("project", "k1", 0.0, root="/src/sho"), True),
        (Pause("project", "k1", 0.0), False),
        (Pause("all", "", 0.0, 4e9), False),
    ],
)
def test_nothing_is_kept_where_hybrid_is_paused(tmp_path: Path, wanted: Pause, expected: bool) -> None:
    """Everywhere, in a session, or in a project, which is known by its folder."""
    pause(tmp_path, wanted)

    assert expected == is_kept(tmp_path)


def test_a_pause_that_is_over_counts_no_more(tmp_path: Path) -> None:
    """It stays in the file until somebody pauses again."""
    text = json.dumps({"pauses": {"all:": {"since": 0.0, "until": time.time() - 1, "client": ""}}}, indent=1)
    (tmp_path / "pauses.json").write_text(text)

    assert is_kept(tmp_path)


@pytest.mark.parametrize("text", ["[memory]\ncapture = false\n", "memory.enabled=false", "exclude_projects = ['x']"])
def test_settings_that_nobody_resolved_are_taken_for_a_no(tmp_path: Path, text: str) -> None:
    """A word about privacy in a file that changed a moment ago is enough."""
    (tmp_path / "config.toml").write_text(text)

    assert not is_kept(tmp_path, is_stale=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[memory]\nenabled = false", False),
        ("[hooks]\nbudget = 9\n\n[ lessons ]  # none\n  enabled=false", False),
        ("memory.enabled = false", False),
        ("lessons = { enabled = false }", False),
        ("[memory]\nskip = '''\n[lore]\n'''\nenabled = false", False),
        ("# enabled = false", True),
        ("[lore]\nenabled = false", True),
        ("[memory]\nenabled = true\n[lore]\nenabled = false\n[lessons]\nmax = 3", True),
        ("lore.enabled = false", True),
    ],
)
def test_a_project_that_wants_no_memory(tmp_path: Path, text: str, expected: bool) -> None:
    """Its own settings count, in any folder of it."""
    folder = tmp_path / "shop/.hybrid"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)

    assert expected == is_kept(tmp_path, cwd=str(tmp_path / "shop/src/api"))


@given(st.text("ab*?/", max_size=8), st.text("ab/", max_size=8))
def test_patterns_fit_as_they_do_elsewhere(pattern: str, text: str) -> None:
    """The short matcher of hooks agrees with `fnmatch`."""
    assert fnmatch.fnmatchcase(text, pattern) == keeping.fits(pattern, text)


@pytest.mark.parametrize("is_linked_paused", [False, True], ids=["main", "linked"])
def test_a_pause_holds_in_all_working_trees_of_a_project(tmp_path: Path, is_linked_paused: bool) -> None:
    """A linked working tree names its main one in a small file; a pause typed in either holds in both."""
    main, linked, home = tmp_path / "main", tmp_path / "linked", tmp_path / "home"
    (main / ".git" / "worktrees" / "linked").mkdir(parents=True)
    (linked / "api").mkdir(parents=True)
    (linked / ".git").write_text(f"gitdir: {main}/.git/worktrees/linked\n")
    paused, other = (linked, main) if is_linked_paused else (main, linked / "api")
    pause(home, Pause("project", "0123456789abcdef", time.time(), None, root=str(paused)))

    assert not is_kept(home, cwd=str(other))
    assert is_kept(home, cwd=str(tmp_path))
