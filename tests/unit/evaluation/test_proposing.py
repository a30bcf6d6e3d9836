from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from hybrid.config import load
from hybrid.evaluation.measures import FilePassage
from hybrid.evaluation.own import Proposal, propose
from hybrid.upkeep.indexing import chunk_limits, file_source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Propose = Callable[..., list[Proposal]]

ANCHOR = '''"""About anchors and their chains."""


@logged
def drop_anchor(depth):
    """Lower the anchor to the sea floor.

    The chain follows.
    """
    return depth


class Capstan:
    # Turns of the drum that are left.
    turns = 3

    def wind(self):
        """Wind the chain around the drum."""
'''
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
