from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.log import given_texts
from hybrid.log.given_texts import GivenText, GivenTexts

if TYPE_CHECKING:
    from pathlib import Path


def text(name: str, at_s: float = 0.0, **more: bool) -> GivenText:
    """A text of project `p`, session `s`."""
    return GivenText(name, at_s, "p", "s", f"text {name}", **more)


@pytest.fixture
def texts(tmp_path: Path) -> GivenTexts:
    """Three texts, the second with a row of the memory."""
    found = GivenTexts(tmp_path, days=1)
    for one in (text("a"), text("b", has_memory=True), text("c", 90_000.0)):
        found.add(one)
    return found


def names(texts: GivenTexts) -> str:
    """The ids that are kept."""
    return "".join(name for name in "abc" if texts.find(name))


def test_a_text_is_found_by_its_decision(texts: GivenTexts) -> None:
    """One that was not kept is empty."""
    assert ("text b", "") == (texts.find("b"), texts.find("x"))


def test_forgotten_texts_are_gone_from_the_file(texts: GivenTexts) -> None:
    """What is meant goes, the others stay."""
    texts.forget(lambda one: one.has_memory)

    assert "ac" == names(texts)
    assert b"text b" not in texts.path.read_bytes()


@pytest.mark.parametrize(("days", "left"), [(1, "c"), (0, ""), (2, "abc")])
def test_old_texts_expire(texts: GivenTexts, tmp_path: Path, days: int, left: str) -> None:
    """By their age; where none are to be kept, all."""
    GivenTexts(tmp_path, days=days).expire(90_000.0)

    assert left == names(texts)


def test_none_is_kept_where_the_settings_want_none(tmp_path: Path) -> None:
    """Nothing is written."""
    GivenTexts(tmp_path, days=0).add(text("a"))

    assert not list(tmp_path.glob("*.jsonl"))


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest texts go."""
    monkeypatch.setattr(given_texts, "MAX_BYTES", 1_000)
    texts = GivenTexts(tmp_path, days=1)
    for number in range(100):
        texts.add(GivenText(str(number), 0.0, "p", "s", "x" * 50))
        assert texts.path.stat().st_size <= 1_000

    assert (True, False) == (bool(texts.find("99")), bool(texts.find("0")))


def test_a_damaged_line_is_passed_over(texts: GivenTexts) -> None:
    """It costs no other text."""
    with texts.path.open("ab") as file:
        file.write(b'{"id": 3}\n{"half')
    texts.add(text("d"))

    assert ("abc", "text d") == (names(texts), texts.find("d"))
