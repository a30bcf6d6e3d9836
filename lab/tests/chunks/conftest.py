"""The samples of languages that tests of the product use too."""

from __future__ import annotations

from tests.unit.chunking.conftest import definition_table, limits, sample_text

__all__ = ["definition_table", "limits", "sample_text"]
