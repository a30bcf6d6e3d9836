from __future__ import annotations

import pytest

from hybrid.capture.shell import is_ours
from hybrid.capture.tools import is_our_tool


@pytest.mark.parametrize(
    "command",
    [
        "hybrid search 'how are retries capped?'",
        "cd /home/me/shop && hybrid search retries --json | jq .results | head -20",
        "/home/me/.venv/bin/hybrid status 2>&1",
        "C:\\venv\\Scripts\\hybrid.exe search retries",
        "python -m hybrid doctor",
        "HYBRID_HOME=/tmp/h python3.12 -I -m hybrid.cli status 2>/dev/null || true",
        "uv run hybrid search x; echo done",
        "timeout 60 hybrid reindex",
        "bash -lc 'cd x && hybrid search y'",
        'echo \'{"prompt": "x"}\' | hybrid hook inject-context',
        'for q in a b; do\n  hybrid search "$q; rm -r | x"\ndone',
        "# what is known?\nhybrid search x \\\n  --json",
        "(cd x; hybrid search y)",
        "cat note.txt | hybrid lesson add -",
        "/v/bin/python -I -S /v/lib/hybrid/entry.py hook run --client claude",
        "hybrid search \"it's",
    ],
)
def test_a_command_that_only_calls_us_is_ours(command: str) -> None:
    """Behind a change of folder, settings, wrappers and a shell, and with what only passes our text on."""
    assert is_ours(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "pytest tests/hybrid",
        "cd hybrid && make",
        "grep -rn hybrid src",
        "hybrid search x && pytest -q",
        "pytest -q 2>&1 | tail -3; hybrid search x",
        "cat src/a.py && hybrid search a",
        "hybrid search x | xargs sed -i s/a/b/",
        "hybrid search x; sed -i s/a/b/ f.py",
        "echo 'x = 1' > src/a.py && hybrid search x",
        "hybrid-search x",
        "./target/release/hybrid --bench",
        "pip install hybrid",
        "python -c 'import hybrid'",
        "python -m hybrid_search",
        "git commit -m hybrid",
        "echo hybrid",
    ],
)
def test_other_commands_are_not_ours(command: str) -> None:
    """What shares the name, and what does anything besides."""
    assert not is_ours(command)


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("mcp__hybrid__search", True),
        ("hybrid_search", True),
        ("hybrid", True),
        ("mcp__hybrid-search__query", False),
        ("mcp__my_hybrid__x", False),
        ("hybridize", False),
        ("Read", False),
        ("", False),
    ],
)
def test_our_tools_are_known_by_their_whole_name(tool: str, expected: bool) -> None:
    """A foreign tool that only has the word in its name is kept."""
    assert expected is is_our_tool(tool)
