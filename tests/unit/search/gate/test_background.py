from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.base.resources import shipped
from hybrid.models.registry import HashingEmbedder, load_embedder
from hybrid.prompting.clean import clean
from hybrid.prompting.content import MAX_PIECES, gate_pieces, generic_terms, terms_of_names, terms_of_words
from hybrid.search.gate import background
from hybrid.search.gate.background import (
    FOLDER,
    READ,
    Background,
    load_background,
    load_read_background,
    read_key,
    searched_pieces,
    shipped_prompts,
)
from hybrid.search.gate.identity import background_key
from tests.support.backgrounds import EMBED
from tests.support.builders import default_config
from tests.support.examples import step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.types import Embedder

TALK = {"session", "ack", "chat", "life", "facts", "assist"}
TASKS = {"task", "request", "report"}
ARRAYS = (
    "chat_bank",
    "piece_vector",
    "piece_null",
    "piece_chat",
    "piece_probe",
    "piece_prompt",
    "prompt_is_talk",
    "prompt_words",
    "term_text",
    "term_at",
    "term_generic",
    "generic_documents",
    "piece_words",
    "piece_words_at",
    "piece_names",
    "piece_names_at",
    "group_text",
    "group_at",
    "piece_groups",
    "piece_groups_at",
)


class Mute(HashingEmbedder):
    """The hashing model, for calls that must not embed."""

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Refuse."""
        raise AssertionError(f"{len(texts)} texts were embedded")


@pytest.fixture(autouse=True)
def _made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept, and what is made again, is counted here."""
    monkeypatch.setattr("hybrid.search.gate.background.embed_background", EMBED)


def _held_pieces() -> list[tuple[int, str]]:
    """Number of the prompt and text of every calibration piece, one by one."""
    found: list[tuple[int, str]] = []
    held = [prompt for prompt in shipped_prompts() if not prompt.is_bank]
    for number, prompt in enumerate(held):
        found += [(number, piece) for piece in searched_pieces(prompt.text)]
    return found


# --- the shipped prompts ---------------------------------------------------------------------------------------


def test_the_shipped_prompts_are_of_known_kinds() -> None:
    """Talk and tasks, each kind with prompts of the bank and, a quarter or more, for calibration."""
    prompts = shipped_prompts()
    held = Counter(prompt.kind for prompt in prompts if not prompt.is_bank)
    everything = Counter(prompt.kind for prompt in prompts)

    assert TALK | TASKS == set(everything)
    assert [] == [kind for kind in everything if not 0.2 < held[kind] / everything[kind] < 0.5]
    assert {kind: kind in TALK for kind in everything} == {prompt.kind: prompt.is_talk for prompt in prompts}


def test_no_prompt_stands_twice() -> None:
    """A prompt of the calibration part that the bank holds, too, would be measured against itself."""
    texts = Counter(" ".join(prompt.text.lower().split()) for prompt in shipped_prompts())

    assert [] == [text for text, n in texts.items() if n > 1]


def test_every_prompt_has_a_language_and_words() -> None:
    """Most are English, as prompts are; no text is empty."""
    prompts = shipped_prompts()

    assert [] == [prompt for prompt in prompts if len(prompt.language) != 2 or not prompt.text.strip()]
    assert Counter(prompt.language for prompt in prompts)["en"] > len(prompts) / 2


def test_the_readme_tells_how_many_there_are() -> None:
    """The table in the folder of the prompts counts each kind, in the bank and for calibration."""
    counts = Counter((prompt.kind, prompt.is_bank) for prompt in shipped_prompts())
    text = shipped("models", "background", "README.md").read_text(encoding="utf-8")
    rows: list[tuple[str, str, str]] = re.findall(r"^\| `(\w+)` \| .* \| (\d+) \| (\d+) \|$", text, re.MULTILINE)

    assert {kind: (int(bank), int(held)) for kind, bank, held in rows} == {
        kind: (counts[kind, True], counts[kind, False]) for kind in TALK | TASKS
    }
    assert f"{len(shipped_prompts()):,} prompts" in text


# --- as a model sees them --------------------------------------------------------------------------------------


