from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import ConfigError
from hybrid.base.resources import shipped
from hybrid.cli.config import write_setting
from hybrid.config import (
    ADDING,
    CONSTANTS,
    KEYS,
    NO_PROJECT_CHOOSES,
    Loaded,
    check,
    load,
    parse_text,
    unknown_variables,
    value_of,
)
from tests.support.cases import Case, cases


def _load(
    tmp_path: Path, *, user: str = "", project: str = "", environ: dict[str, str] | None = None, **flags: object
) -> Loaded:
    """The settings with a user's and a project's file."""
    folder = tmp_path / "tree" / ".hybrid"
    folder.mkdir(parents=True)
    if user:
        (tmp_path / "config.toml").write_text(user, encoding="utf-8")
    if project:
        (folder / "config.toml").write_text(project, encoding="utf-8")
    changes = {key.replace("_", ".", 1): value for key, value in flags.items()}
    return load(home=tmp_path, project_folder=folder, is_accepted=True, environ=environ or {}, flags=changes)


def _shipped_lines() -> list[str]:
    return shipped("config.toml").read_text(encoding="utf-8").splitlines()


def test_every_setting_stands_in_the_shipped_file_and_in_the_code() -> None:
    """The shipped file and the values hold the same keys in the same order."""
    data = tomli.loads("\n".join(_shipped_lines()))

    assert list(KEYS) == [f"{section}.{name}" for section, entries in data.items() for name in entries]


def test_every_setting_has_its_reason_above_it() -> None:
    """Above every setting of the shipped file, or above its group, stands a comment."""
    lines = _shipped_lines()
    without = []
    for number, line in enumerate(lines):
        if not re.match(r"\w+ = ", line):
            continue
        above = next(before for before in reversed(lines[:number]) if not re.match(r"\w+ = ", before))
        if not above.startswith("# "):
            without.append(line)

    assert [] == without


def test_defaults_come_from_the_shipped_file(tmp_path: Path) -> None:
    """Without any layer every value is the shipped one and says so."""
    loaded = load(home=tmp_path, environ={})
    data = tomli.loads("\n".join(_shipped_lines()))

    assert {"default"} == set(loaded.origins.values())
    assert () == loaded.problems
    for key in KEYS:
        section, name = key.split(".")
        value = value_of(loaded.config, key)
        assert data[section][name] == (list(value) if isinstance(value, tuple) else value)


def test_defaults_that_the_interface_promises(tmp_path: Path) -> None:
    """The defaults that users and clients rely on."""
    config = load(home=tmp_path, environ={}).config

    assert (0.5, 150, 4000, "adaptive") == (
        config.hooks.threshold,
        config.hooks.budget,
        config.hooks.budget_chars,
        config.hooks.content_mode,
    )
    assert ("auto", True, (), 1500) == (
        config.hooks.gate_threshold,
        config.hooks.dedup_enabled,
        config.hooks.skip_prefixes,
        config.hooks.deadline_ms,
    )
    assert (256, 60, 1_000_000) == (config.search.depth, config.search.rrf_k, config.index.max_file_bytes)


LAYERS = ["default", "user", "project", "environment", "flag"]


@pytest.mark.parametrize("highest", range(5), ids=LAYERS)
def test_later_layers_win(tmp_path: Path, highest: int) -> None:
    """User, project, environment and flag follow one another, and the origin names the layer that decided."""
    layers: dict[str, Any] = {
        "user": "[hooks]\nbudget = 11\n",
        "project": "[hooks]\nbudget = 12\n",
        "environ": {"HYBRID_HOOKS_BUDGET": "13"},
        "hooks_budget": 14,
    }
    loaded = _load(tmp_path, **{name: layers[name] for name in list(layers)[:highest]})

    origins = [
        "default",
        str(tmp_path / "config.toml"),
        str(tmp_path / "tree/.hybrid/config.toml"),
        "HYBRID_HOOKS_BUDGET",
        "flag",
    ]
    assert [150, 11, 12, 13, 14][highest] == loaded.config.hooks.budget
    assert origins[highest] == loaded.origins["hooks.budget"]


