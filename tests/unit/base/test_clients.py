"""Files of clients: what is in all of them, and what a wrong one says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from hybrid.base.clients import UNKNOWN, client_named, clients, read_client, session_in
from hybrid.base.errors import HybridError
from hybrid.base.resources import shipped
from hybrid.hooks.install.merge import hooks_of, parts_of
from hybrid.hooks.install.parts import PORTABLE, Launcher

if TYPE_CHECKING:
    from pathlib import Path

WITH_HOOKS = [name for name, client in clients().items() if client.events]
LAUNCHERS = (PORTABLE, Launcher(("/opt/python", "/opt/hybrid/entry.py"), "linux"))


def test_every_file_is_a_client() -> None:
    """They are listed in their order, and no two have the same place."""
    files = {path.stem for path in shipped("hooks", "clients").iterdir()}

    assert files == set(clients())
    assert sorted({client.order for client in clients().values()}) == [each.order for each in clients().values()]


@pytest.mark.parametrize("name", clients())
def test_a_client_has_what_the_pages_say_of_it(name: str) -> None:
    """A label, at least one part, and what was tried."""
    client = client_named(name)

    assert client.label
    assert client.page
    assert client.page.read or client.package
    assert parts_of(client)
    assert bool(client.hooks) == bool(client.events)
    assert set(client.shared_with) <= {other for other in clients() if client_named(other).mark}


@pytest.mark.parametrize("name", WITH_HOOKS)
def test_a_client_with_hooks_can_be_asked_and_answered(name: str) -> None:
    """It calls for prompts, has a page of its own, and its entries can be written."""
    client, hooks = client_named(name), hooks_of(name)

    assert "UserPromptSubmit" in client.events.values()
    assert client.page
    assert client.page.first
    assert client.page.shows
    assert all(
        hooks.settings.module or hooks.entry(event, launcher) for launcher in LAUNCHERS for event in client.events
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('labl = "Emacs"', "Object contains unknown field `labl`"),
        ('label = "Emacs"\n[events]\nprompt = "Prompt"', "Invalid enum value 'Prompt' - at `$.events[...]`"),
        ('label = "Emacs"\n[hooks.files]\nhome = ["a"]', "Invalid enum value 'home' - at `key` in `$.hooks.files`"),
        ("label", "Expected '=' after a key"),
    ],
)
def test_a_wrong_file_says_where(tmp_path: Path, text: str, told: str) -> None:
    """The message names the file and the key."""
    path = tmp_path / "emacs.toml"
    path.write_text(text)

    with pytest.raises(HybridError) as error:
        read_client(path)

    assert str(error.value).startswith(f"{path}: ")
    assert told in str(error.value)


def test_an_entry_with_an_unknown_mark_is_refused() -> None:
    """A slip in a file is found by a test, not by a user."""
    codex = hooks_of("codex")
    settings = replace(codex.settings, entry={"command": "{lines}"})
    wrong = replace(codex, client=replace(codex.client, hooks=settings), settings=settings)

    with pytest.raises(KeyError, match=r"\{lines\}"):
        wrong.entry("Stop", PORTABLE)


def test_a_name_without_a_file_has_the_defaults() -> None:
    """Events that come by hand, or from a client that nobody described, are answered as Claude Code's are."""
    assert UNKNOWN == client_named("manual")
    assert "nested" == client_named("manual").answer


@pytest.mark.parametrize("name", [name for name in clients() if client_named(name).session])
def test_the_session_of_a_client_is_found(name: str) -> None:
    """By its variable; an empty one is none."""
    variable = client_named(name).session

    assert "s1" == session_in({variable: "s1"})
    assert "" == session_in({variable: ""})
