"""Tells language and kind of a file from its path and first line; the sources are given these functions.

Names are those of the tree-sitter grammars; `text` stands for readable files without a grammar. Standard library only.
"""

from __future__ import annotations

import re

from hybrid.types import FileKind


def _spread(table: dict[str, str]) -> dict[str, str]:
    return {key: language for language, keys in table.items() for key in keys.split()}


_NAMED_LIKE_EXTENSION = (
    "astro cmake css dart dtd go java json5 just kdl nix org properties proto r scss svelte swift toml tsx vim vue"
)
"""Languages whose files have their name as the only extension."""
_EXTENSIONS = _spread(
    {
        **{name: name for name in _NAMED_LIKE_EXTENSION.split()},
        "asciidoc": "adoc asciidoc asc",
        "bash": "sh bash zsh ksh bats ebuild eclass command",
        "batch": "bat cmd",
        "c": "c h",
        "clojure": "clj cljs cljc edn bb",
        "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp txx ixx cppm cu cuh ino",
        "csharp": "cs csx",
        "dockerfile": "dockerfile containerfile",
        "elixir": "ex exs",
        "embedded_template": "erb ejs rhtml",
        "erlang": "erl hrl escript",
        "fortran": "f f77 f90 f95 f03 f08 for ftn",
        "gotmpl": "gotmpl tmpl gohtml",
        "graphql": "graphql gql graphqls",
        "groovy": "groovy gradle gvy gy gsh",
        "haskell": "hs hs-boot hsc",
        "hcl": "hcl tf tfvars nomad",
        "heex": "heex leex",
        "html": "html htm xhtml",
        "ini": "ini cfg conf editorconfig desktop service",
        "javascript": "js jsx mjs cjs es6",
        "jinja2": "jinja jinja2 j2",
        "json": "json jsonl ndjson webmanifest geojson har avsc ipynb",
        "jsonc": "jsonc code-workspace",
        "jsonnet": "jsonnet libsonnet",
        "julia": "jl",
        "kotlin": "kt kts",
        "latex": "tex sty cls ltx",
        "lua": "lua rockspec",
        "make": "mk mak make",
        "markdown": "md markdown mdown mkd mdx mdc qmd rmd",
        "objc": "m mm",
        "ocaml": "ml mli",
        "perl": "pl pm t pod psgi",
        "php": "php phtml php3 php4 php5 php7 php8 phps inc",
        "powershell": "ps1 psm1 psd1",
        "python": "py pyi pyw pyx pxd",
        "racket": "rkt",
        "rst": "rst rest",
        "ruby": "rb rake gemspec ru podspec rbi thor jbuilder",
        "rust": "rs",
        "scala": "scala sc sbt",
        "scheme": "scm ss sld sls",
        "solidity": "sol",
        "sql": "sql ddl dml psql",
        "starlark": "bzl bazel star",
        "text": "txt text log csv tsv less sass styl vb fs fsx fsi elm purs nim cr d pas pp lisp el cl tcl awk sed"
        " asm s v sv vhd vhdl glsl hlsl wgsl metal frag vert feature robot pug haml slim mustache hbs handlebars"
        " liquid twig cairo move vy hx gd coffee litcoffee ada adb ads cob cbl prolog pro sas do jmespath rego cue"
        " dhall capnp thrift fbs avdl asn wsdl env gd zsh-theme fish nu po pot srt vtt bib ics eml patch diff man"
        " 1 2 3 4 5 6 7 8 gn gni bp meson cabal nimble opam",
        "typescript": "ts mts cts",
        "typst": "typ",
        "wat": "wat wast",
        "xml": "xml xsd xsl xslt svg plist csproj fsproj vbproj props targets nuspec resx xaml storyboard xib pom rss"
        " atom wxs",
        "yaml": "yaml yml",
        "zig": "zig zon",
    }
)

