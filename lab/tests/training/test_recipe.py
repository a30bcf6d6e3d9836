"""A small table is trained from made pairs; torch comes with the lab's extra `training`."""

import json
import subprocess
import sys

import numpy as np
import pytest

from hybrid.models.bag_model import Limits, WordTokenizer, read_bag_model

pytestmark = pytest.mark.model
torch = pytest.importorskip("torch", reason="needs the extra `training`")

from hybrid_lab.training.contrastive import Material, Settings, Table, Trained, held_out_mrr, train  # noqa: E402
from hybrid_lab.training.pairs import Pair, body_set, pair_set, query_set  # noqa: E402
from hybrid_lab.training.recipe import make, mean, quantised, with_best_head, write  # noqa: E402
from hybrid_lab.training.start import Start  # noqa: E402

LIMITS = Limits(query_words=16, body_words=32, head_words=8)
ASKED = ["open", "close", "count", "print", "lock", "sell", "scan", "weigh"]
CODED = ["uncover", "shut", "tally", "emit", "bolt", "vend", "read", "heft"]
TOKENIZER = WordTokenizer([*ASKED, *CODED, "till", "py", "hello"])
SETTINGS = Settings(
    steps=60,
    batch=8,
    block=4,
    rate=0.05,
    templates=0,
    distilled=4,
    talk=2,
    check_every=20,
    body_dropout=0,
    query_dropout=0,
)


@pytest.fixture
def material():
    """Sixteen ways to ask in one vocabulary for what is written in another."""

    pairs = [
        Pair(f"{asked} {more}", f"{coded} {more}", "till.py", repo, "text", "doc2code")
        for repo in ("a", "b", "c")
        for asked, coded in zip(ASKED, CODED, strict=True)
        for more in ("", "till")
    ]
    seen = pair_set(pairs, TOKENIZER, LIMITS)
    numbers = np.random.default_rng(0)
    n = len(TOKENIZER.vocabulary)
    table = numbers.normal(size=(n, 16)).astype(np.float32)
    texts = body_set(TOKENIZER, ASKED, LIMITS)
    vectors = np.eye(len(ASKED), dtype=np.float32)
    start = Start(table / 4, np.ones(n, np.float32), texts, vectors)
    return Material(
        seen, seen, start, query_set(TOKENIZER, ["", "print"], LIMITS), query_set(TOKENIZER, ["hello"], LIMITS)
    )


def test_words_that_never_occur_together_are_brought_together(material):
    """That is what contrast teaches and word match cannot."""

    start = material.start
    before = held_out_mrr(Table(Trained(start.table, start.weights, start.weights, 1.0)), material.held_out)

    trained = train(material, SETTINGS, 0, lambda line: None)

    assert held_out_mrr(Table(trained), material.held_out) > before + 0.2


def test_one_seed_gives_one_table_and_another_seed_another(material):
    """A run can be repeated."""

    first, second, other = (train(material, SETTINGS, seed, lambda line: None) for seed in (3, 3, 4))

    np.testing.assert_array_equal(first.table, second.table)
    assert np.abs(first.table - other.table).max() > 1e-4


def test_quantised_model_gives_nearly_the_same_vectors(material, tmp_path):
    """Eight bits a number are enough, and the product reads the files."""

    trained = train(material, SETTINGS, 0, lambda line: None)

    write(tmp_path, quantised(trained, TOKENIZER, material.held_out.queries))
    model = read_bag_model(tmp_path)

    rows = model.table.astype(np.float32) * model.query_weights[:, None]
    wanted = trained.table * trained.query_weights[:, None]
    cosines = (rows * wanted).sum(axis=1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.min() > 0.999
    assert model.head_weight == pytest.approx(trained.head_weight)
    assert "model.safetensors" in (tmp_path / "manifest.toml").read_text(encoding="utf-8")


def test_head_weight_is_the_one_that_finds_most(material):
    """Where only the head tells documents apart and the body misleads, the largest of those tried finds most."""
    others = [*ASKED[1:], ASKED[0]]
    pairs = [
        Pair(asked, other, asked, "a", "markdown", "head2body") for asked, other in zip(ASKED, others, strict=True)
    ]
    start = material.start
    trained = Trained(start.table, start.weights, start.weights, 0.5)

    best = with_best_head(trained, pair_set(pairs, TOKENIZER, LIMITS))

    assert best.head_weight > trained.head_weight


def test_mean_of_equal_tables_is_the_table(material):
    """Weights are averaged as logarithms."""

    one = train(material, SETTINGS, 0, lambda line: None)

    np.testing.assert_allclose(mean([one, one]).table, one.table, rtol=1e-5)


def test_a_missing_teacher_ends_the_command(tmp_path):
    """A missing teacher ends the command before anything is written."""

    pairs = tmp_path / "pairs"
    pairs.mkdir()
    (pairs / "dev.jsonl").write_text(
        json.dumps({"q": "q", "d": "d", "lang": "text", "repo": "r", "path": "p", "type": "t"})
    )

    done = subprocess.run(
        [sys.executable, "-m", "hybrid_lab.training.recipe", str(pairs), str(tmp_path / "no-teacher"), str(tmp_path / "work"), str(tmp_path / "model")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode != 0
    assert "no-teacher" in done.stderr
    assert not (tmp_path / "model").exists()


def test_stages_of_other_input_are_not_used(tmp_path):
    """A folder of stages belongs to the pairs that it was begun with; a second run with them goes on."""

    pairs, work = tmp_path / "pairs", tmp_path / "work"
    pairs.mkdir()
    (tmp_path / "prompts.jsonl").write_text("")
    (pairs / "dev.jsonl").write_text("1")

    def begun():
        with pytest.raises(BaseException) as ended:  # noqa: PT011 - the end of the program, or of its first stage
            make(pairs, tmp_path / "no-teacher", work, tmp_path / "prompts.jsonl", SETTINGS, (0,))
        return str(ended.value)

    first, again = begun(), begun()
    (pairs / "dev.jsonl").write_text("22")

    assert first == again
    assert "other input" not in first
    assert "other input" in begun()
