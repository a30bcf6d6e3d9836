from __future__ import annotations

import contextlib
import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.base.errors import ConfigError
from hybrid.config import CONSTANTS, KEYS, parse_text, unknown_variables
from tests.support.agent import Agent
from tests.support.builders import new_shop
from tests.support.cases import read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


def test_config_lists_every_setting_with_its_origin(shop: Shop) -> None:
    """A line for each setting: value in force and where it comes from; `--json` has the same."""
    shown = shop.out("config", HYBRID_HOOKS_BUDGET="80").splitlines()
    form = shop.json("config", HYBRID_HOOKS_BUDGET="80")

    assert list(KEYS) == [line.split(" = ")[0] for line in shown] == list(form["settings"])
    assert "hooks.budget = 80  (HYBRID_HOOKS_BUDGET)" in shown
    assert "hooks.gate_threshold = auto  (default)" in shown
    assert {"value": 80, "origin": "HYBRID_HOOKS_BUDGET"} == form["settings"]["hooks.budget"]
    assert [] == form["problems"]


def test_set_get_and_unset_keep_comments(own_shop: Shop) -> None:
    """A setting of the project is written below its comments, read back, and taken out again."""
    path = own_shop.root / ".hybrid" / "config.toml"
    before = path.read_text()

    said = own_shop.out("config", "set", "hooks.budget", "80")
    read, shown = own_shop.out("config", "get", "hooks.budget"), own_shop.out("config", "show", "hooks.budget")
    removed = own_shop.out("config", "unset", "hooks.budget")

    assert f"hooks.budget = 80 in {path}\n" == said
    assert ("80\n", f"hooks.budget = 80  ({path})\n") == (read, shown)
    assert f"removed hooks.budget from {path}\n" == removed
    assert before == path.read_text()
    assert "150\n" == own_shop.out("config", "get", "hooks.budget")


def test_settings_of_the_user_lie_in_the_home(own_shop: Shop) -> None:
    """`--user` writes `$HYBRID_HOME/config.toml`; the project's layer wins over it, the environment over both."""
    own_shop.out("config", "set", "hooks.skip_prefixes", "WIP,draft:", "--user")
    own_shop.out("config", "set", "hooks.budget", "90", "--user", "--quiet")
    own_shop.out("config", "set", "hooks.budget", "70", "--quiet")

    assert '[hooks]\nskip_prefixes = ["WIP", "draft:"]\nbudget = 90\n' == (own_shop.home / "config.toml").read_text()
    assert '["WIP", "draft:"]\n' == own_shop.out("config", "get", "hooks.skip_prefixes")
    assert "70\n" == own_shop.out("config", "get", "hooks.budget")
    assert "60\n" == own_shop.out("config", "get", "hooks.budget", HYBRID_HOOKS_BUDGET="60")


def test_wrong_keys_and_values_are_refused(shop: Shop) -> None:
    """An unknown key, a wrong type and a value out of range end with code 2 and what is right; nothing is written."""
    before = (shop.root / ".hybrid" / "config.toml").read_text()
    expected = {tuple(case.text.split()): case.expected for case in read("settings/refused.txt")}

    said = {arguments: shop.error("config", *arguments) for arguments in expected}

    assert {arguments: f"hybrid: {text}" for arguments, text in expected.items()} == said
    assert before == (shop.root / ".hybrid" / "config.toml").read_text()


def test_a_wrong_value_makes_no_folder(new_project: Shop) -> None:
    """What is not written needs no place."""
    shutil.rmtree(new_project.root / ".hybrid", ignore_errors=True)

    assert "whole number" in new_project.error("config", "set", "hooks.budget", "many")
    assert not (new_project.root / ".hybrid").exists()


def test_a_project_may_not_choose_everything(own_shop: Shop) -> None:
    """What is not a project's to choose is not written into its layer, so that no later command stops at it."""
    path = own_shop.root / ".hybrid" / "config.toml"
    before = path.read_text()

    said = own_shop.error("config", "set", "log.keep", "3")

    expected = (
        f"hybrid: {path}: log.keep = 3: is not a project's to choose; "
        "nothing was written (--user writes your own layer)"
    )
    assert expected == said
    assert before == path.read_text()
    assert own_shop.out("config", "set", "log.keep", "3", "--user")


