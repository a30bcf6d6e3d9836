"""The repositories and judged files that tests of the product use too."""

from __future__ import annotations

from tests.unit.evaluation.conftest import manifest_file, prompts_file, queries_file, repos

__all__ = ["manifest_file", "prompts_file", "queries_file", "repos"]
