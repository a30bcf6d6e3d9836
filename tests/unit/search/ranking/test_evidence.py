from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.constants import RankingConfig
from hybrid.search.ranking.evidence import ON_TOP, PIECES
from tests.support.cases import Case, cases, read
from tests.support.examples import examples
from tests.unit.search.ranking.projects import only, rank, snapshot_of, weights

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (*PIECES, *ON_TOP)
OF_HISTORY = ("history", "changes_with")


def test_every_piece_has_a_weight() -> None:
    """The fields of the weights are the names of the pieces, in their order, and behind them what a stand-in yields."""

    assert RankingConfig.__struct_fields__ == (*NAMES, "stand_in")


def test_what_speaks_against_a_file_is_weighed_below_zero(tmp_path: Path) -> None:
    """The shipped weights of what speaks for a file are above 0, those of the roles below."""
    shipped = weights(tmp_path)

    assert AGAINST == {name for name in NAMES if getattr(shipped, name) < 0}
    assert all(getattr(shipped, name) for name in NAMES)


FILLER = "one two three four five six seven eight nine ten\n"


def _section(word: str) -> str:
    """A section too long to be merged with the next."""
    return f"# {word}\n\n{f'{word} ' * 150}\n\n"


def _read(case: Case) -> tuple[str, str, dict[str, str]]:
    best, _, query = case.text.partition("\n")
    return query, best, {path: text.replace("{FILLER}", FILLER) for path, text in case.json().items()}


CASES: dict[str, tuple[str, str, dict[str, str]]] = {
    **{case.name: _read(case) for case in read("ranking/evidence.txt")},
    "sum_words": (
        "heron",
        "many.md",
        {"many.md": "# One\n\nThe heron.\n\n" * 30, "single.md": "# One\n\nThe heron.\n", "c.md": FILLER},
    ),
    "sum_sense": (
        "heron",
        "many.md",
        {"many.md": _section("heron") * 4, "single.md": _section("heron"), "c.md": FILLER * 9},
    ),
    "opening": (
        "heron stork",
        "a.py",
        {
            "a.py": '"""Herons and storks."""\n\nx = 1\n',
            "b.py": "def f():\n    pass\n" * 90 + "# The heron, the stork.\n",
            "c.txt": FILLER,
        },
    ),
}
"""Piece → query, the file that should win, the project."""
ROLES: dict[str, tuple[str, str]] = {
    "test": ("tests/heron.txt", "a test of the heron"),
    "example": ("examples/heron.txt", "an example of the heron"),
    "generated": ("dist/heron.txt", "the generated heron"),
    "vendored": ("vendor/heron.txt", "the vendored heron"),
    "legacy": ("legacy/heron.txt", "the deprecated heron"),
    "interface": ("heron.pyi", "the type of the heron"),
    "aside": ("releases/heron.txt", "the changelog of the heron"),
}
"""Role → a file of it, and a query that speaks of the role."""
AGAINST = {*ROLES, "version", "beside_source", "twin"}


def test_every_piece_has_a_case() -> None:
    """The tables below leave no piece out but those of earlier commits, which `test_changes.py` is about."""

    assert set(NAMES) == {*CASES, *ROLES, "version", "beside_source", "tested", "twin", *OF_HISTORY}


WISH = "Let herons sleep through the night"
"""A wish for a change, which speaks of no kind of file."""


@pytest.mark.parametrize(
    ("query", "behind"),
    [
        (WISH, {"tests/test_heron.py", "heron.md", "heron.toml"}),
        (
            f"{WISH}\n\nRun the tests and make sure the test suite passes.",
            {"tests/test_heron.py", "heron.md", "heron.toml"},
        ),
        ("please fix the flaky tests of herons that sleep", {"heron.md", "heron.toml"}),
        ("can you update the docs of herons that sleep?", {"tests/test_heron.py", "heron.toml"}),
        ("how do herons sleep through the night", set()),
        ("heron sleep", set()),
    ],
)
def test_the_source_is_what_is_to_be_changed(tmp_path: Path, query: str, behind: set[str]) -> None:
    """A test, a page and a file of data step back where something is to be changed, and none of these."""
    texts = dict.fromkeys(("heron.py", "tests/test_heron.py", "heron.md", "heron.toml"), "herons = 'sleep at night'\n")
    snapshot = snapshot_of(tmp_path, texts)
    ranked = rank(snapshot, query, weights(tmp_path, **(dict.fromkeys(NAMES, 0.0) | {"beside_source": -1.0})))

    assert behind == {snapshot.get(chunk.row).path for chunk in ranked if chunk.evidence["beside_source"] < 0}


