"""Finds code, identifiers and paths in what a person typed; for the prompt gate and the query."""

from __future__ import annotations

import re

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
    return " ".join(word for word in words if not _is_spelled_like_prose(word))


def _is_spelled_like_prose(word: str) -> bool:
    return word.isalpha() and (word.islower() or word.istitle()) and word.lower() not in _BARE_FILES


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
