from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked
from hybrid.cli.statusline import line_of
from tests.support.builders import CHECKOUT, command_environment
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    from tests.support.builders import Shop

FITS = "How does the payment client retry?"
CAPTURED = CHECKOUT / "tests/fixtures/hooks/claude-2.1.330/statusLine.json"


def _line(shop: Shop, session: str = "s1", **environ: str) -> str:
    """What the status line shows for a session, given what a client really sends."""
    sent = json.loads(CAPTURED.read_bytes()) | {"session_id": session}
    return shop.out("statusline", stdin=json.dumps(sent).encode(), **environ)


@cases("events/statuslines.txt")
def test_one_line_for_the_last_prompt(case: Case) -> None:
    """What the last prompt of the session got, and the numbers behind it; other events do not hide it.

    The raw top cosine stands for the score only in lines that know of no score.
    """
    assert case.expected == line_of(case.given(), is_building=lambda: False)


def test_the_line_is_that_of_the_session(own_shop: Shop) -> None:
    """Each session has its own line, from what the hook recorded for it."""
    own_shop.hook(FITS, session="s1")
    own_shop.hook("Which wine goes with grilled salmon tonight?", session="s2")

    silent, given = own_shop.json("log")["events"]
    assert f"hybrid: 1 note ({given['score']:.2f} ≥ {given['threshold']:.2f})\n" == _line(own_shop, "s1")
    assert f"hybrid: silent ({silent['score']:.2f} < {silent['threshold']:.2f})\n" == _line(own_shop, "s2")
    assert "hybrid: no prompt yet\n" == _line(own_shop, "s3")


def test_a_pause_and_the_off_switch_show(own_shop: Shop) -> None:
    """A paused project, a paused session and HYBRID_DISABLE are told before anything else."""
    own_shop.hook(FITS)
    own_shop.out("pause")

    assert "hybrid: paused\n" == _line(own_shop)
    own_shop.out("resume")
    own_shop.out("pause", "--session", "s1")
    assert "hybrid: paused\n" == _line(own_shop)
    assert "hybrid: off\n" == _line(own_shop, HYBRID_DISABLE="1")


def test_a_first_build_shows(new_project: Shop) -> None:
    """While the index that a prompt missed is being built, the line says so."""
    new_project.hook(FITS)
    key = new_project.json("status")["project"]["key"]

    with locked(new_project.home / "projects" / key / "build.lock", 1.0) as held:
        assert held
        assert "hybrid: indexing…\n" == _line(new_project)
    assert "hybrid: no index (hybrid reindex)\n" == _line(new_project)


def test_bad_input_is_never_an_error(own_shop: Shop) -> None:
    """Whatever a client sends or its settings hold: code 0, silence on standard error, at most one line, no failed hook."""
    own_shop.hook(FITS)
    sent = (b"", b"{", b"[]", b"\xff\xfe", b'{"session_id": 3}', b"[" * 100_000, b"\xef\xbb\xbf{}")

    assert max(len(own_shop.out("statusline", stdin=stdin).splitlines()) for stdin in sent) <= 1
    assert "" == own_shop.out("statusline", "--nonsense") == own_shop.out("statusline", "--install-hint", "more")
    assert ["injected"] == own_shop.reasons()


def test_the_hint_is_a_setting_of_the_client(own_shop: Shop) -> None:
    """`--install-hint` prints a piece of settings and nothing else; its command starts this installation, and shows."""
    hint = own_shop.out("statusline", "--install-hint")

    setting = json.loads("{" + hint + "}")["statusLine"]
    shown = subprocess.run(
        setting["command"], shell=True, input=b"{}", env=command_environment(own_shop.home), capture_output=True
    )
    assert "command" == setting["type"]
    assert ("hybrid: no prompt yet\n", b"") == (shown.stdout.decode(), shown.stderr)


def test_a_large_log_is_not_read_whole(own_shop: Shop) -> None:
    """The end of the log is enough, whatever came long before; and only the standard library's cheap part is imported."""
    own_shop.hook(FITS)
    path = own_shop.home / "log" / "events.jsonl"
    last = path.read_bytes()
    path.write_bytes(b'{"id":"0","session":"other","reason":"gate"}\n' * 110_000 + last)
    script = (
        "import sys\nfrom hybrid.cli.statusline import main\nmain()\n"
        "print(sorted({'argparse', 'datetime', 'numpy', 'pathlib', 'tomli', 'typing'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys\nsys.path.append({str(CHECKOUT)!r})\n{script}"],
        input=b'{"session_id": "s1"}',
        env=command_environment(own_shop.home),
        capture_output=True,
        timeout=60,
        check=True,
    )

    line, imported = done.stdout.decode().splitlines()
    assert line.startswith("hybrid: 1 note ")
    assert "[]" == imported
