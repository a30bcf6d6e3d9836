"""Rules that need no model and no index: which prompts have nothing to search for, ask of earlier sessions, refer back.

The rules only recognise turns of a conversation; whether the project knows anything that fits is the relevance gate's
question. A prompt with code, an identifier or a path is never silenced by the rules about words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.text import compiled
from hybrid.prompting import project_questions
from hybrid.prompting.content import content_words, has_code, identifiers, paths

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from hybrid.types import CleanedPrompt


# --- Turns of a conversation, such as thanks and `go on`, by their words alone ---------------------------------------


TURN_CHARS = 400
"""Characters from which on a prompt is no mere turn of the conversation."""

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


def plain_words(text: str) -> list[str]:
    """Return words in lower case, apostrophes dropped, split at everything that is no letter or digit."""
    return _WORD.findall(_without_apostrophes(text).lower())


def turn_of(words: Sequence[str]) -> str:
    """Return the kind of turn that words are, `acknowledgement` or `session_turn`.

    The kind is empty for no words, and when one of them may be worth a search.
    """
    if not words:
        return ""
    if _is_english_turn(words):
        squeezed = (_squeeze(word, _any_english()) for word in words)
        content = [word for word in squeezed if word not in word_list("function")]
        is_courtesy = all(word in word_list("courtesy") or _is_number(word) for word in content)
        return "acknowledgement" if is_courtesy else "session_turn"
    return "session_turn" if _is_covered_by_language(words) or _is_covered_by_phrases(words) else ""


def is_word_of_turns(word: str) -> bool:
    """Return whether a word, in lower case, is one that turns of a conversation are made of, or such a one misspelt."""
    return word in _any_english() or _is_number(word) or _is_near_miss(word)


def is_turn(text: str) -> bool:
    """Return whether a text is a turn of the conversation, as thanks are, that asks for nothing about the project."""
    return len(text) <= TURN_CHARS and bool(turn_of(plain_words(text)))


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
def word_list(name: str) -> frozenset[str]:
    """Return the words of a list of `session_words.txt`, as they stand there."""
    return frozenset(_lists()[name].split())


@cache
def _folded(name: str) -> frozenset[str]:
    """Return the words of a list without accents."""
    return frozenset(_fold(_lists()[name]).split())


@cache
def _any_english() -> frozenset[str]:
    """Return every English word that may occur in a turn of a conversation, with the known misspellings."""
    names = ("function", "courtesy", "talk", "workflow", "subject", "known_typos")
    return frozenset[str]().union(*map(word_list, names))


@cache
def _near() -> frozenset[str]:
    """Return words of six letters and more that a turn is likely to contain, one letter after the first missing."""
    known = word_list("courtesy") | word_list("talk") | word_list("workflow")
    return frozenset(less for word in known if len(word) > _MIN_TYPO_CHARS for less in _one_letter_less(word))


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
    squeezed = [_squeeze(word, _any_english()) for word in words]
    squeezed = _MADE.sub(r"\1", " ".join(squeezed).replace("pull request", "pr")).split()
    unknown = [word for word in squeezed if word not in _any_english() and not _is_number(word)]
    if len(unknown) > _MAX_TYPO_SHARE * len(squeezed) or not all(map(_is_near_miss, unknown)):
        return False
    has_subject = not word_list("subject").isdisjoint(squeezed)
    if not has_subject and word_list("workflow").isdisjoint(squeezed):
        return True
    if not word_list("question_words").isdisjoint(squeezed[:2]):
        return not word_list("converse_pointers").isdisjoint(squeezed)
    may_be_subject = has_subject or not word_list("change_verbs").isdisjoint(squeezed)
    return not may_be_subject or not word_list("pointers").isdisjoint(squeezed)


def _is_covered_by_language(words: Sequence[str]) -> bool:
    """Return whether one language, with the courtesies that English lent to all, covers every word.

    Accents do not count, since many people leave them out. A question where or how about tests, changes or the like is
    about the project, as in English.
    """
    table = _languages()
    folded = [_squeeze(_fold(word), table) for word in words]
    everything = common = (1 << len(_lists_of("language"))) - 1
    for word in folded:
        if not _is_lent(word):
            common &= table.get(word, 0)
        if not common:
            return False
    names_work = not (_folded("asked_about") | word_list("workflow")).isdisjoint(folded)
    asks = names_work and not _folded("asking").isdisjoint(folded[:2])
    return common != everything and not asks


def _is_lent(word: str) -> bool:
    """Return whether a word occurs in turns of any language: a courtesy, a word of the workflow, a number."""
    return word in word_list("courtesy") or word in word_list("workflow") or _is_number(word)


def _is_covered_by_phrases(words: Sequence[str]) -> bool:
    """Return whether the phrases of one unspaced script, laid end to end, give every word."""
    if all(word.isascii() for word in words):
        return False
    rest = [word for word in words if not _is_lent(word)]
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
    """Shorten stretched letters, `thaaanks` → `thanks`: three or more become one, or two where that is a known word."""
    if word in known or not _STRETCHED.search(word):
        return word
    twice = _STRETCHED.sub(r"\1\1", word)
    return twice if twice in known else _STRETCHED.sub(r"\1", word)


def _is_number(word: str) -> bool:
    """Return True for a single character, and for a number with or without a unit."""
    return len(word) == 1 or _NUMBER.fullmatch(word) is not None


def _is_near_miss(word: str) -> bool:
    """Return whether a word is one slip away from a session word: a letter too many, too few, swapped, or another one.

    Of four letters two may be swapped. Another letter counts from seven letters on: in short words it makes a different
    word (`commit` and `permit`). Another or one more letter at the end makes another form of a word (`starter`,
    `releases`), and is no slip unless it is doubled.
    """
    known = _any_english()
    if word in word_list("no_typos"):
        return False
    if len(word) < _MIN_TYPO_CHARS:
        return len(word) == _MIN_SWAPPED_CHARS and any(swapped in word_list("function") for swapped in _swapped(word))
    if word in _near():
        return True
    shorter = [less for less in _one_letter_less(word) if less != word[:-1] or word[-1] == word[-2]]
    if any(len(candidate) >= _MIN_TYPO_CHARS - 1 and candidate in known for candidate in shorter):
        return True
    if any(swapped in known for swapped in _swapped(word)):
        return True
    return len(word) >= 7 and any(candidate in _near() and candidate[0] == word[0] for candidate in shorter)


def _swapped(word: str) -> Iterator[str]:
    """Yield the forms of a word with two neighbouring letters after the first swapped."""
    return (word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in range(1, len(word) - 1))


def _one_letter_less(word: str) -> list[str]:
    """Return the forms of a word in which one letter after the first is missing."""
    return [word[:i] + word[i + 1 :] for i in range(1, len(word))]


# --- Verdicts ------------------------------------------------------------------------------------------------------


SEARCH = "search"

_MIN_WORDS = 3
_MIN_CHARS = 20
"""Number of words, and of characters with full-width ones counted twice; of shorter prompts only names are judged."""
_MOST_TELLING = 2
"""Words besides those of grammar and politeness of a prompt that is hardly more than a name: `where is parse_args`."""

_JUDGED_CHARS = 5_000
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
    r"|user|client|admin|administrator|attacker|server|browser|worker|process|script|integration"
    r"|(?:sub)?agent|analyst|auditor|data scientist|technical writer|pair|(?:helpful|coding) assistant)\b"
)
# How such a prompt begins, and others that may mean a role: these are searched, but more is asked of them.
_ROLE = (
    r"^(?:(?:please|hi|hello|hey|ok|now|could|can|would|will|you|id|i|im|am|we|are|want|like|need|looking|lets|for|from"
    r"|on|to) )*"
    r"(?:(?:act|behave|speak)(?: as| like| an?)\b|pretend\b|(?:do an? )?role ?play\b|be my\b"
    r"|lets play\b(?! (?:it|the|with)\b)"
    r"|(?:play|take|take on|assume|adopt) (?:the|an?) (?:role|part|persona)\b|(?:imagine|suppose|assume) (?:that )?you"
    r"|(?:are|be|youre) (?:now\b|an?\b(?! (?:bit|little|lot)\b)|my\b)|as an? (?:\w+ed|expert|professional)\b"
    r"|(?:someone|somebody|a person) (?:with|who|in)\b|an? (?:\w+ )?(?:expert|specialist) (?:in|on|for|with)\b)"
)
_HOW_TO = (
    r"\bhow (?:(?:long|often|much) )?(?:do|can|should|would|could|does|did) (?:i|we|you|one)\b"
    r"|\bhow to\b|\b(?:best|right) way to\b|\bwhere do (?:i|we)\b"
)
_ROLE_CHARS = 200


def prompt_verdict(cleaned: CleanedPrompt, *, skip_prefixes: Sequence[str] = ()) -> str:
    """Return `SEARCH`, or the reason for which nothing is to happen with a cleaned prompt.

    Reasons are opted_out, subagent_report, machine_made, slash_command, empty, skip_prefix, acknowledgement,
    session_turn, too_few_words and role_play.

    Args:
        cleaned: From `clean`. A subagent's report is not searchable as a prompt; its reason lets the caller handle it.
        skip_prefixes: Beginnings of prompts that the owner wants left alone, as typed; empty ones are ignored.
    """
    return _formal_reason(cleaned, skip_prefixes) or _wording_reason(cleaned.text[:_JUDGED_CHARS]) or SEARCH


def _formal_reason(cleaned: CleanedPrompt, skip_prefixes: Sequence[str]) -> str:
    """Return the reason against a search that does not depend on words; empty when the words decide."""
    if cleaned.is_opted_out:
        return "opted_out"
    if cleaned.is_machine_made:
        return "machine_made" if cleaned.subagent_report is None else "subagent_report"
    if not cleaned.text:
        return "slash_command" if cleaned.command_name else "empty"
    if cleaned.typed.startswith(tuple(prefix for prefix in skip_prefixes if prefix.strip())):
        return "skip_prefix"
    return ""


def _wording_reason(text: str) -> str:
    """Return the reason against a search that the words of a prompt give; empty when there is none.

    Words are judged first because that is cheap; code, an identifier or a path then overrules them.
    """
    reason = _verdict_of_words(plain_words(text[:TURN_CHARS]), text)
    return "" if reason and (_is_technical(text) or project_questions.topic_of(text)) else reason


def _verdict_of_words(words: Sequence[str], text: str) -> str:
    """Return the reason against a search that lies in the words of a text's beginning; empty when there is none."""
    if not words:
        return "acknowledgement" if len(text) <= TURN_CHARS else ""
    if len(text) <= TURN_CHARS:
        if turn := turn_of(words):
            return turn
        if len(words) < _MIN_WORDS and not _count_in(text, _UNSPACED_RANGES) and _n_telling(text) < _MOST_TELLING:
            return "too_few_words"
    return "role_play" if gives_role(text, clearly=True) else ""