_DOC_NAMES = (
    "readme license licence copying copyright notice authors contributors maintainers changelog changes news history"
    " todo install contributing thanks"
)
_NAMES = _spread(
    {
        "bash": ".bashrc .bash_profile .bash_aliases .profile .zshrc .zprofile .zshenv .envrc pkgbuild apkbuild",
        "cmake": "cmakelists.txt",
        "dockerfile": "dockerfile containerfile",
        "gitignore": ".gitignore .dockerignore .npmignore .eslintignore .prettierignore .hybridignore .gitattributes"
        " codeowners",
        "go": "go.mod go.work",
        "groovy": "jenkinsfile",
        "ini": ".editorconfig .npmrc .pylintrc .flake8 .coveragerc .gitconfig .gitmodules setup.cfg tox.ini",
        "javascript": "jakefile",
        "json": ".babelrc .eslintrc .prettierrc .swcrc composer.lock",
        "just": "justfile .justfile",
        "make": "makefile gnumakefile bsdmakefile kbuild",
        "perl": "makefile.pl cpanfile",
        "python": "sconstruct sconscript wscript",
        "ruby": "rakefile gemfile guardfile capfile vagrantfile podfile fastfile appfile brewfile dangerfile berksfile",
        "starlark": "build workspace module.bazel tiltfile buck",
        "text": f"{_DOC_NAMES} version procfile .env .env.example .tool-versions",
        "toml": "pipfile cargo.lock poetry.lock uv.lock",
        "vim": ".vimrc .exrc _vimrc",
        "yaml": ".clang-format .clang-tidy .yamllint .gemrc",
    }
)

_INTERPRETERS = _spread(
    {
        "bash": "sh bash dash ksh zsh ash bats",
        "clojure": "bb",
        "elixir": "elixir",
        "erlang": "escript",
        "groovy": "groovy",
        "haskell": "runhaskell runghc stack",
        "javascript": "node nodejs",
        "julia": "julia",
        "just": "just",
        "kotlin": "kotlin",
        "lua": "lua luajit",
        "make": "make",
        "perl": "perl",
        "php": "php",
        "powershell": "pwsh",
        "python": "python pypy",
        "r": "rscript",
        "racket": "racket",
        "ruby": "ruby",
        "scala": "scala",
        "scheme": "guile",
        "swift": "swift",
        "text": "awk gawk sed fish tclsh expect",
        "typescript": "deno bun ts-node tsx",
    }
)

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*(?:\S*/)?)?([\w.-]+)")
_XML = re.compile(r"<\?xml\b|<!DOCTYPE\s+(?!html)", re.IGNORECASE)
_HTML = re.compile(r"<!DOCTYPE\s+html|<html\b", re.IGNORECASE)

MARKUP = frozenset({"markdown", "rst", "asciidoc", "org", "latex", "typst"})
"""Languages of documents with headings."""
_DOC_EXTENSIONS = frozenset("txt text man log 1 2 3 4 5 6 7 8 bib".split())
_DOC_STEMS = frozenset(_DOC_NAMES.split())


def language_of(path: str, first_line: str = "") -> str | None:
    """Return the language of a file, or None when neither its name nor its first line tell.

    Args:
        path: Relative path with forward slashes; upper or lower case does not matter.
        first_line: Decides by its `#!` for names without a known extension.
    """
    name = path.rsplit("/", 1)[-1].lower()
    if name in _NAMES:
        return _NAMES[name]
    stem, _, extension = name.rpartition(".")
    if stem and extension in _EXTENSIONS:
        return _EXTENSIONS[extension]
    if name.partition(".")[0] in ("dockerfile", "containerfile", "makefile"):
        return _NAMES[name.partition(".")[0]]
    language = _by_first_line(first_line)
    if language is None and stem and stem.partition(".")[0] in _DOC_STEMS:
        return "text"
    return language


def kind_of(path: str, language: str) -> FileKind:
    """Return `doc` for what is written for readers (markup, plain text, README and LICENSE), `code` for the rest."""
    if language in MARKUP:
        return "doc"
    name = path.rsplit("/", 1)[-1].lower()
    stem, _, extension = name.rpartition(".")
    is_doc = language == "text" and (extension in _DOC_EXTENSIONS or name.partition(".")[0] in _DOC_STEMS)
    return "doc" if is_doc and (stem or name in _DOC_STEMS) else "code"


def _by_first_line(first_line: str) -> str | None:
    """Return the language that a `#!` line, or the beginning of HTML or XML, names; None for others."""
    shebang = _SHEBANG.match(first_line)
    if shebang is not None:
        interpreter = shebang.group(1).lower()
        return _INTERPRETERS.get(interpreter) or _INTERPRETERS.get(interpreter.rstrip("0123456789.-"))
    if _HTML.match(first_line):
        return "html"
    return "xml" if _XML.match(first_line) else None
