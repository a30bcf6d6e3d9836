"""Texts of clients' files with and without us; the cases are in `tests/cases/installers`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.clients import clients
from hybrid.hooks.install.changes import label_of
from hybrid.hooks.install.jsonc import JsoncError, parse
from hybrid.hooks.install.merge import COMMANDS, TOOLS, hooks_of, parts_of
from hybrid.hooks.install.parts import PORTABLE, Launcher, SettingsError, Wanted, is_ours
from tests.support.cases import Case, cases
from tests.support.examples import examples

if TYPE_CHECKING:
    from hybrid.hooks.install.merge import Part

WANTED = Wanted(PORTABLE, ("SessionStart",))
FORMS = {
    "as it is": lambda text: text,
    "byte order mark": lambda text: f"\ufeff{text}",
    "lines of Windows": lambda text: text.replace("\n", "\r\n"),
}


def _part(case: Case) -> Part:
    client, kind = case.name.partition(":")[0].split()
    return next(part for part in parts_of(clients()[client]) if part.kind == kind)


def _texts(case: Case) -> tuple[str, str]:
    """What is given and what is expected, each with an end of its last line unless it is empty."""
    given, expected = (f"{text}\n" if text else "" for text in (case.text, case.expected or ""))
    return given, expected.replace("{tools}\n", TOOLS).replace("{commands}\n", COMMANDS)


@pytest.mark.parametrize("form", FORMS)
@cases("installers/added.txt")
def test_our_part_is_added_and_leaves_no_trace(case: Case, form: str) -> None:
    """Layout, comments, line ends and byte order mark stay; a second time changes nothing; removal is to the byte."""
    part, (given, expected) = _part(case), _texts(case)
    given, expected = (FORMS[form](text) if given else text for text in (given, expected))

    added = part.with_us(given, WANTED, name="f")
    removed = part.without_us(added, original=given, name="f")

    assert expected == added
    assert added == part.with_us(added, WANTED, name="f")
    assert 1 == len(part.found_in(added, name="f"))
    assert given == removed or (not given and part.is_left_empty(removed))


@cases("installers/updated.txt")
def test_older_entries_of_ours_are_replaced(case: Case) -> None:
    """Entries of others, and what a client or a person added to ours, stay."""
    given, expected = _texts(case)

    assert expected == _part(case).with_us(given, WANTED, name="f")


@cases("installers/removed.txt")
def test_our_entries_go_without_a_record(case: Case) -> None:
    """On another machine nothing is known of the text from before us."""
    given, expected = _texts(case)

    assert expected == _part(case).without_us(given, original="", name="f")


@cases("installers/refused.txt")
def test_a_text_that_is_not_ours_to_change_is_refused(case: Case) -> None:
    """The message is one line with the name of the file and the reason."""
    with pytest.raises(SettingsError, match=re.escape(case.expected or "")) as error:
        _part(case).with_us(case.text, WANTED, name="settings.json")

    assert "\n" not in str(error.value)
    assert str(error.value).startswith("settings.json is not changed")


def test_an_entry_in_a_form_of_its_own_is_removed_by_hand() -> None:
    """Lines cannot take it out, and the message says so."""
    text = 'mcp_servers = { hybrid = { command = "hybrid", args = ["mcp", "--client", "codex"] } }\n'
    part = next(part for part in parts_of(clients()["codex"]) if part.kind == "mcp")

    with pytest.raises(SettingsError, match=re.escape("take `mcp_servers.hybrid` out by hand")):
        part.without_us(text, original="", name="config.toml")


@pytest.mark.parametrize("part", [part for each in clients().values() for part in parts_of(each)], ids=label_of)
def test_every_part_is_current_when_it_is_new(part: Part) -> None:
    """A new file of every client names us, is of this version, and holds nothing without us."""
    launcher = Launcher(("/opt/a b/python", "-I", "-S", "/opt/hybrid/entry.py"), "linux")
    wanted = Wanted(launcher, tuple(part.client.events) if part.kind == "hooks" else ())

    text = part.with_us("", wanted, name="f")
    found = part.found_in(text, name="f")

    assert list(wanted.events) == [each.event for each in found if each.event]
    assert {"/opt/a b/python" if part.kind != "rules" else ""} == {each.program for each in found}
    assert "" == part.outdated(text, found)
    assert text == part.with_us(text, wanted, name="f")
    assert part.is_left_empty(part.without_us(text, original="", name="f"))


@pytest.mark.parametrize(
    ("client", "kind", "old", "new", "told"),
    [
        ("gemini", "hooks", "AfterAgent", "Gone", "registered for fewer events than now (without AfterAgent)"),
        (
            "claude",
            "hooks",
            '"PostToolUse": [\n      {',
            '"PostToolUse": [\n      {"matcher": "Edit",',
            "fewer tools than now",
        ),
        ("opencode", "hooks", '"session.idle"', '"session.gone"', "the module is not the one of this version"),
        ("vscode", "mcp", '"stdio"', '"http"', "the entry is not the one of this version"),
        ("codex", "rules", "`recall`", "`remind`", "the instruction is not the one of this version"),
    ],
)
def test_a_part_of_an_earlier_version_is_told(client: str, kind: str, old: str, new: str, told: str) -> None:
    """What differs is said in words, and another installation makes it current."""
    part = next(part for part in parts_of(clients()[client]) if part.kind == kind)
    wanted = Wanted(PORTABLE, clients()[client].events)
    text = part.with_us("", wanted, name="f").replace(old, new)
    again = part.with_us(text, wanted, name="f")

    assert told in part.outdated(text, part.found_in(text, name="f"))
    assert "" == part.outdated(again, part.found_in(again, name="f"))


@pytest.mark.parametrize("handler", [{"command": None, "args": 3}, "hybrid hook run --client claude"], ids=str)
def test_a_handler_of_another_form_is_not_ours(handler: object) -> None:
    """Settings hold what people write; nothing of it raises."""
    assert not is_ours(handler)


# --- any settings -----------------------------------------------------------------------------------------


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


def _comments(text: str) -> list[str]:
    """What is left without strings and values: the notes of people."""
    return re.findall(r"// a note|/\* block \*/|// \"x\": 1,", re.sub(r'"(?://no comment|https://x)"', "", text))


@examples(400)
@given(_settings())
def test_any_settings_take_our_entries_and_lose_them_again(text: str) -> None:
    """Ours are added after the others, values and notes stay, a moved interpreter is replaced, and removal leaves all."""
    part = hooks_of("claude")
    events = tuple(part.client.events)
    wanted = Wanted(PORTABLE, events)
    before = parse(text).value

    old = part.with_us(text, Wanted(Launcher(("/old/python", "/old/hybrid/entry.py"), "linux"), events), name="f")
    new = part.with_us(old, wanted, name="f")
    after = parse(new).value
    removed = part.without_us(new, original=text, name="f")

    assert "/old/" not in new
    assert before == {key: value for key, value in after.items() if key != "hooks"} | (
        {"hooks": before["hooks"]} if "hooks" in before else {}
    )
    for event, groups in before.get("hooks", {}).items():
        assert groups == after["hooks"][event][: len(groups)]
    assert set(events) <= set(after["hooks"])
    assert before == parse(removed).value
    assert _comments(text) == _comments(old) == _comments(new) == _comments(removed)


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


def test_deep_nesting_is_refused() -> None:
    """A file of brackets alone ends in a message, not in the limit of the interpreter."""
    with pytest.raises(JsoncError, match="nested too deeply"):
        parse("[" * 5000)
