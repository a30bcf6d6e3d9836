from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.extraction.commands import outcome_of
from hybrid.capture.extraction.extract import extract
from hybrid.capture.tools import Edit, PathRoots, ToolUse, tool_use
from hybrid.records.memory.types import Extracted
from hybrid.types import ToolCall
from tests.support.cases import cases
from tests.support.uses import use_of

if TYPE_CHECKING:
    from tests.support.cases import Case

FIX = "Fix the retry loop of PaymentClient: it never ends when the bank is down."
CLIENT = '''"""Talks to the bank."""


class PaymentClient:
    """Sends payments."""

    def retry(self, request):
        """Send again until it works."""
        attempts = 3
        while True:
            answer = self.send(request)
            if answer.ok:
                return answer
'''

SHOP = PathRoots("/shop", "/shop")


def told(tool: str, given: object, answer: object = "", error: str = "", prompt: str = FIX) -> Extracted:
    """What is told of one use."""
    found = extract([tool_use(ToolCall(tool, given, answer, error), SHOP)], prompt)
    assert found is not None
    return found


def edited(old: str, new: str, prompt: str = FIX, file: str = "src/payments/client.py") -> Extracted:
    """What is told of an edit of the client."""
    given = {"file_path": f"/shop/{file}", "old_string": old, "new_string": new}
    return told("Edit", given, {"originalFile": CLIENT}, prompt=prompt)


@cases("capture/titles.txt")
def test_titles_of_uses(case: Case) -> None:
    """A command is titled by what was run and how it ended, a search by its pattern and what it hit, an agent by its finding."""
    found = extract([tool_use(ToolCall(*use_of(case.text)), SHOP)], FIX)

    assert case.expected == (f"{found.type}: {found.title}" if found else "")


