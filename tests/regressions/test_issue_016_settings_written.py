"""Settings that are written but do not count, files that cannot be changed, the order of arguments, odd sessions (#16)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

PROMPT = "How does the payment client retry?"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """The payments project before its first index, with a folder of its own."""
    found = new_shop(tmp_path, is_indexed=False)
    (found.root / ".hybrid").mkdir()
    found.home.mkdir(exist_ok=True)
    return found


def test_options_may_stand_between_arguments(shop: Shop) -> None:
    """`config set --user KEY VALUE` was refused: the key was taken for an argument that is not known."""
    shop.out("config", "set", "--user", "hooks.budget", "80")

    assert "80" == shop.out("config", "get", "--quiet", "hooks.budget").strip()


def test_setting_that_another_layer_overrides_is_told(shop: Shop) -> None:
    """What was written is no news when something else counts: the command says which value, and where it is from."""
    shop.out("trust", "--quiet")
    shop.out("config", "set", "hooks.budget", "7")

    told = shop.out("config", "set", "hooks.budget", "80", "--user")

    assert told.endswith(f"In force: 7 ({shop.root}/.hybrid/config.toml, which comes before this file)\n")


def test_value_that_counts_after_a_setting_is_removed_is_told(shop: Shop) -> None:
    """Removing a setting of one layer uncovers that of the layer below."""
    shop.out("config", "set", "hooks.budget", "80", "--user")
    shop.out("config", "set", "hooks.budget", "7")

    told = shop.out("config", "unset", "hooks.budget")

    assert told.endswith(f"In force: 80 ({shop.home}/config.toml)\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"[hooks]\nbudget = 1\nbudget = 2\n", "is not TOML", id="a key twice"),
        pytest.param(b"# " + 1_100_000 * b"x", "is longer than 1,000,000 bytes", id="far too long"),
    ],
)
def test_file_that_cannot_be_changed_is_left_alone(shop: Shop, content: bytes, reason: str) -> None:
    """A clone may bring any file; it was an internal error, or all of the machine's memory."""
    file = shop.root / ".hybrid" / "config.toml"
    file.write_bytes(content)

    told = shop.error("config", "set", "hooks.budget", "80")

    assert reason in told
    assert content == file.read_bytes()


def test_linked_settings_of_the_user_are_changed_where_they_lie(shop: Shop, tmp_path: Path) -> None:
    """People keep their settings elsewhere and link them."""
    elsewhere = tmp_path / "dotfiles.toml"
    elsewhere.write_text("# mine\n")
    (shop.home / "config.toml").symlink_to(elsewhere)

    shop.out("config", "set", "hooks.budget", "80", "--user")

    assert ["# mine", "[hooks]", "budget = 80"] == list(filter(None, elsewhere.read_text().splitlines()))


def test_session_with_a_long_name_is_paused(shop: Shop) -> None:
    """Events name such a session in short; a pause that kept the long name paused nothing, and said that it did."""
    session = "s" * 300
    shop.out("pause", "--session", session)

    assert "" == shop.hook(PROMPT, session=session)
    assert shop.reasons()[-1].startswith("paused")
