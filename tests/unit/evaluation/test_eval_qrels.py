from pathlib import Path

import pytest

from hybrid.evaluation.measures import FilePassage, JudgedQuery, QrelsError, read_queries, read_roots


def test_queries_are_read_with_their_targets(queries_file: Path) -> None:
    """Lines of a target are optional, and what is not there is empty."""
    found = {query.id: query for query in read_queries(queries_file)}

    assert (
        JudgedQuery("q1", "boats", "lower the anchor", "semantic", "python", (FilePassage("src/anchor.py", 1, 3),))
        == found["q1"]
    )
    assert JudgedQuery("q4", "far-away", "anything", "", "", (FilePassage("x.c"),)) == found["q4"]


def test_roots_are_read_from_a_manifest(manifest_file: Path) -> None:
    """A repository without a folder of its own is taken whole."""

    assert {"boats": "src", "bakery": ""} == read_roots(manifest_file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no line"),
        ("{", "line 1"),
        ('{"id": "a", "repo": "r", "query": "x", "gold": []}', "gold is empty"),
        ('\n{"id": "a", "query": "x", "gold": [{"path": "p"}]}', "line 2: KeyError: 'repo'"),
        ("[]", "line 1"),
        ('{"id": "a", "repo": "r", "query": "x", "gold": [{"path": "p"}]}\n' * 2, "'a' stands twice"),
    ],
    ids=["empty", "no json", "no target", "no repository", "no object", "twice"],
)
def test_a_damaged_query_file_is_an_error_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    """The message names the file and the line."""
    path = tmp_path / "queries.jsonl"
    path.write_text(text)

    with pytest.raises(QrelsError, match=r"queries\.jsonl") as caught:
        read_queries(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("read", [read_queries, read_roots], ids=["queries", "manifest"])
def test_a_missing_file_is_an_error(tmp_path: Path, read: object) -> None:
    """It is named, with what the system says."""
    assert callable(read)

    with pytest.raises(QrelsError, match=r"nowhere.*No such file"):
        read(tmp_path / "nowhere")


def test_a_manifest_of_another_form_is_an_error(tmp_path: Path) -> None:
    """The message says what was expected."""
    path = tmp_path / "manifest.json"
    path.write_text('{"repositories": []}')

    with pytest.raises(QrelsError, match=r"repos\[\].name"):
        read_roots(path)
