"""Reads a file and makes what the index keeps of it: digests, head lines and term frequencies, roles and literals.

The build calls it. What is done here asks neither the catalog nor an embedder, so `workers` can do it in processes of
their own.

A role is the part that a file plays, told by its path and definitions: a test, an example, generated, a header. What a
prompt says of a string literal word for word (a message, an option, a setting, a route) is found by keys: a literal is
cut where it has a placeholder, each piece is a run of words, and the index keeps the key of a run and not its text.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from array import array
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import astuple, replace

from hybrid.base.text import DIGEST_BYTES, compiled, digest_of_normalised, normalise, normalised_lines
from hybrid.base.tokens import TOKENS_VERSION, term_counts
from hybrid.redact import REDACT_VERSION, mask, masker, part_masker, redact
from hybrid.types import Chunk, Chunked, ChunkLimits, Definition, Document, Found, LineSpan, Skipped, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray


_Named = TypeVar("_Named", Chunk, Definition)

HEAD_NAMES = 6
"""Definition names that the head line of an embedded chunk holds at most; more drown the path."""
_DIRECTORIES = 3
_COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";", "%", "<!--", "{-", '"', "'", 'r"')
"""Beginnings of a line that is a comment or a docstring from its start."""

PATH_FIELDS = ("stem", "dir")
CHUNK_FIELDS = ("name", "scope", "value", "comment")
FIELDS = PATH_FIELDS + CHUNK_FIELDS
"""Fields of a chunk whose term frequencies are kept beside those of its text (the body)."""
NAME_FIELDS = FIELDS[:-1]
"""The fields of names and paths, in the order of the rows of `field_tf`; comments have postings of their own."""
OKAPI_FIELDS = ("stem", "dir", "name", "scope")
"""Fields whose frequencies Okapi adds to the body's; values and comments stand in the body already."""


class ChunkRecord(Struct, frozen=True):
    """A chunk as the catalog keeps it: independent of the path of its document.

    Attributes:
        start_line: 1-based.
        end_line: Inclusive.
        digest: Digest of the normalised text, 16 bytes.
        name: As in `Chunk`.
        kind: As in `Chunk`.
        signature: As in `Chunk`.
        scope: As in `Chunk`.
        body: Term → frequency in the text.
        fields: For each of `CHUNK_FIELDS`: term → frequency.
        definitions: The definitions that start inside.
        comments: Spans of the comments inside.
        masked: As `digest`, of the text without its secrets; empty when the text holds none.
        literals: Keys of the string literals of a program (`hybrid.base.tokens`), ascending.
    """

    start_line: int
    end_line: int
    digest: bytes
    name: str
    kind: str
    signature: str
    scope: str
    body: dict[str, int]
    fields: dict[str, dict[str, int]]
    definitions: tuple[Definition, ...]
    comments: tuple[LineSpan, ...]
    masked: bytes = b""
    literals: tuple[int, ...] = ()

    @property
    def embedded(self) -> bytes:
        """The digest of the text that is embedded: `masked`, or `digest` when the text holds no secret."""
        return self.masked or self.digest


