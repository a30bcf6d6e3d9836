"""Connects to the store that settings name; whoever searches, builds or pushes calls it."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from hybrid.base.errors import ConfigError
from hybrid.team.asking import Connection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.config import IndexConfig
    from hybrid.team.store import StoreKey, TeamStore

TOKEN = "MILVUS_TOKEN"
"""The environment variable with `user:password` or the key of the store; it stands in no file of hybrid."""
OPEN_S = 20.0
"""Seconds until a store must have answered; a search waits for it no longer than `Connections` says."""


def connect(
    settings: IndexConfig, key: StoreKey, *, makes: bool = False, environ: Mapping[str, str] = os.environ
) -> TeamStore:
    """Open the store of the settings for what was made by a key.

    Args:
        settings: Name the store.
        key: Model, recipe and schema.
        makes: Make what is missing in the store, which only a push does.
        environ: Holds the token.

    Raises:
        ConfigError: The settings name no store, or pymilvus is missing.
        StoreDownError: It does not answer in time, or refuses.
        StoreNotReadyError: Nothing was pushed there yet.
        IndexMismatchError: It is too old, or what is there was pushed by another version or for another model.
    """
    require_uri(settings)
    from hybrid.team.address import address_of
    from hybrid.team.milvus import open_milvus

    address = address_of(settings.uri, settings.collection, environ.get(TOKEN, ""))
    return open_milvus(address, key, timeout_s=OPEN_S, makes=makes)


def require_uri(settings: IndexConfig) -> None:
    """Check that the settings name a store.

    Raises:
        ConfigError: They name none.
    """
    if not settings.uri:
        raise ConfigError("no team's index is set: `hybrid config set index.uri https://HOST:19530 --user`")


class Connections:
    """The connections of a process, one for each store and key.

    Args:
        wait_s: As of `Connection`.
    """

    def __init__(self, *, wait_s: float | None = None) -> None:
        self._wait_s = wait_s
        self._open: dict[tuple[str, str, StoreKey], Connection] = {}
        self._lock = threading.Lock()

    def to(self, settings: IndexConfig, key: StoreKey) -> Connection:
        """Return the connection to the store of the settings, which may not be open yet."""
        with self._lock:
            name = settings.uri, settings.collection, key
            if name not in self._open:
                self._open[name] = Connection(lambda: connect(settings, key), wait_s=self._wait_s)
            return self._open[name]
