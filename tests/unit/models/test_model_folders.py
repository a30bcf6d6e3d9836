import json
from pathlib import Path

import pytest

from hybrid.base.errors import ModelError
from hybrid.models.folders import FolderFacts, read_facts


def transformer_folder(folder: Path, **files: object) -> Path:
    """A sentence-transformers folder: the usual three modules, and the given files (`a__b` is a/b) as JSON."""
    types = ["Transformer", "Pooling", "Normalize"]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(types)
    ]
    contents: dict[str, object] = {"modules": modules, "config": {"hidden_size": 12, "max_position_embeddings": 512}}
    for name, content in {**contents, **files}.items():
        path = folder / (name.replace("__", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def test_a_weighted_bag_is_recognised(tiny_folder: Path) -> None:
    """Engine, dimension and longest text come from the files, without loading the weights."""
    assert FolderFacts("weighted-bag", tiny_folder, 8, 5, "", "", "cosine") == read_facts(tiny_folder)


def test_a_static_embedding_is_recognised(token_table_folder: Path) -> None:
    """A StaticEmbedding followed by Normalize has no limit of length."""
    assert FolderFacts("static-embedding", token_table_folder, 2, 0, "", "", "cosine") == read_facts(token_table_folder)


def test_a_static_embedding_may_lie_in_a_folder_of_its_own(token_table_folder: Path) -> None:
    """Older versions of sentence-transformers saved the module's files one folder down."""
    inside = token_table_folder / "0_StaticEmbedding"
    inside.mkdir()
    (token_table_folder / "model.safetensors").rename(inside / "model.safetensors")
    modules = [{"path": inside.name, "type": "sentence_transformers.models.StaticEmbedding"}]
    (token_table_folder / "modules.json").write_text(json.dumps(modules))
    facts = read_facts(token_table_folder)

    assert (inside, 2) == (facts.place, facts.dim)


@pytest.mark.parametrize(
    "config",
    [{"model_type": "model2vec"}, {"architectures": ["StaticModel"]}, {"vocabulary_quantization": 9}],
    ids=["type", "architecture", "quantized"],
)
def test_a_model2vec_folder_is_recognised(token_table_folder: Path, config: dict[str, object]) -> None:
    """model2vec writes no modules.json; its config.json tells."""
    (token_table_folder / "modules.json").unlink()
    (token_table_folder / "config.json").write_text(json.dumps(config))

    assert "static-embedding" == read_facts(token_table_folder).engine


def test_a_transformer_states_its_prompts_and_similarity(tmp_path: Path) -> None:
    """Prefixes and similarity come from the model's own configuration."""
    own = {"prompts": {"query": "query: ", "passage": "passage: "}, "similarity_fn_name": "dot"}
    folder = transformer_folder(tmp_path, config_sentence_transformers=own)

    assert FolderFacts("sentence-transformers", folder, 12, 512, "query: ", "passage: ", "dot") == read_facts(folder)


@pytest.mark.parametrize(
    ("last", "config", "dim"),
    [
        ("Pooling", {"word_embedding_dimension": 12, "pooling_mode_mean_tokens": True}, 12),
        (
            "Pooling",
            {"word_embedding_dimension": 6, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True},
            12,
        ),
        ("Pooling", {"embedding_dimension": 12, "pooling_mode": "mean"}, 12),
        ("Dense", {"out_features": 5}, 5),
    ],
    ids=["one mode", "two modes are put side by side", "as version 6 writes it", "a projection behind the pooling"],
)
def test_the_last_module_that_changes_the_dimension_tells_it(
    tmp_path: Path, last: str, config: dict[str, object], dim: int
) -> None:
    """Pooling multiplies it, and a projection has the last word."""
    modules = [
        {"path": f"{i}_{kind}", "type": f"x.{kind}"} for i, kind in enumerate(["Transformer", "Pooling", "Dense"])
    ]
    kept = modules if last == "Dense" else modules[:2]
    number = 2 if last == "Dense" else 1
    folder = transformer_folder(tmp_path, modules=kept, **{f"{number}_{last}__config": config})

    assert dim == read_facts(folder).dim


def test_the_longest_text_is_the_first_stated_limit(tmp_path: Path) -> None:
    """The sentence-transformers setting wins over the tokenizer's, whose huge number means none."""
    huge = {"model_max_length": 10**30}
    folder = transformer_folder(tmp_path, sentence_bert_config={"max_seq_length": 256}, tokenizer_config=huge)

    assert 256 == read_facts(folder).max_tokens


def test_a_folder_without_a_readable_configuration_holds_no_model(tmp_path: Path) -> None:
    """The error names the files that were looked for, or the one that is damaged."""
    with pytest.raises(ModelError, match=r"modules\.json and config\.json are missing"):
        read_facts(tmp_path)
    (tmp_path / "modules.json").write_text("[")
    with pytest.raises(ModelError, match=r"modules\.json cannot be read"):
        read_facts(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\x02\0\0\0\0\0\0\0{}", b"\x02\0\0\0\0\0\0\0[]"], ids=["empty", "none", "list"]
)
def test_weights_without_a_table_are_refused(tiny_folder: Path, content: bytes) -> None:
    """A file that holds no table of token vectors is an error of the model."""
    (tiny_folder / "model.safetensors").write_bytes(content)

    with pytest.raises(ModelError, match=r"model\.safetensors"):
        read_facts(tiny_folder)
