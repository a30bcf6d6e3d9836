from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.operations.doctor import rows_of
from tests.support.builders import hybrid_command, new_shop, write_files

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

LESSONS = """\
### [L001] Retry payments
- **Learned**: 2026-01-02 | **Category**: gotcha
> Cap attempts at five.

### [L002] Users table
- **Learned**: 2026-01-03 | **Category**: correction | **Superseded**: deleted
> Drop it every night.

### [L003] Receipts
- **Learned**: 2026-01-04 | **Category**: nonsense
> Keep them for ten years.
"""


def _missing(expected: dict[str, Any], found: dict[str, Any], prefix: str = "") -> list[str]:
    """Keys that are not there."""
    gone = [prefix + key for key in expected if key not in found]
    for key, below in expected.items():
        if isinstance(below, dict) and key in found:
            gone += _missing(below, found[key], f"{prefix}{key}.")
    return gone


def _nulls(expected: dict[str, Any], found: dict[str, Any], prefix: str = "") -> set[str]:
    """Keys whose value is null."""
    names = {prefix + key for key in expected if found[key] is None}
    for key, below in expected.items():
        if isinstance(below, dict) and isinstance(found[key], dict):
            names |= _nulls(below, found[key], f"{prefix}{key}.")
    return names


def test_status_is_json_in_a_pipe_and_a_table_when_asked(shop: Shop) -> None:
    """Without a terminal the JSON form is printed; `--table` prints the one for people."""
    assert shop.out("status", "--json").splitlines()[:2] == shop.out("status").splitlines()[:2]
    table = shop.out("status", "--table", COLUMNS="200")

    assert [
        "Project          shop (" + str(shop.root) + ")",
        "Index            ready: 4 documents, 5 chunks",
    ] == [line.rstrip() for line in table.splitlines()[:2]]


def test_edits_make_the_index_stale(own_shop: Shop) -> None:
    """A changed, a new and a deleted file count as stale until the next build."""
    (own_shop.root / "README.md").write_text("# Another shop\n")
    (own_shop.root / "new.py").write_text("x = 1\n")
    (own_shop.root / "docs/deploy.md").unlink()
    before = own_shop.json("status")["index"]
    own_shop.out("reindex", "--quiet")
    after = own_shop.json("status")["index"]

    assert [("stale", 3), ("ready", 0)] == [(index["state"], index["stale_documents"]) for index in (before, after)]


def test_records_are_counted_with_what_waits_for_the_owner(new_project: Shop) -> None:
    """Before the tree is accepted its lessons wait; then they count, and what is malformed is told."""
    new_project.out("lessons", "add", "Be brief", "Answer in one sentence", "--system")
    write_files(new_project.root, {".hybrid/LESSONS.md": LESSONS})
    before, shown = new_project.json("status")["records"], new_project.out("status", "--table", COLUMNS="200")
    new_project.out("trust", "--quiet")
    after, then = new_project.json("status")["records"], new_project.out("status", "--table", COLUMNS="200")

    assert (False, 2) == (before["accepted"], before["waiting"]["lessons"])
    assert (0, 1, 0, 0) == (
        *(before["lessons"][key] for key in ("project", "system", "superseded")),
        before["problems"],
    )
    assert "Records          1 lesson; not read yet; 2 lessons in the tree not accepted: `hybrid trust`" in shown
    assert (True, None, 1) == (after["accepted"], after["waiting"], after["problems"])
    assert (2, 1, 1) == tuple(after["lessons"][key] for key in ("project", "system", "superseded"))
    assert str(new_project.root / ".hybrid" / "LESSONS.md") == after["lessons"]["file"]
    assert "Records          3 lessons; not read yet; 1 to mend: `hybrid doctor`" in then


