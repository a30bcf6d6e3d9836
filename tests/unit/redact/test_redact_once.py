"""Short texts that come again are looked at once, and none with a secret is kept."""

from __future__ import annotations

import hybrid.redact
from hybrid.redact import redact

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_text_is_masked_alike_each_time() -> None:
    """The second look finds what the first found; a text with a secret is not remembered, nor is a long one."""
    long_text = "word " * 100
    texts = ["src/payments/client.py", f"keys/{TOKEN}.txt", "s1", "", long_text]

    expected = ["src/payments/client.py", "keys/[redacted:github_token].txt", "s1", "", long_text]
    assert expected == [redact(text) for text in texts]
    assert expected == [redact(text) for text in texts]
    assert not any(TOKEN in kept or kept == long_text for kept in hybrid.redact._CLEAN)


def test_what_is_kept_is_bounded() -> None:
    """A session with thousands of files does not fill the memory of the service."""
    for number in range(2 * hybrid.redact._MOST_CLEAN):
        redact(f"src/file_{number}.py")

    assert len(hybrid.redact._CLEAN) <= hybrid.redact._MOST_CLEAN