def test_check_names_mistakes_and_their_place(own_shop: Shop) -> None:
    """`config check` ends with 0 when all is in order, else with code 2 and one line that names file and setting."""
    fine = own_shop.out("config", "check")
    path = own_shop.root / ".hybrid" / "config.toml"
    path.write_text("[hooks]\nbudget = 'x'\nnope = 1\n")
    said = own_shop.error("config", "check")
    form = own_shop.json("config", "check", code=2)

    problems = [
        f"{path}: hooks.budget = 'x': must be a whole number",
        f"{path}: unknown setting hooks.nope; `hybrid config` lists all",
    ]
    assert "Every setting is in order.\n" == fine
    assert f"hybrid: {'; '.join(problems)}" == said
    assert problems == form["problems"]


def test_a_mistake_stops_commands_but_no_hook(own_shop: Shop) -> None:
    """A user's file that is no TOML is an error of a command; a hook goes on with the default and the log says so."""
    (own_shop.home / "config.toml").write_text("hooks = [broken")

    said = own_shop.error("search", "retry")
    given = own_shop.hook("How does the payment client retry?")

    assert "config.toml: cannot be read: " in said
    assert given
    assert "config.toml: cannot be read: " in own_shop.json("explain")["event"]["config_problems"][0]
    assert "  settings   " in own_shop.out("explain")


def test_a_removed_setting_stops_nothing(own_shop: Shop) -> None:
    """A file of an earlier version that sets weights makes commands warn, and prompts are answered as before."""
    path = own_shop.home / "config.toml"
    path.write_text("[gate]\nchat = 9.0\nlexical = 0\n[search]\ndepth = 1\n")
    sentence = f"{path}: gate.chat, gate.lexical, search.depth were removed: the value that served best is built in"

    searched, quiet = own_shop.run("search", "retry"), own_shop.run("search", "retry", "--quiet")
    given = own_shop.hook("How does the payment client retry?")
    findings = [
        found for found in own_shop.json("doctor", "--no-trial")["findings"] if found["what"].startswith(sentence)
    ]
    own_shop.out("config", "unset", "gate.chat", "--user")
    own_shop.out("config", "unset", "gate.lexical", "--user")
    own_shop.out("config", "unset", "search.depth", "--user")

    assert (0, 0, b"") == (searched.returncode, quiet.returncode, quiet.stderr)
    assert f"hybrid: warning: {sentence}" in searched.stderr.decode()
    assert given
    assert ["warning"] == [found["level"] for found in findings]
    assert "Every setting is in order.\n" == own_shop.out("config", "check")


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


PROMPT = "How does the payment client retry after a timeout?"


LONG_HEX = "0x" + "f" * 10_000


DEEP = "[" * 3_000


@pytest.mark.parametrize("text", [LONG_HEX, DEEP], ids=["number", "lists"])
def test_a_value_beyond_any_setting_is_refused_in_words(new_project: Shop, text: str) -> None:
    """A number of thousands of digits and lists nested without end were internal errors (#16)."""
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
    for key in (*KEYS, *CONSTANTS):
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


@pytest.mark.parametrize("key", ["memory.path", "index.exclude"])
def test_no_text_holds_a_nul(new_project: Shop, key: str) -> None:
    """No path and no name holds a NUL; `hybrid doctor` ended with an internal error for one."""
    section, _, name = key.partition(".")
    value = '["\\u0000"]' if key == "index.exclude" else '"\\u0000"'
    new_project.home.mkdir()
    (new_project.home / "config.toml").write_text(f"[{section}]\n{name} = {value}\n", encoding="utf-8")

    problems = new_project.json("config", "check", code=2)["problems"]
    doctor = new_project.run("doctor", "--no-trial")

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


@pytest.mark.skipif(sys.platform == "win32", reason="arguments are text there")
@pytest.mark.parametrize("key", ["hooks.skip_prefixes", "memory.path"])
def test_no_setting_holds_bytes_that_are_no_utf8(new_project: Shop, key: str) -> None:
    r"""`hybrid config set hooks.skip_prefixes $'\xff'` was an internal error: TOML cannot hold such a text."""
    written = new_project.error("config", "set", key, "a\udcff", "--user")

    assert f"hybrid: {key} = 'a\\udcff': must be text in UTF-8" == written
    assert not (new_project.home / "config.toml").exists()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("index.include", '["a/", "b/"]'),
        ("index.exclude", "['a/', 'b/']"),
        ("hooks.skip_prefixes", '["a/",\n "b/",]'),
        ("memory.skip_tools", '"a/", "b/"'),
        ("memory.exclude_projects", " a/ , b/ ,"),
    ],
    ids=["toml", "single quotes", "lines", "quoted texts", "spaces"],
)
def test_a_list_may_be_written_in_every_usual_way(key: str, text: str) -> None:
    """A list in the syntax of `config.toml` and of `config get` was taken for two broken texts (#16)."""
    assert ["a/", "b/"] == list(parse_text(key, text))


