"""Finds code, identifiers and paths in what a person typed, and the places in code that it points at.

The prompt gate and the query call it. Places are frames of stack traces, lines of compilers, links. It reads text only;
`hybrid.search.ranking.corpus` finds out whether a place is in the project.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator


# Names of products are spelled like identifiers and say nothing about the project's code.
_PRODUCTS = frozenset(
    """
    chatgpt github gitlab openai javascript typescript youtube linkedin whatsapp powerpoint iphone ipad macos ios
    ebay paypal openoffice deepseek playstation wikipedia duckduckgo icloud airpods macbook facetime
    """.split()
)
_PROSE_PAIRS = frozenset(
    """
    and/or either/or yes/no his/her he/she she/he him/her s/he w/o n/a i/o on/off true/false pass/fail start/stop
    before/after input/output read/write pros/cons his/hers
    """.split()
)
_ABBREVIATIONS = frozenset("e.g i.e a.m p.m u.s u.k vs.the etc.and".split())
FILE_EXTENSIONS = frozenset(
    """
    py pyi pyx ipynb js mjs cjs jsx ts mts cts tsx vue svelte go rs c h cc cpp cxx hh hpp hxx m mm java kt kts
    scala groovy gradle clj cljs rb erb rake gemspec php cs fs fsx vb swift zig nim hs lhs ml mli ex exs erl hrl
    lua r jl pl pm sh bash zsh fish ps1 bat cmd sql graphql proto thrift html htm css scss sass less xml xsl svg
    json jsonc json5 jsonl yaml yml toml ini cfg conf env properties lock md mdx rst adoc txt csv tsv tex dart d v
    sol tf hcl nix bzl cmake mk dockerfile pem crt key log patch diff wasm asm s
    """.split()
)

_FENCE = re.compile(r"```|~~~")
_BACKTICKED = re.compile(r"`([^`\n]{1,200})`")
_URL = re.compile(r"\b(?:https?|ftp|file)://[^\s<>\"'`)]{1,2000}")
_IDENTIFIER = re.compile(
    r"(?<![\w@/.#-])(?:"
    r"--[A-Za-z][\w-]+"  # --flag
    r"|[A-Za-z_]\w*(?:(?:\.|::|->|#|\\)[A-Za-z_]\w*)+(?:\(\))?"  # dotted.name, Scope::name, Class#method
    r"|\.[A-Za-z_]\w+(?=\()(?:\(\))?"  # .method()
    r"|\w+\(\)"  # call()
    r"|[A-Za-z_$@]\w*(?![\w/\\])"  # a word, judged by its spelling
    r")"
)
_COMPOUND = re.compile(
    r"_?[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*|__?[A-Za-z]\w+|[A-Za-z]\w*_"  # snake_case, _private, trailing_
    r"|[a-z][a-z0-9]*[A-Z]\w*"  # camelCase
    r"|[A-Z][a-z0-9]+[A-Z]\w*"  # PascalCase
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # HTTPServer
    r"|[$@][A-Za-z_]\w+"  # $variable, @decorator
)
_PATH = re.compile(r"(?<![\w/\\.~@-])(?:[A-Za-z]:[\\/]|~?/|\.{1,2}/|@)?[\w.@+-]+(?:[/\\][\w.@+\[\]-]+)*[/\\]?")
_BARE_FILES = frozenset("makefile dockerfile gemfile rakefile procfile jenkinsfile vagrantfile cmakelists.txt".split())
_SEPARATOR = r"\.|::|->|#|\\"
_CODE = (
    r"=>|==|!=|:=|\+=|-=|&&|\|\||\w\(\)|</?[A-Za-z][\w.-]{0,60}(?:\s[^<>\n]{0,200})?/?>"
    r"|(?m:[{}][^\S\n]*$|\)[;:][^\S\n]*$)"
    r"|\b(?:def|class|function|fn|func|struct|interface|enum)\s+\w+\s*[({:]|\b(?:const|let|var)\s+\w+\s*[=:]"
    r"|\bfrom\s+[\w.]+\s+import\b|\bimport\s+[{*]"
    r"|\bFile \"[^\"\n]{1,300}\", line \d+|(?m:^[^\S\n]*at [^\n]{1,300}:\d+\)?$)|\b[A-Z]\w{2,60}(?:Error|Exception)\b"
    r"|(?m:^[^\S\n]*\$ \w)|\b\w{1,60}\[[\w\"':-]{1,60}\]|\b\w{1,60} = [\w\"'\[{(]"
)


def has_code(text: str) -> bool:
    """Return whether a text holds a fenced block, a stack trace, or a piece of code or of a command line."""
    return bool(_FENCE.search(text) or _BACKTICKED.search(text) or re.search(_CODE, text))


def identifiers(text: str) -> tuple[str, ...]:
    """Return the names that can only come from code, each once: those in backticks, then the others, as they appear.

    camelCase, PascalCase, snake_case, dotted and scoped names, calls, `--flags`, `$variables`, and what stands in
    backticks when it is a single word. Addresses, file names and names of well-known products are not among them.
    The `()` of a call is left out.
    """
    quoted = (name for name in _BACKTICKED.findall(text) if not re.search(r"\s", name) and not _is_path(name))
    spelled = filter(_is_identifier, _IDENTIFIER.findall(_unusual(text)))
    return tuple(dict.fromkeys(name.removesuffix("()") for name in (*quoted, *spelled)))


def paths(text: str) -> tuple[str, ...]:
    """Return paths and file names, each once, in order, as typed without a leading `@` and closing punctuation."""
    written = (word.rstrip(".") for word in _PATH.findall(_unusual(text)))
    return tuple(dict.fromkeys(path.removeprefix("@") for path in written if _is_path(path)))


def _unusual(text: str) -> str:
    """Return the words of a text that are not spelled like prose, without URLs, so that patterns see few words."""
    without_urls = _URL.sub(" ", text) if "://" in text else text
    words = (word.rstrip(",.;:!?") for word in without_urls.split())
    return " ".join(
        word
        for word in words
        if not word.isalpha() or not (word.islower() or word.istitle()) or word.lower() in _BARE_FILES
    )


def _is_identifier(name: str) -> bool:
    """Return whether a name is spelled as only code spells it, and is no path and no product."""
    if name.startswith(("--", ".")) or name.endswith("()"):
        return True
    if re.search(_SEPARATOR, name):
        return not _is_path(name) and _is_dotted_name(name)
    return _COMPOUND.fullmatch(name) is not None and name.lower() not in _PRODUCTS


def _is_dotted_name(name: str) -> bool:
    """Return True unless the dot is a full stop without a space after it, or part of an abbreviation."""
    if name.lower() in _ABBREVIATIONS:
        return False
    parts = re.split(_SEPARATOR, name)
    if "." not in name or len(parts) > 2:
        return all(len(part) > 1 for part in parts[:-1]) or "::" in name
    first, second = parts
    is_sentence_end = second[:1].isupper() and first.islower() and second[1:].islower()
    return len(first) > 1 and len(second) > 1 and not is_sentence_end


def _is_path(word: str) -> bool:
    """Return whether a word is a path or the name of a file: by its extension, or by slashes between parts."""
    lower = word.lower().rstrip("/\\")
    if lower in _BARE_FILES:
        return True
    last = re.split(r"[/\\]", lower)[-1]
    stem, dot, extension = last.rpartition(".")
    if dot and extension in FILE_EXTENSIONS and len(stem) + len(extension) > 2 and (stem or extension == "env"):
        return True
    if last.startswith(".") and len(last) > 3 and last[1:].replace("-", "").isalpha():
        return True
    separators = word.count("/") + word.count("\\")
    if not separators or lower in _PROSE_PAIRS:
        return False
    pieces = [piece for piece in re.split(r"[/\\]", word) if piece]
    if not any(re.search(r"[A-Za-z]{2}", piece) for piece in pieces):
        return False
    if re.match(r"[A-Za-z]:[\\/]|~?/|\.{1,2}/|@", word) or word.endswith("/") or separators > 1:
        return True
    return all(len(piece) > 1 and not piece.isdigit() for piece in pieces) and not word.isupper()


# --- places in code ------------------------------------------------------------------------------------------------


MAX_CHARS = 20_000
"""Characters of a text that are read: half from its beginning, half from its end, where a trace says what failed."""

MAX_PLACES = 100
"""Number of places of one text that are kept; of a trace the frames nearest to the failure."""

_GAP = 4
"""Number of lines from one frame of a trace to the next at most: code of a frame or a message stands between them."""

_MAX_LINE_ABOVE = 1_000
"""Characters of a line that may be the function of a frame; a longer line is none."""

_FILE = r"(?P<path>(?:[A-Za-z]:[\\/])?[^\s:\"'`()\[\]<>|,;=*?]+\.[A-Za-z]\w{0,9})"
# Without it, every character of a long word would be tried as the beginning of a path.
_BEGIN = r"(?<![^\s:\"'`()\[\]<>|,;=*?])"
_AT = r"(?P<line>\d{1,7})"
_MAYBE = re.compile(r"\.\w{1,10}(?:\"?,? line |:line |[:(]) ?\d|\.pyx?(?:\]?\(|\]? in \w)|/blob/|#L\d|\bFile \"")

_FORMATS = {
    "link": (
        r"https?://[^\s/]{1,200}/[^\s/]+/[^\s/]+/(?:-/)?(?:blob|src|raw)/[^\s/]+/"
        r"(?P<path>[^\s#?()\"'<>]{1,400})(?:#L(?P<line>\d{1,7}))?"
    ),
    "python": rf"\bFile \"(?P<path>[^\"\n]{{1,400}})\", line {_AT}(?:, in (?P<name>[\w.<>]+))?",
    "cell": rf"^\s*File (?P<path>[^\s:<>][^:\n]{{0,400}}):{_AT}, in (?P<name>[\w.<>]+)",
    "cell head": r"^\s*\[?(?P<path>[^\s()\[\]<>]{1,400}\.pyx?)\]?(?:\([^)]{0,400}\))? in (?P<name>[\w<>]+)",
    "jvm": (
        r"\bat (?:[\w.@-]*/)*(?P<class>[\w.$]+)\.(?P<name>[\w$<>]+)"
        rf"\((?P<path>[\w$-]+\.(?:java|kt|kts|scala|groovy|clj)):{_AT}\)"
    ),
    "dotnet": (
        r"\bat (?P<name>[^\s(]{1,300})\([^()]{0,1000}\) in "
        rf"(?P<path>(?:[A-Za-z]:)?[^\s:][^:]{{0,400}}):line {_AT}"
    ),
    "php": rf"^\s*#\d+ {_FILE}\({_AT}\): (?P<name>[^\s(]+)",
    "native": (rf"^\s*#\d+ +(?:0x[\da-f]+ in )?(?P<name>[\w:~<>.]+)(?![\w:~<>.]).{{0,1000}}?[\s(]{_FILE}:{_AT}"),
    "ruby": rf"{_BEGIN}{_FILE}:{_AT}:in [`'](?:[\w ]+ in )?(?P<name>[\w?!.#:]+)'",
    "node": (
        r"^\s*at (?:async )?(?:new )?(?:(?P<name>[^\s(]{1,200}) [^(]{0,100}\()?(?:[a-z-]+:/{0,3})?"
        rf"{_FILE}:{_AT}"
    ),
    "any": rf"{_BEGIN}{_FILE}(?:\"?,? line |:line |:|\(|#L){_AT}\b",
}
"""Name of a format → pattern of a frame or place; a line is of the first format that it matches."""
_LAST_IS_DEEPEST = ("python", "cell", "cell head")
_CELL_LINE = r"^\s*-+> ?(?P<line>\d{1,7})\b"
_CALLED_ABOVE = r"^(?!at )(?:\d+: )?(?P<name>[\w./<>:*&({})\[\], ]{1,300}?)(?:::h[\da-f]{16})?(?:\([^()]*\))?$"
"""Pattern of the function of a frame of Go or Rust, which stands on the line above its place."""

_NOT_OF_NAME = r"[^\w$?!~]+"
_BRACKETS = r"<[^<>]*>|\{[^{}]*\}"
_SLASHES = r"[/\\]+"
_SCHEME = r"^(?:[a-z][a-z-]{1,20}:/*|[A-Za-z]:(?=[\\/]))"
_VERSION = r"(?<=\w)[-@]v?\d+(?:\.\d+)+.*$"
_PACKAGES = ("site-packages", "dist-packages", "node_modules", "gems")
_STANDARD = (
    r"^<|^node:|/rustc/|/lib/python\d[\d.]*/(?!(?:site|dist)-packages/)|^/usr/include/|^/usr/lib/|/go/src/runtime/"
    r"|^[a-z]*(?:java|jdk)\.base/"
)


class SourceLine(Struct, frozen=True):
    """A place in code that a text names.

    Attributes:
        path: Path with `/`, without what only one machine has: a scheme, `.` and the folder of installed packages.
        line: Number of the line, from 1; None when the text says none.
        name: Name of the function there, as the trace spells it without its scope; empty when none is said.
        trace: Number of the trace that it is a frame of, from 0; None for a path in prose.
        is_installed: Whether it is a file of an installed package: of another project, unless this one was installed.
    """

    path: str
    line: int | None = None
    name: str = ""
    trace: int | None = None
    is_installed: bool = False


def places(text: str) -> tuple[SourceLine, ...]:
    """Return the places with a line number that a text names, each once; of a trace the frame that failed is first.

    Understood are traces of Python, IPython, Node and browsers, the JVM, Go, Rust, .NET, Ruby, PHP, gdb and sanitizers,
    and any `path:line`, `path(line)` and `path line 3`. Files of a language's own library are not among them.
    """
    if not _MAYBE.search(text):
        return ()
    lines: list[SourceLine] = []
    for number, (frames, is_last_deepest) in enumerate(_traces(_ends(text).split("\n"))):
        ordered = frames[::-1] if is_last_deepest else frames
        lines += [replace(frame, trace=number) for frame in ordered if frame.path]
    return tuple(dict.fromkeys(lines))[:MAX_PLACES]


def is_frame(line: str) -> bool:
    """Return True for a line that names a place in code, in whatever project."""
    return _MAYBE.search(line) is not None and any(compiled(form).search(line) for form in _FORMATS.values())


@lru_cache(1 << 10)
def parts_of_path(path: str) -> tuple[tuple[str, ...], bool]:
    """Return the parts of a path as a project would spell it, and whether it lies in a folder of installed packages.

    Versions are cut off: `/root/.cargo/registry/src/index/tokio-1.2.0/src/io.rs` gives tokio, src, io.rs. A path of a
    language's own library gives nothing.
    """
    if compiled(_STANDARD).search(compiled(_SLASHES).sub("/", path)):
        return (), False
    parts = [
        part
        for part in compiled(_SLASHES).split(compiled(_SCHEME).sub("", path.removeprefix("@")))
        if part not in ("", ".", "..", "~", "_", "@")
    ]
    start = _after_packages(parts)
    kept = parts[start:]
    return tuple(
        compiled(_VERSION).sub("", part) if place < len(kept) - 1 else part for place, part in enumerate(kept)
    ), start > 0


def _after_packages(parts: list[str]) -> int:
    """Return the number of the first part of a path below a folder of installed packages; 0 when it lies in none."""
    for place in range(len(parts) - 2, -1, -1):
        folder, above = parts[place], parts[place - 1] if place else ""
        if folder == "mod" and above == "pkg":
            return place + 1
        if folder == "src" and above == "registry":
            return place + 2
        if folder in _PACKAGES:
            return place + 1
    return 0


def _traces(lines: list[str]) -> list[tuple[list[SourceLine], bool]]:
    """Return the traces of a text in order: frames that stand together, and whether the last one is the deepest."""
    traces: list[tuple[list[SourceLine], bool]] = []
    last = 0
    for number, form, frames in _frames(lines):
        is_last_deepest = form in _LAST_IS_DEEPEST
        gap = 3 * _GAP if form in ("cell", "cell head") else _GAP  # Cells show code around each frame.
        if traces and number - last <= gap and traces[-1][1] == is_last_deepest:
            traces[-1][0].extend(frames)
        else:
            traces.append((frames, is_last_deepest))
        last = number
    return traces


def _frames(lines: list[str]) -> Iterator[tuple[int, str, list[SourceLine]]]:
    """Yield each line with frames: its number from 0, the format and the frames."""
    last = -1
    formats = [(form, compiled(pattern)) for form, pattern in _FORMATS.items()]
    for number, line in enumerate(lines):
        if not _MAYBE.search(line):
            continue
        for form, pattern in formats:
            matches = [match for match in pattern.finditer(line) if form == "python" or _is_code(match.group("path"))]
            if matches:
                above = lines[number - 1] if number - 1 > last and line[:1].isspace() else ""
                below = lines[number + 1 : number + 3 * _GAP]
                yield number, form, [_frame(form, match, above, below) for match in matches]
                last = number
                break


def _frame(form: str, match: re.Match[str], above: str, below: list[str]) -> SourceLine:
    """Return the place of a frame, without the number of its trace; its path is empty for a language's own library.

    Args:
        form: Name of the format that matched.
        match: The match.
        above: The line above, if it may name the function; else empty.
        below: The lines below.
    """
    groups = match.groupdict()
    path, name, line = groups["path"], groups.get("name") or "", groups.get("line")
    if form == "jvm":
        path = "/".join((*groups["class"].split(".")[:-1], path))
    elif form == "cell head":
        line = _line_of_cell(below)
    elif form in ("any", "node") and not name:
        name = _called(above)
    parts, is_installed = parts_of_path(path)
    return SourceLine("/".join(parts), int(line) if line else None, _last_name(name), is_installed=is_installed)


def _called(above: str) -> str:
    """Return the function that the line above a place names; empty when it names none."""
    called = compiled(_CALLED_ABOVE).match(above.strip()) if len(above) <= _MAX_LINE_ABOVE else None
    return called.group("name") if called else ""


def _line_of_cell(below: list[str]) -> str | None:
    """Return the number of the line that an arrow points at, in the code of one frame; None without an arrow."""
    for line in below:
        if match := compiled(_CELL_LINE).match(line):
            return match.group("line")
        if not line.strip():
            return None
    return None


def _is_code(path: str) -> bool:
    """Return whether a path names a file of code, unlike `np.random.rand(3)` and `example.com:80`."""
    return path.rpartition(".")[2].lower() in FILE_EXTENSIONS


def _last_name(name: str) -> str:
    """Return the last part of a name, `run` of `app::Server<T>::run`; empty for closures and other nameless things."""
    if not name:
        return ""
    words = [word for word in compiled(_NOT_OF_NAME).split(compiled(_BRACKETS).sub("", name)) if word]
    return words[-1] if words else ""


def _ends(text: str) -> str:
    """Return a text without the middle of what is longer than `MAX_CHARS`."""
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS // 2]}\n\n{text[-MAX_CHARS // 2 :]}"