class Vocabulary(dict[str, int]):
    """Numbers terms from 0 in the order in which they are first asked for."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class TermColumns(Struct, frozen=True):
    """The terms of a document's chunks.

    Attributes:
        vocabulary: The terms that are numbered, and others.
        columns: Of the bodies, then of each of `CHUNK_FIELDS`: numbers of terms, places of their chunks, frequencies.
    """

    vocabulary: Sequence[str] | Vocabulary
    columns: Sequence[tuple[array[int], array[int], array[int]]]


def postings_of(records: Sequence[ChunkRecord], vocabulary: Vocabulary) -> TermColumns:
    """Return the terms of some chunks as numbers; the vocabulary takes up new ones."""
    columns = [(array("i"), array("i"), array("i")) for _ in range(1 + len(CHUNK_FIELDS))]
    number_of = vocabulary.__getitem__
    for place, record in enumerate(records):
        of_chunk = array("i", (place,))
        bags = (record.body, *map(record.fields.__getitem__, CHUNK_FIELDS))
        for (terms, places, frequencies), counts in zip(columns, bags, strict=True):
            if counts:
                terms.fromlist(list(map(number_of, counts)))
                places.extend(of_chunk * len(counts))
                frequencies.fromlist(list(counts.values()))
    return TermColumns(vocabulary, columns)


REDACT_RULES = f"redact {REDACT_VERSION}"
"""The end of every recipe of chunks: the rules under which their words and names were kept."""


def recipe(chunker_version: str, limits: ChunkLimits) -> str:
    """The key of all that a chunk depends on besides the text: when it changes, every document is chunked anew."""
    sizes = f"{limits.max_chars},{limits.merge_chars},{limits.cut_chars}"
    return f"chunker {chunker_version}; limits {sizes}; tokens {TOKENS_VERSION}; {REDACT_RULES}"


def chunk_text(lines: Sequence[str], start_line: int, end_line: int) -> str:
    """The normalised text of a range of lines of a document."""
    return normalised_lines(lines[start_line - 1 : end_line])


def lines_digest(lines: Sequence[str], start_line: int, end_line: int) -> bytes:
    """The `chunk_digest` of a range of lines of a document."""
    return digest_of_normalised(chunk_text(lines, start_line, end_line))


def analysed(document: Document, chunks: Sequence[Chunk]) -> tuple[list[ChunkRecord], list[str]]:
    """The records of a document's chunks, in order, and the text of each: normalised, without secrets.

    A secret in a file must not live on in the index, neither as a term nor in a name: secrets are looked for in the
    whole document, since a chunk may hold the middle of one. Only `digest` is that of the text as it is.

    Args:
        document: The document, its text with secrets.
        chunks: The chunks of the document.
    """
    lines, masked = _bare_lines(document.text), mask(document.text)
    texts = [_text(lines, chunk) for chunk in chunks]
    digests = [(digest_of_normalised(text), b"") for text in texts]
    is_clean = masked == document.text
    if not is_clean:
        lines, bare = _bare_lines(masked), texts
        texts = [_text(lines, chunk) for chunk in chunks]
        digests = [
            (digest, digest_of_normalised(text) if text != before else b"")
            for (digest, _), text, before in zip(digests, texts, bare, strict=True)
        ]
    clean = part_masker(_parts(chunks)) if is_clean else masker(document.text)
    if clean is not None:
        clean = cache(clean)
        chunks = [_without_secrets(chunk, clean) for chunk in chunks]
    counts = cache(term_counts)
    records = [
        _record(chunk, text, of_text, lines, counts)
        for chunk, text, of_text in zip(chunks, texts, digests, strict=True)
    ]
    if document.kind == "code" and document.language not in DATA_LANGUAGES:
        records = [replace(record, literals=_literals(record, lines)) for record in records]
    return records, texts


def _literals(record: ChunkRecord, lines: Sequence[str]) -> tuple[int, ...]:
    """Return the keys of the literals of a chunk; a comment behind code stays, since its line may hold one."""
    commented = {
        line
        for span in record.comments
        for line in range(span.start_line, span.end_line + 1)
        if line > span.start_line or lines[line - 1].lstrip().startswith(_COMMENT_MARKS)
    }
    numbers = range(record.start_line, record.end_line + 1)
    return keys_in_code("\n".join(lines[line - 1] for line in numbers if line not in commented))


def _bare_lines(text: str) -> list[str]:
    """Return the lines of a text without white space at their ends; `_text` joins each chunk from them."""
    return list(map(str.rstrip, text.split("\n")))


def _text(bare_lines: Sequence[str], chunk: Chunk) -> str:
    """Return the normalised text of a chunk, as `chunk_text` does, from the bare lines of its document."""
    text = "\n".join(bare_lines[chunk.start_line - 1 : chunk.end_line])
    return normalise(text) if "\r" in text else text.strip("\n")


def _record(
    chunk: Chunk,
    text: str,
    digests: tuple[bytes, bytes],
    lines: Sequence[str],
    counts: Callable[[str], dict[str, int]],
) -> ChunkRecord:
    """Return the record of a chunk.

    Args:
        chunk: The chunk, its names without secrets.
        text: Its normalised text without secrets.
        digests: `ChunkRecord.digest` and `ChunkRecord.masked`.
        lines: The lines of the document without secrets, for the comments.
        counts: `term_counts`, which remembers short texts that many chunks have.
    """
    digest, masked = digests
    definitions = chunk.definitions
    remarks = "\n".join("\n".join(lines[span.start_line - 1 : span.end_line]) for span in chunk.comments)
    return ChunkRecord(
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        digest=digest,
        name=chunk.name,
        kind=chunk.kind,
        signature=chunk.signature,
        scope=chunk.scope,
        body=term_counts(text),
        fields={
            "name": counts(" ".join([d.name for d in definitions if d.is_full])),
            "scope": counts(chunk.scope),
            "value": counts(" ".join([d.name for d in definitions if not d.is_full])),
            "comment": counts(remarks),
        },
        definitions=definitions,
        comments=chunk.comments,
        masked=masked,
    )


def _parts(chunks: Sequence[Chunk]) -> set[str]:
    """Return every name, signature and scope of some chunks and of their definitions, where secrets may stand too."""
    shown: list[Chunk | Definition] = [*chunks]
    for chunk in chunks:
        shown += chunk.definitions
    return {text for thing in shown for text in (thing.name, thing.signature, thing.scope)}


def _without_secrets(thing: _Named, clean: Callable[[str], str]) -> _Named:
    """Return a chunk or definition with secrets hidden in name, signature and scope."""
    if isinstance(thing, Chunk):
        definitions = tuple(_without_secrets(definition, clean) for definition in thing.definitions)
        thing = replace(thing, definitions=definitions)
    return replace(thing, name=clean(thing.name), signature=clean(thing.signature), scope=clean(thing.scope))


def path_terms(path: str) -> dict[str, dict[str, int]]:
    """For each of `PATH_FIELDS`, term → frequency: in the file's name without suffix, and in its last three folders."""
    folders = path_folders(path).split("/")
    return {"stem": term_counts(path_stem(path)), "dir": term_counts(" ".join(folders[-_DIRECTORIES:]))}


