"""What commands print and what hooks answer on a small project, kept line by line.

A change of structure must leave all of it as it is. Numbers with decimals, dates, ids and paths are shown as marks, since
they differ between runs and machines. After a change that is meant, `HYBRID_WRITE_GOLDEN=1 pytest tests/golden/test_outputs.py`
writes the files anew; read the difference before it is committed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import CHECKOUT, new_shop
from tests.support.cases import read
from tests.support.memories import fill_memory
from tests.support.recorded import FOLDER, folders
from tests.support.records import write_records

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.builders import Shop

OUTPUTS = Path(__file__).parent / "outputs"

COMMANDS = {case.text: tuple(shlex.split(str(case.expected))) for case in read("golden/commands.txt")}
AFTER_HOOKS: dict[str, tuple[str, ...]] = {
    "explain": ("explain",),
    "explain-json": ("explain", "--json"),
    "log": ("log",),
    "log-json": ("log", "--json"),
}
"""These show the decision about `PROMPT`."""
_MARKS = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?([+-]\d\d:\d\d|Z)?", "DATE"),
    (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
    (r"-?\b\d+(\.\d+)+(e-?\d+)?\b", "N.N"),
    (r"\b[0-9a-f]{8,64}\b", "ID"),
    (r" *\b\d+ ms\b", " N ms"),
    (r"(pid|size_bytes|latency_ms|elapsed_ms|bytes)(\W+)\d+", r"\1\2N"),
)
"""Pattern → mark, in the order in which they are replaced."""

PROMPT = "How does the payment client retry a charge after a timeout?"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """What the commands print about the payments project with lessons, lore and a memory, one after the other."""
    shop = _shop(tmp_path_factory.mktemp("golden"))
    fill_memory(shop)
    shop.out("reindex", "--quiet")
    before = {name: _printed(shop, command) for name, command in COMMANDS.items()}
    assert shop.hook(PROMPT)
    return before | {name: _printed(shop, command) for name, command in AFTER_HOOKS.items()}


@pytest.mark.parametrize("name", [*COMMANDS, *AFTER_HOOKS])
def test_commands_print_the_same(printed: Mapping[str, str], name: str) -> None:
    """Each command prints what it printed when the file was written, and ends with the same code."""
    assert _kept(f"{name}.txt", printed[name]) == printed[name]


@pytest.mark.parametrize(("client", "folder"), sorted(folders().items()))
def test_captured_events_get_the_same_answer(tmp_path: Path, client: str, folder: str) -> None:
    """Each event that a real client sent gets the answer it got when the file was written."""
    shop = _shop(tmp_path)
    shop.out("reindex", "--quiet")
    lines: list[str] = []
    for path in sorted((FOLDER / folder).glob("[A-Za-z]*.json")):
        data = (
            path.read_text(encoding="utf-8")
            .replace("$PROJECT", str(shop.root))
            .replace("$HOME", str(shop.home / "user"))
        )
        event = json.loads(data).get("hook_event_name") or path.stem
        done = shop.run(
            *("hook", "inject-context", "--client", client, "--event", event),
            stdin=data.encode(),
            HYBRID_MEMORY_BATCH_WINDOW_MS="600000",  # On a slow machine a batch would end between two events.
        )
        assert b"" == done.stderr, path.name
        lines += [f"{path.name}: code {done.returncode}", _plain(shop, _readable(done.stdout.decode()))]

    text = "\n".join(lines) + "\n"

    assert _kept(f"hooks-{client}.txt", text) == text


def _shop(folder: Path) -> Shop:
    """The payments project with lessons and lore, before its first index.

    Its key comes from its remote: one that came from its folder, another one in each run, is a part of what the memory
    embeds, and would move scores.
    """
    shop = new_shop(folder, is_indexed=False)
    with (shop.root / ".git" / "config").open("a", encoding="utf-8") as config:
        config.write('[remote "origin"]\n\turl = https://example.com/acme/shop.git\n')
    write_records(shop.root, shop.home)
    return shop


def _printed(shop: Shop, command: tuple[str, ...]) -> str:
    done = shop.run(*command)
    printed = _readable(done.stdout.decode()) + done.stderr.decode()
    return f"code {done.returncode}\n{_plain(shop, printed)}"


def _readable(printed: str) -> str:
    """One JSON document becomes lines, so that a difference can be read."""
    try:
        document = json.loads(printed)
    except ValueError:
        return printed
    if "findings" in document:
        # The trial of a hook says how fast this machine is.
        document["findings"] = [finding for finding in document["findings"] if finding["area"] != "trial"]
        document["warnings"] = sum(finding["level"] == "warning" for finding in document["findings"])
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _plain(shop: Shop, text: str) -> str:
    """The text without what differs from run to run."""
    for path, mark in ((shop.root, "PROJECT"), (shop.home, "HOME"), (sys.executable, "PYTHON"), (CHECKOUT, "CHECKOUT")):
        text = text.replace(str(path), mark)
    for pattern, mark in _MARKS:
        text = re.sub(pattern, mark, text)
    return text


def _kept(name: str, text: str) -> str:
    """The text of a golden file, which is written first when that is wanted."""
    path = OUTPUTS / name
    if os.environ.get("HYBRID_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    return path.read_text(encoding="utf-8")
