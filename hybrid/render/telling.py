"""Chooses the lines of a text that tell most about a query: what a preview shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.text import cut
from hybrid.base.tokens import query_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARTS = 3
"""Parts of a text that are shown besides its first line, at most."""
PART_LINES = 3
"""Lines of a part: a line that tells is read with those around it."""
FIRST_LINES = 3
"""Lines with text that are shown when no line but the head holds a word of the query, or when there is no query."""
GAP = "..."
"""Stands where lines were left out."""

_LINE_CHARS = 200
_LEAST_HEAD = 4
"""Characters of the shortest line in which a signature begins: `fn f`."""
_SAID_AGAIN = 0.25
"""Worth of a term in a part when a part chosen before holds it, as a share of its worth: new words tell more."""
_AT_EDGE = 0.9
"""Worth of a line at the edge of a part, as a share of its worth in the middle."""
_LEAST_PART = 0.2
"""Least worth of a part, as a share of the best one's."""


def telling_lines(text: str, weights: Mapping[str, float], signature: str = "", *, parts: int = PARTS) -> str:
    """Return the head of a text and the parts that hold most of a query, with `GAP` for what is left out.

    The head is the line where a signature begins, else the first line. The parts are chosen one after the other, each
    for what it adds to those before.

    Args:
        text: Without blank lines around it.
        weights: Term of the query → what it is worth, above 0; empty without a query.
        signature: Signature of the definition in the text, on one line; empty for none.
        parts: Parts that are shown besides the head, at most.

    Returns:
        The lines in order, each of at most 200 characters; all of them when a single one would be left out.
    """
    return "\n".join(line for _, line in numbered_telling_lines(text, weights, signature, parts=parts))


def numbered_telling_lines(
    text: str, weights: Mapping[str, float], signature: str = "", *, parts: int = PARTS
) -> list[tuple[int | None, str]]:
    """Return the lines of `telling_lines`, each with its number in the text, from 0; None for a `GAP`."""
    lines = [cut(line, _LINE_CHARS) for line in text.split("\n")]
    terms = [weights.keys() & query_tokens(line) if line.strip() else set[str]() for line in lines]
    head = _head(lines, signature)
    chosen = _chosen(terms, weights, head, parts)
    if len(chosen) < FIRST_LINES:
        chosen |= set([number for number, line in enumerate(lines) if line.strip()][:FIRST_LINES])
    return _with_gaps(lines, chosen, head)


def _with_gaps(lines: Sequence[str], chosen: set[int], head: int) -> list[tuple[int | None, str]]:
    """Return the chosen lines, `GAP` for others, a single one of which is shown; blank lines beside a gap go too."""
    blank = {number for number in chosen - {head} if not lines[number].strip()}
    chosen = chosen - {number for number in blank if not {number - 1, number + 1} <= chosen}
    shown: list[tuple[int | None, str]] = []
    before = -1
    for number in [*sorted(chosen), len(lines)]:
        n_left_out = number - before - 1
        shown += [(before + 1, lines[before + 1])] if n_left_out == 1 else [(None, GAP)] if n_left_out else []
        shown += [(number, line) for line in lines[number : number + 1]]
        before = number
    return [one for at, one in enumerate(shown) if one[1] != GAP or not at or shown[at - 1][1] != GAP]


def _head(lines: Sequence[str], signature: str) -> int:
    """Return the number of the line where a signature begins: comments and decorators may stand above it; else 0."""
    bare = [" ".join(line.split()) for line in lines]
    return next((at for at, line in enumerate(bare) if len(line) >= _LEAST_HEAD and signature.startswith(line)), 0)


def _chosen(terms: Sequence[set[str]], weights: Mapping[str, float], head: int, n_parts: int) -> set[int]:
    """Return the numbers of the head and of the lines of the parts that tell most."""
    worth = {term: weight * (_SAID_AGAIN if term in terms[head] else 1.0) for term, weight in weights.items()}
    chosen = {head}
    first = 0.0
    for _ in range(n_parts):
        of_line = [sum(worth[term] for term in sorted(held)) for held in terms]
        of_line[head] = 0.0  # It is shown anyway.
        edges = [0.0, *(_AT_EDGE * value for value in of_line), 0.0]
        parts = {at: edges[at] + of_line[at] + edges[at + 2] for at in range(len(terms)) if at not in chosen}
        best = max(parts, key=lambda at: (parts[at], -at), default=head)
        first = first or parts.get(best, 0.0)
        if parts.get(best, 0.0) <= _LEAST_PART * first:
            break
        part = range(max(best - PART_LINES // 2, 0), min(best + PART_LINES // 2 + 1, len(terms)))
        chosen.update(part)
        worth |= {term: worth[term] * _SAID_AGAIN for number in part for term in terms[number]}
    return chosen
