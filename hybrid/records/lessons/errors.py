"""What can go wrong with lessons that the caller must be told.

LessonsError
├── UnknownLessonError   no lesson, or several, has this id
├── LessonsFileError     a file is too long, no text, unreadable, or a link that leads out of the project
└── LessonsBusyError     another process holds the lock, or none can be had here
"""

from __future__ import annotations

from hybrid.base.errors import HybridError


class LessonsError(HybridError):
    """Base: a value that no lesson can have, or a change that makes no sense."""


class UnknownLessonError(LessonsError):
    """No lesson has this id, or several have it, so that none is meant."""


class LessonsFileError(LessonsError):
    """A file of lessons cannot be read or written as it is."""


class LessonsBusyError(LessonsError):
    """The lock of a store cannot be had."""
