"""Texts that were made to be slow to index, in every language, and what they cost beside ordinary source.

`hybrid eval speed --part worst` and a test call it. The measure is the processor time of cutting a text, describing its
chunks, embedding them and encoding them for a segment; secrets are not looked for here.
"""

from __future__ import annotations

import random
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hybrid
from hybrid.chunking.chunker import chunk_document
from hybrid.index.analysis import analysed, encode_detail
from hybrid.index.drafting import SegmentDocument, SegmentEncoder
from hybrid.types import ChunkLimits, Document, EmbedInput
from hybrid_lab.chunks.expected import expected_languages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hybrid.types import Chunked, Embedder

_LIMITS = ChunkLimits(max_chars=1500, merge_chars=750, cut_chars=1000)
_OTHERS = tuple(
    "markdown rst latex asciidoc org typst html vue css scss json yaml toml sql make cmake dart julia ocaml perl r "
    "powershell clojure erlang hcl nix text".split()
)
_PUNCTUATION = "(){}[]<>;:,.=+-*/&|!?#@$%^~`'\"\\\n \t"

_UNITS = (
    *(
        "# a\n",
        "## a\n# b\n",
        "a\n",
        "a ",
        "word ",
        "(",
        "{",
        "[",
        "<",
        '"',
        "'",
        "`",
        "/*",
        "(*",
        "<!--",
        "\\\n",
        "()",
    ),
    *("{}", "f(){\n", "a,", "a=1\n", "a: 1\n", "- a\n", " ", "\n", '"""', "<<EOF\n", "```\n", "<a>", "</a>", "@a\n"),
    *("#if a\n", "#define a\n", "|a|b|\n", "|-", "a\n===\n", "!", "->", "=>", "%w(", "a::", "a?", "a<", "~a", "\0a"),
    *("a[", "a(", "),", "end\n", "if(a)", "else ", "def a(): pass\n", "class A{", "int a(){}\n", "const a=1;\n"),
    *("template<", "#[a]\n", "type A = B;\n", "f x = y\n", "\\section{a", "[a](", "{%", "<script>", "// a\n", "--[["),
    *('{"a":', '{"a":1},\n', '"a": 1,\n', "select a from b;\n", "q(", "<<a;", "日", "\u200b"),
    *("`${", "#{", "${", "$(", "{{a}}", "{%if a%}", '"#{', 'f"{', 'r#"', "@", "@a ", "#", ";", "--", "::"),
)
_NUMBERED_UNITS = (
    "%w(",
    "a=>",
    "const a=1;\n",
    "a?.",
    "<a ",
    "(",
    '"',
    "<!--",
    "->",
    "#[a]\n",
    "~a",
    "@a\n",
    "f(){\n",
    '{"a":',
    "@a(",
    "[a]\n",
    "#{",
    "`${",
    "<<E\n",
    "a<",
    "{{a}}",
    "{%if a%}",
    "case a:",
    "if a then ",
    "let a = ",
    "\\a{",
    "[a](b) ",
    "[^a]: ",
    "[[a]]\n",
    "- a: ",
    "a.b.c = 1\n",
    ".. a::\n\n",
    ',a,"b"\n',
    "&a *a ",
)
"""Of these every repetition is another text."""
_KEYWORDS = (
    "class function if else for while do end begin then case match when with try catch def fn func fun let const var "
    "val type struct enum trait impl interface module namespace template import export return yield await async static"
).split()
_UNCLOSED = (
    '"',
    "'",
    "`",
    '"""',
    "/*",
    "(*",
    "{-",
    "<!--",
    "--[[",
    "=begin\n",
    "<<E\n",
    "%w(",
    'R"a(',
    "(",
    "{",
    "```\n",
)
"""What stands before ordinary source and is never closed."""
_PAIRS = (("(", ")"), ("{", "}"), ("[", "]"), ("<a>", "</a>"), ("function a(){", "}"), ("/*", "*/"), ("{-", "-}"))


