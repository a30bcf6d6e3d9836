"""Trains a table by contrast: the query of each pair must be nearer to its own document than to the others of a batch.

The loss is the symmetric cross-entropy over the cosines of a batch (InfoNCE; van den Oord, Li and Vinyals, 2018), times
`scale`. Beside it the table learns the similarities that a sentence transformer sees between whole texts, and documents
learn to be nearer to their query than to any talk.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from hybrid_lab.training.pairs import BagSet, batches, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from hybrid_lab.training.pairs import PairSet
    from hybrid_lab.training.start import Start


@dataclass(frozen=True, slots=True)
class Settings:
    """How a table is trained.

    Attributes:
        steps: Number of batches at most; the rate falls to a tenth towards the last.
        batch: Pairs of a batch.
        block: Pairs of one repository that stand together in it.
        rate: Learning rate of Adam for the table.
        weight_rate: The same for logarithms of token weights and for the head weight.
        scale: What cosines are multiplied by before the softmax.
        body_dropout: Share of the tokens of a document that a step leaves out.
        query_dropout: The same for queries.
        no_head: Share of documents without a head line.
        path_head: Share of documents whose head line is the path alone.
        templates: Share of queries that are put into the form of a question or a request.
        distilled: Number of whole texts of a step whose similarities are learnt from the transformer; 0 for none.
        distil_weight: Weight of that loss.
        talk: Number of talk prompts of a step that no document may be near to; 0 for none.
        check_every: Steps between two looks at the pairs held out.
        patience: Looks without a gain after which training ends.
    """

    steps: int = 400
    batch: int = 2_048
    block: int = 256
    rate: float = 3e-3
    weight_rate: float = 1e-2
    scale: float = 20.0
    body_dropout: float = 0.1
    query_dropout: float = 0.05
    no_head: float = 0.5
    path_head: float = 0.5
    templates: float = 0.3
    distilled: int = 512
    distil_weight: float = 4.0
    talk: int = 256
    check_every: int = 50
    patience: int = 4


@dataclass(frozen=True, slots=True)
class Trained:
    """A table after training.

    Attributes:
        table: float32, shape (n_tokens, dim).
        query_weights: Weight of each token in queries, float32, shape (n_tokens,).
        document_weights: The same in documents.
        head_weight: Factor of a token of the head line.
    """

    table: NDArray[np.float32]
    query_weights: NDArray[np.float32]
    document_weights: NDArray[np.float32]
    head_weight: float


@dataclass(frozen=True, slots=True)
class Material:
    """What a table is trained on.

    Attributes:
        pairs: Pairs of the repositories to learn from.
        held_out: Pairs of other repositories, which decide when to stop.
        start: Where training begins, and the texts to distil.
        templates: Words of the forms that a query may be put into.
        talk: Prompts that are about no code.
    """

    pairs: PairSet
    held_out: PairSet
    start: Start
    templates: BagSet
    talk: BagSet


class Table(torch.nn.Module):
    """The parameters, and the sums of bags that they give; token weights are kept as logarithms, so they stay positive.

    Args:
        known: What the parameters are at first.
    """

    def __init__(self, known: Trained) -> None:
        super().__init__()
        self.rows = torch.nn.Parameter(torch.from_numpy(known.table.copy()))
        self.query_logs = torch.nn.Parameter(torch.from_numpy(np.log(known.query_weights)))
        self.document_logs = torch.nn.Parameter(torch.from_numpy(np.log(known.document_weights)))
        self.head_log = torch.nn.Parameter(torch.tensor(np.log(known.head_weight), dtype=torch.float32))

    def sums(self, bags: BagSet, logs: torch.Tensor, keep: NDArray[np.bool_] | None = None) -> torch.Tensor:
        """Return the weighted sum of rows of every bag, shape (n_bags, dim); only entries in `keep` count."""
        tokens = torch.from_numpy(bags.tokens.astype(np.int64))
        factors = bags.factors if keep is None else bags.factors * keep
        weights = torch.exp(logs[tokens]) * torch.from_numpy(factors)
        starts = torch.from_numpy(bags.starts[:-1])
        return functional.embedding_bag(tokens, self.rows, starts, mode="sum", per_sample_weights=weights)

    def query_sums(self, bags: BagSet, keep: NDArray[np.bool_] | None = None) -> torch.Tensor:
        """Return the sums of queries, not made unit length."""
        return self.sums(bags, self.query_logs, keep)

    def queries(self, bags: BagSet, keep: NDArray[np.bool_] | None = None) -> torch.Tensor:
        """Return unit vectors of queries."""
        return functional.normalize(self.query_sums(bags, keep), dim=-1)

    def documents(self, bodies: BagSet, heads: BagSet, keep: NDArray[np.bool_] | None = None) -> torch.Tensor:
        """Return unit vectors of documents; `keep` speaks of the entries of bodies."""
        heads_sum = self.sums(heads, self.document_logs) * torch.exp(self.head_log)
        return functional.normalize(self.sums(bodies, self.document_logs, keep) + heads_sum, dim=-1)

    def trained(self) -> Trained:
        """Return the parameters as arrays."""
        with torch.no_grad():
            return Trained(
                self.rows.numpy().copy(),
                torch.exp(self.query_logs).numpy().copy(),
                torch.exp(self.document_logs).numpy().copy(),
                float(torch.exp(self.head_log)),
            )


def train(material: Material, settings: Settings, seed: int, report: Callable[[str], None]) -> Trained:
    """Train one table and return it as it was best on the pairs held out.

    Args:
        material: What to learn from, and what to begin with.
        settings: How to train.
        seed: Decides the order of pairs and what is left out of them.
        report: Called with a line at each look at the pairs held out.
    """
    torch.manual_seed(seed)
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    start = material.start
    table = Table(Trained(start.table, start.weights, start.weights, 1.0))
    slow = [table.query_logs, table.document_logs, table.head_log]
    optimizer = torch.optim.Adam(
        [{"params": [table.rows], "lr": settings.rate}, {"params": slow, "lr": settings.weight_rate}]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.9 * min(step / settings.steps, 1))
    best, best_score, looks, loss = table.trained(), 0.0, 0, 0.0
    for step, rows in enumerate(_endless(material.pairs, settings, chance)):
        if step % settings.check_every == 0 or step == settings.steps:
            score = held_out_mrr(table, material.held_out)
            report(f"seed {seed} step {step}: loss {loss:.3f}, MRR held out {score:.4f}")
            looks = 0 if score > best_score else looks + 1
            if score > best_score:
                best, best_score = table.trained(), score
            if step == settings.steps or looks >= settings.patience:
                return best
        total = contrast(table, material, rows, settings, numbers)
        if settings.distilled:
            total = total + settings.distil_weight * distil(table, start, settings, numbers)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        schedule.step()
        loss = float(total.detach())
    raise AssertionError("an endless pass ended")


def _endless(pairs: PairSet, settings: Settings, chance: random.Random) -> Iterator[NDArray[np.intp]]:
    while True:
        yield from batches(pairs.repos, size=settings.batch, block=settings.block, chance=chance)


def contrast(
    table: Table, material: Material, rows: NDArray[np.intp], settings: Settings, numbers: np.random.Generator
) -> torch.Tensor:
    """Return the symmetric cross-entropy of one batch; pairs of an equal query or body do not count as wrong."""
    pairs = material.pairs
    queries = _in_templates(pairs.queries.take(rows), material.templates, settings.templates, numbers)
    bodies, heads = pairs.bodies.take(rows), _heads(pairs, rows, settings, numbers)
    q = table.queries(queries, numbers.random(len(queries.tokens)) >= settings.query_dropout)
    d = table.documents(bodies, heads, numbers.random(len(bodies.tokens)) >= settings.body_dropout)
    logits = settings.scale * q @ d.T
    same = torch.from_numpy(_same(pairs.same_query[rows]) | _same(pairs.same_body[rows]))
    logits = logits.masked_fill(same, -1e4)
    right = torch.arange(len(rows))
    backwards = logits.T
    if settings.talk and len(material.talk):
        chosen = numbers.choice(len(material.talk), min(settings.talk, len(material.talk)), replace=False)
        backwards = torch.cat([backwards, settings.scale * d @ table.queries(material.talk.take(chosen)).T], dim=1)
    return (functional.cross_entropy(logits, right) + functional.cross_entropy(backwards, right)) / 2


def _same(numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    same = numbers[:, None] == numbers[None, :]
    np.fill_diagonal(same, val=False)
    return same


def _in_templates(queries: BagSet, templates: BagSet, share: float, numbers: np.random.Generator) -> BagSet:
    """Return the queries, a share of them with the words of a template added."""
    chosen = np.where(numbers.random(len(queries)) < share, numbers.integers(1, len(templates), len(queries)), 0)
    return _merged(queries, templates.take(chosen))


def _merged(first: BagSet, second: BagSet) -> BagSet:
    """Return bag i of one list with the entries of bag i of another."""
    n = len(first)
    both = joined([first, second])
    return _flat(both.take(np.stack([np.arange(n), np.arange(n) + n], axis=1).ravel()))


def _flat(doubled: BagSet) -> BagSet:
    """Return every two neighbouring bags as one."""
    return BagSet(doubled.tokens, doubled.factors, doubled.starts[::2])


def _heads(pairs: PairSet, rows: NDArray[np.intp], settings: Settings, numbers: np.random.Generator) -> BagSet:
    """Return the head lines of a batch: none, the path alone, or as the product writes them."""
    drawn = numbers.random(len(rows))
    paths, heads = pairs.paths.take(rows), pairs.heads.take(rows)
    both = joined([paths, heads, BagSet(paths.tokens[:0], paths.factors[:0], np.zeros(2, np.int64))])
    n = len(rows)
    with_path = np.where(drawn < settings.no_head + settings.path_head, np.arange(n), np.arange(n) + n)
    return both.take(np.where(drawn < settings.no_head, 2 * n, with_path))


def distil(table: Table, start: Start, settings: Settings, numbers: np.random.Generator) -> torch.Tensor:
    """Return how far similarities among some texts are from those of the transformer: cross-entropy of softmaxes.

    Each text is read once as a query and once as a document, since a record is one and a prompt the other.
    """
    chosen = numbers.choice(len(start.texts), min(settings.distilled, len(start.texts)), replace=False)
    bags, seen = start.texts.take(chosen), torch.from_numpy(start.text_vectors[chosen])
    as_query = table.queries(bags)
    as_document = functional.normalize(table.sums(bags, table.document_logs), dim=-1)
    wanted = functional.softmax((settings.scale * seen @ seen.T).fill_diagonal_(-1e4), dim=-1)
    found = functional.log_softmax((settings.scale * as_query @ as_document.T).fill_diagonal_(-1e4), dim=-1)
    return -(wanted * found.clamp(min=-50)).sum(dim=-1).mean() / 4


def held_out_mrr(table: Table, pairs: PairSet) -> float:
    """Return the mean reciprocal rank of the body of each query among those of its repository; heads are paths."""
    with torch.no_grad():
        q = table.queries(pairs.queries).numpy()
        d = table.documents(pairs.bodies, pairs.paths).numpy()
    ranks: list[float] = []
    for repo in np.unique(pairs.repos):
        rows = np.flatnonzero(pairs.repos == repo)
        cosines = q[rows] @ d[rows].T
        ranks += (1 / (1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1))).tolist()
    return float(np.mean(ranks))