def test_a_test_speaks_for_the_file_that_it_is_named_after(tmp_path: Path) -> None:
    """What a test tells goes to `heron.py`, where something is to be changed; a question finds the test."""
    texts = {"tests/test_heron.py": "def test_sleep():\n    herons_sleep_at_night()\n"}
    texts |= {"src/heron.py": "x = 1  # a bird at night\n", "src/stork.py": "x = 2  # a bird at night\n"}
    snapshot = snapshot_of(tmp_path, texts)
    settings = only(tmp_path, "tested", "best_words")

    def found(query: str) -> dict[str, float]:
        return {
            snapshot.get(chunk.row).path: round(chunk.evidence["tested"], 3)
            for chunk in rank(snapshot, query, settings)
        }

    assert {"tests/test_heron.py": 0, "src/heron.py": 1, "src/stork.py": 0} == found("Let herons sleep at night please")
    assert {0} == set(found("where do herons sleep at night").values())


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("ledger: add up the sum", {"conf.d/ledger.py": 1, "ledger/sum.py": 1, "src/other.py": 0}),
        ("conf: add up the sum", {"conf.d/ledger.py": 0, "ledger/sum.py": 0, "src/other.py": 0}),
    ],
)
def test_a_name_in_front_of_a_colon_is_all_of_a_name(tmp_path: Path, query: str, counts: dict[str, int]) -> None:
    """That of a file without its last ending, or that of a folder with all of its own."""
    snapshot = snapshot_of(tmp_path, {path: f"sum = {n}  # add up\n" for n, path in enumerate(counts)})
    ranked = rank(snapshot, query, only(tmp_path, "scope", "best_words"))

    assert counts == {snapshot.get(chunk.row).path: chunk.evidence["scope"] for chunk in ranked}


def test_a_name_of_many_files_says_little_of_one(tmp_path: Path) -> None:
    """A folder of 24 files counts half."""
    snapshot = snapshot_of(tmp_path, {f"ledger/part_{n}.py": f"sum = {n}  # add up\n" for n in range(24)})
    ranked = rank(snapshot, "ledger: add up the sum", only(tmp_path, "scope", "best_words"))

    assert {0.5} == {chunk.evidence["scope"] for chunk in ranked}


def test_only_source_defines(tmp_path: Path) -> None:
    """A heading and a test that bear a name define nothing, alone or beside the source."""
    source = {"src/a.py": "def count_sum(x):\n    return x\n"}
    beside = {"docs/a.md": "# count_sum\n\nHow it counts.\n", "tests/test_a.py": "def count_sum(x):\n    return 1\n"}
    for texts, expected in (({**source, **beside}, {"src/a.py"}), (beside, set[str]())):
        snapshot = snapshot_of(tmp_path / str(len(texts)), texts)
        ranked = rank(snapshot, "how does count_sum count?", only(tmp_path, "defines_alone", "best_words"))
        assert expected == {snapshot.get(chunk.row).path for chunk in ranked if chunk.evidence["defines_alone"]}


@cases("ranking/twins.txt")
def test_of_twins_the_one_comes_behind_whose_opposite_is_said(tmp_path: Path, case: Case) -> None:
    """By a word that says the same in the other's path; a query that speaks of both, or of none, tells nothing."""
    *paths, query = case.text.split(" | ")
    snapshot = snapshot_of(tmp_path, dict.fromkeys(paths, "the clock ticks"))
    ranked = rank(snapshot, query, only(tmp_path, "twin", "best_words"))

    assert set(paths) == {snapshot.get(chunk.row).path for chunk in ranked}
    assert set(str(case.expected or "").split()) == {
        snapshot.get(chunk.row).path for chunk in ranked if chunk.evidence["twin"]
    }


@pytest.mark.parametrize("piece", CASES)
def test_the_file_that_should_win(tmp_path: Path, piece: str) -> None:
    """By one piece alone, the file that it is about stands first, with a value above 0 and up to 1."""
    query, best, texts = CASES[piece]
    snapshot = snapshot_of(tmp_path, texts)

    ranked = rank(snapshot, query, only(tmp_path, piece))
    values = {snapshot.get(chunk.row).path: chunk.evidence[piece] for chunk in ranked}
    assert best == snapshot.get(ranked[0].row).path
    assert 0 < values[best] <= 1
    assert all(0 <= value < values[best] for path, value in values.items() if path != best)
    assert [(piece,)] * len(ranked) == [tuple(chunk.evidence) for chunk in ranked]


