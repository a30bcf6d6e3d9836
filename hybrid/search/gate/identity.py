"""Identifies the background that an index was compared with, by the shipped files; no numpy."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from hybrid.base.resources import shipped
from hybrid.models.registry import probe_digest
from hybrid.prompting.content import TERMS

if TYPE_CHECKING:
    from hybrid.constants import GateConfig
    from hybrid.types import EmbedderInfo

PROMPTS = ("models", "background", "prompts.jsonl")
"""Path, as parts, of the shipped prompts."""

VERSION = "2"
"""Changes whenever the same prompts and model give other arrays: other pieces, other parts, other names."""

SEGMENTS_VERSION = "2"
"""Changes whenever segments keep other arrays for the same background."""

RECORDS_VERSION = "1"
"""As `VERSION`, for the arrays that only segments of records have, so that those of files stay as they are."""


def background_key(model: EmbedderInfo) -> str:
    """Return the identity of the background of a model, 16 hex digits; reads the shipped files, embeds nothing."""
    files = (shipped(*PROMPTS).read_bytes(), shipped(*TERMS).read_bytes())
    names = (VERSION.encode(), model.key.encode(), probe_digest(model.name).encode())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in (*files, *names))).hexdigest()[:16]


EARLIER_SEGMENTS = ("",)
"""Versions before, of which the arrays are enough to judge by, without the parts that they lack."""


def annotation_key(background: str, *, records: GateConfig | None = None, version: str = SEGMENTS_VERSION) -> str:
    """Return the identity of what segments keep for the gate: segments with another one are written anew.

    Args:
        background: The key of the background.
        records: The weights of the evidence for a record; None for other segments.
        version: `SEGMENTS_VERSION`, or one of `EARLIER_SEGMENTS`.
    """
    key = f"{background}.{version}" if version else background
    if records is None:
        return key
    return f"{key}+records{RECORDS_VERSION}:{records.words:g}:{records.hinge:g}:{int(records.null)}"