def test_a_list_is_stored_and_read_back_as_it_was_written(new_project: Shop) -> None:
    """By the command and from the environment; what `config get` prints may be given to `config set` (#16)."""
    key, text, variable = "index.exclude", "['a/', 'b/']", "HYBRID_INDEX_EXCLUDE"

    new_project.out("config", "set", key, text, "--user")
    stored = new_project.json("config", "get", key)["settings"][key]["value"]
    again = new_project.out("config", "set", key, new_project.out("config", "get", key).strip(), "--user")
    given = new_project.json("config", "get", key, **{variable: text})["settings"][key]["value"]

    assert ["a/", "b/"] == stored[-2:] == given[-2:]
    assert again.startswith(f"{key} = ")
    assert stored == new_project.json("config", "get", key)["settings"][key]["value"]


def test_one_text_is_a_list_of_one(new_project: Shop) -> None:
    """A single pattern needs no brackets, and an empty text or list is a list of nothing."""
    found = {
        text: new_project.out("config", "set", "hooks.skip_prefixes", text, "--user").partition(" in ")[0]
        for text in ("WIP", '["WIP"]', "", "[]")
    }

    one, none = 'hooks.skip_prefixes = ["WIP"]', "hooks.skip_prefixes = []"
    assert {"WIP": one, '["WIP"]': one, "": none, "[]": none} == found


@pytest.mark.parametrize("text", ['["a/", "b/"', '["a/"]\n[log]\nkeep = 1', "[1, 2]"])
def test_a_broken_list_is_an_error(new_project: Shop, text: str) -> None:
    """What begins like a list and is none ends with code 2 and what to write; nothing is written."""
    done = new_project.run("config", "set", "index.exclude", text, "--user")
    problems = new_project.json("config", "check", HYBRID_INDEX_EXCLUDE=text, code=2)["problems"]

    assert 2 == done.returncode
    assert b"write a,b or" in done.stderr or b"must be a list of texts" in done.stderr
    assert not (new_project.home / "config.toml").exists()
    assert problems[0].startswith("HYBRID_INDEX_EXCLUDE: index.exclude")


def test_a_list_of_patterns_adds_to_the_default(new_project: Shop) -> None:
    """Setting `index.exclude` dropped the folders of installed packages; `!` takes one out on purpose."""
    (new_project.root / "node_modules").mkdir()
    (new_project.root / "node_modules" / "left.js").write_text("export function pad() { return 1 }\n")
    (new_project.root / "gen").mkdir()
    (new_project.root / "gen" / "made.py").write_text("def made():\n    return 1\n")
    plain = new_project.json("reindex")["documents"]

    said = new_project.out("config", "set", "index.exclude", "gen/")
    less = new_project.json("reindex")["documents"]
    new_project.out("config", "set", "index.exclude", '["gen/", "!node_modules"]', "--quiet")
    more = new_project.json("reindex")["documents"]
    shown = new_project.out("config", "get", "index.exclude")

    assert 'In force, since each layer adds to the list, and "!PATTERN" takes one out: ["node_modules/", ' in said
    assert (plain - 1, plain) == (less, more)
    assert "node_modules" not in shown
    assert shown.endswith('"gen/"]\n')


def test_taking_a_pattern_out_does_not_overrule_gitignore(new_project: Shop) -> None:
    """`!node_modules/` takes back the default of hybrid, not what git ignores."""
    (new_project.root / ".gitignore").write_text("node_modules/\n")
    (new_project.root / "node_modules").mkdir()
    (new_project.root / "node_modules" / "left.js").write_text("export function pad() { return 1 }\n")
    before = new_project.json("reindex")["documents"]
    new_project.out("config", "set", "index.exclude", "!node_modules/", "--quiet")

    assert before == new_project.json("reindex")["documents"]


def test_what_is_not_set_cannot_be_removed(new_project: Shop) -> None:
    """`config unset` said that it had removed a setting that was not there, and made a folder in the project."""
    path = new_project.root / ".hybrid" / "config.toml"

    said = new_project.out("config", "unset", "hooks.budget", code=1)

    assert f"hooks.budget is not set in {path}; nothing was changed\n" == said
    assert not path.parent.exists()


