"""Makes the samples of `hybrid eval redaction`: made-up secrets in their contexts, and texts that hold none.

Made at run time from a seed, so that nothing in the source looks like a secret; equal seeds give equal samples.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid_lab.redaction.contexts import BARE_CONTEXTS, NAMED_CONTEXTS, URL_CONTEXTS, WRAPPERS
from hybrid_lab.redaction.files import FILE_CONTEXTS, PEM_CONTEXTS, PEM_NAMES
from hybrid_lab.redaction.forms import Writer
from hybrid_lab.redaction.negatives import NEGATIVES
from hybrid_lab.redaction.secrets import FORMED, NAMED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hybrid_lab.redaction.secrets import SecretKind

_SHUFFLE = 7
"""Step through the wrappers, prime to their number, so that contexts and wrappers do not run in parallel."""


class Sample(Struct, frozen=True):
    """A text as a tool event holds it.

    Attributes:
        kind: Of the secret, or of the text without one.
        context: Where the secret stands, with what is around it.
        text: The whole.
        spans: Offsets of the secret's parts, ascending; none for a text without one.
        place: Where such a text comes from, for example `yaml`; empty in the first corpus.
    """

    kind: str
    context: str
    text: str
    spans: tuple[tuple[int, int], ...] = ()
    place: str = ""


def secret_samples(n_per_kind: int, seed: str) -> list[Sample]:
    """Texts with one secret each, so many of a kind."""
    samples = [sample for kind in (*FORMED, *NAMED) for sample in _of_kind(kind, n_per_kind, seed)]
    for kind, contexts in FILE_CONTEXTS.items():
        writer = Writer(f"{seed} {kind}")
        for n, (context, template, forms) in enumerate(islice(cycle(contexts), n_per_kind)):
            secret = writer.fill(writer.choice(forms))
            samples.append(_sample(kind, context, writer.fill(template), (secret,), n))
    return [*samples, *_key_samples(n_per_kind, seed)]


def innocent_samples(n_per_kind: int, seed: str) -> list[Sample]:
    """Texts without a secret, so many of a kind."""
    samples: list[Sample] = []
    for kind, templates in NEGATIVES.items():
        writer = Writer(f"{seed} {kind}")
        for n, template in enumerate(islice(cycle(templates), n_per_kind)):
            name, wrap = _wrapper(n, len(templates))
            samples.append(Sample(kind, f"{template.strip()[:40]} · {name}", wrap(writer.fill(template))))
    return samples


def _of_kind(kind: SecretKind, n_per_kind: int, seed: str) -> Iterator[Sample]:
    writer = Writer(f"{seed} {kind.name}")
    contexts = [*NAMED_CONTEXTS]
    if kind.has_form:
        contexts = [
            pair
            for both in zip(NAMED_CONTEXTS, cycle((*BARE_CONTEXTS, *(() if kind.public else URL_CONTEXTS))))
            for pair in both
        ]
    offset = sum(map(ord, kind.name))  # Each kind begins elsewhere, so that a few samples of each see all contexts.
    for n, (context, template) in enumerate(islice(cycle(contexts), offset, offset + n_per_kind)):
        name = writer.choice(kind.names)
        text = _named(writer.fill(template), name).replace("%S", f"{kind.public}%S")
        yield _sample(kind.name, context, text, (writer.fill(kind.forms[n % len(kind.forms)]),), n + offset)


def _named(text: str, name: str) -> str:
    words = name.lower().split("_")
    camel = words[0] + "".join(map(str.capitalize, words[1:]))
    spelled = {"%N": name, "%n": name.lower(), "%c": camel, "%k": "-".join(words)}
    for mark, word in spelled.items():
        text = text.replace(mark, word)
    return text


def _sample(kind: str, context: str, text: str, secret: tuple[str, ...], n: int, n_contexts: int = 0) -> Sample:
    """Put a secret in the place of `%S`, or find its parts where they stand already, and wrap the text."""
    name, wrap = _wrapper(n, n_contexts)
    filled = wrap(text.replace("%S", secret[0]))
    spans: list[tuple[int, int]] = []
    end = 0
    for part in secret:
        while (start := filled.find(part, end)) >= 0:
            end = start + len(part)
            spans.append((start, end))
            if len(secret) > 1:
                break
    if not spans:
        raise AssertionError(f"the secret is not in its sample: {context}")
    return Sample(kind, f"{context} · {name}", filled, tuple(spans))


def _wrapper(n: int, n_contexts: int) -> tuple[str, Callable[[str], str]]:
    turn = n // n_contexts if n_contexts else 0
    return WRAPPERS[(n * _SHUFFLE + turn) % len(WRAPPERS)]


# --- key blocks --------------------------------------------------------------------------------------------


def _key_samples(n_per_kind: int, seed: str) -> Iterator[Sample]:
    writer = Writer(f"{seed} private key")
    for n, (context, template) in enumerate(islice(cycle(PEM_CONTEXTS), n_per_kind)):
        name = PEM_NAMES[n % len(PEM_NAMES)]
        n_lines = 2 if name.startswith("EC") else 6 + n % 20
        body = [writer.fill("{B64}") for _ in range(n_lines)] + [writer.fill("{B30}") + "=="]
        head = ["Proc-Type: 4,ENCRYPTED", f"DEK-Info: AES-128-CBC,{writer.fill('{H32}')}", ""] if n % 7 == 0 else []
        lines = [f"-----BEGIN {name}-----", *head, *body, f"-----END {name}-----"]
        text = _with_block(writer.fill(template), lines)
        yield _sample("private key", context, text, tuple(body), n, len(PEM_CONTEXTS))


def _with_block(template: str, lines: list[str]) -> str:
    forms = {
        "%P": "".join(f"{line}\n" for line in lines),
        "%I": "".join(f"    {line}\n" for line in lines),
        "%E": "".join(f"{line}\\n" for line in lines),
        "%Q": "".join(f"  '{line}',\n" for line in lines),
        "%C": "".join(f"{line}\n" for line in lines[:-1]),
        "%D": "".join(f"{line}\n" for line in lines[1:]),
    }
    for mark, block in forms.items():
        template = template.replace(mark, block)
    return template
