import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hybrid.base.errors import ModelError
from hybrid.base.resources import shipped
from hybrid.models import registry
from hybrid.models.folders import cache_folder
from hybrid.models.registry import (
    LazyEmbedder,
    describe,
    embedder_info,
    embedder_of_key,
    known_models,
    load_embedder,
    model_folder,
    present_name,
)
from hybrid.types import EmbedInput
from tests.support.successors import SHIPPED, SUCCESSOR, write_successor


def downloaded(cache: Path, repository: str, source: Path, revision: str = "a" * 40) -> dict[str, str]:
    """An environment whose hub cache holds a copy of a folder under a repository's name."""
    root = cache / f"models--{repository.replace('/', '--')}"
    shutil.copytree(source, root / "snapshots" / revision)
    (root / "refs").mkdir()
    (root / "refs" / "main").write_text(revision)
    return {"HF_HUB_CACHE": str(cache)}


@pytest.mark.parametrize(("name", "dim"), [("hashing", 64), ("hashing-16", 16)])
def test_hashing_needs_no_files(tmp_path: Path, name: str, dim: int) -> None:
    """`hashing` and `hashing-DIM` work everywhere, under the name the user gave."""
    embedder = load_embedder(name, home=tmp_path)

    assert (name, dim) == (embedder.info.name, embedder.info.dim)
    assert embedder.info == embedder_info(name, tmp_path)


def test_the_shipped_model_is_described_without_loading(tmp_path: Path) -> None:
    """What `status` shows is what the loaded embedder says; as long as it ships, nothing stands in for it."""
    info = embedder_info("static-v1", tmp_path)

    assert ("static-v1", 256, 320) == (info.name, info.dim, info.max_tokens)
    assert SHIPPED == present_name(SHIPPED) == info.name
    assert info == load_embedder("static-v1", home=tmp_path).info
    assert not (tmp_path / "models").exists()


def test_a_folder_is_loaded_by_its_path(tiny_folder: Path, tmp_path: Path) -> None:
    """A weighted-bag folder without a manifest is identified by its content."""
    embedder = load_embedder(str(tiny_folder), home=tmp_path)

    assert (str(tiny_folder), 8, 5) == (embedder.info.name, embedder.info.dim, embedder.info.max_tokens)
    assert embedder.info == embedder_info(str(tiny_folder), tmp_path)
    assert (1, 8) == embedder.embed_documents([EmbedInput("http", "retry")]).shape


def test_a_static_embedding_folder_is_loaded_by_its_path(token_table_folder: Path, tmp_path: Path) -> None:
    """Other people's static models run without torch."""
    pytest.importorskip("tokenizers", reason="needs the extra `static`")
    embedder = load_embedder(str(token_table_folder), home=tmp_path)

    np.testing.assert_allclose(embedder.embed_query("retry client"), [0.6, 0.8], atol=1e-6)


def test_a_manifest_beside_a_folder_gives_prefixes_and_gate(tiny_folder: Path, tmp_path: Path) -> None:
    """A model of the user's own may bring a manifest; its files, not its digests, identify it."""
    text = (shipped("models", "static-v1", "manifest.toml")).read_text(encoding="utf-8")
    text = text.replace("dim = 256", "dim = 8").replace('query_prefix = ""', 'query_prefix = "http "')
    before = embedder_info(str(tiny_folder), tmp_path)
    (tiny_folder / "manifest.toml").write_text(text, encoding="utf-8")
    embedder = load_embedder(str(tiny_folder), home=tmp_path)

    assert before.gate_threshold is None
    assert embedder.info.gate_threshold is not None
    assert before.sha256 == embedder.info.sha256
    assert embedder.embed_query("").any()


def test_a_downloaded_model_is_found_by_its_hub_name(tiny_folder: Path, tmp_path: Path) -> None:
    """A model in the hub's cache needs no network."""
    environ = downloaded(tmp_path / "cache", "someone/tiny", tiny_folder)
    embedder = load_embedder("someone/tiny", home=tmp_path, environ=environ)

    assert ("someone/tiny", 8) == (embedder.info.name, embedder.info.dim)
    assert embedder.info == embedder_info("someone/tiny", tmp_path, environ)


