"""Arguments and input of what agents call: a person sees a mistake, an agent gets its answer all the same (#16)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.start import start_command
from tests.support.builders import command_environment

if TYPE_CHECKING:
    from tests.support.builders import Shop

PROMPT = "How does the payment client retry?"
needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")


def _run(shop: Shop, *args: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """One command in its installed form, as a process of its own."""
    settings = command_environment(shop.home) | {"HYBRID_HOOKS_DEADLINE_MS": "60000"}
    return subprocess.run(
        start_command(*args), cwd=shop.root, env=settings, input=stdin, capture_output=True, timeout=120, check=False
    )


def _run_on_terminal(shop: Shop, *args: str, stdin: bytes | None) -> tuple[int, str]:
    """The exit code and what stands on the terminal; without `stdin` standard input is the terminal too."""
    import pty

    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as screen, open(theirs, "wb", buffering=0) as terminal:  # noqa: PTH123
        process = subprocess.Popen(
            start_command(*args),
            cwd=shop.root,
            env=command_environment(shop.home) | {"HYBRID_HOOKS_DEADLINE_MS": "60000"},
            stdin=terminal if stdin is None else subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
        )
        process.communicate(stdin, timeout=120)
        terminal.write(b"\n")
        return process.returncode, screen.read(65536).decode()


@pytest.mark.parametrize("action", ["run", "inject-context"])
def test_help_helps_and_starts_nothing(own_shop: Shop, action: str) -> None:
    """`hybrid hook run --help` started the service and indexed the folder it stood in."""
    done = _run(own_shop, "hook", action, "--help", stdin=b"")

    assert (0, b"") == (done.returncode, done.stderr)
    assert done.stdout.startswith(b"usage: hybrid hook ")
    assert not (own_shop.home / "run" / "starting").exists()
    assert not own_shop.json("daemon", "status", code=1)["running"]


def test_input_that_is_no_event_starts_nothing(new_project: Shop) -> None:
    """An event with empty standard input started the service and indexed the folder it stood in."""
    shop, sent = new_project, (b"", b" \r\n", b"\xef\xbb\xbf", b"[]", b"hello")
    shop.out("config", "check")
    shop.home.mkdir(exist_ok=True)
    shop.out("config", "check")

    for data in sent:
        done = _run(shop, "hook", "run", "--client", "claude", "--event", "UserPromptSubmit", stdin=data)

        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert not (shop.home / "run" / "starting").exists()
    assert not (shop.home / "projects").exists()
    assert ["error"] * len(sent) == shop.reasons()


def test_an_unknown_argument_of_the_installed_hook_stands_in_the_log(own_shop: Shop) -> None:
    """`hook run` answers without it and says so."""
    event = json.dumps({"prompt": PROMPT, "cwd": str(own_shop.root)}).encode()
    arguments = ("--client", "claude", "--evnt", "x", "--event=UserPromptSubmit")
    settings = {"HYBRID_DAEMON_ENABLED": "false"}

    done = own_shop.run("hook", "run", *arguments, stdin=event, **settings)

    assert "PaymentClient" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert (0, b"") == (done.returncode, done.stderr)
    assert "unknown argument --evnt x" in [line.get("error") for line in own_shop.json("log", "--all")["events"]]


@needs_terminal
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("inject-context", "--gate-treshold", "0.2"), "unknown argument --gate-treshold"),
        (("inject-context", "--content-mode", "fulll"), "must be one of adaptive, full, preview, none"),
        (("run", "--evnt", "x"), "unknown argument --evnt x"),
    ],
    ids=["flag", "value", "run"],
)
def test_a_person_sees_the_mistake(own_shop: Shop, arguments: tuple[str, ...], expected: str) -> None:
    """With the event in a pipe and a terminal to tell it on, the mistake is told and the prompt is answered."""
    event = json.dumps({"prompt": PROMPT, "cwd": str(own_shop.root)}).encode()

    code, shown = _run_on_terminal(own_shop, "hook", *arguments, stdin=event)
    own_shop.run("daemon", "stop")

    assert 0 == code
    assert expected in shown


@needs_terminal
def test_with_nothing_but_a_terminal_a_mistake_is_an_error(own_shop: Shop) -> None:
    """Without any input a wrong argument ends with code 2, and `hook run` shows how it is used."""
    code, shown = _run_on_terminal(own_shop, "hook", "inject-context", "--content-mode", "fulll", stdin=None)
    run_code, usage = _run_on_terminal(own_shop, "hook", "run", stdin=None)

    assert (2, 0) == (code, run_code)
    assert "hybrid: hooks.content_mode = 'fulll': must be one of" in shown
    assert usage.startswith("usage: hybrid hook run ")
    assert not (own_shop.home / "run" / "starting").exists()
