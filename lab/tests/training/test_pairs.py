import json
import random

import numpy as np
import pytest

from hybrid.models.bag_model import Limits, WordTokenizer, document_bags
from hybrid.types import EmbedInput
from hybrid_lab.training.pairs import (
    Pair,
    batches,
    body_set,
    head_set,
    joined,
    pair_of,
    pair_set,
    query_set,
    read_held_out,
    read_pair_set,
    write_pair_set,
)

LIMITS = Limits(query_words=16, body_words=32, head_words=8)
TOKENIZER = WordTokenizer(["open", "till", "drawer", "src", "py", "float", "count", "def"])

ROW = {
    "q": "open the drawer",
    "d": "src/till.py\ndef open_drawer(count):\n    return count\n",
    "lang": "python",
    "repo": "acme/till",
    "path": "src/till.py",
    "type": "doc2code",
}


def test_first_line_that_repeats_the_path_is_no_part_of_the_body():
    """About half of the rows begin with their path."""

    assert pair_of(ROW).body == "def open_drawer(count):\n    return count\n"
    assert pair_of(ROW | {"d": "x = 1\ny = 2"}).body == "x = 1\ny = 2"


def test_head_is_path_and_names_as_in_an_index():
    """A table learns from the heads that it will meet."""

    assert pair_of(ROW).head == "src/till.py open_drawer"


def test_head_of_prose_does_not_give_the_heading_away():
    """The heading is the query."""

    pair = Pair(
        "Opening hours", "# Opening hours\n\nWe open at nine.", "docs/hours.md", "acme/till", "markdown", "head2body"
    )

    assert pair.head == "docs/hours.md"


def test_body_and_head_together_are_the_bag_of_the_product():
    """They are kept apart only so that a step can leave the head out."""

    inputs = [EmbedInput("src/till.py count", "open open drawer"), EmbedInput("", "float")]

    whole = document_bags(TOKENIZER, inputs, LIMITS, head_weight=1.0)
    bodies = body_set(TOKENIZER, [one.body for one in inputs], LIMITS)
    heads = head_set(TOKENIZER, [one.head for one in inputs], LIMITS)

    for i in range(len(inputs)):
        wanted = entries(whole, i)
        assert sorted(entries(bodies, i) + entries(heads, i)) == sorted(wanted)


def test_taking_bags_keeps_each_whole():
    """In any order, with repeats, empty ones too."""

    bags = query_set(TOKENIZER, ["open till", "", "drawer drawer", "count"], LIMITS)

    taken = bags.take(np.array([2, 0, 1, 2]))

    assert [entries(taken, i) for i in range(4)] == [entries(bags, i) for i in (2, 0, 1, 2)]


def test_joined_lists_follow_one_another():
    """The first list comes first."""

    first, second = (query_set(TOKENIZER, texts, LIMITS) for texts in (["open", "till"], ["drawer"]))

    assert [entries(joined([first, second]), i) for i in range(3)] == [
        entries(first, 0),
        entries(first, 1),
        entries(second, 0),
    ]


def test_pairs_come_back_from_their_file_as_they_were(tmp_path):
    """Equal texts have equal numbers."""

    pairs = pair_set([pair_of(ROW), pair_of(ROW | {"repo": "acme/door", "q": "count"})], TOKENIZER, LIMITS)

    write_pair_set(tmp_path / "pairs.npz", pairs)
    again = read_pair_set(tmp_path / "pairs.npz")

    assert again.repos.tolist() == [0, 1]
    assert again.same_query.tolist() == [0, 1]
    assert again.same_body.tolist() == [0, 0]
    assert [entries(again.heads, i) for i in range(2)] == [entries(pairs.heads, i) for i in range(2)]


def test_held_out_pairs_are_read_apart(tmp_path):
    """They lie in a file of their own."""

    (tmp_path / "dev.jsonl").write_text(json.dumps(ROW) + "\n", encoding="utf-8")

    assert [row["q"] for row in read_held_out(tmp_path)] == ["open the drawer"]


@pytest.mark.parametrize("seed", range(5))
def test_batches_are_blocks_of_one_repository_without_repeats(seed):
    """What is left over waits for the next pass."""

    repos = np.array([0] * 9 + [1] * 7 + [2] * 3, np.int32)

    found = list(batches(repos, size=4, block=2, chance=random.Random(seed)))

    rows = np.concatenate(found)
    assert len(set(rows.tolist())) == len(rows) == 16  # One row of each repository is left over.
    for batch in found:
        assert all(len(set(repos[block])) == 1 for block in batch.reshape(-1, 2))


def entries(bags, i):
    """Tokens and factors of one bag."""

    start, end = bags.starts[i], bags.starts[i + 1]
    return list(zip(bags.tokens[start:end].tolist(), bags.factors[start:end].round(5).tolist(), strict=True))
