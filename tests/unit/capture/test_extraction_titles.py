import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.extraction.extract import extract
from hybrid.capture.extraction.runs import outcome_of
from hybrid.capture.tools import Edit, PathRoots, ToolCall, ToolUse, tool_use
from hybrid.records.memory.types import Extracted

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


def run(command: str, output: str, error: str = "", prompt: str = FIX) -> Extracted:
    """What is told of a command."""
    return told("Bash", {"command": command, "description": "Try it"}, {"stdout": output}, error, prompt)


@pytest.mark.parametrize(
    ("old", "new", "prompt", "kind", "title"),
    [
        ("attempts = 3", "attempts = 5", FIX, "bugfix", "Fix PaymentClient.retry (client.py): set attempts 3 → 5"),
        ("while True:", "while attempts > 0:", FIX, "bugfix", "Fix PaymentClient.retry (client.py): replace `True` with `attempts > 0`"),
        ("self.send(request)", "self.post(request)", "Rename it", "refactor", "Rename `send` to `post` in PaymentClient.retry (client.py)"),
        ("        attempts = 3\n", "", "Tidy", "change", "Remove `attempts = 3` from PaymentClient.retry (client.py)"),
        ('"""Talks to the bank."""\n', '"""Talks to the bank."""\n\n\ndef backoff(n):\n    return 2**n\n', "Add a backoff", "feature", "Add backoff() to client.py"),
    ],
    ids=["value", "expression", "rename", "removed", "added"],
)  # fmt: skip
def test_titles_of_edits(old: str, new: str, prompt: str, kind: str, title: str) -> None:
    """An edit is titled by what it exchanged, renamed, added or removed, and the function around it."""
    found = edited(old, new, prompt)

    assert (kind, title) == (found.type, found.title)
    assert ("src/payments/client.py",) == found.files_modified
    assert () == found.files_read


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


def test_a_prompt_about_what_never_ends_asks_for_a_fix() -> None:
    """A fault has many names."""
    prompt = "The retry loop of PaymentClient never stops on timeouts. Cap the attempts at 5."

    assert "bugfix" == edited("while True:", "while attempts < 5:", prompt).type


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


@pytest.mark.parametrize(
    ("command", "output", "title"),
    [
        ("cargo test check:: 2>&1 | tail -5", "test check::uplift ... FAILED\ntest result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.1s", "Run `cargo test check::` → 1 failed, 3 passed: check::uplift"),
        ("pytest -q tests/test_pay.py", "FAILED tests/test_pay.py::test_cap - assert 3 == 5\n1 failed, 7 passed in 0.12s", "Run `pytest -q tests/test_pay.py` → 1 failed, 7 passed: test_cap"),
        ("pytest -q", "8 passed in 0.10s", "Run `pytest -q` → 8 passed"),
        ("go test ./...", "--- FAIL: TestCap (0.00s)\nFAIL\tshop/pay\t0.01s", "Run `go test ./...` → 1 of 1 packages failed: TestCap"),
        ("npm test", "Tests:       1 failed, 3 passed, 4 total", "Run `npm test` → 1 failed, 3 passed, 4 total"),
        ("cd web && npx tsc --noEmit", "src/a.ts(3,5): error TS2322: Type 'x' is wrong.", "Run `npx tsc --noEmit` → failed: TS2322: Type 'x' is wrong. (src/a.ts(3,5))"),
        ("cargo build", "error[E0599]: no method named `doc` found\n  --> src/a.rs:3:5", "Run `cargo build` → E0599: no method named `doc` found (src/a.rs:3:5)"),
        ("cargo test nothing", "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.0s", "Run `cargo test nothing` → no tests ran (9 filtered out)"),
        ("cargo clippy", "    Checking shop v1.0\n    Finished `dev` profile target(s) in 1s", "Run `cargo clippy` → finished without warnings"),
        ("python pay.py", 'Traceback (most recent call last):\n  File "pay.py", line 3\nKeyError: \'cap\'', "Run `python pay.py` → KeyError: 'cap'"),
        (".venv/bin/pytest -q", "E   ModuleNotFoundError: No module named 'numpy'", "Run `pytest -q` → no module 'numpy'"),
        ("/usr/bin/env python -m pytest -q", "1 failed, 2 passed in 0.1s", "Run `python -m pytest -q` → 1 failed, 2 passed"),
        ("python pay.py", "shop.errors.CapError: five is too much", "Run `python pay.py` → CapError: five is too much"),
        ("pytest -q services/payments/tests/unit/test_retry_of_the_client.py", "8 passed in 0.10s", "Run `pytest -q test_retry_of_the_client.py` → 8 passed"),
    ],
    ids=["cargo", "pytest", "passed", "go", "jest", "tsc", "rustc", "none", "clippy", "traceback", "module", "env", "class", "path"],
)  # fmt: skip
def test_titles_of_commands_tell_how_they_ended(command: str, output: str, title: str) -> None:
    """A command is titled by what was run and its outcome, read from the output: behind a pipe the exit code lies."""
    assert title == run(command, output).title