def test_the_pieces_are_those_that_a_hook_would_search_with(hashing_background: Background) -> None:
    """Calibration prompts one after another, each with its pieces; a prompt that a rule silences has none."""
    expected = _held_pieces()
    vectors, _ = HashingEmbedder().embed_queries([text for _, text in expected])

    assert [number for number, _ in expected] == hashing_background.array("piece_prompt").tolist()
    np.testing.assert_allclose(vectors, hashing_background.piece_vectors, atol=1e-6)
    assert len({number for number, _ in expected}) < hashing_background.n_prompts


def test_what_is_known_of_the_prompts(hashing_background: Background) -> None:
    """In the order of the file: talk or task, and how many words were typed."""
    held = [prompt for prompt in shipped_prompts() if not prompt.is_bank]

    assert [prompt.is_talk for prompt in held] == hashing_background.array("prompt_is_talk").astype(bool).tolist()
    assert [len(prompt.text.split()) for prompt in held] == hashing_background.array("prompt_words").tolist()


def test_the_bank_of_talk_is_of_bank_prompts_only(hashing_background: Background) -> None:
    """Talk is cut to pieces, each once; texts without a vector are left out."""
    bank = [prompt for prompt in shipped_prompts() if prompt.is_bank]
    talk = list(
        dict.fromkeys(piece for prompt in bank if prompt.is_talk for piece in gate_pieces(prompt.text, MAX_PIECES))
    )

    expected, vectors = HashingEmbedder().embed_queries(talk)[0], hashing_background.chat_bank
    np.testing.assert_allclose(expected[expected.any(axis=1)], vectors, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_terms_of_each_piece(hashing_background: Background) -> None:
    """Words and names of a piece are found again by their numbers, with the counts of code at large."""
    terms = hashing_background.terms
    n_documents, counts = generic_terms()
    arrays = {name: hashing_background.array(name).tolist() for name in ("piece_words_at", "piece_names_at")}
    words, names = hashing_background.array("piece_words"), hashing_background.array("piece_names")

    assert sorted(set(terms)) == terms
    assert n_documents == hashing_background.n_generic_documents
    assert [counts.get(term, 0) for term in terms] == hashing_background.array("term_generic").tolist()
    for i, (_, text) in enumerate(_held_pieces()):
        of_words = words[arrays["piece_words_at"][i] : arrays["piece_words_at"][i + 1]]
        of_names = names[arrays["piece_names_at"][i] : arrays["piece_names_at"][i + 1]]
        assert terms_of_words(text) == tuple(terms[n] for n in of_words)
        assert terms_of_names(text) == tuple(terms[n] for n in of_names)


def test_chat_is_the_mean_of_the_three_nearest_pieces_of_talk(hashing_background: Background) -> None:
    """What is kept of the calibration pieces is what a prompt gets, and both are a plain loop over the bank."""
    kept = hashing_background.array("piece_chat")

    np.testing.assert_allclose(kept, hashing_background.chat(hashing_background.piece_vectors), atol=1e-6)
    for row in (0, 17, len(kept) - 1):
        cosines = sorted(float(hashing_background.piece_vectors[row] @ talk) for talk in hashing_background.chat_bank)
        assert pytest.approx(sum(cosines[-3:]) / 3, abs=1e-5) == float(kept[row])


def test_a_model_without_lengths_and_without_a_probe(hashing_background: Background) -> None:
    """Every null factor is 1, every logit 0."""

    assert {1.0} == set(hashing_background.array("piece_null").tolist())
    assert {0.0} == set(hashing_background.array("piece_probe").tolist())
    assert hashing_background.probe is None
    vectors = hashing_background.piece_vectors[:2]
    assert [0.0, 0.0] == hashing_background.logit(vectors, np.ones(2, np.float32)).tolist()


def test_the_shipped_model_has_lengths_and_a_probe(static_background: Background) -> None:
    """Null factors lie below 1, and the kept logits are those that a prompt gets."""
    null = static_background.array("piece_null")

    assert ((null >= 0) & (null < 1)).all()
    assert len(set(null.tolist())) > 100
    assert static_background.probe is not None
    logits = static_background.logit(static_background.piece_vectors, null)
    np.testing.assert_allclose(static_background.array("piece_probe"), logits, atol=1e-5)
    assert (np.abs(logits) <= 4).all()


# --- kept between calls ----------------------------------------------------------------------------------------


def _path(home: Path) -> Path:
    (path,) = (home / FOLDER).iterdir()
    return path


def _with(kept: Arrays, name: str, array: NDArray[Any]) -> bytes:
    """A file with one array in the place of another, which claims the digest of what was kept."""
    return encode_arrays({**{n: kept[n] for n in kept}, name: array}, kept.metadata)


def _same(one: Background, other: Background) -> bool:
    return all(np.array_equal(one.array(name), other.array(name)) for name in ARRAYS)


def test_what_was_embedded_is_kept(tmp_path: Path) -> None:
    """The second call embeds nothing and gives the same; the file is named after model and key."""
    made = load_background(HashingEmbedder(), tmp_path)

    assert set(ARRAYS) == set(read_arrays(_path(tmp_path)))
    assert _same(made, load_background(Mute(), tmp_path))
    assert made.key == background_key(HashingEmbedder().info)
    assert _path(tmp_path).name.startswith("hashing-64-")
    assert _path(tmp_path).name.endswith(f"-{made.key}.safetensors")


DAMAGES: dict[str, Callable[[bytes, Arrays], bytes]] = {
    "cut": lambda content, _: content[:-100],
    "garbage": lambda *_: b"\xff" * 500,
    "empty": lambda *_: b"",
    "zeros inside": lambda content, _: _overwritten(content, b"\0"),
    "ones inside": lambda content, _: _overwritten(content, b"\xff"),
    "other arrays": lambda *_: encode_arrays({"vector": np.zeros(3, np.float32)}),
    "an array less": lambda _, kept: encode_arrays({n: kept[n] for n in kept if n != "term_at"}, kept.metadata),
    "arrays that disagree": lambda _, kept: _with(kept, "piece_prompt", kept["piece_prompt"][:1]),
    "a number out of range": lambda _, kept: _with(
        kept, "piece_prompt", np.array([*kept["piece_prompt"][:-1].tolist(), 1_000_000], np.int32)
    ),
}


def _overwritten(content: bytes, byte: bytes) -> bytes:
    """A file with 4 KB in its middle written over."""
    middle = len(content) // 2
    return content[:middle] + byte * 4096 + content[middle + 4096 :]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_anew(hashing_home: Path, tmp_path: Path, damage: str) -> None:
    """Whatever stands in the file, the background is the right one, and the file is whole afterwards."""
    whole = _path(hashing_home)
    path = tmp_path / FOLDER / whole.name
    path.parent.mkdir()
    damaged = DAMAGES[damage](whole.read_bytes(), read_arrays(whole))
    path.write_bytes(damaged)
    found = load_background(HashingEmbedder(), tmp_path)

    assert damaged != whole.read_bytes()
    assert _same(load_background(HashingEmbedder(), hashing_home), found)
    assert _same(found, load_background(Mute(), tmp_path))


@pytest.mark.parametrize("name", ARRAYS)
def test_damage_in_any_array_is_found(hashing_home: Path, tmp_path: Path, name: str) -> None:
    """One wrong bit makes the file another one, whatever array it stands in and though its length is right."""
    whole = _path(hashing_home)
    kept = read_arrays(whole)
    path = tmp_path / FOLDER / whole.name
    path.parent.mkdir()
    raw = bytearray(kept[name].tobytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(_with(kept, name, np.frombuffer(raw, kept[name].dtype).reshape(kept[name].shape)))

    with pytest.raises(AssertionError, match="were embedded"):
        load_background(Mute(), tmp_path)
    path.write_bytes(_with(kept, name, kept[name]))
    assert _same(load_background(Mute(), hashing_home), load_background(Mute(), tmp_path))


def test_a_home_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    """Where no folder can be made the background is embedded again each time."""
    (tmp_path / "home").write_text("a file where a folder belongs")

    found = [load_background(HashingEmbedder(), tmp_path / "home") for _ in range(2)]

    assert _same(found[0], found[1])
    assert ["home"] == [path.name for path in tmp_path.iterdir()]


def test_of_older_files_of_the_same_model_the_newest_stays(tmp_path: Path) -> None:
    """Another hybrid on this machine may use it; what is older is removed, and other models keep theirs."""
    load_background(HashingEmbedder(), tmp_path)
    current = _path(tmp_path)
    key = background_key(HashingEmbedder().info)
    # Named so that neither the first nor the last by name is the newest.
    older, newest, oldest = (current.with_name(current.name.replace(key, digit * 16)) for digit in "012")
    current.rename(newest)
    others = [current.with_name(f"hashing-32-{'1' * 16}-{digit * 16}.safetensors") for digit in "23"]
    for age_s, path in ((9, older), (1, newest), (99, oldest), (500, others[0]), (600, others[1])):
        path.touch()
        os.utime(path, (1_900_000_000 - age_s, 1_900_000_000 - age_s))

    load_background(HashingEmbedder(), tmp_path)

    assert {current, newest, *others} == set((tmp_path / FOLDER).iterdir())


def test_two_versions_that_are_used_in_turn_embed_once_each(tmp_path: Path) -> None:
    """Background and file have the key that the caller gives, and neither version takes the other's file away."""
    keys = ("a" * 16, "b" * 16)
    made = [load_background(HashingEmbedder(), tmp_path, key) for key in keys]
    kept = [load_background(Mute(), tmp_path, key) for key in keys]

    assert keys == tuple(one.key for one in made)
    assert list(keys) == sorted(path.stem.rsplit("-", 1)[1] for path in (tmp_path / FOLDER).iterdir())
    assert [True, True] == [_same(one, other) for one, other in zip(made, kept, strict=True)]


def test_any_name_of_a_model_is_a_file_name(tmp_path: Path) -> None:
    """A model may be named by its folder."""
    (tmp_path / "model").mkdir()
    named: Embedder = HashingEmbedder(64, str(tmp_path / "model"))

    load_background(named, tmp_path / "home")

    assert _path(tmp_path / "home").parent == tmp_path / "home" / FOLDER


# --- as a sentence transformer reads it ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Embedder:
    """The reader of the settings, as it ships."""
    home = tmp_path_factory.mktemp("reader")
    return load_embedder(default_config(home).model.reader, home=home)


class Unasked(HashingEmbedder):
    """A reader with the identity of another one that must not be asked for vectors."""

    def __init__(self, like: Embedder) -> None:
        super().__init__(like.info.dim)
        self.info = like.info

    def embed_queries(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
        """Fail."""
        raise AssertionError(f"{len(texts)} texts of the background are read although their vectors ship")


def test_what_the_reader_reads_first_ships(tmp_path: Path, reader: Embedder) -> None:
    """Nothing of the background is embedded or kept: the vectors belong to these prompts and this model.

    If this fails, run `python -m hybrid_lab.training.read_background models/background/reader.safetensors`.
    """
    found = load_read_background(Unasked(reader), tmp_path)

    assert read_key(reader.info) == read_arrays(shipped(*READ)).metadata["key"]
    assert (328, 327) == (len(found.tasks), len(found.prompts))
    assert not (tmp_path / FOLDER).exists()


def test_the_shipped_vectors_are_those_of_the_model(tmp_path: Path, reader: Embedder) -> None:
    """They are equal but for what half precision leaves out, so that no machine gets others by computing them."""
    found = load_read_background(reader, tmp_path)
    prompts = shipped_prompts()
    tasks = [prompt.text for prompt in prompts if prompt.is_bank and not prompt.is_talk]
    held = [prompt.text for prompt in prompts if not prompt.is_bank]
    for vectors, texts in ((found.tasks, tasks), (found.prompts, held)):
        made = reader.embed_queries([clean(text).text[:400] for text in texts[:: step()]])[0]

        assert len(vectors) == len(texts)
        np.testing.assert_allclose(made, vectors[:: step()], atol=1e-3)


def test_another_reader_reads_the_background_itself(tmp_path: Path) -> None:
    """What ships is not its own; what it read is kept, and the second time gives the same to the bit."""
    first, second = (load_read_background(HashingEmbedder(dim), tmp_path) for dim in (384, 384))

    assert 1 == len([*(tmp_path / FOLDER).glob("reader-*.safetensors")])
    assert (first.tasks.tobytes(), first.prompts.tobytes()) == (second.tasks.tobytes(), second.prompts.tobytes())
    assert not np.allclose(first.tasks, read_arrays(shipped(*READ))["tasks"])


def test_other_prompts_are_another_background(monkeypatch: pytest.MonkeyPatch, reader: Embedder) -> None:
    """Also where only the cleaning of prompts makes other texts of them."""
    before = read_key(reader.info)
    monkeypatch.setattr(background, "read_text", lambda text: text[:399])

    assert before != read_key(reader.info)
    assert read_key(HashingEmbedder(384).info) != read_key(reader.info)
