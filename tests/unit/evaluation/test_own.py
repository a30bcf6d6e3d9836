"""The judged queries of a project of one's own: from remarks, proposed, kept in a file."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.config import load
from hybrid.evaluation.measures import FilePassage, QrelsError
from hybrid.evaluation.own import Proposal, is_docstring, is_remark, n_words, propose, question_of, read_own, write_own
from hybrid.upkeep.indexing import chunk_limits, file_source
from tests.support.cases import Case, cases, project

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Propose = Callable[..., list[Proposal]]
    from collections.abc import Callable


@cases("evaluation/first_sentences.txt")
def test_a_comment_becomes_its_first_sentence(case: Case) -> None:
    """Without marks, markup, sections and the name it explains, where that is spelled as in code."""
    name, *comment = case.text.split("\n")

    assert case.expected == question_of(comment, name)


@cases("evaluation/asks_nothing.txt")
def test_what_asks_for_nothing_is_left_out(case: Case) -> None:
    """Too few words, notes to tools and lawyers, and code that was switched off."""
    assert "" == question_of(case.text.split("\n"), "HeatOven")


@pytest.mark.parametrize(
    ("line", "remark", "docstring"),
    [
        ("  // warms", True, False),
        ('    r"""Warms.', True, True),
        ('    """Warms.', True, True),
        ("    # Warms.", True, False),
        ("heat = 3  # degrees", False, False),
    ],
)
def test_a_remark_is_told_by_how_it_begins(line: str, remark: bool, docstring: bool) -> None:
    """Code with a comment behind it must not be held out."""
    assert (remark, docstring) == (is_remark([line]), is_docstring(line))
    assert not is_remark([])


def test_words_are_counted_in_every_script() -> None:
    """Two characters of a script without spaces count as one word."""

    assert (4, 3, 0) == (n_words("lower the anchor now"), n_words("生地を寝かせる。"), n_words("-- 3 ++"))


ANCHOR = project("evaluation/anchor.txt")["anchor.py"]
OVEN = """package bakery

// HeatOven warms the oven for bread.
// It takes an hour.
func HeatOven(degrees int) int {
\treturn degrees
}
"""
DOCS = f"""# Boats

{"Boats float on water. " * 8}

Dropping the anchor
-------------------

{"The anchor is lowered slowly, and the chain follows it. " * 4}

## Version 1.2 of the boat

{"Nothing has changed since the last one that was released. " * 4}
"""


@pytest.fixture
def proposals(tmp_path: Path) -> Propose:
    """What is proposed for the files of a project."""

    def proposed(files: Mapping[str, str], n: int = 100, seed: int = 7) -> list[Proposal]:
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        settings = load(home=tmp_path / "home", environ={}).config.index
        source = file_source(tmp_path / "project", settings, tmp_path / "home")
        return propose(source, chunk_limits(settings), n=n, seed=seed)

    return proposed


def of(category: str, found: list[Proposal]) -> dict[str, Proposal]:
    """Those of one category by their query."""
    return {each.query: each for each in found if each.category == category}


def test_a_docstring_asks_for_its_definition(proposals: Propose) -> None:
    """The whole docstring is held out, the definition without its decorator is the target; an empty body is not asked."""
    found = of("semantic", proposals({"src/anchor.py": ANCHOR}))

    assert ["Lower the anchor to the sea floor"] == list(found)
    (proposal,) = found.values()
    lines = ANCHOR.split("\n")
    assert proposal.held_out == FilePassage("src/anchor.py", 6, 9)
    assert '    """Lower the anchor to the sea floor.' == lines[5]
    assert FilePassage("src/anchor.py", 5, 10) == proposal.target
    assert "python" == proposal.language


def test_a_comment_above_asks_for_what_is_below(proposals: Propose) -> None:
    """All of its lines are held out, and the name is not in the query."""
    (proposal,) = of("semantic", proposals({"oven.go": OVEN})).values()

    assert "warms the oven for bread" == proposal.query
    assert (FilePassage("oven.go", 3, 4), FilePassage("oven.go", 5, 7)) == (proposal.held_out, proposal.target)


