"""The arrays by which the ranker finds names: of definitions, by spelling and by word, and of files.

`drafting` writes them.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import string_table
from hybrid.base.tokens import part_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

_JOINT = re.compile(r"::|\.|\\|#")
_UINT16_MAX = 65_535


def folded(name: str) -> str:
    """Return a name in lower case without underscores: what people remember of it."""
    return name.lower().replace("_", "")


def name_arrays(definition_names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the names of definitions, by spelling and by word.

    A qualified name (`Router::add`) stands also as its last part. Names are in order of their folded form.

    Args:
        definition_names: Name of each definition of the segment, in order.
    """
    places: dict[str, list[int]] = {}
    for number, name in enumerate(definition_names):
        places.setdefault(name, []).append(number)
        last = _JOINT.split(name)[-1]
        if last != name and last:
            places.setdefault(last, []).append(number)
    fold_of = {name: folded(name) for name in places}
    names = sorted(places, key=lambda name: (fold_of[name], name))
    terms = [list(dict.fromkeys(part_terms(name))) for name in names]
    return {
        **string_table("name", names),
        **string_table("name_fold", [fold_of[name] for name in names]),
        "name_letters": np.array([_letters(of_name) for of_name in terms], np.uint16),
        **_lists("name_definition", [places[name] for name in names]),
        **_inverted("name_word", "name_word_name", terms),
    }


def path_arrays(stems: Sequence[str], folders: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the words of file names, and of those of whole paths, with the documents that have them.

    Args:
        stems: Name of each document of the segment without its suffix, in order.
        folders: Path of the folder of each document, in the same order.
    """
    of_stem = [dict.fromkeys(part_terms(stem)) for stem in stems]
    of_path = [dict.fromkeys((*part_terms(above), *terms)) for above, terms in zip(folders, of_stem, strict=True)]
    return {
        "doc_stem_letters": np.array([_letters(terms) for terms in of_stem], np.uint16),
        **_inverted("stem_word", "stem_word_doc", of_stem),
        **_inverted("path_word", "path_word_doc", of_path),
    }


def _letters(terms: Iterable[str]) -> int:
    return min(sum(map(len, terms)), _UINT16_MAX)


def _inverted(table: str, entries: str, terms_of: Sequence[Iterable[str]]) -> dict[str, NDArray[Any]]:
    """Return a string table of the terms, sorted by bytes, and for each the numbers of the entries that have it."""
    holders: dict[str, list[int]] = {}
    for number, terms in enumerate(terms_of):
        for term in terms:
            holders.setdefault(term, []).append(number)
    names = sorted(holders)  # By code points, which is the order of their bytes in UTF-8.
    return {**string_table(table, names), **_lists(entries, [holders[name] for name in names])}


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[Any]]:
    """Return lists of numbers as one array, and where each begins in it, with the end behind the last."""
    flat = array("i")
    for numbers in lists:
        flat.extend(numbers)
    starts = np.zeros(len(lists) + 1, np.uint32)
    np.cumsum([len(numbers) for numbers in lists], out=starts[1:])
    return {name: np.array(flat, np.int32), f"{name}_start": starts}
