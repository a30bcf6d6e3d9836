from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hybrid.models.registry import load_embedder
from hybrid.search.gate.record_evidence import word_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest
    from numpy.typing import NDArray


VECTORS = {"retry": (1.0, 0.0), "again": (0.8, 0.6), "cedar": (0.0, 1.0), "of": (0.0, -1.0)}
LENGTHS = {"retry": 2.0, "again": 1.0, "cedar": 3.0, "of": 0.1}


class Words:
    """A model of four words; `again` lies between `retry` and `cedar`, which are far from one another."""

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Vectors and lengths; a word that is not known has neither."""
        vectors = np.array([VECTORS.get(text, (0.0, 0.0)) for text in texts], np.float32).reshape(-1, 2)
        return vectors, np.array([LENGTHS.get(text, 0.0) for text in texts], np.float32)


class Silent(Words):
    """A model whose lengths say nothing."""

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], None]:
        """Vectors alone."""
        return super().embed_queries(texts)[0], None


def test_each_word_counts_by_its_nearest_term_and_its_length() -> None:
    """`retry` (2) and `cedar` (3) are there: 5. Near is `again` (0.8 · 2 and 0.6 · 3): 3.4. What is far counts nothing."""
    found = word_match(["retry", "cedar"], [["retry", "cedar", "of"], ["again"], []], Words())  # type: ignore[arg-type]

    assert np.allclose([1.0, 3.4 / 5, 0.0], found)
    assert [0.0, 0.0] == word_match(["cedar"], [["retry"], ["of"]], Words())  # type: ignore[arg-type]


def test_without_words_or_lengths_nothing_is_matched() -> None:
    """An empty query, texts without terms, and models that do not tell."""
    assert [0.0] == word_match([], [["retry"]], Words())  # type: ignore[arg-type]
    assert [0.0, 0.0] == word_match(["retry"], [[], []], Words())  # type: ignore[arg-type]
    assert [] == word_match(["retry"], [], Words())  # type: ignore[arg-type]
    assert [0.0] == word_match(["retry"], [["retry"]], Silent())  # type: ignore[arg-type]


def test_the_shipped_model_matches_words_near_in_meaning(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A text with the word itself before one with a relative, that before one with neither."""
    embedder = load_embedder("static-v1", home=tmp_path_factory.mktemp("home"))
    same, near, far = word_match(["configuration"], [["configuration"], ["config"], ["banana"]], embedder)

    assert 1.0 == same
    assert same > near > far
