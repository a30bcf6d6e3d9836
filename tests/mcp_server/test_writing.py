"""What agents write down through tools: its origin, the switch, and text that means harm."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hybrid.records.lessons.types import AI_MARK
from tests.mcp_server.projects import SECRET
from tests.support.tool_client import tools_of

if TYPE_CHECKING:
    from tests.support.builders import Shop
    from tests.support.tool_client import Tools

DECISION = {
    "decision": "Settle charges nightly at three",
    "why": "The provider closes its books then",
    "alternatives": ["hourly"],
    "tags": ["payments"],
}


def test_a_decision_names_its_client(own: Shop) -> None:
    """`hybrid lore show` and an injection show what was decided, and that the client wrote it."""
    with tools_of(own, client="codex") as tools:
        ref = tools.call("decide", **DECISION)["ref"]
        read = tools.call("read", ref=ref)["text"]
        again = tools.error("decide", **DECISION)

    shown = own.out("lore", "show", ref)
    assert "codex" in shown
    assert all(text in shown for text in ("nightly at three", "closes its books", "hourly", "payments"))
    assert "closes its books" in read
    assert ref in again
    assert "nightly at three" in own.hook("when do we settle the charges, nightly at three?")


def test_a_lesson_has_the_mark_of_agents(own: Shop) -> None:
    """`hybrid lessons show` has the mark, the tool says `by_agent`, and so has an injection."""
    with tools_of(own) as tools:
        title, rule = "Freeze the ledger clock in tests", "Tests of the ledger read a clock of their own."
        written = tools.call("remember", kind="lesson", title=title, text=rule, triggers=["clock"])
        [shown] = tools.call("lessons", id=written["ref"])["lessons"]
        again = tools.call("remember", kind="lesson", title=title, text=rule)

    assert (True, title) == (shown["by_agent"], shown["title"])
    assert (False, written["ref"]) == (again["written"], again["ref"])
    assert f"{title} {AI_MARK}" in own.out("lessons", "show", written["ref"])
    assert f"{title} {AI_MARK}" in own.hook("how do tests of the ledger freeze the clock?")


def test_an_observation_says_who_noted_it(own: Shop) -> None:
    """`hybrid memory show` gives it with the client; secrets are masked before they are stored."""
    with tools_of(own) as tools:
        written = tools.call(
            "remember",
            title="The forge answers 503 on Sundays",
            text=f"Seen with {SECRET} in hand",
            type="discovery",
            facts=["retry on Monday"],
            files=["src/settings.py"],
        )
        again = tools.call("remember", title="The forge answers 503 on Sundays", files=["src/settings.py"])
        found = tools.call("recall", query="forge answers on Sundays", detail="full")["records"]

    shown = own.out("memory", "show", written["ref"])
    assert "noted by claude" in shown
    assert "retry on Monday" in shown
    assert "src/settings.py" in shown
    assert SECRET not in shown + json.dumps(found)
    assert written["ref"] == found[0]["ref"]
    assert again["written"] is False or again["ref"]


def test_the_user_takes_the_writing_tools_away(own: Shop) -> None:
    """With `mcp.write` off, writing tools are not listed, and refused with the name of the setting when called."""
    own.out("config", "set", "mcp.write", "false", "--user")
    with tools_of(own) as tools:
        listed = {tool.name for tool in tools.ask("list_tools").tools}
        errors = [tools.error("decide", **DECISION), tools.error("remember", title="x")]

    assert {"search", "read", "context", "related", "lessons", "recall"} == listed
    assert all("mcp.write" in error for error in errors)
    assert not own.json("lore", "list")["records"] or "nightly" not in own.out("lore", "list")


def test_nothing_is_written_down_where_it_would_not_be_read(own: Shop) -> None:
    """With lore, lessons or the memory off, what would go there is refused with the name of the setting."""
    for section in ("lore", "lessons", "memory"):
        own.out("config", "set", f"{section}.enabled", "false", "--user")
    with tools_of(own) as tools:
        assert "lore.enabled" in tools.error("decide", **DECISION)
        assert "lessons.enabled" in tools.error("remember", kind="lesson", title="x")
        assert "memory.enabled" in tools.error("remember", title="x")


def test_a_project_cannot_switch_writing_on(own: Shop) -> None:
    """What the user took away stays away, whatever the project's own settings and the client's variables say."""
    own.out("config", "set", "mcp.write", "false", "--user")
    (own.root / ".hybrid" / "config.toml").write_text("[mcp]\nwrite = true\n")
    with tools_of(own) as tools:
        assert "mcp.write" in tools.error("remember", title="x")


# --- text that means harm -----------------------------------------------------------------------------------


def _texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]  # pyright: ignore[reportUnknownVariableType]
    return [value] if isinstance(value, str) else []


def test_any_text_can_be_searched_for(tools: Tools) -> None:
    """Whatever an agent asks, it gets an answer."""
    for query in ("\u202e", "\x00", "a\x00b", "\ufeff", "🦭" * 100, "x" * 5000, "\\", '"', "%s{}[0]"):
        tools.call("search", query=query)
        tools.call("recall", query=query)
        tools.call("lessons", query=query)
