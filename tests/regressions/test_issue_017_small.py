"""Small things found in use: what commands say of mistakes, of nothing, and of counts (#17)."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import hybrid_command, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


@pytest.mark.parametrize("name", ["nosuch", "someone/nosuch"])
def test_model_of_which_nothing_is_known_is_not_described(shop: Shop, name: str) -> None:
    """`models show` described any name with empty fields, and ended with code 0."""
    assert f"hybrid: nothing is known of a model {name}; " in shop.error("models", "show", name)


def test_known_model_that_is_not_on_disk_is_described(shop: Shop) -> None:
    """Its manifest ships."""
    assert 384 == shop.json("models", "show", "bge-small-en-v1.5")["dim"]


@pytest.mark.parametrize(
    ("value", "reason"), [("abc", "'abc': must be a whole number"), ("60000", "60000: must lie in 0 to 9000")]
)
def test_value_that_does_not_count_is_told_by_get(shop: Shop, value: str, reason: str) -> None:
    """`config get` printed the default, as if nothing else had been set."""
    told = shop.error("config", "get", "hooks.budget_chars", HYBRID_HOOKS_BUDGET_CHARS=value)

    assert f"{reason}; in force is 4000 (default)" in told


def test_mistake_in_another_setting_is_a_warning_of_get(shop: Shop) -> None:
    """The value that was asked for is in force."""
    done = shop.run("config", "get", "hooks.budget", HYBRID_HOOKS_BUDGET_CHARS="abc")

    assert (0, b"150\n") == (done.returncode, done.stdout)
    assert b"hybrid: warning: HYBRID_HOOKS_BUDGET_CHARS: " in done.stderr


def test_export_into_a_folder_that_is_not_there_names_the_folder(own_shop: Shop) -> None:
    """The message named a temporary file that nobody had asked for."""
    own_shop.out("memory", "add", "Cap retries at five")
    folder = own_shop.root / "none"

    assert f"hybrid: {folder} is no folder; make it first, or name another file" == own_shop.error(
        "memory", "export", str(folder / "x.jsonl")
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("lore", "pattern", "frob", "x", "--solution", "y"), "'frob' stands where the word add must stand"),
        (("mark", "good"), "`hybrid mark good` needs a decision: `hybrid mark --last good`, or an ID"),
        (("mark", "list", "extra"), "`hybrid mark list` takes no further word, and got 'extra'"),
        (("mark", "--last", "abc", "good"), "leave out --last or 'abc'"),
        (("projects", "forget", "nosuch"), "no project is called nosuch; `hybrid projects` lists them"),
        (("hook", "install", "--client", "emacs"), "hybrid: 'emacs' is no client; hybrid knows claude, "),
        (("reindex", "--wait", "-5"), "-5 must lie in 0 to 1,000,000 seconds"),
        (("reindex", "--wait", "nan"), "nan must lie in 0 to 1,000,000 seconds"),
        (("reindex", "--wait", "soon"), "'soon' is not a number of seconds"),
        (
            ("log", "--limit"),
            "hybrid log: error: argument -n/--limit: expected one argument; `hybrid log --help` shows how",
        ),
        (("lessons", "frob"), "hybrid lessons: error: argument ACTION: invalid choice: 'frob'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_arguments_are_told_in_one_line(shop: Shop, words: tuple[str, ...], told: str) -> None:
    """The line says what is wrong and what to write."""
    assert told in shop.error(*words)


def test_projects_of_one_name_are_told_by_their_keys(own_shop: Shop, tmp_path: Path) -> None:
    """The message left the keys to be looked up."""
    other = new_shop(tmp_path / "other")
    own_shop.out("reindex", str(other.root), "--quiet")
    keys = sorted(project["key"] for project in own_shop.json("projects")["projects"])

    told = own_shop.error("projects", "forget", "shop")

    assert f"hybrid: 2 projects are called shop: give a key, {keys[0]} or {keys[1]}" == told


@pytest.mark.parametrize(
    "words",
    [("search",), ("lore", "search"), ("memory", "search"), ("lessons", "score"), ("score-local",)],
    ids=" ".join,
)
@pytest.mark.parametrize("query", ["", "  "], ids=["empty", "spaces"])
def test_empty_search_is_refused(shop: Shop, words: tuple[str, ...], query: str) -> None:
    """It was answered as if there were nothing to find."""
    assert "hybrid: the query is empty; " in shop.error(*words, query)


def _findings(shop: Shop, *args: str, code: int = 0, **environ: str) -> list[str]:
    """What the doctor warns of, with its area."""
    found = shop.json("doctor", "--no-trial", *args, code=code, **environ)["findings"]
    return [f"{one['area']}: {one['what']}" for one in found if one["level"] != "ok"]


def test_doctor_says_that_the_home_is_a_file(own_shop: Shop, tmp_path: Path) -> None:
    """It said "ok home", since a file can be written."""
    file = tmp_path / "file"
    file.write_text("x")

    for home in (file, file / "below"):
        assert f"home: {file} is a file, not a folder" in _findings(own_shop, code=1, HYBRID_HOME=str(home))


def test_doctor_names_a_damaged_registry(own_shop: Shop) -> None:
    """It is named where it lies, and after a build set it aside."""
    registry = own_shop.home / "projects" / "registry.json"
    registry.write_text('{"proj')

    assert any(f"state: {registry} is damaged: " in finding for finding in _findings(own_shop))
    own_shop.out("reindex", "--quiet")
    assert any(f"state: {registry}.corrupt-" in finding for finding in _findings(own_shop))


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
    warned = _findings(own_shop)
    assert all(f"records: {file}:{one['line']}: {one['message']}" in warned for one in told)
    assert file.read_text() == MALFORMED


def test_doctor_names_counters_beside_the_lessons_that_cannot_be_read(own_shop: Shop) -> None:
    """Counters that somebody wrote by hand counted as 0, unsaid."""
    own_shop.out("lessons", "add", "Cap retries", "Cap retries at five.")
    (file,) = own_shop.home.rglob("lessons.stats.json")
    file.write_text('{"L001": {"uses": "many", "velocity": 1, "last": "soon"}}')

    warned = _findings(own_shop)

    assert f'records: {file}: L001 has uses "many", which is no number from 0' in warned
    assert f'records: {file}: L001 has last "soon", which is no date as 2026-02-14' in warned


def test_doctor_says_what_a_switched_on_rerank_lacks(own_shop: Shop) -> None:
    """Without its package or its key lessons keep their local order, which nobody noticed."""
    on = {"HYBRID_LESSONS_USE_HAIKU_SCORING": "true", "ANTHROPIC_API_KEY": ""}

    assert any("ANTHROPIC_API_KEY is not set" in finding for finding in _findings(own_shop, **on))
    if find_spec("anthropic") is None:
        assert any("the package anthropic is not installed" in finding for finding in _findings(own_shop, **on))
    assert not any("use_haiku_scoring" in finding for finding in _findings(own_shop))


def test_status_of_a_switched_off_service_promises_nothing(shop: Shop) -> None:
    """It said that the next prompt starts the service."""
    told = shop.out("daemon", "status", code=1, HYBRID_DAEMON_ENABLED="false")

    assert told == (
        "The service does not run, and `daemon.enabled = false`: no prompt starts it, each opens the index anew.\n"
    )
    assert "the next prompt of an agent starts it" in shop.out("daemon", "status", code=1, HYBRID_DAEMON_ENABLED="true")


def test_rows_seen_from_outside_of_any_project_say_whose_they_are(own_shop: Shop, tmp_path: Path) -> None:
    """The list named no project, and spoke of this one where there was none."""
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    empty = own_shop.out("memory", "recent", cwd=nowhere, code=1)
    own_shop.out("memory", "add", "Cap retries at five")

    assert "# all projects recent context\nNo previous sessions found in any project yet.\n" == empty
    assert "Cap retries at five [project: shop] (~" in own_shop.out("memory", "recent", cwd=nowhere)
    assert "[" not in own_shop.out("memory", "recent")


def test_use_of_a_tool_that_is_not_told_of_yet_is_no_empty_memory(own_shop: Shop) -> None:
    """For three seconds after the first event it said that there were no previous sessions."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "cwd": str(own_shop.root),
        "tool_name": "Edit",
        "tool_input": {"file_path": str(own_shop.root / "a.py"), "old_string": "five = 5", "new_string": "six = 6"},
        "tool_response": {"filePath": "a.py"},
    }
    window = {"HYBRID_MEMORY_BATCH_WINDOW_MS": "3600000", "HYBRID_DAEMON_ENABLED": "false"}
    words = ("hook", "run", "--client", "claude", "--event", "PostToolUse")
    own_shop.out(*words, stdin=json.dumps(event).encode(), **window)

    told = own_shop.out("memory", "recent", code=1, **window)

    assert told == (
        "# shop recent context\nNothing is told of yet: 1 use of tools waits for what follows; ask again in 3600 s.\n"
    )


