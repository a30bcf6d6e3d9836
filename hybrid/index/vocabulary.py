"""Numbers for terms; the encoder of segments and the transport of records between processes count with them."""

from __future__ import annotations


class Vocabulary(dict[str, int]):
    """Numbers terms from 0 in the order in which they are first asked for."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number
