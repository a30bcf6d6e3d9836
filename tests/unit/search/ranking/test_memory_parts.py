from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid.records.memory.types import Extracted, Observation, Owner
from hybrid.search.ranking.memory import (
    OTHERS_AT_MOST,
    SPREAD,
    Parts,
    Present,
    asked_concepts,
    concept_overlap,
    file_overlap,
    parts_of,
    recency,
    spread,
)

DAY_MS = 86_400_000
NOW_MS = 1_780_000_000_000
HERE, THERE = "a" * 16, "b" * 16
PRESENT = Present(NOW_MS, HERE, ("src/client.py", "README.md"), 2.0)


def _row(
    created_ms: int, kind: str, key: str, files: tuple[str, ...] = (), concepts: tuple[str, ...] = ()
) -> Observation:
    """An observation of a type in a project."""
    told = Extracted(kind, "a title", files_read=files, concepts=concepts)
    return Observation(1, Owner("s1", key, "shop"), told, 1, 0, 0, created_ms, "0" * 64)


@pytest.mark.parametrize(
    ("age_ms", "half_life_days", "expected"),
    [
        pytest.param(0, 2.0, 1.0, id="now"),
        pytest.param(2 * DAY_MS, 2.0, 0.5, id="one half-life"),
        pytest.param(4 * DAY_MS, 2.0, 0.25, id="two half-lives"),
        pytest.param(DAY_MS // 2, 0.5, 0.5, id="half a day"),
        pytest.param(-5 * DAY_MS, 2.0, 1.0, id="times to come count as now"),
    ],
)
def test_recency_halves_with_each_half_life(age_ms: int, half_life_days: float, expected: float) -> None:
    """1 now, 0.5 after one half-life, 0.25 after two; a date ahead counts as now."""
    assert expected == recency(NOW_MS - age_ms, NOW_MS, half_life_days)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("decision", 0.8),
        ("bugfix", 0.7),
        ("discovery", 0.6),
        ("feature", 0.5),
        ("refactor", 0.4),
        ("change", 0.3),
        ("summary", 0.3),
        ("anything", 0.3),
    ],
)
def test_each_type_has_its_worth(kind: str, expected: float) -> None:
    """Decisions count most; what has no worth of its own counts as a change."""
    assert expected == parts_of(_row(NOW_MS, kind, THERE), PRESENT).type


@pytest.mark.parametrize(
    ("theirs", "present", "expected"),
    [
        pytest.param(["a", "b"], ["a"], 0.5, id="half of theirs"),
        pytest.param(["a"], ["a", "b", "c"], 1.0, id="all of theirs"),
        pytest.param(["a"], ["src/a"], 0.0, id="paths are exact"),
        pytest.param([], ["a"], 0.0, id="they have none"),
        pytest.param(["a"], [], 0.0, id="none here"),
        pytest.param(["a", "a", "b"], ["a"], 0.5, id="each once"),
    ],
)
def test_file_overlap_is_the_share_of_their_files(theirs: list[str], present: list[str], expected: float) -> None:
    """Matching files by the observation's own; 0 when either side is empty."""
    assert expected == file_overlap(theirs, present)


def test_the_plain_sum_without_a_query() -> None:
    """Recency, type, overlap of files and the project add up; nothing is similar to no query."""
    found = parts_of(_row(NOW_MS - 2 * DAY_MS, "bugfix", HERE, ("src/client.py", "src/other.py")), PRESENT)

    assert Parts(recency=0.5, type=0.7, similarity=0.0, file_overlap=0.5, same_project=0.1) == found
    assert pytest.approx(1.8) == found.score


def test_another_project_has_no_bonus() -> None:
    """Only the present project's rows get it, and outside of any project nobody's."""
    assert 0.0 == parts_of(_row(NOW_MS, "change", THERE), PRESENT).same_project
    assert 0.0 == parts_of(_row(NOW_MS, "change", ""), Present(NOW_MS, "", (), 2.0)).same_project


def test_similarity_is_relevance_and_half_the_concepts() -> None:
    """The hit's relevance, plus half of the share of the concepts that were asked for; none asked for, no overlap."""
    row = _row(NOW_MS, "change", HERE, concepts=("gotcha",))

    assert pytest.approx(0.8 + 0.25) == parts_of(row, PRESENT, relevance=0.8, asked={"gotcha", "pattern"}).similarity
    assert 0.0 == concept_overlap(("gotcha",), ())
    assert 1.0 == concept_overlap(("gotcha", "pattern"), ("gotcha",))


