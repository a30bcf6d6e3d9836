import pytest

from hybrid.prompting.symbols import has_code, identifiers, paths


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rename parse_args and _cache", ("parse_args", "_cache")),
        ("call loadConfig, then HTTPServer", ("loadConfig", "HTTPServer")),
        ("Rack::Builder or Client#retry or a.b.open_file()", ("Rack::Builder", "Client#retry", "a.b.open_file")),
        ("use `retry` and --no-cache", ("retry", "--no-cache")),
        ("flush() calls flush()", ("flush",)),
        ("set $HOME_DIR and @dataclass", ("$HOME_DIR", "@dataclass")),
        ("ZodObject.exactPartial() and .optional()", ("ZodObject.exactPartial", ".optional")),
    ],
    ids=["snake", "camel", "scoped", "backtick-flag", "call-once", "sigils", "methods"],
)
def test_names_from_code_are_identifiers(text: str, expected: tuple[str, ...]):
    """Each spelling that only code uses is found, once, in order of appearance."""
    assert expected == tuple(sorted(identifiers(text), key=expected.index))


@pytest.mark.parametrize(
    "text",
    [
        "e.g. this, i.e. that, in the U.S. at 5 p.m.",
        "push it to GitHub with JavaScript and macOS",
        "It works.Thanks for that",
        "see https://example.org/some_page/readMe.html",
        "two PRs, three APIs -- and so on",
        "edit src/user_index.py",
    ],
    ids=["abbreviations", "products", "missing-space", "address", "plurals", "path"],
)
def test_prose_holds_no_identifiers(text: str):
    """Abbreviations, product names, addresses and paths are not taken for names in code."""
    assert () == identifiers(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fix src/app.py, please.", ("src/app.py",)),
        ("look at @web/main.ts and ./run.sh", ("web/main.ts", "./run.sh")),
        ("client.go or Makefile or .gitignore", ("client.go", "Makefile", ".gitignore")),
        (r"C:\work\a.cs fails", (r"C:\work\a.cs",)),
        ("everything in docs/guide/", ("docs/guide/",)),
        ("app/[id]/page.tsx breaks", ("app/[id]/page.tsx",)),
    ],
    ids=["relative", "mention", "bare-files", "windows", "folder", "brackets"],
)
def test_paths_are_found_as_typed(text: str, expected: tuple[str, ...]):
    """Paths and file names are found without the punctuation around them."""
    assert expected == paths(text)


@pytest.mark.parametrize("text", ["and/or yes/no", "24/7 or 1/2", "TCP/IP", "wait... what", "version 1.2.3"])
def test_slashes_and_dots_of_prose_are_no_paths(text: str):
    """Pairs of words, fractions, ellipses and versions are not files."""
    assert () == paths(text)


@pytest.mark.parametrize(
    "text",
    [
        "```\nx\n```",
        "if a == b",
        "x => y",
        "def f(x):",
        "foo() is slow",
        "<div class='x'>",
        "  at run (a.js:3)",
        "a[0] = 1",
    ],
)
def test_code_is_recognised(text: str):
    """Fences, operators, definitions, calls, elements and stack frames are code."""
    assert has_code(text)


@pytest.mark.parametrize("text", ["well, that was fun :)", "from monday: start over", "ok - go on", "it's 5 < 6 :D"])
def test_prose_is_not_code(text: str):
    """Emoticons, colons and dashes of prose are not code."""
    assert not has_code(text)