def test_a_flag_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    """A flag of None leaves the layer below in force."""
    loaded = _load(tmp_path, user="[hooks]\nbudget = 11\n", hooks_budget=None)

    assert (11, str(tmp_path / "config.toml")) == (loaded.config.hooks.budget, loaded.origins["hooks.budget"])


@cases("settings/mistakes.txt")
def test_a_mistake_is_named_and_the_default_stays(tmp_path: Path, case: Case) -> None:
    """A wrong key, type, value or file is one problem with its file in it, and changes no setting."""
    _assert_a_mistake(tmp_path, case.text, case.expected or "")


@pytest.mark.parametrize(
    ("digit", "n", "message"),
    [("9", 400, "must lie in 0 to 1"), ("9", 5000, "cannot be read"), ("[", 5000, "cannot be read")],
)
def test_a_value_without_end_is_a_mistake(tmp_path: Path, digit: str, n: int, message: str) -> None:
    """Numbers beyond what can be read, and brackets beyond what can be nested."""
    _assert_a_mistake(tmp_path, f"[hooks]\nthreshold = {digit * n}", message)


def _assert_a_mistake(tmp_path: Path, text: str, message: str) -> None:
    loaded = _load(tmp_path, user=text)

    assert 1 == len(loaded.problems)
    assert message in loaded.problems[0]
    assert str(tmp_path / "config.toml") in loaded.problems[0]
    assert load(home=tmp_path / "none", environ={}).config == loaded.config


@pytest.mark.parametrize("of", ["user", "project"])
def test_a_constant_in_a_file_is_named_and_has_no_effect(tmp_path: Path, of: str) -> None:
    """One sentence names all of a file; it is a warning, as a mistake in a project's file is, and never an error."""
    loaded = _load(tmp_path, **{of: "[hooks]\nbudget = 11\n[gate]\nchat = 0.1\n[ranking]\nbest_words = 'x'\n"})

    assert load(home=tmp_path / "none", environ={}).config.gate == loaded.config.gate
    assert (11, ()) == (loaded.config.hooks.budget, loaded.own_problems)
    (problem,) = loaded.warnings
    assert (problem,) == loaded.problems
    assert "config.toml: gate.chat, ranking.best_words were removed: the value that served best is built in" in problem


def test_a_constant_in_the_environment_has_no_effect(tmp_path: Path) -> None:
    """Commands that show settings name the variable, see `unknown_variables`; no other does."""
    environ = {"HYBRID_SEARCH_RRF_K": "20"}

    loaded = load(home=tmp_path, environ=environ)

    assert (60, ()) == (loaded.config.search.rrf_k, loaded.problems)
    (sentence,) = unknown_variables(environ)
    assert "HYBRID_SEARCH_RRF_K is set in the environment, but search.rrf_k was removed: " in sentence


def test_a_flag_overrides_a_constant(tmp_path: Path) -> None:
    """Evaluations do so by its name; type and range are checked as those of a setting, and the others stay."""
    loaded = load(home=tmp_path, environ={}, flags={"search.rrf_k": 20, "ranking.history": 0, "gate.probe": 2})

    assert (20, 0.0, 0.04) == (
        loaded.config.search.rrf_k,
        loaded.config.ranking.history,
        loaded.config.gate.probe,
    )
    assert ("flag", "flag") == (loaded.origins["search.rrf_k"], loaded.origins["ranking.history"])
    assert ("command line: gate.probe = 2: must lie in 0 to 1",) == loaded.problems


def test_constants_are_of_their_type_and_range() -> None:
    """What the code gives as a constant is what its check would take, and none is a setting too."""
    checked = {key: check(key, value) for key, value in CONSTANTS.items()}

    assert {key: (type(value), value) for key, value in CONSTANTS.items()} == {
        key: (type(value), value) for key, value in checked.items()
    }
    assert set() == set(KEYS) & set(CONSTANTS)


