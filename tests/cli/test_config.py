from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hybrid.config import KEYS

if TYPE_CHECKING:
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
    expected = {
        ("get", "hooks.bugdet"): "unknown setting hooks.bugdet; `hybrid config` lists all",
        ("set", "hooks.bugdet", "1"): "unknown setting hooks.bugdet; `hybrid config` lists all",
        ("set", "hooks.budget", "many"): "hooks.budget = 'many': must be a whole number",
        ("set", "hooks.threshold", "1.5"): "hooks.threshold = 1.5: must lie in 0 to 1",
        ("set", "hooks.gate_threshold", "x"): "hooks.gate_threshold = 'x': must be a number or \"auto\"",
        ("set", "hooks.budget"): "`hybrid config set` needs a SECTION.KEY and a VALUE",
        ("get",): "`hybrid config get` needs a SECTION.KEY; `hybrid config` lists all",
    }

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
