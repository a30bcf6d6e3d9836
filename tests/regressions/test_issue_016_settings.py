"""Lists in settings, and what a project's own settings may do before its owner accepts the tree (#16)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

PROMPT = "How does the payment client retry?"
LISTS = ("index.include", "index.exclude", "hooks.skip_prefixes", "memory.skip_tools", "memory.exclude_projects")
HOSTILE = """
[hooks]
skip_prefixes = ["How", "how", "W", "T"]
min_prompt_length = 10000
gate_threshold = 0.99
budget = 0
budget_chars = 0
threshold = 1.0
session_start = false
subagent_reports = false
[gate]
max_false_open_rate = 0.0
max_other_task_rate = 0.0
pieces = 0
[search]
depth = 1
min_cosine = 1.0
[lessons]
enabled = false
[lore]
enabled = false
[index]
auto = false
watch = false
follow_gitignore = false
include = ["private/"]
chunk_max_chars = 100
[model]
name = "hashing"
"""


@pytest.mark.parametrize("key", LISTS)
@pytest.mark.parametrize(
    "text",
    ['["a/", "b/"]', "['a/', 'b/']", '["a/",\n "b/",]', '"a/", "b/"', "a/,b/", " a/ , b/ ,"],
    ids=["toml", "single quotes", "lines", "quoted texts", "commas", "spaces"],
)
def test_a_list_may_be_written_in_every_usual_way(new_project: Shop, key: str, text: str) -> None:
    """A list in the syntax of `config.toml` and of `config get` was stored as two broken texts."""
    variable = "HYBRID_" + key.replace(".", "_").upper()

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


@pytest.mark.parametrize("text", ['["a/", "b/"', "[a/, b/]", '"a/", "b/"]', '["a/"]\n[log]\nkeep = 1', "[1, 2]"])
def test_a_broken_list_is_an_error(new_project: Shop, text: str) -> None:
    """What begins like a list and is none ends with code 2 and what to write; nothing is written."""
    done = new_project.run("config", "set", "index.exclude", text, "--user")
    problems = new_project.json("config", "check", HYBRID_INDEX_EXCLUDE=text, code=2)["problems"]

    assert 2 == done.returncode
    assert b"write a,b or" in done.stderr or b"must be a list of texts" in done.stderr
    assert not (new_project.home / "config.toml").exists()
    assert problems[0].startswith("HYBRID_INDEX_EXCLUDE: index.exclude")


def test_a_list_that_an_earlier_version_broke_is_read_as_it_was_meant(new_project: Shop) -> None:
    """The two broken texts that `config set` stored are put together again."""
    new_project.home.mkdir(parents=True)
    (new_project.home / "config.toml").write_text("""[index]\nexclude = ['["a/"', '"b/"]']\n""")

    found = new_project.json("config", "get", "index.exclude")["settings"]["index.exclude"]["value"]

    assert ["a/", "b/"] == found[-2:]


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


def test_settings_of_a_clone_silence_nothing(tmp_path: Path) -> None:
    """Before its owner accepts a tree, its settings leave every prompt as it is; then they count."""
    clone = new_shop(tmp_path)
    plain = clone.hook(PROMPT)
    clone.out("trust", "--revoke")
    (clone.root / ".hybrid" / "config.toml").write_text(HOSTILE)
    given = clone.hook(PROMPT, session="s1b")
    waiting = clone.json("config")["waiting"]
    finding = [
        found
        for found in json.loads(clone.run("doctor", "--json").stdout)["findings"]
        if "does not count yet" in found["what"]
    ]
    trusted = clone.out("trust")
    silent = clone.hook(PROMPT, session="s2")

    assert plain == given != ""
    assert 21 == len(waiting)
    assert 1 == len(finding)
    assert "Settings of .hybrid/config.toml that count now: hooks.skip_prefixes, hooks.min_prompt_length" in trusted
    assert "" == silent
    assert [] == clone.json("config")["problems"]
    assert "which counts after `hybrid trust`" in clone.out("trust", "--revoke")
    assert clone.hook(PROMPT, session="s3")


def test_a_clone_may_raise_privacy_and_leave_files_out(tmp_path: Path) -> None:
    """Privacy counts before anybody accepts the tree, as `.gitignore` does; bringing files back does not."""
    settings = (
        '[privacy]\nlog_prompts = "none"\n[memory]\nenabled = false\n[index]\nexclude = ["docs/", "!node_modules/"]\n'
    )
    clone = new_shop(tmp_path, PAYMENTS | {".hybrid/config.toml": settings}, is_indexed=False)

    shown = clone.json("config")

    assert {"index.exclude": ["!node_modules/"]} == shown["waiting"]
    assert ("none", False) == tuple(
        shown["settings"][key]["value"] for key in ("privacy.log_prompts", "memory.enabled")
    )
    assert {"docs/", "node_modules/"} <= set(shown["settings"]["index.exclude"]["value"])


def test_a_reindex_by_hand_uses_the_settings_that_it_accepts(tmp_path: Path) -> None:
    """`reindex` accepts the tree, says which settings count from now on, and builds with them already."""
    settings = '[index]\ninclude = ["made/"]\n'
    files = PAYMENTS | {".hybrid/config.toml": settings, ".gitignore": "made/\n", "made/a.py": "def made(): ...\n"}
    clone = new_shop(tmp_path, files, is_indexed=False)

    said = clone.out("reindex")
    found = clone.json("search", "made", "--json")

    assert "Settings of .hybrid/config.toml that count now: index.include" in said
    assert "made/a.py" in json.dumps(found)


def test_what_the_owner_sets_before_accepting_says_that_it_waits(new_project: Shop) -> None:
    """`config set` in a tree that nobody accepted writes the value and says when it counts."""
    said = new_project.out("config", "set", "hooks.budget", "80")

    assert said.endswith("80 counts after `hybrid trust`: nobody accepted this tree yet\n")
    assert "150\n" == new_project.out("config", "get", "hooks.budget")
    assert "hooks.budget = 80" in new_project.out("config", "show")
