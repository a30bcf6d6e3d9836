from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.builders import CHECKOUT, hybrid_command

if TYPE_CHECKING:
    from pathlib import Path


def test_hooks_that_run_at_the_same_time_give_one_answer(project: Path, tmp_path: Path) -> None:
    """Two registrations of the hook fire on one prompt: one answers, the others see that and are silent."""
    home = tmp_path / "home"
    assert 0 == hybrid_command("reindex", cwd=project, home=home).returncode
    event = {"session_id": "s1", "cwd": str(project), "prompt": "how does the payment client retry after a timeout?"}
    environ = os.environ | {"HYBRID_HOME": str(home), "PYTHONPATH": str(CHECKOUT), "HYBRID_HOOKS_DEADLINE_MS": "20000"}
    command = [sys.executable, "-m", "hybrid", "hook", "inject-context"]
    hooks = [
        subprocess.Popen(command, cwd=project, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for hook in hooks:
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
    answers = [hook.stdout.read() for hook in hooks if hook.stdout is not None]
    codes = [hook.wait(timeout=60) for hook in hooks]
    for hook in hooks:
        assert hook.stdout is not None
        hook.stdout.close()

    assert [0, 0, 0] == codes
    assert 1 == sum(bool(answer) for answer in answers)
