"""What the memory stores holds neither private spans nor secrets, however a client gives them, at a bounded cost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.capture.cleaning import (
    MAX_CHARS,
    MAX_DEPTH,
    MAX_TEXTS,
    MAX_TOOL_CHARS,
    Texts,
    cleaned_call,
    cleaned_name,
    cleaned_text,
    cleaned_value,
    filled,
)
from hybrid.capture.tools import Edit, PathRoots, ToolUse, tool_use
from hybrid.knowledge.memory_intake import maker
from hybrid.records.memory.transfer import FORMAT, VERSION, read_lines
from hybrid.records.memory.types import Extracted, Observation, PendingEvent, Summarised, session_of
from hybrid.redact.forms import is_key_line, key_lines
from hybrid.types import ToolCall
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOKEN = "ghp_" + "a1B2" * 9
KEY_LINE = "MIIEpAIBAAKCAQEA7{:02d}bq9YhJk2LmN8pQrStUvWxYz0123456789abcdEFghIJklMNop"
PEM = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *(KEY_LINE.format(number) for number in range(8)),
    "-----END RSA PRIVATE KEY-----",
]
LONG = "and some more text that is long enough to be kept by the memory"
ORDINARY = "def retry(self):  # stops after some attempts\n"


def blocks(*texts: str) -> list[dict[str, str]]:
    """Blocks of content."""
    return [{"type": "text", "text": text} for text in texts]


def patch(*lines: str) -> dict[str, Any]:
    """A result that shows a patch."""
    return {"originalFile": "old\n", "structuredPatch": [{"lines": ["-old", *lines]}]}


def argv(*words: str) -> dict[str, Any]:
    """Arguments of a shell."""
    return {"command": list(words)}


WRITE = {"file_path": "notes.md", "content": "x" * 60}

LEAKS: dict[str, tuple[str, object, object, str]] = {
    # tool, arguments, result, what must not be kept
    "colours within a token": ("Bash", {"command": "grep ghp_ ."}, f"a: \x1b[01;31m\x1b[Kghp_\x1b[m{TOKEN[4:]} b", "a1B2"),
    "a joiner within a token": ("Bash", {"command": f"echo {TOKEN[:9]}\u200b{TOKEN[9:]} {LONG}"}, LONG, "a1B2"),
    "a hidden private tag": ("Bash", {"command": f"echo '<priv\u200bate>Xylograph</private>' {LONG}"}, LONG, "Xylograph"),
    "colours in a private tag": ("Bash", {"command": "cat it"}, f"<pri\x1b[1mvate>Xylograph</private> {LONG}", "Xylograph"),
    "an overwritten private tag": ("Bash", {"command": "cat it"}, f"<private>\rhello\nXylograph</private> {LONG}", "Xylograph"),
    "a key in a patch": ("Write", WRITE, patch(*(f"+{line}" for line in PEM)), "MIIEpAIB"),
    "private lines of a patch": ("Write", WRITE, patch("+<private>", "+Zebulon", "+</private>"), "Zebulon"),
    "private blocks": ("mcp__a__b", {"query": LONG}, blocks("<private>one", "Barnstorm", "</private> two"), "Barnstorm"),
    "a key over blocks": ("mcp__a__b", {"query": LONG}, blocks(*PEM), "MIIEpAIB"),
    "words of a command": ("shell", argv("curl", "-u", "deploy:Tr0ub4dor-Xk9", "https://a.example.org"), LONG, "Tr0ub4dor"),
    "an option of a command": ("shell", argv("deploy", "--password", "Kr8zzQ!92plMx", "--now"), LONG, "Kr8zzQ"),
    "a shell's own words": ("shell", argv("bash", "-lc", "curl -u me:Tr0ub4dor-Xk9 https://a.example.org"), LONG, "Tr0ub4dor"),
    "JSON as text": ("Bash", json.dumps({"command": f"echo <private>Wimbledon</private> {LONG}"}).replace("<", "\\u003c"), LONG, "Wimbledon"),
    "JSON as a result": ("shell", {"command": LONG}, '{"output": "\\u003cprivate>Wimbledon\\u003c/private> ' + LONG + '"}', "Wimbledon"),
    "edits in JSON": (
        "MultiEdit",
        {"file_path": "a", "edits": [json.dumps({"old_string": "a", "new_string": "<private>Wimbledon</private>"}).replace("<", "\\u003c")]},
        LONG,
        "Wimbledon",
    ),
    "JSON that is too long": ("Bash", '{"command": "\\u003cprivate>Wimbledon ' + "a\n" * 600_000 + '"}', LONG, "Wimbledon"),
    "private from the middle of a long line": ("Bash", {"command": "cat it"}, "a1 " * 20_000 + "<private>" + "b2 " * 20_000 + "Quillfeather</private> done", "Quillfeather"),
    "private from the middle of long lines": ("Bash", {"command": "cat it"}, "a1\n" * 60_000 + "<private>" + "b2\n" * 40_000 + "Quillfeather\n" * 9 + "</private> done", "Quillfeather"),
    "private from beyond the bounds": ("Bash", {"command": "cat it"}, "a1\n" * 400_000 + "<private>\n" + "Quillfeather\n" * 9, "Quillfeather"),
    "a token at a cut": ("Bash", {"command": "cat it"}, "q " * 40_000 + TOKEN + " r" * 24_900, "a1B2"),
    "a name of a tool": (f"mcp__x__{TOKEN}", {"query": LONG}, LONG, "a1B2"),
    "lines of a key alone": ("Edit", {"file_path": "k", "old_string": "\n".join(PEM[2:6]), "new_string": "x"}, {}, "MIIEpAIB"),
    "one line of a key": ("Edit", {"file_path": "k", "old_string": PEM[2], "new_string": PEM[3] + "\n"}, {}, "MIIEpAIB"),
    "a part of a line of a known key": (
        "Edit",
        {"file_path": "k", "old_string": f"x = '{PEM[2]}'", "new_string": "x"},
        {"originalFile": "\n".join(PEM)},
        "MIIEpAIB",
    ),
    "a name beside its value": ("mcp__a__b", {"query": LONG}, {"content": {"password": "Zk3!pLw92qRt", "text": LONG}}, "Zk3!pLw9"),
    "a value below its name in a patch": ("apply_patch", {"input": f"*** Begin Patch\n*** Update File: a\n@@\n-{LONG}\n+db_password:\n+  value: hedgehog7\n*** End Patch"}, LONG, "hedgehog7"),
    "a value below its name in blocks": ("mcp__a__b", {"query": LONG}, blocks("db_password:", "  value: hedgehog7", LONG), "hedgehog7"),
    "a command's object": ("shell", {"command": ["echo", {"a": "<private>"}, {"Wimbledon": 1}]}, LONG, "Wimbledon"),
}  # fmt: skip


def stored(tool: str, given: object, answered: object, error: str = "") -> str:
    """The payload that is stored of a use."""
    call = cleaned_call(ToolCall(tool, given, answered, error))
    return cleaned_value(tool_use(call, PathRoots("/p", "/p"))).as_json()


@pytest.mark.parametrize("name", LEAKS)
def test_nothing_private_is_in_what_is_stored(name: str) -> None:
    """Neither a private span nor a secret, however it is hidden, spread or cut."""
    tool, given, answered, needle = LEAKS[name]

    assert needle not in stored(tool, given, answered)


@pytest.mark.parametrize("name", LEAKS)
def test_nothing_private_is_in_the_home(name: str, tmp_path: Path) -> None:
    """Nor in any file that is written of the event, its observation told or not."""
    tool, given, answered, needle = LEAKS[name]
    talk = new_talk(tmp_path, {}, memory_batch_window_ms=0)
    talk.ask("Fix the endless retry loop of the payment client: stop after some attempts")
    talk.tell("PostToolUse", tool=tool, tool_input=given, tool_response=answered)
    talk.tell("PostToolUse", tool="Bash", tool_input={"command": "cargo test -p plum"}, tool_response=f"ok {LONG}")
    before = _bytes_of(talk)
    talk.stop(f"Done with {TOKEN}, <private>Xylograph</private>.")

    assert b"cargo test -p plum" in before
    assert needle.encode() not in before + _bytes_of(talk)
    assert b"a1B2a1B2" not in _bytes_of(talk)


def _bytes_of(talk: Talk) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(talk.home.rglob("*")) if path.is_file())


def test_a_long_prompt_is_cleaned_before_it_is_cut(tmp_path: Path) -> None:
    """What is cut out makes room for what follows, up to a secret that was cut in two before."""
    talk = new_talk(tmp_path, {}, memory_batch_window_ms=0)
    pem = "\n".join(PEM[:1] + PEM[1:-1] * 12 + PEM[-1:])
    asked = f"Please look at this:\n{pem}\n"
    talk.ask(asked + "word " * ((10_000 - len(asked) - 20) // 5) + f" {TOKEN} and then use it")

    assert b"Please look at this" in _bytes_of(talk)
    assert TOKEN[:12].encode() not in _bytes_of(talk)


def test_ordinary_values_stay_as_they_are() -> None:
    """Of any form; numbers, empty texts and nothing too."""
    given = {"command": ["ls", "-l"], "n": 3, "flag": True, "none": None, "empty": "", "list": [1, {"a": ["b", ""]}]}
    answered = {"stdout": ORDINARY * 20, "filenames": ["a.py", "b.py"], "deep": [[["x"]]], "part": 0.5}
    found = cleaned_call(ToolCall("Bash", given, answered, "Exit code 1\nno"))

    assert (given, answered, "Exit code 1\nno") == (found.arguments, found.result, found.error)


def test_what_a_terminal_overwrote_is_gone() -> None:
    """A progress bar leaves its last state; line ends of Windows are line ends."""
    assert "done\nnext\n100%" == cleaned_text("10%\r50%\rdone\r\nnext\r\r\n90%\r100%\r")


def test_both_ends_of_a_long_text_stay() -> None:
    """Outcomes stand at the end; whole lines stay."""
    found = cleaned_text("first\n" + ORDINARY * 10_000 + "last")

    assert len(found) <= MAX_CHARS + 2
    assert found.startswith("first\n" + ORDINARY)
    assert found.endswith(ORDINARY + "last")
    assert {"first", ORDINARY.rstrip("\n"), "…", "last"} == set(found.split("\n"))


def test_a_value_whose_name_was_cut_off_is_not_kept() -> None:
    """The end of a long text is kept from some lines after the cut."""
    text = "ab\n" * 50_000 + "name: DB_PASSWORD\n" + "value: Winter24x9\n" + "cd\n" * 33_327

    assert "Winter24x9" not in cleaned_text(text)
    assert cleaned_text(text).endswith("cd\n" * 30_000)


def test_a_long_text_without_line_ends_is_dropped() -> None:
    """It may be cut nowhere."""
    assert "" == cleaned_text("word " * 50_000)


def _n_leaves(value: object) -> tuple[int, int]:
    texts = Texts()
    texts.take(value)
    return len(texts.leaves), sum(len(leaf.text) for leaf in texts.leaves)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ["abc"] * 560_000,
        lambda: {f"k{number}": "abc" for number in range(560_000)},
        lambda: [0] * 2_000_000,
        lambda: ["x" * 9_000] * 2_200,
    ],
    ids=["strings", "fields", "numbers", "20 MB"],
)
def test_no_more_is_looked_at_than_the_bounds_say(make: Callable[[], object]) -> None:
    """Beyond so many strings and characters everything is dropped, before anything is done with it."""
    value = make()
    n_leaves, n_chars = _n_leaves(value)
    found = cleaned_call(ToolCall("mcp__a__b", {"query": LONG}, value))

    assert n_leaves <= MAX_TEXTS
    assert n_chars <= 1_000_000
    assert len(json.dumps(found.result)) <= MAX_CHARS + 20 * MAX_TEXTS


def test_what_is_nested_too_deeply_is_cut_there() -> None:
    """Nothing recurses without end, and what follows is left out, for it may belong to what was cut."""
    value: object = "bottom"
    for _ in range(900):
        value = {"content": [value, "after"]}
    found = cleaned_call(ToolCall("mcp__a__b", value, value))

    assert "bottom" not in json.dumps(found.result)
    assert json.dumps(found.result).count("[") <= MAX_DEPTH
    assert "" == tool_use(ToolCall("Bash", {}, value), PathRoots("/p", "/p")).output.replace("after", "").strip()
    assert stored("Bash", '{"a":' + "[" * 100_000, '{"output":' + "[" * 100_000)


def test_the_name_of_a_tool_is_short() -> None:
    """It may be anything."""
    assert MAX_TOOL_CHARS == len(cleaned_name("a" * 5_000))
    assert "mcp__files__read" == cleaned_name("mcp__files__read")


def test_the_id_of_a_session_is_short() -> None:
    """A longer one is known by its digest, as is one that is no plain name."""
    assert "s1" == session_of("s1")
    assert 200 == len(session_of("s" * 200))
    assert [64, 64] == [len(session_of("s" * 201)), len(session_of(TOKEN))]
    assert session_of("s" * 201) != session_of("s" * 202)


def test_lines_of_a_key_are_told_from_others() -> None:
    """Digests, paths, rules and words of sixty letters are none."""
    key = PEM[1:-1]
    others = [
        ["0123456789abcdef" * 4] * 5,
        ["home/User1/Projects/Payments/Client/Source/Retrying/Attempts/Backoff"] * 5,
        ["//////////" * 7] * 5,
        ["incomprehensibilities" * 4] * 5,
    ]

    for before in ("", "+", "    ", "12→", '"'):
        text = "a\n" + "".join(f"{before}{line}\n" for line in key) + f"{before}aB3d==\nend"
        (found,) = key_lines(text)
        assert (f"a\n{before}", "\nend") == (text[: found.start], text[found.end :])
    assert [] == [found for lines in others for found in key_lines("\n".join(lines))]
    assert [] == [*key_lines("\n".join(key[:2]))]
    assert [] == [lines for lines in others if is_key_line("\n".join(lines))]
    assert is_key_line(key[0])


def test_what_was_told_is_cleaned_once_more() -> None:
    """Whoever extracted it; what is told of nothing private stays as it is."""
    told = Extracted("bugfix", f"Set {TOKEN}", facts=("<private>one", "two</private>", "three"), files_read=("a.py",))
    plain = Extracted("change", "Fix the loop", narrative="a\nb → c", facts=("x",), concepts=("gotcha",))

    found = cleaned_value(told)
    assert ("Set [redacted:github_token]", (" ", "", "three")) == (found.title, found.facts)
    assert plain == cleaned_value(plain)
    assert Summarised(notes="The [redacted:github_token]") == cleaned_value(Summarised(notes=f"The {TOKEN}"))


def test_what_is_told_of_a_use_is_cleaned_too(tmp_path: Path) -> None:
    """Lines that hid nothing where they stood may hide a secret where they are quoted."""
    output = f"{ORDINARY * 5}-  password: Berlin1989!\n+  password: kitty_cat_7\n{ORDINARY * 5}"
    payload = stored("Bash", {"command": "make all"}, {"stdout": output, "stderr": ""})
    told = maker(new_talk(tmp_path, {}).workspace())([PendingEvent("Bash", payload, "d", 0, 0)], "")

    assert "password" in repr(told)
    assert "kitty_cat_7" not in repr(told)


def test_a_stored_use_comes_back_alike() -> None:
    """As it was, letters of other scripts too."""
    use = ToolUse(
        "Edit",
        "edit",
        files_written=("a.py",),
        edits=(Edit("a.py", "x = 1", "x = 2", "f", True),),
        output=ORDINARY,
        exit_code=1,
        start_line=3,
    )

    assert use == ToolUse.from_json(use.as_json())


def test_scopes_are_apart() -> None:
    """A private span that is never closed ends with its list, or with its own text."""
    texts = Texts()
    taken = texts.take({"a": ["x<private>y", "z"], "b": "x<private>y", "c": "w"})
    texts.cut_private()

    assert {"a": ["x ", ""], "b": "x ", "c": "w"} == filled(taken)


def test_private_spans_are_cut_out_of_what_is_imported() -> None:
    """Also those over several facts, and those that nobody sees; other texts come as they are."""
    row = {
        "kind": "observation",
        "type": "bugfix",
        "session_id": "s" * 300,
        "project_key": "k" * 16,
        "project": f"p {TOKEN}",
        "title": "Set <priv\u200bate>Matterhorn</private>",
        "narrative": f"{TOKEN[:9]}\u200b{TOKEN[9:]} and <private>Matterhorn",
        "facts": ["one <private>", "Matterhorn", "</private> two"],
        "concepts": ["a", "b"],
        "digest": TOKEN + "-" * 24,
    }
    lines = [json.dumps(one) for one in ({"kind": "header", "format": FORMAT, "version": VERSION}, row)]
    ((_, found),) = read_lines(lines, 0, "x.jsonl")

    assert isinstance(found, Observation)
    assert "Matterhorn" not in repr(found)
    assert "a1B2" not in repr(found)
    assert 64 == len(found.owner.session_id)
    assert ("a", "b") == found.told.concepts
    assert "two" in found.told.facts[-1]


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ("the login page", "spring.datasource.password=correcthorse", "const { password, ...rest } = user;"),
        ("password: null", "cargo login RPdZI2X14FYqVQxoJ3XHn8J85mVcC2CPI6fcubht", "presence: true"),
        ("name: db", "stringData:\n  password: kitty_cat_7", "cache.get(key=user_id)"),
        ("gh auth token", "the oauth client secret was rotated, new value iwBZ1DB74j50B-btzf4AGjO9", "key: value"),
    ],
)
def test_what_stands_beside_a_text_does_not_hide_its_secret(before: str, text: str, after: str) -> None:
    """A text is read alone too."""
    secret = text.replace("=", " ").split()[-1]
    stored = cleaned_call(ToolCall("Edit", {"before": before, "text": text, "after": after}, None))

    assert secret not in json.dumps(stored.arguments)
