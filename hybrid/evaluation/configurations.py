"""Ways to search that an evaluation asks side by side: settings on top of those in force, and legs; plain values.

`hybrid eval` chooses them, `opening` makes searchers of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.config import Config
    from hybrid.search.searcher import Mode

MODES: tuple[Mode, ...] = ("dense", "lexical", "hybrid")
"""The legs alone, then both."""

_KINDS = {
    "bm25 at all": ("best_words", "sum_words", "file_words", "definition_words", "remarks", "opening"),
    "cosine at all": ("best_sense", "sum_sense", "file_sense", "feedback"),
}
"""Pieces of evidence that come from one leg's way to compare; names and paths are left on."""


class Configuration(Struct, frozen=True):
    """One way to search.

    Attributes:
        label: Unique among those that are asked together.
        settings: `section.key=value`, on top of the settings in force.
        mode: Legs that take part.
    """

    label: str
    settings: tuple[str, ...] = ()
    mode: Mode = "hybrid"


def in_force(modes: Sequence[Mode]) -> list[Configuration]:
    """The settings in force in each mode; the label is the mode."""
    return [Configuration(mode, (), mode) for mode in modes]


def against(settings: Sequence[str], mode: Mode) -> Configuration:
    """The settings in force with others on top; the label names those."""
    return Configuration(", ".join(settings), tuple(settings), mode)


def ablations(config: Config, mode: Mode) -> list[Configuration]:
    """The settings in force with one thing off each: a leg, the ranker, a kind of evidence, a piece that has a weight.

    Args:
        config: In force; without the evidence ranker its pieces have no say, and only the legs are left.
        mode: Of what they are compared with; a leg can only be switched off where both take part.
    """
    found: list[Configuration] = []
    if mode == "hybrid":
        found += [Configuration("lexical leg alone", (), "lexical"), Configuration("dense leg alone", (), "dense")]
    if config.search.ranker != "evidence":
        return found
    found.append(Configuration("fusion alone", ("search.ranker=rrf",), mode))
    weighted = [name for name, weight in asdict(config.ranking).items() if weight]
    off = {name: tuple(f"ranking.{piece}=0" for piece in pieces) for name, pieces in _KINDS.items()}
    off |= {name: (f"ranking.{name}=0",) for name in weighted}
    return [*found, *(Configuration(f"no {name}", settings, mode) for name, settings in off.items())]
