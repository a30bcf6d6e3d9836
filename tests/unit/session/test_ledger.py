from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.session.ledger import EMPTY, Given, Ledger, LedgerStore, SessionKey
from tests.support.builders import hit, python_process
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path

KEY = SessionKey("claude", "s1")
FORMS = ["full", "preview", "pointer"]
A, B = b"\x0a" * 16, b"\x0b" * 16


@pytest.fixture
def store(tmp_path: Path) -> LedgerStore:
    """An empty store."""
    return LedgerStore(tmp_path / "sessions")


def _file(store: LedgerStore, tmp_path: Path, key: SessionKey = KEY) -> Path:
    return tmp_path / "sessions" / key.file_name


@pytest.mark.parametrize(
    ("given", "allowed"),
    [
        ("", "full preview pointer"),
        ("full", ""),
        ("preview", "full"),
        ("pointer", "full preview"),
        ("preview full", ""),
        ("pointer full", ""),
        ("full preview", ""),
    ],
)
def test_what_may_follow_what_was_given(store: LedgerStore, given: str, allowed: str) -> None:
    """What was named may come with the lines that tell, what was shown in part once in full; other chunks may."""
    for form in given.split():
        store.record(KEY, Given([(A, form)], "t1"))

    ledger = store.read(KEY)
    assert allowed.split() == [form for form in FORMS if ledger.allows(A, form)]
    assert ledger.allows(B, "full")


@pytest.mark.parametrize("why", ["compact", "clear"])
def test_a_reset_forgets_everything(store: LedgerStore, why: str) -> None:
    """When the agent's context was emptied, chunks and topic may be given again; the ledger goes on."""
    store.record(KEY, Given([(A, "full")], "t1"))
    store.reset(KEY, why)
    after = store.read(KEY)
    store.record(KEY, Given([(B, "full")], "t2"))

    assert Ledger({}, "", 0, is_new=False) == after
    assert {B.hex(): "full"} == store.read(KEY).given


def test_the_end_of_a_session_keeps_its_ledger(store: LedgerStore, tmp_path: Path) -> None:
    """A session that ended and is resumed still knows what it got; one that never got anything leaves nothing."""
    store.record(KEY, Given([(A, "full")], "t1"))
    before = store.read(KEY)
    for key in (KEY, SessionKey("claude", "unknown")):
        store.stamp(key, "end")

    assert before == store.read(KEY)
    assert [KEY.file_name] == [path.name for path in (tmp_path / "sessions").iterdir() if path.suffix != ".lock"]


@pytest.mark.parametrize(
    "other",
    [
        SessionKey("claude", "s2"),
        SessionKey("codex", "s1"),
        SessionKey("claude", "s1", "reviewer"),
        SessionKey("claudes1", ""),
        SessionKey("", "claude", "s1"),
        SessionKey("claude", "S1"),
    ],
    ids=["session", "client", "agent", "joined", "shifted", "case"],
)
def test_sessions_do_not_influence_each_other(store: LedgerStore, other: SessionKey) -> None:
    """Another session, client or agent has a ledger of its own, and a reset of one leaves the other."""
    store.record(KEY, Given([(A, "full")], "t1"))

    assert EMPTY == store.read(other)
    store.reset(other, "compact")
    assert not store.read(KEY).allows(A, "full")


@pytest.mark.parametrize(
    "session", ["../../etc/passwd", "a/b\\c:d", "x" * 5000, "sitzung-ü-🦊", "\ud800", "", "a\0b"], ids=ascii
)
def test_any_session_id_has_a_safe_file(store: LedgerStore, tmp_path: Path, session: str) -> None:
    """Whatever a client sends as its id, the ledger is one plain file in the folder."""
    key = SessionKey("claude", session)
    store.record(key, Given([(A, "full")], "t1"))

    assert not store.read(key).allows(A, "full")
    assert [key.file_name] == [path.name for path in (tmp_path / "sessions").iterdir()]


@pytest.mark.parametrize(
    "damage",
    [
        b'{"t":1,"topic":"t9","giv',
        b"\xff\xfe\x00",
        b"[]\n",
        b"3\n",
        b'"reset"\n',
        b'{"given":3}\n',
        b'{"given":[[1]]}\n',
        b"[" * 50_000,
    ],
    ids=["half", "bytes", "list", "number", "text", "no list", "no pair", "deep"],
)
def test_a_damaged_line_costs_only_itself(store: LedgerStore, tmp_path: Path, damage: bytes) -> None:
    """What stands before and after a damaged or half-written line counts, and the damage is counted."""
    store.record(KEY, Given([(A, "full")], "t1"))
    with _file(store, tmp_path).open("ab") as file:
        file.write(damage)
    store.record(KEY, Given([(B, "preview")], "t2"))

    ledger = store.read(KEY)
    assert ({A.hex(): "full", B.hex(): "preview"}, "t2", 1) == (ledger.given, ledger.last_topic_id, ledger.n_damaged)


