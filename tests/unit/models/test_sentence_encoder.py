"""The sentence transformer that ships: its pieces of words, and its vectors beside those of the float weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.errors import ModelError
from hybrid.base.resources import shipped
from hybrid.models.registry import describe, embedder_info, load_embedder
from hybrid.models.sentence_encoder import SentenceEncoder, WordPieces
from hybrid.types import Embedder, EmbedInput

NAME = "all-MiniLM-L6-v2-int8"
FOLDER = shipped("models", NAME)
EXPECTED = Path(__file__).parent.parent.parent / "fixtures" / "models" / "minilm_vectors.safetensors"
"""Vectors of `TEXTS` by sentence-transformers with the float weights: array `vectors`, float16."""

TEXTS = [
    "Never retry a payment without its idempotency key.",
    "the importer chokes on files with a byte order mark, where do we strip it?",
    "Überprüfe, ob naïve Zeitstempel (ohne Zone) irgendwo verglichen werden",
    "def parse(line: str) -> Record: ...",
    "数据库连接池 leaks connections",
    "retry " * 300,
]
ODD = [
    "",
    "   \t\n",
    "Don't   split_this CamelCase123 v1.2.3-rc1 a/b\\c",
    "e\u0301te\u0301 ÉTÉ Straße İstanbul ΑΣ ﬁne",
    "zero\u200bwidth nul\x00byte bell\x07 soft\u00adhyphen nb\u00a0space line\u2028sep\u0085next",
    "漢字かなカナ한국어 mixed漢text",
    "emoji 🙂👍🏽 → ≤ “quotes” — dash… ¡hola! 5€ №7 ½",
    "x" * 100 + " " + "y" * 101,
    "\ufffd broken \ud800".encode("utf-8", "replace").decode(),
    "Здравствуй мир ёлка йод עִבְרִית हिन्दी ไทย",
]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The encoder as hybrid loads it."""
    return load_embedder(NAME, home=tmp_path_factory.mktemp("home"))


def test_pieces_are_those_of_the_tokenizers_package() -> None:
    """Plain, accented, Chinese, broken and very long words are cut as the package cuts them."""
    package = pytest.importorskip("tokenizers", reason="needs the extra `static`")
    theirs = package.BertWordPieceTokenizer(str(FOLDER / "vocab.txt"), lowercase=True)
    ours = WordPieces((FOLDER / "vocab.txt").read_text(encoding="utf-8"))
    texts = [*TEXTS, *ODD, shipped("config.toml").read_text(encoding="utf-8")]

    assert [theirs.encode(text).ids for text in texts] == [ours.numbers(text, 100_000) for text in texts]


def test_a_long_text_keeps_both_marks() -> None:
    """The limit counts the marks; what is cut is the end of the text."""
    pieces = WordPieces((FOLDER / "vocab.txt").read_text(encoding="utf-8"))
    whole, cut = pieces.numbers("one two three four five", 100), pieces.numbers("one two three four five", 4)

    assert [*whole[:3], whole[-1]] == cut


def test_vectors_are_near_those_of_the_float_weights(embedder: Embedder) -> None:
    """Rounding to int8 and the quick gelu leave a cosine of at least 0.99."""
    expected = read_arrays(EXPECTED)["vectors"].astype(np.float32)
    vectors = embedder.embed_documents([EmbedInput("", text) for text in TEXTS])

    assert np.einsum("ij,ij->i", expected, vectors).min() >= 0.99
    np.testing.assert_allclose(1, np.linalg.norm(vectors, axis=1), rtol=1e-5)


def test_a_text_has_one_vector_alone_and_among_others(embedder: Embedder) -> None:
    """Texts are read one by one, and head and body are one text of two lines."""
    together, lengths = embedder.embed_queries(TEXTS[:3])

    np.testing.assert_array_equal(together[1], embedder.embed_query(TEXTS[1]))
    assert lengths is None
    np.testing.assert_array_equal(
        embedder.embed_query("retry\npayment"), embedder.embed_documents([EmbedInput("retry", "payment")])[0]
    )


def test_an_empty_text_has_no_vector(embedder: Embedder) -> None:
    """White space gives zeros, not the vector of the marks around a text."""
    assert not embedder.embed_query(" \n").any()


def test_a_text_beyond_the_limit_counts_as_cut(embedder: Embedder) -> None:
    """256 pieces with the marks are read."""
    inputs = [EmbedInput("", "word " * 254), EmbedInput("", "word " * 255)]

    assert [False, True] == embedder.truncated(inputs).tolist()


def test_the_manifest_describes_the_files(tmp_path: Path) -> None:
    """It ships, needs no extra, and its digests are those of the files."""
    known = describe(NAME)

    assert (True, "", 384, 256) == (known.is_shipped, known.extra, known.dim, known.max_tokens)
    assert known.manifest is not None
    known.manifest.verify(FOLDER)
    assert 384 == embedder_info(NAME, tmp_path).dim


def test_a_reader_at_rest_reads_the_same(tmp_path: Path) -> None:
    """Its layers are gone from memory until the next text; one that was used a moment ago keeps them."""
    embedder = load_embedder(NAME, home=tmp_path)
    assert isinstance(embedder, SentenceEncoder)
    before = embedder.embed_query(TEXTS[0])
    embedder.rest(600.0)
    has_kept = "_layers" in vars(embedder)
    embedder.rest(0.0)

    assert has_kept
    assert "_layers" not in vars(embedder)
    np.testing.assert_array_equal(before, embedder.embed_queries(TEXTS[:1])[0][0])


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    """Weights that do not fit the vocabulary, or no weights at all, end in a message."""
    info = embedder_info(NAME, tmp_path)
    (tmp_path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n", encoding="utf-8")
    (tmp_path / "config.json").write_text(json.dumps({"max_tokens": 8, "heads": 1, "layers": 1}), encoding="utf-8")

    with pytest.raises(ModelError, match="cannot be read"):
        SentenceEncoder(tmp_path, info)
    (tmp_path / "model.safetensors").write_bytes(encode_arrays({"words": np.zeros((2, 384), np.int8)}))
    with pytest.raises(ModelError, match="layer0_qkv"):
        SentenceEncoder(tmp_path, info)
    (tmp_path / "config.json").write_text(json.dumps({"max_tokens": 8, "heads": 1, "layers": 0}), encoding="utf-8")
    rest = {name: np.zeros((2, 384), np.float32) for name in ("words_scale", "positions", "norm")}
    (tmp_path / "model.safetensors").write_bytes(encode_arrays({"words": np.zeros((2, 384), np.int8), **rest}))
    with pytest.raises(ModelError, match="not 3 of 384"):
        SentenceEncoder(tmp_path, info)
