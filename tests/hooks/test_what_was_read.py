"""What an agent's own tools showed it is not given again, unless it changed or its context was lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.upkeep.indexing import reindex
from tests.support.builders import PAYMENTS
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.types import Item

CLIENT = "src/payments/client.py"
ASKED = "How does the payment client retry a request after a timeout?"
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A session in the project of payments, with an index and an open gate."""
    return new_talk(tmp_path, {}, is_indexed=True, hooks_gate_threshold=0.0)


def read(talk: Talk, path: str = CLIENT, first: int = 1, last: int = 10_000, **fields: Any) -> None:
    """A read of some lines, by the agent's tool."""
    lines = (talk.root / path).read_text().split("\n")[first - 1 : last]
    file = {"filePath": str(talk.root / path), "content": "\n".join(lines), "startLine": first, "numLines": len(lines)}
    given = {"file_path": str(talk.root / path)}
    talk.tell("PostToolUse", tool="Read", tool_input=given, tool_response={"type": "text", "file": file}, **fields)


def paths(talk: Talk, prompt: str = ASKED, **options: Any) -> set[str]:
    """The files of the items that a prompt would get now; nothing is recorded."""
    reply = talk.reply("UserPromptSubmit", prompt=prompt, **options)
    reply.drop()
    return {item.hit.path for item in reply.decision.items}


def shown(talk: Talk) -> Item:
    """The item of the client that the prompt would get now; nothing is recorded."""
    reply = talk.reply("UserPromptSubmit", prompt=ASKED)
    reply.drop()
    return next(item for item in reply.decision.items if item.hit.path == CLIENT)


def reasons(talk: Talk) -> dict[str, str]:
    """Path → why a part of it was withheld."""
    reply = talk.reply("UserPromptSubmit", prompt=ASKED)
    reply.drop()
    return {entry.hit.path: entry.reason for entry in reply.decision.withheld}


def test_a_file_that_was_read_is_withheld(talk: Talk) -> None:
    """After a whole read its parts are withheld as read; the frame does not say that they were given."""
    before = paths(talk)
    read(talk)
    reply = talk.ask(ASKED)

    assert CLIENT in before
    assert "read" == reasons(talk)[CLIENT]
    assert CLIENT not in reply.text
    assert "given earlier" not in reply.text


def test_of_a_part_that_was_read_in_part_the_rest_is_given(talk: Talk) -> None:
    """A read that ended in the middle of a part leaves the lines behind it; heads stay, to know where they are."""
    lines = PAYMENTS[CLIENT].split("\n")
    item = shown(talk)
    read(talk, last=12)
    rest = shown(talk)

    assert set(item.body.split("\n")) > {line for line in rest.body.split("\n") if not line.startswith("… line")}
    again = {line for line in lines[1:12] if line.strip()} & set(rest.body.split("\n")[1:])
    assert {"    def charge(self, amount_cents, currency):"} == again
    assert (False, True) == (item.is_rest, rest.is_rest)
    assert "without lines that you have read" in talk.ask(ASKED).text


def test_several_reads_and_a_search_add_up(talk: Talk) -> None:
    """Lines of one part may come from different tools; a search's count only where it printed them."""
    lines = PAYMENTS[CLIENT].split("\n")
    read(talk, last=9)
    given = {"pattern": "e", "path": str(talk.root), "output_mode": "files_with_matches"}
    talk.tell("PostToolUse", tool="Grep", tool_input=given, tool_response={"filenames": [CLIENT]})
    listed = paths(talk)
    printed = "\n".join(f"{CLIENT}:{n}:{line}" for n, line in enumerate(lines, 1) if n > 9)
    given = {**given, "output_mode": "content"}
    talk.tell("PostToolUse", tool="Grep", tool_input=given, tool_response={"content": printed})

    assert CLIENT in listed
    assert CLIENT not in paths(talk)