def test_a_heading_asks_for_its_section(proposals: Propose) -> None:
    """Its underline is held out, too; single words, versions and empty sections are not asked."""
    found = of("heading", proposals({"docs/boats.md": DOCS, "CHANGELOG.md": DOCS.replace("Dropping", "Losing")}))

    assert ["Dropping the anchor"] == list(found)
    assert FilePassage("docs/boats.md", 5, 6) == found["Dropping the anchor"].held_out
    assert FilePassage("docs/boats.md", 7, 9) == found["Dropping the anchor"].target


def test_a_name_asks_for_its_definition(proposals: Propose) -> None:
    """Nothing is held out; values and names that two places define are not asked."""
    again = "def drop_anchor(depth):\n    return depth + 1\n\n\ndef weigh_anchor(depth):\n    return depth - 1\n"
    found = of("symbol", proposals({"src/anchor.py": ANCHOR, "src/again.py": again}))

    assert {"Capstan", "wind", "weigh_anchor"} == set(found)
    assert {None} == {each.held_out for each in found.values()}


def test_tests_examples_and_other_peoples_code_are_not_asked_for(proposals: Propose) -> None:
    """Nobody wants an agent to be led there first."""
    paths = ("tests/test_anchor.py", "examples/anchor.py", "vendor/anchor.py")

    assert [] == proposals(dict.fromkeys(paths, ANCHOR))


def test_a_text_that_two_places_share_is_not_asked(proposals: Propose) -> None:
    """Nobody could say which of them is right."""
    found = proposals({"a/anchor.py": ANCHOR, "b/anchor.py": ANCHOR, "oven.go": OVEN})

    assert {"oven.go"} == {each.target.path for each in found}


def test_a_secret_is_not_written_into_a_query(proposals: Propose) -> None:
    """The file is kept, perhaps committed: what the index masks is masked here."""
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    code = f'def connect(host):\n    """Connects to the harbour with {key} as its key."""\n    return host\n'
    found = proposals({"harbour.py": code})

    assert ["connect"] == list(of("symbol", found))
    assert all(key not in each.query for each in found)


def test_few_proposals_are_spread_over_languages_and_folders(proposals: Propose) -> None:
    """A folder with many files and a language with many folders do not crowd the others out."""
    files = {f"big/part{n}/m{m}.py": f'def work_{n}_{m}(x):\n    """Do the work of part {n} for module {m}."""\n    return x\n' for n in range(4) for m in range(8)}  # fmt: skip
    files |= {"small/oven.go": OVEN, "other/last.py": 'def rest(x):\n    """Rest after the work of the day."""\n    return x\n'}  # fmt: skip
    found = of("semantic", proposals(files, n=12)).values()
    folders = Counter(each.target.path.rpartition("/")[0] for each in found)

    assert (9, 1, 1) == (sum(folders.values()), folders["small"], folders["other"])
    assert [1, 2, 2, 2] == sorted(n for folder, n in folders.items() if folder.startswith("big"))


def test_the_choice_is_the_same_for_the_same_seed(proposals: Propose) -> None:
    """Another seed chooses others; the order of the lines is that of categories and paths."""
    files = {f"m{m}.py": f'def work_{m}(x):\n    """Do the work that is called {"abcdefghijkl"[m]} today."""\n    return x\n' for m in range(12)}  # fmt: skip
    first, again, other = (proposals(files, n=4, seed=seed) for seed in (1, 1, 2))

    assert first == again != other
    assert ["semantic"] * 3 + ["symbol"] == [each.category for each in first]
    paths = [each.target.path for each in first[:3]]
    assert sorted(paths) == paths


def test_what_one_category_lacks_the_others_give(proposals: Propose) -> None:
    """A project without docs still gets as many queries as were asked for."""
    files = {f"m{m}.py": f'def work_{m}(x):\n    """Do the work that is called {"abcdefghijkl"[m]} today."""\n    return x\n' for m in range(12)}  # fmt: skip

    assert 20 == len(proposals(files, n=20))
    assert 24 == len(proposals(files, n=100))


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
