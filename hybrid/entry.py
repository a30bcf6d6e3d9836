"""Start of what agents call: `python -I -S entry.py hook run …`; any other command works too.

`-I` keeps the environment and the working directory out of the way, `-S` saves the four milliseconds that looking for
installed packages costs; a hook that asks the service needs none. Executed as a script, never imported.
"""

import os
import sys
from os.path import abspath, dirname


def _main() -> int:
    sys.path.append(dirname(dirname(abspath(__file__))))  # noqa: PTH100, PTH120 - pathlib costs 6 ms
    if sys.argv[1:3] == ["hook", "run"]:
        try:
            from hybrid.hooks.run import main

            main(sys.argv[3:])
        except BaseException:  # noqa: BLE001 - Ctrl-C too; while another version is installed a module may be missing
            pass
        # Everything is written: the interpreter need not take itself apart while the agent waits.
        os._exit(0)
    if sys.argv[1:2] == ["mcp"]:
        from hybrid.mcp_server.relay import is_relayed, relay

        if is_relayed(sys.argv[2:]):
            # One thread may still wait for the client: the interpreter need not wait for it.
            os._exit(relay(sys.argv[2:]))
    if sys.argv[1:] == ["statusline"]:
        try:
            from hybrid.cli.statusline import main as show_status

            show_status()
        except BaseException:  # noqa: BLE001 - as above
            pass
        os._exit(0)
    import site

    site.main()
    if sys.argv[1:] == ["web"]:
        # A client waits for it: parsing the command line would take a tenth of its start.
        from hybrid.web import run_web

        return run_web()
    from hybrid.__main__ import main as run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(_main())