def test_a_failed_command_is_a_gotcha_with_its_errors() -> None:
    """The narrative of a failure holds command, exit code, errors and what it was for."""
    found = run("make release", "", "Exit code 2\nld: symbol pay_cap not found\nmake: *** [release] Error 1")

    assert ("discovery", ("gotcha",)) == (found.type, found.concepts)
    assert all(word in found.narrative for word in ("make release", "exit code 2", "pay_cap", "retry loop"))
    assert "exit code 2" in found.facts


def test_output_that_is_given_twice_counts_once() -> None:
    """Some clients repeat a failure's output; the counts stay."""
    output = "test a::capped ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.33s\n"

    assert "1 failed: a::capped" in run("cargo test capped", output + output).title


@pytest.mark.parametrize(
    ("tool", "given_", "answer", "title"),
    [
        ("Grep", {"pattern": "attempts", "path": "/shop/src/pay.py"}, {"mode": "content", "content": "3:attempts = 3\n4-x\n9:attempts"}, "Search `attempts` in src/pay.py: lines 3, 9"),
        ("Grep", {"pattern": "retry"}, {"mode": "files_with_matches", "filenames": ["src/a.py", "src/b.py"]}, "Search `retry`: 2 files, src/a.py, src/b.py"),
        ("Glob", {"pattern": "**/*.snap"}, {"filenames": []}, "Find `**/*.snap`: nothing found"),
        ("Bash", {"command": 'grep -rn "def retry" src | head -5'}, {"stdout": "src/client.py:7:    def retry(self, request):"}, "Search `def retry`: client.py:7"),
        ("Bash", {"command": 'grep -r "class Cap" src/'}, {"stdout": "src/client.py:class Cap:"}, "Search `class Cap` in src: client.py"),
        ("Bash", {"command": 'grep -rc retry src/'}, {"stdout": "src/client.py:3\nsrc/bank.py:0\nsrc/pay.py:12"}, "Search `retry` in src: 2 files, client.py, src/pay.py"),
        ("Grep", {"pattern": "retry", "output_mode": "count"}, {"mode": "count", "content": "src/client.py:3"}, "Search `retry`: client.py"),
        ("Bash", {"command": "finder search 'cap of attempts'"}, {"stdout": "1. src/client.py:7 (retry)\n   function"}, "Search `cap of attempts`: client.py:7"),
    ],
)  # fmt: skip
def test_titles_of_searches(tool: str, given_: object, answer: object, title: str) -> None:
    """A search names the pattern and what it hit, also when a command searched; lines around a hit are none."""
    found = told(tool, given_, answer)

    assert ("discovery", title) == (found.type, found.title)


def test_a_subagent_is_titled_by_what_it_found() -> None:
    """How its report came about, its headings and what announces a list say nothing."""
    report = "Now I have all I need. Let me sum up:\n\n## Report\n\nBased on my search, here is a list:\n\nRetries are capped in PaymentClient."

    found = told("Task", {"description": "Find the cap", "prompt": "Where are retries capped?"}, {"content": report})

    assert "Subagent: Find the cap → Retries are capped in PaymentClient." == found.title


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


@pytest.mark.parametrize("command", ["pwd", "ls", "cd src", "git status", "echo done", "git stash list"])
def test_what_tells_nothing_is_no_observation(command: str) -> None:
    """Commands that only say where one is are not kept."""
    assert extract([tool_use(ToolCall("Bash", {"command": command}, {"stdout": ""}), SHOP)], FIX) is None


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