def test_what_changed_since_is_given(talk: Talk) -> None:
    """Of a part that somebody else edited, the paragraph that changed is given, and not what stands as it was read."""
    read(talk)
    talk.write(CLIENT, PAYMENTS[CLIENT].replace("attempts=5", "attempts=7"))
    reindex(talk.workspace())
    changed = shown(talk)

    assert changed.is_rest
    assert "attempts=7" in changed.body
    assert len(changed.body) < len(changed.hit.signature) + len(PAYMENTS[CLIENT])


def test_an_edit_of_the_agent_leaves_the_rest_read(talk: Talk) -> None:
    """After its own edit the agent knows the new text, and what it read around it, wherever that stands now."""
    read(talk)
    old, new = (
        "        raise PaymentFailed(request)\n",
        "        self.log(request)\n        raise PaymentFailed(request)\n",
    )
    talk.write(CLIENT, PAYMENTS[CLIENT].replace(old, new))
    given = {"file_path": str(talk.root / CLIENT), "old_string": old, "new_string": new}
    talk.tell("PostToolUse", tool="Edit", tool_input=given, tool_response={"filePath": CLIENT})
    reindex(talk.workspace())

    assert "read" == reasons(talk)[CLIENT]


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_a_lost_context_makes_all_unread(talk: Talk, source: str) -> None:
    """After a compaction or a clear everything may be given again, also when nothing was given before."""
    read(talk)
    talk.start(source)

    assert CLIENT in paths(talk)


def test_a_compaction_that_is_only_announced(talk: Talk) -> None:
    """Where a client says nothing after a compaction, its announcement makes all unread."""
    read(talk)
    reply = talk.tell("PreCompact", source="auto")

    assert "reset" == reply.decision.reason
    assert CLIENT in paths(talk)


def test_a_subagent_reads_for_itself(talk: Talk) -> None:
    """What a subagent read stands in its own context alone."""
    read(talk, agent_id="a7")

    assert CLIENT in paths(talk)
    assert CLIENT not in paths(replace(talk, agent_id="a7"))


def test_it_can_be_switched_off(talk: Talk) -> None:
    """`hooks.skip_read` off gives what was read, and notes nothing."""
    other = replace(talk, session_id="s2")
    read(talk)
    read(other, flags={"hooks_skip_read": False})

    assert CLIENT in paths(talk, flags={"hooks_skip_read": False})
    assert (True, {}) == (CLIENT in talk.ledger().lines_read, other.ledger().lines_read)


def test_a_private_turn_is_not_noted(talk: Talk) -> None:
    """What tools do for a prompt with `[no-hybrid]` leaves nothing in the ledger."""
    talk.ask("[no-hybrid] look at the client")
    read(talk)

    assert {} == talk.ledger().lines_read


def test_no_text_of_a_file_is_stored(talk: Talk) -> None:
    """The ledger has paths, numbers and digests; of lines with a secret it has nothing."""
    talk.write("src/keys.py", f'def find_key():\n    return "{TOKEN}"\n\n\nLIMIT = 5\n')
    read(talk, "src/keys.py")
    read(talk)
    stored = b"".join(path.read_bytes() for path in (talk.home / "sessions").rglob("*.jsonl"))

    assert {"src/keys.py", CLIENT} == set(talk.ledger().lines_read)
    assert ["1-1", "5-5"] == [place.partition(":")[0] for place in talk.ledger().lines_read["src/keys.py"].split()]
    assert not [word for word in (b"find_key", b"LIMIT", b"ghp_", b"retry", b"Payment") if word in stored]


def test_when_all_was_read_the_answer_is_silence(talk: Talk) -> None:
    """With every result read nothing is given, and the log says why."""
    for path in PAYMENTS:
        read(talk, path)
    reply = talk.ask(ASKED)

    assert ("", "all_seen") == (reply.text, reply.decision.reason)
    assert {"read"} == set(talk.log()[0]["withheld"]) - {"floor"}
