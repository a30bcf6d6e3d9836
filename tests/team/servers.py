"""The stores that the contract tests run against, from registry packages, each in an environment of its own.

    HYBRID_MILVUS_DIR=FOLDER python -m tests.team.servers

installs them. Without a folder nothing is installed, and the tests skip. Every store listens on 127.0.0.1 only.
"""

# ruff: noqa: T201 - printing is what it does when it is run
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

START_S = 90
INSTALL_S = 900
_DONE = "installed"


@dataclass(frozen=True, slots=True)
class Package:
    """A store as the registry knows it.

    Attributes:
        name: Ours.
        packages: What is installed for it.
        least: The oldest release that the tests open knowingly.
    """

    name: str
    packages: tuple[str, ...]
    least: tuple[int, ...] = (2, 5, 0)


STORES = {
    package.name: package
    for package in (
        # It imports pymilvus without asking for it.
        Package("lite-3.2.2", ("milvus-lite==3.2.2", "pymilvus==3.0.2")),
        Package("lite-2.5.1", ("milvus-lite==2.5.1",)),
        # Its package asks for pkg_resources.
        Package("server-2.3.5", ("milvus==2.3.5", "setuptools<81"), least=(2, 3)),
    )
}


def folder_of_stores() -> Path | None:
    """Where the stores are installed; None when the environment names no folder."""
    folder = os.environ.get("HYBRID_MILVUS_DIR")
    return Path(folder).resolve() if folder else None


def install_all(folder: Path) -> None:
    """Install the stores that are not there yet.

    Raises:
        subprocess.SubprocessError: One cannot be installed.
    """
    for package in STORES.values():
        own = folder / package.name
        if (own / _DONE).exists():
            continue
        print(f"installing {package.name}")
        subprocess.run([sys.executable, "-m", "venv", own], check=True, timeout=INSTALL_S)
        pip = [own / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *package.packages], check=True, timeout=INSTALL_S)
        (own / _DONE).touch()


@dataclass(slots=True)
class Server:
    """A store as a process; it can be stopped, started again with what it held, and frozen."""

    package: Package
    environment: Path
    data: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def uri(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it accepts connections.

        Raises:
            RuntimeError: It ended instead, or did not answer in time.
        """
        self.port = self.port or _free_port()
        self.data.mkdir(parents=True, exist_ok=True)
        with (self.data.parent / f"{self.data.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.data,
                env=self._environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        ends_s = time.monotonic() + START_S
        if self.package.name.startswith("server"):
            line = self._process.stdout.readline() if self._process.stdout else b""
            if line.strip() != b"ready":
                raise RuntimeError(f"{self.package.name} did not start: {self._process.wait(120)}")
        while time.monotonic() < ends_s and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{self.package.name} does not listen on {self.port}")

    def _command(self) -> list[str]:
        python, port = str(self.environment / "bin" / "python"), str(self.port)
        if self.package.name.startswith("server"):
            return [python, str(Path(__file__).with_name("closed_server.py")), port, str(self.data)]
        if self.package.name == "lite-2.5.1":
            program = next(self.environment.glob("lib/python3*/site-packages/milvus_lite/lib/milvus"))
            return [str(program), str(self.data / "team.db"), f"127.0.0.1:{port}", "ERROR"]
        program = str(self.environment / "bin" / "milvus-lite")
        return [program, "server", "--host", "127.0.0.1", "--port", port, "--data-dir", str(self.data)]

    def _environ(self) -> dict[str, str]:
        libraries = next(self.environment.glob("lib/python3*/site-packages/milvus_lite/lib"), None)
        return {**os.environ, **({"LD_LIBRARY_PATH": str(libraries)} if libraries else {})}

    def stop(self) -> None:
        """Kill it, as a machine that fails does, and wait until it is gone."""
        if self._process is None:
            return
        if self.package.name.startswith("server") and self._process.stdin:
            self._process.stdin.close()  # The helper ends the server, which nobody else could find.
            self._process.wait(120)
        else:
            self._signal(signal.SIGKILL)
            self._process.wait(120)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process = None

    def freeze(self) -> None:
        """Let it answer nothing, without closing a connection."""
        self._signal(signal.SIGSTOP)
        pid = self._process.pid if self._process else 0
        while Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2][0] != "T":
            time.sleep(0.01)

    def thaw(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, number)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


if __name__ == "__main__":
    wanted = folder_of_stores()
    if wanted is None:
        sys.exit("set HYBRID_MILVUS_DIR to the folder for the stores")
    install_all(wanted)
