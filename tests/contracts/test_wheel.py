"""The wheel, built from the sdist and installed into an environment of its own, in surroundings that mean harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid import __version__
from hybrid.base.atomic import locked
from tests.support.builders import CHECKOUT, PAYMENTS, git_project, write_files

if TYPE_CHECKING:
    from tests.release.build import Built

pytestmark = pytest.mark.slow

HOSTILE = "raise SystemExit('a file of the working folder was imported')\n"
HOSTILE_FILES = {
    "index/__init__.py": HOSTILE,
    "models/__init__.py": HOSTILE,
    "hooks/__init__.py": HOSTILE,
    "json.py": HOSTILE,
    "hybrid.py": HOSTILE,
    "numpy.py": HOSTILE,
    "tomli.py": HOSTILE,
    "sitecustomize.txt": "nothing",
}


def _run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)  # type: ignore[call-overload]
    assert 0 == done.returncode, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def program(archives: Built, folder_of_the_run: Path) -> Path:
    """The `hybrid` command of a fresh environment that holds the wheel and what it depends on; made as `archives`."""
    folder = folder_of_the_run / "venv"
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    with locked(folder_of_the_run / "venv.lock", timeout_s=300):
        if not folder.exists():
            venv.create(folder)
            constraints = ("--constraint", str(CHECKOUT / "constraints.txt"))
            pip = (sys.executable, "-m", "pip", "--python", str(scripts / "python"), "install", "--no-compile")
            _run(*pip, "--quiet", "--disable-pip-version-check", *constraints, str(archives.wheel))
    return scripts / "hybrid"


def test_the_wheel_holds_one_package_and_its_data(archives: Built) -> None:
    """At top level stand `hybrid` and the metadata; settings, schema, manifests and model lie inside the package."""
    with zipfile.ZipFile(archives.wheel) as wheel:
        names = wheel.namelist()

    assert {"hybrid", f"hybrid_retrieval-{__version__}.dist-info"} == {name.split("/")[0] for name in names}
    shipped = {name.removeprefix("hybrid/shipped/") for name in names if name.startswith("hybrid/shipped/")}
    expected = {"config.toml", "index/schema/catalog-0001.sql", "hooks/hooks.json", "hooks/opencode/hybrid.js"}
    expected |= {".claude-plugin/plugin.json", ".claude-plugin/marketplace.json", "hooks/claude/settings.json"}
    assert expected | {"models/static-v1/manifest.toml", "models/static-v1/model.safetensors"} <= shipped
    assert not [name for name in shipped if name.endswith(".py")]
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name or "hybrid_lab" in name]


def test_the_sdist_can_be_tested(archives: Built) -> None:
    """The sdist holds the tests and what they read, the Makefile and the pinned versions, and nothing that was built."""
    with tarfile.open(archives.sdist) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    assert {
        "tests/support/builders.py",
        "tests/demo.py",
        "lab/hybrid_lab/training/gate_terms.py",
        "Makefile",
        "constraints.txt",
        "mkdocs.yml",
        "README.md",
        "docs/picture.svg",
        ".pre-commit-config.yaml",
        "LICENSE",
    } <= names
    assert not [name for name in names if name.startswith((".venv", "dist/", ".demo"))]


def test_the_installed_command_works_in_hostile_surroundings(program: Path, tmp_path: Path) -> None:
    """Folders and files called like our own or like what we import, here and on PYTHONPATH, are never imported."""
    project = git_project(tmp_path / "shop", PAYMENTS | HOSTILE_FILES)
    write_files(
        tmp_path / "elsewhere", {"index/__init__.py": HOSTILE, "models/__init__.py": HOSTILE, "hooks.py": HOSTILE}
    )
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "user"),
        "HYBRID_HOME": str(tmp_path / "home"),
        "HYBRID_HOOKS_DEADLINE_MS": "60000",
        "PYTHONPATH": str(tmp_path / "elsewhere"),
    }
    event = {"session_id": "s1", "cwd": str(project), "prompt": "How does the payment client retry?"}

    version = _run(str(program), "--version", cwd=project, env=environ)
    built = _run(str(program), "reindex", "--json", cwd=project, env=environ)
    hook = _run(str(program), "hook", "inject-context", cwd=project, env=environ, input=json.dumps(event))
    again = _run(str(program), "hook", "inject-context", cwd=project, env=environ, input=json.dumps(event))
    state = _run(str(program), "status", "--json", cwd=project, env=environ)

    assert f"hybrid {__version__}\n" == version.stdout
    assert json.loads(built.stdout)["documents"] >= len(PAYMENTS)
    assert "PaymentClient" in json.loads(hook.stdout)["hookSpecificOutput"]["additionalContext"]
    assert ("", "") == (again.stdout, again.stderr + hook.stderr)
    assert 1 == json.loads(state.stdout)["hooks"]["injection_count"]
    assert "static-v1" == json.loads(state.stdout)["model"]["name"]


def test_tools_of_agents_need_their_extra_and_help_needs_none(program: Path, tmp_path: Path) -> None:
    """Without the extra `mcp` the command explains itself, and a client that greets it is told what to install."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "user"), "HYBRID_HOME": str(tmp_path / "home")}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    shown = _run(str(program), "mcp", "--help", cwd=tmp_path, env=environ)
    done = subprocess.run(
        [str(program), "mcp", "--client", "claude"],
        input=json.dumps(greeting) + "\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
        env=environ,
    )
    _run(str(program), "daemon", "stop", cwd=tmp_path, env=environ)  # The relay starts the service.

    assert "--http" in shown.stdout
    assert 2 == done.returncode
    assert "hybrid-retrieval[mcp]" in json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_the_installed_command_needs_no_checkout(program: Path, tmp_path: Path) -> None:
    """What it ships is found inside the installed package."""
    python = program.with_name("python")
    code = "from hybrid.base.resources import shipped; print(shipped('config.toml'))"
    found = (
        Path(_run(str(python), "-P", "-c", code, cwd=tmp_path).stdout.strip()) if sys.version_info >= (3, 11) else None
    )

    assert found is None or (found.is_file() and "site-packages" in found.parts)
