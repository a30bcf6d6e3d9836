"""Cases that stand in the text files below `tests/cases`; the README there tells their form."""

from __future__ import annotations

import inspect
import json
import re
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Path(__file__).parents[1] / "cases"
MADE_UP = {
    "body": "9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5UeXo0iBq" * 3,
    "hex": "0a1b2c3d4e5f60718293a4b5c6d7e8f9" * 4,
}
"""Texts without a meaning, of which `{body:36}` is the beginning, so that no scanner takes a file for a leak."""

_PIECE = re.compile(rf"\{{({'|'.join(MADE_UP)}):(\d+)\}}")
_CONTROLS = {0x2400 + code: code for code in range(0x21)} | {ord("¦"): None}


class Case(NamedTuple):
    """A name, what is given, and what is expected (None where a file only lists what is given)."""

    name: str
    text: str
    expected: str | None

    def given(self) -> Any:
        """Return what is given where it is written as JSON."""
        return json.loads(self.text)

    def json(self) -> Any:
        """Return what is expected where it is written as JSON."""
        return json.loads(str(self.expected))


def read(file: str) -> list[Case]:
    """Return the cases of a file below `tests/cases`, in order."""
    lines, *blocks = re.split(r"^===(?=[ \n])", (CASES / file).read_text(encoding="utf-8"), flags=re.MULTILINE)
    parted = [
        re.split(r"[ \t]+==>(?:[ \t]+|$)", line) for line in lines.split("\n") if line and not line.startswith("# ")
    ]
    found = [_case(given, given, *expected) for given, *expected in parted]
    for block in blocks:
        name, _, body = block.partition("\n")
        given, *expected = re.split(r"^==>$", body, flags=re.MULTILINE)
        found.append(_case(name.strip() or given.strip("\n").partition("\n")[0], given, *expected))
    return found


def cases(file: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a test each case of a file as `case`.

    Where it takes nothing else, one test asks all and names those that fail: what pytest does around each of two
    thousand tests takes longer than they do.
    """
    found = read(file)
    assert found, file

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        if [*inspect.signature(test).parameters] != ["case"]:
            return pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in found])(test)

        @wraps(test)
        def ask_all() -> None:
            failed = dict[str, Exception]()
            for case in found:
                try:
                    test(case)
                except Exception as error:  # noqa: BLE001  One that fails in whatever way hides no other.
                    failed[case.name] = error
            for error in failed.values():
                raise AssertionError("\n".join(f"{name}: {one!r}" for name, one in failed.items())) from error

        del ask_all.__wrapped__  # Or pytest would look for a fixture `case`.
        return ask_all

    return decorate


def project(file: str) -> dict[str, str]:
    """Return the files of a small project, or texts by name: the blocks of a file, each with a line end."""
    return {case.name: f"{case.text}\n" for case in read(file)}


def _case(name: str, given: str, expected: str | None = None) -> Case:
    return Case(name, _text(given), None if expected is None else _text(expected))


def _text(lines: str) -> str:
    """Return a text as it is meant: without blank lines around it, its pictures and pieces replaced."""
    shown = _PIECE.sub(lambda piece: MADE_UP[piece[1]][: int(piece[2])], lines.strip("\n"))
    return shown.translate(_CONTROLS)
