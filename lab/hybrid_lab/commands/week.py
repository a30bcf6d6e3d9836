"""`hybrid eval week`: whether the memory loses nothing in a week of sessions while hooks and service are killed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.cli.common import add_common, positive, print_json, say
from hybrid.cli.evaluate import add_settings, print_table, teller

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

ABOUT = "whether the memory loses nothing while hooks are killed"
_EVENTS = ("PostToolUse", "UserPromptSubmit", "SessionStart", "Stop", "SessionEnd")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add_common(parser, example="hybrid eval week --events 2000 --kills 5 --json")
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="an empty folder to work in (default: a temporary one)"
    )
    parser.add_argument("--events", type=positive, default=8_000, metavar="N", help="uses of tools (default: 8000)")
    parser.add_argument("--sessions", type=positive, default=40, metavar="N", help="sessions (default: 40)")
    parser.add_argument("--projects", type=positive, default=5, metavar="N", help="projects (default: 5)")
    parser.add_argument("--processes", type=positive, default=4, metavar="N", help="hooks at once (default: 4)")
    parser.add_argument(
        "--kills", type=int, default=10, metavar="N", help="kills of the service, and as many of hooks (default: 10)"
    )
    parser.add_argument(
        "--uses-of-a-prompt", type=positive, default=20, metavar="N", help="uses that follow each prompt (default: 20)"
    )
    parser.add_argument("--lessons", action="store_true", help="every prompt holds a typed lesson")
    parser.add_argument("--spare-hooks", action="store_true", help="kill the service only, never a hook")
    parser.add_argument(
        "--busy", type=int, default=0, metavar="N", help="processes beside it that keep the machine busy"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of events and kills")
    add_settings(parser)


def run(args: argparse.Namespace) -> int:
    """Run it; the exit code is 1 when something acknowledged is missing, doubled, or the database is damaged."""
    from hybrid.base.errors import HybridError
    from hybrid.evaluation.retrieval import scratch_home, settings_in_force
    from hybrid.evaluation.timing import runner
    from hybrid_lab.week.simulation import WeekPlan, simulate_week

    if args.folder and args.folder.exists() and any(args.folder.iterdir()):
        raise HybridError(f"{args.folder} is not empty; what it remembers would count too")
    if args.kills < 0:
        raise HybridError("--kills is not below 0")
    plan = WeekPlan(
        args.events,
        args.sessions,
        args.projects,
        args.processes,
        args.kills,
        args.seed,
        uses_of_a_prompt=args.uses_of_a_prompt,
        with_lessons=args.lessons,
        spares_hooks=args.spare_hooks,
        n_busy=args.busy,
    )
    with scratch_home(args.folder) as scratch:
        home = scratch / "home"
        home.mkdir(parents=True)
        found = runner(home, settings_in_force(["memory.path=", *args.settings]))
        own = replace(found, environ={**found.environ, "LORE_DATA_DIR": "", "HYBRID_MEMORY_DB": ""})
        form = simulate_week(plan, scratch / "projects", own, report_session=teller(args))
    if args.json:
        print_json(form)
    else:
        _print(form)
    return 0 if is_sound(form) else 1


def is_sound(form: Mapping[str, Any]) -> bool:
    """Nothing acknowledged is missing, nothing is there twice, the database is whole."""
    uses, rows, lessons = form["uses"], form["rows"], form["lessons"]
    doubled = rows["events_in_two_rows"] + rows["seen_and_pending"] + rows["digests_twice"] + lessons["twice"]
    is_whole = form["integrity"] == ["ok"] and not form["set_aside"]
    return is_whole and not (uses["missing"] or uses["unknown_in_store"] or lessons["missing"] or doubled)


def _print(form: Mapping[str, Any]) -> None:
    say(f"{form['seconds']} s; killed: {', '.join(f'{n} {what}' for what, n in form['kills'].items()) or 'nothing'}")
    say(f"kept by a hook for later: {form['kept_for_later']}; still waiting: {form['left_in_spool']}")
    for part in ("uses", "prompts", "lessons", "sessions", "rows"):
        values = (f"{name} {value}" for name, value in form[part].items() if isinstance(value, int))
        say(f"{part}: {', '.join(values)}")
    say(f"integrity_check: {'; '.join(form['integrity'])}; set aside: {', '.join(form['set_aside']) or 'nothing'}")
    for one in form["uses"]["first_missing"]:
        say(f"missing: {one['id']} {one['tool']}, its hook ran {one['hook_ms']} ms")
    times = form["times"]
    names = ("median_ms", "p95_ms", "max_ms", "added_median_ms", "added_p95_ms")
    table = [
        [name, str(times[name]["n"]), *(f"{times[name][key]:.1f}" for key in names)]
        for name in _EVENTS
        if name in times
    ]
    bare = times["bare_start"]
    table.append(["bare start", str(bare["n"]), f"{bare['median_ms']:.1f}", f"{bare['p95_ms']:.1f}", "", "", ""])
    print_table("milliseconds", ["", "n", "median", "p95", "longest", "added median", "added p95"], table)
    for what, n in form["log"].items():
        say(f"log: {n} × {what}")