def path_folders(path: str) -> str:
    """The path of the folder that holds a file, without secrets; empty for a file at the top."""
    return _shown_path(path).rpartition("/")[0]


def path_stem(path: str) -> str:
    """A file's name without its suffix and without secrets; `.bashrc` has no suffix."""
    name = _shown_path(path).rpartition("/")[2]
    stem, dot, _ = name.rpartition(".")
    return stem if dot and stem else name


def head_line(path: str, scope: str, definitions: Sequence[Definition]) -> str:
    """The first line of what is embedded: path, scope and at most six names."""
    names = [d.name for d in definitions if not d.is_value][:HEAD_NAMES]
    return " ".join(part for part in (_shown_path(path), scope, *names) if part)


@lru_cache(maxsize=1 << 14)
def _shown_path(path: str) -> str:
    """A path without secrets; cached because every chunk of a document needs it, and the segment once more."""
    return redact(path)


def input_key(head: str, digest: bytes) -> bytes:
    """Key of a vector within a model: 16 bytes of the SHA-256 of head line and digest (`ChunkRecord.embedded`)."""
    material = head.encode("utf-8", "surrogatepass") + b"\0" + digest
    return hashlib.sha256(material).digest()[:DIGEST_BYTES]


def encode_detail(record: ChunkRecord) -> bytes:
    """The parts of a record that SQL never asks for, as compressed JSON."""
    detail: dict[str, object] = {
        "body": [list(record.body), list(record.body.values())],
        "fields": record.fields,
        "definitions": list(map(astuple, record.definitions)),
        "comments": list(map(astuple, record.comments)),
    }
    if record.masked:
        detail["masked"] = record.masked.hex()
    if record.literals:
        detail["literals"] = record.literals
    try:
        return pack_detail(msgspec.json.encode(detail))
    except UnicodeEncodeError:  # It holds a lone surrogate.
        return pack_detail(json.dumps(detail, separators=(",", ":")).encode())


