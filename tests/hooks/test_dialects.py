from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest

from hybrid.base.clients import Event, clients
from hybrid.hooks.answer import TAKING, client_of, write_answer
from tests.support.builders import CHECKOUT, PAYMENTS, Shop, new_shop

if TYPE_CHECKING:
    from pathlib import Path

FIXTURES = CHECKOUT / "tests" / "fixtures" / "hooks"
CLIENTS = ["claude", "codex", "gemini", "qwen", "copilot", "opencode", "vscode", "manual"]

NESTED = '{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "caf\\u00e9"}}'
GOLDEN = {
    ("claude", "UserPromptSubmit"): NESTED,
    ("manual", "UserPromptSubmit"): NESTED,
    ("codex", "UserPromptSubmit"): NESTED,
    ("qwen", "UserPromptSubmit"): NESTED,
    ("gemini", "BeforeAgent"): NESTED.replace("UserPromptSubmit", "BeforeAgent"),
    ("copilot", "UserPromptSubmit"): '{"additionalContext": "caf\\u00e9", ' + NESTED[1:],
    ("copilot", "userPromptSubmitted"): '{"additionalContext": "caf\\u00e9", '
    + NESTED[1:].replace("UserPromptSubmit", "userPromptSubmitted"),
    ("vscode", "UserPromptSubmit"): '{"additionalContext": "caf\\u00e9", ' + NESTED[1:],
    ("opencode", "chat.message"): '{"text": "caf\\u00e9"}',
}


@pytest.mark.parametrize(("client", "name"), GOLDEN)
def test_the_answer_in_each_dialect(client: str, name: str) -> None:
    """Each client gets the text under the keys it reads, with its own word for the event, as one line of ASCII."""

    assert GOLDEN[client, name] == write_answer("café", client=client, name=name, event="UserPromptSubmit")


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_to_say_is_nothing(client: str) -> None:
    """Without a text and a line for the user there is no answer at all."""

    assert "" == write_answer("", client=client, name="Stop", event="UserPromptSubmit")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_line_for_the_user_alone_goes_to_clients_that_have_one(client: str) -> None:
    """What was learned is told even when nothing is added to the prompt; never at the end of a turn."""
    answer = write_answer(
        "", client=client, name="UserPromptSubmit", event="UserPromptSubmit", notice="LESSON RECORDED"
    )

    assert ("" if client in ("copilot", "opencode") else '{"systemMessage": "LESSON RECORDED"}') == answer
    assert "" == write_answer("", client=client, name="Stop", event="Stop", notice="LESSON RECORDED")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("event", get_args(Event))
def test_events_that_take_no_context_get_no_output(client: str, event: str) -> None:
    """A text on Stop, PreCompact or SessionEnd would be shown as an error or force the agent on: there is none."""
    answer = write_answer("text", client=client, name=event, event=event)

    assert (event in TAKING) == bool(answer)
    assert {"UserPromptSubmit", "SessionStart", "PostToolUse", "SubagentStart"} == set(TAKING)


@pytest.mark.parametrize(
    ("client", "keys"),
    [
        ("claude", ["hookSpecificOutput", "systemMessage"]),
        ("codex", ["hookSpecificOutput", "systemMessage"]),
        ("gemini", ["hookSpecificOutput", "systemMessage"]),
        ("qwen", ["hookSpecificOutput", "systemMessage"]),
        ("copilot", ["additionalContext", "hookSpecificOutput"]),
        ("opencode", ["text"]),
    ],
)
def test_a_notice_stands_beside_the_text(client: str, keys: list[str]) -> None:
    """The line for the user is given to clients that have one, and is not in what the agent gets."""
    answer = json.loads(write_answer("text", client=client, name="X", event="SessionStart", notice="hybrid: 3 items"))

    assert keys == list(answer)
    assert answer.get("systemMessage", "hybrid: 3 items") == "hybrid: 3 items"


