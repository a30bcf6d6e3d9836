from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.clean import CleanedPrompt, clean
from hybrid.render.frame import Entry, Format, render_frame
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case

CAPTURED = Path(__file__).parents[2] / "fixtures" / "hooks"


def captured_prompt(name: str) -> str:
    """The prompt of a captured hook input."""
    return json.loads((CAPTURED / name).read_text(encoding="utf-8"))["prompt"]


@cases("prompting/typed.txt")
def test_what_people_type_and_paste_stays(case: Case) -> None:
    """Markup, code, output and issues with headings are what a prompt is about."""
    assert CleanedPrompt(case.text) == clean(case.text)


@cases("prompting/wrapped.txt")
def test_what_clients_put_around_a_prompt_is_cut(case: Case) -> None:
    """The typed text remains, whether it is a question or a word of thanks."""
    for typed in ("which check limits the size of an upload?", "thanks, that works", "ok"):
        assert CleanedPrompt(typed) == clean(case.text.replace("{}", typed, 1))


def test_headings_of_the_typed_text_are_no_heading_over_it() -> None:
    """The last heading that looked like `My request` was taken for the client's, and the text above it was lost."""
    typed = "Build it:\n\n## Context\nThe gateway counts.\n\n## Request\nReturn 429."
    wrapped = f"# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n{typed}"

    assert CleanedPrompt(typed) == clean(wrapped)


def test_typed_paragraphs_behind_a_section_stay() -> None:
    """A section that lists nothing was taken to reach to the last paragraph."""
    typed = "The import deadlocks.\n\nSince the new index.\n\nWhich lock is it?"

    assert typed in clean(f"# Selected text\nsome words\n\n{typed}").text


@cases("prompting/private.txt")
def test_private_spans_are_cut(case: Case) -> None:
    """What stands in `<private>` is neither searched nor stored, and the caller learns that there was some."""
    cleaned = clean(case.text)

    assert (case.expected, True) == (cleaned.text, cleaned.had_private)


def test_a_private_tag_with_a_hidden_character_is_cut() -> None:
    """A space without width hides no tag."""
    assert "a e" == clean("a <pri\u200bvate>b</private> e").text


@cases("prompting/machine_made.txt")
def test_prompts_that_a_client_wrote_are_machine_made(case: Case) -> None:
    """Each known beginning of a machine-made prompt is recognised, and nothing of it is left to search."""
    assert CleanedPrompt("", is_machine_made=True) == clean(case.text)


@pytest.mark.parametrize("fmt", ["text", "xml", "json"])
def test_our_own_frame_is_cut_in_every_format(fmt: Format):
    """A frame that comes back inside a prompt, whatever its format, is not searched again."""
    frame = render_frame([Entry("code", "a.py:1-2 f (function)", ('x = {"}": 1}', "</item>"))], fmt=fmt)

    assert "before after" == " ".join(clean(f"before {frame} after").text.split())


@pytest.mark.parametrize("fmt", ["text", "xml", "json"])
def test_a_truncated_frame_is_cut_to_the_end(fmt: Format):
    """A frame whose end was lost takes the rest with it rather than being searched."""
    frame = render_frame([Entry("code", "a.py:1-2 f (function)", ("x = 1", "y = 2"))], fmt=fmt)

    assert "before" == clean(f"before {frame[: len(frame) * 2 // 3]}").text


@pytest.mark.parametrize(
    "tag", ["hook_context", "qwen:user-prompt-submit-context", "system-reminder", "system_reminder", "hybrid-context"]
)
def test_injected_elements_are_cut_inside_a_prompt(tag: str):
    """What a client's hooks added in an element of its own was not typed by the user."""
    assert "fix the parser" == clean(f"fix <{tag}>\nnotes\n</{tag}> the parser").text


def test_the_first_prompt_of_gemini_loses_the_context_of_the_session_start():
    """The captured first prompt of Gemini CLI begins with a hook's context; the question remains."""
    prompt = captured_prompt("gemini-0.61.0/BeforeAgent.json")

    assert CleanedPrompt("How does the payment client retry?") == clean(prompt)


def test_a_report_keeps_its_headings_and_elements():
    """An agent's report is no prompt that a client wrapped."""
    report = "## Open files\n- a.py\n\nNone is closed.\n<file_content>x</file_content>"

    assert CleanedPrompt(report) == clean(report, is_report=True)


def test_a_task_notification_with_a_result_is_a_subagent_report():
    """The captured notification of a background agent gives the agent's report."""
    cleaned = clean(captured_prompt("claude-2.1.330/UserPromptSubmit.task_notification.json"))

    assert "Subagent report, second version (continued after the stop hook)." == cleaned.subagent_report
    assert cleaned.is_machine_made


def test_a_report_may_hold_the_tag_that_closes_it():
    """A report about XML is not cut at the first `</result>` it quotes; private parts are cut from it."""
    prompt = "<task-notification><result>it prints </result> once <private>x</private>.</result></task-notification>"

    assert "it prints </result> once ." == clean(prompt).subagent_report


def test_of_a_slash_command_the_arguments_remain():
    """The captured slash command is searched by what follows its name."""
    cleaned = clean(captured_prompt("claude-2.1.330/UserPromptSubmit.slash_command.json"))

    assert ("payments", "why", "/why payments") == (cleaned.text, cleaned.command_name, cleaned.typed)


@pytest.mark.parametrize("prompt", ["fix the parser [no-hybrid]", "[NO-HYBRID] fix the parser"])
def test_the_opt_out_is_seen_anywhere_in_any_case(prompt: str):
    """`[no-hybrid]` anywhere in what was typed opts the prompt out."""
    assert clean(prompt).is_opted_out


def test_the_opt_out_inside_an_injected_block_does_not_count():
    """What a record says cannot switch the product off."""
    assert not clean("<hook_context>[no-hybrid]</hook_context> fix the parser").is_opted_out


def test_control_and_invisible_characters_are_dropped():
    """Terminal escapes, controls, byte order marks and bidirectional overrides do not reach the search."""
    assert "a red\tline\nnext end" == clean("\ufeffa \x1b[31mred\x1b[0m\tline\r\nnext\x00 \u202eend").text


def test_runs_of_spaces_collapse_but_indentation_stays():
    """Padding does not make a prompt longer; the indent of code is kept."""
    assert "a b\n\n    c d" == clean("a     b   \n\n\n\n    c   d").text


@given(st.text())
def test_cleaning_accepts_any_string_and_leaves_no_private_span(prompt: str):
    """Whatever is typed between the tags never survives, and nothing raises."""
    cleaned = clean(f"{prompt} <private>sekrit{prompt}</private>")

    assert "sekrit" not in cleaned.text


@given(st.text(alphabet="<>/private hook_context-\n{}\"'ab"))
def test_cleaning_hostile_fragments_never_raises(prompt: str):
    """Fragments of marks in any order are cleaned to a string."""
    assert isinstance(clean(prompt).text, str)


@pytest.mark.parametrize(
    "unit", ["\n", "<", "</a>", "<a_b></a_b>", "<ide_selection>", "## Open files\n", "```\n", "a/", "a: b\n"]
)
@pytest.mark.parametrize("before", ["", "## Open files\n", "```a.py\n"])
def test_hostile_text_takes_linear_time(unit: str, before: str) -> None:
    """A hundred thousand characters of fragments of sections are gone through a few times, not once for each."""
    text = before + unit * (100_000 // len(unit))

    assert isinstance(clean(text).text, str)
