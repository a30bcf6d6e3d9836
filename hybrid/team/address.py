"""Addresses of a team's store: which are taken, and how they are told to people; it connects with nothing."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from hybrid.base.errors import ConfigError

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NAME = re.compile(r"[A-Za-z_]\w{0,99}\Z", re.ASCII)
_HIDDEN = re.compile(r"\A([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)


class Address(Struct, frozen=True):
    """The address of a store.

    Attributes:
        uri: With scheme, as pymilvus takes it.
        collection: Beginning of the names of the collections.
        token: `user:password` or a key; empty for none. It stands in no message and no log.
    """

    uri: str
    collection: str
    token: str = ""


def address_of(uri: str, collection: str, token: str) -> Address:
    """Return the address that settings name: without a scheme TLS is used, but for this machine.

    Raises:
        ConfigError: The uri or the name is none, or it would send everything across the network in the open.
    """
    if not _NAME.match(collection):
        raise ConfigError(f"index.collection {collection!r} is no name of a collection: use letters, digits and _")
    given = uri if "://" in uri else f"//{uri}"
    try:
        parts = urlsplit(given)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        # The message of the library repeats what stands before the @.
        raise ConfigError(f"index.uri {shown_uri(uri)!r} is no address of a store: use https://HOST:PORT") from None
    is_near = host in _LOOPBACK
    scheme = parts.scheme or ("http" if is_near else "https")
    if not host or scheme not in ("http", "https") or parts.username or parts.query:
        raise ConfigError(f"index.uri {shown_uri(uri)!r} is no address of a store: use https://HOST:PORT")
    if scheme == "http" and not is_near:
        raise ConfigError(f"index.uri would send code to {host} in the open: use https://, or a tunnel to 127.0.0.1")
    shown = f"[{host}]" if ":" in host else host
    return Address(f"{scheme}://{shown}:{port or 19530}{parts.path}", collection, token)


def shown_uri(uri: str) -> str:
    """Return an address for messages, without user, password and query, which it should not have."""
    return re.split("[?#]", _HIDDEN.sub(r"\1", uri), maxsplit=1)[0]
