from __future__ import annotations

import pytest

from hybrid.capture.extraction.extract import extract
from hybrid.capture.tools import PathRoots, ToolCall, tool_use


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("deployed to the staging cluster", "deployed to the staging cluster"),
        ("   Compiling shop v0.1.0\n   Compiling cart v0.2.0\n", "only build progress shown"),
    ],
)
def test_a_command_without_an_outcome_tells_what_it_printed(output: str, expected: str) -> None:
    """As it is; build progress alone is called so."""
    use = tool_use(
        ToolCall("Bash", {"command": "make deploy"}, {"stdout": output, "stderr": ""}), PathRoots("/x", "/x")
    )

    found = extract([use], "")
    assert found is not None
    assert f"Run `make deploy` → {expected}" == found.title


def test_a_search_of_the_web_tells_the_beginning_of_its_result() -> None:
    """Also when no sentence of it stands out."""
    use = tool_use(ToolCall("WebSearch", {"query": "no_proxy ranges"}, "shop issue 412"), PathRoots("/x", "/x"))

    found = extract([use], "")
    assert found is not None
    assert "Search the web for no_proxy ranges: shop issue 412" == found.title
