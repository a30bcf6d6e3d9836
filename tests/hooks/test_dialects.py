from __future__ import annotations

import json
from typing import TYPE_CHECKING, get_args

import pytest

from hybrid.base.clients import Event, client_named, clients
from hybrid.hooks.answer import TAKING, client_of, write_answer
from tests.support.builders import PAYMENTS, Shop, new_shop
from tests.support.recorded import FOLDER, client_of_folder, environments

if TYPE_CHECKING:
    from pathlib import Path

WITH_HOOKS = [name for name, client in clients().items() if client.events]
CLIENTS = [*WITH_HOOKS, "vscode", "manual"]

NESTED = '{"hookSpecificOutput": {"hookEventName": "NAME", "additionalContext": "caf\\u00e9"}}'
FORMS = {
    "nested": NESTED,
    "both": '{"additionalContext": "caf\\u00e9", ' + NESTED[1:],
    "text": '{"text": "caf\\u00e9"}',
}


@pytest.mark.parametrize("client", CLIENTS)
def test_the_answer_in_each_dialect(client: str) -> None:
    """Each client gets the text under the keys it reads, with its own word for the event, as one line of ASCII."""
    told = client_named(client)
    for name, event in (told.events | told.other_events or {"UserPromptSubmit": "UserPromptSubmit"}).items():
        expected = FORMS[told.answer].replace("NAME", name) if event in TAKING else ""

        assert expected == write_answer("café", client=client, name=name, event=event)


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

    assert ('{"systemMessage": "LESSON RECORDED"}' if client_named(client).has_notice else "") == answer
    assert "" == write_answer("", client=client, name="Stop", event="Stop", notice="LESSON RECORDED")


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("event", get_args(Event))
def test_events_that_take_no_context_get_no_output(client: str, event: str) -> None:
    """A text on Stop, PreCompact or SessionEnd would be shown as an error or force the agent on: there is none."""
    answer = write_answer("text", client=client, name=event, event=event)

    assert (event in TAKING) == bool(answer)
    assert {"UserPromptSubmit", "SessionStart", "PostToolUse", "SubagentStart"} == set(TAKING)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_notice_stands_beside_the_text(client: str) -> None:
    """The line for the user is given to clients that have one, and is not in what the agent gets."""
    answer = json.loads(write_answer("text", client=client, name="X", event="SessionStart", notice="hybrid: 3 items"))

    assert client_named(client).has_notice == ("systemMessage" in answer)
    assert answer.get("systemMessage", "hybrid: 3 items") == "hybrid: 3 items"


@pytest.mark.parametrize(
    ("client", "form", "has_notice"),
    [
        ("claude", "nested", True),
        ("codex", "nested", True),
        ("gemini", "nested", True),
        ("qwen", "nested", True),
        ("copilot", "both", False),
        ("opencode", "text", False),
    ],
)
def test_the_forms_that_real_clients_took(client: str, form: str, has_notice: bool) -> None:
    """What was seen in runs of them; Codex drops a whole answer for one key more."""
    assert (form, has_notice) == (client_named(client).answer, client_named(client).has_notice)


@pytest.mark.parametrize("text", ['</script>\n"quoted" \\ back', "😀", "\ud83d", "\x00\x1f", "a\u2028b"], ids=ascii)
def test_any_text_is_one_line_of_ascii(text: str) -> None:
    """Whatever the text holds, the answer is one line that reads back as it was."""
    answer = write_answer(text, client="claude", name="UserPromptSubmit", event="UserPromptSubmit")

    assert answer.isascii()
    assert "\n" not in answer
    assert text == json.loads(answer)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize(("folder", "environ"), environments().items())
def test_others_that_run_the_hooks_of_claude_code_are_known(folder: str, environ: dict[str, str]) -> None:
    """A hook of Claude Code's settings that another product runs answers in that product's dialect."""
    client = client_of_folder(folder)
    expected = client if client in client_named("claude").shared_with else "claude"

    assert expected == client_of("claude", environ)


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
    text = (FOLDER / sample).read_text(encoding="utf-8").replace("$PROJECT", str(shop.root))
    arguments = ("hook", "inject-context", "--no-dedup", "--client", client, "--event", event)
    return json.loads(shop.out(*arguments, stdin=text.encode(), **environ))


def test_the_end_of_a_turn_of_gemini_is_remembered_and_answered_with_nothing(tmp_path: Path) -> None:
    """Gemini CLI shows plain text to the user, and an answer could make the agent go on: there is not one byte."""
    shop = new_shop(tmp_path, PAYMENTS)
    said: dict[str, str] = {}
    for event in ("BeforeAgent", "AfterTool", "AfterAgent"):
        text = (FOLDER / "gemini-0.61.0" / f"{event}.json").read_text(encoding="utf-8")
        arguments = ("hook", "run", "--client", "gemini", "--event", event)
        stdin = text.replace("$PROJECT", str(shop.root)).encode()
        said[event] = shop.out(*arguments, stdin=stdin, HYBRID_DAEMON_ENABLED="false")
    [summary] = [record["summary"] for record in shop.json("memory", "recent", "--type", "summary")["records"]]

    assert "" != said["BeforeAgent"]
    assert "" == said["AfterAgent"]
    assert "I ran it. [mock reply]." == summary["learned"]
    assert "AfterAgent" in clients()["gemini"].events


def test_copilot_that_runs_claude_codes_settings(shop: Shop) -> None:
    """With `--client claude` and Copilot's mark in the environment the answer is Copilot's."""
    sample = "copilot-1.0.102-pascal/UserPromptSubmit.json"
    answer = _asked(shop, "claude", "UserPromptSubmit", sample, COPILOT_CLI="1")

    assert ["additionalContext", "hookSpecificOutput"] == list(answer)
