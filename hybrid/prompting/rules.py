"""Rules that need no model and no index: which prompts have nothing to search for, and which ask of earlier sessions.

The rules only recognise turns of a conversation; whether the project knows anything that fits is the relevance gate's
question. A prompt with code, an identifier or a path is never silenced by the rules about words.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.prompting import symbols

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from hybrid.prompting.clean import CleanedPrompt


# --- Turns of the conversation -------------------------------------------------------------------------------------


_WORDS_FILE = Path(__file__).with_name("session_words.txt")
_APOSTROPHES = "'’‘ʼ´"
_WORD = re.compile(
    r"[^\W_]+(?:[\u0300-\u036f\u064b-\u0652\u0900-\u0903\u093a-\u094f\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]+[^\W_]*)*"
)
_STRETCHED = re.compile(r"([^\W\d_])\1{2,}")
_NUMBER = re.compile(r"\d{1,4}(?:st|nd|rd|th|s|m|h|min|x|pm|am)?")

_MARKS = re.compile("[\u0300-\u036f\u064b-\u0652]+")
_BARRED = (("ł", "l"), ("ø", "o"), ("đ", "d"), ("ı", "i"), ("ß", "ss"), ("æ", "ae"), ("œ", "oe"))
# `make a commit` asks for nothing but a commit, while `make commits faster` is about a project.
_MADE = re.compile(
    r"\b(?:make|create|open|write)(?: (?:me|us|a|an|one|new|another|draft|clean|single|separate|small|nice))+"
    r" (commit|branch|pr|mr)\b(?: with an?(?: \w+){1,2} message\b)?"
)

_MIN_TYPO_CHARS = 5
_MIN_SWAPPED_CHARS = 4
_MAX_TYPO_SHARE = 0.34
"""Share of words that may be misspelt; in a prompt with more of them the words are of an unknown language."""


class TurnKind(Enum):
    """The kind of turn that words are; the value is the reason of the verdict."""

    NONE = ""
    ACKNOWLEDGEMENT = "acknowledgement"
    SESSION_TURN = "session_turn"


def plain_words(text: str) -> list[str]:
    """Return words in lower case, apostrophes dropped, split at everything that is no letter or digit."""
    return _WORD.findall(_without_apostrophes(text).lower())


def turn_of(words: Sequence[str]) -> TurnKind:
    """Return the kind of turn that words are; `NONE` for no words, and when one of them may be worth a search."""
    if not words:
        return TurnKind.NONE
    if _is_english_turn(words):
        sets = _sets()
        content = [word for word in (_squeeze(word, sets.any_english) for word in words) if word not in sets.function]
        is_courtesy = all(word in sets.courtesy or _is_number(word) for word in content)
        return TurnKind.ACKNOWLEDGEMENT if is_courtesy else TurnKind.SESSION_TURN
    if _is_covered_by_language(words) or _is_covered_by_phrases(words):
        return TurnKind.SESSION_TURN
    return TurnKind.NONE


class _Sets:
    """The word lists as sets, built when the first prompt is judged."""

    __slots__ = (
        "any_english",
        "asked_about",
        "asking",
        "change_verbs",
        "converse_pointers",
        "courtesy",
        "function",
        "near",
        "no_typos",
        "pointers",
        "questions",
        "subject",
        "workflow",
    )

    def __init__(self) -> None:
        lists = _lists()
        self.function = _split(lists["function"])
        self.courtesy = _split(lists["courtesy"])
        self.workflow = _split(lists["workflow"])
        self.subject = _split(lists["subject"])
        self.pointers = _split(lists["pointers"])
        self.converse_pointers = _split(lists["converse_pointers"])
        self.change_verbs = _split(lists["change_verbs"])
        self.questions = _split(lists["question_words"])
        self.asking = _split(_fold(lists["asking"]))
        self.asked_about = _split(_fold(lists["asked_about"])) | self.workflow
        self.no_typos = _split(lists["no_typos"])
        talk = _split(lists["talk"])
        self.any_english = (
            self.function | self.courtesy | talk | self.workflow | self.subject | _split(lists["known_typos"])
        )
        self.near = _with_one_letter_less(self.courtesy | talk | self.workflow)


@cache
def _lists() -> dict[str, str]:
    """Return name → words, parted by white space, of each list in `session_words.txt`."""
    text = _WORDS_FILE.read_text(encoding="utf-8")
    blocks = (block.partition("]\n") for block in text.split("\n[")[1:])
    # A comment belongs to the list below it, so it ends the words of the one above.
    return {name: words.partition("\n#")[0] for name, _, words in blocks}


def _lists_of(group: str) -> list[str]:
    """Return the words of each list of a group (`language`, `unspaced`), in the order of the file."""
    return [words for name, words in _lists().items() if name.startswith(f"{group} ")]


@cache
def _sets() -> _Sets:
    return _Sets()


@cache
def _languages() -> dict[str, int]:
    """Return word without accents → the languages other than English that it belongs to, one bit each."""
    table: dict[str, int] = {}
    for place, text in enumerate(_lists_of("language")):
        for word in _fold(_without_apostrophes(text)).replace("-", " ").split():
            table[word] = table.get(word, 0) | 1 << place
    return table


@cache
def _phrases() -> tuple[tuple[frozenset[str], int], ...]:
    """Return the phrases of each script without spaces, with the length of the longest one."""
    rows = (frozenset(text.split()) for text in _lists_of("unspaced"))
    return tuple((row, max(map(len, row))) for row in rows)


def _is_english_turn(words: Sequence[str]) -> bool:
    """Return whether every word is a session word, and any word that may be a subject is tied to the conversation."""
    sets = _sets()
    squeezed = [_squeeze(word, sets.any_english) for word in words]
    squeezed = _MADE.sub(r"\1", " ".join(squeezed).replace("pull request", "pr")).split()
    unknown = [word for word in squeezed if word not in sets.any_english and not _is_number(word)]
    if len(unknown) > _MAX_TYPO_SHARE * len(squeezed) or not all(map(_is_near_miss, unknown)):
        return False
    topics = [word for word in squeezed if word in sets.subject or word in sets.workflow]
    if not topics:
        return True
    if any(word in sets.questions for word in squeezed[:2]):
        return any(word in sets.converse_pointers for word in squeezed)
    points_back = any(word in sets.pointers for word in squeezed)
    may_be_subject = any(word in sets.subject for word in topics) or any(word in sets.change_verbs for word in squeezed)
    return points_back or not may_be_subject


def _is_covered_by_language(words: Sequence[str]) -> bool:
    """Return whether one language, with the courtesies that English lent to all, covers every word.

    Accents do not count, since many people leave them out. A question where or how about tests, changes or the like is
    about the project, as in English.
    """
    sets, table = _sets(), _languages()
    folded = [_squeeze(_fold(word), table) for word in words]
    everything = common = (1 << len(_lists_of("language"))) - 1
    for word in folded:
        if word in sets.courtesy or word in sets.workflow or _is_number(word):
            continue
        common &= table.get(word, 0)
        if not common:
            return False
    asks = any(word in sets.asking for word in folded[:2]) and any(word in sets.asked_about for word in folded)
    return common != everything and not asks


def _is_covered_by_phrases(words: Sequence[str]) -> bool:
    """Return whether the phrases of one unspaced script, laid end to end, give every word."""
    if all(word.isascii() for word in words):
        return False
    sets = _sets()
    rest = [word for word in words if not (word in sets.courtesy or word in sets.workflow or _is_number(word))]
    if not any(all(_is_laid_out(phrases, longest, word) for word in rest) for phrases, longest in _phrases()):
        return False
    text = " ".join(rest)
    asks = any(word in text for word in _lists()["asking_unspaced"].split())
    return not (asks and any(word in text for word in _lists()["asked_about_unspaced"].split()))


def _is_laid_out(phrases: frozenset[str], longest: int, word: str) -> bool:
    """Return whether a word is a sequence of phrases, whichever way it has to be cut; linear in its length."""
    reached = [True] + [False] * len(word)
    farthest = 0
    for begin in range(len(word)):
        if begin > farthest:
            return False
        if reached[begin]:
            for end in range(begin + 1, min(begin + longest, len(word)) + 1):
                if word[begin:end] in phrases:
                    reached[end] = True
                    farthest = max(farthest, end)
    return reached[-1]


def _fold(text: str) -> str:
    """Return text in lower case without accents and vowel signs, `ł` as `l` and the like."""
    if text.isascii():
        return text.lower()
    bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text.lower())))
    for letter, plain in _BARRED:
        bare = bare.replace(letter, plain)
    return bare


def _without_apostrophes(text: str) -> str:
    # One replacement each: `str.translate` is ten times slower on text that is not ASCII.
    for apostrophe in _APOSTROPHES:
        text = text.replace(apostrophe, "")
    return text


def _squeeze(word: str, known: Container[str]) -> str:
    """Shorten stretched letters, `thaaanks` → `thanks`: three or more stand once, or twice where that is known."""
    if word in known or not _STRETCHED.search(word):
        return word
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice in known else _STRETCHED.sub(r"\1", word)


def _is_number(word: str) -> bool:
    return len(word) == 1 or _NUMBER.fullmatch(word) is not None


def _is_near_miss(word: str) -> bool:
    """Return whether a word is one slip away from a session word: a letter too many, too few, swapped, or another one.

    Of four letters two may be swapped. Another letter counts from seven letters on: in short words it makes a different
    word (`commit` and `permit`). Another or one more letter at the end makes another form of a word (`starter`,
    `releases`), and is no slip unless it is doubled.
    """
    sets = _sets()
    known = sets.any_english
    if word in sets.no_typos:
        return False
    if len(word) < _MIN_TYPO_CHARS:
        return len(word) == _MIN_SWAPPED_CHARS and any(swapped in sets.function for swapped in _swapped(word))
    if word in sets.near:
        return True
    shorter = [less for less in _one_letter_less(word) if less != word[:-1] or word[-1] == word[-2]]
    if any(len(candidate) >= _MIN_TYPO_CHARS - 1 and candidate in known for candidate in shorter):
        return True
    if any(swapped in known for swapped in _swapped(word)):
        return True
    return len(word) >= 7 and any(candidate in sets.near and candidate[0] == word[0] for candidate in shorter)


def _with_one_letter_less(known: Iterable[str]) -> frozenset[str]:
    """Return the forms of known words of six letters and more in which one letter after the first is missing."""
    return frozenset(less for word in known if len(word) > _MIN_TYPO_CHARS for less in _one_letter_less(word))


def _swapped(word: str) -> Iterator[str]:
    """Yield the forms of a word with two neighbouring letters after the first swapped."""
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _one_letter_less(word: str) -> list[str]:
    return [word[:i] + word[i + 1 :] for i in range(1, len(word))]


def _split(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- Verdicts ------------------------------------------------------------------------------------------------------


SEARCH = "search"

MIN_WORDS = 3
"""Number of words of a prompt; one with fewer, and no identifier or path, says too little to search for."""

_JUDGED_CHARS = 5_000
_TURN_CHARS = 400
"""Characters from which on a prompt is no mere turn of the conversation."""
# Chinese, Japanese, Korean with their full-width forms; compared as ranges, because a compiled class of this size
# takes 5 ms to build.
_WIDE_RANGES = (("\u1100", "\u115f"), ("\u2e80", "\ud7a3"), ("\uf900", "\ufaff"), ("\uff01", "\uff60"))
# Thai, Lao, Burmese and Khmer do not part words with spaces either.
_UNSPACED_RANGES = (*_WIDE_RANGES, ("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"))
_ROLE_PLAY = (
    r"\b(?:act(?:ing)?\s+(?:as|like)\s+(?:if\s+you|an?|the|my|our)\b|pretend\s+(?:to\s+be|that\s+you|you)\b"
    r"|imagine\s+(?:that\s+)?(?:you\s+are|youre)\b|role\s?play\b|play\s+the\s+(?:role|part)\s+of\b|take\s+on\s+the\s+role\b"
    r"|(?:you\s+are|you\s+will\s+be|youre)\s+(?:now\s+)?(?:an?|my|the)\s+(?:\w+\s+){0,3}(?:who|and\s+i\s+am|and\s+im)\b)"
)
# Whoever builds software, and whoever meets it: a test may play a client.
_ENGINEER = (
    r"\b(?:engineer|developer|programmer|coder|reviewer|architect|maintainer|devops|sre|tester|contributor|committer"
    r"|user|client|admin|administrator|attacker|server|browser|worker|process|script|integration)\b"
)
_ROLE_CHARS = 200


class PromptVerdict(Struct, frozen=True):
    """The answer of the rules to one prompt.

    Attributes:
        is_searchable: False when nothing is to happen.
        reason: `search`, or why not: opted_out, subagent_report, machine_made, slash_command, empty, skip_prefix,
            too_short, acknowledgement, session_turn, too_few_words, role_play.
    """

    is_searchable: bool
    reason: str


def prompt_verdict(
    cleaned: CleanedPrompt, *, min_prompt_length: int, skip_prefixes: Sequence[str] = ()
) -> PromptVerdict:
    """Judge a cleaned prompt.

    Args:
        cleaned: From `clean`. A subagent's report is not searchable as a prompt; its reason lets the caller handle it.
        min_prompt_length: Least number of characters; a full-width one (Chinese, Japanese, Korean) counts as two.
        skip_prefixes: Beginnings of prompts that the owner wants left alone, as typed; empty ones are ignored.
    """
    reason = _formal_reason(cleaned, min_prompt_length, skip_prefixes) or _wording_reason(cleaned.text[:_JUDGED_CHARS])
    return PromptVerdict(not reason, reason or SEARCH)


def _formal_reason(cleaned: CleanedPrompt, min_prompt_length: int, skip_prefixes: Sequence[str]) -> str:
    """Return the reason against a search that does not depend on words; empty when the words decide."""
    if cleaned.is_opted_out:
        return "opted_out"
    if cleaned.is_machine_made:
        return "machine_made" if cleaned.subagent_report is None else "subagent_report"
    if not cleaned.text:
        return "slash_command" if cleaned.command_name else "empty"
    if cleaned.typed.startswith(tuple(prefix for prefix in skip_prefixes if prefix.strip())):
        return "skip_prefix"
    return "too_short" if _width(cleaned.text, min_prompt_length) < min_prompt_length else ""


def _wording_reason(text: str) -> str:
    """Return the reason against a search that the words of a prompt give; empty when there is none.

    Words are judged first because that is cheap; code, an identifier or a path then overrules them.
    """
    reason = _verdict_of_words(plain_words(text[:_TURN_CHARS]), text)
    return "" if reason and _is_technical(text) else reason


def _verdict_of_words(words: Sequence[str], text: str) -> str:
    if not words:
        return "acknowledgement" if len(text) <= _TURN_CHARS else ""
    turn = turn_of(words) if len(text) <= _TURN_CHARS else TurnKind.NONE
    if turn is not TurnKind.NONE:
        return turn.value
    if len(words) < MIN_WORDS and len(text) <= _TURN_CHARS and not _count_in(text, _UNSPACED_RANGES):
        return "too_few_words"
    return "role_play" if _is_role_play(words) else ""


def _is_technical(text: str) -> bool:
    """Return whether a text holds code, an identifier or a path; words of a session joined without a space are none."""
    if symbols.has_code(text):
        return True
    names = [*symbols.identifiers(text), *symbols.paths(text)]
    return any(
        turn_of(plain_words(name)) is TurnKind.NONE or not re.fullmatch(r"\w+(?:[./]\w+)+", name) for name in names
    )


def _is_role_play(words: Sequence[str]) -> bool:
    opening = " ".join(words)[:_ROLE_CHARS]
    return re.search(_ROLE_PLAY, opening) is not None and re.search(_ENGINEER, opening) is None


def _width(text: str, enough: int) -> int:
    """Return the number of characters, full-width ones twice; counting stops at `enough`."""
    return len(text) + _count_in(text[: max(enough, 0)], _WIDE_RANGES)


def _count_in(text: str, ranges: Sequence[tuple[str, str]]) -> int:
    return 0 if text.isascii() else sum(any(low <= c <= high for low, high in ranges) for c in text)


# --- Prompts about earlier sessions --------------------------------------------------------------------------------


_MOST_CHARS = 400
"""Characters of the longest prompt that may ask of earlier work; a longer one says itself what it is about."""

_WHEN = (
    r"(?:(?:the |our |your |my )?(?:last|previous|earlier|prior) (?:sessions?|time|conversations?|chats?|day|week|work)"
    r"|yesterday|last (?:night|week|friday|monday))"
)
_ASKING = (
    r"\b(?:what|where|which|how far|did|do you remember|remind|recap|summar(?:y|i[sz]e)|continue|resume|pick up)\b"
)

_FORMS = (
    re.compile(rf"{_ASKING}.{{0,120}}\b{_WHEN}\b", re.IGNORECASE | re.DOTALL),
    re.compile(rf"\b{_WHEN}\b.{{0,60}}\b(?:we|you|i)\b.{{0,80}}\?", re.IGNORECASE | re.DOTALL),
    re.compile(r"\bwhere (?:did|have|had|were|was) (?:we|you|i)\b.{0,40}\b(?:stop|stopped|left|leave)", re.IGNORECASE),
    re.compile(r"\b(?:continue|resume|pick up|carry on|go on)\b.{0,40}\bleft off\b", re.IGNORECASE),
    re.compile(r"\bwhat(?:'s| is| was| were| are)? (?:still )?(?:left to do|left over|the next steps?)\b", re.I),
    re.compile(r"\bwhat (?:did|have|had) (?:we|you) (?:do|done|been doing|work(?:ed)? on|change[d]?)\b", re.I),
)


def looks_back(text: str) -> bool:
    """Return whether a cleaned prompt asks what was done before."""
    return len(text) <= _MOST_CHARS and any(form.search(text) for form in _FORMS)