def pack_detail(detail: bytes) -> bytes:
    """Return the JSON of a detail as the catalog stores it."""
    return zlib.compress(detail, 1)


def decode_record(row: Sequence[Any]) -> ChunkRecord:
    """A record from (start_line, end_line, digest, name, kind, signature, scope, detail) of the catalog."""
    start_line, end_line, digest, name, kind, signature, scope, blob = row
    detail = json.loads(zlib.decompress(blob))
    terms, counts = detail["body"]
    return ChunkRecord(
        start_line=start_line,
        end_line=end_line,
        digest=digest,
        name=name,
        kind=kind,
        signature=signature,
        scope=scope,
        body=dict(zip(terms, counts, strict=True)),
        fields=detail["fields"],
        definitions=tuple(Definition(*entry) for entry in detail["definitions"]),
        comments=tuple(LineSpan(*span) for span in detail["comments"]),
        masked=bytes.fromhex(detail.get("masked", "")),
        literals=tuple(detail.get("literals", ())),
    )


class Analysis(Struct, frozen=True):
    """A text cut into chunks.

    Attributes:
        method: As in `Chunked`.
        fallback: As in `Chunked`.
        records: Records of the text's chunks, in order.
        details: The detail of each record (`encode_detail`), as the catalog stores it.
        texts: The text of each chunk, normalised and without secrets: what is embedded.
        postings: The terms of the records if these come from another process, without terms and comments.
    """

    method: str
    fallback: str
    records: Sequence[ChunkRecord]
    details: Sequence[bytes]
    texts: Sequence[str]
    postings: TermColumns | None = None


class Looked(Struct, frozen=True):
    """A document that was read.

    Attributes:
        document: The document; its text may be empty when there is an analysis.
        analysis: The text cut into chunks; None for a text that is known.
    """

    document: Document
    analysis: Analysis | None


class Reader(Struct, frozen=True):
    """Reads and cuts files; it can be sent to another process as long as its source can.

    Attributes:
        source: Gives the documents.
        chunk: Cuts a document.
        limits: Sizes of chunks.
    """

    source: Source
    chunk: Callable[[Document, ChunkLimits], Chunked]
    limits: ChunkLimits

    def look(self, found: Found, is_known: Callable[[Document], bool]) -> Looked | Skipped:
        """Read a file, and cut it unless its text is known; return `Skipped` for a file that is not indexed."""
        document = self.source.read(found)
        if isinstance(document, Skipped):
            return document
        return Looked(document, None if is_known(document) else self.analyse(document))

    def analyse(self, document: Document) -> Analysis:
        """Cut a document into chunks and return what the catalog keeps of them."""
        chunked = self.chunk(document, self.limits)
        records, texts = analysed(document, chunked.chunks)
        return Analysis(chunked.method, chunked.fallback, records, list(map(encode_detail, records)), texts)


class Task(Struct, frozen=True):
    """The tools and known texts with which a process looks at files for a build.

    Attributes:
        reader: Looks at a file.
        known: Digest and language of the texts that need no cutting.
    """

    reader: Reader
    known: frozenset[tuple[bytes, str]]

    def look(self, found: Found) -> Looked | Skipped:
        """See `Reader.look`."""
        return self.reader.look(found, lambda document: (document.digest, document.language) in self.known)


# --- Roles -----------------------------------------------------------------------------------------------------------


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


