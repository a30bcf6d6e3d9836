from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture import transcript
from hybrid.capture.transcript import AgentText, Exchange, agent_texts, end_offset, last_exchange
from tests.support.cases import cases

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cases import Case


def claude(text: str, message_id: str = "", **more: Any) -> dict[str, Any]:
    """A line of Claude Code in which the agent says something."""
    blocks = [{"type": "thinking", "thinking": "hidden"}, {"type": "text", "text": text}]
    message = {"id": message_id, "role": "assistant", "model": "some-model", "content": blocks}
    return {"type": "assistant", "message": message, "isSidechain": False, "uuid": f"u-{text[:20]}", **more}


def typed(text: str, **more: Any) -> dict[str, Any]:
    """A line of Claude Code in which the user says something."""
    return {"type": "user", "message": {"role": "user", "content": [{"type": "text", "text": text}]}, **more}


def written(path: Path, entries: list[dict[str, Any]], *, end: str = "\n") -> Path:
    """A transcript with one line for every entry."""
    path.write_bytes("".join(json.dumps(entry, ensure_ascii=False) + end for entry in entries).encode())
    return path


def add(path: Path, data: bytes) -> None:
    """Append to a transcript, as a client does."""
    with path.open("ab") as file:
        file.write(data)


def said(path: Path, since: int = 0) -> list[str]:
    """The texts after an offset."""
    return [text.text for text in agent_texts(path, since)[0]]


@cases("capture/transcripts.txt")
def test_only_the_agent_is_read(tmp_path: Path, case: Case) -> None:
    """Of every client's form the agent's texts are read: no thoughts, tools, users, subagents, injected or old text."""
    path = tmp_path / "session.jsonl"
    path.write_text(f"{case.text}\n", "utf-8")

    assert ["I look at it.", "It was the retry."] == said(path)
    assert Exchange("Why does it fail?", "It was the retry.") == last_exchange(path)


def test_new_texts_since_an_offset(tmp_path: Path) -> None:
    """The offset that a call returns is where the next one goes on; nothing is read twice."""
    path = written(tmp_path / "s.jsonl", [typed("a"), claude("Größe one")])
    first, offset = agent_texts(path, 0)
    add(path, (json.dumps(claude("two")) + "\n").encode())
    second, end = agent_texts(path, offset)

    assert ["Größe one"] == [text.text for text in first]
    assert ["two"] == [text.text for text in second]
    assert path.stat().st_size == end == second[0].end_offset
    assert ((), end) == agent_texts(path, end)
    assert first[0].end_offset == offset


def test_parts_of_one_message_are_one_text(tmp_path: Path) -> None:
    """Lines with one message id are one message: blocks are joined, a message that was written again counts once."""
    lines = [
        claude("one", "m1"),
        claude("two", "m1"),
        claude("two", "m1"),
        claude("grow", "m2"),
        claude("grow.", "m3"),
        claude("grow..", "m3"),
        claude("growing", "m2"),
        claude("three", "m1"),
    ]
    path = written(tmp_path / "s.jsonl", lines)

    texts, offset = agent_texts(path, 0)
    assert [("one\n\ntwo\n\nthree", "m1"), ("growing", "m2"), ("grow..", "m3")] == [
        (text.text, text.id) for text in texts
    ]
    assert offset == texts[0].end_offset > texts[1].end_offset


