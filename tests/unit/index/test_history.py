"""Earlier commits as arrays: which of them tell something, and that reading on ends where reading anew ends."""

from __future__ import annotations

import math
import random
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.base.tokens import term_counts
from hybrid.index import history_build
from hybrid.index.history import NAME, History, Together, open_history
from hybrid.index.history_build import update_history
from hybrid.sources.git import GitUnavailableError, read_commits
from tests.support.builders import CHECKOUT
from tests.support.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
pytestmark = needs_git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A repository with a first commit of the files a.py to d.py."""
    made = Repository(tmp_path / "shop")
    made.touch("Make a shop", "a.py", "b.py", "c.py", "d.py")
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an index."""
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


def read(repository: Repository, folder: Path) -> History:
    """The history that is kept, which is that which lies in the folder."""
    kept = update_history(folder, str(repository.root))
    there = open_history(folder)
    assert kept is not None
    assert there is not None
    assert_same(kept, there)
    return there


def assert_same(one: History, other: History) -> None:
    """Fail unless two histories hold the same; sums of floats may differ in their last digit."""
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        is_float = array.dtype.kind == "f"
        (np.testing.assert_allclose if is_float else np.testing.assert_array_equal)(
            array, other.arrays[name], err_msg=name
        )


def anew(repository: Repository, folder: Path) -> History:
    """The history of a repository, read into another folder from its beginning."""
    other = folder / "anew"
    shutil.rmtree(other, ignore_errors=True)
    other.mkdir()
    return read(repository, other)


def subjects(repository: Repository) -> list[str]:
    """The subjects that tell something, newest first."""
    return [commit.subject for commit in read_commits(str(repository.root), "HEAD").commits]


def test_companions_are_the_clear_ones(repository: Repository, folder: Path) -> None:
    """Three commits in common and a third of all, of which those with many files count little."""
    many = [f"many/{n}.py" for n in range(15)]
    for n in range(4):
        repository.touch(f"Retry {n}", "a.py", "often.py", *(["twice.py"] if n < 2 else []))
        repository.touch(f"Sweep {n}", "a.py", "sweep.py", *many)
    repository.touch("Wait", "a.py", "often.py")
    found = read(repository, folder).companions("a.py")

    assert [("often.py", 5)] == [(one.path, one.commits) for one in found]
    assert [] == read(repository, folder).companions("x.py")

    for n in range(7):
        repository.touch(f"Alone {n}", "a.py")
    assert [] == read(repository, folder).companions("a.py")


def test_files_that_changed_together_have_their_share(repository: Repository, folder: Path) -> None:
    """A commit of k paths counts 1/k, and one change more than there were is the whole."""
    repository.touch("Retry what failed", "a.py", "b.py")
    repository.touch("Retry what was refused", "a.py", "b.py", "c.py", "d.py")
    repository.touch("Wait before a retry", "a.py")
    history = read(repository, folder)

    whole = 1 + 1 / 2 + 1 / 4 + 1
    assert [
        Together("b.py", 2, pytest.approx(0.75 / whole)),
        Together("c.py", 1, pytest.approx(0.25 / whole)),
        Together("d.py", 1, pytest.approx(0.25 / whole)),
    ] == history.changed_with("a.py", 10)
    assert ["b.py"] == [one.path for one in history.changed_with("a.py", 1)]
    assert (3, 0, []) == (history.n_commits_of("a.py"), history.n_commits_of("x.py"), history.changed_with("x.py", 9))


def test_scores_are_those_of_the_formula(repository: Repository, folder: Path) -> None:
    """Each file's score is computed here by the letter, from the subjects and files of the commits."""
    told = [
        ("Retry the payment twice", ("a.py", "b.py")),
        ("Wait before a retry of the retry", ("a.py",)),
        ("Round amounts to cents", ("c.py", "b.py", "d.py")),
    ]
    for subject, paths in told:
        repository.touch(subject, *paths)
    history = read(repository, folder)
    query = {"retri": 1.0, "amount": 0.5, "payment": 2.0, "unheard": 1.0}

    frequency = {
        (path, term): sum(term_counts(text).get(term, 0) / math.sqrt(len(of)) for text, of in told if path in of)
        for path in history.numbers
        for term in query
    }
    length = {
        p: sum(sum(term_counts(t).values()) / math.sqrt(len(of)) for t, of in told if p in of) for p in history.numbers
    }
    mean = sum(length.values()) / 4

    def score(path: str) -> float:
        total = 0.0
        for term, said in query.items():
            f, df = frequency[path, term], sum(frequency[other, term] > 0 for other in length)
            total += (
                said * math.log(1 + (4 - df + 0.5) / (df + 0.5)) * f / (f + 1.2 * (0.5 + 0.5 * length[path] / mean))
            )
        return total

    best = max(map(score, length))
    scores = history.scores(query)
    assert {path: pytest.approx(score(path) / best) for path in length} == {
        path: float(scores[number]) for path, number in history.numbers.items()
    }
    assert [0.0] * 4 == history.scores({"unheard": 1.0}).tolist()