def test_one_mistake_does_not_take_the_rest_of_the_file(tmp_path: Path) -> None:
    """What is right in a file with a mistake is in force."""
    loaded = _load(tmp_path, user="[hooks]\nbudget = 'x'\nbudget_chars = 900\n")

    assert (150, 900, 1) == (loaded.config.hooks.budget, loaded.config.hooks.budget_chars, len(loaded.problems))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"[hooks]\nformat = '\xe4'\n"], ids=["binary", "latin-1"])
def test_a_file_of_another_encoding_is_a_problem(tmp_path: Path, content: bytes) -> None:
    """A file that is not UTF-8 is named, not raised."""
    (tmp_path / "config.toml").write_bytes(content)

    assert 1 == len(load(home=tmp_path, environ={}).problems)


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    """A file that an editor on Windows began with a byte order mark is read."""
    (tmp_path / "config.toml").write_bytes(b"\xef\xbb\xbf[hooks]\nbudget = 11\n")

    assert 11 == load(home=tmp_path, environ={}).config.hooks.budget


def test_a_folder_in_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    """A folder named config.toml is named, not raised."""
    (tmp_path / "config.toml").mkdir()

    assert 1 == len(load(home=tmp_path, environ={}).problems)


@pytest.mark.parametrize("key", [key for key in KEYS if key.startswith(NO_PROJECT_CHOOSES)])
def test_no_project_chooses(tmp_path: Path, key: str) -> None:
    """A project's own file does not set what concerns the machine and its owner; the attempt is reported."""
    value = value_of(load(home=tmp_path, environ={}).config, key)
    loaded = _load(tmp_path, project=f"{key} = {json.dumps(value)}")

    assert ("default", ()) == (loaded.origins[key], loaded.own_problems)
    assert [True] == [f"{key} = " in text for text in loaded.warnings]


@cases("settings/own_only.txt")
def test_a_project_may_not_choose(tmp_path: Path, case: Case) -> None:
    """A project's own file neither names models and logs nor lowers privacy; the attempt is reported."""
    key = case.expected or ""
    loaded = _load(tmp_path, project=case.text)

    assert "default" == loaded.origins[key]
    assert () == loaded.own_problems
    assert 1 == len(loaded.warnings)
    assert key in loaded.problems[0]


def test_mistakes_of_a_project_are_few_short_and_plain(tmp_path: Path) -> None:
    """What a project's file makes hybrid say is bounded, and holds nothing that a terminal would obey."""
    keys = [f'"\\u001b[31m{"x" * 600}{number}" = 1' for number in range(50)]
    loaded = _load(tmp_path, project="\n".join(["[hooks]", *keys]))

    assert 10 == len(loaded.warnings)
    assert [500] * 10 == [len(problem) for problem in loaded.warnings]
    assert all(problem.isprintable() for problem in loaded.warnings)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights, and there are no named pipes")
@pytest.mark.parametrize("kind", ["link", "pipe", "long"])
def test_a_project_file_is_a_plain_file(tmp_path: Path, kind: str) -> None:
    """A link in the place of a project's file was followed, and a pipe waited for without end; both are refused."""
    folder = tmp_path / "tree" / ".hybrid"
    folder.mkdir(parents=True)
    (tmp_path / "outside.toml").write_text("[hooks]\nbudget = 11\nsecret_name = 1\n")
    path = folder / "config.toml"
    if kind == "link":
        path.symlink_to(tmp_path / "outside.toml")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_text("[hooks]\nbudget = 11\n" + "#" * 256_000)
    loaded = load(home=tmp_path, project_folder=folder, environ={})

    assert (150, 1) == (loaded.config.hooks.budget, len(loaded.warnings))
    assert loaded.warnings[0].startswith(f"{path}: cannot be read: ")


@pytest.mark.skipif(sys.platform == "win32", reason="needs the rights to make links")
def test_the_file_of_the_user_may_be_a_link(tmp_path: Path) -> None:
    """Managers of settings keep the user's file elsewhere and link to it."""
    (tmp_path / "kept.toml").write_text("[hooks]\nbudget = 11\n")
    (tmp_path / "config.toml").symlink_to("kept.toml")

    assert 11 == load(home=tmp_path, environ={}).config.hooks.budget


