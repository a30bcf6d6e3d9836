"""What one event may cost: its names in log and memory, its JSON, and the memory of the service that reads it."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.hooks import event
from hybrid.hooks.event import MAX_ID_CHARS, MAX_PROMPT_CHARS, bounded_id, parse_event, shortened
from tests.support.agent import Agent
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "ghp_" + "a1B2" * 9
LINE = "a line of output with some words and the number 12345\n"
N_BYTES = 16_000_000


@pytest.mark.parametrize("is_alone", [True, False])
def test_names_of_an_event_are_short_and_hold_no_secret(agent: Agent, is_alone: bool) -> None:
    """Session, agent, source and use: the log, the ledgers and the memory get a bounded name without secrets."""
    environ = {"HYBRID_DAEMON_ENABLED": "false" if is_alone else "true"}
    client = Agent(agent.shop, environ=environ)
    names = {"session_id": "s" * 1_500_000, "agent_id": TOKEN, "source": f"key {TOKEN} {'x' * 100_000}"}
    client.send("UserPromptSubmit", prompt="How does the payment client retry?", **names)
    client.send("SessionStart", **names)
    client.send("PostToolUse", tool_name=f"{TOKEN} " * 50, tool_use_id=TOKEN, tool_input={"a": LINE * 9}, **names)
    client.send(f"{TOKEN} " + "Nonsense" * 10_000, **names)
    lines = (agent.shop.home / "log/events.jsonl").read_text().splitlines()
    files = [path for path in agent.shop.home.rglob("*") if path.is_file()]

    assert lines
    assert 8_000 > max(map(len, lines))
    assert [] == [path for path in files if TOKEN.encode() in path.read_bytes()]
    assert [] == [path for path in files if b"s" * (MAX_ID_CHARS + 1) in path.read_bytes()]


def test_different_names_stay_different() -> None:
    """Those that were shortened or masked too; ordinary ones stay as they are."""
    names = ["x" * 300 + "1", "x" * 300 + "2", TOKEN, "ghp_" + "b1B2" * 9]

    assert len(names) == len({bounded_id(name) for name in names})
    assert all(len(bounded_id(name)) <= MAX_ID_CHARS for name in names)
    for name in (
        "",
        "s1",
        "0199a213-81c0-7800-8aa1-bbab2a035a53",
        "ses_5c1d2e3f4affe1b2c3d4E5f6G7h8",
        "toolu_01A09q90",
    ):
        assert name == bounded_id(name)


VALUES = st.recursive(
    st.text(max_size=40) | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=5), inner, max_size=5),
    max_leaves=20,
)


def _short(given: Any, **limits: object) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SMALL_BYTES": 0, **limits}.items():
            patch.setattr(event, name, value)
        data = json.dumps(given, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(shortened(data).decode("utf-8", "replace"))


@examples(200)
@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5))
def test_what_is_small_enough_stays_as_it_is(value: Any) -> None:
    """Neither the search for long texts nor that for many values changes an event within the limits."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")

    assert json.loads(text) == _short(value)


@examples(200)
@given(st.text(min_size=30, max_size=300))
def test_a_long_text_keeps_its_ends(text: str) -> None:
    """What is cut is valid JSON, whatever escapes stand at the cut; the other fields stay."""
    found = _short({"a": text, "b": ["x"]}, _LIMITS=(20,))

    assert ["x"] == found["b"]
    assert found["a"] == text or "\n[...]\n" in found["a"]


@examples(200)
@given(st.lists(VALUES, min_size=5), st.integers(10, 60))
def test_too_many_values_leave_their_beginning(values: list[Any], most: int) -> None:
    """What is left is valid JSON that begins as the event does."""
    found = _short({"session_id": "s1", "values": values}, MAX_VALUES=3, _BEGINNING_BYTES=most)

    assert found.get("session_id", "s1") == "s1"


def test_of_a_long_prompt_the_beginning_is_read() -> None:
    """As much as of a shorter one."""
    data = json.dumps({"prompt": LINE * (N_BYTES // len(LINE)), "session_id": "s1"}).encode()
    found = parse_event(data, client="claude", event="UserPromptSubmit", cwd="/")

    assert ((LINE * 10_000)[:MAX_PROMPT_CHARS].strip(), "s1") == (found.prompt.text, found.session_id)


OUTPUTS: dict[str, Callable[[int], object]] = {
    "one text": lambda n_bytes: LINE * (n_bytes // len(LINE)),
    "many items": lambda n_bytes: [f"item{number % 99_999:05d}" for number in range(n_bytes // 13)],
    "empty lists": lambda n_bytes: [[]] * (n_bytes // 4),
    "many keys": lambda n_bytes: {f"key{number:07d}": number for number in range(n_bytes // 21)},
}
"""What the output of a tool is made of → as much of it."""


@pytest.mark.parametrize("shape", OUTPUTS)
def test_a_large_event_costs_little_memory_whatever_it_is_made_of(shape: str) -> None:
    """Less than a second copy of its bytes, and no object for each of its values."""
    data = json.dumps({"tool_name": "Bash", "tool_response": OUTPUTS[shape](5_000_000)}).encode()
    tracemalloc.start()
    try:
        parse_event(data, client="claude", event="PostToolUse", cwd="/")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 2 * len(data) > peak


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of a process from /proc")
def test_large_events_at_once_cost_the_service_little_memory(served: Agent) -> None:
    """Four of 16 MB, one after the other in the service; what they took goes back to the system."""
    pid = served.wait_for_service()
    served.prompt("How does the payment client retry?")
    before = int(served.status()["rss_bytes"])
    fields = {"tool_name": "Bash", "tool_response": OUTPUTS["many items"](N_BYTES)}
    processes = [served.start("PostToolUse", tool_use_id=f"use {number}", **fields) for number in range(4)]
    for process in processes:
        process.communicate(timeout=120)
    after = int(served.status()["rss_bytes"])
    [peak] = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM")]

    assert pid == served.wait_for_service()
    assert 250_000_000 > int(peak.split()[1]) * 1024
    assert 60_000_000 > after - before
