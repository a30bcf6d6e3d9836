"""Pages that the real command serves, of a project with hostile texts in everything that they show."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted
from tests.support.browsing import Browser
from tests.support.builders import PAYMENTS, command_environment
from tests.support.cases import read
from tests.support.memories import FIRST_MS, fill_memory, shop_owner
from tests.support.records import shop_with_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.builders import Shop

SCRIPT = "<script>alert(1)</script>"
"""Markup that no page may hold as it is."""
CONTROL = "\x1b[31m\u202eevil\u200b"
"""A terminal escape, a mark that turns the direction of text, and a character that nobody sees."""
SECRET = "ghp_" + "a1B2c3D4" * 5
"""The form of a well-known token."""
HOSTILE = f"{SCRIPT} {CONTROL} {SECRET} \"'><img src=x onerror=alert(1)>"


def event_line(number: int, project: str, **changes: Any) -> dict[str, Any]:
    """A line of the event log: an injection of one file."""
    (case,) = read("events/injected.txt")
    of_event = {"id": f"{number:06x}{number & 0xFFFF:04x}", "session": f"s{number % 7}", "project": project}
    return case.given() | of_event | changes


GIVEN = f"--- hybrid context (auto-injected, 1 item) ---\n\n[code] src/payments/client.py:1-20\n  {SCRIPT}\n"
"""The text of an injection, as hostile as the file that it shows."""


def outcome_line(project: str, *decisions: str) -> dict[str, Any]:
    """A line of the log of outcomes: a file was edited, a lesson ignored, today."""
    became = [
        {"key": "a", "kind": "code", "place": "src/payments/client.py", "how": "edited"},
        {"key": "b", "kind": "lesson", "place": HOSTILE, "how": "ignored"},
    ]
    now = datetime.now(timezone.utc).isoformat()
    return {"id": "o", "at": now, "project": project, "session": "s1", "decisions": decisions, "became": became}


def write_log(shop: Shop, lines: Sequence[dict[str, Any]], name: str = "events") -> None:
    """Write lines to the event log of a home, or to another file of its folder, after those that are there."""
    path = shop.home / "log" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines)


def key_of(shop: Shop) -> str:
    """The key of the project."""
    return shop_owner(shop).key


class Served:
    """A page that is served by the real command.

    Attributes:
        shop: The project.
        browser: A browser that is not logged in yet.
        token: The token of the address that was printed.
    """

    def __init__(self, shop: Shop, *options: str, **environ: str) -> None:
        settings = command_environment(shop.home) | {"HOME": str(shop.home / "user")} | environ
        command = [*_hybrid(), "dashboard", "--json", "--no-open", *options]
        self.shop = shop
        self.process = subprocess.Popen(
            command,
            cwd=shop.root,
            env=settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
        )
        assert self.process.stdout is not None
        text = b""
        while line := self.process.stdout.readline():
            text += line
            if line.startswith(b"}"):
                break
        assert text, self.process.communicate(timeout=120)[1].decode()
        self.told = json.loads(text)
        self.token = self.told["url"].partition("#")[2]
        self.browser = Browser(self.told["port"])

    @property
    def base(self) -> str:
        """Beginning of the paths of the project."""
        return f"/p/{key_of(self.shop)}"

    def log_in(self) -> Browser:
        """The browser, logged in."""
        answer = self.browser.post("/login", {"token": self.token}, forgery=False)
        assert 303 == answer.status, answer.text
        return self.browser

    def end(self) -> int:
        """Interrupt it, wait, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(2)
        try:
            return self.process.wait(120)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


def _hybrid() -> list[str]:
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom hybrid.__main__ import main; sys.exit(main())"
    return [sys.executable, "-c", code]


def full_shop(folder: Path) -> Shop:
    """A project with records, memory and a log, each with hostile texts."""
    files = PAYMENTS | {
        "poetry.lock": "# a lock file\n",
        "src/new.min.js": "let a=1;" * 200,
        "empty.py": "",
        "data.csv": "1,2\n" * 900,
    }
    found = shop_with_records(folder, files=files)
    fill_memory(found)
    owner = shop_owner(found)
    store = MemoryStore(found.home / "memory.db")
    store.add_observation(owner, Extracted("change", f"Hostile {SCRIPT}", narrative=HOSTILE), FIRST_MS + 5_000_000)
    store.close()
    found.out("lessons", "add", f"Hostile {SCRIPT}", f"Never print {SCRIPT} or {CONTROL}", "--quiet")
    found.out("lore", "decide", f"Hostile {SCRIPT} {CONTROL}", "--why", "It tries the page", "--quiet")
    key = owner.key
    write_log(found, [event_line(number, key) for number in range(1, 4)])
    write_log(found, [outcome_line(key, event_line(1, key)["id"])], "outcomes")
    given = {"id": event_line(1, key)["id"], "at_s": time.time(), "project": key, "session": "s1", "text": GIVEN}
    write_log(found, [given], "given")
    write_log(
        found,
        [
            event_line(
                4, key, reason="gate", score=0.12, items=[], best={"key": "a:1:2:abcd", "name": "x", "cosine": 0.2}
            ),
            event_line(5, key, prompt=HOSTILE, client=SCRIPT, session=SCRIPT),
            event_line(6, key, reason="error", error=HOSTILE, items=None),
            event_line(7, key, items="nothing", kinds="nothing", parts=3, score="high", evidence=[]),
            event_line(8, "f" * 16, prompt="of another project"),
        ],
    )
    return found
