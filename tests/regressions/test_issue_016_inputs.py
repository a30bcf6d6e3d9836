"""Values, files and folders that nobody expects: each is refused in words, or taken, and none ends a command (#16)."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.base.atomic import write_atomic
from hybrid.base.errors import ConfigError
from hybrid.base.sqlite import open_database
from hybrid.config import KEYS, parse_text
from tests.support.builders import PAYMENTS, Shop, git_project, new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROMPT = "How does the payment client retry after a timeout?"
LONG_DECIMAL = "9" * 5_000
LONG_HEX = "0x" + "f" * 10_000
DEEP = "[" * 3_000
MARKS = {"surrogate": "\udcff", "replaced": "\ufffd", "unknown": "?"}
"""What clients write for a byte that is no UTF-8."""
ALONE = {"HYBRID_DAEMON_ENABLED": "false"}


@pytest.mark.parametrize(
    "text", [LONG_DECIMAL, LONG_HEX, DEEP, f"{{a = {LONG_HEX}}}"], ids=["10", "16", "deep", "table"]
)
def test_a_value_beyond_any_setting_is_refused_in_words(new_project: Shop, text: str) -> None:
    """A number of thousands of digits and lists nested without end were internal errors."""
    written = new_project.error("config", "set", "hooks.budget", text, "--user")
    inherited = new_project.error("config", "check", HYBRID_HOOKS_NOTICE=text)

    assert written.startswith("hybrid: hooks.budget = ")
    assert inherited.startswith("hybrid: HYBRID_HOOKS_NOTICE: hooks.notice = ")
    assert max(len(written), len(inherited)) < 500
    assert not (new_project.home / "config.toml").exists()


@pytest.mark.parametrize("text", ["nan", "inf", "1e400", LONG_HEX, "", "[]"], ids=lambda text: f"_{text[:6]}")
def test_no_number_takes_nonsense(text: str) -> None:
    """Every setting that is a number refuses what is none, or lies beyond its range."""
    taken: list[str] = []
    for key in KEYS:
        with contextlib.suppress(ConfigError):
            if isinstance(parse_text(key, text), (int, float)):
                taken.append(key)

    assert not taken


def test_a_long_number_in_a_clone_silences_nothing(tmp_path: Path) -> None:
    """One number of ten thousand digits in base 16 in a clone's settings ended every command and silenced the hook."""
    shop = new_shop(tmp_path)
    (shop.root / ".hybrid").mkdir(exist_ok=True)
    (shop.root / ".hybrid" / "config.toml").write_text(f"[hooks]\nbudget = {LONG_HEX}\n", encoding="utf-8")

    problems = shop.json("config", "check", code=2)["problems"]

    assert ["hooks.budget = a number of thousands of digits: must lie in 0 to 10000"] == [
        problem.partition("config.toml: ")[2] for problem in problems
    ]
    assert "client.py" in shop.hook(PROMPT)


@pytest.mark.parametrize("key", ["memory.path", "lore.data_dir", "model.name", "index.exclude"])
def test_no_text_holds_a_nul(new_project: Shop, key: str) -> None:
    """No path and no name holds a NUL; `hybrid doctor` ended with an internal error for one."""
    section, _, name = key.partition(".")
    value = '["\\u0000"]' if key == "index.exclude" else '"\\u0000"'
    new_project.home.mkdir()
    (new_project.home / "config.toml").write_text(f"[{section}]\n{name} = {value}\n", encoding="utf-8")

    problems = new_project.json("config", "check", code=2)["problems"]
    doctor = new_project.run("doctor")

    assert 1 == len(problems)
    assert problems[0].endswith(r"= '\x00': must be text without a NUL character")
    assert b"internal error" not in doctor.stdout + doctor.stderr


