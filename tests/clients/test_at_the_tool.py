"""What a hook answers at the use of a tool reaches the very next request of the real client's model.

The hooks are those that our installer writes. Records about a file come from hybrid itself; before that a stand-in for `hybrid` answers each with the same text, and keeps what it
was told. `HYBRID_WRITE_FIXTURES=1` writes that to `tests/fixtures/hooks`, an event for each use of a tool.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.base.clients import clients
from tests.clients.acting import ACT, DELEGATE, EDITED, FAILED, READ, TASK, StandIn, rules, steps, tell_failures
from tests.clients.dialects import strings_in
from tests.support.recorded import FOLDER

if TYPE_CHECKING:
    from tests.clients.conftest import OpenSeat
    from tests.clients.seat import Seat

pytestmark = [pytest.mark.clients, pytest.mark.slow]

CLIENTS = [name for name, each in clients().items() if each.events and each.package]
MODELS = {"codex": "gpt-5.5"}
"""A model that Codex knows: it is offered a tool for patches. With another one patches come without an event."""

WHY = "The provider locks an account after the sixth."

TELLING_REFUSED_EDITS = ["qwen"]
"""Of an edit that does not fit its file the others tell nothing, or drop the answer, or have an event of their own."""


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("is_subagent", [False, True], ids=["main", "subagent"])
def test_the_answer_reaches_the_next_request(open_seat: OpenSeat, name: str, *, is_subagent: bool) -> None:
    """After a read, a search, an edit, a new file and a command that failed; in the main agent and in a subagent."""
    seat = open_seat(name, model=MODELS.get(name, ""))
    seat.install(scope="project")
    if name == "claude":
        tell_failures(seat)
    stand_in = StandIn(seat)
    seat.api.rules = rules(seat)

    seat.talk(DELEGATE if is_subagent else ACT, PATH=stand_in.path)

    done = [step.name for step in steps(seat)]
    shown = [len(request.frames) for request in seat.api.asked(TASK if is_subagent else ACT)][: len(done) + 1]
    told = [name for name, before, after in zip(done, shown, shown[1:], strict=False) if after == before + 1]
    if os.environ.get("HYBRID_WRITE_FIXTURES"):
        _write(seat, stand_in, is_subagent=is_subagent)
    assert [step for step in done if step != "refused-edit" or name in TELLING_REFUSED_EDITS] == told
    failed = [frame for request in seat.api.requests for frame in request.frames if FAILED in frame]
    assert "failed-command" == done[-1]
    assert 1 == len(failed)


@pytest.mark.parametrize(
    ("name", "model"), [*((name, MODELS.get(name, "")) for name in CLIENTS), ("claude", "claude-sonnet-4-5")]
)
@pytest.mark.parametrize("is_subagent", [False, True], ids=["main", "subagent"])
def test_a_record_comes_with_the_file_that_it_names(
    open_seat: OpenSeat, name: str, model: str, *, is_subagent: bool
) -> None:
    """A decision comes with the read of its file, once; the tests of a file come with its first edit."""
    seat = open_seat(name, model=model)
    seat.install(scope="project")
    test = seat.desk.project / "tests" / "test_store.py"
    test.parent.mkdir()
    test.write_text("from users.store import UserStore\n\n\ndef test_save():\n    assert UserStore\n", "utf-8")
    seat.desk.hybrid("lore", "decide", f"{READ} tries five times, no more", "--why", WHY)
    seat.desk.hybrid("reindex", "--quiet")
    seat.desk.hybrid("daemon", "start")
    seat.api.rules = rules(seat)

    seat.talk(DELEGATE if is_subagent else ACT)

    done = [step.name for step in steps(seat)]
    shown = ["\n".join(request.frames) for request in seat.api.asked(TASK if is_subagent else ACT)]
    read, edited = done.index("read-file"), done.index("edit-file")
    assert [0] * (read + 1) + [1] * (len(done) - read) == [text.count(WHY) for text in shown][: len(done) + 1]
    tests = f"[tests] tests/test_store.py (of {EDITED})"
    assert [0] * (edited + 1) + [1] * (len(done) - edited) == [text.count(tests) for text in shown][: len(done) + 1]


def _write(seat: Seat, stand_in: StandIn, *, is_subagent: bool) -> None:
    """Write an event for each step that has a name, of subagents for few, and that of the tool which starts one."""
    name, package = seat.agent.name, clients()[seat.agent.name].package
    assert package
    folder = FOLDER / f"{name}-{package.version}{'-pascal' if name == 'copilot' else ''}"
    places = {str(seat.desk.project): "$PROJECT", str(seat.desk.home): "$HOME"}
    places |= {re.sub(r"[^A-Za-z0-9]", "-", place): f"-{mark[1:]}" for place, mark in places.items()}
    left = steps(seat)
    for event, told in stand_in.heard():
        given = list(strings_in(told.get("tool_input")))
        step = next((step for step in left if given and set(strings_in(step.call.arguments)) <= set(given)), None)
        if step:
            left.remove(step)
        # Codex starts a subagent and goes on.
        kind = step.name if step else "report" if TASK in given and name != "codex" else ""
        if not kind or (is_subagent and kind not in ("read-file", "edit-file", "report")):
            continue
        text = json.dumps(told, indent=1, ensure_ascii=False)
        for place, mark in places.items():
            text = text.replace(place, mark)
        end = ".in_subagent" if is_subagent and step else ""
        (folder / f"{event}.{kind}{end}.json").write_text(text, encoding="utf-8")
        if clients()[name].at_tool.exit_code and kind == "failed-command":
            lines = Path(told["transcript_path"]).read_text("utf-8").splitlines(keepends=True)
            said = "".join(line for line in lines if told["tool_use_id"] in line).replace(
                str(seat.desk.project), "$PROJECT"
            )
            (folder / "_transcript.jsonl").write_text(said, encoding="utf-8")
