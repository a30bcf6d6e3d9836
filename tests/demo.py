"""Shows in a terminal what an agent gets for three prompts on a real repository; `make demo` runs it.

    python tests/demo.py REPO [--prompt PROMPT]

It runs the installed `hybrid` command, nothing of the package is imported. Index and log go to a folder that is deleted
afterwards, and the repository is left as it was.
"""

# ruff: noqa: T201 - printing is what it is for
from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
OWN_PROMPT = "Where is the raw top cosine compared with the gate's threshold?"
THANKS = "Great, thanks a lot, that is all for today!"
SHOWN_LINES = 40
_WORD = re.compile(r"[A-Za-z][a-z]+|[A-Z]+(?![a-z])")


@dataclass(frozen=True)
class Demo:
    """The command, the repository and a home of its own."""

    program: Path
    repo: Path
    home: Path

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """One command in the repository."""
        settings = {key: value for key, value in os.environ.items() if not key.startswith("HYBRID_")}
        settings |= {"HYBRID_HOME": str(self.home), "HYBRID_HOOKS_DEADLINE_MS": "10000"}
        return subprocess.run(
            [str(self.program), *args],
            cwd=self.repo,
            env=settings,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def json(self, *args: str) -> dict[str, Any]:
        """The JSON object of a command that must not fail."""
        done = self.run(*args, "--json")
        if done.returncode == 2:
            sys.exit(done.stderr.strip())
        return json.loads(done.stdout)

    def root(self) -> Path:
        """The project's folder; a folder outside of any project becomes one."""
        done = self.run("status", "--json")
        return Path(json.loads(done.stdout)["project"]["root"]) if done.returncode == 0 else self.repo

    def ask(self, prompt: str) -> str:
        """What the hook adds to the agent's context for a prompt; empty when it is silent."""
        event = {"session_id": "demo", "cwd": str(self.repo), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        answer = self.run("hook", "inject-context", "--client", "demo", stdin=json.dumps(event)).stdout
        return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""


def main() -> int:
    """Run the demonstration; 0 when the first prompt got something and the other two nothing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repo", type=Path, help="a git repository, or any folder with code")
    parser.add_argument("--prompt", help="ask this (default: a question about a function of the repository)")
    args = parser.parse_args()
    program = Path(sys.executable).parent / ("hybrid.exe" if os.name == "nt" else "hybrid")
    if not program.exists():
        sys.exit(f"{program} is missing: run `make demo`, which installs it")
    repo = args.repo.resolve()
    if not repo.is_dir():
        sys.exit(f"{args.repo} is not a directory")
    with tempfile.TemporaryDirectory(prefix="hybrid-demo-") as home:
        demo = Demo(program, repo, Path(home))
        root = demo.root()
        was_there = (root / ".hybrid").exists()
        try:
            return show(demo, args.prompt or (OWN_PROMPT if root == CHECKOUT else ""))
        finally:
            if not was_there:
                shutil.rmtree(root / ".hybrid", ignore_errors=True)


def show(demo: Demo, prompt: str) -> int:
    """Index, then the three prompts."""
    title("$ hybrid init")
    built = demo.json("init")
    vectors = f"{built['embedded']:,} embedded"
    print(f"{built['documents']:,} documents, {built['chunks']:,} chunks, {vectors}, in {built['seconds']:.1f} s")
    prompt = prompt or question_about(demo)
    if not prompt:
        sys.exit("no question could be made from this repository; give one with --prompt")
    first = turn(demo, "A prompt that fits", prompt)
    again = turn(demo, "The same prompt again", prompt)
    thanks = turn(demo, "A thank-you", THANKS)
    title("$ hybrid log")
    print(demo.run("log").stdout, end="")
    return 0 if first and not again and not thanks else 1


def turn(demo: Demo, name: str, prompt: str) -> str:
    """One prompt, and what the agent gets for it."""
    title(f"{name}:  {prompt}")
    given = demo.ask(prompt)
    if given:
        lines = given.splitlines()
        shown = (
            lines if len(lines) <= SHOWN_LINES else [*lines[: SHOWN_LINES - 3], f"... {len(lines)} lines", *lines[-2:]]
        )
        print("\n".join(shown))
        print(f"\n{len(given):,} characters")
    else:
        print("(nothing)")
        why = demo.run("explain", "--last").stdout.splitlines()
        print(
            "\n".join(
                f"  why: {line.strip()}" for line in why[1:2] + [line for line in why if line.startswith("  gate")]
            )
        )
    event = demo.json("explain", "--last")["event"]
    print(f"{event['reason']}, {event['latency_ms']:.0f} ms from the start of the process")
    return given


def question_about(demo: Demo) -> str:
    """A question in words about the best explained definition among what a few general searches find."""
    best, best_length = "", 0
    for topic in (
        "parse the input and report an error",
        "read and write a file",
        "create the main object",
        "send a request",
    ):
        for hit in demo.json("search", topic, "--limit", "20")["hits"]:
            words = explained(hit)
            if len(words) > best_length:
                best, best_length = " ".join([*names_of(hit), *words]), len(words)
    return f"Where is the code for this: {best}?" if best else ""


def explained(hit: dict[str, Any]) -> list[str]:
    """Up to twelve words of the first sentence of a definition's comment or docstring."""
    text = hit["text"] or ""
    found = re.search(
        r'"""(.+?)(?:\.\s|\n\s*\n|""")|/\*\*?(.+?)\*/|(?:^[ \t]*(?://+|#+|--) ?[^\n]+\n)+',
        text,
        re.DOTALL | re.MULTILINE,
    )
    comment = re.sub(r"[*/#]+|--", " ", found.group(0)) if found else ""
    words = re.findall(r"[A-Za-z][A-Za-z'-]+", comment.split(". ")[0])
    return words[:12] if hit["name"] else []


def names_of(hit: dict[str, Any]) -> list[str]:
    """The words that a name is made of: `find_by_email` and `findByEmail` give find, by, email."""
    return [word.lower() for word in _WORD.findall(str(hit["name"]))]


def title(text: str) -> None:
    """A heading over the full width."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{'─' * width}\n{bold}{text}{plain}\n")


if __name__ == "__main__":
    sys.exit(main())