def test_the_home_of_an_unknown_user_is_a_path_like_any_other(new_project: Shop) -> None:
    """`~nobody` of a user who is not known was an internal error of every command; a shell leaves it as it is."""
    new_project.out("config", "set", "memory.path", "~no-such-user/memory.db", "--user")

    assert "no-such-user" in new_project.json("memory", "stats", code=1)["path"]
    assert "~no-such-user" in new_project.error("memory", "import", "~no-such-user/export.jsonl")
    assert "~no-such-user" in new_project.error("lore", "import", "~no-such-user/lore")
    assert "~no-such-user" in new_project.error("lessons", "import", "~no-such-user/LESSONS.md")


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "qwen"])
def test_settings_with_a_long_number_are_refused_untouched(new_project: Shop, client: str) -> None:
    """A settings file with a number that Python does not read was an internal error of `hook install` and `status`."""
    name = {"codex": "hooks.json"}.get(client, "settings.json")
    path = new_project.home / "user" / f".{client}" / name
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"a": {LONG_DECIMAL}}}', encoding="utf-8")

    refused = new_project.error("hook", "install", "--client", client)

    assert (
        f"hybrid: {path} is not changed, for it does not parse (line 1: a number is too long): repair it first"
        == refused
    )
    assert {} == new_project.json("hook", "status")["installed"]
    assert "Nothing of hybrid was registered\n" == new_project.out("hook", "uninstall")
    assert f'{{"a": {LONG_DECIMAL}}}' == path.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
def test_a_clones_settings_of_gigabytes_are_not_read(new_project: Shop) -> None:
    """`hybrid hook status`, `status` and `doctor` read a client's settings of a project whole, of any length."""
    for folder, name in ((".claude", "settings.json"), (".codex", "config.toml"), (".gemini", "settings.json")):
        (new_project.root / folder).mkdir()
        with (new_project.root / folder / name).open("wb") as file:
            file.truncate(3_000_000_000)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000,) * 2); "
        "from hybrid.__main__ import main; sys.argv[1:] = ['hook', 'status', '--json']; sys.exit(main())"
    )
    environ = os.environ | {"HYBRID_HOME": str(new_project.home), "HOME": str(new_project.home)}

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=new_project.root, env=environ, capture_output=True, check=False
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert {} == json.loads(done.stdout)["installed"]


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


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
@pytest.mark.parametrize("key", ["lessons.haiku_model", "hooks.skip_prefixes", "memory.path"])
def test_no_setting_holds_bytes_that_are_no_utf8(new_project: Shop, key: str) -> None:
    r"""`hybrid config set hooks.skip_prefixes $'\xff'` was an internal error: TOML cannot hold such a text."""
    written = new_project.error("config", "set", key, "a\udcff", "--user")

    assert f"hybrid: {key} = 'a\\udcff': must be text in UTF-8" == written
    assert not (new_project.home / "config.toml").exists()


def test_a_service_that_cannot_live_is_told_at_once(new_project: Shop) -> None:
    """`hybrid daemon start` in a home that cannot be written waited ten seconds, and did not say why."""
    new_project.home.mkdir()
    (new_project.home / "run").write_text("a file in the place of the folder", encoding="utf-8")

    message = new_project.error("daemon", "start")

    assert (
        f"hybrid: the service cannot start: {new_project.home / 'run'} cannot be written (Not a directory)" == message
    )


@pytest.mark.parametrize("number", ["9" * 23, "9" * 5_000, "0", "-1", "²", "nan"], ids=lambda text: f"_{text[:6]}")
def test_a_count_beyond_any_is_refused(new_project: Shop, number: str) -> None:
    """`hybrid log -n` with a number of 23 digits was an internal error."""
    message = new_project.run("log", f"-n{number}").stderr.decode()

    assert "must be a whole number from 1 to 1,000,000,000" in message
    assert len(message) < 2_000


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


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on files is tried on Linux")
@pytest.mark.parametrize("family", ["catalog", "memory"])
def test_a_full_disk_is_named_as_such_while_a_database_is_made(tmp_path: Path, family: str) -> None:
    """A disk that fills while tables are made was told as a rollback that fails, for SQLite had rolled back itself."""
    with files_of_at_most(32_768), pytest.raises(OSError, match="disk") as caught:
        open_database(tmp_path / "some.db", family)

    assert "rollback" not in str(caught.value)


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on files is tried on Linux")
def test_a_write_that_fails_names_the_file(tmp_path: Path) -> None:
    """A full disk was told as "No space left on device" alone; the old file stays, and no other one."""
    path = tmp_path / "config.toml"
    path.write_bytes(b"old")

    with files_of_at_most(10), pytest.raises(OSError) as caught:  # noqa: PT011 - its text is the system's
        write_atomic(path, b"new" * 10)

    assert str(path) == caught.value.filename
    assert [path] == list(tmp_path.iterdir())
    assert b"old" == path.read_bytes()


@contextlib.contextmanager
def files_of_at_most(size_bytes: int) -> Iterator[None]:
    """No file of this process grows beyond that, as on a disk that is full."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
