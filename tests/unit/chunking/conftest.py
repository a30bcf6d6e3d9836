"""Sample sources, limits and a readable table of definitions for the chunking tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid.types import ChunkLimits

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "languages"


@pytest.fixture(scope="session")
def sample_text():
    """Reads a sample source by file name."""

    def read(name):
        return (SAMPLES / name).read_text(encoding="utf-8")

    return read


@pytest.fixture(scope="session")
def definition_table():
    """Writes parsed definitions as lines of kind, name, first-last line and scope."""

    def table(parsed):
        return "\n".join(
            f"{definition.kind:<12}{definition.name:<15} {definition.start_line}-{definition.end_line}"
            f" {definition.scope}".rstrip()
            for definition in parsed.definitions
        )

    return table


@pytest.fixture(scope="session")
def limits():
    """The shipped sizes."""
    return ChunkLimits(max_chars=1500, merge_chars=750, cut_chars=1000)
