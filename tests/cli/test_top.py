"""`hybrid top`: a frame of what was decided, and a view that stays and follows the log until one leaves."""

from __future__ import annotations

import json
import re
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import command_environment, new_shop
from tests.support.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

RETRY = "How does the payment client retry a request after a timeout?"
DINNER = "what should I cook for dinner tonight?"


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project in which two prompts were asked."""
    shop = new_shop(tmp_path_factory.mktemp("used"))
    shop.hook(RETRY, session="session-7")
    shop.hook(DINNER, session="session-7")
    return shop


def _frame(shop: Shop, *args: str, columns: int = 160) -> list[str]:
    return shop.out("top", "--once", *args, COLUMNS=str(columns)).splitlines()


def _staying(shop: Shop, *args: str, columns: int = 100, rows: int = 30) -> Terminal:
    environ = command_environment(shop.home) | {"HOME": str(shop.home / "user")}
    command = [sys.executable, "-m", "hybrid", "top", "--every", "0.2", *args]
    return Terminal(command, cwd=shop.root, environ=environ, columns=columns, rows=rows)


def test_a_frame_tells_what_was_decided_and_why(used: Shop) -> None:
    """Rates, times and reasons stand above; each decision has its time, session, gate, prompt and what came of it."""
    lines = _frame(used, columns=220)
    gave = next(line for line in lines if "gave" in line and RETRY[:20] in line)
    silent = next(line for line in lines if "silent: gate" in line)

    assert lines[0].startswith("hybrid top  shop  ")
    assert "service  does not answer; the next prompt of an agent starts it" in lines
    assert "prompts  2, of which 1 (50%) got something" in lines
    assert "silent   gate 1" in lines
    assert re.search(r"session-  manual +\d+  gave \d +\d\.\d\d/", gave)
    assert "src/payments/client.py:1" in gave
    assert '"what should I cook for dinner' in silent
    assert "Nothing in the project is close enough" in silent


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_a_frame_is_as_wide_as_the_terminal(used: Shop, columns: int) -> None:
    """No line is wider, and on a narrow one what was decided for what is still there."""
    lines = _frame(used, columns=columns)

    assert columns >= max(map(len, lines))
    assert any("silent: gate" in line and '"wh' in line for line in lines)


def test_json_holds_the_same(used: Shop) -> None:
    """Service, builds, figures, and the last events, newest first."""
    found = used.json("top", "--limit", "1")

    assert {"service", "builds", "figures", "events"} == found.keys()
    assert (2, 1, {"gate": 1}) == tuple(found["figures"][name] for name in ("prompts", "injected", "reasons"))
    assert ["gate"] == [event["reason"] for event in found["events"]]


def test_a_pipe_gets_one_frame(used: Shop) -> None:
    """Nobody could leave there."""
    assert [line[:20] for line in _frame(used)][1:] == [
        line[:20] for line in used.out("top", COLUMNS="160").splitlines()
    ][1:]


def test_without_a_decision_it_says_where_they_come_from(new_project: Shop) -> None:
    """A fresh installation has no log."""
    assert "Nothing was decided yet: the hooks of your agents add a line for each prompt." in _frame(new_project)


def test_elsewhere_it_shows_every_project(used: Shop, tmp_path: Path) -> None:
    """Outside of a project, and with --all, each decision names its project."""
    lines = used.out("top", "--once", cwd=tmp_path, COLUMNS="160").splitlines()

    assert lines[0].startswith("hybrid top  all projects  ")
    assert any('shop: "what should' in line for line in lines)


def test_a_build_is_shown_with_its_progress(used: Shop) -> None:
    """As far as the build noted it, while it holds its lock."""
    from hybrid.base.atomic import locked

    folder = next((used.home / "projects").glob("*/"))
    note = '{"pid": 1, "host": "here", "step": "read", "done": 12, "total": 48, "share": 0.25, "seconds_left": 9}'
    (folder / "build.holder").write_text(note)
    with locked(folder / "build.lock", 1.0):
        lines = _frame(used)
    (folder / "build.holder").unlink()

    assert "build    shop: process 1 reads and embeds 12 of 48 files, 25% done, about 9 s left" in lines


def test_it_follows_the_log_until_q(tmp_path: Path) -> None:
    """A prompt that is answered meanwhile comes in; a frame is drawn on a screen of its own, which is left again."""
    shop = new_shop(tmp_path)
    with _staying(shop) as terminal:
        terminal.until("Nothing was decided yet")
        shop.hook(RETRY)
        terminal.until("gave")
        terminal.type("p")
        terminal.until("paused: p goes on")
        shop.hook(DINNER)
        terminal.type("p")
        terminal.until("silent: gate")
        terminal.type("q")
        shown = terminal.rest()

        assert 0 == terminal.code()
        assert "\x1b[?1049l" in shown
        assert "Traceback" not in shown


def test_an_interrupt_ends_it(used: Shop) -> None:
    """Ctrl-C leaves as q does."""
    with _staying(used) as terminal:
        terminal.until("hybrid top")
        terminal.type("\x03")

        assert 0 == terminal.code()
        assert "Traceback" not in terminal.shown


def test_a_closed_terminal_ends_it(used: Shop) -> None:
    """No process is left behind that draws for nobody."""
    with _staying(used) as terminal:
        terminal.until("hybrid top")
        terminal.hang_up()

        assert terminal.process.wait(60) in (0, -signal.SIGHUP)


def test_a_small_screen_shows_what_fits(used: Shop) -> None:
    """The first lines stay, also when there is room for no decision."""
    with _staying(used, columns=40, rows=4) as terminal:
        terminal.until("prompts")
        terminal.type("q")

        assert 0 == terminal.code()


def test_a_damaged_line_hides_no_others(tmp_path: Path) -> None:
    """Values of other types than ours are said to be damaged, and the rest is shown."""
    shop = new_shop(tmp_path)
    shop.hook("how does the payment client retry?")
    lines = [{"items": 5}, {"items": ["a"]}, {"score": "a", "threshold": {}, "at": 7}, {"kinds": 3, "latency_ms": "x"}]
    with (shop.home / "log" / "events.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(
            json.dumps({"event": "UserPromptSubmit", "cwd": str(shop.root), **line}) + "\n" for line in lines
        )
    frame = "\n".join(_frame(shop))

    assert "gave" in frame
    assert "a damaged line of the log" in frame
