from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import CHECKOUT, new_shop
from tests.support.records import RECORD_FILES, new_talk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

THIRD_PARTY = (
    "msgspec",
    "numpy",
    "numpy.ma",
    "tomli",
    "tomlkit",
    "pathspec",
    "rich",
    "rank_bm25",
    "tree_sitter",
    "semble_grammars",
    "tokenizers",
    "torch",
    "mcp",
    "mcp_types",
    "pydantic",
    "anyio",
    "starlette",
    "uvicorn",
)


def _loaded_after(code: str, **environ: str) -> set[str]:
    """Third-party packages that a fresh process holds after running some code."""
    script = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {THIRD_PARTY} if name in sys.modules]), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)} | environ,
        capture_output=True,
        input="",
        text=True,
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "module",
    [
        "hybrid.hooks",
        "hybrid.hooks.run",
        "hybrid.hooks.keeping",
        "hybrid.hooks.service",
        "hybrid.session.pauses",
    ],
)
def test_what_a_hook_imports_first_is_standard_library_only(module: str) -> None:
    """The process of a hook starts without a single third-party package."""
    assert set() == _loaded_after(f"import {module}")


@pytest.mark.parametrize("module", ["hybrid.session.ledger", "hybrid.log.events", "hybrid.log.state"])
def test_the_books_of_a_session_load_the_library_of_values_only(module: str) -> None:
    """Ledger, log and counters are light: the library of our values is the one third-party package behind them."""
    assert {"msgspec"} >= _loaded_after(f"import {module}")


def test_version_and_help_need_nothing() -> None:
    """`hybrid --version` and `--help` load no third-party package."""
    run = "from hybrid.cli.main import run\nrun(['{}'], started_s=0.0)"

    assert set() == _loaded_after(run.format("--version")) == _loaded_after(run.format("--help"))


def test_a_prompt_that_is_not_searched_loads_no_numpy(tmp_path: Path) -> None:
    """For an acknowledgement only the settings are read: tomli and the library of our values, nothing else."""
    shop = new_shop(tmp_path)
    event = json.dumps({"prompt": "thanks a lot, that is all", "cwd": str(shop.root)})

    assert {"msgspec", "tomli"} == _after_a_prompt(event, shop.home)


def test_a_prompt_loads_only_what_searching_needs(tmp_path: Path) -> None:
    """On the way of a prompt stand numpy, tomli and the library of our values; no grammar, no rank-bm25, no rich, no torch."""
    shop = new_shop(tmp_path)
    event = json.dumps({"prompt": "How does the payment client retry?", "cwd": str(shop.root)})

    loaded = _after_a_prompt(event, shop.home)

    assert ["injected"] == shop.reasons()
    assert {"msgspec", "numpy", "tomli"} == loaded


