"""Takes a query apart as the ranker compares it: terms, words, named symbols, and the kinds of files it speaks of."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.tokens import FUNCTION_WORDS, part_terms, query_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hybrid.prompting.query import Query

    Sides = frozenset[tuple[int, int]]

_JOINT = re.compile(r"::|\.|->|\\|#|/")
_WORD = re.compile(r"[^\W\d_]\w*")
_IN_A_SENTENCE = 0.5
"""Strength, out of 1, of a capitalised word in prose as a symbol: often the name of a class, often not."""
MAX_TERMS = 48
"""Terms of one query that are searched for: a pasted issue has hundreds, and more of them find the file no better."""
_LOOKED_UP = 128
"""Terms, those said most, among which the `MAX_TERMS` most telling are chosen: each is looked up in every segment.
Chosen by hand."""
_SPOKEN_OF = {
    "test": r"tests?|testing|tested|specs?|fixtures?|mock(?:s|ed|ing)?|assert\w*|pytest|unittest|coverage",
    "example": r"examples?|samples?|demos?|tutorials?|how ?to|snippets?|benchmark\w*|playground|usage",
    "generated": r"generated?|generator|codegen|build output|dist|bundle[ds]?",
    "vendored": r"vendor\w*|third[ -]party|upstream|bundled|dependenc\w+",
    "legacy": r"compat\w*|legacy|deprecat\w+|old(?:er)?|backward\w*",
    "interface": r"headers?|declar\w+|prototypes?|typedefs?|structs?|enums?|macros?|constants?|stubs?|interfaces?"
    r"|types?|typings?|\w+\.(?:h|hpp|hh|pyi)|d\.ts",
    "facade": r"(?:re-?)?export(?:s|ed|ing)?|barrel|index|prelude|imports?|imported|public api|entry ?points?|__init__",
    "aside": r"changelogs?|changed|history|releases?|released|licen[cs]\w*|copyright|authors?|contributors?"
    r"|maintainers?|since|introduced|upgrad\w+|versions?|translat\w+|locales?",
}
"""Role of a file, as in `hybrid.index.analysis.ROLES` → the words that speak of it; `facade` is none of these."""
_PATTERNS = {role: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for role, words in _SPOKEN_OF.items()}
_MOST_VERSIONS = 9
"""Version numbers of a query that count; a pasted text may hold any number of them. Chosen by hand."""
_VERSION_SAID = re.compile(r"(?<![^\W_])v(?:er|ersion)?[ .]?(\d{1,9})(?!\d)", re.IGNORECASE)


_POLITE = re.compile(
    r"^\W*(?:(?:please|kindly|hi|hey|hello|ok(?:ay)?|so|now|also|then|next|let'?s"
    r"|(?:can|could|would|will) (?:you|we)|we (?:should|need to|must|have to)"
    r"|i(?:'d| would)? (?:want|like|need)(?: you)? to|you (?:should|need to|must))\b\W{0,3}){1,4}",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\W*(?:how|what|where|why|which|when|whose?|does|do(?! not)|did|is|are|was|were|has|have|should|can|could|would"
    r"|find|show|list|explain|describe|tell|see|look|search|locate|summari[sz]e|understand|walk)\b",
    re.IGNORECASE,
)
_LOOKING = re.compile(
    r"\b(?:(?:need|want|like) to know|figure out|check (?:whether|if)|point me|give me an? (?:overview|summary)"
    r"|not (?:sure|understand)|don't understand)\b",
    re.IGNORECASE,
)
"""Who says so wants to know something, and nothing changed."""
_ORDER = re.compile(
    r"\W*(?:[\w./-]{2,24}(?:\([\w ./-]{1,40}\))?!?: )?"  # `ledger: fix …`
    r"(?:(?:always|also|only|correctly|properly|never|do(?: not|n't)|no longer|stop|start|temporarily|internally)\W+)?"
    r"(?:accept|add|align|allow|appl|avoid|bail|break|bring|build|bump|cach|cap|chang|check|clarif|clean|coerc"
    r"|consolidat|constrain|convert|correct|creat|decreas|delet|deprecat|disabl|display|drop|emit|enabl|ensur|escap"
    r"|exclud|execut"
    r"|expos|extend|extract|factor|fix|flatten|forward|get rid|giv|guard|handl|hid|honou?r|hook up|ignor|implement"
    r"|improv"
    r"|includ|increas|inlin|install|introduc|investigat|keep|let|limit|log|mak|made|mark|merg|migrat|mov|normali[sz]"
    r"|optimi[sz]|paginat|pars|pass"
    r"|pin|port|preserv|prevent|print|propagat|provid|put|rais|rebuild|reduc|refactor|reject|remov|renam|replac|report"
    r"|reset|resolv|respect|restor|restrict|retr|return|revert|rework|rewrit|rout|run|schedul|send|set|shar|simplif"
    r"|skip|sort"
    r"|speed|split|stop|stor|strip|support|suppress|switch|sync|throw|treat|turn|tweak|unif|updat|us|validat|warn"
    r"|wir|wrap"
    r"|work(?:ed)? around|writ)(?:e|s|es|ed|d|y|ies|ied|[bdgmnpt]ed)?\b(?!\s*:|\W+(?:of|and|or|is|are)\b)",
    re.IGNORECASE,
)
"""A verb in front, as in an order, a commit or an entry of a changelog; a form in -ing begins a heading as often."""
_COMPLAINT = re.compile(
    r"\b(?:please fix|fix (?:it|this|that)|we need an?|flaky|times out|should(?:n'?t)?|must(?:n'?t)?|now|no longer"
    r"|instead of|rather than"
    r"|(?:does|do|is|are|was|were|ca|wo|did|has)n'?t|cannot|not|fail(?:s|ed|ing)?|break(?:s|ing)?|broken|crash\w*"
    r"|hang(?:s|ing)?|wrong\w*|incorrect\w*|ignore[sd]"
    r"|missing|lost|loses|regression|rais(?:es|ed|ing)|throws?|unexpected\w*|never|always|twice|been|deprecated"
    r"|correctly"
    r"|properly|too (?:many|much|few|late|early|long)|only)\b",
    re.IGNORECASE,
)
"""Words of a sentence that says how something is and should not be, or the other way round."""
_QUESTION_MARK = re.compile("[?\uff1f\u061f]")
_FEWEST_WORDS = 4
"""Words of a wish for a change at least: with fewer it is the name of something to be found."""
_WANTED = {
    "test": r"(?:add|write|fix|update|extend|missing|fail(?:s|ing)?|flak(?:y|es)|unit|regression|integration|more|new) "
    r"(?:\w+ ){0,2}tests?|tests? (?:cases?|coverage|files?|of)|in (?:the |our )?tests?|test_\w+",
    "doc": r"docs?|documentation|documented|docstrings?|readme\w*|changelogs?|guides?|tutorials?|manuals?"
    r"|(?:docs?|help|man|manual) pages?|document (?:the|how|that|all)|\w+\.(?:md|rst|adoc)",
    "data": r"config(?:s|uration)? files?|\w*\.(?:json|ya?ml|toml|ini|cfg)|pyproject|on ci|in ci"
    r"|ci (?:jobs?|builds?|runs?)"
    r"|workflow files?|github actions?|lint(?:er|ing) rules?|dependenc(?:y|ies)(?! injection)|bump\w*"
    r"|build (?:system|backend)"
    r"|packag(?:e|ing) (?:data|metadata)|compose|helm|charts?|open ?api|json schema|translations?|locales?|requirements"
    r"|npm scripts?|manifests?|lock ?files?",
}
"""Role of a file, `doc` for a page and `data` for a file of data → the words of a wish that such a file be changed."""
_WANTED_PATTERNS = {role: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for role, words in _WANTED.items()}
_RUN_TESTS = re.compile(
    r"\b(?:run|re-?run|execute|make sure|ensure|verify|check)\b[^.!?\n]{0,60}\btest(?:s|ing|[ -]suite)?\b"
    r"[^.!?\n]{0,80}",
    re.IGNORECASE,
)
"""A sentence that tells an agent to run the tests speaks of no test."""

_SCOPE = re.compile(r"([\w./:-]+)(?:\(([\w./:-]+)\))?!?")
_LONGEST_SCOPE = 60
_NO_SCOPE = frozenset(
    "feat fix docs doc style refactor perf test tests build ci chore revert bug error warning info debug note question "
    "todo hint example task goal context issue title problem summary feature request user assistant system re q a wip "
    "help update important hi hey idea ask localhost python go golang rust java kotlin swift c cpp js javascript ts "
    "typescript ruby php".split()
)
"""Words before a colon that say what kind of change or text follows, who speaks or in what language, and not where."""
_ASKS = re.compile(
    r"\W*(?:how|what|where|why|which|when|whose?|does|do(?! not)|is|are|can|could|should|explain|describe)\b",
    re.IGNORECASE,
)
_OPPOSITES = """
windows win32 nt | linux unix posix | darwin macos osx unix posix
read | write written
decode | encode
deserialize deserialization | serialize serialization
decompress decompression | compress compression
decrypt decryption | encrypt encryption
unpack | pack
load | save
import | export
receive recv | send
incoming inbound | outgoing outbound
download | upload
client | server
request | response
sync synchronous | async asynchronous asyncio
tcp | udp
mutable | immutable
bounded | unbounded
subscribe | publish
stdin | stdout | stderr
"""
"""Words that tell siblings apart, such as `Importers/` from `Exporters/`. Words that are often said in another sense,
such as "open" and "before", are not among them."""
_ENDINGS = ("", "s", "er", "ers", "or", "ors", "ed", "ing")


class QueryTerms(Struct, frozen=True):
    """A query taken apart.

    Attributes:
        terms: Index term → how much the query says it, above 0; function words are dropped.
        words: The query's words and the parts of its identifiers, stemmed, each once, longer than a letter.
        symbols: Name of something the query may want the definition of → how surely, in (0, 1].
        owners: Name → what it was said to belong to: `Router.add` gives add → Router.
        roles: Roles of files that the query speaks of, as in `hybrid.index.analysis.ROLES`.
        versions: Numbers of versions that the query names.
        named: Those symbols that are surely one, in its title if it has one.
        scope: Parts of the name that it begins with, in lower case: std, io of `std.Io: fix …`; none for `fix: …`.
        subject: Its title, or the part that says most.
        is_titled: Whether the query has a title, as a bug report has.
        is_change: Whether something is to be changed: a bug report, a wish or a task, and no question.
    """

    terms: Mapping[str, float]
    words: tuple[str, ...]
    symbols: Mapping[str, float]
    owners: Mapping[str, str]
    roles: frozenset[str]
    versions: frozenset[int]
    named: frozenset[str] = frozenset()
    scope: tuple[str, ...] = ()
    subject: str = ""
    is_titled: bool = False
    is_change: bool = False


@lru_cache(4)
def take_apart(query: Query) -> QueryTerms:
    """Return a query's terms, words, symbols, owners, roles and versions, as the ranker compares them.

    A title says which kinds of files are meant: the story below it speaks of tests, examples and versions anyway.
    """
    text, subject = query.text, query.title or query.focus
    kept = [word for word in re.findall(r"\w+", text) if word.lower() not in FUNCTION_WORDS]
    words = dict.fromkeys(term for word in kept or [text] for term in part_terms(word) if len(term) > 1)
    symbols, titled = _symbols(query), re.findall(r"\w+", query.title)
    is_change = bool(query.title) or (len(words) >= _FEWEST_WORDS and is_wish(subject))
    return QueryTerms(
        terms=_terms(query),
        words=tuple(words),
        symbols=symbols,
        owners=_owners(query),
        roles=wanted_in(subject) if is_change else spoken_of(subject),
        versions=versions_said(subject),
        named=frozenset(name for name, surely in symbols.items() if surely == 1 and (name in titled or not titled)),
        scope=_scope(query.title or query.text),
        subject=subject,
        is_titled=bool(query.title),
        is_change=is_change,
    )


def most_telling(asked: QueryTerms, n_chunks: int, frequency: Callable[[str], int]) -> QueryTerms:
    """Return a query with the `MAX_TERMS` terms that tell most: said much, and held by few chunks.

    Args:
        asked: A query; one of at most `MAX_TERMS` terms stays as it is.
        n_chunks: Number of chunks that are searched.
        frequency: Returns the number of chunks that hold a term; one that no chunk holds tells nothing.
    """
    if len(asked.terms) <= MAX_TERMS:
        return asked
    said_most = sorted(asked.terms.items(), key=lambda said: -said[1])[:_LOOKED_UP]
    holding = {term: frequency(term) for term, _ in said_most}
    worth = {term: much * math.log(1 + n_chunks / n) if (n := holding[term]) else 0.0 for term, much in said_most}
    kept = {term: asked.terms[term] for term in sorted(worth, key=lambda term: -worth[term])[:MAX_TERMS]}
    return replace(asked, terms=kept, words=tuple(word for word in asked.words if word in kept))


def _terms(query: Query) -> dict[str, float]:
    """Return term → how much the passages say it: the weight of its strongest passage, times 1 + ln of repetitions."""
    strongest: dict[str, float] = {}
    total: dict[str, float] = {}
    for part in query.passages:
        if part.weight > 0:
            for term, count in Counter(query_tokens(part.text)).items():
                strongest[term] = max(strongest.get(term, 0.0), part.weight)
                total[term] = total.get(term, 0.0) + part.weight * count
    return {term: most * (1 + math.log(total[term] / most)) for term, most in strongest.items()}


def _symbols(query: Query) -> dict[str, float]:
    found: dict[str, float] = {}
    for match in _WORD.finditer(query.text):
        word = match.group()
        # A capital inside a sentence.
        if match.start() and len(word) > 2 and word[0].isupper() and word[1:].islower():
            found[word] = _IN_A_SENTENCE
    for name in query.identifiers:
        found[name] = found[_JOINT.split(name)[-1] or name] = 1.0
    return found


def _owners(query: Query) -> dict[str, str]:
    parts = (_JOINT.split(name) for name in query.identifiers)
    return {of_name[-1]: of_name[-2] for of_name in parts if len(of_name) > 1 and of_name[-1] and of_name[-2]}


def _scope(text: str) -> tuple[str, ...]:
    head, colon, rest = text[:_LONGEST_SCOPE].partition(": ")
    match = _SCOPE.fullmatch(head) if colon else None
    parts = re.split(r"[./:]+", (match[2] or match[1]).lower()) if match else []
    if not _NO_SCOPE.isdisjoint(parts) or any(part.isdigit() for part in parts):
        return ()
    return () if _ASKS.match(rest) or _QUESTION_MARK.search(text) else tuple(filter(None, parts))


def is_question(text: str) -> bool:
    """Return whether a text begins as a question or ends as one; a wish may hold one in between."""
    return _ASKS.match(text) is not None or _QUESTION_MARK.match(text.rstrip()[-1:]) is not None


def spoken_of(text: str) -> frozenset[str]:
    """Return the roles of files that a text speaks of, such as `test`, by its words."""
    text = _RUN_TESTS.sub("", text)
    return frozenset(role for role, pattern in _PATTERNS.items() if pattern.search(text))


def wanted_in(text: str) -> frozenset[str]:
    """Return the roles of files that a wish for a change speaks of, and `doc` and `data` for pages and files of data.

    A wish that speaks of tests, pages or data by the way is about the source: these are wanted only where they are what
    shall be changed.
    """
    text = _RUN_TESTS.sub("", text)
    wanted = {role for role, pattern in _WANTED_PATTERNS.items() if pattern.search(text)}
    return spoken_of(text) - _WANTED.keys() | wanted


def is_wish(text: str) -> bool:
    """Return whether a text wants something changed or says what is wrong, and is neither a question nor a heading."""
    polite = _POLITE.match(text)
    rest = text[polite.end() :] if polite else text
    if _QUESTION.match(rest) or _LOOKING.search(text) or (polite is None and _QUESTION_MARK.search(text)):
        return False
    return polite is not None or _ORDER.match(rest) is not None or _COMPLAINT.search(text) is not None


def versions_said(text: str) -> frozenset[int]:
    """Return the numbers of the first nine versions that a text names: `v3` → 3."""
    return frozenset(int(number) for number in _VERSION_SAID.findall(text)[:_MOST_VERSIONS])


# --- opposite words ------------------------------------------------------------------------------------------

_PART = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*")
_PLAIN_WORD = re.compile(r"(?<![\w./:@-])[A-Za-z0-9]+(?![\w/:(])")
"""A word of prose: no part of a name, a path or an address."""


def _sided() -> dict[str, Sides]:
    found: dict[str, Sides] = {}
    for number, line in enumerate(_OPPOSITES.split("\n")):
        for side, words in enumerate(line.split("|")):
            for word in words.split():
                for form in (base + ending for base in {word, word.removesuffix("e")} for ending in _ENDINGS):
                    found[form] = found.get(form, frozenset()) | {(number, side)}
    return found


_SIDED = _sided()
"""Form of a word of `_OPPOSITES` → the sides that it is on, each as the number of a line and of a side in it."""


def sides_said(text: str) -> Sides:
    """Return the sides of `_OPPOSITES` that the words of a text are on, each as a line and the number of a side."""
    words = (match[0].lower() for match in _PLAIN_WORD.finditer(text))
    return frozenset(side for word in words for side in _SIDED.get(word, ()))


@lru_cache(1 << 12)
def without_sides(path: str) -> tuple[str, tuple[Sides, ...]]:
    """Return a path without the words of `_OPPOSITES`, equal for siblings that differ in opposites, and their sides."""
    sides: list[Sides] = []

    def blank(match: re.Match[str]) -> str:
        found = _SIDED.get(match[0].lower())
        if not found:
            return match[0]
        sides.append(found)
        return f"<{min(found)[0]}>"

    return _PART.sub(blank, path), tuple(sides)
