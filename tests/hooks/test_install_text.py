from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.hooks.install.clients import CLIENTS
from hybrid.hooks.install.command import Launcher, absolute_launcher
from hybrid.hooks.install.jsonc import JsoncError, parse
from hybrid.hooks.install.merge import (
    commands,
    install_text,
    lists_of,
    strip_text,
    with_hooks,
    without_hooks,
)
from hybrid.hooks.install.parts import SettingsError
from tests.support.examples import examples

CLAUDE = CLIENTS["claude"]
LAUNCHER = Launcher(("/opt/a b/python", "-I", "-S", "/opt/hybrid/entry.py"), "linux")
FOREIGN = {"matcher": "Bash", "hooks": [{"type": "command", "command": "other --tool"}]}

_SPACES = st.sampled_from(["", " ", "\n", "\n  ", "\t", "\r\n", " // a note\n", "/* block */", '\n// "x": 1,\n'])
_KEYS = st.sampled_from(["model", "a b", "permissions", "ключ", "https://x", 'q"uote', "", "env"])
_ATOMS = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "x", "//no comment", "{", "é\n"]))


@st.composite
def _written(draw: st.DrawFn, value: Any) -> str:
    """A value as someone may have written it: any spacing, comments, trailing commas."""
    if not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    pairs = value.items() if isinstance(value, dict) else [(None, part) for part in value]
    parts = []
    for key, part in pairs:
        name = "" if key is None else json.dumps(key) + draw(_SPACES) + ":" + draw(_SPACES)
        parts.append(draw(_SPACES) + name + draw(_written(part)) + draw(_SPACES))
    comma = "," + draw(_SPACES) if parts and draw(st.booleans()) else ""
    inside = ",".join(parts) + comma if parts else draw(_SPACES)
    return f"{{{inside}}}" if isinstance(value, dict) else f"[{inside}]"


_VALUES = st.recursive(
    _ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)
_EVENTS = st.dictionaries(
    st.sampled_from(["UserPromptSubmit", "Stop", "PreToolUse"]), st.lists(st.just(FOREIGN), max_size=2)
)


@st.composite
def _settings(draw: st.DrawFn) -> str:
    value: dict[str, Any] = draw(st.dictionaries(_KEYS, _VALUES, max_size=3))
    if draw(st.booleans()):
        value["hooks"] = draw(_EVENTS)
    return draw(_SPACES) + draw(_written(value)) + draw(_SPACES)


def _install(text: str, launcher: Launcher = LAUNCHER) -> str:
    return with_hooks(text, CLAUDE, CLAUDE.events, launcher, name="settings.json")


def _comments(text: str) -> list[str]:
    """What is left without strings and values: the notes of people."""
    return re.findall(r"// a note|/\* block \*/|// \"x\": 1,", re.sub(r'"(?://no comment|https://x)"', "", text))


@examples(400)
@given(_settings())
def test_any_settings_take_our_entries_and_lose_them_again(text: str) -> None:
    """Whatever the file looks like: ours are added after the others, values and notes stay, and removal leaves those."""
    before = parse(text).value

    installed = _install(text)
    after = parse(installed).value
    removed = strip_text(installed, name="f", keep=lists_of(text))

    assert before == {key: value for key, value in after.items() if key != "hooks"} | (
        {"hooks": before["hooks"]} if "hooks" in before else {}
    )
    for event, groups in before.get("hooks", {}).items():
        assert groups == after["hooks"][event][: len(groups)]
    assert set(CLAUDE.events) <= set(after["hooks"])
    assert before == parse(removed).value
    assert _comments(text) == _comments(installed) == _comments(removed)
    assert installed == _install(installed)


@examples(200)
@given(_settings())
def test_entries_are_replaced_when_the_interpreter_moved(text: str) -> None:
    """An older form of ours is replaced, not joined, and everything else stays."""
    old = _install(text, Launcher(("/old/python", "-I", "/old/hybrid/entry.py"), "linux"))

    new = _install(old)

    assert "/old/" not in new
    assert parse(_install(text)).value == parse(new).value
    assert _comments(text) == _comments(new)


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "model": "opus"\n}\n',
        '{\n    "model": "opus", // fast\n    "hooks": {\n        "Stop": [\n            {"hooks": []}\n        ],\n    },\n}\n',
        '{\r\n\t"a": [1,\r\n\t2]\r\n}',
        '\ufeff{\n  "a": 1\n  // the end\n}\n',
        '{"a":1}',
        '// only a note\n{\n  "hooks": {\n    "PreToolUse": []\n  }\n}',
    ],
    ids=["plain", "commas", "windows", "mark", "flat", "note"],
)
def test_removal_without_a_record_gives_the_text_back(text: str) -> None:
    """In the usual forms of a file even the editing itself is undone to the byte."""
    assert text == strip_text(_install(text), name="f", keep=lists_of(text))


