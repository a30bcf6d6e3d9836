from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.main import run
from hybrid_lab.redaction import second
from hybrid_lab.redaction.corpus import Sample
from hybrid_lab.redaction.second import (
    innocent_templates,
    second_innocent_samples,
    second_secret_samples,
    secret_templates,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture(scope="module")
def secrets() -> Sequence[Sample]:
    """The samples with a secret."""
    return second_secret_samples("1")


@pytest.fixture(scope="module")
def innocent() -> Sequence[Sample]:
    """The samples without a secret."""
    return second_innocent_samples("1")


def test_equal_seeds_give_equal_samples(secrets: Sequence[Sample], innocent: Sequence[Sample]) -> None:
    """The corpus depends on nothing but its seed; another seed gives other values in the same places."""
    others = second_secret_samples("2")

    assert list(secrets) == second_secret_samples("1")
    assert list(innocent) == second_innocent_samples("1")
    assert [sample.place for sample in secrets] == [sample.place for sample in others]
    assert not {sample.text for sample in secrets} & {sample.text for sample in others}


def test_the_corpus_is_wide(secrets: Sequence[Sample], innocent: Sequence[Sample]) -> None:
    """It holds at least 45 kinds of secrets, 12 places, 300 templates, 4,000 secrets and 600 innocent texts."""
    assert len({sample.kind for sample in secrets}) >= 45
    assert len({sample.place for sample in secrets}) >= 12
    assert len(secret_templates()) >= 300
    assert len(secrets) >= 4000
    assert len(innocent_templates()) >= 600
    assert len({sample.text for sample in innocent}) >= 600
    assert min(Counter(sample.kind for sample in secrets).values()) >= 6


def test_every_secret_is_in_its_text(secrets: Sequence[Sample]) -> None:
    """Spans ascend, lie in the text, and hold no end of a line and nothing that encloses a value."""
    for sample in secrets:
        ends = [0, *(offset for span in sample.spans for offset in span)]
        parts = [sample.text[start:end] for start, end in sample.spans]

        assert sample.spans, sample
        assert sorted(ends) == ends, sample
        assert ends[-1] <= len(sample.text), sample
        assert all(part and part == part.strip() and "\n" not in part and '"' not in part for part in parts), sample


def test_nothing_of_the_templates_is_left(secrets: Sequence[Sample], innocent: Sequence[Sample]) -> None:
    """No text holds a mark that was not filled, and no pattern stands in a secret."""
    for sample in (*secrets, *innocent):
        parts = "".join(sample.text[start:end] for start, end in sample.spans)

        assert not set("⟦⟧\ue000\ue001") & set(sample.text), sample
        assert "A-Z" not in parts, sample
        assert "a-z" not in parts, sample


def test_innocent_texts_hold_no_span(innocent: Sequence[Sample]) -> None:
    """A text without a secret has no span, and a kind."""
    assert [] == [sample for sample in innocent if sample.spans or not sample.kind]


def test_the_command_reports_kinds_places_and_misses(
    secrets: Sequence[Sample],
    innocent: Sequence[Sample],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`--corpus second --misses` tells the found share by kind and place, and one line of each miss and false alarm."""
    few = [*secrets[::50], Sample("a", "missed", "the word abc", ((9, 12),), place="prose")]
    monkeypatch.setattr(second, "second_secret_samples", lambda _: few)
    monkeypatch.setattr(
        second,
        "second_innocent_samples",
        lambda _: [*innocent[::50], Sample("b", "alarm", f"id ghp_{'a1B2c3D4e' * 4}")],
    )
    code = run(["eval", "redaction", "--corpus", "second", "--misses", "--json"], started_s=0.0)

    report = json.loads(capsys.readouterr().out)

    assert 0 == code
    assert (
        len(few)
        == report["secrets"]
        == sum(row["n"] for row in report["places"])
        == sum(row["n"] for row in report["kinds"])
    )
    assert 0 < len(report["misses"]) == sum(row["n"] - row["found"] for row in report["kinds"])
    assert 0 < len(report["alarm_texts"]) == sum(row["alarms"] for row in report["innocent_kinds"])
