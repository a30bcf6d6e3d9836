"""Repositories inside a project: which are listed with it, by whose rules, and which are left out and why."""

import pytest

from hybrid.sources.listing import Lister
from hybrid.sources.patterns import ListingOptions


@pytest.fixture
def repository(write, run_git):
    """Makes a repository of files and commits those that it does not ignore."""

    def make(folder, files):
        write(folder, files)
        run_git(folder, "init", "-q")
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-qm", "x", "--allow-empty")
        return folder

    return make


@pytest.fixture(params=["git", "walk"])
def list_of(request):
    """Lists a project, once with git and once by the walk alone; a part of it is listed as in the whole."""

    def listing(root, **options):
        def lister():
            return Lister(str(root), ListingOptions(use_git=request.param == "git", **options))

        whole = lister().run()
        for path in whole.paths:
            part = lister().run_within([path])
            assert part is None or [path] == part.paths
        return whole

    return listing


class TestShapes:
    """Where a repository may be."""

    @pytest.mark.parametrize(
        ("outer", "inner", "paths"),
        [
            pytest.param("", ["a", "deep/c"], ["README.md", "a/b.py", "deep/c/b.py"], id="below a plain folder"),
            pytest.param("git", ["libs/inner"], ["README.md", "libs/inner/b.py"], id="untracked"),
            pytest.param("git", ["b", "b/c"], ["README.md", "b/b.py", "b/c/b.py"], id="in one another"),
        ],
    )
    def test_repositories_are_listed_where_they_are(self, tmp_path, write, repository, list_of, outer, inner, paths):
        """The files of each are part of the project, and its folder is one to watch."""
        (repository if outer else write)(tmp_path, {"README.md": "x"})
        for folder in inner:
            repository(tmp_path / folder, {"b.py": "x"})
        found = list_of(tmp_path)

        assert paths == found.paths
        assert inner == found.repositories
        assert set(inner) <= set(found.folders)

    def test_without_a_commit(self, tmp_path, write, run_git, repository, list_of):
        """A repository in which nothing was committed yet is listed."""
        repository(tmp_path, {"a.py": "x"})
        write(tmp_path / "new", {"b.py": "x"})
        run_git(tmp_path / "new", "init", "-q")

        assert ["a.py", "new/b.py"] == list_of(tmp_path).paths

    def test_submodule(self, tmp_path, repository, run_git, list_of):
        """A submodule is listed once it is checked out; before, it has no files."""
        repository(tmp_path / "library", {"b.py": "x"})
        root = repository(tmp_path / "p", {"a.py": "x"})
        run_git(root, "submodule", "--quiet", "add", str(tmp_path / "library"), "sub")
        run_git(root, "commit", "-qm", "sub")
        run_git(tmp_path, "clone", "-q", str(root), str(tmp_path / "clone"))

        assert [".gitmodules", "a.py", "sub/b.py"] == list_of(root).paths
        assert [".gitmodules", "a.py"] == list_of(tmp_path / "clone").paths
        assert [] == list_of(tmp_path / "clone").repositories

    def test_a_broken_one_is_a_plain_folder(self, tmp_path, write, repository, list_of):
        """As for git, a `.git` that leads nowhere makes no repository."""
        repository(tmp_path, {"a.py": "x"})
        write(tmp_path / "b", {".git": "gitdir: /nowhere\n", "b.py": "x"})

        found = list_of(tmp_path)

        assert ["a.py", "b/b.py"] == found.paths
        assert [] == found.repositories

    def test_links_to_repositories_are_not_followed(self, tmp_path, repository, list_of):
        """Neither a link to a repository elsewhere nor one to a repository inside is entered."""
        repository(tmp_path / "other", {"b.py": "x"})
        root = repository(tmp_path / "p", {"a.py": "x"})
        repository(root / "inner", {"c.py": "x"})
        (root / "link").symlink_to(tmp_path / "other")
        (root / "again").symlink_to("inner")

        found = list_of(root)

        assert ["inner"] == found.repositories
        assert {"a.py", "inner/c.py"} == {path for path in found.paths if not (root / path).is_symlink()}


