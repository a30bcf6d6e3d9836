"""The script that makes the lexicon of other languages: its sources, and what it makes of pairs of messages."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.lexicon import ENGLISH, Lexicon, fold
from hybrid_lab.training.lexicon import (
    WRITTEN,
    Messages,
    aligned,
    everyday,
    joined,
    splitter,
    with_written,
    without_forms,
    written_words,
)

if TYPE_CHECKING:
    from pathlib import Path


def tar(path: Path, files: dict[str, str]) -> Path:
    """An archive as npm packs it."""
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            data = text.encode()
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def zipped(files: dict[str, bytes]) -> bytes:
    """An archive as wheels and jars are."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def test_messages_by_key(tmp_path: Path) -> None:
    """TypeScript has its English messages in its code, and those of a language by key."""
    code = 'A: diag(1001, 1 /* Error */, "A_1001", "Cannot find the \\"key\\"."),'
    files = {
        "lib/typescript.js": code,
        "lib/de/diagnosticMessages.generated.json": json.dumps({"A_1001": "Kein Wert."}),
    }
    messages = Messages()
    messages.read(tar(tmp_path / "typescript-5.tgz", files))

    assert [('Cannot find the "key".', "Kein Wert.")] == messages.pairs("german")
    assert [] == messages.pairs("french")
    assert ['Cannot find the "key".'] == list(messages.english())


def test_messages_by_number(tmp_path: Path) -> None:
    """Visual Studio Code numbers its messages; the packs of its extensions have the English ones as keys."""
    pack = {
        "translations/main.i18n.json.js": 'var content = [\n\tundefined,\n\t"Datei öffnen"\n];\nexport default content;',
        "translations/extensions/git.i18n.json": json.dumps({"contents": {"bundle": {"Push/verb": "Pushen"}}}),
    }
    messages = Messages()
    messages.read(tar(tmp_path / "codingame-monaco-vscode-api-1.tgz", {"a.js": 'x(localize(1, "Open the file"))'}))
    messages.read(tar(tmp_path / "codingame-monaco-vscode-language-pack-pt-br-1.tgz", pack))

    assert {("Open the file", "Datei öffnen"), ("Push", "Pushen")} == set(messages.pairs("portuguese"))


def test_messages_of_bundles(tmp_path: Path) -> None:
    """Properties lie in jars, that of a language in another jar than the English one."""
    jars = {
        "usr/core.jar": zipped({"org/LocalStrings.properties": b"a.b=The cookie is invalid\nonly=English\n"}),
        "usr/core-de.jar": zipped({"org/LocalStrings_de.properties": rb"a.b=Das Cookie ist ung\u00fcltig"}),
    }
    path = tmp_path / "tomcat.whl"
    path.write_bytes(zipped(jars))
    messages = Messages()
    messages.read(path)

    assert [("The cookie is invalid", "Das Cookie ist ungültig")] == messages.pairs("german")


def test_the_english_dictionary(tmp_path: Path) -> None:
    """A list of words is no message."""
    messages = Messages()
    messages.read(tar(tmp_path / "an-array-of-english-words-1.tgz", {"index.json": '["one", "two"]'}))

    assert (["one", "two"], []) == (list(messages.dictionary), list(messages.english()))


def test_what_stands_together_goes_together() -> None:
    """A word is aligned with the one that is in all its messages and in no others."""
    pairs = [
        (["open", "file"], ["datei", "offnen"]),
        (["close", "file"], ["datei", "schliessen"]),
        (["open", "folder"], ["ordner", "offnen"]),
    ]
    found = aligned(pairs)

    best = {word: max(of, key=lambda english: of[english]) for word, of in found.items() if word}
    assert {"datei": "file", "offnen": "open", "schliessen": "close", "ordner": "folder"} == best
    assert all(sum(of.values()) == pytest.approx(1, abs=0.05) for of in found.values())


def test_japanese_is_cut_by_its_scripts() -> None:
    """Katakana are one word, long runs of kanji are compounds of pairs, and kana between kanji belong to both."""
    assert ["キャッシュ", "環境", "変数", "切り替", "書"] == splitter("japanese")(
        "キャッシュの環境変数を切り替えて書く"
    )


def test_everyday_words() -> None:
    """Whole words of the encoder, of four letters and more, and Chinese words that are frequent."""
    pieces = ["▁Schlüssel", "▁ist", "ung", "キャッシュ", "▁שלום"]

    assert ["schlüssel", "キャッシュ", "缓存"] == everyday(pieces, {"缓存": 3000, "罕见": 3, "了": 90_000})


WORDS = st.text("abcde", min_size=3, max_size=9)


@given(st.dictionaries(WORDS, st.sampled_from(["one", "two", ENGLISH]), max_size=40))
def test_no_form_is_lost(entries: dict[str, str]) -> None:
    """What is left out is found as another form of what is kept."""
    kept = without_forms(entries)
    lexicon = Lexicon(joined(kept))

    assert kept.items() <= entries.items()
    assert entries == {word: lexicon.nearest(word) for word in entries}


def test_words_that_were_written_by_hand() -> None:
    """A word that was worked out wrong is corrected, a missing one is added, and a form of the right one is kept."""
    written = written_words("# A comment\ndelete: löschen gelöscht\nprint: ausgeben 打印\n")
    entries = with_written({"ausgeben": "do", "geloscht": "deleted", "andere": "other"}, written)

    expected = {"ausgeben": "print", "geloscht": "deleted", "andere": "other", "loschen": "delete", "打印": "print"}
    assert expected == entries


def test_written_words_stay_beside_their_forms() -> None:
    """Where the language of a prompt is not known, a word is found only as it stands in the file."""
    entries = {"schlussel": "key", "schlusseln": "key"}

    assert {"schlussel": "key"} == without_forms(entries)
    assert entries == without_forms(entries, {"schlusseln"})


def test_the_list_gives_each_word_one_meaning() -> None:
    """Two English words for one would hide each other."""
    lines = [line.split(": ") for line in WRITTEN.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    pairs = {(fold(word), english) for english, words in lines for word in words.split()}

    assert len(pairs) > 2_000
    assert len(pairs) == len({word for word, _ in pairs})
