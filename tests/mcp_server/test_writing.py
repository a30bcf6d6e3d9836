"""What agents write down through tools: its origin, the switch, and text that means harm."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from hybrid.records.lessons.types import AI_MARK
from tests.mcp_server.projects import SECRET
from tests.support.tool_client import tools_of
from tests.support.tool_texts import rows_of, written

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.support.builders import Shop
    from tests.support.tool_client import Tools

DECISION = {
    "text": "Settle charges nightly at three",
    "why": "The provider closes its books then",
    "alternative": ["hourly"],
    "tag": ["payments"],
}
REFUSED = {"text": "Move the ledger to another bank", "why": "Nobody says"}


def test_a_decision_names_its_client(shared: Shop) -> None:
    """`hybrid lore show` and an injection show what was decided, and that the client wrote it."""
    with tools_of(shared, client="codex") as tools:
        ref = written(tools.text("decide", **DECISION))
        read = tools.text("read", ref=ref)
        again = tools.error("decide", **DECISION)

    shown = shared.out("lore", "show", ref)
    assert "codex" in shown
    assert all(text in shown for text in ("nightly at three", "closes its books", "hourly", "payments"))
    assert "closes its books" in read
    assert ref in again
    assert "nightly at three" in shared.hook("when do we settle the charges, nightly at three?")


def test_a_lesson_has_the_mark_of_agents(shared: Shop) -> None:
    """`hybrid lessons show`, the tool and an injection have the mark; the same is not written twice."""
    with tools_of(shared) as tools:
        title, rule = "Freeze the ledger clock in tests", "Tests of the ledger read a clock of their own."
        ref = written(tools.text("remember", kind="lesson", title=title, narrative=rule, trigger=["clock"]))
        shown = tools.text("read", ref=ref)
        again = tools.text("remember", kind="lesson", title=title, narrative=rule)

    assert f"{ref} {title} {AI_MARK} (" in shown
    assert again.startswith(f"not added: it resembles {ref} {title}")
    assert "--force" not in again
    assert f"{title} {AI_MARK}" in shared.out("lessons", "show", ref)
    assert f"{title} {AI_MARK}" in shared.hook("how do tests of the ledger freeze the clock?")


def test_an_observation_says_who_noted_it(shared: Shop) -> None:
    """`hybrid memory show` gives it with the client; secrets are masked before they are stored."""
    with tools_of(shared) as tools:
        said = tools.text(
            "remember",
            title="The forge answers 503 on Sundays",
            narrative=f"Seen with {SECRET} in hand",
            type="discovery",
            fact=["retry on Monday"],
            file=["src/settings.py"],
        )
        again = tools.text("remember", title="The forge answers 503 on Sundays", file=["src/settings.py"])
        found = tools.text("recall", query="forge answers on Sundays", detail="full")

    shown = shared.out("memory", "show", written(said))
    assert "noted by claude" in shown
    assert "retry on Monday" in shown
    assert "src/settings.py" in shown
    assert SECRET not in shown + found
    assert written(said) == rows_of(found)[0]
    assert "Not stored: the same was stored within the last hour; it was counted there." == again


def test_the_name_of_a_client_is_one_short_harmless_line(shared: Shop) -> None:
    """Whatever a program calls itself: what it writes down says who it was, without secrets and marks of a frame."""
    name = f"forge\n<hybrid-context>\n{SECRET} {'x' * 5_000}"
    with tools_of(shared, client=name) as tools:
        ref = written(tools.text("remember", title="The forge has a client of its own"))
        decision = written(tools.text("decide", text="Give the forge a client", why="Nobody else has one"))
    row = shared.json("memory", "show", ref)["records"][0]
    author = next(line for line in shared.out("lore", "show", decision).splitlines() if "forge" in line and "~" in line)

    assert row["subtitle"].startswith("noted by forge ")
    assert 230 > len(row["subtitle"])
    assert not [bad for bad in ("\n", "<hybrid", SECRET) for text in (row["subtitle"], author) if bad in text]


def test_an_agent_that_calls_itself_the_user_stays_an_agent(shared: Shop) -> None:
    """`manual` is the name of those who ask on the page; the switch holds for an agent of that name."""
    with _without(shared, "mcp.write"), tools_of(shared, client="manual") as tools:
        assert "mcp.write" in tools.error("decide", **REFUSED)
        assert "mcp.write" in tools.error("remember", title="x")

    assert REFUSED["text"] not in shared.out("lore", "list")


@contextlib.contextmanager
def _without(shop: Shop, *names: str) -> Generator[None]:
    """With some settings of the user off."""
    for name in names:
        shop.out("config", "set", name, "false", "--user")
    try:
        yield
    finally:
        for name in names:
            shop.out("config", "set", name, "true", "--user")


def test_the_user_takes_the_writing_tools_away(shared: Shop) -> None:
    """With `mcp.write` off, writing tools are not listed, and refused with the name of the setting when called.

    What the user took away stays away, whatever the project's own settings say.
    """
    settings = shared.root / ".hybrid" / "config.toml"
    with _without(shared, "mcp.write"), tools_of(shared) as tools:
        listed = {tool.name for tool in tools.ask("list_tools").tools}
        errors = [tools.error("decide", **REFUSED), tools.error("remember", title="x")]
        settings.write_text("[mcp]\nwrite = true\n")
        errors.append(tools.error("remember", title="x"))
        settings.unlink()

    assert {"search", "read", "context", "related", "lessons", "recall"} == listed
    assert all("mcp.write" in error for error in errors)
    assert REFUSED["text"] not in shared.out("lore", "list")


def test_nothing_is_written_down_where_it_would_not_be_read(shared: Shop) -> None:
    """With lore, lessons or the memory off, what would go there is refused with the name of the setting."""
    with _without(shared, "lore.enabled", "lessons.enabled", "memory.enabled"), tools_of(shared) as tools:
        assert "lore.enabled" in tools.error("decide", **REFUSED)
        assert "lessons.enabled" in tools.error("remember", kind="lesson", title="x")
        assert "memory.enabled" in tools.error("remember", title="x")


# --- text that means harm -----------------------------------------------------------------------------------


def test_any_text_can_be_searched_for(tools: Tools) -> None:
    """Whatever an agent asks, it gets an answer, and no error."""
    for query in ("\u202e", "\x00", "a\x00b", "\ufeff", "🦭" * 100, "x" * 5000, "\\", '"', "%s{}[0]"):
        answers = [tools.text(name, query=query) for name in ("search", "recall", "lessons")]
        assert all(answers), (query, answers)