def test_file_without_lessons_is_told_as_such(own_shop: Shop, tmp_path: Path) -> None:
    """`lessons import` reported zeros of everything."""
    file = tmp_path / "README.md"
    file.write_text("# Notes\n\nNothing here.\n")

    told = own_shop.out("lessons", "import", str(file), code=1)

    assert f"{file} holds no lesson; one begins with a heading `### [L001] Title`\n" == told


def test_citations_by_hand_count_by_week(own_shop: Shop) -> None:
    """They were left out, and prove neither health nor an answer to a prompt."""
    own_shop.out("lessons", "add", "Cap retries", "Cap retries at five.")
    own_shop.out("lessons", "cite", "L001")

    (week,) = own_shop.json("lessons", "stats", "--weekly")["weeks"]

    assert (0, 1) == (week["given"], week["cited"])
    assert "cited (lessons cite)" in own_shop.out("log")
    assert own_shop.json("status")["health"]["last_success"] is None
    assert "given 0 times, cited 1 time\n" in own_shop.out("lessons", "stats")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("`src/payments/gone.py:12`", "path"),
        ("gone.py:12", "path"),
        ("`client.py:9999`", "line"),
        ("src/payments/client.py:3-9999", "line"),
        ("`PaymentClient.nope`", "symbol"),
        ("`PaymentGone.retry`", "symbol"),
        ("`attempts_of()`", "symbol"),
        ("`client()`", "symbol"),
    ],
)
def test_names_of_places_and_members_are_looked_for(own_shop: Shop, name: str, kind: str) -> None:
    """`validate` passed over paths with a line, members of a class, and calls of what is a word only."""
    own_shop.out("lessons", "add", "A rule", f"See {name}.")

    missing = own_shop.json("lessons", "validate")["missing"]

    assert [(kind, name.strip("`"))] == [(one["kind"], one["name"]) for one in missing]


