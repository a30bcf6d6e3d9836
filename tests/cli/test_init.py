from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.builders import PAYMENTS, Shop, write_files

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
