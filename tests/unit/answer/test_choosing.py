from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hybrid.answer.select import PACKED, Packer, Selection
from hybrid.base.text import chunk_digest
from hybrid.prompting.query import Query, make_query
from hybrid.render.frame import Entry, Footer
from hybrid.search.scores import Verdict
from hybrid.search.searcher import Searched
from hybrid.session.ledger import EMPTY, Ledger
from hybrid.types import Hit, Item
from tests.support.builders import default_config, hit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.config import Config, HooksConfig

QUERY = make_query("How should I format the git commits of this change?")
OPEN = Verdict(True, 0.5, 0.0, "flag", score=0.5)
KINDS = {"files": "code", "lessons": "lesson", "lore": "decision"}


class Unweighted:
    """A searcher for which no term of a query is worth anything."""

    def term_weights(self, query: Query) -> dict[str, float]:
        """Nothing."""
        return {}


@dataclass
class Pile:
    """A collection whose records are texts in memory; a text of None is gone."""

    kind: str
    texts: dict[str, str | None]
    max_items: int | None = None
    budget_chars: int | None = None
    min_cosine: float = 0.15
    threshold: float = 0.5
    searcher: Any = field(default_factory=Unweighted)

    def text(self, hit: Hit) -> str | None:
        """What the hit says now."""
        return self.texts.get(hit.path)

    def shown(self, hit: Hit) -> Hit:
        """As it is."""
        return hit

    def entry(self, item: Item) -> Entry:
        """`[lesson] L001`."""
        return Entry(item.hit.kind, item.hit.path, tuple(item.body.split("\n")) if item.body else ())

    def why(self, hit: Hit) -> str:
        """Nothing is named by it."""
        return ""

    def notes(self, hit: Hit) -> Sequence[str]:
        """The last line, where it is in parentheses."""
        last = (self.texts[hit.path] or "").split("\n")[-1]
        return (last,) if last.startswith("(") else ()

    def left_out(self, hit: Hit) -> str:
        """Too little speaks for it."""
        return "floor"

    def ordered(self, hits: Sequence[Hit], query: Query, rows: Mapping[int, float] | None = None) -> list[Hit]:
        """As they are."""
        return list(hits)

    def selection(self, *, verdict: Verdict = OPEN, **changes: Any) -> Selection:
        """Every text as a hit, in order."""
        hits = tuple(
            hit(row, kind=KINDS[self.kind], path=path, digest=chunk_digest(path), **changes)
            for row, path in enumerate(self.texts)
        )
        searched = Searched(QUERY, "hybrid", len(hits), 0.5, 4.0, (1.0, 1.0), hits, verdict)
        return Selection(self, searched, verdict, hits=list(hits))


def _lessons(n: int, text: str = "x" * 100, **options: Any) -> Pile:
    return Pile("lessons", {f"L{number:03d}": text for number in range(1, n + 1)}, **options)


def _hooks(tmp_path: Path, **flags: object) -> Config:
    return default_config(tmp_path, **{f"hooks_{name}": value for name, value in flags.items()})


def _pack(hooks: Config, *selections: Selection, ledger: Ledger = EMPTY, share: float = 1.0, **footer: Any) -> str:
    return Packer(hooks, ledger, Footer(**footer), share).pack(selections)


def _paths(selection: Selection) -> list[str]:
    return [item.hit.path for item in selection.items]


def _held(selection: Selection) -> dict[str, str]:
    return {entry.hit.path: entry.reason for entry in selection.withheld}


def test_entries_stand_in_the_order_of_the_kinds(tmp_path: Path) -> None:
    """The kind that fits best comes first, also when files come before records that had their share first."""
    files, lessons = Pile("files", {"a.py": "code"}).selection(), _lessons(1).selection()
    text = _pack(_hooks(tmp_path), files, lessons)

    assert text.index("[code] a.py") < text.index("[lesson] L001")


def test_a_kind_stays_within_its_characters(tmp_path: Path) -> None:
    """Records of a kind that are beyond its share are withheld, although the whole budget has room."""
    selection = _lessons(10, budget_chars=500).selection()
    _pack(_hooks(tmp_path, budget_chars=9_000), selection)

    assert ["L001", "L002", "L003", "L004"] == _paths(selection)
    assert {"budget"} == set(_held(selection).values())