@cases("capture/edits.txt")
def test_titles_of_edits(case: Case) -> None:
    """An edit is titled by what it exchanged, renamed, added or removed, and the function around it."""
    prompt, *lines = case.text.split("\n")
    old, new = ("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    found = edited(old, new, prompt)

    assert case.expected == f"{found.type}: {found.title}"
    assert (("src/payments/client.py",), ()) == (found.files_modified, found.files_read)


def test_comments_stand_once_each_as_sentences_of_their_own() -> None:
    """Those that are new, and those that an edit left beside what it changed."""
    old = "# Regression test for #12\nassert limit == 3\n"
    new = old.replace("3", "5") + "# the bank is down\nfail()\n# the bank is down\nfail()\n# it is up again\nwork()\n"

    found = edited(old, new, file="src/check.py")

    assert "Comment: the bank is down. it is up again. " in found.narrative
    assert "Beside: Regression test for #12. " in found.narrative
    assert "the bank is down. it is up again." == found.subtitle


def test_only_comments_next_to_an_edit_speak_of_it() -> None:
    """Not those of other statements that a client sent along, and no licence."""
    lines = [
        "# Copyright 2024 Shop Inc.",
        "import bank",
        "# far away",
        *(f"step({n})" for n in range(9)),
        "# the cap",
        "limit = 3",
    ]
    old = "\n".join(lines)

    found = edited(old, old.replace("limit = 3", "limit = 5"), file="src/check.py")

    assert "Beside: the cap. " in found.narrative
    assert "far away" not in found.narrative
    assert "Copyright" not in found.narrative


def test_a_licence_titles_no_new_file() -> None:
    """What every file of a repository says tells nothing of one."""
    text = "# Copyright 2024 Shop Inc.\n# SPDX-License-Identifier: MIT\n\n# Pays the bank.\nBANK = 'x'\n"

    found = told("Write", {"file_path": "/shop/pay.py", "content": text}, {"type": "create"})

    assert "Copyright" not in f"{found.title} {found.subtitle} {found.narrative}"
    assert "Pays the bank." == found.subtitle


def test_an_attribute_belongs_to_what_is_below_it() -> None:
    """Removing a mark above a test names the test."""
    old = "// Regression\n#[should_panic]\n#[test]\nfn retries_end() {\n"
    found = edited(old, old.replace("#[should_panic]\n", ""), file="tests/retry.rs")

    assert "Remove `#[should_panic]` from retries_end (retry.rs)" == found.title


def test_a_new_file_is_titled_by_what_it_defines() -> None:
    """A written file names its definitions; a document its headings."""
    code = told(
        "Write", {"file_path": "/shop/a.py", "content": "def pay():\n    pass\n"}, {"type": "create"}, prompt="Add pay"
    )
    adr = told(
        "Write",
        {"file_path": "/shop/docs/adr/7.md", "content": "# Use SQLite\n\nWe use it instead of files.\n"},
        prompt="",
    )

    assert ("Create a.py with pay()", "feature") == (code.title, code.type)
    assert "Use SQLite" in adr.title
    assert "decision" == adr.type


@pytest.mark.parametrize(
    ("counts", "status"),
    [("3 passed, 1 xfailed", "passed"), ("3 passed, 1 xfailed, 1 failed", "failed"), ("2 passed, 1 error", "failed")],
)
def test_an_expected_failure_is_no_failure(counts: str, status: str) -> None:
    """Tests that are known to fail are counted apart by pytest."""
    assert status == outcome_of(f"{counts} in 0.10s", is_failed=False, exit_code=0).status


def test_a_failed_command_is_a_gotcha_with_its_errors() -> None:
    """The narrative of a failure holds command, exit code, errors and what it was for."""
    found = told(
        "Bash",
        {"command": "make release"},
        "",
        "Exit code 2\nld: symbol pay_cap not found\nmake: *** [release] Error 1",
    )

    assert ("discovery", ("gotcha",)) == (found.type, found.concepts)
    assert all(word in found.narrative for word in ("make release", "exit code 2", "pay_cap", "retry loop"))
    assert "exit code 2" in found.facts


def test_output_that_is_given_twice_counts_once() -> None:
    """Some clients repeat a failure's output; the counts stay."""
    output = "test a::capped ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.33s\n"

    assert "1 failed: a::capped" in told("Bash", {"command": "cargo test capped"}, {"stdout": output + output}).title


@pytest.mark.parametrize(
    "said",
    [
        "I found the bug: client.py never counts its attempts.",
        "**Root cause:** attempts are never counted.",
        "I/O errors are swallowed in reader.py.",
        "Now the loop counts its attempts.",
    ],
)
def test_the_finding_of_a_subagent_is_kept(said: str) -> None:
    """However it begins; a report of nothing but fillers is told as it is."""
    found = told("Task", {"description": "Find the cap", "prompt": "Where?"}, {"content": f"Let me sum up:\n\n{said}"})
    bare = told(
        "Task", {"description": "Find the cap", "prompt": "Where?"}, {"content": "Here is nothing to report at all."}
    )

    assert said.split()[-1] in found.narrative
    assert "→" in found.title
    assert "nothing to report" in bare.narrative


def test_a_read_is_a_discovery_that_tells_what_it_defines() -> None:
    """Whatever the prompt wants, reading finds out; names that the prompt shares come first, with their docs."""
    found = told(
        "Read",
        {"file_path": "/shop/src/client.py"},
        {"file": {"content": CLIENT, "startLine": 1, "numLines": 13, "totalLines": 13}},
    )

    assert found.title == "Read client.py: PaymentClient, retry"
    assert "Send again until it works" in found.narrative
    assert ("src/client.py",) == found.files_read


def test_a_batch_is_one_observation_with_one_title() -> None:
    """Uses of a batch share a title, their files and the weightiest type; equal ones are said once."""
    uses = [
        ToolUse("Read", "read", files_read=(f"{name}.py",), output=f"def {name}_it(): ...") for name in ("load", "save")
    ]
    found = extract(uses, FIX)

    assert found is not None
    assert found.title == "Read load.py: load_it, save.py: save_it"
    assert ("load.py", "save.py") == found.files_read


def test_a_batch_keeps_how_each_of_its_commands_ended() -> None:
    """Titles are cut before the outcome, and what was told twice is told once."""
    uses = [
        ToolUse("Bash", "command", command=f"pytest -q tests/unit/payments/test_client_of_the_{name}.py", output=output)
        for name, output in (("bank", "1 failed, 7 passed in 0.1s"), ("shop", "8 passed in 0.1s"))
    ]
    found = extract([*uses, uses[1]], FIX)

    assert found is not None
    assert "→ 1 failed, 7 passed" in found.title
    assert "→ 8 passed" in found.title
    assert 1 == found.narrative.count("of_the_shop.py")


def test_edits_of_one_file_in_a_batch_name_it_once() -> None:
    """Two places of one file are told after one name."""
    edits = [
        ToolUse("Edit", "edit", files_written=("a.py",), edits=(Edit("a.py", f"{name} = 1", f"{name} = 2", "f"),))
        for name in ("low", "high")
    ]
    found = extract(edits, FIX)

    assert found is not None
    assert found.title == "Fix f (a.py): set low 1 → 2, set high 1 → 2"


@given(
    st.lists(st.text(max_size=300), min_size=3, max_size=3),
    st.sampled_from(["Bash", "Edit", "Read", "Grep", "Task", "WebFetch", "x"]),
)
def test_any_use_gives_bounded_deterministic_texts(texts: list[str], tool: str) -> None:
    """Titles have at most 80 characters on one line, narratives 1,200, whatever the texts are; twice gives the same."""
    first, second, prompt = texts
    given_ = {
        "command": first,
        "file_path": "a.py",
        "old_string": first,
        "new_string": second,
        "pattern": first,
        "prompt": first,
        "url": first,
    }
    found = [extract([tool_use(ToolCall(tool, given_, second), SHOP)], prompt) for _ in range(2)]

    assert found[0] == found[1]
    if found[0] is not None:
        assert len(found[0].title) <= 80
        assert "\n" not in found[0].title
        assert len(found[0].narrative) <= 1_200
