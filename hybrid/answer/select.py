"""Makes the items of one injection from search results: gate, floor, ledger, recheck, budget; for all kinds alike.

Each kind is judged by its own bars and has its own share of the room; lists are never merged by score.
"""

from __future__ import annotations

from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.answer.excerpts import Arrangement, Fitting
from hybrid.answer.outline import outlines
from hybrid.answer.pack import HARD_CAP_BYTES, Room, measure_text, pack, shortened_item, text_in_form
from hybrid.knowledge.collections import FLOOR
from hybrid.redact import redact
from hybrid.render.frame import HEADING_CHARS, INDENT, Entry, Footer, frame_bytes, render_entry, render_frame
from hybrid.search.scores import Verdict, compare, fixed_threshold, passing
from hybrid.session.ledger import standing, telling_in
from hybrid.types import Hit, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.config import Config, ContentMode, HooksConfig, Loaded
    from hybrid.knowledge.collections import Collection
    from hybrid.search.searcher import Searched
    from hybrid.session.ledger import Ledger
    from hybrid.types import Form

PACKED = 15
"""Hits of a kind, at most, that are read again and rendered: more never fit."""

_BEST_FORM: dict[ContentMode, Form] = {"adaptive": "full", "full": "full", "preview": "preview", "none": "pointer"}
"""Content mode → the fullest form that it gives: a session that got a chunk in this form has seen it."""
_KNOWN_FORM: dict[ContentMode, Form] = {**_BEST_FORM, "adaptive": "preview"}
"""Content mode → the least form in which the best hit counts as known: mostly the adaptive mode gives no more of it."""
_PLURAL_CHARS = 2
"""Characters by which `10 items` is longer than `1 item`: the frame is measured with one item."""


class Withheld(Struct, frozen=True):
    """A hit that was not given, with secrets that its path has, and the reason.

    The reasons are `bar`, `floor`, `seen`, `read` (the agent's own tools showed it), `topic` (further hits of a
    topic that the session was given), `duplicate`, `stale`, `budget`, `adds_nothing` (see `parts.Shown`), and those
    of `Collection.left_out`.
    """

    hit: Hit
    reason: str

    @property
    def key(self) -> str:
        """The key of the hit without secrets, made only when somebody asks: most hits of a search are withheld."""
        return without_secrets(self.hit).key


