"""The settings name another model: the old index answers until the new one is whole, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.errors import BusyError
from hybrid.daemon import worker
from hybrid.index.build import DocumentUpdate, build
from hybrid.index.manifest import read_manifest
from hybrid.index.plan import BuildTools
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.models import registry
from hybrid.models.registry import load_embedder
from hybrid.prompting.query import make_query
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.upkeep.indexing import file_source, recipe_of
from hybrid.workspace import open_workspace
from tests.support.agent import until
from tests.support.builders import CHECKOUT, Shop, hear_interrupts, new_shop, write_files
from tests.support.records import Talk
from tests.support.successors import SHIPPED, SUCCESSOR, next_version

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.workspace import Workspace

RETRY = "How does the payment client retry a request after a timeout?"
OTHER = {"HYBRID_MODEL_NAME": "hashing"}


def _workspace(shop: Shop, **environ: str) -> Workspace:
    return open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home), **environ}, user_home=shop.home / "user")


def _model(shop: Shop) -> str:
    """The model whose vectors the index holds."""
    return read_manifest(_workspace(shop).place.folder).model.partition("@")[0]


def _share(shop: Shop, **environ: str) -> dict[str, Any]:
    return shop.json("status", **environ)["index"]["reembedding"]


def test_the_old_index_answers_until_the_new_one_is_whole(own_shop: Shop) -> None:
    """After `models use` prompts and searches get what they got before; a build swaps, and nothing is told any more."""
    before = own_shop.out("search", "retry a payment"), own_shop.hook(RETRY)
    own_shop.out("models", "use", "hashing", "--quiet")
    after = own_shop.out("search", "retry a payment"), own_shop.hook(RETRY, session="s2")
    index, shown = own_shop.json("status")["index"], own_shop.out("status", "--table", COLUMNS="300")
    explained = own_shop.out("context", RETRY, "--explain")
    own_shop.out("reindex", "--quiet")

    assert before == after
    assert f"files: the index made with {SHIPPED} answers until it is embedded with hashing" in explained
    assert ("src/payments/client.py" in before[1], SHIPPED) == (True, _model_told(index))
    assert ("stale", 4, 5, True) == tuple(index[key] for key in ("state", "documents", "chunks", "is_calibrated"))
    assert f"Re-embedding     from {SHIPPED} to hashing, 0 % done; {SHIPPED} answers until it is whole" in shown
    assert (None, "ready", "hashing") == (_share(own_shop), own_shop.json("status")["index"]["state"], _model(own_shop))
    assert "src/payments/client.py" in own_shop.out("search", "retry a payment")


def _model_told(index: dict[str, Any]) -> str:
    assert {"from": SHIPPED, "to": "hashing", "share": 0.0} == {
        key: value for key, value in index["reembedding"].items() if key != "answers"
    }
    return index["reembedding"]["answers"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")
def test_a_killed_embedding_goes_on(tmp_path: Path) -> None:
    """Killed in the middle, the old model answers and status has the share done; the next build does only the rest."""
    files = {f"src/part_{i:03}.py": f"def settle_{i}(invoice):\n    return invoice.total * {i}\n" for i in range(300)}
    shop = new_shop(tmp_path, files)
    command = [sys.executable, "-c", _SLOW, "reindex", "--quiet"]
    environ = os.environ | {"HYBRID_HOME": str(shop.home), "PYTHONPATH": str(CHECKOUT), **OTHER}
    running = subprocess.Popen(command, cwd=shop.root, env=environ, preexec_fn=hear_interrupts)
    until(lambda: _share(shop, **OTHER)["share"] > 0)
    told = _share(shop, **OTHER)
    state = shop.json("status", **OTHER)["index"]["state"]
    busy = shop.error("reindex", "--wait", "0", **OTHER)
    running.send_signal(signal.SIGKILL)
    running.wait(timeout=120)
    found = shop.out("search", "settle_17", "--limit", "1", **OTHER)
    left = _share(shop, **OTHER)
    rest = shop.json("reindex", **OTHER)

    assert ("building", SHIPPED) == (state, told["answers"])
    assert f"another process is indexing this project (process {running.pid}" in busy
    assert 0 < left["share"] < 1
    assert "src/part_017.py" in found
    assert 0 < rest["embedded"] < 300
    assert (None, "hashing") == (_share(shop, **OTHER), _model(shop))


_SLOW = """
import itertools, time
from hybrid.models.registry import HashingEmbedder
embed, batches = HashingEmbedder.embed_documents, itertools.count()
HashingEmbedder.embed_documents = lambda self, inputs: (time.sleep(600 * min(next(batches), 1)), embed(self, inputs))[1]
from hybrid.__main__ import main
raise SystemExit(main())
"""
"""Runs a command with a model that does not come back from its second batch."""


@dataclass
class FullDisk:
    """An embedder that finds the disk full at its second batch, as a build would when it stores the vectors."""

    embedder: Any
    n_batches: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.embedder, name)

    def embed_documents(self, inputs: Any) -> Any:
        """As of the real one, once."""
        self.n_batches += 1
        if self.n_batches > 1:
            raise OSError(28, "No space left on device")
        return self.embedder.embed_documents(inputs)


def test_a_model_that_is_not_wanted_any_more_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of the service looks at the settings now and then; what answers stays, and the next build takes theirs."""
    monkeypatch.setattr(worker, "_LOOK_AGAIN_S", 0.0)
    shop = new_shop(tmp_path, {f"src/part{i}.py": f"def part_{i}():\n    return {i}\n" for i in range(40)})
    request = {"cwd": str(shop.root), "environ": {"HYBRID_HOME": str(shop.home)}, "paths": None}
    building = worker._Worker()
    shop.out("config", "set", "model.name", "hashing-32", "--user")
    look = DocumentUpdate._take
    seen: list[str] = []

    def take(update: DocumentUpdate, *args: Any) -> None:
        if not seen:
            shop.out("config", "set", "model.name", "hashing-16", "--user")
        seen.append("file")
        look(update, *args)

    monkeypatch.setattr(DocumentUpdate, "_take", take)
    given_up = building.answer(request)
    between, n_seen = _model(shop), len(seen)
    done = building.answer(request)

    assert {"state": "busy", "reason": "hashing-16 was chosen in place of hashing-32"} == given_up
    assert n_seen < 40
    assert (SHIPPED, "hashing-16") == (between, _model(shop))
    assert "built" == done["state"]


