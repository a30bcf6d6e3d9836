"""The reasons for which an event gets a text or nothing, each with its sentence, short form and advice.

The engine gives a decision one of these names; the log keeps it; `explain`, its advice and the status line show it. A
new reason is added here and nowhere else. Standard library only: the status line is run many times a minute.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a status line four milliseconds.
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    ReasonName: TypeAlias = Literal[
        "injected",
        "disabled",
        "paused",
        "prompt",
        "no_project",
        "no_index",
        "index_corrupt",
        "index_mismatch",
        "loading",
        "gate",
        "no_results",
        "late",
        "same_topic",
        "all_seen",
        "budget",
        "at_file",
        "oriented",
        "given_back",
        "reminded",
        "briefed",
        "resumed",
        "repeated",
        "nothing_given",
        "reset",
        "learned",
        "cited",
        "ignored",
        "off",
        "error",
    ]


class Reason:
    """One reason.

    Attributes:
        sentence: The sentence that `hybrid explain` shows first.
        short: Text in the status line after "silent"; empty for a reason that has a line of its own there.
        advice: Text on what would have changed it, where no setting and no earlier event has a say; empty otherwise.
    """

    __slots__ = ("advice", "sentence", "short")

    def __init__(self, sentence: str, *, short: str = "", advice: str = "") -> None:
        self.sentence = sentence
        self.short = short
        self.advice = advice


REASONS: dict[ReasonName, Reason] = {
    "injected": Reason("The gate was open and these records fitted."),
    "disabled": Reason(
        "hybrid is switched off by HYBRID_DISABLE.",
        advice="Take HYBRID_DISABLE out of the environment that the client was started in.",
    ),
    "paused": Reason("hybrid is paused here."),
    "prompt": Reason("The prompt itself asks for nothing that could be looked up.", short="nothing to look up"),
    "no_project": Reason(
        "The session's directory lies in no project.",
        short="no project here",
        advice="Start the session inside a git working tree, or run `hybrid init` in the folder.",
    ),
    "no_index": Reason("The project was not indexed yet.", advice="Run `hybrid reindex`; then ask again."),
    "index_corrupt": Reason(
        "The index is damaged.",
        advice="Run `hybrid reindex`, which repairs the index; `hybrid doctor` looks for the cause.",
    ),
    "index_mismatch": Reason(
        "The index is of another format, or its model is gone.",
        advice="The service makes it anew by itself; `hybrid reindex` does it at once.",
    ),
    "loading": Reason(
        "The model of the index was being loaded, and no prompt waits for that.",
        short="the model is being loaded",
        advice="Ask again: it is loaded in the background.",
    ),
    "gate": Reason("Nothing in the project is close enough to the prompt: the gate stayed closed."),
    "no_results": Reason("The gate was open, but no result reached the floor.", short="nothing close enough"),
    "late": Reason("Something fitted, but the agent did not wait for it.", short="too late"),
    "same_topic": Reason("The results are those of this session's last injection.", short="given before"),
    "all_seen": Reason("This session already has every result.", short="given before"),
    "budget": Reason("No result fits the budget.", short="nothing fits the budget"),
    "at_file": Reason("The agent opened or edited a file that these records are about."),
    "oriented": Reason("A new session was told where it is and how to search."),
    "given_back": Reason("After a compaction the session got back the best of what it had been given."),
    "reminded": Reason("The lessons that are used most were given again, as `lessons.remind_every` wants it."),
    "briefed": Reason("A subagent got the best of what its session had been given."),
    "resumed": Reason("A resumed session still has what it was given."),
    "repeated": Reason(
        "The same start was answered already: the hook is registered twice.",
        advice="`hybrid doctor` names the places that call hybrid; remove all but one.",
    ),
    "nothing_given": Reason("There was nothing to give back."),
    "reset": Reason("The client compacts its context: what was given may be given again."),
    "learned": Reason("At the end of a turn lessons were cited or written down."),
    "cited": Reason("Lessons were cited by hand."),
    "ignored": Reason("The event asks for nothing."),
    "off": Reason("A setting switches this off."),
    "error": Reason("The hook failed."),
}

UNSEARCHABLE = frozenset({"no_index", "index_corrupt", "index_mismatch"})
"""Reasons that mean that there is no index to search."""

STARTS = frozenset({"oriented", "resumed", "given_back"})
"""Reasons of events in which a session began or went on."""

PROMPT_RULES = {
    "opted_out": "It holds `[no-hybrid]`: leave that out.",
    "machine_made": "The client made it, nobody typed it: such prompts are never searched.",
    "subagent_report": "It is a subagent's report: `hooks.subagent_reports` decides whether those are looked up.",
    "slash_command": "It is a bare slash command: its arguments would be searched, its name is not.",
    "empty": "Nothing is left of it once private spans and injected blocks are cut.",
    "acknowledgement": "It only acknowledges: name what you want to know.",
    "session_turn": "It is a turn of the conversation: name the file, identifier or subject and it is searched.",
    "too_few_words": "One plain word says too little: name an identifier or a path, or use more words.",
    "role_play": "It asks for a role to be played; as a task about code it would be searched.",
}
"""Prompt rule that kept silent → advice; the advice on `skip_prefix` depends on settings."""


def reason_of(name: object) -> Reason | None:
    """Return the reason of a given name in the log; None for a name that this version does not know."""
    return REASONS.get(name)  # pyright: ignore[reportArgumentType, reportCallIssue] - the line may hold anything
