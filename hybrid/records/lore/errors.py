"""The errors of lore; every message says what happened, with which value, and what to do next.

LoreError
├── LoreReadError     a file cannot be read, or is larger than any file of its kind should be
├── LoreWriteError    a file was left as it was
├── DuplicateError    a record says nearly the same already
└── NoRecordError     no record has this id
"""

from hybrid.base.errors import HybridError


class LoreError(HybridError):
    """Base of every error of lore."""


class LoreReadError(LoreError):
    """A file of lore cannot be read, or is larger than any file of its kind should be."""


class LoreWriteError(LoreError):
    """A file of lore could not be changed safely; it is as it was."""


class DuplicateError(LoreError):
    """A record of this kind says nearly the same already."""


class NoRecordError(LoreError):
    """No record has this id."""
