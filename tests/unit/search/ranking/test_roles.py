from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.index.analysis import ROLES, bit, roles
from hybrid.search.ranking.corpus import versions_of
from hybrid.search.ranking.evidence import other_version, playing
from hybrid.search.ranking.query_terms import spoken_of, versions_said
from hybrid.types import Definition
from tests.support.cases import Case, cases
from tests.unit.search.ranking.projects import by_path, corpus_of, every_file

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.search.ranking.corpus import Corpus


@cases("ranking/roles.txt")
def test_roles_of_a_path(case: Case) -> None:
    """Folders and names tell what part a file plays; words that only look alike do not."""
    found = roles(case.text, ())

    assert case.expected == " ".join(role for role in ROLES if found & bit(role))


def _definitions(*kinds: str) -> list[Definition]:
    return [Definition(f"f{i}", kind, 1, 1, "", "", 0, False) for i, kind in enumerate(kinds)]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (("prototype", "prototype", "function"), True),
        (("prototype",), True),
        (("prototype", "function"), False),
        (("prototype", "method", "constructor"), False),
        (("struct", "enum", "constant"), False),
        ((), False),
    ],
)
def test_a_header_by_its_prototypes(kinds: tuple[str, ...], expected: bool) -> None:
    """A file that announces more functions than it defines is an interface, whatever it is called."""

    assert expected is bool(roles("src/router.h", _definitions(*kinds)) & bit("interface"))


HEADER = "struct router;\n\nint router_add(struct router *r, const char *path);\nint router_find(struct router *r);\n"
SOURCE = (
    '#include "router.h"\n\nint router_add(struct router *r, const char *path) {\n    return 1;\n}\n\n'
    "int router_find(struct router *r) {\n    return 0;\n}\n"
)


def test_roles_in_an_index(tmp_path: Path) -> None:
    """The index notes roles with each document, prototypes of its chunks among them."""
    texts = {"router.h": HEADER, "router.c": SOURCE, "tests/check.c": SOURCE, "old/router.h": HEADER}
    corpus = corpus_of(tmp_path, texts)

    for role, expected in (("interface", (1, 0, 0, 1)), ("test", (0, 0, 1, 0)), ("legacy", (0, 0, 0, 1))):
        assert dict(zip(texts, expected, strict=True)) == by_path(corpus, playing(_roles(corpus), role)), role


def _roles(corpus: Corpus) -> NDArray[np.uint8]:
    """The roles of every file."""
    return corpus.fields.of_files("role", every_file(corpus).files)


@cases("ranking/roles_said.txt")
def test_roles_that_a_query_speaks_of(case: Case) -> None:
    """Whole words of a query tell which kinds of files it is about."""
    assert case.expected == " ".join(role for role in ROLES if role in spoken_of(case.text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the v3 router", {3}),
        ("Version 12 and v.2 of it", {2, 12}),
        ("ver 4", {4}),
        ("five of 12 routes", set[int]()),
        ("dev2", set[int]()),
        ("v3, not version " + "7" * 5000, {3}),
    ],
)
def test_versions_that_a_query_names(text: str, expected: set[int]) -> None:
    """A number counts only behind a v or the word version, and only if a version may have so many digits."""
    assert expected == versions_said(text)


def test_versions_of_folders() -> None:
    """Each version folder is compared with the newest of the same name beside it, at whatever depth."""
    paths = {1: "api/v1/a.py", 2: "api/V2/a.py", 3: "lib/v1/x.py", 4: "v3/api/v1/a.py", 5: "pkg/1.4/a.py", 6: "flat.py"}

    assert {
        1: (("api/v", 1, 2),),
        2: (("api/v", 2, 2),),
        3: (("lib/v", 1, 1),),
        4: (("v", 3, 3), ("v3/api/v", 1, 1)),
        5: (("pkg/", 1, 1),),
    } == versions_of(paths)


@pytest.mark.parametrize(("said", "others"), [(frozenset[int](), "api/v1/a.py"), (frozenset({1}), "api/v2/a.py")])
def test_files_of_another_version(tmp_path: Path, said: frozenset[int], others: str) -> None:
    """Without a version the newest folder is meant, with one the folder that it names; a dead file makes none older."""
    texts = dict.fromkeys(["api/v1/a.py", "api/v2/a.py", "lib/v1/b.py", "flat.py"], "text")
    corpus = corpus_of(tmp_path, texts | {"api/v3/a.py": "text"}, texts)
    found = by_path(corpus, other_version(corpus, every_file(corpus).files, said))

    assert {path: float(path == others) for path in texts} == found


def test_examples_among_the_tests(tmp_path: Path) -> None:
    """Who asks for examples gets those that lie among the tests too, and no other tests."""
    files = ("tests/examples/a.py", "tests/b.py", "vendor/tests/examples/c.py")
    corpus = corpus_of(tmp_path, dict.fromkeys(files, "text"))
    example = frozenset({"example"})

    assert dict(zip(files, (0, 1, 0), strict=True)) == by_path(corpus, playing(_roles(corpus), "test", example))
    assert dict(zip(files, (0, 0, 1), strict=True)) == by_path(corpus, playing(_roles(corpus), "vendored", example))