class TestRules:
    """Whose rules hold in a repository inside."""

    def test_its_own_rules_hold(self, tmp_path, write, repository, list_of):
        """`.gitignore`, `.git/info/exclude` and `.hybridignore` of the inner one, not git's rules of the outer one."""
        repository(tmp_path, {".gitignore": "*.log\n", "a.log": "x", "a.py": "x"})
        inner = {
            ".gitignore": "*.md\n",
            ".hybridignore": "gen/\n",
            "b.md": "x",
            "gen/c.py": "x",
            "d.log": "x",
            "e.py": "x",
        }
        repository(tmp_path / "inner", {**inner, "f.py": "x"})
        write(tmp_path / "inner", {".git/info/exclude": "g.py\n", "g.py": "x"})

        found = [path for path in list_of(tmp_path).paths if not path.endswith("ignore")]

        assert ["a.py", "inner/d.log", "inner/e.py", "inner/f.py"] == found

    def test_git_knows_its_tracked_files_that_rules_ignore(self, tmp_path, repository, run_git):
        """A file that was added to the inner one in spite of a rule is listed."""
        repository(tmp_path, {"a.py": "x"})
        inner = repository(tmp_path / "inner", {".gitignore": "*.md\n", "b.md": "x", "c.md": "x"})
        run_git(inner, "add", "-f", "b.md")

        assert ["a.py", "inner/.gitignore", "inner/b.md"] == Lister(str(tmp_path), ListingOptions()).run().paths

    def test_settings_of_the_outer_one_hold_in_it(self, tmp_path, write, repository, list_of):
        """Patterns of `include` and `exclude` and a `.hybridignore` further up reach into it."""
        repository(tmp_path, {".hybridignore": "inner/b.py\n", "a.py": "x"})
        files = {".gitignore": "*.txt\nout/\n", "b.py": "x", "c.py": "x", "node_modules/d.js": "x", "e.txt": "x"}
        repository(tmp_path / "inner", {**files, "out/f.py": "x", "out/g.py": "x"})

        found = list_of(tmp_path, exclude=("node_modules/",), include=("inner/e.txt", "inner/out/f.py")).paths

        expected = ["a.py", "inner/c.py", "inner/e.txt", "inner/out/f.py"]
        assert expected == [path for path in found if not path.endswith("ignore")]

    def test_its_own_settings_leave_files_out(self, tmp_path, repository, list_of):
        """What `index.exclude` of the inner project leaves out of its own index is not in that of the outer one."""
        repository(tmp_path, {"a.py": "x"})
        settings = '[index]\nexclude = ["private/", "!b.md"]\n'
        repository(tmp_path / "inner", {".hybrid/config.toml": settings, "private/c.md": "x", "d.py": "x"})

        assert ["a.py", "inner/d.py"] == list_of(tmp_path).paths


class TestLeftOut:
    """Which repositories inside are left out, and what is said of them."""

    def test_an_ignored_one_is_left_out_unless_it_is_included(self, tmp_path, repository, list_of):
        """What the outer one ignores stays out, and is named to a person; `include` brings it in, or a part of it."""
        root = repository(tmp_path / "p", {".gitignore": "inner/\nothers/\n", "a.py": "x"})
        repository(root / "inner", {".gitignore": "*.md\n", "src/b.py": "x", "c.md": "x", "d.py": "x"})
        repository(root / "others/deep/e", {"e.py": "x"})
        lister = Lister(str(root), ListingOptions())

        assert [".gitignore", "a.py"] == list_of(root).paths
        assert {"inner": "ignored", "others/deep/e": "ignored"} == lister.find_ignored(lister.run())
        assert ["inner/.gitignore", "inner/d.py", "inner/src/b.py"] == list_of(root, include=("inner/",)).paths[2:]
        assert ["inner/src/b.py"] == list_of(root, include=("inner/src/**",)).paths[2:]

    def test_excluded_ones_are_not_named(self, tmp_path, repository):
        """Who excludes a repository knows that it is left out."""
        repository(tmp_path, {".gitignore": "inner/\n", ".hybridignore": "other/\n", "a.py": "x"})
        for name in ("inner", "other", "node_modules/c"):
            repository(tmp_path / name, {"b.py": "x"})
        lister = Lister(str(tmp_path), ListingOptions(exclude=("inner/", "node_modules/")))
        listing = lister.run()

        assert [".gitignore", ".hybridignore", "a.py"] == listing.paths
        assert ({}, {}) == (listing.left_out, lister.find_ignored(listing))

    @pytest.mark.parametrize("place", [".worktrees/x", ".claude/worktrees/x", "x"])
    def test_a_worktree_of_the_same_repository_is_a_copy(self, tmp_path, repository, run_git, list_of, place):
        """The same files are not listed twice, whether the worktree is ignored or not."""
        root = repository(tmp_path / "p", {"a.py": "x"})
        run_git(root, "worktree", "add", "-q", "-b", "x", place)

        found = list_of(root)

        assert (["a.py"], {place: "copy"}) == (found.paths, found.left_out)
        lister = Lister(str(root), ListingOptions())
        assert [] == lister.run_within([f"{place}/a.py"]).paths

    def test_of_two_worktrees_in_a_plain_folder_the_main_one_is_listed(self, tmp_path, repository, run_git, list_of):
        """The name of the copy may come first; a worktree whose repository is elsewhere is listed, but only one."""
        root = tmp_path / "p"
        repository(root / "main", {"a.py": "x"})
        elsewhere = repository(tmp_path / "elsewhere", {"b.py": "x"})
        run_git(root / "main", "worktree", "add", "-q", "-b", "x", str(root / "copy"))
        for name in ("one", "two"):
            run_git(elsewhere, "worktree", "add", "-q", "-b", name, str(root / name))

        found = list_of(root)

        assert ["main/a.py", "one/b.py"] == found.paths
        assert {"copy": "copy", "two": "copy"} == found.left_out

    def test_a_bare_one_has_no_files(self, tmp_path, repository, run_git, list_of):
        """For git it is a folder of files, hooks and settings among them, that nobody wrote."""
        repository(tmp_path, {"a.py": "x"})
        run_git(tmp_path, "init", "-q", "--bare", "b.git")

        found = list_of(tmp_path)

        assert (["a.py"], {"b.git": "bare"}) == (found.paths, found.left_out)
        assert [] == Lister(str(tmp_path), ListingOptions()).run_within(["b.git/config"]).paths

    @pytest.mark.parametrize(("most", "reason"), [(0, "setting"), (2, "too_large")])
    def test_the_setting_leaves_them_out(self, tmp_path, repository, list_of, most, reason):
        """0 switches them off, a number bounds their files; `include` names one that comes in all the same."""
        repository(tmp_path, {"a.py": "x"})
        repository(tmp_path / "large", {"a.py": "x", "b.py": "x", "c.py": "x"})

        found = list_of(tmp_path, inner_max_files=most)
        included = list_of(tmp_path, inner_max_files=most, include=("large/",))

        assert (["a.py"], {"large": reason}) == (found.paths, found.left_out)
        assert ["a.py", "large/a.py", "large/b.py", "large/c.py"] == included.paths
        part = Lister(str(tmp_path), ListingOptions(inner_max_files=most)).run_within(["large/a.py"])
        assert [] == part.paths