def test_a_full_disk_leaves_the_old_index(tmp_path: Path) -> None:
    """A build that cannot store what it embeds ends with an error, and prompts are answered as before."""
    files = {f"src/part_{i:03}.py": f"def settle_{i}(invoice):\n    return invoice.total * {i}\n" for i in range(300)}
    shop = new_shop(tmp_path, files)
    workspace = _workspace(shop, **OTHER)
    settings, embedder = workspace.config.index, load_embedder("hashing", home=shop.home)
    source = file_source(shop.root, settings, shop.home)
    annotator = GateAnnotator(embedder, shop.home)
    tools = BuildTools(source, FullDisk(embedder), recipe_of(settings), annotator)
    with pytest.raises(OSError, match="No space left"):
        build(workspace.place, tools)

    assert "src/part_017.py" in shop.out("search", "settle_17", "--limit", "1", **OTHER)
    started = Talk(shop.root, shop.home).start("startup").text

    assert (SHIPPED, 0.0) < (_model(shop), _share(shop, **OTHER)["share"])
    assert "shop: 300 documents indexed\n" in started
    assert shop.json("reindex", **OTHER)["embedded"] < 300


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root writes into read-only folders")
def test_a_read_only_home_answers(own_shop: Shop) -> None:
    """Where nothing can be embedded, the old model answers searches for as long as that lasts."""
    folder = _workspace(own_shop).place.folder
    folder.chmod(0o500)
    try:
        found = own_shop.out("search", "retry a payment", **OTHER)
    finally:
        folder.chmod(0o700)

    assert "src/payments/client.py" in found


