"""What every store of a team's index must do; the embedded one runs always, the others with `make milvus`."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.base.errors import IndexMismatchError, StoreDownError, StoreNotReadyError
from hybrid.base.tokens import query_tokens
from hybrid.models.registry import HashingEmbedder
from hybrid.team.pushing import clean, push, stored_file
from hybrid.team.store import Generation, Only, StoredText, file_id
from tests.support.builders import PAYMENTS
from tests.team.conftest import KEY, tree_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from hybrid.team.store import StoredFile, StoredHit, TeamStore
    from tests.team.conftest import Desk

T = 60.0


def some_files(folder: Path, repository: str = "shop", **texts: str) -> dict[str, StoredFile]:
    """Id → file of the files of the payments project, or of some texts by name: `a` is `src/a.py`."""
    wanted = {f"src/{name}.py": text for name, text in texts.items()} or PAYMENTS
    with tree_of(folder, wanted) as tree:
        rows = tree.catalog.indexed()
        files = [stored_file(tree, path, rows[path]) for path in rows]
    return {file_id(repository, file.path, file.digest, file.kind, file.language): file for file in files}


def put(store: TeamStore, files: dict[str, StoredFile], repository: str = "shop", at_s: int = 1_000) -> None:
    """Store files and wait until they are found."""
    store.put(repository, files, at_s, timeout_s=T)
    store.wait_visible(repository, list(files), timeout_s=T)


def vector(text: str) -> np.ndarray:
    """The vector of a query, shape (1, dim)."""
    return HashingEmbedder().embed_query(text)[np.newaxis, :]


def paths(found: list[StoredHit], files: dict[str, StoredFile]) -> list[str]:
    """Path of each chunk found, in order."""
    return [files[one.file].path for one in found]


def test_what_was_stored_comes_back_whole(desk: Desk, tmp_path: Path) -> None:
    """A file is given back as it was stored: records, vectors, everything."""
    files = some_files(tmp_path)
    store = desk.open()
    put(store, files)

    assert files == store.files("shop", list(files), timeout_s=T)
    assert dict.fromkeys(files, 1_000) == store.held("shop", timeout_s=T)
    assert {} == store.files("shop", ["0" * 32], timeout_s=T)


def test_a_large_file_comes_back_whole(desk: Desk, tmp_path: Path) -> None:
    """A file whose record is larger than a field of the store is kept in parts."""
    random = np.random.default_rng(1)
    names = ["".join(random.choice(list("bcdfgaeiou"), 9)) for _ in range(9_000)]
    text = "\n".join(
        f"def {a}_{b}({c}): return {d}" for a, b, c, d in zip(*(names[n::4] for n in range(4)), strict=True)
    )
    files = some_files(tmp_path, large=text)
    store = desk.open()
    put(store, files)

    assert files == store.files("shop", list(files), timeout_s=T)


def test_storing_again_changes_nothing(desk: Desk, tmp_path: Path) -> None:
    """The same files stored twice are found once."""
    files = some_files(tmp_path)
    store = desk.open()
    put(store, files)
    put(store, files, at_s=2_000)
    found = store.dense("shop", vector("wait before retry"), 50, timeout_s=T)[0]

    assert dict.fromkeys(files, 2_000) == store.held("shop", timeout_s=T)
    assert len(found) == len({(one.file, one.ordinal) for one in found})
    assert sum(len(file.records) for file in files.values()) == len(found)


def test_the_nearest_chunks_come_first(desk: Desk, tmp_path: Path) -> None:
    """The dense leg gives cosines within 1e-3 of those that the vectors have, best first, each vector by itself."""
    files = some_files(tmp_path)
    store = desk.open()
    put(store, files)
    asked = np.concatenate([vector("wait before retry"), vector("user store"), np.zeros((1, KEY.dim), np.float32)])
    answers = store.dense("shop", asked, 3, timeout_s=T)

    assert [] == answers[2]
    for query, found in zip(asked[:2], answers, strict=False):
        every = {
            (name, ordinal): float(cosine)
            for name, file in files.items()
            for ordinal, cosine in enumerate(
                (file.vectors(KEY.dim).data * file.vectors(KEY.dim).scale[:, None]) @ query
            )
        }
        assert sorted(every.values(), reverse=True)[:3] == pytest.approx([one.raw for one in found], abs=1e-3)
        assert [every[one.file, one.ordinal] for one in found] == pytest.approx([one.raw for one in found], abs=1e-3)


def test_words_find_the_chunks_that_hold_them(desk: Desk, tmp_path: Path) -> None:
    """The lexical leg ranks chunks by our terms, identifiers and words of other languages too, and no others."""
    files = some_files(
        tmp_path, a="def größe_prüfen():\n    return 1\n", b="def wait_before_retry():\n    pass\n", c="x = 1\n"
    )
    store = desk.open()
    if not store.capabilities.lexical:
        pytest.skip(f"{store.capabilities.product} does not search by words")
    put(store, files)
    answers = store.lexical(
        "shop", [query_tokens("wait_before_retry"), query_tokens("größe prüfen"), []], 5, timeout_s=T
    )

    assert ["src/b.py"] == paths(answers[0], files)
    assert ["src/a.py"] == paths(answers[1], files)
    assert [] == answers[2]


def test_both_legs_agree_with_the_embedded_engine(desk: Desk, tmp_path: Path) -> None:
    """The best chunks by words and by sense are those of the product's own engine."""
    files = some_files(tmp_path)
    store = desk.open()
    put(store, files)
    from tests.support.embedded_store import EmbeddedStore

    ours = EmbeddedStore(tmp_path / "ours", KEY)
    ours.put("shop", files, 1, timeout_s=T)
    for text in ("wait before retry", "user store", "payment failed"):
        expected, found = (one.dense("shop", vector(text), 1, timeout_s=T)[0] for one in (ours, store))
        assert expected[0].raw == pytest.approx(found[0].raw, abs=1e-3)
        if store.capabilities.lexical:
            expected, found = (one.lexical("shop", [query_tokens(text)], 1, timeout_s=T)[0] for one in (ours, store))
            assert paths(expected, files) == paths(found, files)


