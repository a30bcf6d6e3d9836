"""A prompt about a file as a whole gets the outline of the file and the files that use it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.unit.answer.sessions import new_session

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.decide import Decision

BILLS = '''"""Bills."""

from dataclasses import dataclass


def print_bill(bill, printer):
    """Print a bill."""
    printer.put(bill.text())
    printer.put(bill.total())


class Bill:
    """One bill."""

    def __init__(self, lines):
        self.lines = lines

    def total(
        self,
        currency="EUR",
    ):
        """The sum of its lines."""

        def rounded(amount):
            return round(amount, 2)

        return rounded(sum(self.lines))


def _pause():
    return 1
'''
FILES = {
    "shop/bills.py": BILLS,
    "shop/desk.py": "from shop.bills import print_bill\n\n\ndef close(desk):\n    print_bill(desk.bill, desk.printer)\n",
    "shop/__init__.py": "from shop import bills\n",
    "tests/test_bills.py": "from shop.bills import Bill\n\n\ndef test_total():\n    assert Bill([1]).total() == 1\n",
    "docs/bills.md": "# Bills\n\nCall `print_bill` to print one.\n",
    "shop/orders.py": "def order(number):\n    return number\n",
}


def _asked(tmp_path: Path, prompt: str, files: dict[str, str] = FILES, **flags: object) -> Decision:
    return new_session(tmp_path, files).decide(prompt, hooks_threshold=0.0, **flags)


def _outline(decision: Decision) -> list[str]:
    body = decision.items[0].body.split("\n") if decision.items else []
    end = next((n for n, line in enumerate(body) if not re.match(r"\d+-\d+ |and \d+ more$", line)), len(body))
    return body[:end]


@pytest.mark.parametrize(
    "prompt", ["refactor bills.py", "what is in shop/bills.py?", "Please split bills.py into smaller modules"]
)
def test_the_item_begins_with_the_outline(tmp_path: Path, prompt: str) -> None:
    """Each definition has a line with its range, in the order of the file; what is defined in a function has none."""
    decision = _asked(tmp_path, prompt)

    assert [
        "6-9 def print_bill(bill, printer):",
        "12-27 class Bill:",
        "15-16 Bill.__init__(self, lines):",
        'Bill.total(self, currency="EUR", ):',
        "30-31 def _pause():",
    ] == [line.removeprefix("18-27 ") for line in _outline(decision)]
    assert f"[code] shop/bills.py:1-{len(BILLS.splitlines())} (outline, also " in decision.text


def test_who_uses_the_file_stands_below(tmp_path: Path) -> None:
    """A line that calls comes before one that imports, source before tests and pages."""
    decision = _asked(tmp_path, "refactor bills.py")

    line = next(line for line in decision.items[0].body.split("\n") if line.startswith("used by: "))
    assert "used by: shop/desk.py:5, shop/__init__.py:1, tests/test_bills.py:5, docs/bills.md:3" == line


def test_what_other_files_define_too_says_nothing(tmp_path: Path) -> None:
    """Who mentions `close` may mean that of any file."""
    both = {f"{name}/run.py": "def close_all(desk):\n    return desk\n" for name in ("a", "b")}
    user = {"c/main.py": "def main(desk):\n    return close_all(desk)\n"}

    assert "used by" not in _asked(tmp_path, "refactor a/run.py", {**both, **user}).text


@pytest.mark.parametrize(
    "prompt",
    [
        "how does bills.py compute the sum of the lines of a bill?",
        "rename print_bill in bills.py",
        "does bills.py use a printer?",
        "refactor the printing of a bill",
        "refactor receipts.py",
    ],
)
def test_other_prompts_get_no_outline(tmp_path: Path, prompt: str) -> None:
    """They ask for a part of the file, or name no file that is here."""
    assert "(outline" not in _asked(tmp_path, prompt).text


def test_a_word_that_the_file_lacks_is_of_the_task(tmp_path: Path) -> None:
    """Nothing in the file can be meant by it."""
    assert "(outline" in _asked(tmp_path, "make bills.py async").text


def test_a_long_outline_keeps_the_most_important(tmp_path: Path) -> None:
    """Functions come before members, public ones before others, long ones before short ones; a line counts the rest."""
    methods = "".join(f"    def method_{n}(self):\n        return {n}\n\n" for n in range(40))
    source = f"class Till:\n{methods}\ndef _hidden():\n    return 1\n\n\ndef count(till):\n    return till\n"
    outline = _outline(_asked(tmp_path, "refactor till.py", {"till.py": source}))

    assert "1-120 class Till:" == outline[0]
    assert [line.split(" ", 1)[1] for line in outline[-3:]] == ["def _hidden():", "def count(till):", "18 more"]
    assert len(outline) <= 26
    assert sum(len(line) + 1 for line in outline) <= 1_250


def test_an_outline_of_a_page_is_its_headings(tmp_path: Path) -> None:
    """As they are written."""
    page = "# Guide\n\nAll of it.\n\n## Setup\n\nFirst.\n\n## Use\n\nThen.\n"

    assert ["1-11 # Guide", "5-8 ## Setup", "9-11 ## Use"] == _outline(
        _asked(tmp_path, "summarize guide.md", {"guide.md": page, **FILES})
    )


def test_a_session_gets_an_outline_once(tmp_path: Path) -> None:
    """It stands in the agent's context."""
    session = new_session(tmp_path, FILES)

    assert "(outline" in session.decided("refactor bills.py", hooks_threshold=0.0).text
    assert "(outline" not in session.decided("now review shop/bills.py", hooks_threshold=0.0).text


def test_a_definition_that_moved_is_left_out(tmp_path: Path) -> None:
    """What the index says of a line that no longer has the name is not shown."""
    session = new_session(tmp_path, FILES)
    path = session.root / "shop/bills.py"
    path.write_text(BILLS.replace("def print_bill(bill, printer):", "def show_bill(bill, printer):"))

    assert not any("print_bill" in line for line in _outline(session.decide("refactor bills.py", hooks_threshold=0.0)))
