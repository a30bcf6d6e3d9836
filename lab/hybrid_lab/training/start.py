"""The start of a table: its vocabulary, and what a sentence transformer says of its words and of some whole texts.

A sentence transformer is too slow to read all pairs; it embeds each word of the vocabulary once. Needs the extra
`training`; nothing is fetched: the folder of the transformer is an argument.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybrid.models.bag_model import NUMBER, split_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid_lab.training.pairs import BagSet, Pair

_RUN = re.compile(r"[A-Za-z0-9]+")

LEAST_TEXTS = 12
"""A word in fewer texts of the pairs is left to its pieces."""
LONGEST_WORD = 20
DISTILLED_CHARS = 400
"""Of a distilled text: about as much as a record says, and the transformer's time grows with it."""
SIF = 1e-3
"""The constant a of smooth inverse frequency, a / (a + p) (Arora, Liang and Ma, ICLR 2017)."""


def vocabulary(pairs: Iterable[Pair], general: Iterable[str], size: int) -> list[str]:
    """Return the tokens of a table, most frequent first.

    Args:
        pairs: Texts that the words are counted in, a word once in each text.
        general: Words of general language that follow those of the pairs.
        size: Most tokens.
    """
    counts: Counter[str] = Counter()
    for pair in pairs:
        for text in (pair.query, pair.body, pair.path):
            counts.update({word for run in _RUN.findall(text) for word in split_run(run)})
    words = [word for word, n in counts.most_common() if n >= LEAST_TEXTS and _is_token(word)]
    more = (word for word in general if word.isascii() and word.isalpha() and word.islower() and len(word) > 2)
    return list(dict.fromkeys([*words, NUMBER, *more]))[:size]


def _is_token(word: str) -> bool:
    return len(word) <= LONGEST_WORD and (not word.isdigit() or len(word) <= 2)


@dataclass(frozen=True, slots=True)
class Start:
    """What training begins with.

    Attributes:
        table: One row a token, float32, shape (n_tokens, dim), rows of length about 1.
        weights: Weight of each token, float32, shape (n_tokens,).
        texts: Whole texts that the table learns to see as the transformer does, as bags.
        text_vectors: Unit vectors of the transformer for them, float32, shape (n_texts, dim of the transformer).
    """

    table: NDArray[np.float32]
    weights: NDArray[np.float32]
    texts: BagSet
    text_vectors: NDArray[np.float32]


def first_table(word_vectors: NDArray[np.float32], dim: int) -> NDArray[np.float32]:
    """Return the centred vectors of words in their first `dim` principal directions, of mean length 1.

    Args:
        word_vectors: Of a sentence transformer, shape (n_words, more than dim).
        dim: Length of a row.
    """
    centred = word_vectors - word_vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    table = centred @ directions[:, ::-1][:, :dim]
    return (table / np.linalg.norm(table, axis=1).mean()).astype(np.float32)


def first_weights(bags: BagSet, n_tokens: int) -> NDArray[np.float32]:
    """Return smooth inverse frequencies by the occurrences of tokens in bags, shape (n_tokens,)."""
    counts = np.bincount(bags.tokens, weights=bags.factors, minlength=n_tokens)
    return (SIF / (SIF + (counts + 1) / (counts.sum() + n_tokens))).astype(np.float32)


def chosen_texts(pairs: Sequence[Pair], n: int, seed: int) -> list[str]:
    """Return queries written by people and the beginnings of prose, half of each, mixed by the seed."""
    queries = sorted({pair.query for pair in pairs if pair.type in ("doc2code", "commit2code", "head2body")})
    prose = sorted({pair.body[:DISTILLED_CHARS] for pair in pairs if pair.type == "head2body"})
    chance = random.Random(seed)
    texts = [*chance.sample(queries, min(n // 2, len(queries))), *chance.sample(prose, min(n // 2, len(prose)))]
    chance.shuffle(texts)
    return texts


class Teacher:
    """A sentence transformer in a folder.

    Args:
        folder: Holds the model; nothing is fetched.
    """

    def __init__(self, folder: Path) -> None:
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)

    def words(self) -> list[str]:
        """Return the whole words of its tokeniser's vocabulary, most frequent first."""
        ids: dict[str, int] = self._model.tokenizer.get_vocab()
        return [word for word, _ in sorted(ids.items(), key=lambda entry: entry[1])]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape (n_texts, dim)."""
        return self._model.encode(
            list(texts), batch_size=256, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        ).astype(np.float32)
