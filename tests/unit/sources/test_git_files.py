"""What a walk reads of git's own files: ignore files of the user, and which files are tracked. Git is the reference."""

import hashlib
import os
import struct

import pytest

from hybrid.sources.listing import Lister, ignore_files, tracked_files
from hybrid.sources.patterns import ListingOptions


class TestIgnoreFiles:
    """The files of ignore rules beside those of the tree."""

    @pytest.mark.parametrize(
        "setting",
        [
            pytest.param({}, id="git's default place"),
            pytest.param({".gitconfig": "[core]\n\texcludesFile = ~/chosen\n"}, id="settings of the user"),
            pytest.param({".config/git/config": "[core]\nexcludesfile=~/chosen\n"}, id="the other place of settings"),
            pytest.param(
                {
                    ".gitconfig": "[include]\npath = more\n[user]\nname = x\n",
                    "more": "[core]\nexcludesFile = ~/chosen\n",
                },
                id="an included file",
            ),
            pytest.param(
                {
                    ".gitconfig": "[core]\nexcludesFile = ~/other\n[include]\npath = ~/more\n",
                    "more": "[core]\nexcludesFile = ~/chosen\n",
                },
                id="the last one wins",
            ),
        ],
    )
    def test_the_walk_follows_the_file_that_git_follows(self, tmp_path, write, run_git, monkeypatch, setting):
        """Git and the walk leave out the same files, wherever the user's settings name the ignore file."""
        home, root = tmp_path / "home", tmp_path / "p"
        chosen = "chosen" if setting else ".config/git/ignore"
        write(home, {**setting, chosen: "*.md\n", "other": "*.py\n"})
        write(root, {"a.py": "x", "private.md": "x"})
        monkeypatch.delenv("GIT_CONFIG_GLOBAL")
        monkeypatch.delenv("XDG_CONFIG_HOME")
        monkeypatch.setenv("HOME", str(home))
        run_git(root, "init", "-q")

        for use_git in (True, False):
            assert ["a.py"] == Lister(str(root), ListingOptions(use_git=use_git)).run().paths

    def test_a_file_that_is_named_for_some_folders_counts_everywhere(self, tmp_path, write):
        """Whether the condition of an include holds is not known, so private files stay out in any case."""
        write(
            tmp_path,
            {
                "home/.gitconfig": '[includeIf "gitdir:~/clients/"]\npath = clients\n',
                "home/clients": "[core]\nexcludesFile = ~/ignored\n",
            },
        )
        environ = {"HOME": str(tmp_path / "home"), "GIT_CONFIG_NOSYSTEM": "1"}

        found = ignore_files(str(tmp_path), {**environ, "XDG_CONFIG_HOME": str(tmp_path / "xdg")})

        assert str(tmp_path / "xdg/git/ignore") == found[-2]
        assert found[0].endswith("/ignored")

    def test_settings_of_a_repository_do_not_switch_off_the_file_of_the_user(self, tmp_path, write, run_git):
        """A foreign repository may name an ignore file of its own; the user's file counts all the same."""
        run_git(tmp_path, "init", "-q")
        run_git(tmp_path, "config", "core.excludesFile", "own-rules")
        environ = {"HOME": str(tmp_path / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
        expected = ["own-rules", "home/.config/git/ignore", ".git/info/exclude"]

        assert [str(tmp_path / name) for name in expected] == ignore_files(str(tmp_path), environ)

    def test_settings_that_include_one_another_end(self, tmp_path, write):
        """Each file of settings is read once."""
        write(
            tmp_path, {".gitconfig": "[include]\npath = .gitconfig\npath = b\n", "b": "[include]\npath = .gitconfig\n"}
        )

        assert 2 == len(ignore_files(str(tmp_path), {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}))


class TestTrackedFiles:
    """The reader of `.git/index`."""

    @pytest.mark.parametrize("kind", ["sha1", "sha256"])
    @pytest.mark.parametrize("version", ["2", "3", "4"])
    def test_it_reads_what_git_writes(self, tmp_path, write, run_git, version, kind):
        """Names of every length, nested and not ASCII, are read from each version and with each kind of digest."""
        names = [*(f"{'n' * length}.py" for length in range(1, 20)), "a/b/c.py", "a/b/d.py", "a/é ü.md", "z"]
        write(tmp_path, dict.fromkeys([*names, "new.py"], "x"))
        run_git(tmp_path, "init", "-q", f"--object-format={kind}")
        run_git(tmp_path, "add", *names)
        run_git(tmp_path, "add", "--intent-to-add", "new.py")  # Needs version 3 or later.
        run_git(tmp_path, "update-index", "--index-version", version)

        assert {*names, "new.py"} == tracked_files(str(tmp_path))

    def test_a_submodule_is_no_file(self, tmp_path, write, run_git):
        """Only files and links are named."""
        write(tmp_path, {"a.py": "x", "inner/b.py": "x"})
        for folder in (tmp_path / "inner", tmp_path):
            run_git(folder, "init", "-q")
            run_git(folder, "add", "-A")
            run_git(folder, "commit", "-qm", "x")

        assert {"a.py"} == tracked_files(str(tmp_path))

    @pytest.mark.parametrize("offset", [0, 4, 8, 12, 60, -30, -1])
    def test_a_damaged_index_names_nothing(self, tmp_path, write, run_git, offset):
        """A single wrong byte anywhere is noticed."""
        write(tmp_path, {"a.py": "x", "b.py": "x"})
        run_git(tmp_path, "init", "-q")
        run_git(tmp_path, "add", ".")
        index = tmp_path / ".git" / "index"
        data = bytearray(index.read_bytes())
        data[offset] ^= 1
        index.write_bytes(data)

        assert set() == tracked_files(str(tmp_path))

    def test_a_split_index_names_nothing(self, tmp_path, write, run_git):
        """One part of it alone may name files that are not tracked any more."""
        write(tmp_path, {"a.py": "x"})
        for command in ("init -q", "add .", "update-index --split-index"):
            run_git(tmp_path, *command.split())

        assert set() == tracked_files(str(tmp_path))

    @pytest.mark.parametrize("name", [b"../a.py", b"/a.py", b"b/./a.py", b".GIT/config", b"b//a.py"])
    def test_a_path_that_git_would_not_track_is_left_out(self, tmp_path, name):
        """An index may come from a stranger: no path of it leads out of the tree or into `.git`."""
        _write_index(tmp_path, [b"a.py", name])

        assert {"a.py"} == tracked_files(str(tmp_path))

    def test_paths_that_grow_without_end_are_refused(self, tmp_path):
        """In version 4 each path may be longer than the one before; a few megabytes would mean terabytes."""
        entry = struct.pack(">24xL12x20xH", 0o100644, 0) + b"\0" + b"x" * 100 + b"\0"
        _write_index(tmp_path, [], more=entry * 10_000, n_more=10_000, version=4)

        assert set() == tracked_files(str(tmp_path))


def _write_index(root, names, *, more=b"", n_more=0, version=2):
    """Write an index with a right checksum."""
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    body = struct.pack(">4sLL", b"DIRC", version, len(names) + n_more)
    for name in names:
        entry = struct.pack(">24xL12x20xH", 0o100644, len(name)) + name
        body += entry + b"\0" * (8 - len(entry) % 8)
    body += more
    (root / ".git" / "index").write_bytes(body + hashlib.sha1(body).digest())


def test_tracked_files_that_a_rule_ignores_are_kept_where_git_refuses(tmp_path, write, source_of, run_git, monkeypatch):
    """Without git on the PATH the walk lists what git lists: ignored files stay out, but for tracked ones."""
    write(
        tmp_path,
        {".gitignore": "*.md\nout/\n", "a.py": "x", "b.md": "x", "c.md": "x", "out/d.py": "x", "out/e.py": "x"},
    )
    write(tmp_path, {".hybridignore": "never/\n", "never/f.md": "x", "gone.md": "x"})
    run_git(tmp_path, "init", "-q")
    run_git(tmp_path, "add", "-f", "a.py", "b.md", "out/d.py", "never/f.md", "gone.md")
    (tmp_path / "gone.md").unlink()
    by_git = source_of(tmp_path)
    expected = [found.path for found in by_git.scan()]
    monkeypatch.setenv("PATH", os.devnull)
    source = source_of(tmp_path)

    assert ["a.py", "b.md", "out/d.py"] == expected == [found.path for found in source.scan()]
    assert {} == by_git.refused
    assert source.refused[""].startswith("git cannot be run")
