"""What a record store could not read: told to the owner by `hybrid doctor`, never a reason to fail."""

from __future__ import annotations

from msgspec import Struct


class Problem(Struct, frozen=True):
    """A place in a record file that is not read as its writer may have meant.

    Attributes:
        file: Path of the file.
        line: Number of the line from 1; 0 for the whole file.
        message: What is wrong, and what to do.
    """

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}" if self.line else f"{self.file}: {self.message}"
