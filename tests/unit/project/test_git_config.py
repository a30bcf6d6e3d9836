"""Git's configuration syntax and the spellings of an origin."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.project.find import is_true, name_of_origin, normalise_origin, parse_config
from tests.support.cases import cases
from tests.support.examples import examples


@cases("project/git_configs.txt")
def test_settings_are_read(case):
    """Section names and keys in lower case, subsections as written, values without their quotes."""
    assert case.json() == parse_config(case.text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("Yes", True), ("1", True), ("on", True), ("false", False), ("0", False), ("no", False)],
)
def test_words_for_yes_are_known(value, expected):
    """As git spells them; what is not set is no."""
    assert expected == is_true(parse_config(f"[core]\nbare = {value}\n"), "core.bare")
    assert not is_true({}, "core.bare")


@examples(40)
@given(value=st.text(alphabet="ab \t\"\\#;'=[]é/:", min_size=1, max_size=12))
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_what_git_writes_is_read_back(tmp_path_factory, value):
    """Git's own writer is the reference for quotes and escapes."""
    file = tmp_path_factory.mktemp("config") / "config"
    subprocess.run(["git", "config", "--file", str(file), "remote.origin.url", value], check=True)

    assert {"remote.origin.url": [value]} == parse_config(file.read_text(encoding="utf-8"))


@cases("project/origins.txt")
def test_all_spellings_of_a_url_are_one(case):
    """Scheme, user, port, `.git` and the letter case of the host do not matter; that of the path does."""
    assert "github.com/Ada/Tool" == normalise_origin(case.text, Path("/base"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param("", "", id="none"),
        pytest.param("ssh://git@[::1]:2222/a/b.git", "[::1]/a/b", id="IPv6"),
        pytest.param("git@[::1]:a/b.git", "[::1]/a/b", id="IPv6 without a scheme"),
        pytest.param("https://host.org/a%20b/c.git", "host.org/a b/c", id="an escaped space"),
        pytest.param("https://host.org", "host.org", id="no path"),
        pytest.param("https://host.org/a/b.git.wiki", "host.org/a/b.git.wiki", id="a suffix that is not .git"),
        pytest.param("hg::https://host.org/a/b", "host.org/a/b", id="a helper"),
    ],
)
def test_other_urls_have_a_spelling_too(url, expected):
    """Whatever git takes as a remote."""
    assert expected == normalise_origin(url, Path("/base"))


@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of POSIX")
def test_a_repository_on_disk_is_its_real_path(tmp_path):
    """By path, by `file://`, relative, through `.git` or not: one place is one origin."""
    real = os.path.realpath(tmp_path)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to("repo")
    urls = [f"{real}/repo", f"file://{real}/repo/", f"{real}/repo/.git", "../repo", f"{real}/link"]

    assert {f"{real}/repo"} == {normalise_origin(url, tmp_path / "base") for url in urls}


@pytest.mark.parametrize(
    ("origin", "name"),
    [("github.com/ada/tool.box", "tool.box"), ("C:\\code\\tool", "tool"), ("", ""), ("host", "host")],
)
def test_the_name_is_the_last_part(origin, name):
    """Dots are kept."""
    assert name == name_of_origin(origin)