def test_filters_count_before_the_best_are_taken(desk: Desk, tmp_path: Path) -> None:
    """Kind and beginning of the path restrict both legs, whatever signs a path holds."""
    texts = {
        "src/a_b/one.py": "def retry(): pass",
        "src/aXb/two.py": "def retry(): pass",
        "doc/r.md": "# retry\n\nretry",
    }
    texts |= {'src/we"ird\\%/three.py': "def retry(): pass"}
    with tree_of(tmp_path, texts) as tree:
        rows = tree.catalog.indexed()
        every = [stored_file(tree, path, rows[path]) for path in rows]
    files = {file_id("shop", file.path, file.digest, file.kind, file.language): file for file in every}
    store = desk.open()
    put(store, files)

    def found(only: Only) -> set[str]:
        dense = set(paths(store.dense("shop", vector("retry"), 10, only, timeout_s=T)[0], files))
        if store.capabilities.lexical:
            assert dense == set(paths(store.lexical("shop", [["retri"]], 10, only, timeout_s=T)[0], files))
        return dense

    assert set(texts) == found(Only())
    assert {"doc/r.md"} == found(Only(kinds=("doc",)))
    assert {"src/a_b/one.py"} == found(Only(below="src/a_b/"))
    assert {'src/we"ird\\%/three.py'} == found(Only(("code",), 'src/we"ird\\%'))


def test_repositories_know_nothing_of_each_other(desk: Desk, tmp_path: Path) -> None:
    """What one repository holds is never found in another, and dropping one leaves the other."""
    ours, theirs = (
        some_files(tmp_path / "1", "shop"),
        some_files(tmp_path / "2", 'team "x"/bank', a="def retry(): pass"),
    )
    store = desk.open()
    put(store, ours)
    put(store, theirs, 'team "x"/bank')
    store.commit('team "x"/bank', Generation("c1", 5, {"src/a.py": next(iter(theirs))}), timeout_s=T)
    store.commit("shop", Generation("c1", 6, {file.path: name for name, file in ours.items()}), timeout_s=T)
    found = store.dense("shop", vector("retry"), 50, timeout_s=T)[0]

    assert {one.file for one in found} <= set(ours)
    assert ["shop", 'team "x"/bank'] == [held.repository for held in store.repositories(timeout_s=T)]
    assert [len(ours), 1] == [held.n_files for held in store.repositories(timeout_s=T)]

    store.drop("shop", timeout_s=T)

    assert {} == store.held("shop", timeout_s=T)
    assert [] == list(store.generations("shop", timeout_s=T))
    assert set(theirs) == set(store.held('team "x"/bank', timeout_s=T))