def _is_technical(text: str) -> bool:
    """Return whether a text holds code, an identifier or a path; words of a session joined without a space are none."""
    if has_code(text):
        return True
    names = (*identifiers(text), *paths(text))
    return any(not re.fullmatch(r"\w+(?:[./]\w+)+", name) or not turn_of(plain_words(name)) for name in names)


def is_short(text: str) -> bool:
    """Return whether a prompt is hardly more than a name, or than two plain words."""
    if len(text) > TURN_CHARS or _n_telling(text) > _MOST_TELLING:
        return False
    return len(text.split()) <= _MIN_WORDS or bool(identifiers(text) or paths(text))


def must_name(text: str) -> bool:
    """Return whether a searchable prompt is so short that only what it names can be judged, not its meaning."""
    if len(text) + _count_in(text[:_MIN_CHARS], _WIDE_RANGES) < _MIN_CHARS:
        return True
    is_few = len(text) <= TURN_CHARS and len(plain_words(text)) < _MIN_WORDS
    return is_few and not _count_in(text, _UNSPACED_RANGES) and not _is_technical(text)


def asks_how_to(text: str) -> bool:
    """Return whether a prompt asks how the person who typed it does something, in English."""
    return compiled(_HOW_TO).search(" ".join(plain_words(text[:_JUDGED_CHARS]))) is not None