@given(
    st.integers(0, 1000),
    st.sampled_from(["decision", "change"]),
    st.booleans(),
    st.booleans(),
    st.floats(0, 1),
)
def test_with_a_query_the_other_parts_stay_small(
    age_days: int, kind: str, is_here: bool, has_file: bool, relevance: float
) -> None:
    """Recency, type, files and project together never add more than the most that is allowed."""
    row = _row(NOW_MS - age_days * DAY_MS, kind, HERE if is_here else THERE, ("README.md",) if has_file else ())

    found = parts_of(row, PRESENT, relevance=relevance)

    assert found.score - found.similarity <= OTHERS_AT_MOST + 1e-9
    assert relevance == found.similarity


def test_what_is_merely_recent_never_overrules_what_fits() -> None:
    """A row from a year ago that fits by 0.31 more stands before the newest of the best type in this project."""
    old = _row(NOW_MS - 365 * DAY_MS, "change", THERE)
    new = _row(NOW_MS, "decision", HERE, ("README.md",))

    assert parts_of(old, PRESENT, relevance=0.91).score > parts_of(new, PRESENT, relevance=0.6).score


def test_the_parts_add_up_in_the_machine_form() -> None:
    """What `--json` shows of a row sums up to its score."""
    found = parts_of(_row(NOW_MS - DAY_MS, "bugfix", HERE, ("README.md",)), PRESENT, relevance=0.5)

    assert ["recency", "type", "similarity", "file_overlap", "same_project", "repetition"] == list(found.as_json())
    assert pytest.approx(found.score, abs=3e-4) == sum(found.as_json().values())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("gotchas of the retry loop", {"gotcha"}),
        ("what changed in client.py, and which trade-off was made", {"what-changed", "trade-off"}),
        ("how-it-works: the index", {"how-it-works"}),
        ("why did the fix of the race fail", set[str]()),
        ("sqlite busy timeout", set[str]()),
    ],
)
def test_concepts_are_asked_for_by_name(query: str, expected: set[str]) -> None:
    """Everyday words of a question are no concepts."""
    assert expected == asked_concepts(query)


def _hits(*hits: tuple[float, str]) -> list[tuple[Parts, str]]:
    """Hits by their similarity and title; nothing else counts."""
    return [(Parts(0.0, 0.0, similarity, 0.0, 0.0), title) for similarity, title in hits]


def test_what_repeats_a_better_hit_steps_back() -> None:
    """It loses half of its similarity for a title of the same words, and less for one that shares some (Jaccard)."""
    found = spread(
        _hits((1.0, "Run tests of PaymentClient"), (0.9, "run tests: of paymentclient"), (0.8, "Fix PaymentClient"))
    )

    assert [0, 2, 1] == [place for place, _ in found]
    assert pytest.approx([0.0, -0.8 * 0.5 / 5, -0.9 * 0.5]) == [parts.repetition for _, parts in found]


def test_what_fits_twice_as_well_is_never_behind() -> None:
    """Not even when it says the same as a better one."""
    found = spread(_hits((1.0, "Run the tests"), (0.5, "Run the tests"), (0.24, "Read README.md")))

    assert [0, 1, 2] == [place for place, _ in found]


def test_hits_that_say_different_things_keep_their_order() -> None:
    """Nothing is lost without a shared word; a row without a title is like no other."""
    found = spread(_hits((0.9, "Read a.py"), (0.8, "Fix b"), (0.7, ""), (0.6, "")))

    assert [(0, 0.0), (1, 0.0), (2, 0.0), (3, 0.0)] == [(place, parts.repetition) for place, parts in found]
    assert [] == spread([])


@example([(1.0, "aa a b"), (0.3696360645999698, "aa a b")])
@given(st.lists(st.tuples(st.floats(0, 1.5), st.text("ab ", max_size=6)), max_size=3 * SPREAD))
def test_every_hit_is_there_once_and_scores_fall(hits: list[tuple[float, str]]) -> None:
    """Spreading moves hits, it drops none; what is first stays first; no more than half of a similarity is lost."""
    ordered = _hits(*sorted(hits, key=lambda hit: -hit[0]))

    found = spread(ordered)

    assert list(range(len(ordered))) == sorted(place for place, _ in found)
    assert [place for place, _ in found[:1]] == [0] * bool(ordered)
    scores = [parts.score for _, parts in found]
    assert scores == sorted(scores, reverse=True)
    assert all(-parts.similarity / 2 <= parts.repetition <= 0 for _, parts in found)