def test_a_generation_is_seen_whole_or_not_at_all(desk: Desk, tmp_path: Path) -> None:
    """A generation lists its files; before its commit it does not exist, and a second one replaces no first."""
    files = some_files(tmp_path)
    of_paths = {file.path: name for name, file in files.items()}
    store = desk.open()
    put(store, files)

    assert [] == list(store.generations("shop", timeout_s=T))
    with pytest.raises(StoreNotReadyError):
        store.generation("shop", "c1", timeout_s=T)

    store.commit("shop", Generation("c1", 100, of_paths, b"\0figures" * 20_000), timeout_s=T)
    store.commit("shop", Generation("c2", 200, dict(list(of_paths.items())[1:])), timeout_s=T)

    assert [("c2", 200), ("c1", 100)] == list(store.generations("shop", timeout_s=T))
    assert Generation("c1", 100, of_paths, b"\0figures" * 20_000) == store.generation("shop", "c1", timeout_s=T)

    store.forget("shop", "c1", timeout_s=T)

    assert [("c2", 200)] == list(store.generations("shop", timeout_s=T))
    assert set(files) == set(store.held("shop", timeout_s=T))


def test_a_push_writes_only_what_is_new(desk: Desk, tmp_path: Path) -> None:
    """The second push of a tree with one changed file writes that file, and a repeated push nothing."""
    store = desk.open()
    with tree_of(tmp_path / "1") as tree:
        first = push(store, "shop", tree, commit="c1", now_s=1_000, keep=2, progress=_silent)
        again = push(store, "shop", tree, commit="c1", now_s=1_001, keep=2, progress=_silent)
    path = next(iter(PAYMENTS))
    with tree_of(tmp_path / "2", {**PAYMENTS, path: PAYMENTS[path] + "\n\nNEW = 1\n"}) as tree:
        second = push(store, "shop", tree, commit="c2", now_s=2_000, keep=2, progress=_silent)

    assert (len(PAYMENTS), 0, 1) == (first.written, again.written, second.written)
    before, after = (store.generation("shop", commit, timeout_s=T).files for commit in ("c1", "c2"))
    assert [path] == [one for one in before if before[one] != after[one]]


def test_a_path_that_is_no_text_is_left_out(desk: Desk, tmp_path: Path) -> None:
    """A file whose name is not UTF-8 is not pushed: each working tree indexes it itself, and the others are shared."""
    store = desk.open()
    with tree_of(tmp_path, {"src/a.py": "def a(): pass", "src/not-utf8-\udcff.py": "def b(): pass"}) as tree:
        pushed = push(store, "shop", tree, commit="c1", now_s=1, keep=2, progress=_silent)

    assert 1 == pushed.files
    assert ["src/a.py"] == list(store.generation("shop", "c1", timeout_s=T).files)


def test_old_generations_go_with_what_only_they_need(desk: Desk, tmp_path: Path) -> None:
    """A push keeps so many generations; a text that no generation needs goes after a day, and is not found again."""
    store = desk.open()
    for number, day in enumerate((0, 1, 9), 1):
        with tree_of(
            tmp_path / str(number), {"a.py": f"def number_{number}(): pass", "b.py": "def stays(): pass"}
        ) as tree:
            push(store, "shop", tree, commit=f"c{number}", now_s=day * 86_400 + 1, keep=1, progress=_silent)
    held = store.held("shop", timeout_s=T)
    found = store.dense("shop", vector("number"), 10, timeout_s=T)[0]

    assert ["c3"] == [commit for commit, _ in store.generations("shop", timeout_s=T)]
    assert set(store.generation("shop", "c3", timeout_s=T).files.values()) == set(held)
    assert {one.file for one in found} <= set(held)


