"""Chooses the parts of the files that fit and arranges them in the room of an injection.

A part is a definition, or a chunk without one (`search.file_parts`). Those of the first files are ordered by what
speaks for each, whatever file they are in, and shown best first: whole, or one window of lines of a long one. What else
fits is named: further files, and further definitions of the files that are shown. Decision 95 has the measures.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from functools import cache, lru_cache
from itertools import chain
from math import fsum, log, log2
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import cut
from hybrid.base.tokens import part_terms
from hybrid.index.analysis import lines_digest
from hybrid.search.ranking.query_terms import is_question
from hybrid.session.ledger import standing, telling_in
from hybrid.types import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.answer.pack import Room
    from hybrid.constants import PartsConfig
    from hybrid.knowledge.collections import Collection
    from hybrid.search.file_parts import FilePart
    from hybrid.search.searcher import Searched
    from hybrid.session.ledger import Ledger
    from hybrid.types import Form, Hit

_PARTS = (24, 16, 8, 4)
"""Parts of the first three files, and of each further one, at most, that are compared: a long file has hundreds."""
_CALLERS = 20
"""Best parts whose text is searched for the names of others."""
_NAMESAKES = 3
"""Parts of one name at most: a name that more of them have does not tell which one is meant."""
_FROM_ELSEWHERE = 0.7
"""What a mention from another file counts as."""
_SHORT = 3
"""Letters of a word that stands within too many others."""
_OTHER_WORD = 2.0
_ALSO = 6
"""Characters of the word `also` and its comma."""
_IN_ORDER = 10
"""More than any worth, so that the order of the files decides."""
_LITTLE_LINES = 4
_LONG_LINES = 150
_BRANCHES = ("if ", "if(", "for ", "for(", "foreach", "while")
_MANY_BRANCHES = 8
_TINY = 2
"""Lines of a part that is shown only if its worth is at least `_TINY_WORTH` of the best one's."""
_TINY_WORTH = 0.6
_NEARLY_ALL = 0.9
"""Share of the lines of a chunk from which it counts as shown: what is left is the head of the file or so."""
_LINE_CHARS = 200
_LEAST_CHARS = 150
"""Characters of room for which no further part is tried."""
_GAP = 2
"""Lines between two excerpts, at most, that are shown with both of them as one."""
_LONGEST = 45
"""Lines of an excerpt of several parts, at most."""
_LEAD_LINES = 6
"""Lines of comments and decorators above a definition that are shown; of more, those that tell most (`_lead_shown`)."""
_TELLING_COMMENT = 0.2
"""What lines within a long comment must tell at least (`_Words.worth`) to be shown."""
_IN_HEAD = 0.7
"""Share of what the best window of a long part tells, from which its first lines are shown: they say what it is."""
_SIGNATURE_LINES = 3
_LOOKED_AT = 600
"""Lines of a long part, at most, that are looked at."""
_CODE_NAME = re.compile(r"\b(?:[A-Z]\w{3,}|_*[a-z0-9]+(?:_\w+|[A-Z]\w*))")
"""A name spelled as a word of prose is not, but for one at the beginning of a sentence."""
_NO_NAME = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)).ljust(256)
"""For `bytes.translate`: what is in no name becomes a space. A pattern takes three times as long to find the names."""
_COMMENT = re.compile(
    r"(?:#(?!!?\[|\s*(?:if|el|endif|define|undef|include|pragma|import|line|error))|//|/\*|\*(?:\s|/|$)|--|;|%)"
)
_DECORATOR = re.compile(r"@|#!?\[")
_ATTRIBUTE = re.compile(r"\[\w")
"""An attribute of C#."""
_ASIDE = ("test", "example", "generated", "vendored", "legacy", "aside", "interface", "beside_source")
"""Pieces of evidence below 0 that say a file is of a kind that the prompt does not ask for."""


class _Part(Struct, eq=False):
    """A part of a file that may be shown.

    Attributes:
        file: The file.
        found: The part as the search tells it.
        worth: What speaks for it.
        text: Its own lines in lower case, to look for words.
    """

    file: _File
    found: FilePart
    worth: float = 0.0
    text: str = ""


