import math
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from hybrid.records.lessons.types import Lesson, hit_lines
from hybrid.records.scoring import LessonScorer, Scored, id_key, jaccard, relevance, said_words, searched_text, tokens
from tests.support.cases import Case, cases

GIT = Lesson("L001", "Git commit format", "Use conventional commits: type(scope): description")
DATABASE = Lesson("L002", "Database indexing", "Index every column that a WHERE clause filters by")
BRANCH = Lesson("L003", "Git branch naming", "Name branches feature/TICKET-short-words")
LESSONS = [DATABASE, BRANCH, GIT]

words = st.sampled_from(["git", "commit", "branch", "index", "must", "not", "the", "naïve", "x", "2026", "résumé"])
texts = st.lists(words, max_size=12).map(" ".join)
lessons = st.lists(
    st.builds(
        Lesson,
        id=st.integers(1, 2000).map("L{:03d}".format),
        title=texts,
        content=texts,
        triggers=st.lists(texts, max_size=2).map(tuple),
        uses=st.integers(0, 100),
    ),
    max_size=12,
    unique_by=lambda lesson: lesson.id,
)


class ReferenceOkapi(BM25Okapi):
    """`BM25Okapi` with IDF = ln((N − n + 0.5)/(n + 0.5) + 1)."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, n in nd.items():
            self.idf[term] = math.log((self.corpus_size - n + 0.5) / (n + 0.5) + 1)


def score_lessons(query: str, lessons: Sequence[Lesson]) -> list[Scored[Lesson]]:
    """The score of each lesson for one query."""
    return LessonScorer(lessons).score(query)


def ids(hits: Sequence[Scored[Lesson]]) -> list[str]:
    """The ids of hits in their order."""
    return [hit.lesson.id for hit in hits]


def test_lesson_that_the_question_is_about_comes_first() -> None:
    """A question about git commits finds the lesson on their format before those on branches and databases."""
    hits = score_lessons("How should I format git commits?", LESSONS)

    assert "Git commit format" == hits[0].lesson.title
    assert ["L001", "L003", "L002"] == ids(hits)
    assert 0 == hits[2].relevance


@pytest.mark.parametrize("query", ["", "   ", "the a is", "?!", "how would you do it"])
def test_query_that_says_nothing_scores_all_lessons_zero(query: str) -> None:
    """Every lesson is returned with relevance 0, in order of uses and id."""
    hits = score_lessons(query, LESSONS)

    assert ["L001", "L002", "L003"] == ids(hits)
    assert {(0.0, 0)} == {(hit.bm25, hit.relevance) for hit in hits}


def test_no_lessons_give_no_hits() -> None:
    """Neither an empty list nor lessons without a single word are an error."""
    assert [] == score_lessons("git commit", [])
    assert [] == LessonScorer[Lesson]([]).best("git commit", top_k=5)
    assert [0] == [hit.relevance for hit in score_lessons("git", [Lesson("L001", "", "?")])]


def test_equal_lessons_come_in_order_of_uses() -> None:
    """The one that was used more comes first; with equal uses the smaller number does, `L999` before `L1000`."""
    same = [
        Lesson("L1000", "Run ruff", "Run ruff before a commit"),
        Lesson("L999", "Run ruff", "Run ruff before a commit"),
        Lesson("L1001", "Run ruff", "Run ruff before a commit", uses=7),
    ]

    assert ["L1001", "L999", "L1000"] == ids(score_lessons("ruff", same))


@cases("records/tokens.txt")
def test_tokens_are_telling_words_in_lower_case(case: Case) -> None:
    """Words are split outside letters and digits; stop words and single characters are dropped, nothing is stemmed."""
    assert str(case.expected).split() == tokens(case.text)


def test_trigger_counts_three_times() -> None:
    """A lesson is searched by its title, its content and three times each trigger."""
    lesson = Lesson("L001", "Title", "content", triggers=("commit hook", "ci"))

    assert ["title", "content", *["commit", "hook"] * 3, *["ci"] * 3] == tokens(searched_text(lesson))


def test_only_the_first_5000_characters_of_a_query_count() -> None:
    """A word behind them finds nothing, the same word within them does."""
    assert 0 == score_lessons("x " * 2500 + "git", [GIT])[0].relevance
    assert 0 < score_lessons("x " * 2498 + "git", [GIT])[0].relevance


@given(lessons, texts)
def test_scores_equal_those_of_rank_bm25(corpus: list[Lesson], query: str) -> None:
    """Raw scores are those of `BM25Okapi.get_scores` with the non-negative IDF, repeated terms included."""
    documents = [tokens(searched_text(lesson)) for lesson in corpus]
    found = {hit.lesson.id: hit.bm25 for hit in score_lessons(query, corpus)}

    if any(documents):
        expected = ReferenceOkapi(documents, k1=1.5, b=0.75).get_scores(tokens(query))
        assert pytest.approx(dict(zip([lesson.id for lesson in corpus], expected, strict=True))) == found
    else:
        assert {0.0} >= set(found.values())


@given(lessons, texts)
def test_order_is_by_score_then_uses_then_id(corpus: list[Lesson], query: str) -> None:
    """Whatever order the lessons come in, every one is returned once, in the one specified order."""
    hits = score_lessons(query, corpus)

    assert hits == sorted(hits, key=lambda hit: (-hit.bm25, -hit.lesson.uses, id_key(hit.lesson.id)))
    assert hits == score_lessons(query, corpus[::-1])
    assert len(corpus) == len(hits)


@given(lessons, texts, st.integers(0, 6), st.integers(0, 4))
def test_best_are_the_first_of_all(corpus: list[Lesson], query: str, top_k: int, least: int) -> None:
    """`best` is `score` without the lessons below the relevance asked for, cut to the number asked for."""
    scorer = LessonScorer(corpus)

    expected = [hit for hit in scorer.score(query) if hit.relevance >= least][:top_k]
    assert expected == scorer.best(query, top_k=top_k, min_relevance=least)


@given(lessons, texts)
def test_relevances_are_those_of_the_lessons_that_match(corpus: list[Lesson], query: str) -> None:
    """The relevance of each lesson by its id, without those that have none."""
    scorer = LessonScorer(corpus)

    expected = {hit.lesson.id: hit.relevance for hit in scorer.score(query) if hit.relevance}

    assert expected == scorer.relevances(query)


@given(lessons, lessons, texts)
def test_what_an_earlier_scorer_counted_changes_no_score(before: list[Lesson], after: list[Lesson], query: str) -> None:
    """A scorer that takes over counts scores as one that counts anew."""
    earlier = LessonScorer(before)
    earlier.score(query)

    assert LessonScorer(after).score(query) == LessonScorer(after, earlier).score(query)


@pytest.mark.parametrize(
    ("bm25", "expected"),
    [(0.0, 0), (0.01, 1), (0.7, 1), (0.75, 2), (1.24, 2), (1.25, 3), (4.75, 10), (4.74, 9), (9.0, 10), (1e300, 10)],
)
def test_relevance_is_twice_the_score_rounded_within_1_to_10(bm25: float, expected: int) -> None:
    """Nothing matched is 0; whatever matched is at least 1; halves round up; 10 is the most."""
    assert expected == relevance(bm25)


@pytest.mark.parametrize(
    ("uses", "first_line"),
    [
        (0, "[L001] (relevance: 8/10) Git commit format"),
        (1, "[L001] ⭐ (relevance: 8/10) Git commit format"),
        (5, "[L001] ⭐⭐ (relevance: 8/10) Git commit format"),
        (49, "[L001] ⭐⭐⭐ (relevance: 8/10) Git commit format"),
        (100, "[L001] ⭐⭐⭐⭐⭐ (relevance: 8/10) Git commit format"),
    ],
)
def test_hit_is_shown_in_two_lines(uses: int, first_line: str) -> None:
    """Id, stars by uses, relevance and title; then the rule."""
    lesson = Lesson("L001", "Git commit format", "Use conventional commits", uses=uses)

    assert f"{first_line}\n    -> Use conventional commits" == hit_lines(Scored(lesson, 4.0, 8))


def test_rule_of_several_lines_is_shown_on_one() -> None:
    """A hit never has more than two lines, and no terminal escapes."""
    lesson = Lesson("L001", "Two\x1b[31m words", "first\n\nsecond\r\nthird")

    assert "[L001] (relevance: 1/10) Two words\n    -> first second third" == hit_lines(Scored(lesson, 0.2, 1))


def test_scoring_needs_only_five_values_of_a_lesson() -> None:
    """Any value with id, title, content, triggers and uses can be scored."""

    @dataclass(frozen=True)
    class Note:
        id: str
        title: str
        content: str
        triggers: list[str]
        uses: int

    note = Note("L001", "Tabs", "", ["whitespace"], 0)

    assert note is score_lessons("whitespace", [note])[0].lesson


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({"a", "b"}, {"a", "b"}, 1.0),
        ({"a", "b", "c"}, {"b", "c", "d"}, 0.5),
        ({"a"}, {"b"}, 0.0),
        (set[str](), set[str](), 0.0),
    ],
    ids=["same", "half", "none", "both empty"],
)
def test_jaccard_is_the_share_of_common_terms(a: set[str], b: set[str], expected: float) -> None:
    """Common terms over all terms; nothing compared with nothing is not alike."""
    assert expected == jaccard(a, b)


def test_lessons_are_alike_by_the_words_of_title_and_content() -> None:
    """Order, case and stop words do not matter; a different rule does."""
    rule = said_words("Use tabs", "in the Makefile")

    assert 1.0 == jaccard(rule, said_words("Tabs", "use in a makefile"))
    assert 0.8 > jaccard(rule, said_words("Never use tabs", "in Python files"))