def test_names_that_are_there_are_not_told_as_missing(own_shop: Shop) -> None:
    """Places, members and calls that the code has; a port and a file's name are no members."""
    names = "`client.py:2`, src/payments/client.py:1-3, `PaymentClient.retry`,"
    names += " `PaymentClient.charge()`, `wait_before_retry()`"
    own_shop.out("lessons", "add", "A rule", f"See {names}, localhost:8080, example.com:443, `Gemfile.lock`.")

    assert [] == own_shop.json("lessons", "validate")["missing"]


def test_times_for_people_are_local(own_shop: Shop) -> None:
    """`memory stats` and `status` told UTC beside lists in local time; machine forms keep UTC."""
    own_shop.out("memory", "add", "Cap retries at five")
    own_shop.hook("How does the payment client retry?")
    last = datetime.fromisoformat(own_shop.json("memory", "stats")["newest"].replace("Z", "+00:00"))
    decided = datetime.fromisoformat(own_shop.json("status")["health"]["last_success"])

    def shown(*args: str) -> str:
        # A process of its own: the zone is read when it starts.
        return hybrid_command(*args, cwd=own_shop.root, home=own_shop.home, TZ="Etc/GMT-14").stdout.decode()

    far = timezone(timedelta(hours=14))
    assert re.search(rf"^to +{last.astimezone(far):%Y-%m-%d %H:%M:%S}$", shown("memory", "stats"), re.MULTILINE)
    assert f"{decided.astimezone(far):%Y-%m-%d %H:%M:%S}" in shown("status", "--table")


def test_one_thing_is_counted_in_the_singular(tmp_path: Path) -> None:
    """`1 documents`, `1 chunks` and `1 names`."""
    shop = new_shop(tmp_path, {"a.py": "def first():\n    return 1\n"}, is_indexed=False)

    assert shop.out("reindex").startswith("1 document, 1 chunk; ")
    assert "ready: 1 document, 1 chunk" in shop.out("status", "--table")
    shop.out("lessons", "add", "A rule", "See `src/gone.py`.")
    assert shop.out("lessons", "validate").endswith("\n1 lesson checked, 1 name not found\n")


