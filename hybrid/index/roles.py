"""Tells the part that a file plays by its path and its definitions: a test, an example, generated, a header.

`drafting` notes it, the ranker weighs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.memo import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hybrid.types import Definition

_FUNCTIONS = frozenset({"function", "method", "constructor"})

ROLES = ("test", "example", "generated", "vendored", "legacy", "interface", "versioned", "aside")
"""Parts that a file may play, in the order of the bits of `doc_role`, which are all taken.

test: tests, fixtures, mocks. example: examples, samples, demos, tutorials, benchmarks. generated: built output,
reference pages. vendored: other people's code. legacy: compatibility and deprecated code. interface: announces what is
defined elsewhere, as headers and type stubs do. versioned: in a folder named after a version. aside: about the project
and not of it: changelogs, release notes, licences, authors, translations, lock files.
"""

OF_FOLDERS = frozenset("__init__ index mod main lib src".split())
"""Names of files that are imported by the names of their folders, and of folders that say as little."""

_TOP = r"^(?:(?!(?:src|lib|include)/)[^/]+/)*"
"""Folders above any that holds sources: a `dist/`, `sample/` or `benchmark/` below those is a part of the product."""
_TEST = (
    r"(?:^|/)(?:[Tt]ests?|[Ss]pecs?|[^/]+[-_.][Tt]ests?|[^/]*[a-z]Tests|UnitTests?|__tests__|testdata|test[-_]?(?:suites?|cases?|utils?|helpers?|support)"
    r"|testFixtures|fixtures?|__mocks__|mocks?|e2e|cypress|__snapshots__|fuzz(?:ing|ers?)?)/"
    r"|^(?:t|testing)/|(?:^|/)src/\w+Test/"
    r"|(?:^|/)(?:test_[^/]*\.(?:py|c|cc|cpp|lua|rb|dart|js|ts|sh|bats)|conftest\.py|tests\.(?:py|rs)|[^/]*_tests?\.\w+"
    r"|[^/]*_spec\.(?:rb|lua|py|php|cr|[cm]?[jt]sx?)|[^/]+(?:Tests?|Spec|Suite)\.(?:java|php|kt|swift|cs|scala|hs|groovy)"
    r"|[^/]*\.(?:tests?|spec|e2e|stories)\.\w+|test_?helpers?[^/]*\.\w+|[^/]*\.(?:snap|bats))$"
)
_OFFERED = r"(?:^|/)src/main/|^(?:src/)?\w+/test/(?!(?:.*/)?(?:test_|conftest)[^/]*$)[^/]+(?<!_test)\.py$"
"""What looks like tests and is offered for testing: `Test.java` of a test framework, the folder `test` of a package."""
_EXAMPLE = (
    rf"(?:^|/)(?:examples?|demos?|tutorials?|benchmarks|docs_src|cookbook)/"
    rf"|{_TOP}(?:samples?|playground|benchmark|bench|perf|snippets)/"
    rf"|{_TOP}(?:example|sample|demo|bench(?:mark)?)s?[._-][^/]*$|[._-](?:example|sample|bench)\.\w+$"
)
_GENERATED = (
    rf"{_TOP}(?:dist|out|gen)/"
    r"|(?:^|/)(?:generated|_build|build/(?:lib|temp|classes|generated|intermediates|outputs|CMakeFiles)|htmlcov|genfiles"
    r"|autogen|amalgamate[^/]*|single_include|[^/]+\.egg-info)/"
    r"|(?:^|/)(?:genindex|searchindex|py-modindex|zz_generated)[^/]*$|[._-](?:generated|gen|min|bundle|amalgamated)\.\w+$"
    r"|\.pb(?:\.\w+)?\.\w+$|_pb2(?:_grpc)?\.pyi?$|\.(?:g|freezed)\.dart$|\.(?:g|designer)\.(?:cs|vb)$"
)
_VENDORED = (
    r"(?:^|/)(?:_?vendor(?:ed|s)?|third[-_]?party|3rdparty|node_modules|bower_components|site-packages|extlibs?)/"
    r"|^(?:[^/]+/)?(?:externals?|extern|deps|subprojects)/"
)
_LEGACY = (
    r"(?:^|/)(?:_?compat|legacy|deprecated|attic|old|obsolete)(?:/|\.\w+$)"
    r"|[._-](?:compat|legacy|deprecated|old)\.\w+$"
)
_STUB = r"\.(?:d\.[cm]?ts|pyi)$"
VERSION_FOLDER = re.compile(
    r"(?:^|(?<=/))(?:(v|ver|version|api|r|rev)[-_]?(\d{1,9})(?:[._]\d+)*|(\d{1,9})(?:\.\d+)+)(?=/)", re.IGNORECASE
)
"""A folder of one version of something: `v2`, `api_3`, `1.4`; what comes before the number, then the number.

A number without a word or a dot may as well be a year, a section or an order.
"""
_PROSE = r"\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt|textile)$"
_ASIDE = (
    r"(?:^|/)(?:\d+[-_])?(?:change(?:s|log)|history|news|release[-_ ]?notes?|relnotes?|copying|licen[cs]es?|notice"
    r"|authors|contributors|maintainers|code[-_]of[-_]conduct|thanks|credits)(?:[-_][^/.]*"
    rf"|\.(?:lesser|mit|apache|bsd|gpl|\d+))*(?:$|{_PROSE})"
    rf"|^(?=.*{_PROSE})(?:.*/)?"
    r"(?:releases|history|release[-_]?notes|relnotes|changelogs?|changes|newsfragments|news|whatsnew)/"
    r"|\.(?:pot?|xliff?|arb)$|(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|[^/]+\.lock)$"
)

_OF_PATH = {
    "test": _TEST,
    "example": _EXAMPLE,
    "generated": _GENERATED,
    "vendored": _VENDORED,
    "legacy": _LEGACY,
    "interface": _STUB,
    "versioned": VERSION_FOLDER.pattern,
    "aside": _ASIDE,
}
_PAGES = r"(?:^|(?<=/))(?:docs?|documentation|manual|guides?)/"
_NOT_OF_PAGES = frozenset({"test", "example", "vendored", "legacy"})
"""Roles that the folders of a manual do not give: its page in `testing/` or `contrib/` is about that."""


def bit(role: str) -> int:
    """Return the number with the one bit that stands for a role: 1 for the first of `ROLES`."""
    return 1 << ROLES.index(role)


def roles(path: str, definitions: Iterable[Definition]) -> int:
    """The roles of a file as bits, the first of `ROLES` being 1; 0 for a file that plays none.

    Args:
        path: Relative to the project, with forward slashes.
        definitions: The definitions in the file; a file that announces more functions than it defines is an interface.
    """
    is_prose = compiled(_PROSE, re.IGNORECASE).search(path) is not None
    page = compiled(_PAGES, re.IGNORECASE).search(path) if is_prose else None
    above = path[: page.start()] if page else path
    found = sum(
        bit(role)
        for role in ROLES
        if compiled(_OF_PATH[role], re.IGNORECASE if role != "test" else 0).search(
            above if role in _NOT_OF_PAGES else path
        )
    )
    if found & bit("test") and compiled(_OFFERED).search(path):
        found -= bit("test")
    n_announced = n_defined = 0
    for definition in definitions:
        n_announced += definition.kind == "prototype"
        n_defined += definition.kind in _FUNCTIONS
    return found | bit("interface") if n_announced > n_defined else found