def test_a_reader_keeps_its_generation_until_the_new_model_is_loaded(
    own_shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prompts do not wait while a service loads another model, and get one generation or the other, never a mixture."""
    workspace, kinds = _workspace(own_shop, **OTHER), OpenKinds({}, OpenIndexes(LoadedModels(wait_s=0.0)))
    until(lambda: _opened(kinds, workspace))
    old = kinds.searcher(workspace)
    own_shop.out("reindex", "--quiet", **OTHER)
    is_loaded, load = threading.Event(), registry.load_embedder
    monkeypatch.setattr(registry, "load_embedder", lambda name, home: is_loaded.wait(60) and load(name, home=home))
    meanwhile = kinds.searcher(workspace)
    is_loaded.set()
    until(lambda: kinds.searcher(workspace) is not old)
    new = kinds.searcher(workspace)

    assert old is meanwhile
    assert (SHIPPED, "hashing") == (old.embedder.info.name, new.embedder.info.name)
    assert old.backend.dim != new.backend.dim == 64
    assert old.search(make_query("retry a payment"), top_k=1).hits


def _opened(kinds: OpenKinds, workspace: Workspace) -> bool:
    with contextlib.suppress(BusyError):
        return bool(kinds.searcher(workspace))
    return False


# --- the model of the settings is not there ----------------------------------------------------------------

TYPO = {"HYBRID_MODEL_NAME": "static-vO"}
MISSING = "model static-vO is not on this machine"


def test_a_model_that_is_not_there_is_a_problem(own_shop: Shop) -> None:
    """Status, doctor and `explain` say what is missing and what to do; the old index answers as before."""
    before = own_shop.out("search", "retry a payment"), own_shop.hook(RETRY, session="s2")
    after = own_shop.run("search", "retry a payment", **TYPO), own_shop.hook(RETRY, session="s3", **TYPO)
    told, shown = own_shop.json("status", **TYPO), own_shop.out("status", "--table", COLUMNS="300", **TYPO)
    doctor = own_shop.run("doctor", **TYPO).stdout.decode()

    assert ("stale", "static-vO", None) == (told["index"]["state"], told["model"]["name"], told["model"]["dim"])
    assert told["model"]["error"].startswith(MISSING)
    assert f"Model            cannot be used: {MISSING}" in shown
    assert f"from {SHIPPED} to static-vO once that model is there; {SHIPPED} answers until it is whole" in shown
    assert f"waits to be embedded with static-vO; {SHIPPED} answers until then" in doctor
    assert "bring the model back, or `hybrid models use NAME`" in doctor
    assert (
        f"files: the index made with {SHIPPED} answers, since that of the settings cannot: {MISSING}"
        in own_shop.out("explain", "--last", **TYPO)
    )
    assert before == (after[0].stdout.decode(), after[1])
    assert "src/payments/client.py" in after[1]
    assert MISSING in own_shop.error("reindex", **TYPO)
    assert None is own_shop.json("status")["model"]["error"]


def test_without_any_model_a_search_finds_by_words(own_shop: Shop, tmp_path: Path) -> None:
    """When the folder of the one model is gone and the settings still name it, a search says why it found by words."""
    folder = tmp_path / "model"
    shutil.copytree(CHECKOUT / "models" / SHIPPED, folder)
    own_shop.out("models", "use", str(folder), "--quiet")
    own_shop.out("reindex", "--quiet")
    shutil.rmtree(folder)
    done = own_shop.run("search", "retry after a timeout")

    assert (0, True) == (done.returncode, b"src/payments/client.py" in done.stdout)
    assert f"files: found by words alone, for model {folder}: there is no such folder" in done.stderr.decode()
    assert f"model {folder}: there is no such folder" in own_shop.run("doctor").stdout.decode()


def test_a_relative_folder_is_written_whole(own_shop: Shop) -> None:
    """`models use ./folder` means this folder in every working directory."""
    folder = own_shop.root.parent / "mymodel"
    shutil.copytree(CHECKOUT / "models" / SHIPPED, folder)
    own_shop.out("models", "use", "../mymodel", "--quiet")

    assert str(folder.resolve()) == own_shop.json("status")["model"]["name"]


# --- the model of the index is gone -----------------------------------------------------------------------


@pytest.fixture
def orphaned(tmp_path: Path) -> Shop:
    """A project that was indexed with a model in a folder, which was deleted since."""
    shop = new_shop(tmp_path, is_indexed=False)
    folder = tmp_path / "model"
    shutil.copytree(CHECKOUT / "models" / SHIPPED, folder)
    shop.out("reindex", "--quiet", HYBRID_MODEL_NAME=str(folder))
    shutil.rmtree(folder)
    return shop


def test_without_its_model_an_index_finds_by_words(orphaned: Shop) -> None:
    """A search says that it found by words alone and why; prompts are met with silence; a build mends it."""
    done = orphaned.run("search", "retry after a timeout")
    found = orphaned.run("search", "retry after a timeout", "--json").stdout.decode()
    silent, index = orphaned.hook(RETRY), orphaned.json("status")["index"]
    shown = orphaned.out("status", "--table", COLUMNS="300")
    orphaned.out("reindex", "--quiet")

    assert (0, True) == (done.returncode, b"src/payments/client.py" in done.stdout)
    assert done.stderr.decode().startswith(
        "hybrid: warning: files: found by words alone, for the index was built with "
    )
    assert ('"cosine": null' in found, '"cosine": 0' in found) == (True, False)
    assert ("", ["index_mismatch"]) == (silent, orphaned.reasons())
    assert ("stale", None, 4) == (index["state"], index["reembedding"]["answers"], index["documents"])
    assert "is gone: no prompt is answered until it is whole, and `hybrid search` finds by words" in shown
    assert "src/payments/client.py" in orphaned.hook(RETRY, session="s2")
    assert "" == orphaned.run("search", "retry").stderr.decode()


def test_vectors_of_a_model_that_is_gone_are_dropped(orphaned: Shop) -> None:
    """They stay until the new index is whole; those of a model that is there stay for good."""
    orphaned.out("reindex", "--quiet")
    shipped = _n_vectors(orphaned)
    orphaned.out("reindex", "--quiet", **OTHER)

    assert {SHIPPED: 5} == shipped
    assert {SHIPPED: 5, "hashing": 5} == _n_vectors(orphaned)


def _n_vectors(shop: Shop) -> dict[str, int]:
    """Name of a model → its vectors in the catalog."""
    sql = "SELECT m.key, (SELECT count(*) FROM vectors v WHERE v.model_id = m.id) FROM models m"
    with contextlib.closing(sqlite3.connect(_workspace(shop).place.catalog)) as db:
        return {key.partition("@")[0]: n for key, n in db.execute(sql)}


# --- an upgrade that ships a successor ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The product of the next version, which ships another model."""
    return next_version(tmp_path_factory.mktemp("next"))


def _upgraded(shop: Shop, version: Path, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    settings = {name: value for name, value in os.environ.items() if not name.startswith("HYBRID_")}
    settings |= {"HYBRID_HOME": str(shop.home), "PYTHONPATH": str(version), "HOME": str(shop.home / "user"), **environ}
    command = [sys.executable, "-m", "hybrid", *args]
    return subprocess.run(
        command, cwd=shop.root, env=settings, capture_output=True, text=True, check=False, timeout=120
    )


def test_an_upgrade_gives_everybody_the_new_model(own_shop: Shop, upgraded: Path) -> None:
    """The index of the model before finds by words, and the next build embeds it without parsing a file again."""
    words = _upgraded(own_shop, upgraded, "search", "retry a payment")
    built = _upgraded(own_shop, upgraded, "reindex", "--json")
    found = _upgraded(own_shop, upgraded, "search", "retry a payment")

    assert f"found by words alone, for the index was built with {SHIPPED}@" in words.stderr
    assert "src/payments/client.py" in words.stdout
    assert '"embedded": 5' in built.stdout
    assert ("", True) == (found.stderr, "src/payments/client.py" in found.stdout)
    assert SUCCESSOR == _model(own_shop)


def test_a_retired_name_stands_for_its_successor(own_shop: Shop, upgraded: Path) -> None:
    """Settings that name the model before go on: its successor is used, `doctor` says so, and `models use` mends it."""
    write_files(own_shop.home, {"config.toml": f'[model]\nname = "{SHIPPED}"\n'})
    _upgraded(own_shop, upgraded, "reindex")
    listed = _upgraded(own_shop, upgraded, "models").stdout
    told = _upgraded(own_shop, upgraded, "doctor", "--no-trial").stdout
    _upgraded(own_shop, upgraded, "models", "use", SHIPPED)
    after = _upgraded(own_shop, upgraded, "doctor", "--no-trial").stdout

    assert SUCCESSOR == _model(own_shop)
    assert listed.startswith(f"* {SUCCESSOR} ")
    assert f"{SHIPPED}, which the settings name, does not ship any more; {SUCCESSOR} replaced it and is used" in told
    assert f"hybrid models use {SUCCESSOR}" in told
    assert "replaced it" not in after
    assert f'name = "{SUCCESSOR}"' in (own_shop.home / "config.toml").read_text()