def test_a_bare_name_is_one_of_sentence_transformers(tiny_folder: Path, tmp_path: Path) -> None:
    """As sentence-transformers does, a name without an owner is looked up under theirs."""
    environ = downloaded(tmp_path / "cache", "sentence-transformers/tiny", tiny_folder)

    assert 8 == embedder_info("tiny", tmp_path, environ).dim


def test_a_known_model_is_found_at_its_pinned_revision_only(tiny_folder: Path, tmp_path: Path) -> None:
    """Another revision of a known model is another model."""
    environ = downloaded(tmp_path / "cache", "sentence-transformers/all-MiniLM-L6-v2", tiny_folder)

    assert describe("all-MiniLM-L6-v2", environ).folder is None


def test_a_folder_of_the_working_directory_does_not_shadow_a_hub_name(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloned project cannot put its own weights in the place of a model by naming a folder like it."""
    shutil.copytree(tiny_folder, tmp_path / "owner" / "name")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ModelError, match="not on this machine"):
        embedder_info("owner/name", tmp_path, {"HF_HUB_CACHE": str(tmp_path / "cache")})
    assert 8 == embedder_info("./owner/name", tmp_path).dim


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "nomic-ai/CodeRankEmbed", "someone/unheard-of"])
def test_a_model_that_is_not_on_disk_is_not_fetched_silently(tmp_path: Path, name: str) -> None:
    """The error says which command fetches it."""
    with pytest.raises(ModelError, match=f"`hybrid models use {name}` fetches it"):
        load_embedder(name, home=tmp_path, environ={"HF_HUB_CACHE": str(tmp_path)})


@pytest.mark.parametrize(
    "name", ["", "a b", "a/b/c", "hashing-0", "../../etc", "owner/..", "C:\\x", "x" * 999, "/" + "x" * 999, "~nobody/x"]
)
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    """A typing mistake is an error of the model's name."""
    with pytest.raises(ModelError):
        load_embedder(name, home=tmp_path, environ={"HF_HUB_CACHE": str(tmp_path)})


def test_a_transformer_without_the_extra_names_it(tmp_path: Path) -> None:
    """Where sentence-transformers is not installed the error gives the command that installs it."""
    if _installed("sentence_transformers"):
        pytest.skip("the extra `transformers` is installed")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(json.dumps({"hidden_size": 4}))

    with pytest.raises(ModelError, match=r"pip install .*\[transformers\]"):
        load_embedder(str(tmp_path / "model"), home=tmp_path)


def test_known_models_begin_with_the_shipped_one(tmp_path: Path) -> None:
    """The list tells what ships, what lies on disk, and which extra each needs."""
    models = known_models({"HF_HUB_CACHE": str(tmp_path)})
    shown = [(model.name, model.is_shipped, model.folder is not None, model.extra) for model in models]

    assert [
        ("static-v1", True, True, ""),
        ("all-MiniLM-L6-v2-int8", True, True, ""),
        ("all-MiniLM-L6-v2", False, False, "transformers"),
        ("bge-small-en-v1.5", False, False, "transformers"),
        ("CodeRankEmbed", False, False, "transformers"),
        ("potion-code-16M", False, False, "static"),
    ] == shown


def test_describe_knows_short_name_and_hub_id() -> None:
    """Both names of a known model give the same description."""
    assert describe("CodeRankEmbed", {}) == describe("nomic-ai/CodeRankEmbed", {})
    assert "Represent this query for searching relevant code: " == describe("CodeRankEmbed", {}).manifest.query_prefix


@pytest.mark.parametrize("name", ["hashing-8", "someone/unheard-of"])
def test_describe_answers_for_models_without_a_manifest(tmp_path: Path, name: str) -> None:
    """What is not known is empty."""
    description = describe(name, {"HF_HUB_CACHE": str(tmp_path)})

    assert (name, None, None) == (description.name, description.folder, description.manifest)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
        ({"HF_HOME": "/b"}, "/b/hub"),
        ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
    ],
    ids=["cache", "home", "platform"],
)
def test_the_cache_is_where_the_hubs_own_tools_look(environ: dict[str, str], expected: str) -> None:
    """The same variables in the same order decide."""
    assert Path(expected) == cache_folder(environ)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("static-v1", "static-v1"),
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("nomic-ai/CodeRankEmbed", "CodeRankEmbed"),
        ("hashing", None),
        ("hashing-16", None),
        ("someone/unheard-of", None),
    ],
)
def test_a_known_model_has_the_folder_of_its_manifest(tmp_path: Path, name: str, folder: str | None) -> None:
    """By either name, whether its weights are on this machine or not; a model that is made of nothing has none."""
    found = model_folder(name, {"HF_HUB_CACHE": str(tmp_path)})

    assert (folder and shipped("models", folder)) == found


