from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

from hybrid.resources import shipped
from tests.builders import CHECKOUT

if TYPE_CHECKING:
    from tests.builders import Shop


def test_the_manifest_of_claude_code_runs_and_answers(shop: Shop) -> None:
    """Its one command is short, starts `hybrid`, has time to answer, and answers an event of that client."""
    manifest = json.loads(shipped("hooks", "claude", "settings.json").read_text(encoding="utf-8"))
    [group] = manifest["hooks"]["UserPromptSubmit"]
    [hook] = group["hooks"]
    sample = CHECKOUT / "tests" / "fixtures" / "hooks" / "claude_code-2.1.330" / "UserPromptSubmit.json"
    event = sample.read_text(encoding="utf-8").replace("$PROJECT", str(shop.root))

    program, *arguments = shlex.split(hook["command"])
    answer = json.loads(shop.out(*arguments, stdin=event.encode()))

    assert ("command", "hybrid") == (hook["type"], program)
    assert len(hook["command"]) < 80
    assert 2 <= hook["timeout"] <= 10
    assert {"UserPromptSubmit"} == set(manifest["hooks"])
    assert "UserPromptSubmit" == answer["hookSpecificOutput"]["hookEventName"]
    assert "claude" == shop.json("log")["events"][0]["client"]


def test_the_readme_names_every_manifest() -> None:
    """Each folder of `hooks/` stands in its README."""
    readme = shipped("hooks", "README.md").read_text(encoding="utf-8")
    folders = [path.name for path in shipped("hooks").iterdir() if path.is_dir()]

    assert folders
    assert all(f"`{name}/`" in readme for name in folders)