class _File(Struct, eq=False):
    """A file that fits.

    Attributes:
        path: As the hits have it.
        place: Its place among the files, from 0.
        hits: What the search found of it, best first.
        told: The same hits as they may be shown.
        lines: Its lines as they may be shown.
        source: The same lines as they are.
    """

    path: str
    place: int
    hits: list[Hit]
    told: list[Hit]
    lines: Sequence[str] = ()
    source: Sequence[str] = ()


class _Excerpt(Struct, frozen=True, eq=False):
    """Lines of a file that are shown in one piece.

    Attributes:
        parts: The parts that they are of, the best one first; one may be inside of another.
        numbers: Of the lines, ascending, 1-based.
        is_rest: Lines that the agent has read are left out.
    """

    parts: tuple[_Part, ...]
    numbers: Sequence[int]
    is_rest: bool = False

    @property
    def start(self) -> int:
        """The first line that is shown, comments above it not counted."""
        return max(min(part.found.start_line for part in self.parts), self.numbers[0])

    @property
    def end(self) -> int:
        """The last line of what is begun here."""
        return max(part.found.end_line for part in self.parts)

    def form_of(self, part: _Part) -> Form:
        """Return `full` when every line of a part is shown."""
        whole = range(part.found.start_line, part.found.end_line + 1)
        return "full" if set(whole).issubset(self.numbers) else "preview"

    def shows(self, found: FilePart) -> bool:
        """Return whether a line of a part is shown."""
        at = bisect_left(self.numbers, found.start_line)
        return at < len(self.numbers) and self.numbers[at] <= found.own_end

    def joined(self, other: _Excerpt) -> _Excerpt | None:
        """Return both as one; None when they are apart or too long together."""
        (first, last), (start, end) = (self.numbers[0], self.numbers[-1]), (other.numbers[0], other.numbers[-1])
        if start > last + _GAP or end < first - _GAP or max(end, last) - min(start, first) >= _LONGEST:
            return None
        numbers = {*self.numbers, *other.numbers}
        between = set(range(min(last, end) + 1, max(first, start))) if start > last or end < first else set[int]()
        return _Excerpt((*self.parts, *other.parts), sorted(numbers | between), self.is_rest or other.is_rest)


class _Words:
    """Looks for the words of a prompt in texts, faster than by taking the texts apart.

    A word counts wherever its stem stands, within another one too; of up to three letters only at the beginning of one.

    Args:
        weights: Term of the prompt → what it is worth, above 0.
    """

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weights = weights
        self._sum = sum(weights.values()) or 1.0
        short = {term for term in weights if len(term) <= _SHORT}
        self._stems = [term.removesuffix("i") for term in weights if term not in short]
        self._short = [(term, re.compile(rf"(?<![a-z]){re.escape(term)}")) for term in sorted(short)]
        self._worth = {term: weight for term, weight in weights.items() if term in short}
        self._worth |= {term.removesuffix("i"): weight for term, weight in weights.items() if term not in short}

    def found(self, text: str) -> list[str]:
        """Return the words, by their stems, that a text in lower case has."""
        found = [stem for stem in self._stems if stem in text]
        return found + [term for term, at_start in self._short if term in text and at_start.search(text)]

    def worth(self, counts: Mapping[str, int]) -> float:
        """Return the worth of words, by their stems, that are found so many times, as a share of that of all words."""
        return fsum([self._worth[stem] * (1 + log(n)) for stem, n in counts.items() if n > 0]) / self._sum

    def cover(self, text: str) -> float:
        """Return the share of all words that a text in lower case has, by their worth."""
        return fsum([self._worth[stem] for stem in self.found(text)]) / self._sum

    def share_of_name(self, name: str) -> float:
        """Return the share of a name's words, by worth, that the prompt has; a word that it lacks is worth 2."""
        known = [self._weights.get(term, 0.0) for term in _terms_of_name(name)]
        told = sum(known)
        return told / (told + _OTHER_WORD * known.count(0.0)) if told else 0.0