def test_a_path_can_be_deleted_with_all_that_it_ever_said(desk: Desk, tmp_path: Path) -> None:
    """Deleting by path takes every text of it, in every generation, out of both tables."""
    store = desk.open()
    for number in (1, 2):
        with tree_of(tmp_path / str(number), {"key.py": f"def key_{number}(): pass", "b.py": "x = 1"}) as tree:
            push(store, "shop", tree, commit=f"c{number}", now_s=number, keep=9, progress=_silent)
    store.remove_path("shop", "key.py", timeout_s=T)
    lost = {store.generation("shop", commit, timeout_s=T).files["key.py"] for commit in ("c1", "c2")}

    assert 1 == len(store.held("shop", timeout_s=T))
    assert {} == store.files("shop", lost, timeout_s=T)
    # A server may show what was deleted for some seconds; who searches asks for the file, and is given none.
    _again(lambda: not lost & {one.file for one in store.dense("shop", vector("key"), 10, timeout_s=T)[0]})


TEXTS = {
    "src/a.py": "def a():\n    return 'größe'\n",
    'src/we"ird\\%\udcff.py': "x = 1\n" * 3,
    "src/large.py": "\n".join(f"value_{number * 7_919 % 100_003} = '{number**3:x}'" for number in range(20_000)),
}


def put_texts(store: TeamStore, repository: str = "shop") -> dict[str, StoredText]:
    """Store some texts, one of them larger than a field of the store."""
    texts = {f"{number:032x}": StoredText(*entry) for number, entry in enumerate(TEXTS.items(), 1)}
    store.put_texts(repository, texts, timeout_s=T)
    return texts


def test_a_text_comes_back_whole(desk: Desk, tmp_path: Path) -> None:
    """Texts are given by the ids of their files, whatever they and their paths hold; they are no files, and stored once."""
    store = desk.open()
    texts = put_texts(store)
    put_texts(store)

    assert _again(lambda: texts == store.texts("shop", [*texts, "f" * 32], timeout_s=T))
    assert set(texts) == set(store.with_text("shop", timeout_s=T))
    assert {} == store.held("shop", timeout_s=T)
    assert set() == set(store.with_text("bank", timeout_s=T))
    assert {} == store.texts("bank", texts, timeout_s=T)


def test_texts_are_deleted_alone_or_with_their_files(desk: Desk, tmp_path: Path) -> None:
    """By id, by path, all of a repository, with its files, and with everything; those of others stay."""
    files = some_files(tmp_path, a="def retry(): pass", b="x = 1")
    store = desk.open()
    put_texts(store, "bank")

    def fill() -> tuple[str, str]:
        put(store, files)
        texts = {name: StoredText(file.path, "text") for name, file in files.items()}
        store.put_texts("shop", texts, timeout_s=T)
        by_path = {file.path: name for name, file in files.items()}
        return by_path["src/a.py"], by_path["src/b.py"]

    def left() -> tuple[set[str], set[str]]:
        return set(store.with_text("shop", timeout_s=T)), set(store.held("shop", timeout_s=T))

    one, other = fill()
    store.remove_texts("shop", [one], timeout_s=T)
    assert ({other}, {one, other}) == left()
    store.remove_texts("shop", timeout_s=T)
    assert (set(), {one, other}) == left()
    fill()
    store.remove("shop", [one], timeout_s=T)
    assert ({other}, {other}) == left()
    store.remove_path("shop", "src/b.py", timeout_s=T)
    assert (set(), set()) == left()
    fill()
    store.drop("shop", timeout_s=T)
    assert (set(), set()) == left()
    assert len(TEXTS) == len(store.with_text("bank", timeout_s=T))


def test_the_last_push_of_each_repository_is_told(desk: Desk, tmp_path: Path) -> None:
    """The commits pushed last, and how much of a repository can be shown."""
    files = some_files(tmp_path, a="def retry(): pass", b="x = 1")
    store = desk.open()
    assert {} == store.latest(timeout_s=T)

    put(store, files)
    put(store, files, "bank")
    store.put_texts("bank", {next(iter(files)): StoredText("src/a.py", "text")}, timeout_s=T)
    for repository, commit, at_s in (("shop", "c1", 5), ("shop", "c2", 6), ("bank", "c3", 5), ("bank", "c4", 4)):
        store.commit(repository, Generation(commit, at_s, dict.fromkeys(["src/a.py"], next(iter(files)))), timeout_s=T)

    assert [("bank", "c3"), ("shop", "c2")] == list(store.latest(timeout_s=T).items())
    assert [1, 0] == [held.n_texts for held in store.repositories(timeout_s=T)]