def test_a_kind_stays_within_its_number(tmp_path: Path) -> None:
    """So are those beyond its number of records; each is withheld once."""
    selection = _lessons(8, text="short", max_items=5).selection()
    _pack(_hooks(tmp_path), selection)

    assert ["L001", "L002", "L003", "L004", "L005"] == _paths(selection)
    assert ["L006", "L007", "L008"] == [entry.hit.path for entry in selection.withheld]


def test_a_record_that_does_not_fit_is_skipped(tmp_path: Path) -> None:
    """The next one is tried; only the best record of a kind is ever cut."""
    pile = Pile("lore", {"dec-1": "x" * 300, "dec-2": "y" * 2_000, "dec-3": "z" * 300}, budget_chars=1_000)
    selection = pile.selection()
    text = _pack(_hooks(tmp_path), selection)

    assert (["dec-1", "dec-3"], {"dec-2": "budget"}) == (_paths(selection), _held(selection))
    assert "y" * 20 not in text
    assert "x" * 300 in text


LONG = "".join(f"Sentence {number} has a reason. " for number in range(100))


@pytest.mark.parametrize("fmt", ["text", "json", "xml"])
def test_the_best_record_is_shortened_and_not_dropped(tmp_path: Path, fmt: str) -> None:
    """It stays within the room of its kind, ends with a sentence, and is marked; it counts as a preview."""
    pile = Pile("lore", {"dec-1": LONG, "dec-2": "y" * 600, "dec-3": "z"}, budget_chars=1_000)
    selection = pile.selection()
    text = _pack(_hooks(tmp_path, format=fmt), selection)

    item = selection.items[0]
    assert ("dec-1", "preview", "longer than its room") == (item.hit.path, item.form, item.why)
    assert "budget" == _held(selection)["dec-2"]
    assert 900 < len(item.body) < 1_000
    assert item.body.endswith("has a reason. … (shortened)")
    assert LONG.startswith(item.body.removesuffix(" … (shortened)"))
    assert "… (shortened)" in text


def test_what_moved_is_said_below_a_shortened_record(tmp_path: Path) -> None:
    """The notes on code that it names stay: without them the agent would look for what is not there."""
    selection = Pile("lore", {"dec-1": f"{LONG}\n(old.py is not there)"}, budget_chars=500).selection()
    _pack(_hooks(tmp_path), selection)

    assert selection.items[0].body.endswith("has a reason. … (shortened)\n(old.py is not there)")


def test_a_record_is_not_shortened_to_nothing(tmp_path: Path) -> None:
    """Where fewer than 80 characters would be left, the next record is tried."""
    selection = Pile("lore", {"dec-1": "word " * 300, "dec-2": "short"}, budget_chars=100).selection()
    _pack(_hooks(tmp_path), selection)

    assert (["dec-2"], {"dec-1": "budget"}) == (_paths(selection), _held(selection))


@pytest.mark.parametrize(
    ("budget_chars", "given", "held"),
    [
        pytest.param(1_000, ["dec-2"], {"dec-1": "seen"}, id="the same room"),
        pytest.param(3_900, ["dec-1", "dec-2"], {}, id="room for all of it"),
    ],
)
def test_a_shortened_record_is_not_repeated(
    tmp_path: Path, budget_chars: int, given: list[str], held: dict[str, str]
) -> None:
    """A session that has its beginning gets it again only when it fits whole; else the next record is the best."""
    ledger = Ledger({chunk_digest("dec-1").hex(): "preview"})
    selection = Pile("lore", {"dec-1": LONG, "dec-2": "y " * 150}, budget_chars=budget_chars).selection()
    hooks = _hooks(tmp_path, budget_chars=4_500)
    selection.drop_known(ledger, hooks.hooks, is_same_topic=False)
    _pack(hooks, selection, ledger=ledger)

    assert (given, held) == (_paths(selection), _held(selection))
    assert {"full"} == {item.form for item in selection.items}


def test_the_next_record_is_shortened_when_the_best_is_known(tmp_path: Path) -> None:
    """The best record that the session does not have is not dropped either."""
    ledger = Ledger({chunk_digest("dec-1").hex(): "preview"})
    selection = Pile("lore", {"dec-1": LONG, "dec-2": LONG}, budget_chars=1_000).selection()
    _pack(_hooks(tmp_path), selection, ledger=ledger)

    assert (["dec-2"], {"dec-1": "seen"}) == (_paths(selection), _held(selection))
    assert selection.items[0].body.endswith("… (shortened)")