@pytest.mark.parametrize("piece", ROLES)
def test_a_role_counts_unless_the_query_speaks_of_it(tmp_path: Path, piece: str) -> None:
    """A file of a role has the whole evidence against it, others have none; asked for, it is a file as any other."""
    path, asked = ROLES[piece]
    snapshot = snapshot_of(tmp_path, {path: "the heron", "heron.txt": "the heron", "c.txt": FILLER})
    settings = weights(tmp_path, **(dict.fromkeys(NAMES, 0.0) | {piece: -1.0}))

    for query, value in (("where is the heron", -1.0), (asked, 0.0)):
        values = {snapshot.get(chunk.row).path: chunk.evidence[piece] for chunk in rank(snapshot, query, settings)}
        assert {path: value, "heron.txt": 0.0, "c.txt": 0.0} == values
    assert "heron.txt" != path
    assert path == snapshot.get(rank(snapshot, "where is the heron", settings)[-1].row).path


@pytest.mark.parametrize(("query", "best"), [("the heron", "v2/heron.txt"), ("the heron of v1", "v1/heron.txt")])
def test_the_version_that_is_meant(tmp_path: Path, query: str, best: str) -> None:
    """The newest version stands before older ones, or the one that the query names before all others."""
    snapshot = snapshot_of(tmp_path, {"v1/heron.txt": "the heron", "v2/heron.txt": "the heron"})
    settings = weights(tmp_path, **(dict.fromkeys(NAMES, 0.0) | {"version": -0.5}))

    ranked = rank(snapshot, query, settings)
    assert [(best, 0.0), -0.5] == [
        (snapshot.get(ranked[0].row).path, ranked[0].evidence["version"]),
        ranked[1].evidence["version"],
    ]


def test_a_weight_of_zero_leaves_a_piece_out(tmp_path: Path) -> None:
    """A piece that is switched off is not among the evidence; the others keep their values."""
    snapshot = snapshot_of(tmp_path, CASES["defines"][2])
    query = CASES["defines"][0]

    everything = {chunk.row: chunk.evidence for chunk in rank(snapshot, query, weights(tmp_path))}
    without = {
        chunk.row: chunk.evidence for chunk in rank(snapshot, query, weights(tmp_path, remarks=0.0, feedback=0.0))
    }
    assert {
        row: {name: value for name, value in pieces.items() if name not in ("remarks", "feedback")}
        for row, pieces in everything.items()
    } == without


def test_a_weight_multiplies_its_piece(tmp_path: Path) -> None:
    """Evidence is the value of a piece times its weight."""
    snapshot = snapshot_of(tmp_path, CASES["defines"][2])
    query = CASES["defines"][0]
    once, thrice = (rank(snapshot, query, weights(tmp_path, defines=weight))[0].evidence for weight in (1.0, 3.0))

    assert dict(once) | {"defines": 3 * once["defines"]} == thrice
    assert once["defines"] > 0


_WORDS = ["heron", "herons", "stork", "nest", "find_heron", "Stork", "reed"]
_TEXTS = st.dictionaries(
    st.sampled_from(["heron.py", "src/nest.py", "tests/test_nest.py", "v1/reed.py", "v2/reed.py", "docs/stork.md"]),
    st.lists(
        st.one_of(
            st.sampled_from(_WORDS).map(lambda word: f"def {word}():\n    # The {word}.\n    return {word}\n"),
            st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join),
        ),
        max_size=5,
    ).map("\n".join),
    max_size=6,
)
_QUERY = st.lists(st.sampled_from([*_WORDS, "unknown", "src/nest.py", "test", "v1", "the"]), max_size=6).map(" ".join)


@examples(30)
@given(st.lists(_TEXTS, min_size=1, max_size=2), st.lists(_QUERY, min_size=1, max_size=3))
def test_every_piece_lies_in_0_to_1(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]], queries: list[str]
) -> None:
    """Whatever the project, its edits and the query: each piece is a number from 0 to 1, with weights of 1."""
    folder = tmp_path_factory.mktemp("evidence")
    snapshot, settings = snapshot_of(folder, *history), only(folder, *NAMES)

    for query in queries:
        for chunk in rank(snapshot, query, settings):
            assert NAMES == tuple(chunk.evidence)
            assert all(0 <= value <= 1 for value in chunk.evidence.values()), (query, chunk.evidence)
