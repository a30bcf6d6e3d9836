"""The module class that sentence-transformers loads for a weighted-bag folder; only this module imports torch.

`modules.json` names it. hybrid itself embeds with `bag_model`, whose arithmetic this module shares up to the table. It
computes vectors; it is not made for training.
"""

# torch and sentence-transformers come with an extra: a type check without it must pass too.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from hybrid.base.errors import ModelError
from hybrid.models.bag_model import BagModel, document_bags, query_bags, read_bag_model, write_bag_model
from hybrid.types import EmbedInput

if TYPE_CHECKING:
    from collections.abc import Sequence


class WeightedBag(torch.nn.Module):
    """Text to a unit vector: the weighted sum of the table rows of its tokens.

    `SentenceTransformer.encode_query` embeds queries. `encode` and `encode_document` embed documents, whose first
    line is the head (path, scope, names) and whose other lines are the body.

    Args:
        model: The arrays and the tokeniser.
    """

    save_in_root = True
    modalities = ("text",)
    forward_kwargs: frozenset[str] = frozenset()
    table: torch.Tensor
    query_weights: torch.Tensor
    document_weights: torch.Tensor

    def __init__(self, model: BagModel) -> None:
        super().__init__()
        self.tokenizer = model.tokenizer
        self.limits = model.limits
        self.head_weight = model.head_weight
        self.register_buffer("table", torch.from_numpy(np.array(model.table)))
        self.register_buffer("query_weights", torch.from_numpy(np.array(model.query_weights)))
        self.register_buffer("document_weights", torch.from_numpy(np.array(model.document_weights)))

    @property
    def max_seq_length(self) -> int:
        """Number of words of a document's body that count."""
        return self.limits.body_words

    def get_embedding_dimension(self) -> int:
        """Return the length of a vector."""
        return int(self.table.shape[1])

    def get_sentence_embedding_dimension(self) -> int:
        """Return the length of a vector, as sentence-transformers before 6 asks for it."""
        return self.get_embedding_dimension()

    def preprocess(
        self, inputs: Sequence[str], prompt: str | None = None, task: str | None = None, **_: Any
    ) -> dict[str, Any]:
        """Return the bags of texts.

        Args:
            inputs: Texts of one batch.
            prompt: Put before every text.
            task: `query` for queries; documents otherwise.

        Returns:
            `input_ids` and `factors` of every entry, the text each `belongs_to`, all of shape (n_entries,), and one
            flag a text, `is_query`, shape (n_texts,).
        """
        texts = [(prompt or "") + text for text in inputs]
        is_query = task == "query"
        if is_query:
            bags = query_bags(self.tokenizer, texts, self.limits.query_words)
        else:
            documents = [EmbedInput(head, body) for head, _, body in (text.partition("\n") for text in texts)]
            bags = document_bags(self.tokenizer, documents, self.limits, head_weight=self.head_weight)
        belongs_to = np.repeat(np.arange(len(texts), dtype=np.int64), np.diff(bags.starts))
        return {
            "input_ids": torch.from_numpy(bags.tokens),
            "factors": torch.from_numpy(bags.factors),
            "belongs_to": torch.from_numpy(belongs_to),
            "is_query": torch.full((len(texts),), is_query),
        }

    def tokenize(self, texts: Sequence[str], **kwargs: Any) -> dict[str, Any]:
        """Return what `preprocess` does, under the name that sentence-transformers before 6 calls."""
        return self.preprocess(texts, **kwargs)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add `sentence_embedding`, unit vectors of shape (n_texts, dim); a text without a known token gives zeros."""
        tokens, belongs_to = features["input_ids"], features["belongs_to"]
        is_query = features["is_query"]
        weights = torch.where(is_query[belongs_to], self.query_weights[tokens], self.document_weights[tokens])
        rows = self.table[tokens].float() * (weights * features["factors"])[:, None]
        sums = torch.zeros((len(is_query), rows.shape[1]), dtype=rows.dtype, device=rows.device)
        sums.index_add_(0, belongs_to, rows)
        features["sentence_embedding"] = torch.nn.functional.normalize(sums, dim=-1)
        return features

    def save(self, output_path: str, *_: Any, **__: Any) -> None:
        """Write the model's files into a folder."""
        model = BagModel(
            tokenizer=self.tokenizer,
            table=self.table.cpu().numpy(),
            query_weights=self.query_weights.cpu().numpy(),
            document_weights=self.document_weights.cpu().numpy(),
            head_weight=self.head_weight,
            limits=self.limits,
        )
        write_bag_model(Path(output_path), model)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **_: Any) -> WeightedBag:
        """Read a model from a local folder.

        Raises:
            ModelError: The folder is not there, or its files are damaged.
        """
        folder = Path(model_name_or_path) / subfolder
        if not folder.is_dir():
            raise ModelError(f"{folder} is not a folder; fetch the model first and give its folder")
        return cls(read_bag_model(folder))


def sentence_transformer(folder: str | Path) -> Any:
    """Return a `SentenceTransformer` of a weighted-bag folder.

    The class is given, not looked up by `modules.json`: that needs `trust_remote_code` from sentence-transformers 6 on.

    Raises:
        ModelError: The folder is not there, or its files are damaged.
    """
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(modules=[WeightedBag.load(str(folder))], similarity_fn_name="cosine")
