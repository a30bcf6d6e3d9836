"""How many examples a property test tries: few in `make test`, more where `make check PROFILE=thorough` runs."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

_FULL = 100
_QUICK = 20
_EACH = 20


def register_profiles() -> None:
    """Make `quick` and `thorough` known, and load the first; `--hypothesis-profile` on a command line loads another.

    How long an example takes is the machine's matter, and that of whatever runs beside it.
    """
    checks = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    for name, n_examples in (("quick", _QUICK), ("thorough", _FULL)):
        settings.register_profile(name, deadline=None, max_examples=n_examples, suppress_health_check=checks)
    settings.load_profile("quick")


def examples(number: int) -> settings:
    """Let a property test try so many examples in the thorough profile, and as much fewer in others."""
    return settings(max_examples=max(5, number * settings().max_examples // _FULL))


def step() -> int:
    """Of a long list the thorough profile tries all, others each twentieth."""
    return 1 if settings().max_examples >= _FULL else _EACH
