"""Which uses of tools are a search that found nothing, or a command that failed, in the six clients."""

from __future__ import annotations

import pytest

from hybrid.capture.trouble import trouble_of, words_of
from hybrid.types import HookEvent


def trouble(client: str, tool: str, given: object, answer: object, error: str = "") -> tuple[str, str] | None:
    """Cause and text of the trouble of a use."""
    event = HookEvent(client, "PostToolUse", "s1", "", "/shop", "")
    used = {"tool": tool, "tool_input": given, "tool_response": answer, "error": error}
    fields = {name: getattr(event, name) for name in HookEvent.__struct_fields__} | used
    found = trouble_of(HookEvent(**fields))
    return (found.cause, found.text) if found else None


@pytest.mark.parametrize(
    ("client", "tool", "given", "answer", "error"),
    [
        ("claude", "Grep", {"pattern": "max_tries"}, {"mode": "content", "filenames": [], "numFiles": 0}, ""),
        ("claude", "Grep", {"pattern": "max_tries"}, {"content": "No files found"}, ""),
        ("claude", "Glob", {"pattern": "**/max_tries*"}, {"filenames": [], "numFiles": 0, "truncated": False}, ""),
        ("claude", "Bash", {"command": "rg max_tries src"}, None, "Exit code 1"),
        ("claude", "Bash", {"command": "grep -rn 'max_tries' . | head"}, {"stdout": "", "stderr": ""}, ""),
        ("codex", "Bash", {"command": ["bash", "-lc", "rg -n max_tries"]}, "", ""),
        (
            "gemini",
            "search_file_content",
            {"pattern": "max_tries"},
            {"llmContent": 'No matches found for pattern "max_tries" in path "."', "returnDisplay": "No matches found"},
            "",
        ),
        (
            "qwen",
            "run_shell_command",
            {"command": "git grep -n max_tries"},
            {"llmContent": "Command: git grep\nOutput: (empty)\nError: (none)\nExit Code: 1\nProcess Group PGID: 7"},
            "",
        ),
        (
            "copilot",
            "bash",
            {"command": "find . -name '*max_tries*'"},
            {"resultType": "success", "textResultForLlm": "<shellId: 0 completed with exit code 0>"},
            "",
        ),
        ("opencode", "grep", {"pattern": "max_tries"}, {"output": "No files found", "exit": None}, ""),
        ("opencode", "bash", {"command": "rg max_tries"}, {"output": "", "exit": 1}, ""),
    ],
)
def test_searches_in_vain_of_every_client(client: str, tool: str, given: object, answer: object, error: str) -> None:
    """Empty output, the clients' own sentences and exit code 1 of a search all say that nothing was found."""
    assert ("search", "max_tries") == trouble(client, tool, given, answer, error)


@pytest.mark.parametrize(
    ("tool", "given", "answer", "error"),
    [
        ("Grep", {"pattern": "retry"}, {"content": "src/a.py:3:    retry()"}, ""),
        ("Grep", {"pattern": "("}, None, "regex parse error: unclosed group"),
        ("Bash", {"command": "rg '('"}, None, "Exit code 2\nregex parse error"),
        ("Bash", {"command": "mkdir build"}, {"stdout": "", "stderr": ""}, ""),
        ("Bash", {"command": "git push"}, None, "Exit code 1\nfatal: no upstream src/a.py"),
        ("Bash", {"command": "hybrid search retry"}, None, "Exit code 1\nNothing found in src/a.py"),
        ("Bash", {"command": "grep -rn '.*' ."}, {"stdout": ""}, ""),
        ("Read", {"file_path": "a.py"}, None, "File does not exist."),
    ],
)
def test_what_is_no_trouble(tool: str, given: object, answer: object, error: str) -> None:
    """Results, mistakes in a pattern, commands that print nothing, and tools of other kinds are no trouble."""
    assert trouble("claude", tool, given, answer, error) is None


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("concat_str.*sort", "concat_str sort"),
        (r"\bfn\s+retry\(", "fn retry"),
        ("**/test_*except*.py", "test_ except py"),
        (r"macro_rules! assert_\w+|Modules::", "macro_rules assert_ Modules"),
        ("[A-Z]{2,}.*", ""),
    ],
)
def test_words_of_a_pattern(pattern: str, words: str) -> None:
    """Words and names stay, what only patterns have goes."""
    assert words == words_of(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["https://bob:s3cr3tpwXY@host/x", "key ghp_" + "a1B2" * 9, "Authorization: Bearer s3cr3tabcdefghij0123456789"],
)
def test_a_search_for_a_secret_is_no_trouble(pattern: str) -> None:
    """Words of it alone would not be known as a secret any more."""
    assert trouble("claude", "Grep", {"pattern": pattern}, {"filenames": [], "numFiles": 0}) is None


@pytest.mark.parametrize(
    ("error", "output", "kept"),
    [("Exit code 1", "AssertionError: src/a.py", "AssertionError: src/a.py"), ("", "AssertionError: src/a.py", "")],
)
def test_a_command_that_failed_keeps_its_output(error: str, output: str, kept: str) -> None:
    """Its output says what failed; a command that went well is no trouble."""
    found = trouble("claude", "Bash", {"command": "pytest"}, {"stdout": output, "stderr": ""}, error)

    assert (kept in found[1] and found[0] == "failure") if found else not kept


@pytest.mark.parametrize(
    "output", ["No files found.\n" * 12 + "src: E501", "no files " * 20 + "\nfoo", "No files found\nfoo"]
)
def test_an_output_is_read_line_by_line(output: str) -> None:
    """A line that says something else ends the look: nothing is tried again and again."""
    event = HookEvent.of(
        {"event": "PostToolUse", "tool": "Bash", "tool_input": {"command": "rg a"}, "tool_response": output}
    )

    assert trouble_of(event) is None