def test_what_says_nothing_is_left_out(repository: Repository) -> None:
    """Programs, releases, formatters, merges, the first commit and large ones tell nothing about a file."""
    repository.touch("Retry what failed (#12)", "a.py")
    repository.touch("Update the lock file", "b.py", author="dependabot[bot]")
    for subject in ("Bump version", "v1.2.3", "typo", "chore(deps): update dependencies", "run black", "#77"):
        repository.touch(subject, "c.py")
    repository.touch("Import everything", *(f"many/{number}.py" for number in range(31)))
    repository.touch("Import some", *(f"some/{number}.py" for number in range(30)))
    repository.git("checkout", "-q", "-b", "side", "HEAD~1")
    repository.touch("Round amounts", "d.py")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", "Take the side in", "side")

    assert {"Import some", "Retry what failed", "Round amounts"} == set(subjects(repository))


def test_a_moved_file_keeps_its_commits(repository: Repository, folder: Path) -> None:
    """Names are those of today, whatever was read before the moves; a file that is gone is not shown."""
    repository.touch("Retry what failed", "a.py", "b.py")
    read(repository, folder)
    repository.git("mv", "a.py", "between.py")
    repository.commit("Give it a name")
    repository.git("mv", "between.py", "new.py")
    repository.commit("Give it a better name")
    repository.touch("Make another one", "a.py")
    repository.touch("Round amounts", "new.py", "c.py")
    history = read(repository, folder)

    assert {"a.py", "b.py", "c.py", "new.py"} == history.numbers.keys()
    assert {"b.py": 1, "c.py": 1} == {one.path: one.commits for one in history.changed_with("new.py", 9)}
    assert [] == history.changed_with("a.py", 9)
    assert_same(anew(repository, folder), history)
    repository.git("rm", "-q", "b.py")
    repository.commit("Drop what nobody calls")
    assert ["c.py"] == [one.path for one in read(repository, folder).changed_with("new.py", 9)]


def test_former_names_and_deletions_are_known(repository: Repository, folder: Path) -> None:
    """A file that moved twice is found by both of its names; one that was never there was not deleted."""
    repository.touch("Retry what failed", "a.py", "b.py")
    repository.git("mv", "a.py", "between.py")
    repository.commit("Give it a name")
    read(repository, folder)
    repository.git("mv", "between.py", "new.py")
    repository.git("rm", "-q", "b.py")
    repository.commit("Give it a better name")
    history = read(repository, folder)

    assert ("new.py", "new.py", "") == tuple(map(history.renamed, ("a.py", "between.py", "c.py")))
    assert [False, True, False, False] == [history.was_deleted(path) for path in ("a.py", "b.py", "c.py", "x.py")]


@pytest.mark.parametrize("seed", range(4))
def test_reading_on_ends_where_reading_anew_ends(tmp_path: Path, folder: Path, seed: int) -> None:
    """Whatever was changed, moved, deleted, made again, amended or taken back between two reads."""
    repository, chance = Repository(tmp_path / "p"), random.Random(seed)
    names = [f"{letter}.py" for letter in "abcdef"]
    repository.touch("Begin", *names)
    for step in range(24):
        there = sorted(path.name for path in repository.root.glob("*.py"))
        kind = chance.choice(["touch", "touch", "touch", "move", "delete", "amend", "back"])
        subject = f"{chance.choice(['Retry', 'Round', 'Wait'])} step {step}"
        if kind == "touch" or len(there) < 3:
            repository.touch(subject, *chance.sample(names, chance.randint(1, 3)))
        elif kind == "move":
            repository.git("mv", "-f", *chance.sample(there, 2))
            repository.commit(subject)
        elif kind == "delete":
            (repository.root / chance.choice(there)).unlink()
            repository.commit(subject)
        elif kind == "amend":
            repository.git("commit", "-q", "--amend", "--allow-empty", "-m", subject)
        elif step > 3:
            repository.git("reset", "-q", "--hard", "HEAD~2")
        if chance.random() < 0.5:
            read(repository, folder)

    assert_same(anew(repository, folder), read(repository, folder))


