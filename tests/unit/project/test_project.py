"""Which project a folder belongs to, its key and name, and where its files lie."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from hybrid.base.errors import ProjectError
from hybrid.base.home import home_path
from hybrid.project.find import create_folder, find_project, open_tree_state, refusal, register
from hybrid.project.registry import forget, load_registry, path_key, registry_path
from tests.support.cases import cases

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="needs the rights to make links")


@pytest.fixture
def place(tmp_path):
    """A real folder to make projects in."""
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def find(place):
    """Finds the project of a folder; `HYBRID_HOME` and the user's home lie in `place`."""

    def find_here(cwd: Path):
        return find_project(cwd, place / "data", place / "home")

    return find_here


@pytest.fixture
def git(monkeypatch):
    """Runs git in a folder, which is made; skips the test when there is no git."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def run(folder: Path, *arguments: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)

    return run


@pytest.fixture
def repository(git):
    """Makes a repository with one commit, and with an origin if one is given."""

    def make(root: Path, origin: str = "") -> Path:
        git(root, "init", "-q", "-b", "main")
        git(root, "commit", "-q", "--allow-empty", "-m", "first")
        if origin:
            git(root, "remote", "add", "origin", origin)
        return root

    return make


class TestFinding:
    """From a folder to its project."""

    def test_a_folder_in_a_working_tree_belongs_to_it(self, place, find, repository):
        """The search goes up to the folder with `.git`, from a folder of git and one that is gone too."""
        root = repository(place / "my app")
        (root / "src" / "deep").mkdir(parents=True)
        project = find(root / "src" / "deep")

        assert (root, "my app", root) == (project.root, project.name, project.main_root)
        assert (True, False, False) == (project.is_git, project.worktree, project.has_folder)
        assert (path_key(str(root)), "main working tree path") == (project.key, project.reason)
        assert root == find(root / ".git" / "refs").root == find(root / "gone" / "deeper").root
        assert find(place / "nowhere" / "at" / "all") is None

    def test_key_and_name_come_from_the_origin(self, place, find, repository):
        """Two clones of one origin share them, however the URL is spelled."""
        one = find(repository(place / "one", "https://ada@GitHub.com/ada/Tool.Box.git"))
        two = find(repository(place / "two", "git@github.com:ada/Tool.Box"))

        assert ("Tool.Box", "origin URL") == (one.name, one.reason)
        assert (one.key, one.name) == (two.key, two.name)
        assert one.tree != two.tree

    def test_a_worktree_leads_to_the_main_repository(self, place, find, repository, git):
        """It shares name and key and has a tree of its own."""
        root = repository(place / "main.repo")
        git(root, "worktree", "add", "-q", str(place / "other"))
        main, other = find(root), find(place / "other")

        assert (main.key, "main.repo", root, True) == (other.key, other.name, other.main_root, other.worktree)
        assert main.tree != other.tree
        assert place / "other" == other.root

    def test_a_submodule_is_its_own_project(self, place, find, repository, git):
        """Its worktrees lead to it, not to the project around it."""
        library = repository(place / "library")
        outer = repository(place / "outer")
        git(outer, "submodule", "--quiet", "add", str(library), "sub")
        git(outer / "sub", "remote", "remove", "origin")
        git(outer / "sub", "worktree", "add", "-q", str(place / "other"))
        sub, other = find(outer / "sub"), find(place / "other")

        assert (outer / "sub", "sub", False) == (sub.root, sub.name, sub.worktree)
        assert (sub.key, outer / "sub", True) == (other.key, other.main_root, other.worktree)
        assert sub.key != find(outer).key

    def test_a_bare_repository_is_no_project(self, place, find, git):
        """It has no files; a project around it is not taken for it."""
        git(place / "outer", "init", "-q")
        git(place / "outer" / "store.git", "init", "-q", "--bare")

        assert find(place / "outer" / "store.git" / "refs") is None

    def test_worktrees_of_a_bare_repository_share_a_project(self, place, find, repository, git):
        """With a layout of one bare folder and worktrees beside it, the folder around has the name."""
        repository(place / "seed")
        git(place, "clone", "-q", "--bare", str(place / "seed"), str(place / "tool" / ".bare"))
        git(place / "tool" / ".bare", "remote", "remove", "origin")
        (place / "tool" / ".git").write_text("gitdir: ./.bare\n")
        for name in ("a", "b"):
            git(place / "tool" / ".bare", "worktree", "add", "-q", str(place / "tool" / name), "-b", name)
        one, two = find(place / "tool" / "a"), find(place / "tool" / "b")

        assert ("tool", one.key, True) == (one.name, two.key, two.worktree)
        assert find(place / "tool") is None

    def test_a_repository_kept_elsewhere_is_found(self, place, find, git):
        """With `--separate-git-dir`, `.git` is a file and the tree is still the main one."""
        git(place / "app", "init", "-q", "--separate-git-dir", str(place / "store"))
        project = find(place / "app")

        assert ("app", place / "app", False) == (project.name, project.main_root, project.worktree)

    def test_a_plain_folder_needs_a_hybrid_folder(self, place, find):
        """The nearest one above counts, and without one there is no project."""
        (place / "notes" / ".hybrid").mkdir(parents=True)
        (place / "notes" / "deep").mkdir()
        project = find(place / "notes" / "deep")

        assert (place / "notes", "notes") == (project.root, project.name)
        assert (False, True) == (project.is_git, project.has_folder)
        assert find(place) is None

    def test_a_working_tree_comes_before_a_nearer_hybrid_folder(self, place, find, repository):
        """A `.hybrid/` below the top of a repository does not make a project of its own."""
        root = repository(place / "app")
        (root / "part" / ".hybrid").mkdir(parents=True)

        assert root == find(root / "part").root

    def test_a_home_that_is_a_repository_gives_way_to_a_hybrid_folder(self, place, find, repository):
        """Settings under version control do not swallow the folders in the home."""
        repository(place / "home")
        (place / "home" / "notes" / ".hybrid").mkdir(parents=True)

        assert place / "home" / "notes" == find(place / "home" / "notes").root
        assert place / "home" == find(place / "home").root

    def test_the_folder_of_hybrid_itself_is_no_mark(self, place):
        """With `HYBRID_HOME` at `~/.hybrid`, the home does not become a project."""
        (place / "home" / ".hybrid" / "data").mkdir(parents=True)
        (place / "home" / "work").mkdir()
        cwd = place / "home" / "work"

        assert find_project(cwd, place / "home" / ".hybrid", place / "home") is None
        assert find_project(cwd, place / "home" / ".hybrid" / "data", place / "home") is None

    @needs_links
    def test_a_folder_reached_through_a_link_belongs_where_it_is(self, place, find, repository):
        """Links are resolved first, as git does."""
        root = repository(place / "app")
        (root / "src").mkdir()
        (place / "link").symlink_to(root / "src")

        assert root == find(place / "link").root

    @needs_links
    def test_a_linked_hybrid_folder_is_not_used(self, place, find, repository):
        """A repository cannot have state written to a place outside of it."""
        root = repository(place / "app")
        (place / "elsewhere").mkdir()
        (root / ".hybrid").symlink_to(place / "elsewhere")

        assert not find(root).has_folder
        with pytest.raises(ProjectError, match="is a link"):
            create_folder(root)

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"gitdir: /nowhere/at/all\n", id="leads nowhere"),
            pytest.param(b"", id="empty"),
            pytest.param(b"\xff\xfe\0", id="bytes"),
            pytest.param(b"gitdir:", id="no path"),
        ],
    )
    def test_a_broken_git_file_is_passed_over(self, place, find, repository, content):
        """The search goes on further up."""
        root = repository(place / "app")
        (root / "sub").mkdir()
        (root / "sub" / ".git").write_bytes(content)

        assert root == find(root / "sub").root

    @pytest.mark.parametrize("cwd", ["", "\0", "a" * 5000])
    def test_what_is_no_path_does_no_harm(self, find, cwd):
        """A hook may be told anything: it is no project, or one that exists."""
        project = find(Path(cwd))

        assert project is None or project.root.is_dir()

    @pytest.mark.skipif(sys.platform == "win32" or getattr(os, "geteuid", int)() == 0, reason="root reads everything")
    def test_an_unreadable_folder_above_does_no_harm(self, place, find):
        """What cannot be seen is not there."""
        (place / "closed" / "in").mkdir(parents=True)
        (place / "closed").chmod(0)
        try:
            assert find(place / "closed" / "in") is None
        finally:
            (place / "closed").chmod(0o755)

    def test_no_git_binary_is_needed(self, place, find, repository, monkeypatch):
        """Everything is read from `.git` itself."""
        root = repository(place / "app", "git@github.com:ada/tool.git")
        monkeypatch.setenv("PATH", "")

        assert "tool" == find(root).name


class TestRegistry:
    """A key outlives what it was made from."""

    def test_finding_writes_nothing(self, place, find, repository):
        """Only a build remembers a project."""
        find(repository(place / "app"))

        assert not (place / "data").exists()

    def test_the_key_survives_a_new_remote(self, place, find, repository, git):
        """A local repository that is published later keeps its key."""
        root = repository(place / "app")
        first = find(root)
        register(first, place / "data")
        git(root, "remote", "add", "origin", "https://github.com/ada/app")
        later = find(root)

        assert first.key == later.key
        register(later, place / "data")
        assert first.key == find(repository(place / "clone", "git@github.com:ada/app.git")).key

    def test_the_key_survives_a_renamed_remote(self, place, find, repository, git):
        """A repository that moved on its host keeps its key, in other clones too."""
        root = repository(place / "app", "https://github.com/ada/old")
        first = find(root)
        register(first, place / "data")
        git(root, "remote", "set-url", "origin", "https://github.com/ada/new")
        later = find(root)
        register(later, place / "data")

        assert (first.key, "registered", "new") == (later.key, later.reason, later.name)
        assert first.key == find(repository(place / "second", "https://github.com/ada/new")).key
        assert first.key == find(repository(place / "third", "https://github.com/ada/old")).key

    def test_the_key_survives_a_move(self, place, find, repository):
        """A repository without an origin is known again by its identity."""
        first = find(repository(place / "app"))
        register(first, place / "data")
        (place / "app").rename(place / "moved")
        later = find(place / "moved")

        assert (first.key, "registered", "moved") == (later.key, later.reason, later.name)

    def test_a_copy_is_another_project(self, place, find, repository):
        """Without an origin, a copy with all its times does not share the key."""
        first = find(repository(place / "app"))
        register(first, place / "data")
        shutil.copytree(place / "app", place / "copy", copy_function=shutil.copy2)

        assert first.key != find(place / "copy").key

    def test_a_new_repository_in_an_old_place_is_another_project(self, place, find, repository):
        """What moved away keeps its key, and the newcomer gets one of its own that stays."""
        first = find(repository(place / "app"))
        register(first, place / "data")
        (place / "app").rename(place / "moved")
        register(find(place / "moved"), place / "data")
        newcomer = find(repository(place / "app"))
        register(newcomer, place / "data")

        assert first.key == find(place / "moved").key
        assert first.key != newcomer.key
        assert newcomer.key == find(place / "app").key

    def test_a_repository_made_anew_in_place_keeps_the_key(self, place, find, repository):
        """Without an origin, the same folder is the same project."""
        first = find(repository(place / "app"))
        register(first, place / "data")
        shutil.rmtree(place / "app" / ".git")

        assert first.key == find(repository(place / "app")).key

    def test_a_moved_plain_folder_is_known_again(self, place, find):
        """The file that `create_folder` wrote is its mark."""
        (place / "notes" / ".hybrid").mkdir(parents=True)
        create_folder(place / "notes")
        first = find(place / "notes")
        register(first, place / "data")
        (place / "notes").rename(place / "papers")

        assert first.key == find(place / "papers").key

    @pytest.mark.parametrize(
        "content",
        [
            pytest.param(b"", id="empty"),
            pytest.param(b"{", id="not JSON"),
            pytest.param(b"[]", id="not an object"),
            pytest.param(b'{"projects": {"a": {"name": 1}}}', id="an incomplete entry"),
            pytest.param(b'{"projects": {"a": 3}}', id="an entry of another type"),
            pytest.param(b"\xff\xfe", id="bytes"),
        ],
    )
    def test_a_damaged_registry_is_set_aside(self, place, find, repository, content):
        """Finding passes it over; the next build starts anew and keeps the old file."""
        path = registry_path(place / "data")
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        project = find(repository(place / "app"))
        register(project, place / "data")

        assert [project.key] == list(load_registry(place / "data"))
        assert [content] == [aside.read_bytes() for aside in path.parent.glob("registry.json.corrupt-*")]

    def test_what_cannot_be_written_does_no_harm(self, place, find, repository):
        """A file in place of `HYBRID_HOME` makes registering fail quietly."""
        (place / "data").write_text("")
        register(find(repository(place / "app")), place / "data")

        assert "" == (place / "data").read_text()

    def test_registering_twice_changes_nothing(self, place, find, repository):
        """The file is written only when something is new."""
        project = find(repository(place / "app", "https://github.com/ada/app"))
        register(project, place / "data")
        before = registry_path(place / "data").stat().st_ino
        register(project, place / "data")

        assert before == registry_path(place / "data").stat().st_ino
        assert ["github.com/ada/app"] == json.loads(registry_path(place / "data").read_text())["projects"][project.key][
            "origins"
        ]

    def test_a_key_can_be_forgotten(self, place, find, repository):
        """Afterwards the project is as if never seen."""
        project = find(repository(place / "app"))
        register(project, place / "data")
        forget(project.key, place / "data")

        assert {} == load_registry(place / "data")


class TestRefusal:
    """What is too wide to index."""

    @pytest.mark.parametrize(
        ("folder", "words"),
        [
            pytest.param("home/app", None, id="inside the home"),
            pytest.param("home", "is your home folder", id="home"),
            pytest.param(".", "holds your home", id="above home"),
            pytest.param("/", "root of a file system", id="root"),
        ],
    )
    def test_what_holds_more_than_a_project_must_not_be_indexed(self, place, folder, words):
        """The message says what it is and what to do; a folder inside the home is fine."""
        reason = refusal(place / folder, place / "home")

        assert (words is None) == (reason is None)
        assert words is None or (words in reason and "index a folder in it" in reason)


class TestPlaces:
    """Where files lie, and the folder in a tree."""

    @cases("project/homes.txt")
    @pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of POSIX")
    def test_the_folder_of_hybrid_is_the_platforms_unless_set(self, case):
        """`HYBRID_HOME` decides, else user data lies where the platform has it."""
        platform, _, environ = case.text.partition(" ")

        assert case.expected == home_path(json.loads(environ), platform)

    def test_state_goes_into_a_tree_only_when_it_has_a_hybrid_folder(self, place, find, repository):
        """Otherwise it lies in `HYBRID_HOME`, for each working tree apart."""
        root = repository(place / "app")
        without = find(root)
        state = open_tree_state(without, place / "data")
        create_folder(root)

        assert place / "data" / "projects" / without.key / "trees" / without.tree == state
        assert root / ".hybrid" == open_tree_state(find(root), place / "data")

    def test_the_folder_ignores_what_is_not_for_people(self, place, find, repository, git):
        """Git sees the settings, lessons and lore, not the state."""
        root = repository(place / "app")
        folder = create_folder(root)
        decisions = "lore/journal/data/decisions.jsonl"
        (folder / decisions).parent.mkdir(parents=True)
        state = ("hook_state.json", "hot-topics.md", "state.lock", "hook_state.json.corrupt-1", "lore/lore.lock")
        for name in (*state, "lessons.stats.json", "lessons.stats.json.lock", "LESSONS.md", decisions):
            (folder / name).write_text("x")
        listed = subprocess.run(
            ["git", "ls-files", "-o", "--exclude-standard"], cwd=root, capture_output=True, text=True
        )

        expected = [".gitignore", "LESSONS.md", "config.toml", decisions]
        assert [f".hybrid/{name}" for name in expected] == sorted(listed.stdout.split())

    def test_what_is_there_is_never_overwritten(self, place, find, repository):
        """Making the folder again keeps its files and adds those that are missing."""
        root = repository(place / "app")
        folder = create_folder(root)
        (folder / "config.toml").write_text("mine")
        (folder / ".gitignore").unlink()

        assert folder == create_folder(root)
        assert "mine" == (folder / "config.toml").read_text()
        assert (folder / ".gitignore").exists()

    def test_the_settings_it_writes_change_nothing(self, place, find, repository):
        """The new `config.toml` is valid and holds no value."""
        folder = create_folder(repository(place / "app"))

        assert {"index": {}, "hooks": {}} == tomli.loads((folder / "config.toml").read_text())

    def test_a_file_in_its_place_is_a_clear_error(self, place, find, repository):
        """The message names it and what to do."""
        root = repository(place / "app")
        (root / ".hybrid").write_text("x")

        with pytest.raises(ProjectError, match=r"\.hybrid is a link or a file: remove it"):
            create_folder(root)