def read_of(texts: Mapping[str, str]) -> Callable[[str], str | None]:
    """What reads some files of a working tree."""
    return dict(texts).get


def test_a_push_stores_texts_only_where_it_is_told_to(desk: Desk, tmp_path: Path) -> None:
    """Switched on later it stores what is missing, once; switched off it deletes every text of the repository."""
    store = desk.open()

    def pushed(read: Callable[[str], str | None] | None, now_s: int) -> tuple[int, int, int]:
        done = push(store, "shop", replace(tree, read=read), commit="c1", now_s=now_s, keep=2, progress=_silent)
        return done.texts, done.texts_deleted, len(store.with_text("shop", timeout_s=T))

    put_texts(store, "bank")
    with tree_of(tmp_path) as tree:
        n = len(PAYMENTS)
        assert (0, 0, 0) == pushed(None, 1)
        assert (n, 0, n) == pushed(read_of(PAYMENTS), 2)
        assert (0, 0, n) == pushed(read_of(PAYMENTS), 3)
        files = store.generation("shop", "c1", timeout_s=T).files
        expected = {files[path]: StoredText(path, text) for path, text in PAYMENTS.items()}

        assert _again(lambda: expected == store.texts("shop", files.values(), timeout_s=T))
        assert (0, n, 0) == pushed(None, 4)
    assert len(TEXTS) == len(store.with_text("bank", timeout_s=T))


def test_a_text_goes_with_the_last_generation_that_needs_it(desk: Desk, tmp_path: Path) -> None:
    """Cleaning up takes the texts too, also those of files that another push took away."""
    store = desk.open()
    store.put_texts("shop", {"e" * 32: StoredText("gone.py", "text")}, timeout_s=T)
    for number, day in enumerate((0, 9), 1):
        texts = {"a.py": f"def number_{number}(): pass", "b.py": "def stays(): pass"}
        with tree_of(tmp_path / str(number), texts) as tree:
            tree = replace(tree, read=read_of(texts))
            push(store, "shop", tree, commit=f"c{number}", now_s=day * 86_400 + 1, keep=1, progress=_silent)
    needed = store.generation("shop", "c2", timeout_s=T).files

    assert set(needed.values()) == set(store.with_text("shop", timeout_s=T))


def test_two_may_push_at_once(desk: Desk, tmp_path: Path) -> None:
    """Of two pushes at once both generations are whole, whoever ends first."""
    if desk.server is None:
        pytest.skip("the embedded store has one writer")
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            texts = {f"src/f{n}.py": f"def f{n}_of_{n % 3 and number}(): pass" for n in range(40)}
            with tree_of(tmp_path / str(number), texts) as tree:
                push(desk.open(), "shop", tree, commit=f"c{number}", now_s=number, keep=9, progress=_silent)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = desk.open()
    wanted = {commit: store.generation("shop", commit, timeout_s=T).files.values() for commit in ("c1", "c2")}

    assert [] == failures
    assert all(set(files) == set(store.files("shop", files, timeout_s=T)) for files in wanted.values())


