"""Times `hybrid mcp` as clients meet it: start to first answer, memory of sessions, calls; for `speed`.

The unit is an interpreter that imports what any relay needs, started in turn with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.evaluation.timing import sum_up, time_each, time_ms
from hybrid.ipc.start import WEB, start_command, stop
from hybrid.ipc.wire import read_endpoint
from hybrid_lab.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hybrid.evaluation.timing import Runner

_CLIENTS = (1, 4)
_PLACE = re.compile(r"\[(?:code|doc)\] (.+?:\d+-\d+)(?= |$)", re.MULTILINE)
"""The place of a hit in the text of `search`."""
_END_S = 20.0
_LOOK_S = 0.02
_GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "speed", "version": "1"},
}


class ToolMeasurement:
    """The server of tools of an indexed project.

    Args:
        root: Of the project.
        runner: Of processes, with the home of its index.
        queries: At least one; searched for in turn.
        rounds: Of warm starts; a third of them cold.
        n_calls: Of each tool, by each client.
        sessions: Numbers of sessions at which memory is looked at.
    """

    def __init__(
        self,
        root: Path,
        runner: Runner,
        queries: Sequence[str],
        *,
        rounds: int,
        n_calls: int = 200,
        sessions: Sequence[int] = (1, 20),
    ) -> None:
        self._root = root
        self._runner = runner
        self._home = runner.environ["HYBRID_HOME"]
        self._queries = queries
        self._rounds = rounds
        self._n_calls = n_calls
        self._sessions = sessions
        self._ref = ""

    def figures(self) -> dict[str, Any]:
        """Starts cold and warm, memory by sessions, calls by tool and number of clients.

        Raises:
            HybridError: The server gave no answer; the extra `mcp` may be missing.
        """
        try:
            cold = self._starts(max(self._rounds // 3, 3), is_cold=True)
            warm = self._starts(self._rounds, is_cold=False)
            return {"cold": cold, "warm": warm, "memory": self._memory(), "calls": self._calls()}
        finally:
            self._end()

    # --- starts -------------------------------------------------------------------------------------------

    def _starts(self, n: int, *, is_cold: bool) -> dict[str, Any]:
        """From the start of the command to the answer to greeting, list of tools and a first tool, beside an import."""
        greeted_ms, listed_ms, answered_ms = list[float](), list[float](), list[float]()
        bare_ms, import_ms = list[float](), list[float]()
        service, ref = ServiceProcess(self._runner), self._file()
        for number in range(n + 1):
            if is_cold:
                self._end()
            bare, imported = time_ms(service.bare), time_ms(_import_package)
            started_s = time.perf_counter()
            with self._session(is_greeted=False) as client:
                client.greet()
                greeted_s = time.perf_counter()
                client.list_tools()
                listed_s = time.perf_counter()
                client.call("read", ref=ref)
                answered_s = time.perf_counter()
            if number:  # The first round fills the caches of the system.
                bare_ms.append(bare)
                import_ms.append(imported)
                listed_ms.append((listed_s - started_s) * 1000)
                greeted_ms.append((greeted_s - started_s) * 1000)
                answered_ms.append((answered_s - started_s) * 1000)
        base = sum_up(bare_ms)
        return {
            "bare_client": base.as_json(),
            "import": sum_up(import_ms).as_json(per_bare_client=base.median_ms),
            "tool_list": sum_up(listed_ms).as_json(per_bare_client=base.median_ms),
            "greeting": sum_up(greeted_ms).as_json(per_bare_client=base.median_ms),
            "first_tool": sum_up(answered_ms).as_json(per_bare_client=base.median_ms),
        }

    def _file(self) -> str:
        """What a first question reads: the best hit of the first query."""
        if not self._ref:
            with self._session() as client:
                found = client.call("search", query=self._queries[0], kinds=["code", "doc"], limit=1)
            hit = _PLACE.match(found)
            if hit is None:
                raise HybridError(f"nothing is found for {self._queries[0]!r}")
            self._ref = hit[1]
        return self._ref

    # --- memory -------------------------------------------------------------------------------------------

    def _memory(self) -> dict[str, Any]:
        """Resident bytes of the largest relay and of the web process, by number of sessions that each asked once."""
        found: dict[str, Any] = {}
        self._end()
        for n in self._sessions:
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(self._session()) for _ in range(n)]
                for client in clients:
                    client.call("search", query=self._queries[0], limit=1)
                relays = [resident_bytes_of(client.pid) for client in clients]
                web = resident_bytes_of(self._web())
                known = [size for size in relays if size is not None]
                found[f"sessions_{n}"] = {"relay_bytes": max(known, default=None), "web_bytes": web}
        return found

    # --- calls --------------------------------------------------------------------------------------------

    def _calls(self) -> dict[str, Any]:
        """Times of a call, and calls in a second, of `read` and `search` by one client and by four at once."""
        found: dict[str, Any] = {}
        for name in ("read", "search"):
            arguments = self._arguments(name)
            for n in _CLIENTS:
                times_ms, seconds = self._by_clients(name, arguments, n)
                figures = sum_up(times_ms).as_json() | {"per_s": round(len(times_ms) / seconds, 1)}
                found[f"{name}_{n}"] = figures
        return found

    def _arguments(self, name: str) -> list[dict[str, Any]]:
        if name == "search":
            return [{"query": self._queries[n % len(self._queries)], "limit": 8} for n in range(self._n_calls)]
        return [{"ref": self._file()}] * self._n_calls

    def _by_clients(self, name: str, arguments: Sequence[dict[str, Any]], n: int) -> tuple[list[float], float]:
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(self._session()) for _ in range(n)]
            times_ms: list[float] = []
            failures: list[Exception] = []

            def ask(client: _Client) -> None:
                try:
                    times_ms.extend(time_each(lambda each: client.call(name, **each), arguments))
                except Exception as error:  # noqa: BLE001 - raised again where somebody waits for it
                    failures.append(error)

            threads = [threading.Thread(target=ask, args=[client]) for client in clients]
            started_s = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - started_s
        if failures:
            raise failures[0]
        return times_ms, seconds

    # --- processes ----------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _session(self, *, is_greeted: bool = True) -> Generator[_Client]:
        client = _Client(self._runner, self._root)
        try:
            if is_greeted:
                client.greet()
            yield client
        finally:
            client.end()

    def _web(self) -> int:
        return int((read_endpoint(self._home, WEB) or {}).get("pid", "0"))

    def _end(self) -> None:
        """End web process and service, and wait until both are gone."""
        pid = self._web()
        if pid:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        stop(self._home, timeout_s=_END_S)
        until_s = time.monotonic() + _END_S
        while self._web() and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        # A service may be started again at once.
        Path(self._home, "run", "starting").unlink(missing_ok=True)


class _Client:
    """Speaks lines of JSON to the command that clients start; no library, whose cost would be counted."""

    def __init__(self, runner: Runner, root: Path) -> None:
        self._process = subprocess.Popen(
            start_command("mcp", "--client", "claude"),
            cwd=root,
            env=dict(runner.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def greet(self) -> None:
        self._ask("initialize", _GREETING)
        self._say({"method": "notifications/initialized"})

    def list_tools(self) -> None:
        self._ask("tools/list", {})

    def call(self, name: str, **arguments: Any) -> str:
        found = self._ask("tools/call", {"name": name, "arguments": arguments})
        text = found["content"][0]["text"]
        if found.get("isError"):
            raise HybridError(f"{name}: {text[:300]}")
        return text

    def end(self) -> None:
        stdin, self._process.stdin = self._process.stdin, None
        if stdin:
            with contextlib.suppress(OSError):
                stdin.close()
        self._process.communicate(timeout=_END_S)

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self._say({"id": self._number, "method": method, "params": params})
        assert self._process.stdout
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise HybridError(answer["error"]["message"])
                return answer["result"]
        raise HybridError("`hybrid mcp` ended; is the extra `mcp` installed?")

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def _import_package() -> None:
    subprocess.run([sys.executable, "-I", "-c", "import mcp.server.lowlevel"], check=True)


def resident_bytes_of(pid: int) -> int | None:
    """Return the memory of a process in bytes; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