class Fitting(Struct, frozen=True):
    """The files that may be given.

    Attributes:
        collection: Their collection.
        searched: The search behind them.
        hits: Hits in them, best first.
        outlines: Outlines that begin the items of their files, by path.
    """

    collection: Collection
    searched: Searched
    hits: Sequence[Hit]
    outlines: Mapping[str, Hit]


class Arranged(Struct, frozen=True):
    """The items of the files, and the hits of the others.

    Attributes:
        items: One for each file, in the order in which they are given.
        withheld: Hits of files that are not named, each with the reason: `seen` where the session has all that fits,
            `adds_nothing` where too little speaks for the file, or `budget`.
        left: The room that is left.
    """

    items: list[Item]
    withheld: list[tuple[Hit, str]]
    left: Room


class Arrangement:
    """Arranges the parts of files in a room.

    Args:
        fitting: What may be given.
        settings: The numbers behind it.
        weights: Term of the prompt → what it is worth, above 0.
        ledger: What the session was given and has read.
        measure: Returns the room that an item takes.
    """

    def __init__(
        self,
        fitting: Fitting,
        settings: PartsConfig,
        weights: Mapping[str, float],
        ledger: Ledger,
        measure: Callable[[Item], Room],
    ) -> None:
        self._fitting = fitting
        self._collection = fitting.collection
        self._searched = fitting.searched
        self._ledger = ledger
        self._measure = measure
        self._words = _Words(weights)
        self._is_question = is_question(fitting.searched.query.text)
        self._settings = settings if self._is_question else settings.for_task()
        # Of a question about the project itself the ranker knows which file answers.
        self._is_about_project = bool(fitting.hits) and fitting.hits[0].evidence.get("project", 0.0) > 0
        self._items: dict[str, Item] = {}
        self._sizes: dict[str, Room] = {}
        self._shown: dict[str, list[_Excerpt]] = {}
        of_path: dict[str, list[Hit]] = {}
        for hit in fitting.hits:
            of_path.setdefault(hit.path, []).append(hit)
        shown = self._collection.shown
        self._files = [
            _File(path, place, hits, [shown(hit) for hit in hits]) for place, (path, hits) in enumerate(of_path.items())
        ]
        self._as_hit = cache(self._make_hit)
        self._found = cache(self._look_up)
        self._chunks: dict[int, tuple[bytes, bool]] = {}
        self._outlines: dict[str, Hit] = {}

    def choose(self, room: Room) -> Arranged:
        """Choose what is shown and what is named of the files, within a room."""
        settings = self._settings
        room = replace(room, chars=min(room.chars, settings.chars))
        for_text = replace(room, chars=int(room.chars * settings.text))
        parts = self._ordered()
        self._outline_files(room)
        if self._outlines:  # The outline says what is where: of the text, the definitions that hold most.
            kept = (part for part in parts if part.file.path in self._outlines and part.found.is_definition)
            parts = [replace(part, worth=1.0) for part in kept]
            parts.sort(key=lambda part: (len(part.found.scope.split(".")), part.found.start_line - part.found.end_line))
        is_new = bool(parts) and self._is_fresh(parts[0])
        for part in parts:
            least = settings.least if is_new else settings.least_again
            if part.worth < least * parts[0].worth or self._left(for_text).chars < _LEAST_CHARS:
                break
            is_tiny = part.found.own_end - part.found.start_line < _TINY
            if not is_tiny or part.worth >= _TINY_WORTH * parts[0].worth:
                self._show(part, for_text)
        if parts and not is_new and not self._items:  # What is left is second choice.
            return Arranged([], [(hit, "seen") for file in self._files for hit in file.hits], room)
        withheld = self._name_files(room)
        if not self._outlines:
            self._name_parts(parts, room)
        return Arranged(list(self._items.values()), withheld, self._left(room))

    # --- order ------------------------------------------------------------------------------------------------

    def _ordered(self) -> list[_Part]:
        """Return the parts of the first files, best first."""
        first = self._files[: self._settings.files]
        parts = [self._part(file, found) for file in first for found in self._found(file)]
        self._count_mentions(parts)
        return sorted(parts, key=lambda part: -part.worth)

    def _look_up(self, file: _File) -> list[FilePart]:
        """Read a file and return its parts; none where the index has none. `_found` remembers the answer."""
        first, found = file.hits[0], self._searched.parts
        if found is None or first.row < 0:
            return []
        file.lines, file.source = self._collection.masked_lines(first.path), self._collection.lines(first.path)
        most = _PARTS[min(file.place, len(_PARTS) - 1)]
        return [part for part in found.of_file_at(first.row, most) if part.end_line <= len(file.lines)]

    def _part(self, file: _File, found: FilePart) -> _Part:
        """Return a part with its worth, except for what it gains from parts that mention it."""
        best, settings = file.hits[0], self._settings
        lines = file.lines[found.start_line - 1 : min(found.own_end, found.start_line + _LOOKED_AT)]
        if found.is_holder:  # Its comments are about its members, too.
            lines = [line for line in lines if not _COMMENT.match(line.lstrip())]
        text = "\n".join(lines).lower()
        start, end = found.start_line, found.own_end
        of_hits = (1 / n for n, hit in enumerate(file.hits, 1) if hit.start_line <= end and hit.end_line >= start)
        names = self._searched.query.identifiers
        is_named = bool(found.name) and (found.name in names or found.scope.rpartition(".")[2] in names)
        n_lines, is_code = found.own_end - found.start_line + 1, best.kind == "code"
        worth = (
            found.evidence
            + settings.cover * self._words.cover(text)
            + settings.name * self._words.share_of_name(found.name)
            + settings.order * next(of_hits, 0.0)
            + settings.file * best.relevance
            + settings.first * (file.place == 0)
            + settings.named * is_named
            - _IN_ORDER * file.place * self._is_about_project
            + settings.test * any(best.evidence.get(name, 0.0) < 0 for name in ("test", "twin"))
            + settings.behind * (file.place > 1)
            + settings.holder * found.is_holder
            + settings.little * (is_code and n_lines < _LITTLE_LINES)
            + settings.loose * (is_code and not found.is_definition)
            + settings.long * (is_code and n_lines > _LONG_LINES)
            + (settings.branches * _branching(text) if is_code else 0.0)
        )
        return _Part(file, found, worth, text)

    def _count_mentions(self, parts: Sequence[_Part]) -> None:
        """Add to the worth of each part what it gains from the best parts that mention its name."""
        by_name: dict[bytes, list[_Part]] = {}
        for part in parts:
            if part.found.is_definition and len(part.found.name) > 1:
                by_name.setdefault(_ascii(part.found.name.lower()), []).append(part)
        gains: dict[_Part, float] = {}
        for caller in sorted(parts, key=lambda part: -part.worth)[:_CALLERS]:
            for name in by_name.keys() & set(_ascii(caller.text).translate(_NO_NAME).split()):
                for part in by_name[name] if len(by_name[name]) <= _NAMESAKES else ():
                    if part is not caller:
                        gain = caller.worth * (1.0 if part.file is caller.file else _FROM_ELSEWHERE)
                        gains[part] = max(gains.get(part, 0.0), gain)
        for part, gain in gains.items():
            part.worth += self._settings.called * gain

    def _is_fresh(self, part: _Part) -> bool:
        """Return whether the session lacks a part."""
        return not self._ledger.given or self._ledger.allows(self._whole(part).digest, "preview")

    # --- what is shown ----------------------------------------------------------------------------------------

    def _show(self, part: _Part, room: Room) -> None:
        """Show a part that is new to the session, if it fits and is as it was indexed; the first one is cut to fit."""
        if not self._is_fresh(part):
            return
        file, found = part.file, part.found
        shown = self._shown.get(file.path, [])
        settings = self._settings
        most, n_lines = settings.whole, settings.window
        if not self._shown:
            most, n_lines = settings.best_whole, settings.best_window
        sizes = [(n_lines, most)]
        while not self._shown and n_lines > 2 * _SIGNATURE_LINES:
            sizes.append((n_lines, n_lines))
            n_lines //= 2
        for n_lines, most in sizes:
            end = min(found.end_line, found.start_line + n_lines - 1)
            new = set(range(found.start_line, end + 1)).difference(*(one.numbers for one in shown))
            if sum(min(len(file.lines[n - 1]), _LINE_CHARS) for n in new) > self._left(room).chars:
                continue  # Too long even without its marks.
            excerpt = self._excerpt(part, n_lines, most)
            if excerpt is None or not self._is_sound(part):
                return
            joined = _with(shown, excerpt)
            if joined is None or self._put(file, joined, (), room):
                return

    def _is_sound(self, part: _Part) -> bool:
        """Return whether the chunks of a part hold the text that they were indexed with."""
        first, last = part.found.rows
        return all(self._chunk(part.file, row)[1] for row in range(first, last + 1))

    def _chunk(self, file: _File, row: int) -> tuple[bytes, bool]:
        """Return the digest of a chunk as it was indexed, and whether it still has that text; looked up once."""
        if row not in self._chunks and self._searched.parts:
            start, end, digest = self._searched.parts.chunk(row)
            self._chunks[row] = digest, lines_digest(file.source, start, end) == digest
        return self._chunks[row]

    def _excerpt(self, part: _Part, n_lines: int, most: int) -> _Excerpt | None:
        """Return what is shown of a part: all of at most `most` lines, else `n_lines`; None when all of it was read."""
        file, found = part.file, part.found
        start, end = found.start_line, min(found.end_line, max(found.own_end, found.start_line + n_lines - 1))
        if end < found.end_line:  # A comment or decorator at the end is of what is not shown.
            end -= len(_lead(file, end + 1))
        if end - start < most:
            numbers = list(range(start, end + 1))
        elif found.is_holder:  # What is further down is mostly about the first of its members.
            numbers = list(range(start, start + n_lines))
        else:
            numbers = self._window(file.lines, start, end, n_lines)
        if found.is_definition:
            numbers = [*self._lead_shown(file, start), *numbers]
        known: set[int] = set()
        if ranges := self._ledger.lines_read.get(file.path, "").split():
            known = standing(file.source, ranges, numbers[0], numbers[-1])
            if telling_in(file.source, numbers[0], numbers[-1]).intersection(numbers) <= known:
                return None
        if known:  # The first line stays: it says what the rest is of. Lines that tell nothing go with those around.
            telling = telling_in(file.source, numbers[0], numbers[-1])
            known = {n for n in known if n != start}
            known |= {n for n in numbers if n not in telling and {n - 1, n + 1} & known}
        return _Excerpt((part,), [n for n in numbers if n not in known], bool(known))

    def _window(self, lines: Sequence[str], start: int, end: int, n_lines: int) -> list[int]:
        """Return the numbers of the lines that are shown of a long part: its first, or its head and what tells more."""
        body, n_body = lines[start - 1 + _SIGNATURE_LINES : min(end, start + _LOOKED_AT)], n_lines - _SIGNATURE_LINES
        best, told, told_first = self._telling(body, n_body)
        if not best or told_first >= _IN_HEAD * told:
            return list(range(start, start + n_lines))
        best += start + _SIGNATURE_LINES
        return [*range(start, start + _SIGNATURE_LINES), *range(best, best + n_body)]

    def _lead_shown(self, file: _File, start: int) -> list[int]:
        """Return the numbers of the lines above a definition that are shown with it.

        Of a long comment, those are its first two lines, the others that tell most if they tell more than these, and
        the decorators; of one that begins the file, which is mostly a licence, the decorators.
        """
        lead = _lead(file, start)[-_LOOKED_AT:]
        if len(lead) <= _LEAD_LINES:
            return list(lead)
        lines = file.lines[lead[0] - 1 : start - 1]
        kept = {n for n, line in zip(lead, lines, strict=True) if not _COMMENT.match(line.lstrip())}
        if lead[0] > 1:
            at, told, _ = self._telling(lines[2:], _LEAD_LINES)
            least = max(_TELLING_COMMENT, self._telling(lines[:2], 2)[1])
            kept |= {*lead[:2], *(lead[2:][at : at + _LEAD_LINES] if told > least else ())}
        return sorted(kept)

    def _telling(self, lines: Sequence[str], size: int) -> tuple[int, float, float]:
        """Return where the `size` lines with most of the prompt's words begin, their worth, and that of the first ones.

        A word counts by its worth, and ever less each time that it is repeated: n times as 1 + ln n. Among equal ones
        the first come first.
        """
        of_line = [self._words.found(line.lower()) for line in lines]
        within = Counter(chain.from_iterable(of_line[:size]))
        best, most = 0, (first := self._words.worth(within))
        for at, (gone, new) in enumerate(zip(of_line, of_line[size:], strict=False), 1):
            if not gone and not new:
                continue
            within.subtract(gone)
            within.update(new)
            worth = self._words.worth(within)
            if worth > most:
                best, most = at, worth
        return best, most, first

    def _outline_files(self, room: Room) -> None:
        """Begin the items of the files that the prompt is about as wholes with their outlines."""
        for file in self._files:
            if file.path in self._fitting.outlines:
                self._outlines[file.path] = self._fitting.outlines[file.path]
                if not self._put(file, [], (), room):
                    del self._outlines[file.path]

    # --- what is named ----------------------------------------------------------------------------------------

    def _name_files(self, room: Room) -> list[tuple[Hit, str]]:
        """Name further files; returns the hits of the others, each with the reason."""
        withheld: list[tuple[Hit, str]] = []
        n_left = self._settings.others
        others = [file for file in self._files if file.path not in self._items]
        links = self._links(others)
        for file in sorted(others, key=lambda file: -links[file]):
            reason = "budget"
            if not self._ledger.allows(file.hits[0].digest, "pointer"):
                reason = "seen"
            elif not n_left or not self._is_wanted(file, links[file]):
                reason = "adds_nothing"
            elif self._put(file, [], self._best_place(file), room):
                n_left -= 1
                continue
            withheld += [(hit, reason) for hit in file.hits]
        return withheld

    def _best_place(self, file: _File) -> tuple[Hit, ...]:
        """Return the definition in the best chunk of a file for which most speaks, with its first line.

        In a chunk without a definition or a name, it is the chunk with its most telling line: numbers alone give no
        reason to open a file.
        """
        best = file.hits[0]
        within = [at for at in self._found(file) if best.start_line <= at.own_end and best.end_line >= at.start_line]
        part = max(within, key=lambda part: (part.is_definition, self._part(file, part).worth), default=None)
        is_wide = part is not None and part.is_holder and part.own_end - part.start_line >= _LONGEST
        if part is None or is_wide or not self._is_sound(whole := _Part(file, part)):
            return ()
        lines = file.lines[part.start_line - 1 : part.end_line]
        said = lines[0] if part.is_definition else ""
        if not said and not part.name:
            at, told, _ = self._telling(lines, 1)
            said = lines[at] if told else ""
        return (replace(self._place(whole), signature=cut(said.strip(), _LINE_CHARS)),)

    def _links(self, files: Sequence[_File]) -> dict[_File, float]:
        """Return what links files to the shown text: they alone define what it names, or name what it defines."""
        found, settings = self._searched.parts, self._settings
        if found is None:
            return dict.fromkeys(files, 0.0)
        named = set(_CODE_NAME.findall("\n".join(item.body for item in self._items.values()))) if files else ()
        homes = {found.home_of(name) for name in named}
        shown = {part.found.name for excerpts in self._shown.values() for one in excerpts for part in one.parts}
        naming = {row for name in shown if _CODE_NAME.fullmatch(name) for row in found.rows_naming(name)}
        return {
            file: settings.defines * (file.hits[0].row >= 0 and found.file_of(file.hits[0].row) in homes)
            + settings.mentions * any(hit.row in naming for hit in file.hits)
            for file in files
        }

    def _is_wanted(self, file: _File, links: float) -> bool:
        """Return whether a file is second or near enough to the best one, and not of a kind that is not asked for.

        A task is told of every file: which one it will change is less certain, unless it is about a file as a whole.
        """
        if not (self._is_question or self._outlines) or not self._items:
            return True
        best = file.hits[0]
        is_near = file.place < 2 or best.relevance + links >= self._settings.near
        return is_near and (links > 0 or not any(best.evidence.get(name, 0.0) < 0 for name in _ASIDE))

    def _name_parts(self, parts: Sequence[_Part], room: Room) -> None:
        """Name further definitions of the files that are shown, as long as there is room."""
        left = self._left(room)
        chars, n_left = left.chars, self._settings.places
        others: dict[_File, list[Hit]] = {}
        told = {(path, _full(part.found)) for path, shown in self._shown.items() for one in shown for part in one.parts}
        for part in parts:
            if part.worth < self._settings.least_named * parts[0].worth:
                break
            found, excerpts = part.found, self._shown.get(part.file.path)
            n_lines = found.end_line - found.start_line + 1
            is_named = bool(found.name) and (found.is_definition or part.file.hits[0].kind == "doc") and n_lines > 1
            if not excerpts or not is_named or (part.file.path, _full(found)) in told:
                continue
            if any(one.shows(found) for one in excerpts) or not self._is_fresh(part) or not self._is_sound(part):
                continue
            told.add((part.file.path, _full(found)))
            chars -= len(f", {found.start_line}-{found.end_line} {found.name}")
            chars -= 0 if part.file in others else _ALSO
            if chars < 0 or not n_left:
                break
            others.setdefault(part.file, []).append(self._place(part))
            n_left -= 1
        for file, hits in others.items():
            while hits:
                in_order = tuple(sorted(hits, key=lambda hit: hit.start_line))
                if self._put(file, self._shown[file.path], in_order, room):
                    break
                hits.pop()

    # --- items ------------------------------------------------------------------------------------------------

    def _put(self, file: _File, excerpts: list[_Excerpt], others: tuple[Hit, ...], room: Room) -> bool:
        """Make the item of a file anew; returns False, and leaves everything as it is, when it does not fit."""
        item = self._item(file, excerpts, others)
        size = self._measure(item)
        if not self._left(room, beside=file.path).holds(size):
            return False
        self._items[file.path], self._sizes[file.path] = item, size
        if excerpts:
            self._shown[file.path] = excerpts
        return True

    def _left(self, room: Room, beside: str = "") -> Room:
        """Return what the items leave of a room; that of the file at `beside` takes none."""
        for path, size in self._sizes.items():
            room = room if path == beside else room.without(size)
        return room

    def _item(self, file: _File, excerpts: Sequence[_Excerpt], others: tuple[Hit, ...]) -> Item:
        outline = self._outlines.get(file.path)
        if not excerpts:
            named: tuple[tuple[Hit, Form], ...] = tuple((hit, "pointer") for hit in file.told)
            if outline:
                text = outline.signature
                return Item(outline, text, "preview", text, covers=named, why="the file is named")
            return Item((*others, file.told[0])[0], "", "pointer", covers=named, why="near the best")
        given: list[tuple[Hit, Form]] = [
            (self._as_hit(one.parts[0], one.start, one.numbers[-1]), one.form_of(one.parts[0])) for one in excerpts
        ]
        numbers = {n for one in excerpts for n in one.numbers}
        covers: list[tuple[Hit, Form]] = []
        for hit in file.told:
            of_hit = {n for n in range(hit.start_line, hit.end_line + 1) if file.lines[n - 1].strip()}
            share = len(of_hit & numbers) / max(len(of_hit), 1)
            form: Form = "pointer" if not share else "full" if share >= _NEARLY_ALL else "preview"
            covers.append((hit, form))
        for excerpt in excerpts:
            covers.extend((self._whole(part), excerpt.form_of(part)) for part in excerpt.parts)
        body = _text_of(file.lines, excerpts)
        if outline:
            body = f"{outline.signature}\nlines {given[0][0].start_line} to {given[0][0].end_line}:\n{body}"
            given.insert(0, (outline, "preview"))
        first, first_form = given[0]
        return Item(
            first,
            body,
            first_form,
            body,
            further=tuple(given[1:]),
            others=others,
            covers=tuple(covers),
            why="best file" if file.place == 0 else "a part fits",
            is_rest=any(one.is_rest for one in excerpts),
        )

    def _whole(self, part: _Part) -> Hit:
        """Return all of a part as a hit."""
        return self._as_hit(part, part.found.start_line, part.found.end_line)

    def _place(self, part: _Part) -> Hit:
        """Return a part that is only named as a hit, with the digest of its first chunk: its text is not given."""
        digest, _ = self._chunk(part.file, part.found.rows[0])
        return self._make_hit(part, part.found.start_line, part.found.own_end, digest)

    def _make_hit(self, part: _Part, start: int, end: int, digest: bytes = b"") -> Hit:
        """Return lines of a part as a hit that may be shown, with the figures of the best hit of its file."""
        file, found = part.file, part.found
        same = next((hit for hit in file.told if (hit.start_line, hit.end_line) == (start, end)), None)
        digest = digest or (same.digest if same else lines_digest(file.source, start, end))
        return replace(
            same or file.told[0],
            start_line=start,
            end_line=end,
            name=found.name,
            chunk_kind=found.kind,
            scope=found.scope,
            signature=same.signature if same else "",
            digest=digest,
        )