def test_a_file_that_a_cleaning_took_is_written_again(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that finds files gone after its commit writes them once more, also when it had none to write before."""
    store = desk.open()
    commit, taken = store.commit, []

    def commit_late(repository: str, generation: Generation, *, timeout_s: float) -> None:
        if not taken:  # Another push ends just before this commit, and takes what no list names yet.
            taken.append(clean(store, repository, 3_000, young_s=0))
        commit(repository, generation, timeout_s=timeout_s)

    with tree_of(tmp_path) as tree:
        push(store, "shop", tree, commit="c0", now_s=1_000, keep=9, progress=_silent)
        store.forget("shop", "c0", timeout_s=T)
        monkeypatch.setattr(store, "commit", commit_late)
        push(store, "shop", tree, commit="c1", now_s=2_000, keep=9, progress=_silent)
    files = store.generation("shop", "c1", timeout_s=T).files.values()

    assert [len(PAYMENTS)] == taken
    assert set(files) == set(store.held("shop", timeout_s=T))


def test_what_a_push_uses_again_is_young_again(desk: Desk, tmp_path: Path) -> None:
    """A file of no generation gets the time of the push that uses it, so that no other push cleans it up meanwhile."""
    store = desk.open()
    with tree_of(tmp_path) as tree:
        push(store, "shop", tree, commit="c0", now_s=1_000, keep=9, progress=_silent)
        push(store, "shop", tree, commit="c0", now_s=2_000, keep=9, progress=_silent)
        listed = set(store.held("shop", timeout_s=T).values())
        store.forget("shop", "c0", timeout_s=T)
        again = push(store, "shop", tree, commit="c1", now_s=3_000, keep=9, progress=_silent)

    assert {1_000} == listed
    assert {3_000} == set(store.held("shop", timeout_s=T).values())
    assert 0 == again.written


def test_another_model_or_recipe_is_refused(desk: Desk) -> None:
    """Who has another model, recipe or schema reads nothing of it, and what they push stands beside it."""
    if desk.server is None:
        pytest.skip("the embedded store has no names that others could use")
    desk.open().close()
    for other in (replace(KEY, model="other@1"), replace(KEY, recipe="other"), replace(KEY, schema=KEY.schema + 1)):
        with pytest.raises(IndexMismatchError, match="another hybrid"):
            desk.open(other, makes=False)
        desk.open(other).close()

        assert other == desk.open(other, makes=False).key


def test_nothing_is_made_by_who_only_searches(desk: Desk) -> None:
    """Opening a store that was never pushed to says so."""
    if desk.server is None:
        pytest.skip("the embedded store is a folder")
    with pytest.raises(StoreNotReadyError, match="hybrid index push"):
        desk.open(makes=False)


def test_an_old_server_is_refused_in_use(desk: Desk) -> None:
    """A server without a search by words is opened by these tests only."""
    if desk.server is None or desk.open().capabilities.lexical:
        pytest.skip("it searches by words")
    from hybrid.team.milvus import LEAST_VERSION

    with pytest.raises(IndexMismatchError, match=r"needs Milvus 2\.5"):
        desk.open(least=LEAST_VERSION)


def test_a_call_ends_by_its_deadline(desk: Desk, tmp_path: Path) -> None:
    """A store that answers nothing is given up in time, and serves again when it answers."""
    files = some_files(tmp_path, a="def retry(): pass")
    store = desk.open()
    put(store, files)

    with pytest.raises(StoreDownError):
        store.dense("shop", vector("retry"), 5, timeout_s=0)
    if desk.server is not None:
        desk.server.freeze()
        started = time.monotonic()
        try:
            with pytest.raises(StoreDownError):
                store.dense("shop", vector("retry"), 5, timeout_s=0.5)
        finally:
            took_s = time.monotonic() - started
            desk.server.thaw()

        assert took_s < 5  # Ten times the deadline: a call without one would never end.

    assert ["src/a.py"] == paths(store.dense("shop", vector("retry"), 5, timeout_s=T)[0], files)


def test_a_store_that_was_killed_serves_the_same_connection_again(desk: Desk, tmp_path: Path) -> None:
    """While the store is gone calls fail at once or in time; when it is back it holds what was committed."""
    if desk.server is None:
        pytest.skip("the embedded store is no process")
    files = some_files(tmp_path, a="def retry(): pass")
    store = desk.open()
    put(store, files)
    store.commit("shop", Generation("c1", 5, {"src/a.py": next(iter(files))}), timeout_s=T)
    desk.server.stop()
    with pytest.raises(StoreDownError):
        store.dense("shop", vector("retry"), 5, timeout_s=1)
    desk.server.start()
    found = _again(lambda: store.dense("shop", vector("retry"), 5, timeout_s=5)[0])

    assert ["src/a.py"] == paths(found, files)
    assert [("c1", 5)] == list(desk.open(makes=False).generations("shop", timeout_s=T))


def _again(ask):
    """Ask until there is an answer, for as long as a server needs to start."""
    ends_s = time.monotonic() + T
    while True:
        try:
            if found := ask():
                return found
        except (StoreDownError, StoreNotReadyError):
            if time.monotonic() > ends_s:
                raise
        time.sleep(0.2)


def _silent(step: str, done: int, total: int) -> None:
    pass
