"""Whether a language model may order the lessons of a prompt, and within which time; it may not unless all says so.

Only with `lessons.use_haiku_scoring`, a key in the environment, and the `anthropic` package; whatever fails, the local
order stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.config import LessonsConfig
    from hybrid.records.lessons.lesson import Lesson

Reranker = Callable[[str, Sequence["Lesson"]], "list[str] | None"]
"""Query and lessons in local order → their ids, best first; None keeps the local order."""

KEY = "ANTHROPIC_API_KEY"
COMMAND_S = 2.0
"""Seconds that a command waits."""

_MARGIN_S = 0.2
"""Left of a hook's deadline for packing, writing and delivering the answer."""


def reranker(settings: LessonsConfig, environ: Mapping[str, str], until_s: float) -> Reranker | None:
    """Asks the model; None when it may not be asked.

    Args:
        settings: Say whether, and whom.
        environ: Environment variables of the service or the command: the key never comes from a project.
        until_s: Monotonic time at which the answer must be there.
    """
    key = environ.get(KEY, "")
    if not settings.use_haiku_scoring or not key:
        return None

    def ask(query: str, lessons: Sequence[Lesson]) -> list[str] | None:
        from hybrid.records.lessons.rerank import rerank

        left_s = until_s - time.monotonic() - _MARGIN_S
        return rerank(query, lessons, api_key=key, timeout_s=left_s, model=settings.haiku_model)

    return ask
