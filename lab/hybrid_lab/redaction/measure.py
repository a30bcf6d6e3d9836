"""Measures the redaction of secrets on made-up ones and on texts without any; `hybrid eval redaction` calls it."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.redact import REDACT_VERSION, find_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid_lab.redaction.corpus import Sample

_FOUND_SHARE = 0.9
"""A secret counts as found when at least this share of its characters is replaced: what stays is of no use."""
_MAX_EXAMPLES = 200
_SHOWN_CHARS = 160
"""Of the line of a sample that went wrong; a key block or a token would fill the screen."""


class FoundRow(Struct, frozen=True):
    """The secrets found of one kind, or in one place.

    Attributes:
        kind: The kind, or the place.
        n: Samples.
        found: Samples whose secret was replaced, in whole or to nine tenths.
        chars: Characters of the secrets.
        chars_left: Characters of them that stayed.
        chars_beside: Characters replaced that belong to no secret.
    """

    kind: str
    n: int
    found: int
    chars: int
    chars_left: int
    chars_beside: int


class AlarmRow(Struct, frozen=True):
    """False alarms in a kind of texts.

    Attributes:
        kind: The kind.
        n: Samples.
        alarms: Samples in which something was replaced.
        replaced: Name of a replaced kind → how often.
    """

    kind: str
    n: int
    alarms: int
    replaced: dict[str, int]


class Slip(Struct, frozen=True):
    """A sample that went wrong: a secret that stayed, or a text without one in which something was replaced.

    Attributes:
        sample: The sample.
        replaced: Offsets and kind of what was replaced.
    """

    sample: Sample
    replaced: tuple[tuple[int, int, str], ...]

    def as_text(self) -> str:
        """Kind, place and the line of the secret, or of what was replaced; all of it is made up."""
        start, end = self.sample.spans[0] if self.sample.spans else self.replaced[0][:2]
        text = self.sample.text
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", end)
        line = text[max(line_start, start - _SHOWN_CHARS // 2) : line_end if line_end >= 0 else len(text)]
        taken = " ".join(f"[{kind}: {text[at:to][:40]}]" for at, to, kind in self.replaced)
        return " · ".join(part for part in (self.sample.kind, self.sample.place, line[:_SHOWN_CHARS], taken) if part)


class CorpusReport(Struct, frozen=True):
    """Detection and false alarms.

    Attributes:
        found: A row per kind of secrets.
        places: A row per place of secrets; empty where the samples name none.
        alarms: A row per kind of texts without secrets.
        misses: Samples whose secret was not found.
        false_alarms: Texts without a secret in which something was replaced.
        megabytes_per_s: Text looked through in a second.
    """

    found: tuple[FoundRow, ...]
    places: tuple[FoundRow, ...]
    alarms: tuple[AlarmRow, ...]
    misses: tuple[Slip, ...]
    false_alarms: tuple[Slip, ...]
    megabytes_per_s: float

    @property
    def missed(self) -> tuple[tuple[str, str], ...]:
        """Kind and context of secrets that were not found."""
        return tuple((slip.sample.kind, slip.sample.context) for slip in self.misses)

    @property
    def alarmed(self) -> tuple[tuple[str, str], ...]:
        """Kind and context of texts with false alarms."""
        return tuple((slip.sample.kind, slip.sample.context) for slip in self.false_alarms)

    def as_json(self) -> dict[str, Any]:
        """The JSON of the report; the lists of what went wrong are cut after 200."""
        n = sum(row.n for row in self.found)
        chars = sum(row.chars for row in self.found)
        n_innocent = sum(row.n for row in self.alarms)
        return {
            "redact_version": REDACT_VERSION,
            "secrets": n,
            "detected": sum(row.found for row in self.found) / n if n else None,
            "chars_left": sum(row.chars_left for row in self.found) / chars if chars else None,
            "innocent": n_innocent,
            "false_alarms": sum(row.alarms for row in self.alarms) / n_innocent if n_innocent else None,
            "megabytes_per_s": round(self.megabytes_per_s, 1),
            "kinds": [asdict(row) | {"detected": row.found / row.n} for row in self.found],
            "places": [asdict(row) | {"detected": row.found / row.n} for row in self.places],
            "innocent_kinds": [asdict(row) for row in self.alarms],
            "missed": [list(pair) for pair in self.missed[:_MAX_EXAMPLES]],
            "alarmed": [list(pair) for pair in self.alarmed[:_MAX_EXAMPLES]],
        }


def evaluate_corpus(secrets: Sequence[Sample], innocent: Sequence[Sample]) -> CorpusReport:
    """Look for secrets in both kinds of samples."""
    started = time.perf_counter()
    looked = [(sample, [(one.start, one.end, one.kind) for one in find_secrets(sample.text)]) for sample in secrets]
    looked_innocent = [(sample, find_secrets(sample.text)) for sample in innocent]
    elapsed_s = time.perf_counter() - started
    size = sum(len(sample.text) for sample in (*secrets, *innocent))
    results = [(sample, *_covered(sample, [span[:2] for span in spans])) for sample, spans in looked]
    alarmed = [(sample, found) for sample, found in looked_innocent if found]
    by_kind: dict[str, list[tuple[Sample, int, int]]] = {}
    by_place: dict[str, list[tuple[Sample, int, int]]] = {}
    for result in results:
        by_kind.setdefault(result[0].kind, []).append(result)
        if result[0].place:
            by_place.setdefault(result[0].place, []).append(result)
    return CorpusReport(
        found=tuple(_found_row(kind, own) for kind, own in by_kind.items()),
        places=tuple(_found_row(place, own) for place, own in by_place.items()),
        alarms=tuple(
            AlarmRow(
                kind,
                sum(sample.kind == kind for sample in innocent),
                sum(sample.kind == kind for sample, _ in alarmed),
                dict(Counter(one.kind for sample, found in alarmed if sample.kind == kind for one in found)),
            )
            for kind in dict.fromkeys(sample.kind for sample in innocent)
        ),
        misses=tuple(
            Slip(sample, tuple(spans))
            for (sample, spans), (_, left, _) in zip(looked, results, strict=True)
            if not _is_found(sample, left)
        ),
        false_alarms=tuple(
            Slip(sample, tuple((one.start, one.end, one.kind) for one in found)) for sample, found in alarmed
        ),
        megabytes_per_s=size / 1e6 / elapsed_s if elapsed_s else 0.0,
    )


def _found_row(kind: str, own: Sequence[tuple[Sample, int, int]]) -> FoundRow:
    return FoundRow(
        kind=kind,
        n=len(own),
        found=sum(_is_found(sample, left) for sample, left, _ in own),
        chars=sum(_size(sample) for sample, _, _ in own),
        chars_left=sum(left for _, left, _ in own),
        chars_beside=sum(beside for _, _, beside in own),
    )


def _covered(sample: Sample, replaced: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Characters of the secret that stayed, and characters replaced beside it."""
    hidden = {at for start, end in replaced for at in range(start, end)}
    secret = {at for start, end in sample.spans for at in range(start, end)}
    return len(secret - hidden), len(hidden - secret)


def _size(sample: Sample) -> int:
    return sum(end - start for start, end in sample.spans)


def _is_found(sample: Sample, left: int) -> bool:
    return left <= (1 - _FOUND_SHARE) * _size(sample)
