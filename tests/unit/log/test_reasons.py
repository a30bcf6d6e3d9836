from __future__ import annotations

import subprocess
import sys

import pytest

from hybrid.log.events import PROMPT_RULES, REASONS, STARTS, UNSEARCHABLE, reason_of
from tests.support.builders import CHECKOUT


@pytest.mark.parametrize("name", REASONS)
def test_every_reason_is_a_sentence(name: str) -> None:
    """What `hybrid explain` says of a reason, and its advice, are sentences; its short form is none."""
    reason = reason_of(name)

    assert reason is not None
    assert reason.sentence.endswith(".")
    assert not reason.advice or reason.advice.endswith(".")
    assert not reason.short.endswith(".")


def test_a_line_of_another_version_has_no_reason() -> None:
    """A reason that this version does not know, or something that is no text, is None."""
    assert [None, None, None] == [reason_of(name) for name in ("unheard_of", None, 3)]


def test_groups_hold_reasons() -> None:
    """The named groups of reasons hold nothing else."""
    assert set(REASONS) >= UNSEARCHABLE | STARTS
    assert all(advice.endswith(".") for advice in PROMPT_RULES.values())


def test_the_status_line_does_not_load_typing_for_them() -> None:
    """The table is standard library without `typing`: a status line is run many times a minute."""
    code = "import sys, hybrid.log.events; print('typing' in sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(CHECKOUT)!r}); {code}"], capture_output=True, text=True, check=True)  # fmt: skip

    assert "False" == done.stdout.strip()