@pytest.mark.parametrize(
    ("key", "user", "project", "expected"),
    [
        ("privacy.log_prompts", "text", "hash", "hash"),
        ("privacy.log_prompts", "text", "none", "none"),
        ("privacy.log_prompts", "hash", "text", "hash"),
        ("privacy.log_prompts", "none", "hash", "none"),
        ("privacy.log_prompts", "hash", "hash", "hash"),
        ("privacy.redact", False, True, True),
        ("model.name", "hashing", "static-v1", "static-v1"),
        ("model.name", "static-v1", "hashing", "hashing"),
    ],
)
def test_what_a_project_may_choose(tmp_path: Path, key: str, user: object, project: object, expected: object) -> None:
    """A project's file may raise privacy, never lower it, and name a shipped model."""
    section, name = key.split(".")
    loaded = _load(
        tmp_path,
        **{who: f"[{section}]\n{name} = {json.dumps(value)}" for who, value in (("user", user), ("project", project))},
    )

    assert expected == value_of(loaded.config, key)
    assert (expected != project) == bool(loaded.problems)


@cases("settings/environment.txt")
def test_environment_variables(tmp_path: Path, case: Case) -> None:
    """Every setting can be given as HYBRID_SECTION_KEY, as plain text."""
    variable, _, text = case.text.partition("=")
    key, _, expected = (case.expected or "").partition(" ")
    loaded = load(home=tmp_path, environ={variable: text})
    value = value_of(loaded.config, key)

    assert expected == json.dumps(value)
    assert (variable, ()) == (loaded.origins[key], loaded.problems)


BUDGET = ("HYBRID_HOOKS_BUDGET", "hooks.budget", 150)
HALF_LIFE = ("HYBRID_RECENCY_HALFLIFE_DAYS", "memory.half_life_days", 2.0)


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        *((BUDGET, text) for text in ("", "many", "1.5", "true", "[]", "-3")),
        *((HALF_LIFE, t) for t in ("0", "-1", "soon")),
    ],
)
def test_a_wrong_environment_variable_is_a_problem(tmp_path: Path, setting: tuple[str, str, float], text: str) -> None:
    """A wrong value in the environment is named with its variable and not taken."""
    variable, key, default = setting
    loaded = load(home=tmp_path, environ={variable: text})

    assert (default, 1) == (value_of(loaded.config, key), len(loaded.problems))
    assert loaded.problems[0].startswith(f"{variable}: ")


def test_the_setting_s_own_variable_counts_before_another_one(tmp_path: Path) -> None:
    """Names that other memory systems use come second."""
    environ = {"HYBRID_MEMORY_SKIP_TOOLS": "Read", "HYBRID_SKIP_TOOLS": "LS"}

    assert ("Read",) == load(home=tmp_path, environ=environ).config.memory.skip_tools


def test_other_environment_variables_are_left_alone(tmp_path: Path) -> None:
    """HYBRID_HOME and variables of other programs are no settings."""

    assert () == load(home=tmp_path, environ={"HYBRID_HOME": "/x", "HYBRID_DISABLE": "1", "HOOKS_BUDGET": "x"}).problems


def test_a_wrong_flag_is_a_problem(tmp_path: Path) -> None:
    """A wrong flag is named and not taken: a hook goes on, a command makes an error of it."""
    loaded = _load(tmp_path, user="[hooks]\nbudget = 11\n", hooks_budget="x")

    assert ("command line: hooks.budget = 'x': must be a whole number",) == loaded.problems
    assert (11, str(tmp_path / "config.toml")) == (loaded.config.hooks.budget, loaded.origins["hooks.budget"])


@given(st.sampled_from(KEYS), st.text())
def test_any_text_is_a_value_or_a_config_error(key: str, text: str) -> None:
    """Whatever is written for a setting, it is taken in its type or refused with a sentence."""
    try:
        value, problem = parse_text(key, text), key
    except ConfigError as error:
        value, problem = None, str(error)

    assert key in problem
    assert value is None or value == check(key, value)