def test_lore_is_counted_and_withdrawn_records_are_not(new_project: Shop, tmp_path: Path) -> None:
    """Patterns, decisions and handoffs of all folders that count here; the folders are named."""
    new_project.out("lore", "pattern", "add", "Safe sum", "--problem", "it ends with 1", "--solution", "x=$((x + 1))")
    new_project.out("lore", "decide", "Use JSONL", "--why", "append-only")
    (one,) = new_project.json("lore", "search", "JSONL")["records"]
    new_project.out("lore", "decide", "Cut releases on Mondays", "--why", "people are there")
    new_project.out("lore", "retract", one["id"], "--reason", "no longer")

    lore = new_project.json("status", HYBRID_LORE_ENABLED="false")["records"]["lore"]

    assert (1, 0, 1, 0) == tuple(lore[key] for key in ("patterns", "anti_patterns", "decisions", "handoffs"))
    assert [str(new_project.home / "lore")] == lore["folders"]
    assert not lore["enabled"]
    table = new_project.out("status", "--table", COLUMNS="200", HYBRID_LORE_ENABLED="false")
    assert "Records          1 pattern and 1 decision; lore is switched off" in table


def test_hook_status_is_the_hooks_part(shop: Shop) -> None:
    """`hook status --json` is the `hooks` part of `status --json`."""
    assert shop.json("status")["hooks"] == shop.json("hook", "status")


def test_damaged_counters_of_the_hooks_are_told(own_shop: Shop) -> None:
    """`hook status` says so until an injection begins anew, and names what was set aside then."""
    (own_shop.root / ".hybrid" / "hook_state.json").write_text('{"injection_count": [')
    before = own_shop.json("hook", "status")
    given = own_shop.hook("How does the payment client retry?")
    after = own_shop.json("hook", "status")

    assert (True, 0, []) == (before["is_state_corrupt"], before["injection_count"], before["set_aside"])
    assert given
    assert (False, 1) == (after["is_state_corrupt"], after["injection_count"])
    assert ["hook_state.json.corrupt-"] == [name[:24] for name in after["set_aside"]]


def test_gate_and_settings_in_force_are_shown(shop: Shop) -> None:
    """A threshold fixed by a setting is shown with its source; a wrong setting is a line of the status, not its end."""
    fixed = shop.json("status", HYBRID_HOOKS_GATE_THRESHOLD="0.5")
    wrong = shop.json("status", HYBRID_HOOKS_BUDGET="many")

    assert (0.5, "config") == (fixed["gate"]["threshold"], fixed["gate"]["source"])
    assert 150 == wrong["hooks"]["config"]["budget_lines"]
    assert ["HYBRID_HOOKS_BUDGET: hooks.budget = 'many': must be a whole number"] == wrong["config_problems"]


AUTO = {
    "threshold": 0.24,
    "source": "auto",
    "thresholds": {"talk": -0.051, "tasks": 0.24},
    "allowed_rates": {"talk": 0.03, "tasks": 0.3},
    "expected_rates": {"talk": 0.0123, "tasks": 0.2},
    "background_prompts": 327,
}


@pytest.mark.parametrize(
    ("chunks", "gate", "expected"),
    [
        (
            5,
            AUTO,
            "opens above 0.24 (tasks), −0.05 (talk); auto, 327 background prompts: at most 3 % of talk, "
            "30 % of other projects' tasks; expected 1.2 % and 20 %",
        ),
        (
            5,
            AUTO | {"thresholds": {"talk": None, "tasks": -0.001}},
            "opens above 0.00 (tasks), always (talk); auto, 327",
        ),
        (5, {"threshold": 0.5, "source": "config"}, "opens from a raw top cosine of 0.5 (config)"),
        (
            5,
            {"threshold": 0.29, "source": "auto"},
            "not calibrated: run `hybrid reindex`; until then it opens from a raw",
        ),
        (5, {"threshold": None, "source": "auto"}, "closed: not calibrated: run `hybrid reindex`; nobody measured"),
        (0, AUTO, "closed: nothing is indexed"),
    ],
    ids=["auto", "always", "fixed", "uncalibrated", "unmeasured", "empty"],
)
def test_the_gate_in_the_table(shop: Shop, chunks: int, gate: dict[str, Any], expected: str) -> None:
    """Both bars with source, background, allowed and expected rates; a fixed threshold; or why it stays closed."""
    found = shop.json("status")
    found["index"]["chunks"] = chunks
    found["gate"] = {
        "thresholds": None,
        "allowed_rates": None,
        "expected_rates": None,
        "background_prompts": None,
    } | gate

    assert dict(rows_of(found))["Gate"].startswith(expected)