def test_half_written_line_waits(tmp_path: Path) -> None:
    """A last line without an end is left for the next call, at whatever byte it was cut."""
    path = written(tmp_path / "s.jsonl", [claude("one")])
    whole = path.stat().st_size
    line = (json.dumps(claude("zwölf"), ensure_ascii=False) + "\n").encode()
    for cut in (1, len(line) // 2, line.index("ö".encode()) + 1, len(line) - 1):
        path.write_bytes(path.read_bytes()[:whole] + line[:cut])

        assert ((), whole) == agent_texts(path, whole)
        assert (["one"], whole) == (said(path), end_offset(path))
    path.write_bytes(path.read_bytes()[:whole] + line)
    assert ["zwölf"] == said(path, whole)


@pytest.mark.parametrize("data", [b"", b'{"type": "assistant", "mess'], ids=["empty", "half a line"])
def test_a_file_without_a_whole_line_says_nothing(tmp_path: Path, data: bytes) -> None:
    """The offset stays at the beginning, and the next call begins there."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(data)

    assert ((), 0) == agent_texts(path, 0)
    assert Exchange() == last_exchange(path)
    assert 0 == end_offset(path)


def test_rewritten_file_counts_nothing_twice(tmp_path: Path) -> None:
    """A file that became shorter, or does not have a line end at the offset, gives nothing, then goes on from its end."""
    path = written(tmp_path / "s.jsonl", [claude("one"), claude("two")])
    _, offset = agent_texts(path, 0)
    for entries in ([claude("one")], [claude("one, rewritten and longer"), claude("two, rewritten"), claude("three")]):
        written(path, entries)
        texts, end = agent_texts(path, offset)
        add(path, (json.dumps(claude("new")) + "\n").encode())

        assert () == texts
        assert ["new"] == said(path, end)


def test_of_a_long_file_the_newest_part_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No more bytes are read than the bound says, from a whole line on, and the offset passes over the rest."""
    monkeypatch.setattr(transcript, "MAX_BYTES", 1000)
    path = written(tmp_path / "s.jsonl", [claude(f"text {n}") for n in range(100)])
    texts, offset = agent_texts(path, 0)

    assert "text 99" == texts[-1].text
    assert 1 <= len(texts) < 10
    assert path.stat().st_size == offset


@pytest.mark.parametrize(
    "noise",
    [
        b"\xff\xfe\x00broken bytes\n",
        b'{"type": "assistant", "message": \n',
        b'{"type": ["assistant"]}\n[1, "assistant"]\n"assistant"\nnull\n12\n',
        b'{"type": "assistant"}\n{"type": "assistant", "message": "text"}\n{"type": "assistant", "message": {"content": [1, {"type": "text"}]}}\n',
        b'{"type": "gemini", "content": {"text": "x"}}\n{"type": "assistant.message", "data": []}\n',
        b"[" * 100_000 + b"assistant\n",
        json.dumps(claude("x" * 5_000_000)).encode() + b"\n",
        b"\n\r\n   \n",
    ],
    ids=["bytes", "half JSON", "no objects", "no text", "other types", "deep", "long", "blank"],
)
def test_broken_lines_hide_nothing(tmp_path: Path, noise: bytes) -> None:
    """Lines that are no entries are passed over, whatever they hold."""
    path = written(tmp_path / "s.jsonl", [typed("Why?"), claude("one")])
    add(path, noise)
    add(path, (json.dumps(claude("two")) + "\n").encode())

    assert ["one", "two"] == said(path)
    assert Exchange("Why?", "two") == last_exchange(path)


def test_byte_order_mark_crlf_and_lone_surrogates(tmp_path: Path) -> None:
    """All are tolerated; what cannot be text becomes a question mark."""
    path = tmp_path / "s.jsonl"
    lines = [b"\xef\xbb\xbf" + json.dumps(claude("one")).encode(), json.dumps(claude("\ud83d two")).encode()]
    path.write_bytes(b"".join(line + b"\r\n" for line in lines))

    assert ["one", "? two"] == said(path)


def test_what_is_no_file_gives_nothing(tmp_path: Path) -> None:
    """Missing files, folders, pipes, links and impossible paths leave the offset as it is, without waiting."""
    real = written(tmp_path / "s.jsonl", [claude("one")])
    (tmp_path / "link").symlink_to(real)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "link", tmp_path / "pipe", tmp_path / "a\0b"):
        assert ((), 7) == agent_texts(path, 7)
        assert 0 == end_offset(path)
        assert Exchange() == last_exchange(path)


def document(messages: list[dict[str, Any]]) -> str:
    """A session as older versions of Gemini CLI write it."""
    return json.dumps({"sessionId": "s", "messages": messages, "summary": "x" * 100}, indent=2, ensure_ascii=False)


def test_single_document_is_read_by_offsets_too(tmp_path: Path) -> None:
    """A document that is rewritten as a whole gives each message once, also when the last one grew meanwhile."""
    path = tmp_path / "session.json"
    user = {"id": "1", "type": "user", "content": "Why – so?"}
    one = {"id": "2", "type": "gemini", "content": "Größe one"}
    path.write_text(document([user, one]), "utf-8")
    first, offset = agent_texts(path, 0)
    path.write_text(
        document(
            [user, {**one, "toolCalls": [{"result": "long " * 50}]}, {"id": "3", "type": "gemini", "content": "ok"}]
        ),
        "utf-8",
    )
    second, end = agent_texts(path, offset)

    assert [("Größe one", "2")] == [(text.text, text.id) for text in first]
    assert ["ok"] == [text.text for text in second]
    assert ((), end) == agent_texts(path, end)
    assert end == end_offset(path)
    assert Exchange("Why – so?", "ok") == last_exchange(path)


def test_broken_document_gives_what_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A document cut in the middle still gives the messages before the cut; one that is too long gives nothing."""
    path = tmp_path / "session.json"
    path.write_text(
        document([{"id": str(n), "type": "gemini", "content": f"text {n}"} for n in range(9)])[:400], "utf-8"
    )

    assert "text 0" == said(path)[0]
    monkeypatch.setattr(transcript, "MAX_BYTES", 100)
    assert ((), 0) == agent_texts(path, 0)


def test_last_exchange_looks_far_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last prompt is found behind megabytes of tool results; without an answer the agent's part is empty."""
    result = {
        "type": "user",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "x" * 100_000}]},
    }
    path = written(tmp_path / "s.jsonl", [typed("First"), claude("one"), typed("Second"), *[result] * 20])

    assert Exchange("Second", "") == last_exchange(path)
    monkeypatch.setattr(transcript, "MAX_BYTES", 1000)
    assert Exchange() == last_exchange(path)


@given(st.lists(st.sampled_from(["one", "zwei – ö", "[L001]", "\n{}\n"]), max_size=6), st.integers(0, 6))
def test_any_split_into_calls_reads_each_text_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], split: int
) -> None:
    """Reading before and after lines are added gives the same as reading all at once."""
    path = tmp_path_factory.mktemp("split") / "s.jsonl"
    entries = [claude(text, f"m{number}") for number, text in enumerate(texts)]
    written(path, entries[:split])
    first, offset = agent_texts(path, 0)
    written(path, entries)
    second, end = agent_texts(path, offset)

    assert (first + second, end) == agent_texts(path, 0)
    assert texts == [text.text for text in first + second]
    assert all(isinstance(text, AgentText) for text in first)