def shapes() -> dict[str, Callable[[int], str]]:
    """Name of a shape → its text of about so many characters, the same in every run."""
    made: dict[str, Callable[[int], str]] = {f"repeated {unit!r}": partial(_repeated, unit) for unit in _UNITS}
    made |= {f"nested {begin}{end}": partial(_nested, begin, end) for begin, end in _PAIRS}
    made |= {f"numbered {unit!r}": partial(_numbered_unit, unit) for unit in _NUMBERED_UNITS}
    made |= {f"source and {unit!r}": partial(_behind_source, unit) for unit in ("%w(", "a=>", "@a\n")}
    made |= {f"unclosed {mark!r}": partial(_unclosed, mark) for mark in _UNCLOSED}
    made |= {f"keyword {word}": partial(_numbered_unit, f" {word} ") for word in _KEYWORDS}
    others: dict[str, Callable[[int], str]] = {
        "steps": lambda n: _numbered(n, lambda i: " " * i + "if a:\n"),
        "headings": lambda n: _numbered(n, lambda i: "#" * (1 + i % 6) + f" h{i}\n"),
        "headings that fall": lambda n: "# a\n" + _repeated("## b\n", n),
        "heading of links": lambda n: "# " + "[" * n + "\n",
        "definitions on one line": lambda n: _numbered(n, lambda i: f"function f{i}(){{}};"),
        "constants": lambda n: "const " + _numbered(n, lambda i: f"a{i}={i},"),
        "comments": lambda n: _repeated("/* a */ ", n) + "int f(){}\n",
        "methods of a long name": lambda n: (
            f"class {'A' * (n // 2)} {{\n" + _numbered(n // 2, lambda i: f"void f{i}(){{}}\n") + "}\n"
        ),
        "attributes": lambda n: "a! {" + _repeated("#[]", n) + "}\n",
        "random brackets": partial(_random, "(){}[]<>"),
        "random punctuation": partial(_random, _PUNCTUATION),
        "random words": partial(_random, "abcdefgh \n"),
        "random keywords": partial(_random_words, _KEYWORDS),
        "one line of source": lambda n: ordinary(n).replace("\n", " "),
        "one line of words": lambda n: _random("abcdefgh ", n),
        "source of another language": ordinary,
        "source backwards": lambda n: ordinary(n)[::-1],
        "lists in lists": lambda n: _numbered(n, lambda i: "  " * (i % 60) + f"- a{i}:\n"),
        "rows": lambda n: _numbered(n, lambda i: f'{i},"a{i * i % 97}",{i * 7 % 31}\n'),
        "digits": partial(_random, "0123456789abcdef"),
    }
    return made | others


def _repeated(unit: str, n_chars: int) -> str:
    return (unit * (n_chars // len(unit) + 1))[:n_chars]


def _numbered_unit(unit: str, n_chars: int) -> str:
    return _numbered(n_chars, lambda i: f"{i}{unit}")


def _behind_source(unit: str, n_chars: int) -> str:
    """Ordinary source, and a tenth that is slow."""
    return ordinary(n_chars - n_chars // 10) + "\n" + _numbered_unit(unit, n_chars // 10)


def _nested(begin: str, end: str, n_chars: int) -> str:
    depth = n_chars // len(begin + end)
    return begin * depth + end * depth


def _unclosed(mark: str, n_chars: int) -> str:
    return mark + ordinary(n_chars)


def _random_words(words: Sequence[str], n_chars: int) -> str:
    chooser = random.Random(16)
    return _numbered(n_chars, lambda _: chooser.choice(words) + " ")


def _numbered(n_chars: int, part: Callable[[int], str]) -> str:
    parts: list[str] = []
    length = 0
    while length < n_chars:
        parts.append(part(len(parts)))
        length += len(parts[-1])
    return "".join(parts)


def _random(alphabet: str, n_chars: int) -> str:
    return "".join(random.Random(16).choices(alphabet, k=n_chars))


def ordinary(n_chars: int) -> str:
    """So many characters of this program's own source."""
    files = sorted(Path(hybrid.__file__).parent.rglob("*.py"))
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    return (text * (n_chars // len(text) + 1))[:n_chars]


def indexing_s(text: str, language: str, embedder: Embedder) -> tuple[float, Chunked]:
    """Seconds of processor time that a text costs, and how it was cut."""
    document = Document("a", "code", language, text, bytes(32))
    started_s = time.process_time()
    chunked = chunk_document(document, _LIMITS)
    records, texts = analysed(document, chunked.chunks)
    for record in records:
        encode_detail(record)
    embedder.embed_documents([EmbedInput("", body) for body in texts])
    SegmentEncoder().add(SegmentDocument("a", 1, "code", language, records))
    return time.process_time() - started_s, chunked


def worst_figures(embedder: Embedder, only: Iterable[str] = (), *, n_chars: int, shown: int = 20) -> dict[str, Any]:
    """The texts that cost most, each with how many times as much as ordinary source of that length.

    Args:
        embedder: Of the chunks.
        only: Languages; none means those with tested definitions and some others.
        n_chars: Length of each text.
        shown: Texts to name.
    """
    ordinary_s = min(indexing_s(ordinary(n_chars), "python", embedder)[0] for _ in range(3))
    rows: list[dict[str, Any]] = []
    for language in tuple(only) or (*expected_languages(), *_OTHERS):
        indexing_s("a", language, embedder)  # Its grammar is loaded once for all.
        for name, shape in shapes().items():
            took_s, chunked = indexing_s(shape(n_chars)[:n_chars], language, embedder)
            times = round(took_s / ordinary_s, 1)
            rows.append({"language": language, "shape": name, "times": times, "fallback": chunked.fallback or None})
    rows.sort(key=lambda row: (-row["times"], row["language"], row["shape"]))
    per_language: dict[str, float] = {}
    for row in rows:
        per_language.setdefault(row["language"], row["times"])
    return {
        "chars": n_chars,
        "ordinary_s": round(ordinary_s, 3),
        "texts": len(rows),
        "worst": rows[:shown],
        "worst_per_language": per_language,
    }
