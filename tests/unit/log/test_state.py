from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.log.state import NAME, HookState, count_injection, is_corrupt, read_state, update_state
from hybrid.types import Hit
from tests.support.builders import python_process
from tests.support.cases import Case, cases
from tests.support.examples import examples

if TYPE_CHECKING:
    from pathlib import Path


def _hit(path: str, start_line: int = 1, end_line: int = 3, name: str = "") -> Hit:
    """A part of a file; its digest begins with its first line."""
    digest = bytes([start_line]) * 16
    return Hit(
        row=0,
        kind="code",
        path=path,
        start_line=start_line,
        end_line=end_line,
        name=name,
        chunk_kind="",
        scope="",
        digest=digest,
    )


FIRST = _hit("src/a.py", name="retry")
SECOND = _hit("src/a.py", 9, 12)
THIRD = _hit("b.md", name="Deploy")


def _write(folder: Path, content: object) -> None:
    (folder / NAME).write_text(content if isinstance(content, str) else json.dumps(content))


def _counts(state: HookState) -> None:
    count_injection(state, "topic", [FIRST])


def test_defaults_without_a_file(tmp_path: Path) -> None:
    """A repository without a state file has counted nothing, and that is not corrupt."""

    assert HookState() == read_state(tmp_path)
    assert is_corrupt(tmp_path) is False


def test_the_keys_of_the_file(tmp_path: Path) -> None:
    """The file, whose folder is made, holds exactly the keys that the interface names."""
    update_state(tmp_path / "new", _counts)

    expected = "last_session_id last_injected_chunks last_injection_time injection_count chunk_frequencies"
    assert [*expected.split(), "file_frequencies", "hot_topics_generated_at"] == list(
        json.loads((tmp_path / "new" / NAME).read_bytes())
    )


def test_counting_an_injection() -> None:
    """An injection counts once, each of its chunks once, each of its files once; the last one is remembered."""
    state = HookState()
    count_injection(state, "t1", [FIRST, SECOND, THIRD])
    count_injection(state, "t2", [FIRST])

    assert ("t2", [FIRST.key], 2, 0) == (
        state.last_session_id,
        state.last_injected_chunks,
        state.injection_count,
        state.hot_topics_generated_at,
    )
    assert {
        FIRST.key: {"count": 2, "file": "src/a.py", "name": "retry"},
        SECOND.key: {"count": 1, "file": "src/a.py", "name": ""},
        THIRD.key: {"count": 1, "file": "b.md", "name": "Deploy"},
    } == state.chunk_frequencies
    assert {"src/a.py": 2, "b.md": 1} == state.file_frequencies
    assert state.last_injection_time is not None
    assert datetime.now(timezone.utc) - datetime.fromisoformat(state.last_injection_time) < timedelta(minutes=1)


def test_the_rarest_chunks_go_when_there_are_too_many() -> None:
    """The counters of chunks stay bounded, and those counted most stay."""
    state = HookState()
    for number in range(3000):
        count_injection(state, "t", [_hit(f"f{number}"), FIRST])

    assert len(state.chunk_frequencies) <= 2000
    assert 3000 == state.chunk_frequencies[FIRST.key]["count"]


CORRUPT = ["", "{", "[]", "3", "null", '"text"', "[" * 50_000, '{"injection_count": ' + "9" * 5000 + "}", "\0\0\0"]


@pytest.mark.parametrize(
    "content", CORRUPT, ids=["empty", "half", "list", "number", "null", "text", "deep", "digits", "zeros"]
)
def test_a_corrupt_file_is_set_aside(tmp_path: Path, content: str) -> None:
    """A corrupt file reads as defaults, is called corrupt, and is kept under another name when counting goes on."""
    _write(tmp_path, content)

    assert HookState() == read_state(tmp_path)
    assert is_corrupt(tmp_path) is True
    state = update_state(tmp_path, _counts)
    assert state is not None
    assert 1 == state.injection_count
    assert is_corrupt(tmp_path) is False
    assert [content] == [copy.read_text() for copy in tmp_path.glob(f"{NAME}.corrupt-*")]


@cases("feedback/damaged_states.txt")
def test_a_wrong_field_costs_only_itself(tmp_path: Path, case: Case) -> None:
    """Of a file that is partly wrong the right fields count, the wrong ones are defaults."""
    _write(tmp_path, case.given())

    assert HookState().as_json() | case.json() == read_state(tmp_path).as_json()
    assert is_corrupt(tmp_path) is False


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@examples(60)
@given(st.dictionaries(st.sampled_from(list(HookState().as_json())), _json))
def test_any_fields_can_be_counted_on(tmp_path: Path, fields: dict[str, Any]) -> None:
    """Whatever JSON stands in the fields, counting goes on and leaves a file that reads the same."""
    _write(tmp_path, fields)

    state = update_state(tmp_path, lambda current: count_injection(current, "t", [FIRST, THIRD]))
    assert state is not None
    assert state == read_state(tmp_path)
    assert state.chunk_frequencies[FIRST.key]["count"] >= 1


def test_concurrent_updates_lose_nothing(tmp_path: Path) -> None:
    """Four processes that count at once add up."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.log.state import count_injection, update_state
        from hybrid.types import Hit
        given = [Hit(row=0, kind="code", path="shared.py", start_line=int(sys.argv[2]), end_line=9, name="f", chunk_kind="", scope="",
                     digest=bytes(16))]
        for _ in range(25):
            while update_state(Path(sys.argv[1]), lambda state: count_injection(state, "t", given)) is None:
                pass
    """
    writers = [python_process(script, tmp_path, name) for name in "1234"]
    for writer in writers:
        writer.communicate()

    state = read_state(tmp_path)
    assert (100, {"shared.py": 100}) == (state.injection_count, state.file_frequencies)
    assert [25] * 4 == [entry["count"] for entry in state.chunk_frequencies.values()]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    """Where no file can be made the counters are given up, without an exception."""
    (tmp_path / "file").write_bytes(b"")

    assert update_state(tmp_path / "file" / "below", _counts) is None


def test_a_state_of_odd_names_is_written(tmp_path: Path) -> None:
    """Paths with lone surrogates, as undecodable file names have, survive."""
    update_state(tmp_path, lambda state: count_injection(state, "t", [_hit("\udce4.py", name="f")]))

    assert {"\udce4.py": 1} == read_state(tmp_path).file_frequencies
