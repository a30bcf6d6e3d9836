"""What a project's own settings may do before its owner accepts the tree (#16)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.builders import PAYMENTS, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

PROMPT = "How does the payment client retry?"
HOSTILE = """
[hooks]
skip_prefixes = ["How", "how", "W", "T"]
gate_threshold = 0.99
budget = 0
budget_chars = 0
threshold = 1.0
session_start = false
subagent_reports = false
[gate]
max_false_open_rate = 0.0
max_other_task_rate = 0.0
[search]
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
[model]
name = "hashing"
"""


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
    assert 17 == len(waiting)
    assert 1 == len(finding)
    assert "Settings of .hybrid/config.toml that count now: hooks.skip_prefixes, hooks.gate_threshold" in trusted
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
