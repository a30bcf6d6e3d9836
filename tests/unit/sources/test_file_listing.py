"""Which files of a project are offered: rules, records, and what git alone knows."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.sources.git import GitUnavailableError, list_files
from hybrid.sources.listing import Lister
from hybrid.sources.patterns import ListingOptions, parse_patterns
from tests.support.cases import cases
from tests.support.examples import examples


def _options(*, use_git: bool = False) -> ListingOptions:
    return ListingOptions(use_git=use_git)


@cases("sources/ignore_files.txt")
def test_what_ignore_files_leave_out(tmp_path, write, listed, case):
    """Rules of `.gitignore` work as in git, those of `.hybridignore` stand above them."""
    write(tmp_path, case.given())

    assert case.json() == listed(tmp_path)


@cases("sources/negations.txt")
def test_negation_brings_back_what_git_ignores(tmp_path, write, listed, case):
    """`!` in a `.hybridignore` brings back along a literal path, or when it means the ignored folder itself."""
    names = ["a.py", "build/keep.md", "build/docs/b.md", "build/docs/c.json"]
    write(tmp_path, {".gitignore": "build/\n*.json\n", ".hybridignore": f"{case.text}\n"} | dict.fromkeys(names, "x"))

    assert str(case.expected).split("\n") == listed(tmp_path)


RECORDS = [".hybrid/c.md", ".claude-recall/LESSONS.md", "s/.hybrid/a.md", "LESSONS.md", "docs/LESSONS.md", "lore/a.md"]


@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        pytest.param(
            {".hybridignore": "!a.py\n", "a.py": "x", "b.py": "x"},
            {"include": ["a.py"], "exclude": ["/a.py"]},
            ["b.py"],
            id="exclude wins over everything",
        ),
        pytest.param(
            {".gitignore": "build/\n", "a.py": "x", "build/b.py": "x", "build/c.py": "x"},
            {"include": ["build/b.py"]},
            ["a.py", "build/b.py"],
            id="include adds to what is found",
        ),
        pytest.param(
            {".hybridignore": "!.hybrid/c.md\n"} | dict.fromkeys(RECORDS, "x"),
            {"record_paths": ["LESSONS.md", "lore"]},
            ["docs/LESSONS.md"],
            id="records at every depth, and files of records that were named, are no documents",
        ),
    ],
)
def test_what_settings_leave_out(tmp_path, write, listed, files, options, expected):
    """Patterns and records that the caller names stand above all ignore files."""
    write(tmp_path, files)

    assert expected == listed(tmp_path, **options)


class TestGitignore:
    """Where git's rules lie beside those of the tree."""

    def test_info_exclude_counts(self, tmp_path, write, listed, run_git):
        """`.git/info/exclude` ignores too, under every `.gitignore`."""
        run_git(tmp_path, "init", "-q")
        write(tmp_path, {".git/info/exclude": "*.py\n", ".gitignore": "!b.py\n", "a.py": "x", "b.py": "x"})

        assert ["b.py"] == listed(tmp_path)

    def test_rules_can_be_switched_off(self, tmp_path, write, source_of):
        """With `follow_gitignore` off, everything but `.git` and records is offered."""
        write(tmp_path, {".gitignore": "*.py\n", "a.py": "x", ".git/b.py": "x"})

        assert ["a.py"] == [found.path for found in source_of(tmp_path, follow_gitignore=False).scan()]

    def test_the_ignore_file_of_the_user_counts(self, tmp_path, write, listed, monkeypatch):
        """`core.excludesFile` of the user's settings ignores too, under every `.gitignore`."""
        write(tmp_path, {"global": "*.py\n", "p/.gitignore": "!c.py\n", "p/a.py": "x", "p/b.md": "x", "p/c.py": "x"})
        (tmp_path / "config").write_text(f"[core]\nexcludesFile = {(tmp_path / 'global').as_posix()}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))

        assert ["b.md", "c.py"] == listed(tmp_path / "p")


class TestRepositories:
    """What a git index and repositories inside change."""

    def test_git_knows_tracked_files_that_rules_ignore(self, tmp_path, write, source_of, run_git):
        """A file that was added in spite of a rule is listed by git, and not by a walk that does not ask git."""
        write(tmp_path, {".gitignore": "*.py\n", "a.py": "x", "b.md": "x"})
        run_git(tmp_path, "init", "-q")
        run_git(tmp_path, "add", "-f", "a.py", "b.md")

        assert ["a.py", "b.md"] == [found.path for found in source_of(tmp_path).scan()]
        assert ["b.md"] == [found.path for found in source_of(tmp_path, use_git=False).scan()]

    def test_a_deleted_tracked_file_is_not_offered(self, tmp_path, write, source_of, run_git):
        """What git tracks but the disk has lost vanishes without a count."""
        write(tmp_path, {"a.py": "x", "b.py": "x"})
        run_git(tmp_path, "init", "-q")
        run_git(tmp_path, "add", ".")
        (tmp_path / "a.py").unlink()
        source = source_of(tmp_path)

        assert ["b.py"] == [found.path for found in source.scan()]
        assert {} == source.skipped

    def test_a_conflicted_file_is_offered_once(self, tmp_path, write, source_of, run_git):
        """An unmerged path stands in the index up to three times."""
        write(tmp_path, {"a.py": "base\n"})
        run_git(tmp_path, "init", "-q", "-b", "main")
        run_git(tmp_path, "add", ".")
        run_git(tmp_path, "commit", "-qm", "base")
        for branch in ("left", "right"):
            run_git(tmp_path, "checkout", "-q", "-b", branch, "main")
            write(tmp_path, {"a.py": f"{branch}\n"})
            run_git(tmp_path, "commit", "-qam", branch)
        with pytest.raises(Exception, match="merge"):
            run_git(tmp_path, "merge", "left")

        assert ["a.py"] == [found.path for found in source_of(tmp_path).scan()]

    def test_a_linked_worktree_lists_its_own_files(self, tmp_path, write, listed, run_git):
        """Where `.git` is a file, git and the walk both find the excludes of the main repository."""
        main = tmp_path / "main"
        write(main, {"a.py": "x"})
        run_git(main, "init", "-q")
        run_git(main, "add", ".")
        run_git(main, "commit", "-qm", "x")
        write(main, {".git/info/exclude": "*.md\n"})
        run_git(main, "worktree", "add", "-q", str(tmp_path / "other"))
        write(tmp_path / "other", {"b.md": "x", "c.py": "x"})

        assert ["a.py", "c.py"] == listed(tmp_path / "other")


class TestFallback:
    """When git is not there, broken, slow or foreign."""

    def test_without_a_repository_the_folder_is_walked(self, tmp_path, write, source_of):
        """A plain folder needs no git, and the source says how it listed."""
        write(tmp_path, {".gitignore": "*.md\n", "a.py": "x", "b.md": "x"})
        source = source_of(tmp_path)

        assert ["a.py"] == [found.path for found in source.scan()]
        assert "walk: not the top of a git working tree" == source.method

    def test_a_damaged_repository_is_walked(self, tmp_path, write, source_of, run_git):
        """A damaged index hides which files are tracked in spite of a rule, and nothing else."""
        write(tmp_path, {"a.py": "x"})
        run_git(tmp_path, "init", "-q")
        write(tmp_path, {".git/index": b"DIRC nonsense"})
        source = source_of(tmp_path)

        assert ["a.py"] == [found.path for found in source.scan()]
        assert source.method.startswith("walk: git failed with 128")

    def test_a_damaged_repository_inside_another_is_not_taken_for_a_part_of_it(
        self, tmp_path, write, source_of, run_git
    ):
        """Git does not go on to a repository further up, which may ignore everything here."""
        write(tmp_path, {".gitignore": "*\n", "p/.git/HEAD": "nonsense", "p/a.py": "x"})
        run_git(tmp_path, "init", "-q")

        assert ["a.py"] == [found.path for found in source_of(tmp_path / "p").scan()]

    def test_without_a_git_binary_the_folder_is_walked(self, tmp_path, write, source_of, run_git, monkeypatch):
        """No git on the PATH is no error."""
        write(tmp_path, {"a.py": "x"})
        run_git(tmp_path, "init", "-q")
        monkeypatch.setenv("PATH", str(tmp_path))
        source = source_of(tmp_path)

        assert ["a.py"] == [found.path for found in source.scan()]
        assert source.method.startswith("walk: git cannot be run")

    def test_a_slow_git_is_not_waited_for(self, tmp_path, run_git):
        """After the time limit the listing is given up with a reason."""
        run_git(tmp_path, "init", "-q")

        with pytest.raises(GitUnavailableError, match=r"longer than 1e-06 s"):
            list_files(str(tmp_path), timeout_s=0.000001)

    def test_git_variables_of_a_surrounding_hook_are_not_used(self, tmp_path, write, source_of, run_git, monkeypatch):
        """Inside a git hook of another repository, the listing is still that of the project."""
        write(tmp_path, {"p/a.py": "x", "other/b.py": "x"})
        run_git(tmp_path / "p", "init", "-q")
        run_git(tmp_path / "other", "init", "-q")
        monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
        source = source_of(tmp_path / "p")

        assert (["a.py"], "git") == ([found.path for found in source.scan()], source.method)

    @pytest.mark.skipif(sys.platform == "win32", reason="the program to run is a shell script")
    def test_nothing_that_the_repository_names_is_run(self, tmp_path, write, source_of, run_git):
        """A file system monitor in the configuration of a foreign repository is not started."""
        write(tmp_path, {"p/a.py": "x", "monitor": f"#!/bin/sh\ntouch {tmp_path}/was_run\n"})
        (tmp_path / "monitor").chmod(0o755)
        run_git(tmp_path / "p", "init", "-q")
        run_git(tmp_path / "p", "config", "core.fsmonitor", str(tmp_path / "monitor"))
        source = source_of(tmp_path / "p")

        assert (["a.py"], "git") == ([found.path for found in source.scan()], source.method)
        assert not (tmp_path / "was_run").exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="the program to run is a command of a shell")
    @pytest.mark.parametrize(
        ("url", "setting"),
        [("ext::touch {}", "protocol.ext.allow=always"), ("ssh://host/p", "core.sshCommand=touch '{}';")],
        ids=["ext", "ssh"],
    )
    def test_nothing_is_fetched_for_the_listing(self, tmp_path, write, source_of, run_git, url, setting):
        """Git asked a repository's "promisor" for a missing tree of its sparse index, and so ran its commands."""
        project, mark = tmp_path / "p", tmp_path / "was_run"
        write(project, {"in/a.py": "x", "out/b.py": "x"})
        run_git(project, "init", "-q")
        run_git(project, "add", "--all")
        run_git(project, "commit", "-q", "-m", "First")
        run_git(project, "sparse-checkout", "init", "--cone", "--sparse-index")
        run_git(project, "sparse-checkout", "set", "in")
        tree = run_git(project, "rev-parse", "HEAD:out").strip()
        (project / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
        origin = ("remote.origin.promisor=true", f"remote.origin.url={url}", "extensions.partialClone=origin")
        for line in ("core.repositoryFormatVersion=1", *origin, setting):
            name, _, value = line.partition("=")
            run_git(project, "config", name, value.format(mark))
        subprocess.run(["git", "ls-files"], cwd=project, check=False, capture_output=True)
        if not mark.exists():
            pytest.skip("this git does not fetch for a listing")
        mark.unlink()

        assert ["in/a.py"] == [found.path for found in source_of(project).scan()]
        assert not mark.exists()

    @pytest.mark.skipif(sys.platform == "win32", reason="the program to run is a shell script")
    @pytest.mark.parametrize("folder", ["{}/bin", ".", "bin", "{}/../link"], ids=["inside", "here", "relative", "link"])
    def test_a_git_of_the_project_is_not_run(self, tmp_path, write, source_of, monkeypatch, folder):
        """A program named git that lies in the project was run when PATH led there, as `.` on it does."""
        project = tmp_path / "p"
        script = f"#!/bin/sh\n: > {tmp_path}/was_run\n"
        write(project, {"a.py": "x", ".git/HEAD": "ref: refs/heads/main\n", "git": script, "bin/git": script})
        (tmp_path / "link").symlink_to(project / "bin")
        for program in ("git", "bin/git"):
            (project / program).chmod(0o755)
        monkeypatch.chdir(project)
        monkeypatch.setenv("PATH", folder.format(project))
        source = source_of(project)

        assert "a.py" in [found.path for found in source.scan()]
        assert "walk: git cannot be run: there is none on PATH outside of the project" == source.method
        assert not (tmp_path / "was_run").exists()


class TestTrees:
    """Trees of unusual shape."""

    @pytest.mark.skipif(sys.platform == "win32", reason="needs the rights to make links")
    def test_a_loop_of_folder_links_ends(self, tmp_path, write, listed):
        """Links to folders are not followed, neither up nor sideways."""
        write(tmp_path, {"a/b.py": "x"})
        (tmp_path / "a" / "up").symlink_to(tmp_path)
        (tmp_path / "side").symlink_to("a")

        assert ["a/b.py"] == listed(tmp_path)

    @pytest.mark.parametrize("is_slow", [False, True])
    def test_a_very_deep_tree_is_listed(self, tmp_path, write, listed, monkeypatch, is_slow):
        """Depth is bounded by the file system, not by the interpreter; pipes are looked for where git is slow (#16)."""
        if is_slow:
            monkeypatch.setattr("hybrid.sources.git._LOOK_S", 0.0)
        folders = [tmp_path / "/".join(["d"] * n) for n in range(1, sys.getrecursionlimit() + 50)]
        for folder in folders:
            folder.mkdir()
        file = folders[-1] / "a.py"
        file.write_text("x")
        try:
            assert [file.relative_to(tmp_path).as_posix()] == listed(tmp_path)
        finally:
            file.unlink()
            for folder in reversed(folders):
                folder.rmdir()

    @pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the file system refuses such names")
    def test_names_that_are_not_utf_8_survive(self, tmp_path, listed, source_of):
        """Bytes that cannot be decoded become lone surrogates, by which the file can be read again."""
        name = os.fsdecode(b"caf\xe9.py")
        (tmp_path / name).write_text("x = 1")
        found = listed(tmp_path)

        assert [name] == found
        assert "x = 1" == source_of(tmp_path).read_text(found[0])

    @pytest.mark.skipif(sys.platform == "win32" or getattr(os, "geteuid", int)() == 0, reason="root reads everything")
    def test_an_unreadable_folder_is_counted(self, tmp_path, write, source_of):
        """A folder without rights is left out with a reason."""
        write(tmp_path, {"a.py": "x", "closed/b.py": "x"})
        (tmp_path / "closed").chmod(0)
        source = source_of(tmp_path)
        try:
            assert ["a.py"] == [found.path for found in source.scan()]
        finally:
            (tmp_path / "closed").chmod(0o755)

        assert {"unreadable": 1} == source.skipped


_NAMES = st.sampled_from(["a", "b", "ab", "x y", "a.txt", "b.log", ".h", "c#", "é.txt", "!n"])
_FOLDERS = st.lists(st.sampled_from(["a", "b", "ab", "x y"]), max_size=3).map("/".join)
_SEGMENTS = st.sampled_from(
    ["a", "b", "ab", "*", "**", "a*", "*b", "?", "[ab]", "[!a]", "*.log", "a.txt", ".*", "x y", r"\!n", "c#", "é*"]
)
_PATTERNS = st.builds(
    lambda segments, start, end, sign: sign + start + "/".join(segments) + end,
    st.lists(_SEGMENTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/"]),
    st.sampled_from(["", "", "/", "  "]),
    st.sampled_from(["", "", "!"]),
)


@examples(60)
@given(
    files=st.lists(st.tuples(_FOLDERS, _NAMES), min_size=1, max_size=8),
    rules=st.dictionaries(_FOLDERS, st.lists(_PATTERNS, min_size=1, max_size=4), max_size=3),
    excludes=st.lists(_PATTERNS, max_size=2),
)
def test_the_walk_lists_what_git_lists(run_git, files, rules, excludes):
    """In any tree with any rules in any folders, git is the reference for the walk."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        run_git(root, "init", "-q")
        (root / ".git" / "info").mkdir(exist_ok=True)
        (root / ".git" / "info" / "exclude").write_text("\n".join(excludes), encoding="utf-8")
        _write_where_possible(root, [*files, *((place, ".gitignore") for place in rules)])
        for place, lines in rules.items():
            ignore = root / place / ".gitignore"
            if ignore.is_file():
                ignore.write_text("\n".join(lines), encoding="utf-8")

        assert sorted(list_files(str(root)).files) == Lister(str(root), _options()).run().paths


def _write_where_possible(root: Path, files: list[tuple[str, str]]) -> None:
    """Write files; where a file stands in the way of a folder or the reverse, the first one stays."""
    for place, name in files:
        path = root / place / name
        if any(above.is_file() for above in path.parents) or path.is_dir():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x", encoding="utf-8")


@pytest.mark.parametrize("name", ["node_modules", ".venv", "a-b_c.d", ".", "v1.2"])
def test_a_plain_name_means_what_pathspec_makes_of_it(name: str) -> None:
    """A pattern that is a plain name needs no translation: it means that very name, as a translated one does."""
    plain = parse_patterns([name])
    translated = parse_patterns([f"[{name[0]}]{name[1:]}"])
    others = [name, f"x{name}", f"{name}x", name.upper(), name.replace(".", "x")]

    assert plain is not None
    assert translated is not None
    for other in others:
        assert translated.decide(other, other, is_folder=True) == plain.decide(other, other, is_folder=True), other