class Selection(Struct):
    """The hits of one kind on their way through floor, ledger, recheck and pack.

    Attributes:
        collection: The collection that the hits come from.
        searched: The search behind them.
        verdict: The verdict of the kind's gate.
        hits: Hits that were not withheld so far, best first.
        withheld: Hits that were withheld, with the reason.
        items: Items that `Packer` chose from the hits; empty before.
        outlines: Outlines that are new to the session, by the path of their file.
    """

    collection: Collection
    searched: Searched
    verdict: Verdict
    hits: list[Hit] = field(default_factory=list[Hit])
    withheld: list[Withheld] = field(default_factory=list[Withheld])
    items: list[Item] = field(default_factory=list[Item])
    outlines: dict[str, Hit] = field(default_factory=dict[str, Hit])

    @property
    def kind(self) -> str:
        """The kind of knowledge: `files`, `lessons`, `lore` or `memory`."""
        return self.collection.kind

    @property
    def is_files(self) -> bool:
        """True for the hits of files, which are shown by their lines; of records only the best is ever shortened."""
        return self.collection.kind == "files"

    def mode(self, hooks: HooksConfig) -> ContentMode:
        """Return the content mode for the kind: a record is given whole where it fits, never in the adaptive mode."""
        return "full" if hooks.content_mode == "adaptive" and not self.is_files else hooks.content_mode

    def keep(self, reason: str, wanted: Callable[[Hit], bool]) -> None:
        """Withhold, for this reason, every hit that is not wanted."""
        self.withheld += [Withheld(hit, reason) for hit in self.hits if not wanted(hit)]
        self.hits = [hit for hit in self.hits if wanted(hit)]

    def pass_floor(self) -> None:
        """Withhold hits far behind the best or too far from the query; then order the others as the collection does.

        Where the gate judged each record by itself, its verdict decides in place of the floor.
        """
        self.hits, threshold, rows = list(self.searched.hits), self.collection.threshold, self.verdict.rows
        if rows is None:
            passed = passing(self.hits, threshold, self._least_cosine(), self._is_named)
            self.keep(FLOOR, lambda hit: hit.row in passed)
        else:
            self.keep("bar", lambda hit: hit.row in rows)
        ordered = self.collection.ordered(self.hits, self.searched.query, rows)
        within = {hit.key for hit in ordered}
        self.withheld += [Withheld(hit, self.collection.left_out(hit)) for hit in self.hits if hit.key not in within]
        self.hits = ordered

    def _least_cosine(self) -> float:
        """Return the least raw cosine of a hit: never more than what opened the gate, or nothing would be given."""
        said, low = self.verdict, self.collection.min_cosine
        opening = self.searched.top_cosine if said.source == "auto" else said.threshold
        return low if opening is None else min(low, opening)

    def _is_named(self, hit: Hit) -> bool:
        """Return whether a path of the query stands in the hit's path, or an identifier of it in the hit's text.

        A file that answers a question about the project itself is as good as named.
        """
        query = self.searched.query
        if hit.evidence.get("project") or any(path in hit.path for path in query.paths):
            return True
        return any(self.collection.says(hit, name) for name in query.identifiers)

    def drop_known(
        self, ledger: Ledger, hooks: HooksConfig, *, is_same_topic: bool, is_same_query: bool = False
    ) -> None:
        """Withhold hits that the session was given, as `seen`.

        When the topic is the same or the best hits were given, no hit is left: the others are withheld as `topic`.
        When the query is the same, the first hit of each of the best files suffices: an index that changed a little
        meanwhile brings other parts of these files. Hits of a file stay while the session lacks its outline.
        """
        given, mode = ledger.given, self.mode(hooks)
        self.outlines = self._new_outlines(ledger) if mode == "adaptive" else {}
        best = self.hits[: hooks.known_best]
        if is_same_query and mode == "adaptive":  # Elsewhere each hit is given by itself.
            best = [hit for n, hit in enumerate(best) if all(hit.path != other.path for other in best[:n])]
        # Words that were asked before found the same parts, which may be others than those of the best chunks.
        known_form: Form = "pointer" if is_same_query else _KNOWN_FORM[mode]
        if is_same_topic or self._is_known(best, ledger, known_form):
            self.keep("seen", lambda hit: hit.path in self.outlines or hit.digest.hex() not in given)
            self.keep("topic", lambda hit: hit.path in self.outlines)
            return
        self.keep("seen", lambda hit: hit.path in self.outlines or ledger.allows(hit.digest, _BEST_FORM[mode]))

    def _new_outlines(self, ledger: Ledger) -> dict[str, Hit]:
        """Return the outlines of the files that the query is about as wholes, by path, if the session lacks them."""
        best = {hit.path: hit for hit in reversed(self.hits)}
        found = outlines(self.collection, self.searched, list(best.values()))
        return {path: outline for path, outline in found.items() if ledger.allows(outline.digest, "preview")}

    def drop_read(self, ledger: Ledger) -> None:
        """Withhold parts of files of which every telling line stands in the agent's context by its own tools: `read`.

        What changed since it was read does not stand there; a part that was read in part is left to `parts`.
        """
        whole: set[str] = set()
        for hit in self.hits if self.is_files and ledger.lines_read else ():
            ranges = ledger.lines_read.get(hit.path, "").split()
            lines = self.collection.lines(hit.path) if ranges else ()
            known = standing(lines, ranges, hit.start_line, hit.end_line)
            telling = telling_in(lines, hit.start_line, hit.end_line)
            if telling and telling <= known:
                whole.add(hit.key)
        self.keep("read", lambda hit: hit.key not in whole)

    def _is_known(self, best: Sequence[Hit], ledger: Ledger, known_form: Form) -> bool:
        """Return whether the session has what fits best, the first in this form at least: the rest is second choice.

        Always False for records: each of them is worth giving by itself.
        """
        is_known = self.is_files and bool(best) and all(hit.digest.hex() in ledger.given for hit in best)
        return is_known and not ledger.allows(best[0].digest, known_form)

    def recheck(self) -> None:
        """Withhold copies, all hits after the first `PACKED`, and hits whose text is gone or has changed."""
        first = {hit.digest: hit.key for hit in reversed(self.hits)}
        self.keep("duplicate", lambda hit: first[hit.digest] == hit.key)
        within = {hit.key for hit in self.hits[:PACKED]}
        self.keep("budget", lambda hit: hit.key in within)
        self.keep("stale", lambda hit: self.collection.text(hit) is not None)