def test_only_new_commits_are_read(repository: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it was read from its beginning, a log is never read so again; without a new commit it is not read at all."""
    repository.touch("Retry what failed", "a.py", "b.py")
    read(repository, folder)
    monkeypatch.setattr(history_build, "read_commits", None)
    repository.touch("Round amounts", "a.py", "c.py")
    history = read(repository, folder)
    monkeypatch.setattr(history_build, "read_newer", None)

    assert 2 == history.n_commits
    written = (folder / NAME).stat().st_mtime_ns
    assert_same(history, read(repository, folder))
    assert written == (folder / NAME).stat().st_mtime_ns


def test_no_more_than_the_newest_are_kept(
    repository: Repository, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oldest go when new ones come, as if all had been read at once."""
    monkeypatch.setattr(history_build, "MOST_COMMITS", 3)
    read_all = history_build.read_commits
    monkeypatch.setattr(history_build, "read_commits", lambda root, tip: read_all(root, tip, 3))
    monkeypatch.setattr(history_build.assemble, "__kwdefaults__", {"most": 3})
    for number in range(3):
        repository.touch(f"Retry {number} times", "a.py", f"{number}.py")
    read(repository, folder)
    repository.touch("Round amounts", "a.py", "c.py")
    history = read(repository, folder)

    assert {"a.py", "1.py", "2.py", "c.py"} == history.numbers.keys()
    assert_same(anew(repository, folder), history)


def test_where_a_shallow_clone_begins_tells_nothing(repository: Repository, folder: Path, tmp_path: Path) -> None:
    """Its first commit lists every file as new; once older commits come, they are read."""
    for number in range(4):
        repository.touch(f"Retry {number} times", "a.py", "b.py")
    shallow = Repository(tmp_path / "shallow")
    url = repository.root.as_uri()
    shallow.git("pull", "-q", "--depth", "3", url, "main")
    before = read(shallow, folder).n_commits
    shallow.git("fetch", "-q", "--unshallow", url, "main")

    assert (2, 4) == (before, read(shallow, folder).n_commits)


def test_no_program_of_a_repository_is_run(repository: Repository, folder: Path, tmp_path: Path) -> None:
    """Not one for signatures, differences or monitors, though git alone would run it."""
    trap, mark = tmp_path / "trap.sh", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    trap.chmod(0o755)
    repository.touch("Retry what failed", "a.py", "b.py")
    raw = repository.git("cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\n", 1
    )
    signed = repository.git("hash-object", "-t", "commit", "-w", "--stdin", text=f"{raw}\n")
    repository.git("reset", "-q", "--soft", signed)
    (repository.root / ".gitattributes").write_text("*.py diff=trap\n")
    for key in ("gpg.program", "core.fsmonitor", "diff.external", "diff.trap.textconv", "core.pager"):
        repository.git("config", key, str(trap))
    repository.git("config", "log.showSignature", "true")
    mark.unlink(missing_ok=True)
    history = read(repository, folder)

    assert (1, False) == (history.n_commits, mark.exists())
    subprocess.run(["git", "log", "-1"], cwd=repository.root, check=False, capture_output=True)
    assert mark.exists(), "the trap does not work"


def test_a_clone_without_contents_is_read(repository: Repository, folder: Path, tmp_path: Path) -> None:
    """Nothing is fetched, and moves are found, since only those without a change count."""
    repository.touch("Retry what failed", "a.py", "b.py")
    repository.git("mv", "a.py", "new.py")
    repository.commit("Give it a better name")
    repository.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    repository.git("clone", "-q", "--filter=blob:none", "--no-checkout", repository.root.as_uri(), str(clone))
    shutil.rmtree(repository.root)
    history = update_history(folder, str(clone))

    assert history is not None
    assert ["b.py"] == [one.path for one in history.changed_with("new.py", 9)]


def test_neither_authors_nor_secrets_are_kept(repository: Repository, folder: Path) -> None:
    """Of a commit stay the terms of its subject without secrets, and paths."""
    secret = "ghp_" + "a1B2" * 9
    repository.commit(f"Use {secret} for uploads", {"a.py": "1\n"}, author="Grace Hopper")
    read(repository, folder)
    data = (folder / NAME).read_bytes().lower()

    assert b"upload" in data
    for kept_out in (secret, "grace", "hopper", "example.org"):
        assert kept_out.lower().encode() not in data


@pytest.mark.skipif(not hasattr(__import__("os"), "mkfifo"), reason="there are no such names here")
def test_names_may_hold_anything(repository: Repository, folder: Path) -> None:
    """Line ends, marks of our own format, letters of any script, bytes that are no text; subjects too."""
    names = ["a b\n\tM.py", "\x01>\x02x.py", "größe.py", b"\xff.py".decode("utf-8", "surrogateescape")]
    repository.touch("Retry \x02 what \x01 failed", "a.py", *names)
    history = read(repository, folder)

    assert {"a.py", *names} == history.numbers.keys()


@pytest.mark.parametrize("kind", ["plain folder", "no commit", "no git folder any more", "damaged"])
def test_without_commits_there_is_no_history(tmp_path: Path, folder: Path, kind: str) -> None:
    """An old file goes with the repository it came from; a failure of git leaves it."""
    root = tmp_path / "p"
    repository = Repository(root)
    if kind in ("no git folder any more", "damaged"):
        repository.touch("Begin", "a.py")
        repository.touch("Retry what failed", "a.py")
        read(repository, folder)
    if kind in ("plain folder", "no git folder any more"):
        shutil.rmtree(root / ".git")
    if kind == "damaged":
        (root / ".git" / "config").write_text("[core\n")
    kept = update_history(folder, str(root))

    assert (kind == "damaged") == (folder / NAME).exists() == (kept is not None)


def test_a_folder_without_an_index_gets_no_file(repository: Repository, tmp_path: Path) -> None:
    """What is asked of a project that is not indexed is answered and not kept."""
    repository.touch("Retry what failed", "a.py", "b.py")
    history = update_history(tmp_path / "none", str(repository.root))

    assert (1, False) == (history.n_commits if history else 0, (tmp_path / "none").exists())


@pytest.mark.parametrize("harm", ["cut", "empty", "numbers"])
def test_a_damaged_file_is_read_anew(repository: Repository, folder: Path, harm: str, monkeypatch: Any) -> None:
    """It is never searched, and the next build makes it again."""
    repository.touch("Retry what failed", "a.py", "b.py")
    whole = read(repository, folder)
    data = (folder / NAME).read_bytes()
    if harm == "numbers":
        at = data.rindex(np.array([0, 1], "<i4").tobytes())
        harmed = data[:at] + np.array([99, 99], "<i4").tobytes() + data[at + 8 :]
    else:
        harmed = data[: len(data) // 2] if harm == "cut" else b""
    (folder / NAME).unlink()  # The old one is still mapped.
    (folder / NAME).write_bytes(harmed)

    assert open_history(folder) is None
    assert_same(whole, read(repository, folder))
    monkeypatch.setattr("hybrid.index.history.RULES", "others")
    assert open_history(folder) is None


def test_a_log_beyond_all_bounds_keeps_its_newest(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before the limit counts, and no more is read; a commit that is not there is a failure of git."""
    for number in range(40):
        repository.touch(f"Retry {number} times", "a.py", "b.py")
    every = subjects(repository)
    monkeypatch.setattr("hybrid.sources.git._COUNT_BYTES", 64)
    monkeypatch.setattr("hybrid.sources.git._MOST_BYTES", 1000)
    some = subjects(repository)

    assert 0 < len(some) < 20
    assert every[: len(some)] == some
    with pytest.raises(GitUnavailableError):
        read_commits(str(repository.root), "0" * 40)


def test_every_array_is_specified(repository: Repository, folder: Path) -> None:
    """The specification of the index names each array of a history, and no other."""
    text = (CHECKOUT / "index" / "README.md").read_text(encoding="utf-8").split("\n## The history\n")[1]
    rows: list[str] = re.findall(r"^\| (`\w.*?`) \| (?:strings|u?int|float)", text, re.MULTILINE)
    named: set[str] = {name for row in rows for name in re.findall(r"`(\w+)(?:_\*)?`", row)}

    assert named == {re.sub("_(text|at)$", "", name) for name in read(repository, folder).arrays}
