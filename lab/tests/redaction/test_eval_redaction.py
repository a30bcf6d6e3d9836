from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.main import run
from hybrid_lab.redaction.corpus import Sample, innocent_samples, secret_samples
from hybrid_lab.redaction.forms import Writer
from hybrid_lab.redaction.measure import evaluate_corpus
from hybrid_lab.redaction.trees import evaluate_tree
from tests.support.builders import write_files

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_equal_seeds_give_equal_samples() -> None:
    """Nothing depends on the day; another seed gives other secrets."""
    assert secret_samples(2, "1") == secret_samples(2, "1")
    assert innocent_samples(2, "1") == innocent_samples(2, "1")
    assert secret_samples(2, "1") != secret_samples(2, "2")


def test_every_secret_stands_where_its_sample_says() -> None:
    """Spans are ascending, inside the text and without overlap; texts without a secret have none."""
    for sample in secret_samples(3, "1"):
        ends = [0, *(end for _, end in sample.spans)]
        assert sample.spans
        assert all(
            before <= start < end <= len(sample.text) for before, (start, end) in zip(ends, sample.spans, strict=False)
        )
    assert all(not sample.spans for sample in innocent_samples(3, "1"))


def test_a_field_is_filled_with_its_alphabet_and_length() -> None:
    """Braces around a letter and a number are fields; other braces stay."""
    filled = Writer("1").fill('{"a": "{h4}-{d3}"} {i2}')

    assert '{"a": "' == filled[:7]
    assert set(filled[7:11]) <= set("0123456789abcdef")
    assert filled[12:15].isdigit()
    assert filled.endswith(tuple("0123456789"))


def test_found_missed_and_false_alarms_are_counted() -> None:
    """A secret counts as found when nine tenths of it are gone; what is taken besides is counted in characters."""
    found = Sample("a", "c", f"x {TOKEN} y", ((2, 2 + len(TOKEN)),))
    missed = Sample("a", "d", "the word abc", ((9, 12),))
    alarmed = Sample("b", "e", f"id {TOKEN}")
    report = evaluate_corpus([found, missed], [alarmed, Sample("b", "f", "nothing")])
    form = report.as_json()

    [row] = form["kinds"]
    assert (2, 1, 3, 0) == (row["n"], row["found"], row["chars_left"], row["chars_beside"])
    assert [["a", "d"]] == form["missed"]
    assert [{"kind": "b", "n": 2, "alarms": 1, "replaced": {"github_token": 1}}] == form["innocent_kinds"]
    assert (0.5, 0.5) == (form["detected"], form["false_alarms"])


def test_a_tree_is_counted_with_places_and_three_characters(tmp_path: Path) -> None:
    """Binary files are left out; a sample never shows more of a secret than three characters."""
    write_files(tmp_path, {"a.txt": "one\n", "b/c.py": f"x = 1\ny = '{TOKEN}'\n"})
    (tmp_path / "d.bin").write_bytes(b"\0" + TOKEN.encode())
    form = evaluate_tree(tmp_path, {}).as_json()

    assert (2, 1, 1, 500.0) == (form["files"], form["replaced"], form["files_with"], form["per_1000_files"])
    [sample] = form["samples"]
    assert {"path": "b/c.py", "line": 2, "kind": "github_token", "begins": "ghp", "n_chars": 40} == {
        key: value for key, value in sample.items() if key != "shown"
    }
    assert "y = '[ghp…]'" == sample["shown"]


@pytest.mark.quality
def test_redaction_finds_made_up_secrets_without_false_alarms() -> None:
    """The floor of the shipped rules: 99 of 100 found, no false alarm, on a seed that nobody tuned for."""
    form = evaluate_corpus(secret_samples(30, "floor"), innocent_samples(30, "floor")).as_json()

    assert form["detected"] >= 0.98, form["missed"]
    assert form["chars_left"] <= 0.02
    assert form["false_alarms"] <= 0.005, form["alarmed"]


def test_the_command_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON and for people; a folder that is not there is an error."""
    write_files(tmp_path / "shop", {"a.py": f"T = '{TOKEN}'\n"})
    code = run(["eval", "redaction", str(tmp_path / "shop"), "--samples", "1", "--json"], started_s=0.0)
    form = json.loads(capsys.readouterr().out)

    assert (0, "shop", 1) == (code, form["repositories"][0]["name"], form["repositories"][0]["replaced"])
    assert 0 == run(["eval", "redaction", str(tmp_path / "shop"), "--samples", "1", "--explain"], started_s=0.0)
    assert "shop: 1 replaced in 1 of 1 files" in capsys.readouterr().out
    assert 2 == run(["eval", "redaction", str(tmp_path / "nowhere")], started_s=0.0)
