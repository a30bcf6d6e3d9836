from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


def test_projects_lists_and_forgets(own_shop: Shop) -> None:
    """`projects` names key, size, name and folders; `forget` deletes the index and leaves the project's files."""
    [listed] = own_shop.json("projects")["projects"]
    shown = own_shop.out("projects")
    said = own_shop.out("projects", "forget", "shop")

    assert {"key", "name", "roots", "size_bytes", "used_s"} <= set(listed)
    assert ("shop", [str(own_shop.root)]) == (listed["name"], listed["roots"])
    assert re.fullmatch(rf"{listed['key']} +\d+\.\d MB  shop  {re.escape(str(own_shop.root))}\n", shown)
    assert [
        "forgot shop: its index is deleted, its files and .hybrid folder are untouched",
        "it is not indexed again unasked; `hybrid reindex` in it makes it a project again",
        "the records in its tree are not given out any more; `hybrid trust` accepts them again",
    ] == said.splitlines()
    assert "missing" == own_shop.json("status")["index"]["state"]
    assert (own_shop.root / ".hybrid" / "config.toml").exists()
    assert [] == own_shop.json("projects", code=1)["projects"]


def test_lessons_survive_that_their_project_is_forgotten(new_project: Shop) -> None:
    """Lessons that stand in `$HYBRID_HOME` are put aside there, and can be taken over again with their counters."""
    new_project.out("lessons", "add", "Retry payments", "Cap attempts at five")
    new_project.out("lessons", "cite", "L001")
    new_project.out("trust", "--quiet")
    [listed] = new_project.json("projects")["projects"]

    said = new_project.out("projects", "forget", listed["key"], "--quiet")
    gone = new_project.json("lessons", "list", code=1)["lessons"]
    (path,) = new_project.home.glob("forgotten/*/trees/*/LESSONS.md")
    new_project.out("lessons", "import", str(path))
    [lesson] = new_project.json("lessons", "list")["lessons"]

    assert f"its lessons are kept: hybrid lessons import '{path}'\n" == said
    assert [] == gone
    assert ("Retry payments", 1) == (lesson["title"], lesson["uses"])


def test_forgetting_has_a_machine_form(own_shop: Shop) -> None:
    """Key, name, whether its records were accepted, and where its lessons lie now."""
    [listed] = own_shop.json("projects")["projects"]

    forgotten = own_shop.json("projects", "forget", "shop")

    assert {
        "key": listed["key"],
        "name": "shop",
        "was_accepted": True,
        "kept": [],
        "remembered_sessions": 0,
    } == forgotten
    assert [] == own_shop.json("projects", code=1)["projects"]
    assert not own_shop.json("status")["records"]["accepted"]


def test_forgetting_tells_what_the_memory_keeps(own_shop: Shop) -> None:
    """What was done in a project outlives its index; the command that forgets that too is named, and does."""
    own_shop.out("memory", "add", "Cap retries at five", "--type", "decision")
    [listed] = own_shop.json("projects")["projects"]

    said = own_shop.out("projects", "forget", "shop")

    command = f"memory forget --project-data {listed['key']}"
    assert f"the memory keeps 1 session of it: hybrid {command}" == said.splitlines()[-1]
    own_shop.out(*command.split(), "--yes", "--quiet")
    assert 0 == own_shop.json("memory", "stats", code=1)["observations"]


def test_a_memory_that_cannot_be_read_keeps_no_index(own_shop: Shop) -> None:
    """A database of a newer format is nothing that an index depends on."""
    own_shop.out("memory", "add", "Cap retries at five")
    with contextlib.closing(sqlite3.connect(own_shop.home / "memory.db")) as db:
        db.execute("PRAGMA user_version = 99")

    assert own_shop.out("projects", "forget", "shop").startswith("forgot shop")


