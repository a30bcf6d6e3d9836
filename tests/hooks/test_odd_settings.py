"""Settings of clients that no client writes: they are refused or passed over, and end no command (#16)."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.builders import Shop

LONG_DECIMAL = "9" * 5_000


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_settings_with_a_long_number_are_refused_untouched(new_project: Shop, client: str) -> None:
    """A settings file with a number that Python does not read was an internal error of `hook install` and `status`."""
    name = {"codex": "hooks.json"}.get(client, "settings.json")
    path = new_project.home / "user" / f".{client}" / name
    path.parent.mkdir(parents=True)
    path.write_text(f'{{"a": {LONG_DECIMAL}}}', encoding="utf-8")

    refused = new_project.error("hook", "install", "--client", client)

    assert (
        f"hybrid: {path} is not changed, for it does not parse (line 1: a number is too long): repair it first"
        == refused
    )
    assert {} == new_project.json("hook", "status")["installed"]
    assert "Nothing of hybrid was registered\n" == new_project.out("hook", "uninstall")
    assert f'{{"a": {LONG_DECIMAL}}}' == path.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
def test_a_clones_settings_of_gigabytes_are_not_read(new_project: Shop) -> None:
    """`hybrid hook status`, `status` and `doctor` read a client's settings of a project whole, of any length."""
    for folder, name in ((".claude", "settings.json"), (".codex", "config.toml"), (".gemini", "settings.json")):
        (new_project.root / folder).mkdir()
        with (new_project.root / folder / name).open("wb") as file:
            file.truncate(3_000_000_000)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2_500_000_000,) * 2); "
        "from hybrid.__main__ import main; sys.argv[1:] = ['hook', 'status', '--json']; sys.exit(main())"
    )
    environ = os.environ | {"HYBRID_HOME": str(new_project.home), "HOME": str(new_project.home)}

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=new_project.root, env=environ, capture_output=True, check=False
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert {} == json.loads(done.stdout)["installed"]
