from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import pytest
import tomli

from hybrid.cli.evaluate import LAB
from hybrid.cli.main import run
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

INSTALL = "pip install hybrid-lab"


@pytest.fixture(autouse=True)
def _no_laboratory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The product alone is installed."""
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    monkeypatch.chdir(tmp_path)


def test_the_help_names_what_the_laboratory_measures(capsys: pytest.CaptureFixture[str]) -> None:
    """`hybrid eval --help` shows our own measures, the names of the others, and how to install them."""
    code = run(["eval", "--help"], started_s=0.0)

    shown = capsys.readouterr().out
    assert 0 == code
    assert all(f"    {name} " in shown or f"    {name}\n" in shown for name in ("init", "run", "retrieval", "gate"))
    assert "    speed " not in shown
    assert (
        f"redaction, replay, scale, speed, tables, week, and judged prompts for gate: the laboratory measures it: {INSTALL}"
        in shown
    )


@pytest.mark.parametrize(
    "arguments",
    [
        ["speed"],
        ["speed", "--part", "cold", "--json"],
        ["redaction", "--help"],
        ["week", "folder", "--events=9"],
        ["gate", "GATE.jsonl"],
        ["gate"],
    ],
    ids=" ".join,
)
def test_a_measure_of_the_laboratory_says_how_to_install_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever follows its name, the answer is one line and exit code 2."""
    code = run(["eval", *arguments], started_s=0.0)

    out, err = capsys.readouterr()
    assert (2, "", 1) == (code, out, err.count("\n"))
    assert INSTALL in err


def test_marks_need_no_laboratory(capsys: pytest.CaptureFixture[str]) -> None:
    """`hybrid eval gate --marks` counts what the user marked; nothing marked is exit code 1."""
    code = run(["eval", "gate", "--marks"], started_s=0.0)

    assert (1, "marks: 0 good, 0 noise") == (code, capsys.readouterr().out.splitlines()[0])


def test_the_product_knows_each_measure_of_the_laboratory() -> None:
    """Each subcommand that the laboratory offers, and that the product lacks, is named with how to install it."""
    project = tomli.loads((CHECKOUT / "lab" / "pyproject.toml").read_text(encoding="utf-8"))

    assert {*LAB, "gate"} == project["project"]["entry-points"]["hybrid.eval"].keys()
