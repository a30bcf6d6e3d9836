from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid import __version__
from hybrid.cli.main import every_command, made_commands
from hybrid.operations.asking import rows
from tests.support.builders import CHECKOUT, hybrid_command
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from tests.support.builders import Shop


def _subcommands() -> list[tuple[str, ...]]:
    nested = {
        "hook": ("inject-context", "hot-topics", "status"),
        "eval": ("retrieval", "init", "run", "gate", "chunks", "speed"),
    }
    return [(name, *rest) for name in every_command() for rest in [(), *((part,) for part in nested.get(name, ()))]]


def test_commands_of_the_table_are_known_without_importing_it() -> None:
    """`hybrid --help` and a press of Tab name them as the rows do, and wait for nothing."""
    assert {row.name: row.about for row in rows() if row.about and " " not in row.name} == made_commands()

    script = "import sys\nfrom hybrid.cli.main import overview\noverview()\nprint('hybrid.operations' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert "False\n" == shown.stdout


@pytest.mark.parametrize("command", _subcommands(), ids=" ".join)
def test_help_of_every_command_shows_an_example(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """`hybrid COMMAND --help` ends with an example that can be pasted."""
    from hybrid.cli.main import run

    code = run([*command, "--help"], started_s=0.0)

    shown = capsys.readouterr().out
    assert 0 == code
    if command in (("hook",), ("eval",)):
        assert f"hybrid {command[0]} " in shown.split("example:")[-1] or "ACTION" in shown or "WHAT" in shown
    else:
        assert f"hybrid {' '.join(command)}" in shown.split("example:\n")[1]


def test_overview_names_every_command(tmp_path: Path) -> None:
    """`hybrid`, `hybrid --help` and `hybrid help` list all commands, with exit code 0."""
    shown = [hybrid_command(*args, cwd=tmp_path, home=tmp_path / "home") for args in ((), ("--help",), ("help",))]

    assert [0, 0, 0] == [done.returncode for done in shown]
    assert 1 == len({done.stdout for done in shown})
    assert all(f"  {name} " in shown[0].stdout.decode() for name in every_command())


def test_version_is_one_line(tmp_path: Path) -> None:
    """`--version` and `-V` print name and version."""
    for flag in ("--version", "-V"):
        done = hybrid_command(flag, cwd=tmp_path, home=tmp_path / "home")

        assert (0, f"hybrid {__version__}\n", "") == (done.returncode, done.stdout.decode(), done.stderr.decode())


def test_unknown_command_is_an_error_that_says_where_to_look(tmp_path: Path) -> None:
    """A command that does not exist ends with code 2 and one line."""
    done = hybrid_command("serach", "x", cwd=tmp_path, home=tmp_path / "home")

    assert 2 == done.returncode
    assert "hybrid: unknown command 'serach'; `hybrid --help` lists all\n" == done.stderr.decode()


def test_a_removed_command_names_what_to_use_instead(tmp_path: Path) -> None:
    """A command that was removed ends with code 2 and one line about its replacement."""
    done = hybrid_command("top", "--once", cwd=tmp_path, home=tmp_path / "home")

    assert 2 == done.returncode
    assert done.stderr.decode().startswith("hybrid: `hybrid top` was removed: use `hybrid log --follow`")
    assert 1 == len(done.stderr.splitlines())


def test_a_reader_that_has_seen_enough_is_no_error(shop: Shop) -> None:
    """`hybrid config | head -1` and `hybrid search --help | head -1` succeed without a word on standard error."""
    for command in ("config", "search --help", "search retry --verbose", "--help"):
        script = f'"$PYTHON" -m hybrid {command} | head -c 1 >/dev/null; echo "${{PIPESTATUS[0]}}"'
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=shop.root,
            env=os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(CHECKOUT), "HYBRID_HOME": str(shop.home)},
            capture_output=True,
            timeout=60,
            check=False,
        )

        assert ("0\n", "") == (done.stdout.decode(), done.stderr.decode()), command