def test_what_one_kind_leaves_goes_to_the_next(tmp_path: Path) -> None:
    """Files take what records do not need, and less when they do."""
    hooks = _hooks(tmp_path, budget_chars=2_000, content_mode="full")
    code = {f"{number}.py": "c" * 300 for number in range(9)}
    alone, beside = Pile("files", code).selection(), Pile("files", code).selection()
    _pack(hooks, alone)
    _pack(hooks, _lessons(5, text="x" * 200, budget_chars=1_500).selection(), beside)

    assert len(alone.items) > len(beside.items) > 0


def test_a_report_has_a_part_of_the_room(tmp_path: Path) -> None:
    """With a share of one half the text is no longer than half the budget."""
    hooks = _hooks(tmp_path, budget_chars=2_000)

    assert 500 < len(_pack(hooks, _lessons(20).selection(), share=0.5)) <= 1_000
    assert 1_500 < len(_pack(hooks, _lessons(20).selection())) <= 2_000


def test_nothing_fits(tmp_path: Path) -> None:
    """When nothing fits there is no text: an empty frame is never shown."""
    selection = _lessons(2, text="x" * 5_000, budget_chars=90).selection()

    assert "" == _pack(_hooks(tmp_path), selection)
    assert {"L001": "budget", "L002": "budget"} == _held(selection)


def test_the_footer_speaks_of_what_is_shown(tmp_path: Path) -> None:
    """Citing is for a text with a lesson in it."""
    footer = {"cites_lessons": True}
    shown = _pack(_hooks(tmp_path), _lessons(1).selection(), **footer)
    none = _pack(
        _hooks(tmp_path),
        _lessons(1, "x" * 5_000, budget_chars=90).selection(),
        Pile("files", {"a.py": "c"}).selection(),
        **footer,
    )

    assert "Cite a lesson you apply as [L001]." in shown
    assert "[code] a.py" in none
    assert "lesson" not in none


@pytest.mark.parametrize("fmt", ["text", "xml", "json"])
def test_a_heading_stands_above_the_first_item_of_its_kind(tmp_path: Path, fmt: str) -> None:
    """Once, in every format, and within the budget; a kind without an item has none."""
    hooks = _hooks(tmp_path, format=fmt, budget_chars=1_000)
    headings = {"lessons": "Relevant lessons after subagent work"}
    files = Pile("files", {"a.py": "c"})
    shown = Packer(hooks, EMPTY, Footer(), headings=headings).pack([files.selection(), _lessons(9).selection()])
    none = Packer(hooks, EMPTY, Footer(), headings=headings).pack([files.selection()])

    assert 1 == shown.count(headings["lessons"])
    assert shown.index("a.py") < shown.index(headings["lessons"]) < shown.index("L001")
    assert len(shown) <= 1_000
    assert headings["lessons"] not in none


@pytest.mark.parametrize(("mode", "lines"), [("adaptive", 9), ("full", 9), ("preview", 4), ("none", 0)])
def test_records_are_given_whole(tmp_path: Path, mode: str, lines: int) -> None:
    """In adaptive mode too, where files are shortened; less only where the owner wants less."""
    text = "\n".join(f"line {number}" for number in range(9))
    selection = _lessons(1, text=text).selection()
    shown = _pack(_hooks(tmp_path, content_mode=mode), selection).split("\n")

    assert lines == len([line for line in shown if line.startswith("  ")])


def test_copies_are_given_once(tmp_path: Path) -> None:
    """Of records that say the same the best is given."""
    selection = _lessons(3).selection()
    selection.hits = [replace_digest(one, b"same") for one in selection.hits]
    selection.recheck()

    assert (["L001"], {"L002": "duplicate", "L003": "duplicate"}) == (
        [one.path for one in selection.hits],
        _held(selection),
    )


def replace_digest(one: Hit, digest: bytes) -> Hit:
    """A hit with another digest."""
    return replace(one, digest=digest)