@lru_cache(4096)
def _terms_of_name(name: str) -> tuple[str, ...]:
    """Return the distinct words of a name, kept for the last names: one prompt after another asks for the same."""
    return tuple(sorted(set(part_terms(name))))


def _ascii(text: str) -> bytes:
    """Return a text with a `?` for each letter that ASCII lacks: names with such letters count as never mentioned."""
    return text.encode("ascii", "replace")


def _branching(text: str) -> float:
    """Return how much a text in lower case decides and repeats, in [0, 1], by the words for it."""
    return min(1.0, log2(1 + sum(map(text.count, _BRANCHES))) / log2(_MANY_BRANCHES))


def _full(found: FilePart) -> str:
    """Return the name of a definition with what it is defined in: members of two classes may have one name."""
    return f"{found.scope}.{found.name}"


def _with(excerpts: Sequence[_Excerpt], new: _Excerpt) -> list[_Excerpt] | None:
    """Return the excerpts of a file and a further one, joined to that which it adjoins; None if it adds no line."""
    if set(new.numbers).issubset(n for one in excerpts for n in one.numbers):
        return None
    for at, one in enumerate(excerpts):
        if joined := one.joined(new):
            rest = [*excerpts[:at], *excerpts[at + 1 :]]
            if any(not set(joined.numbers).isdisjoint(other.numbers) for other in rest):
                return None  # It would stand there twice.
            return [*excerpts[:at], joined, *excerpts[at + 1 :]]
    return None if any(not set(new.numbers).isdisjoint(one.numbers) for one in excerpts) else [*excerpts, new]


