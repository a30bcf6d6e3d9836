"""The errors a caller can meet, as one tree; every message says what happened and what to do next.

HybridError
├── ConfigError            a setting has an unknown key, a wrong type or a value out of range
├── ProjectError           no project here, or one that must not be indexed
│   └── RefusedError           a build has a reason against it, asked when it holds the lock
├── ModelError             an embedding model is unknown, incomplete or needs an extra
├── IndexUnavailableError  the index cannot be searched
│   ├── IndexMissingError      nothing was built yet
│   ├── IndexCorruptError      files are damaged: rebuild
│   ├── IndexMismatchError     built by another format or model: rebuild
│   ├── StoreDownError         the team's store does not answer, or not in time
│   └── StoreNotReadyError     the team's store answers, and does not have what is asked for
└── BusyError              another process builds this index, or a model is being loaded: try again
"""


class HybridError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(HybridError):
    """A setting has an unknown key, a wrong type or a value out of range."""


class ProjectError(HybridError):
    """There is no project here, or it must not be indexed."""


class RefusedError(ProjectError):
    """A build is not made; the message is the reason that its caller gave against it."""


class ModelError(HybridError):
    """An embedding model is unknown, incomplete, or needs an extra that is not installed."""


class IndexUnavailableError(HybridError):
    """The index cannot be searched now."""


class IndexMissingError(IndexUnavailableError):
    """No index was built for this working tree yet."""


class IndexCorruptError(IndexUnavailableError):
    """Files of the index are damaged; a rebuild repairs them."""


class IndexMismatchError(IndexUnavailableError):
    """The index was built by another format or another embedding model; a rebuild replaces it."""


class StoreDownError(IndexUnavailableError):
    """The team's store does not answer, refuses, or does not answer in time; what lies here is searched meanwhile."""


class StoreNotReadyError(IndexUnavailableError):
    """The team's store answers, but what is asked for is not there, or not loaded yet."""


class BusyError(HybridError):
    """Another process builds this index, or a model or store has too much to do; a little later it may work."""
