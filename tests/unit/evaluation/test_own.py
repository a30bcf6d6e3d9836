from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.evaluation.measures import FilePassage
from hybrid.evaluation.own import Proposal, read_own, write_own
from hybrid.evaluation.qrels import QrelsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CODE = ["import sea", "", "def drop(depth):", '    """Lower the anchor to the floor."""', "    return depth"]
SEMANTIC = Proposal("Lower the anchor", "semantic", "python", FilePassage("a.py", 3, 5), FilePassage("a.py", 4, 4))
SYMBOL = Proposal("drop", "symbol", "python", FilePassage("a.py", 3, 5))


def tree(**files: list[str]) -> Callable[[str], list[str] | None]:
    """The lines of files; a_py stands for a.py."""
    return lambda path: files.get(path.replace(".", "_"))


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """Both proposals in a file."""
    path = tmp_path / "eval.jsonl"
    write_own(path, [SEMANTIC, SYMBOL], "boats", tree(a_py=CODE), is_forced=False)
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    """The lines of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_line_holds_what_a_person_corrects(written: Path) -> None:
    """Id, query and passages in the form of judged queries; a symbol holds nothing out."""
    first, second = rows(written)

    assert ["id", "repo", "query", "category", "language", "gold", "held_out"] == list(first)
    assert ("semantic-001", "boats", "Lower the anchor", "semantic") == tuple(first.values())[:4]
    assert {"path": "a.py", "start_line": 4, "end_line": 4} == {
        name: value for name, value in first["held_out"][0].items() if name != "digest"
    }
    assert ("symbol-001", False) == (second["id"], "held_out" in second)


def test_what_was_written_is_read(written: Path) -> None:
    """The project's name is that of now: a copy of the folder is the same project."""
    own = read_own(written, "ships", tree(a_py=CODE))

    assert [(SEMANTIC.query, (SEMANTIC.target,)), (SYMBOL.query, (SYMBOL.target,))] == [
        (query.text, query.targets) for query in own.queries
    ]
    assert {"ships"} == {query.repo for query in own.queries}
    assert ((FilePassage("a.py", 4, 4),), ()) == (own.held_out, own.left_out)


def test_passages_follow_text_that_moved(written: Path) -> None:
    """Lines above push everything down; the target goes along even when its own text was edited."""
    moved = ["# one", "# two", *CODE[:4], "    return depth + 1"]
    own = read_own(written, "boats", tree(a_py=moved))

    assert [(FilePassage("a.py", 5, 7),), (FilePassage("a.py", 3, 5),)] == [query.targets for query in own.queries]
    assert (FilePassage("a.py", 6, 6),) == own.held_out


def test_a_query_whose_words_cannot_be_held_out_is_left_out(written: Path) -> None:
    """The comment was reworded, so the query would be found by words that nobody blanks."""
    reworded = [*CODE[:3], '    """Lower the anchor to the very floor."""', CODE[4]]
    own = read_own(written, "boats", tree(a_py=reworded))

    assert (("semantic-001",), ["drop"]) == (own.left_out, [query.text for query in own.queries])


def test_a_text_that_stands_twice_says_nothing(written: Path) -> None:
    """Neither of two equal comments is known to be the one."""
    twice = ["", *CODE, *CODE[2:]]

    assert ("semantic-001",) == read_own(written, "boats", tree(a_py=twice)).left_out


def test_corrected_lines_count_as_they_stand(written: Path) -> None:
    """Without a digest a passage is what the person wrote; a whole file is one, too."""
    first, second = rows(written)
    first["gold"] = [{"path": "a.py", "start_line": 1, "end_line": 2}, {"path": "b.py"}]
    first["query"], first["held_out"] = "where do anchors go", []
    written.write_text(f"{json.dumps(first)}\n\n{json.dumps(second)}\n")
    own = read_own(written, "boats", tree(a_py=CODE, b_py=["x"]))

    assert (FilePassage("a.py", 1, 2), FilePassage("b.py")) == own.queries[0].targets
    assert "where do anchors go" == own.queries[0].text


def test_a_file_that_is_gone_takes_its_queries_along(written: Path) -> None:
    """When none is left the message says what to do."""

    with pytest.raises(QrelsError, match=r"no query fits .*`hybrid eval init --force`"):
        read_own(written, "boats", tree())


def test_corrections_are_not_overwritten(written: Path) -> None:
    """Unless that is said."""
    before = written.read_bytes()
    with pytest.raises(QrelsError, match="may hold corrections; --force"):
        write_own(written, [SYMBOL], "boats", tree(a_py=CODE), is_forced=False)

    assert before == written.read_bytes()
    write_own(written, [SYMBOL], "boats", tree(a_py=CODE), is_forced=True)
    assert 1 == len(rows(written))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"id": "a", "query": "x", "gold": [{"path": "a.py", "start_line": "3"}]}', "is no line"),
        ('{"id": "a", "query": "x", "gold": []}', "gold is empty"),
        ('{"id": "a", "gold": [{"path": "a.py"}]}', "'query'"),
        ("no json", "line 1"),
    ],
    ids=["line number as text", "no target", "no query", "no json"],
)
def test_a_slip_of_the_pen_is_named(written: Path, line: str, what: str) -> None:
    """The message holds the file, the line and what is wrong with it."""
    written.write_text(f"{line}\n")

    with pytest.raises(QrelsError, match=rf"eval\.jsonl, line 1: .*{what}|{what}"):
        read_own(written, "boats", tree(a_py=CODE))