def verdict_of(searched: Searched, collection: Collection, loaded: Loaded) -> Verdict:
    """Return the verdict of the search's own gate, else that of comparing the top cosine with a fixed threshold."""
    if searched.verdict:
        return searched.verdict
    threshold = fixed_threshold(
        loaded.config.hooks.gate_threshold,
        origin=loaded.origins["hooks.gate_threshold"],
        model=collection.searcher.embedder.info,
    )
    return compare(searched.top_cosine, threshold)


class Packer:
    """Fits the hits of several selections into one frame.

    Args:
        config: Budget, forms, and how the parts of files are chosen.
        ledger: Ledger of the session; a hit that stands there is given only in a fuller form.
        footer: The footer of the frame.
        share: Share of the budget that may be used, in (0, 1].
        headings: Kind → the line above the first of its items.
    """

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        footer: Footer,
        share: float = 1.0,
        headings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._headings = headings
        self._parts = config.parts
        self._hooks = config.hooks
        self._ledger = ledger
        self._share = share
        self._footer = footer
        self._render = cache(render_entry)  # What was measured is rendered again with its frame.

    def pack(self, selections: Sequence[Selection]) -> str:
        """Choose the items of every selection, store them in it, and return the whole text; empty when nothing fits.

        Records have their share first, since it is small and bounded; files get what is left. The text shows the
        selections in the order given.
        """
        n_hits = sum(len(selection.hits) for selection in selections)
        room = self._room(selections, n_hits)
        for selection in sorted(selections, key=lambda one: one.is_files):
            room = self._choose(selection, room)
        entries = [entry for one in selections for entry in self._entries(one)]
        has_lessons = any(one.collection.kind == "lessons" and one.items for one in selections)
        footer = self._footer if has_lessons else replace(self._footer, cites_lessons=False)
        return render_frame(entries, fmt=self._hooks.format, footer=footer, render=self._render)

    def _entries(self, selection: Selection) -> list[Entry]:
        entries = [selection.collection.entry(item) for item in selection.items]
        heading = self._headings.get(selection.collection.kind, "")
        return [replace(entries[0], heading=heading), *entries[1:]] if heading and entries else entries

    def _room(self, selections: Sequence[Selection], n_entries: int) -> Room:
        """Return the room that a frame for `n_entries` entries leaves to the entries."""
        hooks = self._hooks
        probe = [Entry("x", "x") for selection in selections for _ in selection.hits[:1]][:1]
        frame = render_frame(probe, fmt=hooks.format, footer=self._footer)
        used = frame_bytes(n_entries, fmt=hooks.format, footer=self._footer)
        own_chars = len(render_entry(probe[0], fmt=hooks.format)) if probe else 0
        headings = sum(len(text) + HEADING_CHARS for text in self._headings.values())
        return Room(
            lines=int(hooks.budget * self._share) - frame.count("\n") - len(self._headings),
            chars=int(hooks.budget_chars * self._share) - (len(frame) - own_chars) - _PLURAL_CHARS - headings,
            size_bytes=HARD_CAP_BYTES - used - headings,
        )

    def _choose(self, selection: Selection, room: Room) -> Room:
        """Choose the items of one selection within its share of the room; returns what is left of the room."""
        collection = selection.collection
        if selection.is_files and self._hooks.content_mode == "adaptive":
            return self._choose_parts(selection, room)
        share = room.chars if collection.budget_chars is None else min(room.chars, collection.budget_chars)
        own = Room(room.lines, share, room.size_bytes)
        measure = _measure_json if self._hooks.format == "json" else measure_text
        items = self._items(selection)  # One for each of the hits, also below.
        packed = pack(self._texts(selection, items), own, measure=measure)
        if not selection.is_files and packed.skipped[:1] == (0,):
            items = self._with_best_shortened(selection, items, own, measure)
            packed = pack(self._texts(selection, items), own, measure=measure)
        if collection.max_items is not None and len(packed.chosen) > collection.max_items:
            best = packed.chosen[: collection.max_items]
            items, kept = [items[index] for index in best], {selection.hits[index].key for index in best}
            selection.keep("budget", lambda hit: hit.key in kept)
            packed = pack(self._texts(selection, items), own, measure=measure)
        selection.withheld += [Withheld(selection.hits[index], "budget") for index in packed.skipped]
        selection.items = [items[index] for index in packed.chosen]
        return room.without(own.without(packed.left))

    def _choose_parts(self, selection: Selection, room: Room) -> Room:
        """Choose what is shown of files by their parts; what `parts` leaves out is withheld."""
        collection = selection.collection
        measure = _measure_json if self._hooks.format == "json" else measure_text
        weights = collection.searcher.term_weights(selection.searched.query)

        def exact(item: Item) -> Room:
            return measure(self._render(collection.entry(item), fmt=self._hooks.format))

        def estimated(item: Item) -> Room:
            """Return the size without looking for marks in the body: most bodies have none."""
            head, n_lines = exact(replace(item, body="")), item.body.count("\n") + 1 if item.body else 0
            more = n_lines * (len(INDENT) + 1)
            size_bytes = head.size_bytes + len(item.body.encode("utf-8", "surrogatepass")) + more
            return Room(head.lines + n_lines, head.chars + len(item.body) + more, size_bytes)

        fitting = Fitting(collection, selection.searched, selection.hits, selection.outlines)
        arranged = Arrangement(fitting, self._parts, weights, self._ledger, estimated).choose
        shown = arranged(room) if self._hooks.format == "text" else None
        left = room
        for item in shown.items if shown else ():
            left = left.without(exact(item))
        if shown is None or min(left.lines, left.chars, left.size_bytes) < 0:  # Marks and escapes take room.
            shown = Arrangement(fitting, self._parts, weights, self._ledger, exact).choose(room)
            left = shown.left
        selection.items = shown.items
        selection.withheld += [Withheld(hit, reason) for hit, reason in shown.withheld]
        if not shown.items and all(reason == "seen" for _, reason in shown.withheld):
            selection.hits = []  # Nothing is left over: more room would not help.
        return left

    def _items(self, selection: Selection) -> list[Item]:
        """Return an item for each hit or record that may be given, in the form of the mode."""
        collection, form = selection.collection, _BEST_FORM[selection.mode(self._hooks)]
        weights = collection.searcher.term_weights(selection.searched.query) if form == "preview" else {}
        items: list[Item] = []
        for hit in selection.hits:
            text = collection.text(hit) or ""
            body = text_in_form(text, form, weights, hit.signature)
            items.append(Item(collection.shown(hit), text, form, body, why=collection.why(hit)))
        return items

    def _texts(self, selection: Selection, items: Sequence[Item]) -> list[str]:
        """Return items as they stand in the frame."""
        return [self._render(selection.collection.entry(item), fmt=self._hooks.format) for item in items]

    def _with_best_shortened(
        self, selection: Selection, items: Sequence[Item], own: Room, measure: Callable[[str], Room]
    ) -> list[Item]:
        """Return the items of records, the first one shortened where it does not fit; only the others are left out.

        One that was shortened counts as a preview, not as given in full: an agent that looks it up gets all of it, and
        a later prompt with more room may. With no more room it is withheld as `seen`, since the same beginning again
        says nothing new, and the next record is the best that the session does not have.
        """

        def is_fitting(item: Item) -> bool:
            return own.holds(measure(*self._texts(selection, [item])))

        left = list(items)
        while left and not is_fitting(left[0]):
            hit = selection.hits[0]
            if self._ledger.allows(hit.digest, "preview"):
                notes = "\n".join(selection.collection.notes(hit))
                return [shortened_item(left[0], is_fitting, most=own.chars, notes=notes), *left[1:]]
            selection.keep("seen", lambda one, known=hit: one is not known)
            del left[0]
        return left


def _measure_json(text: str) -> Room:
    """Return what `measure_text` does, and one character more for the comma between two items."""
    size = measure_text(text)
    return Room(size.lines, size.chars + 1, size.size_bytes + 1)


def all_withheld(selections: Sequence[Selection]) -> tuple[Withheld, ...]:
    """Return the withheld hits of several selections."""
    return tuple(entry for one in selections for entry in one.withheld)


def without_secrets(hit: Hit) -> Hit:
    """Return the hit with secrets taken out of its path; its other texts come without secrets from the index."""
    return replace(hit, path=redact(hit.path))


def gate_form(said: Verdict) -> dict[str, Any]:
    """Return what a gate compared and whether it opened, as JSON for `--json` and `--explain`."""
    return {
        "is_open": said.is_open,
        "top_cosine": said.top_cosine,
        "threshold": said.threshold,
        "source": said.source,
        "score": said.score,
        "bar": said.bar or None,
        "parts": dict(said.parts) or None,
    }
