from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, Shop, git_project, write_files

if TYPE_CHECKING:
    from pathlib import Path


def test_init_indexes_and_says_what_to_try(new_project: Shop) -> None:
    """`init` makes `.hybrid/` and the index, and names project, figures and the next command."""
    said = new_project.out("init").splitlines()

    assert f"Project shop in {new_project.root}" == said[0]
    assert said[1].startswith("4 documents, 5 chunks; added 4")
    assert said[2].startswith("Try it: hybrid context ")
    assert said[3].startswith("Settings: .hybrid/config.toml")
    assert "ready" == new_project.json("status")["index"]["state"]


def test_init_has_the_keys_of_reindex_and_two_paths(new_project: Shop) -> None:
    """The JSON form is that of `reindex` with root and folder; a second run changes nothing."""
    first, second = new_project.json("init"), new_project.json("init")

    assert {"documents", "chunks", "added", "skipped", "seconds"} <= set(first)
    assert [str(new_project.root), str(new_project.root / ".hybrid")] == [first["root"], first["folder"]]
    assert (4, 0) == (first["added"], second["added"])


def test_init_makes_a_project_of_a_plain_folder(tmp_path: Path) -> None:
    """Outside of git the folder becomes a project of its own, also when named by `--project`."""
    shop = Shop(write_files(tmp_path / "notes", PAYMENTS), tmp_path / "home")
    other = write_files(tmp_path / "other", PAYMENTS)

    assert f"Project notes in {shop.root}" == shop.out("init").splitlines()[0]
    assert f"Project other in {other}" == shop.out("init", "--project", str(other)).splitlines()[0]
    assert shop.json("search", "retry", cwd=shop.root / "src" / "users")["hits"]
    assert "" == shop.hook("thanks a lot, that is all")


def test_init_keeps_what_is_there(new_project: Shop) -> None:
    """Settings and notes of a committed `.hybrid/` stay as they are."""
    write_files(
        new_project.root, {".hybrid/config.toml": "[hooks]\nbudget = 77\n", ".hybrid/LESSONS.md": "# Lessons\n"}
    )

    new_project.out("init", "--quiet")

    assert "[hooks]\nbudget = 77\n" == (new_project.root / ".hybrid" / "config.toml").read_text()
    assert "77\n" == new_project.out("config", "get", "hooks.budget")


def test_init_refuses_a_file_in_the_place_of_its_folder(new_project: Shop) -> None:
    """Where `.hybrid` is a file or a link, `init` ends with code 2, says so and leaves it alone."""
    (new_project.root / ".hybrid").write_text("mine")

    said = new_project.error("init")

    assert said.startswith(f"hybrid: {new_project.root / '.hybrid'} is a link or a file: remove it")
    assert "mine" == (new_project.root / ".hybrid").read_text()


PROMPT = "How does the payment client retry after a timeout?"


MARKS = {"surrogate": "\udcff", "replaced": "\ufffd", "unknown": "?"}
"""What clients write for a byte that is no UTF-8."""


ALONE = {"HYBRID_DAEMON_ENABLED": "false"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_folder_whose_name_is_not_utf8_is_a_project(tmp_path: Path) -> None:
    """`hybrid init` ended with an internal error in a folder whose name holds a byte that is not UTF-8."""
    shop = Shop(git_project(tmp_path / "sh\udcffop", PAYMENTS), tmp_path / "hybrid-home")

    shop.out("init", "--quiet")
    shop.out("reindex", "--quiet")

    assert "client.py" in shop.out("search", "payment client retry")
    assert "client.py" in shop.out("context", PROMPT)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
@pytest.mark.parametrize("mark", ["surrogate", "replaced", "unknown"])
def test_a_hook_answers_in_a_folder_whose_name_is_not_utf8(tmp_path: Path, mark: str) -> None:
    """The hook looked for a folder with `?` in its name; a client that cannot write the name means the hook's own."""
    shop = Shop(git_project(tmp_path / "sh\udcffop", PAYMENTS), tmp_path / "hybrid-home")
    shop.out("init", "--quiet")
    event = {"session_id": "s1", "cwd": str(shop.root).replace("\udcff", MARKS[mark]), "prompt": PROMPT}

    answer = shop.out("hook", "run", "--event", "UserPromptSubmit", stdin=json.dumps(event).encode(), **ALONE)
    event["session_id"] = "s2"
    elsewhere = shop.out(
        "hook", "run", "--event", "UserPromptSubmit", stdin=json.dumps(event).encode(), cwd=tmp_path, **ALONE
    )

    assert (mark != "unknown") == ("client.py" in answer)
    assert (mark == "surrogate") == ("client.py" in elsewhere)