def _lead(file: _File, start: int) -> range:
    """Return the numbers of the comments and decorators above a line that belong to what begins there."""
    lines, first = file.lines, start
    above = (_COMMENT, _DECORATOR, _ATTRIBUTE) if file.hits[0].language == "csharp" else (_COMMENT, _DECORATOR)
    while first > 1 and any(pattern.match(lines[first - 2].lstrip()) for pattern in above):
        first -= 1
    return range(first, start)


def _text_of(lines: Sequence[str], excerpts: Sequence[_Excerpt]) -> str:
    """Return the lines of excerpts, with the numbers of those that are left out between them and behind."""
    found: list[str] = []
    for at, one in enumerate(excerpts):
        first, last = one.numbers[0], one.numbers[-1]
        if at:
            found.append(f"lines {first} to {last}:" if last > first else f"line {first}:")
        before = first - 1
        for n in one.numbers:
            if n > before + 1:
                found.append(f"… lines {before + 1} to {n - 1}" if n > before + 2 else f"… line {n - 1}")
            line = lines[n - 1].rstrip()
            found.append(line if len(line) <= _LINE_CHARS else cut(line, _LINE_CHARS))
            before = n
        if last < one.end and not any(last < other.numbers[0] <= one.end for other in excerpts):
            found.append(f"… to line {one.end}")
    return "\n".join(found)