def test_what_comes_after_an_answer_is_not_imported_before_it() -> None:
    """Log, counters, a session's start, and what learns from transcripts wait until a prompt has its answer."""
    late = [
        f"hybrid.{name}" for name in ("answer.recording", "answer.session_start", "log.state", "capture.transcript")
    ]
    code = (
        "import sys, hybrid.hooks.taking, hybrid.search.searcher, hybrid.knowledge.record_indexes\n"
        f"print([name for name in {late} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=CHECKOUT)

    assert "[]\n" == done.stdout


def test_a_first_prompt_imports_nothing_that_writes_records_or_builds(tmp_path: Path) -> None:
    """Without a service a prompt reads indexes and records: what builds or changes them waits until it is needed."""
    late = [
        "hybrid.index.build",
        "hybrid.index.catalog",
        "hybrid.index.workers",
        "hybrid.records.lessons.writing",
        "hybrid.records.lore.patterns",
        "hybrid.records.memory.writing",
        "hybrid.records.memory.forgetting",
        "hybrid.records.memory.forgetting",
        "hybrid.records.memory.transfer",
        "hybrid.records.memory.transfer",
        "hybrid.records.memory.writing",
        "hybrid.chunking",
        "subprocess",
        "asyncio",
        "http",
        "email",
        "importlib.metadata",
    ]
    files = {name: text for name, text in RECORD_FILES.items() if name.endswith((".md", ".jsonl"))}
    talk = new_talk(tmp_path, files)
    talk.ask("Should we edit the migration that was applied?")  # Its records are indexed now.
    event = {"prompt": "May I edit an applied migration?", "cwd": str(talk.root), "session_id": "s2"}
    code = (
        "import sys, msgspec\n"
        "known = set(sys.modules)\n"  # With Python 3.10 msgspec brings `subprocess` itself, by way of `uuid`.
        "from hybrid.hooks.taking import answer_event\n"
        "from hybrid.hooks.event import parse_event\n"
        f"fields = parse_event({json.dumps(event).encode()!r}, client='claude', event='UserPromptSubmit', cwd='/')\n"
        "reply, printed = answer_event(fields, {}, set_deadline=lambda _: None, elapsed_ms=lambda: 0.0)\n"
        "assert reply.decision.reason == 'injected', reply.debug_line\n"
        f"print([name for name in {late} if name in set(sys.modules) - known])\n"
        "reply.drop()"
    )
    environ = os.environ | {"HYBRID_HOME": str(talk.home), "HOME": str(tmp_path / "user"), "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)

    assert ("", "[]\n") == (done.stderr, done.stdout)


def _after_a_prompt(event: str, home: Path) -> set[str]:
    code = (
        f"import os, time\nours, theirs = os.pipe()\nos.write(theirs, {event.encode()!r})\n"
        "os.close(theirs)\nos.dup2(ours, 0)\n"
        "from hybrid.cli.main import run\n"
        "assert run(['hook', 'inject-context'], started_s=time.perf_counter()) == 0"
    )
    return _loaded_after(code, HYBRID_HOME=str(home), HYBRID_HOOKS_DEADLINE_MS="60000")


# --- tools of agents ----------------------------------------------------------------------------------------


FOR_TOOLS = ("hybrid.operations", "hybrid.mcp_server", "hybrid.daemon.performing", "mcp")
"""Beginnings of the modules that only somebody who asks through a tool needs."""


def _for_tools(loaded: Iterable[str]) -> list[str]:
    return [name for name in loaded if any(name == one or name.startswith(f"{one}.") for one in FOR_TOOLS)]


def test_the_relay_imports_little_of_ours_and_nothing_of_others() -> None:
    """Beside the standard library stand the home, the wire and the start of processes; each session keeps a relay."""
    code = (
        "import sys, hybrid.mcp_server.relay\nprint(sorted(name for name in sys.modules if name.startswith('hybrid')))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(CHECKOUT)},
    )

    assert {
        "hybrid",
        "hybrid.base",
        "hybrid.base.home",
        "hybrid.ipc",
        "hybrid.ipc.wire",
        "hybrid.ipc.start",
        "hybrid.mcp_server",
        "hybrid.mcp_server.relay",
    } == set(ast.literal_eval(done.stdout))
    assert set() == _loaded_after("import hybrid.mcp_server.relay")


WEB = {
    "web": set[str](),
    "dashboard.app": {"starlette", "jinja2"},
    "mcp_server.server": {"mcp", "starlette", "uvicorn"},
    "mcp_server.http": {"mcp", "starlette", "uvicorn"},
}


@pytest.mark.parametrize("name", WEB)
def test_page_and_tools_do_not_load_what_the_other_needs(name: str) -> None:
    """Either loads its packages at the first use; the web process loads none before somebody asks for something."""
    code = f"import sys, hybrid.{name}\nprint(sorted({{*sys.modules}} & {{'mcp', 'starlette', 'uvicorn', 'jinja2'}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert WEB[name] == set(ast.literal_eval(done.stdout))


def test_a_hook_imports_nothing_for_tools(tmp_path: Path) -> None:
    """A prompt that is answered without a service needs nothing of what answers tools."""
    shop = new_shop(tmp_path)
    event = {"prompt": "How does the payment client retry?", "cwd": str(shop.root), "session_id": "s1"}
    code = (
        "import json, sys\n"
        "import hybrid.hooks.run\n"
        "from hybrid.hooks.taking import answer_event\n"
        "from hybrid.hooks.event import parse_event\n"
        f"fields = parse_event({json.dumps(event).encode()!r}, client='claude', event='UserPromptSubmit', cwd='/')\n"
        "reply, printed = answer_event(fields, {}, set_deadline=lambda _: None, elapsed_ms=lambda: 0.0)\n"
        "assert reply.decision.reason == 'injected', reply.debug_line\n"
        "print(json.dumps(list(sys.modules)))\n"
        "reply.drop()"
    )
    environ = os.environ | {"HYBRID_HOME": str(shop.home), "HOME": str(tmp_path / "user"), "PYTHONPATH": str(CHECKOUT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environ)

    assert [] == _for_tools(json.loads(done.stdout))


def test_a_service_that_answers_hooks_imports_nothing_for_tools(tmp_path: Path) -> None:
    """Of what answers tools a service imports nothing before the first question of a tool."""
    shop = new_shop(tmp_path)
    found = tmp_path / "modules.json"
    code = (
        "import json, os, sys, threading, time\n"
        "from pathlib import Path\n"
        "home, root, found = sys.argv[1:]\n"
        "def look():\n"
        "    from hybrid.ipc.start import daemon_status, stop\n"
        "    from hybrid.ipc.wire import connect, read_endpoint\n"
        "    while not daemon_status(home)['running']:\n"
        "        time.sleep(0.02)\n"
        "    event = json.dumps({'prompt': 'How does the payment client retry?', 'cwd': root, 'session_id': 's1'})\n"
        "    connection = connect(read_endpoint(home), timeout_s=60)\n"
        "    connection.receive(timeout_s=60)\n"
        "    named = (b'event', b'claude', b'UserPromptSubmit', os.fsencode(root), b'0', b'30000', b'')\n"
        "    connection.send(*named, event.encode(), timeout_s=60)\n"
        "    answer = connection.receive(timeout_s=60)[0]\n"
        "    Path(found).write_text(json.dumps([len(answer), list(sys.modules)]))\n"
        "    connection.send(b'0', timeout_s=60)\n"
        "    connection.close()\n"
        "    stop(home, timeout_s=60)\n"
        "threading.Thread(target=look, daemon=True).start()\n"
        "from hybrid.cli.main import run\n"
        "run(['daemon', 'run', '--project', root], started_s=0.0)\n"
    )
    environ = os.environ | {"HYBRID_HOME": str(shop.home), "HOME": str(tmp_path / "user"), "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", code, str(shop.home), str(shop.root), str(found)]
    subprocess.run(command, capture_output=True, check=False, env=environ, timeout=120)

    n_bytes, loaded = json.loads(found.read_text())
    assert n_bytes > 0
    assert [] == _for_tools(loaded)