def test_a_ledger_that_cannot_be_read_counts_as_empty(store: LedgerStore, tmp_path: Path) -> None:
    """A folder in place of the file is an empty ledger."""
    _file(store, tmp_path).mkdir(parents=True)

    assert EMPTY == store.read(KEY)


def test_a_ledger_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    """Where no file can be made, recording says so."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match=r".+"):
        LedgerStore(tmp_path / "file" / "sessions").record(KEY, Given([(A, "full")], "t1"))


def test_processes_that_write_at_once_lose_nothing(store: LedgerStore, tmp_path: Path) -> None:
    """Hooks of one session that run at the same time leave every digest that any of them gave."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.session.ledger import Given, LedgerStore, SessionKey
        store = LedgerStore(Path(sys.argv[1]))
        for number in range(100):
            digest = bytes([int(sys.argv[2]), number]) * 8
            store.record(SessionKey("claude", "s1"), Given([(digest, "full")], f"{sys.argv[2]}-{number}"))
    """
    writers = [python_process(script, tmp_path / "sessions", number) for number in range(3)]
    for writer in writers:
        writer.communicate()

    ledger = store.read(KEY)
    assert {(bytes([writer, number]) * 8).hex() for writer in range(3) for number in range(100)} == set(ledger.given)
    assert 0 == ledger.n_damaged


def test_ledgers_expire(store: LedgerStore, tmp_path: Path) -> None:
    """Ledgers that nothing was written to for so many days go, then their locks; younger ones and other files stay."""
    now = time.time()
    store.expire(14, now)
    assert [] == [*tmp_path.iterdir()]
    young, old = SessionKey("claude", "young"), SessionKey("claude", "old")
    for key, age_days in ((young, 13.9), (old, 14.1)):
        store.record(key, Given([(A, "full")], "t1"))
        os.utime(_file(store, tmp_path, key), (now - age_days * 86_400,) * 2)
    other = tmp_path / "sessions" / "notes.txt"
    other.write_text("mine")
    os.utime(other, (0, 0))
    for key in (young, SessionKey("claude", "gone")):
        lock = tmp_path / "sessions" / f"{key.file_name}.lock"
        lock.touch()
        os.utime(lock, (0, 0))
    store.expire(14, now)

    assert {young.file_name, f"{young.file_name}.lock", "notes.txt"} == {
        path.name for path in (tmp_path / "sessions").iterdir()
    }


_entries = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([A, B]), st.sampled_from(FORMS)),
        st.just("reset"),
        st.just("end"),
    ),
    max_size=12,
)


@examples(50)
@given(_entries)
def test_the_agent_never_gets_the_same_twice(tmp_path_factory: pytest.TempPathFactory, entries: list[object]) -> None:
    """Whoever asks the ledger first gives each chunk at most once in each form between two resets, each fuller."""
    store = LedgerStore(tmp_path_factory.mktemp("ledger"))
    given_forms: dict[bytes, list[str]] = {}
    for entry in entries:
        if entry == "reset":
            store.reset(KEY, "compact")
            given_forms.clear()
        elif entry == "end":
            store.stamp(KEY, "end")
        elif isinstance(entry, tuple) and store.read(KEY).allows(*entry):
            store.record(KEY, Given([entry], "t"))
            given_forms.setdefault(entry[0], []).append(entry[1])

    for forms in given_forms.values():
        places = [FORMS.index(form) for form in forms]
        assert sorted(set(places), reverse=True) == places


# --- what a session remembers --------------------------------------------------------------------------------


def _remembered(store: LedgerStore) -> dict[str, tuple[int, int]]:
    found = store.read(KEY, is_remembering=True).remembered
    return {digest: (record.times, record.turn) for digest, record in found.items()}


def test_records_are_remembered_with_what_it_takes_to_find_them(store: LedgerStore) -> None:
    """Place, name and relevance of a record come back as they were; a prompt, which has no use for them, gets none."""
    given_hit = hit(digest=A, path="src/\udcff.py", start_line=3, end_line=9, name="g", scope="C", cosine=None)
    store.record(KEY, Given([(A, "full")], "t1", hits=[given_hit]))

    found = store.read(KEY, is_remembering=True).remembered[A.hex()].hit
    for name in "kind path start_line end_line name chunk_kind scope cosine relevance digest".split():
        assert getattr(given_hit, name) == getattr(found, name)
    assert {} == store.read(KEY).remembered


def test_how_often_and_when_a_record_fitted(store: LedgerStore) -> None:
    """Each time a record is given, or fits although the session has it, counts; turns are numbered through."""
    store.record(KEY, Given([(A, "preview")], "t1", hits=[hit(digest=A)]))
    store.record(KEY, Given([(B, "full")], "t2", hits=[hit(digest=B)], again=[A]))
    store.record(KEY, Given(again=[A, b"\x0c" * 16]))
    store.stamp(KEY, "stop")

    assert {A.hex(): (3, 3), B.hex(): (1, 2)} == _remembered(store)
    assert (3, "t2") == ((ledger := store.read(KEY)).n_turns, ledger.last_topic_id)


def test_a_compaction_is_remembered_beyond_a_clear_is_not(store: LedgerStore) -> None:
    """What was given is forgotten by both; which records it was, only by `clear`."""
    store.record(KEY, Given([(A, "full")], "t1", hits=[hit(digest=A)]))
    store.reset(KEY, "compact")
    after_compact = (store.read(KEY).given, _remembered(store))
    store.reset(KEY, "clear")

    assert ({}, {A.hex(): (1, 1)}) == after_compact
    assert {} == _remembered(store)


def test_a_start_that_was_answered_is_noted(store: LedgerStore) -> None:
    """A ledger tells when it last answered a start of each kind; that is no turn, and leaves the topic."""
    store.record(KEY, Given([(A, "full")], "t1"))
    store.record(KEY, Given(start="startup"))

    ledger = store.read(KEY)
    assert abs(time.time() - ledger.starts["startup"]) < 60
    assert ("t1", 0) == (ledger.last_topic_id, ledger.n_turns)


@pytest.mark.parametrize(
    "about",
    ['{"zz":{}}', '{"0a":{"kind":"code"}}', '{"0a":3}', "[1]", '{"0a":null}'],
    ids=["no digest", "half", "number", "list", "null"],
)
def test_a_damaged_record_costs_only_itself(store: LedgerStore, tmp_path: Path, about: str) -> None:
    """A record that cannot be read is counted as damage; what was given stands."""
    store.record(KEY, Given([(A, "full")], "t1", hits=[hit(digest=A)]))
    with _file(store, tmp_path).open("a") as file:
        file.write('{"topic":"t2","given":[["' + B.hex() + '","full"]],"about":' + about + "}\n")

    ledger = store.read(KEY, is_remembering=True)
    assert ({A.hex(): "full", B.hex(): "full"}, 1) == (ledger.given, ledger.n_damaged)
    assert [A.hex()] == list(ledger.remembered)


def test_lines_that_were_read_add_up_until_a_reset(store: LedgerStore) -> None:
    """Ranges of several uses are kept by path; a reset, and another agent of the session, have none."""
    store.note_lines_read(KEY, {"a.py": ["1-2:00", "4-5:01"]})
    store.note_lines_read(KEY, {"a.py": ["7-8:02"], "b.py": ["1-1:03"]})
    before = store.read(KEY)
    store.reset(KEY, "compact")

    assert {"a.py": "1-2:00 4-5:01 7-8:02", "b.py": "1-1:03"} == before.lines_read
    assert (True, False) == (before.is_holding, store.read(KEY).is_holding)
    assert {} == store.read(KEY).lines_read == store.read(SessionKey("claude", "s1", "a7")).lines_read


def test_files_that_were_given_or_read_are_mentioned(store: LedgerStore) -> None:
    """The three best files of an injection and what was read or edited, until a reset; records are no files."""
    given = [hit(path=f"src/{name}.py", digest=bytes([place]) * 16) for place, name in enumerate("abcd", 1)]
    lesson = hit(kind="lesson", path="L001", digest=A)
    store.record(KEY, Given([(one.digest, "full") for one in given], "t1", hits=given))
    store.record(KEY, Given([(A, "full")], "t2", hits=[lesson]))
    store.note_lines_read(KEY, {"src/x.py": ["1-2:00"]})
    before = store.read(KEY).mentioned
    store.reset(KEY, "compact")

    assert {"src/a.py", "src/b.py", "src/c.py", "src/x.py"} == before
    assert set() == store.read(KEY).mentioned