@pytest.mark.parametrize("key", ["", "hooks", "hooks.", ".budget", "hooks.budget.x", "HOOKS.budget"])
def test_an_unknown_key_is_refused(key: str) -> None:
    """A key that is no setting says which command lists them."""
    with pytest.raises(ConfigError, match=r"unknown setting .*hybrid config"):
        parse_text(key, "3")


COMMENTED = """# Mine.

[hooks]
# Short ones.
budget = 80  # lines
content_mode = "full"

[search]
min_cosine = 0.3
"""


def test_writing_a_setting_keeps_comments_and_order(tmp_path: Path) -> None:
    """A changed value takes the old one's place; every comment and the order stay."""
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)

    write_setting(path, "hooks.budget", 90)

    assert COMMENTED.replace("80", "90") == path.read_text()


def test_writing_a_new_setting_and_a_new_section(tmp_path: Path) -> None:
    """A setting that is not there yet is added to its section, a missing section at the end."""
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)

    write_setting(path, "hooks.threshold", 0.4)
    write_setting(path, "index.exclude", ("a/", "*.snap"))

    loaded = load(home=tmp_path, environ={})
    assert (0.4, ("a/", "*.snap"), 80) == (
        loaded.config.hooks.threshold,
        loaded.config.index.exclude[-2:],
        loaded.config.hooks.budget,
    )
    assert [line for line in COMMENTED.splitlines() if "#" in line] == [
        line for line in path.read_text().splitlines() if "#" in line
    ]


def test_removing_a_setting(tmp_path: Path) -> None:
    """None removes a setting and leaves the others; removing what is not there changes nothing."""
    path = tmp_path / "config.toml"
    path.write_text(COMMENTED)

    write_setting(path, "hooks.budget", None)
    write_setting(path, "log.keep", None)

    loaded = load(home=tmp_path, environ={})
    assert (150, "full", 0.3) == (
        loaded.config.hooks.budget,
        loaded.config.hooks.content_mode,
        loaded.config.search.min_cosine,
    )


def test_writing_makes_a_missing_file(tmp_path: Path) -> None:
    """The first setting makes the file and its folder."""
    path = tmp_path / "new" / "config.toml"

    write_setting(path, "hooks.dedup_enabled", False)

    assert "[hooks]\ndedup_enabled = false\n" == path.read_text()


def test_writing_reads_over_a_byte_order_mark(tmp_path: Path) -> None:
    """A file that is read with a byte order mark can be written too."""
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbf[hooks]\nbudget = 11\n")

    write_setting(path, "hooks.budget", 12)

    assert 12 == load(home=tmp_path, environ={}).config.hooks.budget


@pytest.mark.parametrize("content", ["[hooks\n", "hooks = 3\n"], ids=["not TOML", "not a section"])
def test_a_file_that_cannot_be_changed_is_left_alone(tmp_path: Path, content: str) -> None:
    """A file that is not TOML, or has a value where the section should be, is refused and stays as it is."""
    path = tmp_path / "config.toml"
    path.write_text(content)

    with pytest.raises(ConfigError, match="by hand"):
        write_setting(path, "hooks.budget", 12)
    assert content == path.read_text()


@given(st.sampled_from(KEYS), st.data())
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, key: str, data: st.DataObject) -> None:
    """A value that a setting takes comes back as it was written."""
    text = data.draw(
        st.sampled_from(["true", "false", "0.5", "200", "1", "auto", "full", "text", "hash", "a,b", "postings"])
    )
    try:
        value = parse_text(key, text)
    except ConfigError:
        return
    home = tmp_path_factory.mktemp("written")
    write_setting(home / "config.toml", key, value)

    loaded = load(home=home, environ={})
    found = value_of(loaded.config, key)
    if key in ADDING:
        found = tuple(text for text in cast("tuple[str, ...]", found) if text in cast("tuple[str, ...]", value))
    assert (value, ()) == (found, loaded.problems)
