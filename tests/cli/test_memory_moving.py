from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import new_shop
from tests.support.memories import BLOG, fill_memory, shop_owner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


def _memory(shop: Shop, *args: str, **options: Any) -> str:
    return shop.out("memory", *args, **options)


def _lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_empty_memory_exports_a_header_alone(new_project: Shop) -> None:
    """Exit code 1: there was nothing."""
    assert ["header"] == [line["kind"] for line in _lines(_memory(new_project, "export", code=1))]


def test_a_part_of_the_memory_is_exported(own_shop: Shop) -> None:
    """All projects, the one here, the one that is named, or what came since a day."""
    fill_memory(own_shop).close()
    asked = ((), ("--here",), ("--in", "blog"), ("--since", "2026-01-12"))
    rows = [_lines(_memory(own_shop, "export", *options))[1:] for options in asked]

    assert [{"shop", "blog"}, {"shop"}, {"blog"}] == [{row["project"] for row in part} for part in rows[:3]]
    assert ["Sign the cookie with a new key"] == [row["title"] for row in rows[3] if row["kind"] == "observation"]


def test_a_line_that_cannot_be_read_is_named_and_the_rest_imported(own_shop: Shop, tmp_path: Path) -> None:
    """With file and line; that is no error."""
    fill_memory(own_shop).close()
    lines = _memory(own_shop, "export").splitlines()
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join([lines[0], "{half", *lines[1:]]))
    found = new_shop(tmp_path / "elsewhere", is_indexed=False).json("memory", "import", str(path))

    assert (3, 1) == (found["observations"], len(found["problems"]))
    assert found["problems"][0].startswith(f"{path}:2:")


def test_a_file_is_overwritten_only_by_force(own_shop: Shop) -> None:
    """It is its owner's alone, and whole or not there."""
    fill_memory(own_shop)
    path = own_shop.home / "memory.jsonl"

    assert f"7 rows in {path}\n" == _memory(own_shop, "export", str(path))
    assert 0o600 == path.stat().st_mode & 0o777
    assert "is there already" in own_shop.error("memory", "export", str(path))
    path.write_text("mine")
    assert {"rows": 7, "file": str(path)} == own_shop.json("memory", "export", str(path), "--force")
    assert 8 == len(path.read_text().splitlines())
    assert [] == list(own_shop.home.glob(".memory.jsonl*"))


def test_an_export_is_imported_elsewhere_and_once(own_shop: Shop, tmp_path: Path) -> None:
    """First tried only, then done, then nothing is new; also from standard input."""
    fill_memory(own_shop)
    path = own_shop.home / "memory.jsonl"
    _memory(own_shop, "export", str(path))
    other = new_shop(tmp_path / "other", is_indexed=False)
    new = {"observations": 3, "summaries": 1, "prompts": 1, "sessions": 2}

    tried = other.json("memory", "import", str(path), "--dry-run")
    assert {**new, "duplicates": 0, "forgotten": 0, "problems": [], "unread": 0, "dry_run": True} == tried
    assert "observations  would add 3\n" in _memory(other, "import", str(path), "--dry-run")
    done = other.json("memory", "import", "-", stdin=path.read_bytes())
    assert {**new, "duplicates": 0, "forgotten": 0, "problems": [], "unread": 0, "dry_run": False} == done
    again = other.json("memory", "import", str(path))
    assert (dict.fromkeys(new, 0), 7) == ({name: again[name] for name in new}, again["duplicates"])
    assert _memory(own_shop, "export") == _memory(other, "export")


def test_what_is_no_export_is_an_error(new_project: Shop, tmp_path: Path) -> None:
    """A file that is not there, a folder, a newer format; exactly one source is needed."""
    newer = tmp_path / "newer.jsonl"
    newer.write_text(json.dumps({"kind": "header", "format": "hybrid-memory", "version": 99}) + "\n")

    assert "No such file" in new_project.error("memory", "import", str(tmp_path / "none"))
    assert "is a folder" in new_project.error("memory", "import", str(tmp_path))
    assert "newer" in new_project.error("memory", "import", str(newer))
    newer.write_text("no export at all\nof any kind\n")
    assert 2 == new_project.run("memory", "import", str(newer)).returncode
    assert 2 == new_project.run("memory", "import").returncode
    assert 2 == new_project.run("memory", "import", str(newer), "--claude-mem").returncode