@pytest.mark.parametrize("text", ['</script>\n"quoted" \\ back', "😀", "\ud83d", "\x00\x1f", "a\u2028b"], ids=ascii)
def test_any_text_is_one_line_of_ascii(text: str) -> None:
    """Whatever the text holds, the answer is one line that reads back as it was."""
    answer = write_answer(text, client="claude", name="UserPromptSubmit", event="UserPromptSubmit")

    assert answer.isascii()
    assert "\n" not in answer
    assert text == json.loads(answer)["hookSpecificOutput"]["additionalContext"]


def _captured_environment(folder: str) -> dict[str, str]:
    return json.loads((FIXTURES / folder / "_environment.json").read_text())


@pytest.mark.parametrize(
    ("folder", "caller"),
    [
        ("copilot-1.0.102-camel", "copilot"),
        ("copilot-1.0.102-pascal", "copilot"),
        ("qwen-0.24.4", "qwen"),
        ("gemini-0.61.0", "gemini"),
    ],
)
def test_others_that_run_the_hooks_of_claude_code_are_known(folder: str, caller: str) -> None:
    """A hook of Claude Code's settings that another product runs answers in that product's dialect."""

    assert caller == client_of("claude", _captured_environment(folder))


def test_claude_code_in_the_shell_of_another() -> None:
    """Claude Code's own mark beats what it inherited; Copilot's answer suits both, so Copilot's mark beats both."""
    inherited = {"GEMINI_SESSION_ID": "g", "QWEN_CODE_SESSION_ID": "q", "CLAUDECODE": "1"}

    assert "claude" == client_of("claude", inherited)
    assert "copilot" == client_of("claude", inherited | {"COPILOT_CLI": "1"})
    assert "claude" == client_of("claude", {})


@pytest.mark.parametrize("client", [client for client in CLIENTS if client != "claude"])
def test_a_named_client_is_believed(client: str) -> None:
    """Only Claude Code's settings are read by others: every other name on the command line stands."""

    assert client == client_of(client, {"COPILOT_CLI": "1", "CLAUDECODE": "1", "GEMINI_SESSION_ID": "g"})


# --- through the installed command ---------------------------------------------------------------------------


def _asked(shop: Shop, client: str, event: str, sample: str, **environ: str) -> dict[str, object]:
    text = (FIXTURES / sample).read_text(encoding="utf-8").replace("$PROJECT", str(shop.root))
    arguments = ("hook", "inject-context", "--no-dedup", "--client", client, "--event", event)
    return json.loads(shop.out(*arguments, stdin=text.encode(), **environ))


def test_the_end_of_a_turn_of_gemini_is_remembered_and_answered_with_nothing(tmp_path: Path) -> None:
    """Gemini CLI shows plain text to the user, and an answer could make the agent go on: there is not one byte."""
    shop = new_shop(tmp_path, PAYMENTS)
    said: dict[str, str] = {}
    for event in ("BeforeAgent", "AfterTool", "AfterAgent"):
        text = (FIXTURES / "gemini-0.61.0" / f"{event}.json").read_text(encoding="utf-8")
        arguments = ("hook", "run", "--client", "gemini", "--event", event)
        stdin = text.replace("$PROJECT", str(shop.root)).encode()
        said[event] = shop.out(*arguments, stdin=stdin, HYBRID_DAEMON_ENABLED="false")
    [summary] = [record["summary"] for record in shop.json("memory", "recent", "--type", "summary")["records"]]

    assert "" != said["BeforeAgent"]
    assert "" == said["AfterAgent"]
    assert "I ran it. [mock reply]" == summary["completed"]
    assert "AfterAgent" in clients()["gemini"].events


def test_copilot_that_runs_claude_codes_settings(shop: Shop) -> None:
    """With `--client claude` and Copilot's mark in the environment the answer is Copilot's."""
    sample = "copilot-1.0.102-pascal/UserPromptSubmit.json"
    answer = _asked(shop, "claude", "UserPromptSubmit", sample, COPILOT_CLI="1")

    assert ["additionalContext", "hookSpecificOutput"] == list(answer)