def test_the_rates_of_a_built_index_are_those_that_both_bars_allow(shop: Shop) -> None:
    """A prompt must rise above both bars: of each kind at most the allowed share does, and talk is what is expected."""
    gate = shop.json("status")["gate"]

    assert {"talk": 0.03, "tasks": 0.25} == gate["allowed_rates"]
    assert all(0 <= gate["expected_rates"][kind] <= gate["allowed_rates"][kind] for kind in ("talk", "tasks"))
    assert gate["expected_rates"]["talk"] == gate["expected_false_open_rate"]
    assert "score" == gate["compares"]


def test_a_rate_of_one_is_always(own_shop: Shop) -> None:
    """A bar that lets everything pass is no number, and says so."""
    state = own_shop.json("status", HYBRID_GATE_MAX_FALSE_OPEN_RATE="1")
    table = own_shop.out("status", "--table", COLUMNS="200", HYBRID_GATE_MAX_FALSE_OPEN_RATE="1")

    assert state["gate"]["thresholds"]["talk"] is None
    assert "always (talk)" in table


def _annotate_otherwise(shop: Shop) -> None:
    """The index as an older version would have left it: compared with another background."""
    (path,) = shop.home.rglob("manifest.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"background": "0123456789abcdef"}))


def test_an_index_without_bars_is_stale_and_says_so(own_shop: Shop) -> None:
    """Built with another background, it falls back to the raw top cosine until the next build."""
    _annotate_otherwise(own_shop)
    before, table = own_shop.json("status"), own_shop.out("status", "--table", COLUMNS="200")
    own_shop.out("reindex", "--quiet")
    after = own_shop.json("status")

    assert [("stale", False, 0), ("ready", True, 0)] == [
        tuple(state["index"][key] for key in ("state", "is_calibrated", "stale_documents")) for state in (before, after)
    ]
    assert [("auto", "raw top cosine", None), ("auto", "score", after["gate"]["expected_rates"])] == [
        tuple(state["gate"][key] for key in ("source", "compares", "expected_rates")) for state in (before, after)
    ]
    assert "not calibrated: run `hybrid reindex`" in table


def test_an_empty_index_is_not_stale(tmp_path: Path) -> None:
    """Without a chunk there is nothing to calibrate, whatever background it was compared with."""
    shop = new_shop(tmp_path, {"notes.txt": ""})
    _annotate_otherwise(shop)
    state = shop.json("status")

    assert ("ready", 0) == (state["index"]["state"], state["index"]["chunks"])
    assert "closed: nothing is indexed" in shop.out("status", "--table", COLUMNS="200")


def test_times_for_people_are_local(own_shop: Shop) -> None:
    """`memory stats` and `status` told UTC beside lists in local time; machine forms keep UTC."""
    own_shop.out("memory", "add", "Cap retries at five")
    own_shop.hook("How does the payment client retry?")
    last = datetime.fromisoformat(own_shop.json("memory", "stats")["newest"].replace("Z", "+00:00"))
    decided = datetime.fromisoformat(own_shop.json("status")["health"]["last_success"])

    def shown(*args: str) -> str:
        # A process of its own: the zone is read when it starts.
        return hybrid_command(*args, cwd=own_shop.root, home=own_shop.home, TZ="Etc/GMT-14").stdout.decode()

    far = timezone(timedelta(hours=14))
    assert re.search(rf"^to +{last.astimezone(far):%Y-%m-%d %H:%M:%S}$", shown("memory", "stats"), re.MULTILINE)
    assert f"{decided.astimezone(far):%Y-%m-%d %H:%M:%S}" in shown("status", "--table")


def test_one_thing_is_counted_in_the_singular(tmp_path: Path) -> None:
    """`1 documents`, `1 chunks` and `1 names`."""
    shop = new_shop(tmp_path, {"a.py": "def first():\n    return 1\n"}, is_indexed=False)

    assert shop.out("reindex").startswith("1 document, 1 chunk; ")
    assert "ready: 1 document, 1 chunk" in shop.out("status", "--table")
    shop.out("lessons", "add", "A rule", "See `src/gone.py`.")
    assert shop.out("lessons", "validate").endswith("\n1 lesson checked, 1 name not found\n")
