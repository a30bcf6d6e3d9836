from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.prompting.query import make_query
from hybrid.search.ranking.corpus import score_places
from tests.support.cases import Case, cases
from tests.unit.search.ranking.projects import by_place, corpus_of, numbers_in

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.search.ranking.corpus import Corpus

_LINES = (
    "\n\n\n".join(f"def f{number}(x):\n    y = x + {number}\n    return y * {number}" for number in range(200)) + "\n"
)
FILES = {
    "src/shop/cart.py": _LINES,
    "src/shop/rates.py": "def tax(country):\n    return 0.2\n",
    "src/shop/web/views.py": "def index():\n    return 1\n",
    "src/shop/admin/views.py": "def index():\n    return 2\n",
    "setup.py": "name = 'shop'\n",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """A small shop."""
    return corpus_of(tmp_path_factory.mktemp("shop"), FILES)


def _named(corpus: Corpus, text: str) -> dict[str, float]:
    named = score_places(corpus, make_query(text).places).files
    return {corpus.fields.path(file): round(value, 3) for file, value in named.items()}


@cases("ranking/places.txt")
def test_files_named_by_path(corpus: Corpus, case: Case) -> None:
    """The whole path or all that was said of it counts 1, shared among several; other folders little, other packages nothing."""
    assert numbers_in(case.expected) == _named(corpus, case.text)


def test_the_innermost_frame_of_the_project_counts_most(corpus: Corpus) -> None:
    """Frames outwards count half of the one within; those of other projects are passed over."""
    text = """Traceback (most recent call last):
  File "/app/main.py", line 8, in <module>
  File "/x/site-packages/shop/web/views.py", line 2, in index
  File "/x/site-packages/shop/cart.py", line 7, in f1
  File "/x/site-packages/numpy/core/rates.py", line 2, in tax
KeyError: 'no'"""

    assert {"src/shop/cart.py": 1, "src/shop/web/views.py": 0.5} == _named(corpus, text)


def test_the_chunk_that_holds_the_line(corpus: Corpus) -> None:
    """A line points at one chunk; without a line, or beyond the end, at none."""
    line = FILES["src/shop/cart.py"].split("\n").index("def f150(x):") + 2
    views = [
        corpus.backend.get(row)
        for row in score_places(corpus, make_query(f"wrong in src/shop/cart.py:{line}").places).chunks
    ]
    found = {(view.path, view.start_line) for view in views}
    everything = by_place(corpus, np.zeros(corpus.n_rows, np.float32))
    starts = sorted(start for path, start in everything if path == "src/shop/cart.py")

    assert len(starts) > 3
    assert {("src/shop/cart.py", max(start for start in starts if start <= line))} == found
    for text in ("wrong in src/shop/cart.py", "wrong in src/shop/cart.py:99999"):
        assert {} == score_places(corpus, make_query(text).places).chunks


def test_a_file_that_is_gone_is_not_named(tmp_path: Path) -> None:
    """Only what can be found is named, in whatever segment it lies."""
    changed = {**FILES, "src/shop/new.py": "def fresh():\n    return 3\n"}
    del changed["src/shop/rates.py"]
    edited = corpus_of(tmp_path, FILES, changed)

    assert {} == _named(edited, "fix src/shop/rates.py")
    assert {"src/shop/new.py": 1} == _named(edited, "fix src/shop/new.py")


def test_a_name_that_many_files_bear_names_none(tmp_path: Path) -> None:
    """Folders choose among files of one name; the name alone says nothing when a hundred files have it."""
    many = {f"packages/p{number}/index.py": f"def run{number}():\n    return {number}\n" for number in range(100)}
    corpus = corpus_of(tmp_path, many)

    assert {} == _named(corpus, "fix index.py")
    assert {"packages/p7/index.py": 1} == _named(corpus, "fix packages/p7/index.py")
