"""Does a prompt ask about earlier sessions themselves, and not about what they were about?

Such prompts hold no word that anything could be found by: "where did we stop last time?" is answered by what was done
last. English only; a prompt that is not recognised is searched for like any other.
"""

from __future__ import annotations

import re

_MOST_CHARS = 400
"""A longer prompt says itself what it is about."""

_WHEN = (
    r"(?:(?:the |our |your |my )?(?:last|previous|earlier|prior) (?:sessions?|time|conversations?|chats?|day|week|work)"
    r"|yesterday|last (?:night|week|friday|monday))"
)
_ASKING = (
    r"\b(?:what|where|which|how far|did|do you remember|remind|recap|summar(?:y|i[sz]e)|continue|resume|pick up)\b"
)

_FORMS = (
    re.compile(rf"{_ASKING}.{{0,120}}\b{_WHEN}\b", re.IGNORECASE | re.DOTALL),
    re.compile(rf"\b{_WHEN}\b.{{0,60}}\b(?:we|you|i)\b.{{0,80}}\?", re.IGNORECASE | re.DOTALL),
    re.compile(r"\bwhere (?:did|have|had|were|was) (?:we|you|i)\b.{0,40}\b(?:stop|stopped|left|leave)", re.IGNORECASE),
    re.compile(r"\b(?:continue|resume|pick up|carry on|go on)\b.{0,40}\bleft off\b", re.IGNORECASE),
    re.compile(r"\bwhat(?:'s| is| was| were| are)? (?:still )?(?:left to do|left over|the next steps?)\b", re.I),
    re.compile(r"\bwhat (?:did|have|had) (?:we|you) (?:do|done|been doing|work(?:ed)? on|change[d]?)\b", re.I),
)


def looks_back(text: str) -> bool:
    """Is a cleaned prompt about what was done before?"""
    return len(text) <= _MOST_CHARS and any(form.search(text) for form in _FORMS)