def _claude_mem(path: Path) -> None:
    """A database of claude-mem with two projects, of which one is known here."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(
            "CREATE TABLE sdk_sessions(id INTEGER PRIMARY KEY, claude_session_id TEXT, sdk_session_id TEXT, project TEXT, "
            "user_prompt TEXT, started_at_epoch INTEGER, status TEXT)"
        )
        db.execute(
            "CREATE TABLE observations(id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, type TEXT, title TEXT, "
            "narrative TEXT, facts TEXT, created_at_epoch INTEGER)"
        )
        db.execute(
            "CREATE TABLE session_summaries(id INTEGER PRIMARY KEY, sdk_session_id TEXT, project TEXT, request TEXT, created_at_epoch INTEGER)"
        )
        db.execute(
            "CREATE TABLE user_prompts(id INTEGER PRIMARY KEY, claude_session_id TEXT, prompt_number INTEGER, prompt_text TEXT, created_at_epoch INTEGER)"
        )
        for number, project in ((1, "shop"), (2, "elsewhere")):
            db.execute(
                "INSERT INTO sdk_sessions VALUES(?, ?, ?, ?, 'go', 1700000000, 'completed')",
                (number, f"c{number}", f"m{number}", project),
            )
            db.execute(
                "INSERT INTO observations VALUES(?, ?, ?, 'bugfix', ?, 'It was late.', '[\"a fact\"]', 1700000000000)",
                (number, f"m{number}", project, f"Mend the {project} clock"),
            )
        db.commit()


def test_a_database_of_claude_mem_is_imported(new_project: Shop) -> None:
    """From its usual place or a named one, also the folder; a known name means that project; it is only read."""
    path = new_project.home / "user" / ".claude-mem" / "claude-mem.db"
    assert "no database at ~/.claude-mem/claude-mem.db" in new_project.error("memory", "import", "--claude-mem")
    _claude_mem(path)
    before = path.read_bytes()

    assert 2 == new_project.json("memory", "import", "--claude-mem", "--dry-run")["observations"]
    assert 2 == new_project.json("memory", "import", "--claude-mem", str(path.parent))["observations"]
    assert 0 == new_project.json("memory", "import", "--claude-mem", str(path))["observations"]
    assert before == path.read_bytes()
    (found,) = new_project.json("memory", "recent", "--here")["records"]
    assert ("Mend the shop clock", shop_owner(new_project).key, "c1") == (
        found["title"],
        found["project_key"],
        found["session_id"],
    )
    (other,) = new_project.json("memory", "recent", "--in", "elsewhere")["records"]
    assert other["project_key"] not in (found["project_key"], BLOG.key)


def test_export_into_a_folder_that_is_not_there_names_the_folder(own_shop: Shop) -> None:
    """The message named a temporary file that nobody had asked for."""
    own_shop.out("memory", "add", "Cap retries at five")
    folder = own_shop.root / "none"

    assert f"hybrid: {folder} is no folder; make it first, or name another file" == own_shop.error(
        "memory", "export", str(folder / "x.jsonl")
    )


def test_an_import_says_how_much_was_not_read(new_project: Shop, tmp_path: Path) -> None:
    """Of a file of garbage only "96 more" were told, however many lines there were."""
    path = tmp_path / "garbage.jsonl"
    path.write_text("no JSON\n" * 1_234, encoding="utf-8")

    shown = new_project.out("memory", "import", str(path), code=2).splitlines()
    all_shown = new_project.out("memory", "import", str(path), "--verbose", code=2).splitlines()
    told = new_project.json("memory", "import", str(path), code=2)

    assert "not read: 1,229 more; --verbose shows the first 100" == shown[-1]
    assert "not read: 1,134 more" == all_shown[-1]
    assert (100, 1_234) == (len(told["problems"]), told["unread"])


def test_an_import_of_nothing_is_an_error(new_project: Shop, tmp_path: Path) -> None:
    """An export that a full disk left empty was imported with success."""
    (tmp_path / "empty.jsonl").write_bytes(b"\n")

    message = new_project.error("memory", "import", str(tmp_path / "empty.jsonl"))

    assert f"hybrid: {tmp_path / 'empty.jsonl'} is empty: give a file of `hybrid memory export`" == message
    assert "standard input is empty" in new_project.error("memory", "import", "-", stdin=b"")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no file without end")  # noqa: PTH110 - a device
def test_a_line_without_end_is_not_imported(new_project: Shop) -> None:
    """`hybrid memory import` read a file without line ends whole, until no memory was left."""
    done = new_project.run("memory", "import", "/dev/zero", "--json")

    assert 2 == done.returncode
    assert ["/dev/zero:1: longer than 64,000,000 characters; neither this line nor what follows is read"] == json.loads(
        done.stdout
    )["problems"]
