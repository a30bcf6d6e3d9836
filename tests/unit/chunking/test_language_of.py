"""Language and kind of a file by its path and first line."""

from __future__ import annotations

import pytest

from hybrid.chunking.languages import kind_of, language_of


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("src/a.py", "python"), ("a.pyi", "python"), ("a.js", "javascript"), ("a.jsx", "javascript"),
        ("a.mjs", "javascript"), ("a.ts", "typescript"), ("a.d.ts", "typescript"), ("a.tsx", "tsx"), ("a.go", "go"),
        ("A.java", "java"), ("a.kt", "kotlin"), ("build.gradle.kts", "kotlin"), ("a.rs", "rust"), ("a.c", "c"),
        ("a.h", "c"), ("a.hpp", "cpp"), ("a.cc", "cpp"), ("a.cs", "csharp"), ("a.php", "php"), ("a.rb", "ruby"),
        ("Rakefile", "ruby"), ("a.swift", "swift"), ("a.scala", "scala"), ("a.hs", "haskell"), ("a.ex", "elixir"),
        ("a.exs", "elixir"), ("a.lua", "lua"), ("a.sh", "bash"), ("t/a.bats", "bash"), ("a.zig", "zig"),
        ("README.md", "markdown"), ("a.rst", "rst"), ("Cargo.toml", "toml"), ("a.yml", "yaml"), ("a.sql", "sql"),
        ("Makefile", "make"), ("CMakeLists.txt", "cmake"), ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"), ("a.tf", "hcl"), ("a.vue", "vue"), ("a.proto", "proto"),
        ("LICENSE", "text"), ("LICENSE.MIT", "text"), ("notes.txt", "text"), ("A.PY", "python"),
        (".gitignore", "gitignore"), ("deep/BUILD.bazel", "starlark"), ("a.unknown", None), ("binary", None),
        ("a.png", None), (".hidden", None),
    ],
)  # fmt: skip
def test_language_by_path(path, language):
    """Extension or file name decide, in any case of letters; an unknown name has no language."""
    assert language == language_of(path)


@pytest.mark.parametrize(
    ("first_line", "language"),
    [
        ("#!/bin/sh", "bash"), ("#!/usr/bin/env bash", "bash"), ("#!/usr/bin/env python3.11", "python"),
        ("#!/usr/bin/python3 -u", "python"), ("#!/usr/bin/env -S node --harmony", "javascript"),
        ("#!/usr/bin/env ruby", "ruby"), ("#!/usr/bin/perl -w", "perl"), ("#! /usr/bin/env FOO=1 bash", "bash"),
        ("#!/usr/bin/unheard-of", None), ("<?xml version='1.0'?>", "xml"), ("<!DOCTYPE html>", "html"), ("hello", None),
    ],
)  # fmt: skip
def test_language_by_first_line(first_line, language):
    """A file without a telling name is known by its interpreter."""
    assert language == language_of("bin/tool", first_line)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", "doc"), ("docs/a.rst", "doc"), ("a.adoc", "doc"), ("a.org", "doc"), ("a.tex", "doc"),
        ("a.typ", "doc"), ("LICENSE", "doc"), ("README", "doc"), ("CHANGELOG.txt", "doc"), ("a.txt", "doc"),
        ("a.py", "code"), ("a.json", "code"), ("Makefile", "code"), ("a.less", "code"), ("CMakeLists.txt", "code"),
    ],
)  # fmt: skip
def test_kind_by_path(path, kind):
    """Markup, plain text and files like README are docs; everything else is code."""
    assert kind == kind_of(path, language_of(path))


def test_every_language_has_a_grammar():
    """Each name that is given out is a grammar of the collection, or `text`."""
    from semble_grammars import available_languages

    from hybrid.chunking import languages

    named = {*languages._EXTENSIONS.values(), *languages._NAMES.values(), *languages._INTERPRETERS.values()}

    assert set() == named - set(available_languages()) - {"text"}


def test_languages_load_nothing_else():
    """The module is standard library only: importing it does not load tree-sitter."""
    import subprocess
    import sys

    code = "import sys, hybrid.chunking.languages; print('tree_sitter' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "False" == answer.stdout.strip()