def test_one_package_of_a_test_run_is_told_in_the_singular(own_shop: Shop) -> None:
    """A title of an observation said "1 packages ok"."""
    event = {
        "hook_event_name": "PostToolUse",
        "session_id": "s1",
        "cwd": str(own_shop.root),
        "tool_name": "Bash",
        "tool_input": {"command": "go test ./..."},
        "tool_response": {"stdout": "ok  \tshop/pay\t0.010s"},
    }
    window = {"HYBRID_MEMORY_BATCH_WINDOW_MS": "0", "HYBRID_DAEMON_ENABLED": "false"}
    words = ("hook", "run", "--client", "claude", "--event", "PostToolUse")
    own_shop.out(*words, stdin=json.dumps(event).encode(), **window)

    assert "1 package ok" in own_shop.out("memory", "recent", **window)


def test_project_may_switch_off_what_is_kept_of_it(own_shop: Shop) -> None:
    """It could switch the whole memory off, not the keeping alone; nothing switches on what the owner switched off."""
    (own_shop.root / ".hybrid" / "config.toml").write_text("[memory]\ncapture = false\n")

    assert "false\n" == own_shop.out("config", "get", "memory.capture")
    own_shop.out("trust", "--revoke", "--quiet")
    assert "false\n" == own_shop.out("config", "get", "memory.capture")
    (own_shop.root / ".hybrid" / "config.toml").write_text("[memory]\ncapture = true\n")
    (own_shop.home / "config.toml").write_text("[memory]\ncapture = false\n")
    done = own_shop.run("config", "get", "memory.capture")
    assert b"false\n" == done.stdout
    assert b"a project may raise privacy, not lower it" in done.stderr


def test_project_without_a_name_is_listed_as_such(own_shop: Shop) -> None:
    """Its row ended behind the size."""
    (own_shop.home / "projects" / "registry.json").unlink()

    assert "(not known any more; " in own_shop.out("projects")


def test_session_start_names_the_latest_handoff_in_one_line(own_shop: Shop) -> None:
    """The whole of it comes with the first injection, as before."""
    own_shop.out("lore", "handoff", "Login works, OAuth is missing", "--next", "register the app")
    event = {"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(own_shop.root), "source": "startup"}
    words = ("hook", "run", "--client", "claude", "--event", "SessionStart")

    told = own_shop.out(*words, stdin=json.dumps(event).encode(), HYBRID_DAEMON_ENABLED="false")

    context = json.loads(told)["hookSpecificOutput"]["additionalContext"]
    (line,) = [line for line in context.splitlines() if line.startswith("[handoff] ")]
    assert "Login works, OAuth is missing (`hybrid lore latest`)" in line
    assert "register the app" not in context
    assert "register the app" in own_shop.hook("How does the payment client retry?", HYBRID_DAEMON_ENABLED="false")


def test_injection_without_a_search_has_no_score(own_shop: Shop) -> None:
    """The log showed the score of the files, which were below their bar, for a prompt that looks back."""
    stop = {
        "hook_event_name": "Stop",
        "session_id": "s0",
        "cwd": str(own_shop.root),
        "last_assistant_message": "It is ignored because src/payments/client.py reads the wrong key. I did not fix it yet.",
    }
    asked = stop | {"hook_event_name": "UserPromptSubmit", "prompt": "Why is the cap of the retries ignored here?"}
    off = {"HYBRID_DAEMON_ENABLED": "false"}
    for name, event in (("UserPromptSubmit", asked), ("Stop", stop)):
        own_shop.out("hook", "run", "--client", "claude", "--event", name, stdin=json.dumps(event).encode(), **off)

    given = own_shop.hook("Where did we stop last time?", session="s2", **off)

    assert "I did not fix it yet" in given
    assert "Completed: " not in given
    assert re.search(r"  injected  +\d+ ms  ", own_shop.out("log", "--limit", "1"))
    assert "[summary] s1 Why is the cap of the retries ignored here?" in own_shop.out("explain")


def test_hot_topics_say_how_they_are_refreshed_and_pinned(own_shop: Shop) -> None:
    """The file named neither the command nor the place where agents read it."""
    own_shop.out("hook", "hot-topics", "--force")

    text = (own_shop.root / ".hybrid" / "hot-topics.md").read_text()

    assert "`hybrid hook hot-topics --force`" in text
    assert "`@.hybrid/hot-topics.md` in `CLAUDE.md`" in text
