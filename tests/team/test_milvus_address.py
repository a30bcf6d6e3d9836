from __future__ import annotations

import sys
import types

import pytest

from hybrid.base.errors import ConfigError, StoreDownError
from hybrid.team.milvus import address_of, open_milvus
from hybrid.team.store import shown_uri
from tests.team.conftest import KEY


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("milvus.example.com", "https://milvus.example.com:19530"),
        ("milvus.example.com:443/payments", "https://milvus.example.com:443/payments"),
        ("https://milvus.example.com:19530", "https://milvus.example.com:19530"),
        ("127.0.0.1:19531", "http://127.0.0.1:19531"),
        ("http://localhost:19530", "http://localhost:19530"),
        ("http://[::1]:19530", "http://[::1]:19530"),
    ],
)
def test_tls_is_used_for_every_other_machine(given: str, used: str) -> None:
    """Without a scheme an address means TLS, but for this machine."""
    assert used == address_of(given, "hybrid", "").uri


@pytest.mark.parametrize(
    "uri",
    [
        *(
            "http://milvus.example.com",
            "ftp://x",
            "https://",
            "https://me:pw@milvus.example.com",
            "https://h:port",
            "h?q",
        ),
        *("https://me:pw@h:99999", "https://me:pw@[h:1", "me:pw@h:x", "https://me:p/?pw@[h"),
    ],
)
def test_an_address_that_would_tell_others_is_refused(uri: str) -> None:
    """Code never goes across a network in the open, and no password stands in an address or a message."""
    with pytest.raises(ConfigError, match=r"index\.uri") as error:
        address_of(uri, "hybrid", "")

    assert "pw" not in str(error.value)
    assert error.value.__cause__ is None


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://me:p@s/?://w@h:1/payments?token=x", "https://h:1/payments"),
        ("me:pw@h:1", "h:1"),
        ("https://h:1", "https://h:1"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_who_uses_it(given: str, shown: str) -> None:
    """What stands before the host, and a query, is shown nowhere."""
    assert shown == shown_uri(given)


def test_a_name_that_milvus_would_not_take_is_refused() -> None:
    """Collections have names of letters, digits and underscores."""
    with pytest.raises(ConfigError, match=r"index\.collection"):
        address_of("localhost", "team-index", "")


def test_a_token_stands_in_no_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the library that repeats the token is told without it, and without its cause."""
    library = types.ModuleType("pymilvus")

    def refuse(**arguments: object) -> None:
        raise RuntimeError(f"cannot log in with {arguments}")

    library.MilvusClient = refuse  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pymilvus", library)
    with pytest.raises(StoreDownError) as error:
        open_milvus(address_of("localhost", "hybrid", "root:verysecret"), KEY, timeout_s=1)

    assert "verysecret" not in str(error.value)
    assert error.value.__suppress_context__


@pytest.mark.parametrize("said", ["auth check failure for root", "wrong verysecret", "token root:verysecret"])
def test_halves_of_a_token_stand_in_no_message(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """User and password are left out each for itself, also of what a server answers when it is asked for its version."""

    class Client:
        def get_server_version(self, **_: object) -> str:
            raise RuntimeError(said)

        def close(self) -> None:
            pass

    library = types.ModuleType("pymilvus")
    library.MilvusClient = lambda **_: Client()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pymilvus", library)
    with pytest.raises(StoreDownError) as error:
        open_milvus(address_of("localhost", "hybrid", "root:verysecret"), KEY, timeout_s=1)

    assert "…" in str(error.value)
    assert not any(part in str(error.value) for part in ("root", "verysecret"))
    assert error.value.__cause__ is None


def test_without_pymilvus_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is named when it is missing."""
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(ConfigError, match=r"pip install .*\[milvus\]"):
        open_milvus(address_of("localhost", "hybrid", ""), KEY, timeout_s=1)