def test_other_models_have_the_folder_they_lie_in(tiny_folder: Path, tmp_path: Path) -> None:
    """A folder is its own; a hub model that nobody knows lies in the cache."""
    environ = downloaded(tmp_path / "cache", "someone/tiny", tiny_folder)
    kept = tmp_path / "cache" / "models--someone--tiny" / "snapshots" / ("a" * 40)

    assert (tiny_folder, kept) == (model_folder(str(tiny_folder), environ), model_folder("someone/tiny", environ))


@pytest.mark.parametrize("name", ["a b", "owner/..", "/no/such/folder"])
def test_what_is_no_name_has_no_folder(name: str) -> None:
    """A typing mistake is an error of the model's name."""
    with pytest.raises(ModelError):
        model_folder(name)


def test_a_lazy_embedder_answers_several_queries(tiny_folder: Path, tmp_path: Path) -> None:
    """It loads the model for the first of them."""
    vectors, lengths = LazyEmbedder(str(tiny_folder), tmp_path).embed_queries(["retry client", "?"])

    expected = load_embedder(str(tiny_folder), home=tmp_path).embed_queries(["retry client", "?"])
    assert lengths is not None
    assert expected[1] is not None
    np.testing.assert_array_equal(expected[0], vectors)
    np.testing.assert_array_equal(expected[1], lengths)


def test_asking_who_a_model_is_loads_no_numpy(tmp_path: Path) -> None:
    """`status` and the prompt path ask without paying for numpy."""
    code = (
        "import sys; from pathlib import Path; from hybrid.models.registry import embedder_info, known_models; "
        "embedder_info('static-v1', Path(sys.argv[1])); embedder_info('hashing', Path(sys.argv[1])); known_models(); "
        "print('numpy' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, cwd=root)

    assert "False\n" == done.stdout, done.stderr


def _installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


@pytest.fixture
def succeeded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of shipped models in which a successor took the place of the present one."""
    write_successor(tmp_path / "models")
    monkeypatch.setattr(registry, "shipped", lambda *parts: tmp_path.joinpath(*parts))
    return tmp_path


def test_a_retired_name_is_the_successors(succeeded: Path) -> None:
    """Whoever names the model before gets the one that replaced it, under its own name: one model, one key."""
    info = embedder_info(SHIPPED, succeeded)

    assert (SUCCESSOR, "hashing", "./x") == tuple(present_name(name) for name in (SHIPPED, "hashing", "./x"))
    assert (SUCCESSOR, 64) == (info.name, info.dim)
    assert info == embedder_info(SUCCESSOR, succeeded) == load_embedder(SHIPPED, home=succeeded).info
    assert describe(SUCCESSOR) == describe(SHIPPED)
    assert model_folder(SUCCESSOR) == model_folder(SHIPPED)


def test_a_key_finds_the_very_model_or_none(succeeded: Path) -> None:
    """The embedder of a key is the one that made the vectors: a successor, or another digest, is not."""
    info = embedder_info(SUCCESSOR, succeeded)

    assert info == embedder_of_key(info.key, succeeded)
    assert embedder_info("hashing-8", succeeded) == embedder_of_key(
        embedder_info("hashing-8", succeeded).key, succeeded
    )
    for key in (f"{SHIPPED}@{'0' * 16}", f"{SUCCESSOR}@{'0' * 16}", "/no/such/folder@1", "someone/unheard-of@1", ""):
        assert embedder_of_key(key, succeeded) is None