def test_the_text_follows_the_indentation_of_the_file() -> None:
    """Four spaces, tabs or Windows line ends: what is added looks like what is there."""
    tabs = _install('{\r\n\t"a": 1\r\n}\r\n')

    assert '\r\n\t"hooks": {\r\n\t\t"SessionStart": [\r\n\t\t\t{' in tabs
    assert "\n" not in tabs.replace("\r\n", "")
    assert '\n    "hooks": {\n        "SessionStart": [\n' in _install('{\n    "a": 1\n}\n')


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1', "line 1: a comma or } is missing"),
        ('{\n"a" 1}', "line 2: a colon is missing"),
        ("{'a': 1}", "line 1: the name of a member is missing"),
        ('{"a": tru}', "line 1: a value is missing or misspelt"),
        ('{"a": 01}', "line 1"),
        ('{"a": 1,, "b": 2}', "line 1"),
        ("{} {}", "more text after the end"),
        ("[" * 5000, "nested too deeply"),
        ("[]", "it holds no object"),
        ('{"hooks": []}', "its `hooks` is no object"),
        ('{"hooks": {"Stop": {}}}', "its `hooks.Stop` is no list"),
        ('{"hooks": {}, "hooks": {}}', "it holds `hooks` twice"),
    ],
)
def test_what_its_client_would_not_read_is_refused(text: str, why: str) -> None:
    """A file that does not parse, or whose hooks have another form, is named with the reason."""
    with pytest.raises(SettingsError, match=re.escape(why)) as error:
        _install(text)

    assert "\n" not in str(error.value)
    assert str(error.value).startswith("settings.json is not changed")


@given(st.text(max_size=20) | _settings())
def test_the_parser_agrees_with_the_standard_one(text: str) -> None:
    """What `json` reads, ours reads the same; what ours refuses, `json` refuses too."""
    try:
        expected = json.loads(text)
    except ValueError:
        return
    if "NaN" in text or "Infinity" in text:
        return

    assert expected == parse(text).value


def test_strings_with_control_characters_are_refused() -> None:
    """A line break inside a string is an error, as for every client."""
    with pytest.raises(JsoncError, match="line 1"):
        parse('{"a": "b\nc"}')


def test_only_our_handler_leaves_a_group_that_others_share() -> None:
    """A handler beside ours in one group stays, and a wrapped or older command of ours goes."""
    mine = {"type": "command", "command": "cd /x && /v/bin/hybrid hook inject-context --client claude"}
    other = {"type": "command", "command": "hybrid-linter hook run"}
    text = json.dumps(
        {"hooks": {"UserPromptSubmit": [{"hooks": [mine, other, mine]}], "Stop": [{"hooks": [mine]}]}}, indent=2
    )

    removed = strip_text(text, name="f")

    assert {"hooks": {"UserPromptSubmit": [{"hooks": [other]}]}} == json.loads(removed)


@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if client.events and not client.module])
def test_every_client_gets_its_own_form(name: str) -> None:
    """Each event once, one command of ours each, and removal leaves what a new file is."""
    client = CLIENTS[name]

    text = with_hooks("", client, client.events, absolute_launcher(), name="f")
    found = list(commands(parse(text)))

    assert list(client.events) == [each.event for each in found]
    assert dict(client.base) == json.loads(without_hooks(text, client, name="f"))
    assert text == with_hooks(text, client, client.events, absolute_launcher(), name="f")


def test_a_base_member_that_is_there_stays() -> None:
    """`version` is added where it is missing, and never changed."""
    wanted = [("Stop", {"type": "command", "bash": "hybrid hook run --client copilot"})]

    assert 2 == parse(install_text('{"version": 2}', wanted, base={"version": 1}, name="f")).value["version"]
    assert 1 == parse(install_text("", wanted, base={"version": 1}, name="f")).value["version"]
