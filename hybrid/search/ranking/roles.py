"""Parts that files play, as evidence against them: a test is not what is asked for unless the query speaks of tests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from hybrid.index.roles import ROLES, bit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.search.ranking.corpus import Corpus

_SPOKEN_OF = {
    "test": r"tests?|testing|tested|specs?|fixtures?|mock(?:s|ed|ing)?|assert\w*|pytest|unittest|coverage",
    "example": r"examples?|samples?|demos?|tutorials?|how ?to|snippets?|benchmark\w*|playground|usage",
    "generated": r"generated?|generator|codegen|build output|dist|bundle[ds]?",
    "vendored": r"vendor\w*|third[ -]party|upstream|bundled|dependenc\w+",
    "legacy": r"compat\w*|legacy|deprecat\w+|old(?:er)?|backward\w*",
    "interface": r"headers?|declar\w+|prototypes?|typedefs?|structs?|enums?|macros?|constants?|stubs?|interfaces?"
    r"|types?|typings?|\w+\.(?:h|hpp|hh|pyi)|d\.ts",
    "facade": r"(?:re-?)?export(?:s|ed|ing)?|barrel|index|prelude|imports?|imported|public api|entry ?points?|__init__",
    "aside": r"changelogs?|changed|history|releases?|released|licen[cs]\w*|copyright|authors?|contributors?"
    r"|maintainers?|since|introduced|upgrad\w+|versions?|translat\w+|locales?",
}
_AMONG_ONE_ANOTHER = frozenset({"test", "example"})
_BITS = {role: np.uint8(bit(role)) for role in _SPOKEN_OF if role in ROLES}
_PATTERNS = {role: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for role, words in _SPOKEN_OF.items()}
_MOST_VERSIONS = 9
"""Version numbers of a query that count; a pasted text may hold any number of them. Chosen by hand."""
_VERSION_SAID = re.compile(r"(?<![^\W_])v(?:er|ersion)?[ .]?(\d{1,9})(?!\d)", re.IGNORECASE)


def spoken_of(text: str) -> frozenset[str]:
    """Return the roles of files that a text speaks of, such as `test`, by its words."""
    return frozenset(role for role, pattern in _PATTERNS.items() if pattern.search(text))


def versions_said(text: str) -> frozenset[int]:
    """Return the numbers of the first nine versions that a text names: `v3` → 3."""
    return frozenset(int(number) for number in _VERSION_SAID.findall(text)[:_MOST_VERSIONS])


def playing(roles: NDArray[np.uint8], role: str, spoken: frozenset[str] = frozenset()) -> NDArray[np.float32]:
    """Return 1 for each file of a role that the query does not speak of, else 0.

    Args:
        roles: Bits of `hybrid.index.roles.ROLES` of each file.
        role: The role, one of `ROLES`.
        spoken: Roles that the query speaks of: 0 for all files of the role if it is one of these. Examples often lie
            among the tests, so that of these two roles, a file that has both is spared for either.
    """
    kin = _AMONG_ONE_ANOTHER if role in _AMONG_ONE_ANOTHER else {role}
    spared = np.uint8(sum(_BITS[one] for one in kin & spoken))
    return ((roles & _BITS[role] > 0) & (roles & spared == 0)).astype(np.float32)


def other_version(corpus: Corpus, files: NDArray[np.int32], said: frozenset[int]) -> NDArray[np.float32]:
    """Return 1 for each file in a folder of another version than the query means, those in `said`, else the newest."""
    versions = corpus.versions
    if not versions:
        return np.zeros(len(files), np.float32)
    folders = [versions.get(file, ()) for file in files.tolist()]
    if said:
        return np.array([bool(of) and all(number not in said for _, number, _ in of) for of in folders], np.float32)
    return np.array([any(number < newest for _, number, newest in of) for of in folders], np.float32)