def test_what_is_gone_is_stale() -> None:
    """A record that was withdrawn after it was found is left out and told as stale; so is one far down the list."""
    texts: dict[str, str | None] = {f"L{number:03d}": "x" for number in range(1, PACKED + 3)}
    selection = Pile("lessons", texts | {"L002": None}).selection()
    selection.recheck()

    assert "stale" == _held(selection)["L002"]
    assert PACKED - 1 == len(selection.hits)
    assert ["stale", "budget"] == sorted({entry.reason for entry in selection.withheld}, reverse=True)


def test_each_record_is_another_matter() -> None:
    """Of records a session gets those it does not have; of files no second choice, once it has the best in full."""
    hooks = default_config_hooks()
    seen = {chunk_digest(path).hex(): "full" for path in ("L001", "L002", "a.py", "b.py")}
    ledger = Ledger(seen)
    lessons = _lessons(3).selection()
    files = Pile("files", {"a.py": "x", "b.py": "x", "c.py": "x", "d.py": "x"}).selection()
    for selection in (lessons, files):
        selection.drop_known(ledger, hooks, is_same_topic=False)

    assert ["L003"] == [one.path for one in lessons.hits]
    assert [] == [one.path for one in files.hits]


def test_the_same_query_brings_no_other_part_of_a_known_file() -> None:
    """Other parts of the best files are another matter for another query only; a better file is one for the same too."""
    hooks = default_config_hooks()
    known = Ledger({chunk_digest("a.py").hex(): "full"})

    def left(*paths: str, is_same_query: bool) -> list[str]:
        selection = Pile("files", dict.fromkeys(paths, "x")).selection()
        selection.hits = [replace(hit, path=hit.path.removesuffix("#2")) for hit in selection.hits]
        selection.drop_known(known, hooks, is_same_topic=False, is_same_query=is_same_query)
        return [one.path for one in selection.hits]

    assert ["a.py"] == left("a.py", "a.py#2", is_same_query=False)
    assert [] == left("a.py", "a.py#2", is_same_query=True)
    assert ["b.py"] == left("a.py", "b.py", is_same_query=True)


def default_config_hooks() -> HooksConfig:
    """The shipped settings of hooks, with two best hits that a session must have."""
    return default_config(Path("/nowhere"), hooks_known_best=2).hooks


def test_the_same_topic_drops_everything() -> None:
    """When the results are those of the last injection, nothing of a kind is left; what was never given is told so."""
    selection = _lessons(3).selection()
    selection.drop_known(Ledger({chunk_digest("L001").hex(): "full"}), default_config_hooks(), is_same_topic=True)

    assert ([], {"L001": "seen", "L002": "topic", "L003": "topic"}) == (selection.hits, _held(selection))


def test_the_floor_of_each_kind() -> None:
    """Each kind has its own floor: a share of the best, and a cosine unless a name of the query stands in the text."""
    pile = _lessons(2)
    weak, far = pile.selection(relevance=0.49), pile.selection(cosine=0.1)
    gate = Verdict(True, 0.5, 0.3, "auto", score=0.5)
    far.verdict = gate
    for selection in (weak, far):
        selection.pass_floor()

    assert ([], {"L001": "floor", "L002": "floor"}) == (weak.hits, _held(weak))
    assert [] == far.hits


@given(
    st.lists(st.text(st.sampled_from("aü字\n𝄞 "), max_size=3_000), max_size=8),
    st.lists(st.text(st.sampled_from("bö"), max_size=3_000), max_size=8),
    st.sampled_from(["text", "xml", "json"]),
    st.integers(0, 9_000),
)
def test_no_text_is_longer_than_allowed(lessons: list[str], code: list[str], fmt: str, budget_chars: int) -> None:
    """Whatever the records are: at most the budget's characters, at most 9,000 bytes; the best record alone is cut."""
    hooks = default_config(Path("/nowhere"), hooks_format=fmt, hooks_budget_chars=budget_chars, hooks_budget=10_000)
    records = Pile("lessons", {f"L{n:03d}": text for n, text in enumerate(lessons)}, 5, 1_500).selection()
    files = Pile("files", {f"{n}.py": text for n, text in enumerate(code)}).selection()
    text = _pack(hooks, records, files, cites_lessons=True, search_hint="some words", given_earlier=3)

    assert len(text.encode()) <= 9_000
    assert len(text) <= budget_chars
    assert len(records.items) <= 5
    assert {"full"} >= {item.form for item in records.items[1:]}
    assert bool(text) == bool(records.items or files.items)
