"""Entry point of the `hybrid` command and of `python -m hybrid`."""

import contextlib
import os
import sys
import time


def main() -> int:
    """Run the command line; return the exit code."""
    started_s = time.perf_counter()
    # A query is one small matrix-vector product: a second thread costs more than it gives. Read by numpy at its import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Help and tracebacks without colours, which the command line would show as marks.
    os.environ.setdefault("PYTHON_COLORS", "0")
    if sys.argv[1:3] == ["hook", "run"]:
        try:
            from hybrid.hooks.run import main as run_hook

            return run_hook(sys.argv[3:])
        except BaseException:  # noqa: BLE001 - Ctrl-C too: an agent must hear of nothing, whatever is broken
            return 0
    try:
        code = _run(started_s)
        _end_interrupts()
    except KeyboardInterrupt:  # Before the command line could say so itself.
        _end_interrupts()
        return 2
    return code


def _run(started_s: float) -> int:
    if sys.argv[1:2] == ["mcp"]:
        from hybrid.mcp_server.relay import is_relayed, relay

        if is_relayed(sys.argv[2:]):
            sys.stdout.flush()
            os._exit(relay(sys.argv[2:]))
    if sys.argv[1:] == ["statusline"]:
        from hybrid.cli.statusline import main as show_status

        return show_status()
    from hybrid.cli.main import run

    return run(sys.argv[1:], started_s=started_s)


def _end_interrupts() -> None:
    """Ignore Ctrl-C from now on: it would take away the exit code while the interpreter takes itself apart."""
    import signal

    with contextlib.suppress(ValueError):  # Not the main thread: signals are not ours.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
