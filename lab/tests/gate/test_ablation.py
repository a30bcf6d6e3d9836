from __future__ import annotations

import json
import math

from hybrid.config import CONSTANTS
from hybrid_lab.gate.ablation import ablation, variants
from lab.tests.gate.reports import asked, report, wanted

PLAIN = report(
    wanted(0.25, top_cosine=0.5),
    wanted(-0.125, top_cosine=0.75),
    asked(-0.25, top_cosine=0.625),
    asked(0.0625, kind="other_repo", top_cosine=0.125),
    asked(-math.inf),
    model_threshold=0.25,
)
CHATTY = report(wanted(0.5, top_cosine=0.25), wanted(0.125, top_cosine=0.75))


def test_every_part_is_switched_off_once() -> None:
    """Each weight of the gate has a variant."""
    found = variants()
    changed = {setting.partition("=")[0] for variant in found for setting in variant.settings}

    assert "all parts" == found[0].label
    names = ("words", "hinge", "trigger", "file", "least", "reader", "reader_rate")
    of_records = {f"gate.{name}" for name in names}  # Files have no such parts.
    weights = {key for key in CONSTANTS if key.startswith("gate.")}
    assert weights - of_records == changed
    assert len(found) == len({variant.label for variant in found})


def test_rows_count_as_the_report_does() -> None:
    """All parts come first, raw cosines last."""
    reports = {variant.label: {"prompts": PLAIN, "chatty": CHATTY} for variant in variants()}
    rows = ablation(reports, prompts="prompts", chatty="chatty")
    form = rows[0].as_json()

    assert ["all parts", "no rules"] == [row.label for row in rows[:2]]
    assert ["raw top cosine", "raw top cosine, no rules"] == [row.label for row in rows[-2:]]
    assert {"label": "all parts", "auc": 5 / 6, "chatty_rate": 0.5} == {
        k: form[k] for k in ("label", "auc", "chatty_rate")
    }
    assert [("1% false", 0.5), ("2% false", 0.5), ("5% false", 0.5)] == [
        (at["label"], at["true_rate"]) for at in form["at"]
    ]
    assert (0.5, 1 / 3, 1.0) == (form["true_rate"], form["false_rate"], form["other_repo_rate"])


def test_the_raw_cosine_is_compared_and_nothing_else() -> None:
    """Its margin is that over the model's default; no bar is found for it without labels, so no decision is counted."""
    reports = {variant.label: {"prompts": PLAIN} for variant in variants()}
    raw = ablation(reports, prompts="prompts", chatty="chatty")[-2]
    form = raw.as_json()

    assert ([0.25, 0.5], [0.375, -0.125, -math.inf]) == (raw.wanted, raw.unwanted)
    assert (5 / 6, None, None, None) == tuple(form[k] for k in ("auc", "true_rate", "false_rate", "chatty_rate"))
    assert form == json.loads(json.dumps(form, allow_nan=False))