def test_forgetting_needs_one_name(shop: Shop) -> None:
    """Without a name, or with one that no project has, `forget` ends with code 2."""
    lists = "`hybrid projects` lists them"

    assert f"hybrid: `hybrid projects forget` needs the NAME or key of a project; {lists}" == shop.error(
        "projects", "forget"
    )
    assert f"hybrid: no project is called nothing; {lists}" == shop.error("projects", "forget", "nothing")


def test_projects_works_outside_of_a_project(shop: Shop, tmp_path: Path) -> None:
    """The list needs no project."""
    assert "shop" in shop.out("projects", cwd=tmp_path)


def test_models_lists_and_marks_the_one_in_force(shop: Shop) -> None:
    """`models` shows name, dimensions and where each lies; `*` marks the one in force."""
    lines = shop.out("models").splitlines()
    form = shop.json("models")

    assert re.fullmatch(r"\* static-v1 +256 dimensions  shipped", lines[0])
    assert 1 == sum(line.startswith("*") for line in lines)
    assert "static-v1" == form["current"]
    keys = {"name", "id", "dim", "max_tokens", "licence", "provenance", "extra", "shipped", "folder"}
    assert all(keys <= set(model) for model in form["models"])


def test_models_verify_and_use(own_shop: Shop) -> None:
    """`verify` checks the index's model and the reader; `use` writes into the user's settings and says what follows."""
    verified = own_shop.out("models", "verify")
    said = own_shop.out("models", "use", "hashing")

    whole = r"static-v1: whole, 256 dimensions, sha256 [0-9a-f]{64}\nall-MiniLM-L6-v2-int8: whole, 384 .*\n"
    assert re.fullmatch(whole, verified)
    assert re.match(r"using hashing \(\d+ dimensions\)\nThe service embeds each project anew .* `hybrid reindex`", said)
    assert "hashing" == own_shop.json("models")["current"]


def test_an_unknown_model_is_one_line(own_shop: Shop) -> None:
    """A model that is nowhere ends with code 2 and what would make it available; the settings stay."""
    said = own_shop.error("models", "use", "no-such/model-of-ours")

    assert said.startswith("hybrid: ")
    assert not (own_shop.home / "config.toml").exists()
    assert own_shop.error("models", "use").startswith("hybrid: `hybrid models use` needs the NAME")


def test_a_model_that_cannot_be_loaded_stops_no_prompt(own_shop: Shop) -> None:
    """With such a model in the settings, and no index of another one, a hook is silent, and the log has the reason."""
    shutil.rmtree(own_shop.home / "projects")

    assert "" == own_shop.hook("How does the payment client retry?", HYBRID_MODEL_NAME="no-such/model")
    assert ["error"] == own_shop.reasons()


@pytest.mark.parametrize("name", ["nosuch", "someone/nosuch"])
def test_model_of_which_nothing_is_known_is_not_described(shop: Shop, name: str) -> None:
    """`models show` described any name with empty fields, and ended with code 0."""
    assert f"hybrid: nothing is known of a model {name}; " in shop.error("models", "show", name)


def test_known_model_that_is_not_on_disk_is_described(shop: Shop) -> None:
    """Its manifest ships."""
    assert 384 == shop.json("models", "show", "bge-small-en-v1.5")["dim"]


def test_projects_of_one_name_are_told_by_their_keys(own_shop: Shop, tmp_path: Path) -> None:
    """The message left the keys to be looked up."""
    other = new_shop(tmp_path / "other")
    own_shop.out("reindex", str(other.root), "--quiet")
    keys = sorted(project["key"] for project in own_shop.json("projects")["projects"])

    told = own_shop.error("projects", "forget", "shop")

    assert f"hybrid: 2 projects are called shop: give a key, {keys[0]} or {keys[1]}" == told


def test_project_without_a_name_is_listed_as_such(own_shop: Shop) -> None:
    """Its row ended behind the size."""
    (own_shop.home / "projects" / "registry.json").unlink()

    assert "(not known any more; " in own_shop.out("projects")
