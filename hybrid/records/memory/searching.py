"""Searches the full text; used where the engine's index of records is not there, and by hand.

Any text is a query: its words are wanted, none is a command.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from hybrid.base.tokens import FUNCTION_WORDS
from hybrid.records.memory.queries import TABLES, Clause, is_wanted, select_prompts, where
from hybrid.records.memory.reading import NO_LIMIT, rows
from hybrid.records.memory.texts import marks
from hybrid.records.memory.types import MEMORY_KINDS, MemoryKind, Row, UserPrompt, Wanted

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_MAX_TERMS = 32
_SCORED_ROWS = 5_000
_COMMON_ROWS = 20_000
_FULL_TEXT: dict[MemoryKind, tuple[str, str]] = {
    # table, weights of its columns: a title says most, concepts are few words that many rows share
    "observation": ("observations_fts", "4.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0"),
    "summary": ("summaries_fts", "2.0, 1.0, 1.0, 2.0, 1.0, 1.0"),
}


def query_terms(query: str) -> list[str]:
    """The words of a text as terms of FTS5, in their order.

    A word is quoted: a compound one (`retry_count`) stands for its parts in a row. Words that say nothing of a topic
    are left out where there are others.
    """
    words = [word for word in dict.fromkeys(_WORD.findall(query)) if word.strip("_")]
    telling = [word for word in words if word.lower() not in FUNCTION_WORDS]
    return [f'"{word}"' for word in (telling or words)[:_MAX_TERMS]]


def search_text(db: sqlite3.Connection, query: str, wanted: Wanted, limit: int) -> list[tuple[Row, float]]:
    """The wanted rows that match best.

    Returns:
        Rows with their bm25 in [0, ∞), best first; equal ones newest first. Of observations and summaries each has
        the statistics of its own kind.
    """
    terms = query_terms(query)
    scored: list[tuple[float, MemoryKind, int]] = []
    if terms and limit > 0:
        for kind in MEMORY_KINDS:
            if is_wanted(kind, wanted):
                found = _scored(db, kind, terms, wanted, limit)
                scored.extend((-bm25, kind, identity) for identity, bm25 in found)
    by_kind = {kind: rows(db, kind, [one[2] for one in scored if one[1] == kind]) for kind in MEMORY_KINDS}
    hits = [(by_kind[kind][identity], max(0.0, bm25)) for bm25, kind, identity in scored]
    return sorted(hits, key=lambda hit: (-hit[1], -hit[0].created_ms, -hit[0].id))[:limit]


def _scored(
    db: sqlite3.Connection, kind: MemoryKind, terms: Sequence[str], wanted: Wanted, limit: int
) -> list[tuple[int, float]]:
    """Ids and bm25 as FTS5 has it, negative; no long column of a row is read for it."""
    table, weights = _FULL_TEXT[kind]
    clause = where(wanted)
    join = f"CROSS JOIN {TABLES[kind]} AS r ON r.id = {table}.rowid" if clause.parts else ""
    rare = _rare_terms(db, table, terms)
    # The unary plus keeps FTS5 from searching once for each of these rows.
    among = f"AND +{table}.rowid IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)" if rare else ""
    sql = (
        f"SELECT {table}.rowid, bm25({table}, {weights}) AS bm25 FROM {table} {join} "
        f"WHERE {table} MATCH ? {among} AND {clause.sql} ORDER BY bm25, {table}.rowid DESC LIMIT ?"
    )
    return db.execute(sql, (" OR ".join(terms), *([rare] if rare else []), *clause.values, limit)).fetchall()


def _rare_terms(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> str:
    """An expression for the rows that are worth scoring; empty for all that match.

    To score a row costs ten times what it costs to find it. Where many rows match, those are passed over that hold
    only words which are in very many of them.
    """
    sql = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {_COMMON_ROWS})"
    counts = {term: db.execute(sql, (term,)).fetchone()[0] for term in terms}
    rarest = sorted((term for term in terms if counts[term]), key=lambda term: counts[term])
    if sum(counts.values()) <= _SCORED_ROWS or counts[rarest[0]] >= _COMMON_ROWS:
        return ""
    rows = accumulate(counts[term] for term in rarest)
    return " OR ".join(term for n, term in zip(rows, rarest, strict=True) if n <= _SCORED_ROWS or term == rarest[0])


def search_prompts(db: sqlite3.Connection, query: str, wanted: Wanted, limit: int) -> list[tuple[UserPrompt, float]]:
    """As `search_text`, of prompts; types, files and kinds say nothing of them."""
    terms = query_terms(query)
    if not terms or limit <= 0:
        return []
    wanted = Wanted(wanted.key, wanted.since_ms, session_id=wanted.session_id, not_session=wanted.not_session)
    clause = where(wanted)
    scored: list[tuple[int, float]] = db.execute(
        "SELECT r.id, bm25(prompts_fts) AS bm25 "
        "FROM prompts_fts CROSS JOIN user_prompts AS r ON r.id = prompts_fts.rowid "
        f"WHERE prompts_fts MATCH ? AND {clause.sql} ORDER BY bm25, r.id DESC LIMIT ?",
        (" OR ".join(terms), *clause.values, limit),
    ).fetchall()
    ids = [identity for identity, _ in scored]
    by_id = {one.id: one for one in select_prompts(db, Clause().add(f"r.id IN ({marks(ids)})", *ids), "r.id", NO_LIMIT)}
    return [(by_id[identity], max(0.0, -bm25)) for identity, bm25 in scored]
