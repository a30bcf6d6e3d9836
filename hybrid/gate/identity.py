"""Which background an index was compared with: the shipped files and the key that they give; no numpy."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from hybrid.models.probe import probe_digest
from hybrid.resources import shipped

if TYPE_CHECKING:
    from hybrid.types import EmbedderInfo

PROMPTS = ("models", "background", "prompts.jsonl")
TERMS = ("models", "background", "terms.tsv")
"""The shipped prompts, and the counts of terms in code at large."""

VERSION = "1"
"""Changes whenever the same prompts and model give other arrays: other pieces, other parts, other names."""

WORDS_VERSION = "1"
"""As `VERSION`, of what segments keep for the part "words" alone: the segments of files need not be written anew."""


def background_key(model: EmbedderInfo) -> str:
    """The identity of the background of a model, 16 hex digits; reads the files' bytes, embeds nothing."""
    files = (shipped(*PROMPTS).read_bytes(), shipped(*TERMS).read_bytes())
    names = (VERSION.encode(), model.key.encode(), probe_digest(model.name).encode())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (*files, *names))).hexdigest()[:16]


def annotation_key(background: str, *, with_hub: bool, with_words: bool = False) -> str:
    """The identity of what segments keep for the gate: the background's key, hubs subtracted or not, words or none."""
    return f"{background}{'+hub' if with_hub else ''}{f'+words{WORDS_VERSION}' if with_words else ''}"
