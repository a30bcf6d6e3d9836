"""Fixtures of the tests with real clients: they come from `HYBRID_CLIENTS_DIR`, and without it these tests skip."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import pytest

from tests.clients import agents, agents_without_hooks
from tests.clients.claude_code import Claude
from tests.clients.desk import SCRIPTS, close_desk, open_desk
from tests.clients.installing import MissingError, command_of, find_node, folder_of, install_all, packages, wanted_names
from tests.clients.mock_api import MockApi
from tests.clients.seat import Seat, left_behind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AGENTS = {each.name: each for each in (*agents.AGENTS, *agents_without_hooks.AGENTS)}


class OpenSeat(Protocol):
    """Sets up a client by its name; skips the test when the client cannot be run here."""

    def __call__(self, name: str, *, model: str = "") -> Seat:
        """Do it."""
        ...


@pytest.fixture(scope="session")
def clients_folder() -> Path:
    """Where the clients are; what is missing in it is installed from npm or PyPI."""
    folder = folder_of(os.environ)
    if folder is None:
        pytest.skip("HYBRID_CLIENTS_DIR names no folder for the clients; `make clients` does")
    if not (SCRIPTS / "hybrid").exists():
        pytest.skip(f"hybrid is not installed beside {SCRIPTS / 'python'}")
    return folder


@pytest.fixture(scope="session")
def missing_clients(clients_folder: Path) -> dict[str, str]:
    """Why clients cannot be run, by name. HYBRID_CLIENTS names those that are wanted; all of them when it is not set."""
    wanted = wanted_names(os.environ)
    unwanted = {name: "HYBRID_CLIENTS does not name it" for name in packages() if name not in wanted}
    return unwanted | install_all(clients_folder, wanted)


@pytest.fixture
def open_seat(tmp_path: Path, clients_folder: Path, missing_clients: dict[str, str]) -> Iterator[OpenSeat]:
    """Sets clients up; afterwards nothing of them may run."""
    seats: list[Seat] = []
    with MockApi() as api:

        def open_one(name: str, *, model: str = "") -> Seat:
            package = packages()[name]
            try:
                if name in missing_clients:
                    raise MissingError(missing_clients[name])
                program = command_of(package, clients_folder)
                node = find_node(package.node or 16).parent
            except MissingError as error:
                pytest.skip(f"{name}: {error}")
            desk = open_desk(tmp_path / f"desk{len(seats)}", api, node)
            agent = (Claude if name == "claude" else _AGENTS[name])(program, **({"model": model} if model else {}))
            agent.prepare(desk)
            seats.append(Seat(desk, agent))
            return seats[-1]

        yield open_one
        for seat in seats:
            close_desk(seat.desk)
    assert [] == [program for seat in seats for program in left_behind(seat.desk)]