# --- Literals --------------------------------------------------------------------------------------------------------


DATA_LANGUAGES = frozenset({"json", "xml", "yaml", "toml", "ini", "properties", "csv", "dtd", "gitignore", "gomod"})
"""Languages of files that are data, and hold no literals of a program."""

_LITERAL = re.compile(
    r"\"{3}|'{3}"  # A docstring or a text block: what it says is prose.
    r"|\"((?:\\.|[^\"\\\n]){2,300})\"|'((?:\\.|[^'\\\n]){2,300})'|`((?:\\.|[^`\\\n]){2,300})`"
)
_PLACEHOLDER = re.compile(r"%(?:\(\w{1,40}\))?[-+ #0-9.]{0,8}[sdrifgxcqv]|[$#]?\{[^{}\n]{0,80}\}|\\[nrt\"'0]")
_TOKEN = re.compile(r"-{0,2}[^\W_](?:[\w.\-/:]{0,120}\w)?")
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"|(?<!\w)'([^'\n]{2,80})'(?!\w)")
_TELLING = re.compile(r"-{1,2}\w|\w[-_/]\w|_|(?<![A-Za-z])[A-Z]{1,8}\d")
"""A word that is spelled as no word of prose is: `--keep-stale`, `MAX_AGE`, `/users/me`, `E501`."""
_LEAST_WORD, _LEAST_RUN, _LONGEST_RUN = 3, 3, 12
"""Letters of a single word, and words of a run, at least and at most; shorter runs are said by chance."""
_MOST_TOKENS = 400
"""Words of a prompt that are looked at: what follows is a log."""
_FACTOR = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def keys_in_code(text: str) -> tuple[int, ...]:
    """Return the key of each run of words in the literals of some code, each once, ascending; in [0, 2**63)."""
    found: set[int] = set()
    for match in _LITERAL.finditer(text):
        literal = match[1] or match[2] or match[3]
        for piece in _PLACEHOLDER.split(literal) if literal else ():
            tokens = _TOKEN.findall(piece)
            if (len(tokens) == 1 and len(tokens[0]) >= _LEAST_WORD) or _LEAST_RUN <= len(tokens) <= _LONGEST_RUN:
                found.add(_key(tokens) >> 1)
    return tuple(sorted(found))


def keys_said(text: str) -> NDArray[np.uint64]:
    """Return the keys of the runs of a prompt that may be literals, in no order: shape (n,).

    These are words that are quoted or spelled as no word of prose is, and all runs of three to twelve words of a line.
    """
    import numpy as np  # A prompt that is not searched needs none.

    words = {token for token in _TOKEN.findall(text) if _TELLING.search(token)}
    for match in _QUOTED.finditer(text):
        words.update(_TOKEN.findall(match[1] or match[2] or match[3]))
    keys = [np.array([_key((word,)) for word in words if len(word) >= _LEAST_WORD], np.uint64)]
    left = _MOST_TOKENS
    for line in text.split("\n"):
        tokens = _TOKEN.findall(line)[:left]
        left -= len(tokens)
        hashes = np.array([_hash(token.lower()) for token in tokens], np.uint64)
        run = hashes
        for length in range(2, min(len(hashes), _LONGEST_RUN) + 1):
            run = run[:-1] * np.uint64(_FACTOR) + hashes[length - 1 :]
            if length >= _LEAST_RUN:
                keys.append(run)
    found = np.sort(np.concatenate(keys) >> np.uint64(1))  # `np.unique` would import `numpy.ma`, 20 ms of a prompt.
    is_new = np.ones(len(found), np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_new[1:])
    return found[is_new]


def _key(tokens: Sequence[str]) -> int:
    key = 0
    for token in tokens:
        key = (key * _FACTOR + _hash(token.lower())) & _MASK
    return key


@lru_cache(1 << 14)
def _hash(token: str) -> int:
    return int.from_bytes(hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