def test_options_may_stand_between_arguments(begun: Shop) -> None:
    """`config set --user KEY VALUE` was refused: the key was taken for an argument that is not known."""
    begun.out("config", "set", "--user", "hooks.budget", "80")

    assert "80" == begun.out("config", "get", "--quiet", "hooks.budget").strip()


def test_setting_that_another_layer_overrides_is_told(begun: Shop) -> None:
    """What was written is no news when something else counts: the command says which value, and where it is from."""
    begun.out("trust", "--quiet")
    begun.out("config", "set", "hooks.budget", "7")

    told = begun.out("config", "set", "hooks.budget", "80", "--user")

    assert told.endswith(f"In force: 7 ({begun.root}/.hybrid/config.toml, which comes before this file)\n")


def test_value_that_counts_after_a_setting_is_removed_is_told(begun: Shop) -> None:
    """Removing a setting of one layer uncovers that of the layer below."""
    begun.out("config", "set", "hooks.budget", "80", "--user")
    begun.out("config", "set", "hooks.budget", "7")

    told = begun.out("config", "unset", "hooks.budget")

    assert told.endswith(f"In force: 80 ({begun.home}/config.toml)\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"[hooks]\nbudget = 1\nbudget = 2\n", "is not TOML", id="a key twice"),
        pytest.param(b"# " + 1_100_000 * b"x", "is longer than 1,000,000 bytes", id="far too long"),
    ],
)
def test_file_that_cannot_be_changed_is_left_alone(begun: Shop, content: bytes, reason: str) -> None:
    """A clone may bring any file; it was an internal error, or all of the machine's memory."""
    file = begun.root / ".hybrid" / "config.toml"
    file.write_bytes(content)

    told = begun.error("config", "set", "hooks.budget", "80")

    assert reason in told
    assert content == file.read_bytes()


def test_linked_settings_of_the_user_are_changed_where_they_lie(begun: Shop, tmp_path: Path) -> None:
    """People keep their settings elsewhere and link them."""
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text("# mine\n")
    (begun.home / "config.toml").symlink_to(elsewhere)

    begun.out("config", "set", "hooks.budget", "80", "--user")

    assert ["# mine", "[hooks]", "budget = 80"] == list(filter(None, elsewhere.read_text().splitlines()))


MISTYPED = {"HYBRID_GATE_TRESHOLD": "0.9"}


SENTENCE = "HYBRID_GATE_TRESHOLD is set in the environment and is no setting; HYBRID_HOOKS_GATE_THRESHOLD is one"


def test_a_mistyped_variable_is_named_with_what_was_meant(shop: Shop) -> None:
    """It had no effect without a word; status, doctor and config say so, and name the setting that it is like (#16)."""
    commands = (("status", "--table"), ("doctor", "--no-trial"), ("config",), ("config", "get", "hooks.budget"))
    for command in commands:
        ran, plain = shop.run(*command, **MISTYPED), shop.run(*command)

        assert SENTENCE in " ".join((ran.stdout + ran.stderr).decode().split()), command
        assert b"is no setting" not in plain.stdout + plain.stderr
    assert [SENTENCE] == json.loads(shop.run("config", "--json", **MISTYPED).stdout)["problems"]


def test_a_hook_says_nothing_of_a_mistyped_variable(own_shop: Shop) -> None:
    """Its answer is for the agent, and its log for decisions (#16)."""
    shop = own_shop
    answer = Agent(shop, environ={"HYBRID_DAEMON_ENABLED": "false", **MISTYPED}).prompt("How does the client retry?")

    assert answer.text
    assert "TRESHOLD" not in (answer.out + answer.err).decode()
    assert "TRESHOLD" not in (shop.home / "log/events.jsonl").read_text()


def test_what_has_a_meaning_is_not_named() -> None:
    """Settings, their older names, the folder and the switch are known; a name like none of them stands alone."""
    known = {f"HYBRID_{key.replace('.', '_').upper()}": "" for key in KEYS}
    known |= dict.fromkeys(["HYBRID_HOME", "HYBRID_DISABLE", "HYBRID_MEMORY_DB", "HYBRID_CROSS_PROJECT", "PATH"], "")

    assert () == unknown_variables(known)
    assert ("HYBRID_QQ is set in the environment and is no setting",) == unknown_variables({"HYBRID_QQ": "1"})
    (removed,) = unknown_variables({"HYBRID_HOOKS_ON_NEED": "1"})
    assert "hooks.on_need was removed: " in removed
