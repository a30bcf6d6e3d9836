"""Holds out a share of sessions and of records, so that the worth of injections can be measured: `experiment.holdout`.

A hash decides, so that a session stays on its side whatever is restarted. A session that is held out gets nothing; from
the others each record is kept in a share of the sessions. What would have been given is noted in its place.
`hybrid eval holdout` compares.
"""

from __future__ import annotations

import hashlib

HELD_OUT = "held_out"
"""Reason of a decision, and word for `Withheld.reason`, where the experiment kept something back."""

_VERSION = "holdout 1"


def is_held_out(share: float, *names: str) -> bool:
    """Return whether some names, of a session or of a session and a record, belong to the share that is held out.

    Args:
        share: In [0, 1]; of many different names about so many are held out.
        names: The first is that of the session; without one nothing is held out, since it would be another each time.
    """
    if share <= 0 or not names[0]:
        return False
    digest = hashlib.sha256("\0".join((_VERSION, *names)).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