def gives_role(text: str, *, clearly: bool = False) -> bool:
    """Return whether a prompt begins by giving the model a role, none of software work, or by looking for a person.

    Args:
        text: A cleaned prompt.
        clearly: Whether it must say so in words that mean nothing else.
    """
    opening = " ".join(plain_words(text[:TURN_CHARS]))[:_ROLE_CHARS]
    if compiled(_ROLE).match(opening) is None or compiled(_ENGINEER).search(opening):
        return False
    return not clearly or compiled(_ROLE_PLAY).search(opening) is not None


def _n_telling(text: str) -> int:
    """Return the number of words of a text besides those of grammar and politeness."""
    return sum(any(map(str.isalnum, word)) for word in content_words(text).split())


def _count_in(text: str, ranges: Sequence[tuple[str, str]]) -> int:
    """Return the number of characters of a text that lie in one of the ranges, bounds included."""
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


_SPEAKING_OF = frozenset(("about", "regarding", "concerning"))
"""Words after which even a word of the conversation is a subject: `what did we do about the build?`."""
_HERE = frozenset(("repository", "repo", "project", "codebase", "s"))
"""Words that name the place of all earlier work, and what is left of `yesterday's`."""
_LEAST_DIGITS = 3
"""Digits of the shortest number that names something: an issue, a port, a status."""


def looks_back(text: str) -> bool:
    """Return whether a cleaned prompt asks what was done before."""
    return len(text) <= _MOST_CHARS and any(form.search(text) for form in _FORMS)


def topic_of(text: str, project: str = "") -> str:
    """Return the words of a prompt that say which earlier work it means; empty when it means the last.

    Args:
        text: A cleaned prompt of which `looks_back` is true.
        project: The name of the project, which is no topic within it.
    """
    ignored, is_subject, names_any = {*_HERE, *plain_words(project)}, False, False
    found: list[str] = []
    for token in re.sub(rf"(?i)\b{_WHEN}\b", " ", text).split():
        words = [word for word in plain_words(token) if word not in ignored]
        telling = [word for word in words if word not in word_list("function") and word not in word_list("courtesy")]
        names = bool(telling) and (is_subject or _is_technical(token) or any(map(_is_name, telling)))
        names_any = names_any or names
        if names or any(word not in word_list("talk") for word in telling):
            found.append(token.strip(",;:!?"))
        is_subject = not telling and (is_subject or not _SPEAKING_OF.isdisjoint(words))
    return " ".join(found) if names_any else ""


def _is_name(word: str) -> bool:
    """Return whether a word names something: a long number, or a word that turns of a conversation do not have."""
    return len(word) >= _LEAST_DIGITS if word.isdigit() else not is_word_of_turns(word)
