"""The figures of the server of tools that `hybrid eval speed --part mcp` prints; no time is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import runner
from hybrid_lab.speed.tools import ToolMeasurement
from tests.support.agent import until
from tests.support.builders import new_shop
from tests.support.tool_client import web_pids

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
def test_the_part_measures_starts_memory_and_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each figure is there, beside a bare interpreter of the same run, and no process is left."""
    shop = new_shop(tmp_path)
    monkeypatch.setenv("HYBRID_HOME", str(shop.home))
    found = ToolMeasurement(
        shop.root, runner(shop.home, settings_in_force([])), ["retry a payment"], rounds=1, n_calls=2, sessions=(1,)
    ).figures()

    for name in ("cold", "warm"):
        assert {"bare_client", "import", "greeting", "tool_list", "first_tool"} == found[name].keys()
        assert found[name]["greeting"]["per_bare_client"] > 0
    assert {"sessions_1"} == found["memory"].keys()
    assert {"read_1", "read_4", "search_1", "search_4"} == found["calls"].keys()
    assert [2, 8] == [found["calls"][f"search_{n}"]["n"] for n in (1, 4)]
    until(lambda: not web_pids(shop.home))