def test_a_full_disk_behind_standard_output_is_one_line(shop: Shop) -> None:
    """Output that cannot be written ends with code 2 and says why."""
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("needs /dev/full")
    with device.open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hybrid", "config"],
            cwd=shop.root,
            env=os.environ | {"PYTHONPATH": str(CHECKOUT), "HYBRID_HOME": str(shop.home)},
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )

    assert (2, "hybrid: No space left on device\n") == (done.returncode, done.stderr.decode())


@pytest.mark.parametrize("command", ["status", "search x", "reindex", "log", "config", "projects", "project"])
def test_a_deleted_working_directory_is_one_line(tmp_path: Path, command: str) -> None:
    """In a directory that is gone every command says so, with code 2 and no traceback."""
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir "{gone}"; exec "{sys.executable}" -m hybrid {command}'],
        cwd=gone,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        timeout=60,
        check=False,
    )

    message = "the working directory was deleted; change to one that exists, or use --project"
    assert (2, b"", f"hybrid: {message}\n") == (done.returncode, done.stdout, done.stderr.decode())


def test_outside_of_a_project_commands_say_what_to_run(tmp_path: Path) -> None:
    """Without a project, commands that need one end with code 2 and name `hybrid init`."""
    expected = (
        "hybrid: no project here: not inside a git working tree, and no .hybrid folder above; run `hybrid init`\n"
    )
    for command in ("status", "search x", "reindex", "hook hot-topics", "hook status"):
        done = hybrid_command(*command.split(), cwd=tmp_path, home=tmp_path / "home")

        assert (2, b"", expected) == (done.returncode, done.stdout, done.stderr.decode()), command


def test_a_project_directory_that_is_none_is_an_error(tmp_path: Path) -> None:
    """`--project FILE` and a missing directory end with code 2 and the path."""
    (tmp_path / "file.txt").write_text("x")
    for name in ("file.txt", "nowhere"):
        done = hybrid_command("search", "x", "--project", name, cwd=tmp_path, home=tmp_path / "home")

        assert (2, f"hybrid: {name} is not a directory\n") == (done.returncode, done.stderr.decode())


def test_a_home_that_is_a_file_is_one_line(new_project: Shop) -> None:
    """Where `$HYBRID_HOME` cannot be written, `reindex` says which path is in the way."""
    new_project.home.write_text("not a folder")

    done = hybrid_command("reindex", cwd=new_project.root, home=new_project.home)

    assert (2, b"") == (done.returncode, done.stdout)
    assert 1 == len(done.stderr.splitlines())
    assert b"hybrid-home" in done.stderr
    assert b"Traceback" not in done.stderr


def test_debug_shows_where_an_error_happened(new_project: Shop) -> None:
    """With `--debug` the traceback is shown; without it never."""
    done = new_project.run("search", "x", "--debug")

    assert 0 != done.returncode
    assert b"IndexMissingError" in done.stderr
    assert "hybrid: no index was built here yet: run `hybrid reindex`" == new_project.error("search", "x")


@cases("cli/wrong_arguments.txt")
def test_wrong_arguments_are_told_in_one_line(shop: Shop, case: Case) -> None:
    """The line says what is wrong and what to write."""
    assert str(case.expected) in shop.error(*case.text.split())


@pytest.mark.parametrize(
    "words",
    [("search",), ("lore", "search"), ("memory", "search"), ("lessons", "score"), ("score-local",)],
    ids=" ".join,
)
def test_empty_search_is_refused(shop: Shop, words: tuple[str, ...]) -> None:
    """It was answered as if there were nothing to find (#17)."""
    for query in ("", "  "):
        assert "hybrid: the query is empty; " in shop.error(*words, query)


@pytest.mark.parametrize("number", ["9" * 5_000, "0", "²"], ids=lambda text: f"_{text[:6]}")
def test_a_count_beyond_any_is_refused(new_project: Shop, number: str) -> None:
    """`hybrid log -n` with a number of 23 digits was an internal error."""
    message = new_project.run("log", f"-n{number}").stderr.decode()

    assert "must be a whole number from 1 to 1,000,000,000" in message
    assert len(message) < 2_000