class TestParts:
    """What a look at a few paths finds."""

    def test_edits_in_repositories_inside_need_no_look_at_everything(self, tmp_path, write, repository):
        """A changed, a new and an ignored file of a repository in a repository are told apart by their own rules."""
        repository(tmp_path, {"a.py": "x"})
        repository(tmp_path / "b", {"b.py": "x"})
        repository(tmp_path / "b/c", {".gitignore": "*.md\n", "c.py": "x"})
        write(tmp_path / "b/c", {"new/d.py": "x", "e.md": "x"})
        lister = Lister(str(tmp_path), ListingOptions())

        part = lister.run_within(["a.py", "b/b.py", "b/c/e.md", "b/c/new", "b/c/c.py"])

        assert ["a.py", "b/b.py", "b/c/c.py", "b/c/new/d.py"] == part.paths
        assert ["b/c/new"] == part.folders

    def test_a_lister_can_be_asked_again(self, tmp_path, repository):
        """A repository that was listed before is no copy of itself."""
        repository(tmp_path, {"a.py": "x"})
        repository(tmp_path / "b", {"b.py": "x", "c.py": "x"})
        lister = Lister(str(tmp_path), ListingOptions(use_git=False))

        assert [["b/b.py"], ["b/c.py"]] == [lister.run_within([path]).paths for path in ("b/b.py", "b/c.py")]

    def test_a_folder_above_a_repository_brings_it(self, tmp_path, repository):
        """When a folder appears, the repositories in it do, too, with their folders to watch."""
        repository(tmp_path, {"a.py": "x"})
        repository(tmp_path / "libs/b", {"src/b.py": "x"})

        part = Lister(str(tmp_path), ListingOptions()).run_within(["libs"])

        assert ["libs/b/src/b.py"] == part.paths
        assert ["libs", "libs/b", "libs/b/src"] == part.folders

    def test_counting_counts_them(self, tmp_path, repository, source_of):
        """A project is as large as all that would be indexed of it."""
        repository(tmp_path, {"a.py": "x"})
        repository(tmp_path / "b", {"b.py": "x", "c.py": "x"})

        assert [True, True, False] == [source_of(tmp_path).has_more_files(limit) for limit in (0, 2, 4)]


def test_where_git_refuses_one_of_them_that_one_is_walked(tmp_path, write, repository, source_of, run_git):
    """A damaged repository inside is named with git's own words; its ignore rules hold, and the others are as ever."""
    repository(tmp_path, {"a.py": "x"})
    repository(tmp_path / "b", {".gitignore": "*.md\n", "b.py": "x", "private.md": "x"})
    write(tmp_path, {"b/.git/config": "[core\n"})
    source = source_of(tmp_path)

    assert ["a.py", "b/b.py"] == [found.path for found in source.scan()]
    assert ["b"] == list(source.refused)
    assert "bad config line 1" in source.refused["b"]
