from __future__ import annotations

import pytest

from hybrid.index.analysis import keys_in_code, keys_said

CODE = '''raise Error("cannot merge layer %s into %s" % (a, b))
option("--keep-stale", env='LAYER_CACHE')
@task("prune")
log(f"no such {kind} in the registry now")
get(`/layers/${id}/files`)
fail("E501")
"""A docstring with "--inner" in it."""
x = "as"
'''


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("it says cannot merge layer base into top", True),
        ("why is it: no such layer in the registry now?", True),
        ("pass --keep-stale", True),
        ("Set LAYER_CACHE to zero", True),
        ("what does @task('prune') do", True),
        ("the rule E501 is wrong", True),
        ("please prune the layers", False),
        ("merge layer base into top", False),
        ("a layer cannot merge", False),
        ("use it as `as` does", False),
        ("", False),
    ],
)
def test_what_is_said_word_for_word(text: str, is_said: bool) -> None:
    """Messages but for what stands in a placeholder, options, variables, quoted words; no plain word, no part of a run."""
    assert is_said == any(int(key) in keys_in_code(CODE) for key in keys_said(text))


def test_keys_are_the_same_everywhere() -> None:
    """They are stored: another machine, process or version of Python makes the same."""
    assert (1_467_529_947_764_711_128,) == keys_in_code('f("--keep-stale")')


def test_a_long_prompt_costs_little() -> None:
    """Of a pasted log only the first words are looked at."""
    line = "word " * 50 + "\n"

    assert set(keys_said(line * 8).tolist()) == set(keys_said(line * 8_000).tolist())
