"""Searches one snapshot in a process of its own, with the code of the checkout that `PYTHONPATH` names; `measure` asks.

It is run as a script, so that an earlier checkout, which has no such module, can answer too. Each line of standard
input is a prompt, as JSON; each line of output the answer to it. The first line tells of the opening.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Open the snapshot in the folder of the first argument, and answer until the input ends.

    The second argument is `$HYBRID_HOME`, those behind it are constants for this run, `section.key=value` each.
    """
    folder, home = map(Path, sys.argv[1:3])
    from hybrid.config import load, parse_text
    from hybrid.index.snapshot import open_snapshot
    from hybrid.models.registry import load_embedder
    from hybrid.prompting.query import make_query
    from hybrid.search.gate.verdict import open_gate
    from hybrid.search.searcher import Judging, Searcher

    flags = {key: parse_text(key, text) for key, _, text in (each.partition("=") for each in sys.argv[3:])}
    config = load(home=home, environ=os.environ, flags=flags).config
    embedder = load_embedder(config.model.name, home=home)
    resident = _resident_bytes()
    started = time.perf_counter()
    backend = open_snapshot(folder, model=embedder.info.key)
    gate = open_gate(backend, embedder, home, config.gate)
    opened = time.perf_counter()
    searcher = Searcher(backend, embedder, config.search, gate=gate, ranking=config.ranking)
    figures = {"open_ms": 1000 * (opened - started), "chunks": backend.n_chunks, "has_gate": gate is not None}
    _say(figures)
    for line in sys.stdin:
        query = make_query(json.loads(line))
        started, used = time.perf_counter(), time.thread_time()
        found = searcher.search(query, top_k=10, judging=Judging())
        ms, cpu_ms = 1000 * (time.perf_counter() - started), 1000 * (time.thread_time() - used)
        hits = [(hit.path, hit.start_line) for hit in found.hits]
        opens = found.verdict.is_open if found.verdict else None
        answer = {"ms": ms, "cpu_ms": cpu_ms, "hits": hits, "opens": opens}
        _say(answer | {"more_bytes": _resident_bytes() - resident})


def _resident_bytes() -> int:
    """Return the memory that this process has in use, its share of mapped files too; 0 where nothing tells."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


def _say(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
