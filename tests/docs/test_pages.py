"""Runs the blocks of every page on one small project, in the order of the text, each command through the real command line."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.docs.neighbours import write_neighbours
from tests.docs.pages import LANGUAGES, Block, blocks_of, examples_of, guides, name_of, pages, pattern_of
from tests.support.builders import CHECKOUT, Shop, copied_shop, git_project
from tests.support.forked import CAN_FORK, forked_command

if TYPE_CHECKING:
    from pathlib import Path

_PAGES = {name_of(page): page.read_text(encoding="utf-8") for page in sorted({*pages(), *guides()})}
_WITH_BLOCKS = [name for name, text in _PAGES.items() if any(not block.reason for block in blocks_of(text))]
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A small project with a history, indexed once; only to be copied."""
    folder = tmp_path_factory.mktemp("built")
    shop = Shop(git_project(folder / "shop"), folder / "hybrid-home")
    _commit(shop.root, "Describe how a release is rolled back")
    for path in ("src/payments/client.py", "docs/deploy.md"):
        with (shop.root / path).open("a", encoding="utf-8") as file:
            file.write("\n")
    _commit(shop.root, "End files with an empty line")
    shop.out("reindex", "--quiet")
    return shop


@pytest.fixture
def shop(built: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same for one page, with `hybrid` on the path and no service, and files of other tools beside it."""
    program = tmp_path / "bin" / "hybrid"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybrid "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setenv("PYTHONPATH", str(CHECKOUT))
    monkeypatch.setenv("HYBRID_DAEMON_ENABLED", "false")
    # What pages show are answers; a busy machine must not make them silent.
    monkeypatch.setenv("HYBRID_HOOKS_DEADLINE_MS", "60000")
    write_neighbours(tmp_path / "user-home", tmp_path)
    return copied_shop(built, tmp_path).root


def _commit(root: Path, subject: str) -> None:
    """Commit every file, as somebody and at a time that are always the same."""
    environ = os.environ | dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-10-02T09:00:00Z")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*who, "commit", "--quiet", "--message", subject)):
        subprocess.run(["git", *words], cwd=root, env=environ, check=True)


@pytest.mark.skipif(shutil.which("sh") is None, reason="the examples are written for a POSIX shell")
@pytest.mark.parametrize("name", _WITH_BLOCKS)
def test_the_examples_of_a_page_are_true(name: str, shop: Path) -> None:
    """Every command of a page does what the page says, in the order of the text."""
    for block in blocks_of(_PAGES[name]):
        for example in [] if block.reason else examples_of(block, sys.executable):
            done = _ran(example.command, shop)
            where = f"{name}:{example.line}\n{example.command}\n{done.stdout}{done.stderr}"

            assert "" == done.stderr, where
            if example.output is None:
                assert 0 == done.returncode, where
            else:
                assert pattern_of(example.output).match(done.stdout), where


_NEEDS_SHELL = re.compile(r"[|&;<>$`*~\\\n]")
_NEEDS_START = ("hook", "mcp", "daemon", "dashboard")
"""Commands that start, or that others start: they are tried from the start of their process."""


def _ran(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """What a line of a page does: in a shell, but for commands of ours that need none, which are forked."""
    words = [] if _NEEDS_SHELL.search(command) else shlex.split(command)
    if not CAN_FORK or len(words) < 2 or words[0] != "hybrid" or words[1] in _NEEDS_START:
        return subprocess.run(command, shell=True, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    done = forked_command(tuple(words[1:]), cwd=cwd, environ=dict(os.environ), stdin=b"")
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_the_readme_has_examples() -> None:
    """The README shows the main commands at work."""
    commands = " ".join(
        example.command for block in blocks_of(_PAGES["README.md"]) for example in examples_of(block, "python")
    )

    assert all(f"hybrid {name}" in commands for name in ("init", "context", "hook", "search", "status", "explain"))


def test_the_readme_is_short() -> None:
    """README.md has at most 130 lines, with the picture among the first 20; the rest stands in docs/."""
    lines = _PAGES["README.md"].splitlines()

    assert len(lines) <= 130
    assert any("docs/picture.svg" in line for line in lines[:20])


@pytest.mark.parametrize("name", _PAGES)
def test_the_links_of_a_page_lead_somewhere(name: str) -> None:
    """A relative link names a file of the repository, and its anchor a heading of that page."""
    text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]*`", "", _PAGES[name])
    missing: list[str] = []
    for target, anchor in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path = (CHECKOUT / name).parent / target if target else CHECKOUT / name
        if not path.exists() or (anchor and anchor not in _anchors(path.read_text(encoding="utf-8"))):
            missing.append(f"{target}#{anchor}" if anchor else target)

    assert [] == missing


def test_every_page_of_docs_stands_in_its_index() -> None:
    """docs/README.md links every other page of docs/; the index of the decisions links every decision."""
    docs = CHECKOUT / "docs"
    decisions = docs / "decisions"
    others = [path for path in docs.rglob("*.md") if decisions not in path.parents] + [decisions / "README.md"]
    for index, pages_of in ((docs, others), (decisions, decisions.glob("*.md"))):
        linked = {(index / target).resolve() for target, _ in _LINK.findall((index / "README.md").read_text("utf-8"))}

        assert set() == set(pages_of) - linked - {index / "README.md"}


@pytest.mark.parametrize("name", [name_of(page) for page in guides()])
def test_the_paths_that_a_page_names_exist(name: str) -> None:
    """A file or folder of the code in backticks is there, or beside the page: recipes stay true when files move."""
    page = CHECKOUT / name
    paths = re.findall(
        r"`((?:hybrid|tests|lab|docs|index|hooks|models|training)/[\w./-]*)`", page.read_text(encoding="utf-8")
    )
    # An installed package has the folder `hybrid/shipped`, a checkout has not.
    named = [path for path in paths if not path.startswith("hybrid/shipped")]

    assert [] == [path for path in named if not (CHECKOUT / path).exists() and not (page.parent / path).exists()]


def test_the_values_of_the_data_flow_exist() -> None:
    """Each value of docs/data-flow.md is a class of the package, and each module that makes one is there."""
    rows = re.findall(r"(?m)^\| (`[A-Z].*?) \| (`.*?) \|", _PAGES["docs/data-flow.md"])
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((CHECKOUT / "hybrid").rglob("*.py")))
    classes = set(re.findall(r"(?m)^(?:class )?(\w+)(?:\(| = |:)", code))
    values = {name.rsplit(".", 1)[-1] for value, _ in rows for name in re.findall(r"`([\w.]+)`", value)}
    modules = {name.replace(".", "/") for _, makers in rows for name in re.findall(r"`([\w.]+)`", makers)}
    package = CHECKOUT / "hybrid"

    assert rows
    assert set() == values - classes
    assert [] == [
        name for name in sorted(modules) if not ((package / name).is_dir() or (package / f"{name}.py").exists())
    ]


def test_commands_stand_in_blocks_that_are_run() -> None:
    """No page has a command in a block of another language, where no test would see it; examples of a help are parsed."""
    hidden: list[str] = []
    for name, text in _PAGES.items():
        for language, body in re.findall(r"(?ms)^```([\w-]*)\n(.*?)^```$", text):
            is_told_elsewhere = language in (*LANGUAGES, "json", "toml") or name == "docs/reference/commands.md"
            if not is_told_elsewhere and re.search(r"(?m)^(\$ )?(hybrid|git|make|pip|python|npm|uv|pipx) ", body):
                hidden.append(f"{name}: {body.splitlines()[0]}")

    assert [] == hidden


def test_few_blocks_are_not_run() -> None:
    """What is not run installs, deletes, takes long or needs something else; beside measures it is one block in five."""
    blocks = [(name, block) for name, text in _PAGES.items() for block in blocks_of(text)]
    of_use = [block for name, block in blocks if not name.startswith(("docs/benchmarks.md", "lab/"))]
    reasons = {block.reason for _, block in blocks if block.reason}

    assert [] == [reason for reason in reasons if not re.match("(needs|takes|installs|makes|removes|deletes) ", reason)]
    assert 5 * sum(bool(block.reason) for block in of_use) <= len(of_use)


def test_a_block_that_is_not_run_has_a_reason() -> None:
    """The comment above a block keeps it from being run; a page of which no block is run would test nothing."""
    text = "<!-- not run: needs npm -->\n```sh\nnpm ci\n```\n\n```console\n$ echo a\na\n```\n\n```text\nx\n```\n"

    assert [
        Block("sh", "npm ci\n", 2, "needs npm"),
        Block("console", "$ echo a\na\n", 6, ""),
    ] == blocks_of(text)
    assert {"console", "sh", "python"} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("printed", "expected", "is_same"),
    [("a 12 b\n", "a ... b\n", True), ("a 12 c\n", "a ... b\n", False), ("a\nb\n", "a\n", False), ("a", "...\n", True)],
    ids=["dots", "other end", "more lines", "anything"],
)
def test_dots_stand_for_any_output(printed: str, expected: str, is_same: bool) -> None:
    """`...` matches whatever stands there, everything else only itself."""
    assert is_same == bool(pattern_of(expected).match(printed))


def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
