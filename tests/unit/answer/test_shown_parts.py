"""Which parts of the files that fit are shown, and how much of each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hybrid.answer.pack import text_in_form
from tests.unit.answer.sessions import new_session

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.decide import Decision

QUESTION = "How does the payment client retry a charge after a timeout?"
HEADER = '''"""Payment client: retries a charge after a timeout of the payment provider."""

from payment.errors import ChargeError, PaymentTimeout, RetryError
from payment.transport import ClientTransport, ChargeRequest, ChargeResponse

__all__ = ["PaymentClient", "charge_client", "retry_charge", "timeout_of_charge"]

RETRY_CHARGE_AFTER_TIMEOUT = True


'''
BODY = '''def retry_charge(request, attempts):
    """Send a charge again."""
    for attempt in range(attempts):
        try:
            return request.send()
        except TimeoutError:
            pause(attempt)
    raise RuntimeError("the payment client gave up on a charge")


'''
OTHER = '''def pause(attempt):
    """Wait between two tries."""
    sleep(2 ** attempt)


def print_bill(bill):
    """Write a bill to the screen."""
    print(bill.total)
'''


def _asked(tmp_path: Path, files: dict[str, str], prompt: str = QUESTION, **flags: object) -> Decision:
    return new_session(tmp_path, files).decide(prompt, hooks_threshold=0.0, **flags)


def _lines(decision: Decision) -> list[str]:
    return [line.strip() for item in decision.items for line in item.body.split("\n")]


def test_a_body_comes_before_imports_and_lists(tmp_path: Path) -> None:
    """The header of the file has every word of the question, and does nothing."""
    decision = _asked(tmp_path, {"client.py": HEADER + BODY + OTHER})

    assert "retry_charge" == decision.items[0].hit.name
    assert "[code] client.py:11-18 retry_charge (function" in decision.text
    assert _lines(decision)[0] == "def retry_charge(request, attempts):"


def test_what_a_fitting_part_calls_comes_with_it(tmp_path: Path) -> None:
    """`pause` has no word of the question; the part that answers mentions it."""
    shown = _asked(tmp_path, {"client.py": HEADER + BODY + OTHER}).items[0]

    assert "sleep(2 ** attempt)" in shown.body
    assert "print(bill.total)" not in shown.body


def test_a_task_has_weights_of_its_own(tmp_path: Path) -> None:
    """A question may be about what others call; a task changes the code that decides."""
    files, flags = {"client.py": HEADER + BODY + OTHER}, {"parts_called": 1.0, "parts_called_of_task": 0.0}
    question = _asked(tmp_path / "a", files, "Where does the payment client pause after a charge?", **flags)
    task = _asked(tmp_path / "b", files, "Let the payment client pause after a charge", **flags)

    assert ["pause", "retry_charge"] == [question.items[0].hit.name, task.items[0].hit.name]


def _long(n_lines: int, at: int) -> str:
    lines = [f"    step_{n}(order)" for n in range(n_lines)]
    lines[at : at + 3] = ["    if timeout:", "        client.retry(charge)", "        payment.note_timeout(charge)"]
    return "\n".join(["def settle(order):", '    """Settle an order."""', *lines, ""])


def test_a_part_of_thirty_lines_is_whole(tmp_path: Path) -> None:
    """No line of it is left out, and nothing stands for one."""
    decision = _asked(tmp_path, {"orders.py": _long(28, 20)})

    assert _long(28, 20).split("\n")[:30] == decision.items[0].body.split("\n")
    assert "full" == decision.items[0].form


@pytest.mark.parametrize("at", [3, 30, 60, 97])
def test_of_a_longer_part_one_window_is_shown(tmp_path: Path, at: int) -> None:
    """It has the lines that answer, in one piece behind the signature; numbers stand for what is left out."""
    source = _long(100, at)
    item = _asked(tmp_path, {"orders.py": source}).items[0]
    every, shown = source.split("\n"), item.body.split("\n")

    assert {"def settle(order):", "        client.retry(charge)"} <= set(shown)
    assert 26 == sum(line in every for line in shown)
    gaps = [line for line in shown if line.startswith("…")]
    assert len(gaps) <= 2
    for gap in gaps:
        first, last = re.findall(r"\d+", gap) if "lines" in gap else ("", re.findall(r"\d+", gap)[0])
        assert int(last) <= 102
        assert not first or every[int(first) - 2] == shown[shown.index(gap) - 1]
    assert "preview" == item.form


COMMENTED = {
    "a.rs": "impl Client {\n    /// Retries a charge after a timeout.\n    fn retry_charge(&self) -> u32 {\n"
    "        self.payment.again()\n    }\n}\n",
    "a.go": "package pay\n\n// RetryCharge retries a charge after a timeout.\nfunc (c *Client) RetryCharge() int {\n"
    "\treturn c.payment.again()\n}\n",
    "A.java": "class Client {\n    /** Retries a charge after a timeout. */\n    int retryCharge() {\n"
    "        return payment.again();\n    }\n}\n",
    "a.js": "/** Retries a charge after a timeout. */\nexport const retryCharge = (client) => {\n"
    "  return client.payment.again();\n};\n",
    "a.ts": "export class Client {\n  /** Retries a charge after a timeout. */\n  retryCharge(): number {\n"
    "    return this.payment.again();\n  }\n}\n",
    "a.c": "/* Retries a charge after a timeout. */\nint retry_charge(struct client *c)\n{\n"
    "    return payment_again(c);\n}\n",
    "a.cpp": "// Retries a charge after a timeout.\nint Client::retry_charge()\n{\n    return payment.again();\n}\n",
    "A.cs": "class Client {\n    /// Retries a charge after a timeout.\n    [Fast]\n    int RetryCharge() {\n"
    "        return payment.again();\n    }\n}\n",
    "a.rb": "class Client\n  # Retries a charge after a timeout.\n  def retry_charge\n    payment.again\n  end\nend\n",
    "a.kt": "class Client {\n    /** Retries a charge after a timeout. */\n    fun retryCharge(): Int {\n"
    "        return payment.again()\n    }\n}\n",
}


@pytest.mark.parametrize("path", COMMENTED)
def test_a_comment_is_shown_with_its_code(tmp_path: Path, path: str) -> None:
    """In every language the first text is the definition, with what stands above it."""
    body = _asked(tmp_path, {path: COMMENTED[path]}).items[0].body

    assert "etries a charge after a timeout" in body
    assert "again" in body


def test_of_a_long_comment_a_sentence_is_shown(tmp_path: Path) -> None:
    """Its other lines have their numbers; annotations below it stay."""
    comment = ["/// Retries a charge after a timeout.", "///", *[f"/// Rule {n}." for n in range(20)], "#[inline]"]
    source = "\n".join(["use payment;", "", *comment, "fn retry_charge() -> u32 {", "    payment::again()", "}", ""])
    body = _asked(tmp_path, {"a.rs": source}).items[0].body

    assert "Retries a charge" in body
    assert {"… lines 5 to 24", "#[inline]"} <= set(body.split("\n"))
    assert "Rule 7" not in body


def test_of_a_long_comment_the_lines_that_tell_more_are_shown(tmp_path: Path) -> None:
    """They stand behind the first two, in one piece, and what is left out around them has its numbers."""
    rules = [f"/// Rule {n}." for n in range(20)]
    rules[10:12] = ["/// The payment client retries a charge", "/// after a timeout of the bank."]
    source = "\n".join(["use payment;", "", "/// Sends money.", "///", *rules, "fn retry() {", "    again()", "}", ""])
    lines = _asked(tmp_path, {"a.rs": source}).items[0].body.split("\n")

    assert ["/// Sends money.", "///"] == lines[:2]
    at = lines.index("/// The payment client retries a charge")
    assert "/// after a timeout of the bank." == lines[at + 1]
    assert 2 == sum(line.startswith("… line") for line in lines)
    assert "fn retry() {" in lines


def test_a_question_is_not_told_of_kinds_that_it_does_not_ask_for(tmp_path: Path) -> None:
    """Of nine files that fit, a test among them, a question names a few; a task may change any of them."""
    files = {f"part_{n}.py": BODY.replace("retry_charge", f"retry_charge_{n}") for n in range(9)}
    files["tests/test_pay.py"] = "def test_pay():\n    assert client.retry(charge)\n"
    question = _asked(tmp_path / "a", files)
    task = _asked(tmp_path / "b", files, "Retry a charge of the payment client after a timeout")

    assert len(question.items) < len(task.items)
    assert "tests/test_pay.py" not in [item.hit.path for item in question.items]


LINKED = {
    "client.py": BODY.replace("pause(attempt)", "BackoffPolicy().pause(attempt)"),
    "receipts.py": '"""Receipts of a charge."""\n\n\ndef receipt_of_charge(payment, client):\n    """A charge of a client after a timeout."""\n'
    "    return payment.receipt(client)\n",
    "policy.py": 'class BackoffPolicy:\n    """Waits after a timeout."""\n\n    def pause(self, n):\n        wait(2 ** n)\n',
    "desk.py": "def close(desk):\n    for one in desk.open:\n        retry_charge(one, 3)\n",
}


@pytest.mark.parametrize(
    ("linked", "flags", "named"),
    [
        ("policy.py", {}, "policy.py"),
        ("policy.py", {"parts_defines": 0.0}, "receipts.py"),
        ("desk.py", {}, "desk.py"),
        ("desk.py", {"parts_mentions": 0.0}, "receipts.py"),
    ],
)
def test_a_file_that_the_shown_text_is_linked_to_is_named_first(
    tmp_path: Path, linked: str, flags: dict[str, float], named: str
) -> None:
    """It alone defines what the text names, or it names what is shown; other files have more words of the question."""
    files = {path: LINKED[path] for path in ("client.py", "receipts.py", linked)}
    decision = _asked(
        tmp_path, files, parts_files=1, parts_others=1, **{"parts_mentions": 0.9, "parts_defines": 0.9, **flags}
    )

    assert ["client.py", named] == [item.hit.path for item in decision.items]


def test_a_name_that_two_files_define_is_no_link(tmp_path: Path) -> None:
    """Either may be meant."""
    files = {path: LINKED[path] for path in ("client.py", "receipts.py", "policy.py")}
    files["other.py"] = "class BackoffPolicy:\n    def run(self):\n        start()\n"
    decision = _asked(tmp_path, files, parts_files=1, parts_others=1, parts_defines=0.9)

    assert ["client.py", "receipts.py"] == [item.hit.path for item in decision.items]


def test_a_place_is_the_definition_that_tells_most(tmp_path: Path) -> None:
    """Both are in the chunk that was found, and the last one only says its name."""
    plain = "def again(client, charge):\n    while charge.timeout:\n        client.retry(charge)\n\n\ndef text(one):\n    return one.name\n"
    decision = _asked(tmp_path, {"client.py": BODY, "play.py": plain}, parts_files=1)

    assert "[code] play.py:1-3 def again(client, charge): (" in decision.text


def test_a_place_without_a_name_says_why(tmp_path: Path) -> None:
    """Numbers of lines alone are no reason to open a file: the line comes with them that has most of the question."""
    plain = "import desk\n\ndesk.open()\nprint(client.retry(charge, timeout=3))\ndesk.close()\n"
    decision = _asked(tmp_path, {"client.py": BODY, "play.py": plain}, parts_files=1)

    assert "[code] play.py:1-5 print(client.retry(charge, timeout=3)) (" in decision.text


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("RETRY_AFTER_TIMEOUT = 3\n# the payment client retries a charge\n", "RETRY_AFTER_TIMEOUT (lines)"),
        ("import desk\nimport bell\n", "(lines)"),
    ],
)
def test_a_place_without_a_telling_line_has_its_name_or_none(tmp_path: Path, text: str, label: str) -> None:
    """A name says more than a line, and a line without a word of the question says nothing."""
    files = {"client.py": BODY, "payment/client/retry_charge.py": text}
    decision = _asked(tmp_path, files, parts_files=1, parts_near=0.0)

    assert label in decision.text.split("retry_charge.py:")[1].split("\n")[0]


def test_a_part_is_given_once(tmp_path: Path) -> None:
    """Asked in other words, the session gets another part of the file, not the same again."""
    files = {"client.py": HEADER + BODY + OTHER, "other.py": "def unrelated():\n    return 1\n"}
    session = new_session(tmp_path, files)
    session.decided(QUESTION, hooks_threshold=0.0)
    again = session.decide("print a bill of a payment, and retry a charge?", hooks_threshold=0.0, hooks_known_best=0)

    assert "for attempt in range(attempts):" not in again.text


def test_another_definition_of_a_file_is_given_next(tmp_path: Path) -> None:
    """What was named or left out is not taken for given: a prompt about it gets its text, and the same prompt none."""
    export = "def export_invoice(customer):\n" + "".join(f"    invoice.write(customer.line_{n})\n" for n in range(25))
    rotate = "def rotate_journal(journal):\n" + "".join(f"    journal.move(shelf_{n})\n" for n in range(25))
    session = new_session(tmp_path, {"client.py": "\n\n".join([HEADER + BODY, rotate, export])})
    first = session.decided(QUESTION, hooks_threshold=0.0, hooks_budget_chars=900)
    asked = "How does export_invoice write the invoice of a customer?"
    second, again = session.decided(asked, hooks_threshold=0.0), session.decide(asked, hooks_threshold=0.0)

    assert "customer.line_3" not in first.text
    assert "customer.line_3" in second.text
    assert not again.text


def test_names_of_a_changed_file_are_not_given(tmp_path: Path) -> None:
    """Their lines are those of the index, and the file has others there."""
    functions = [BODY.replace("retry_charge", f"retry_charge_{n}") for n in range(20)]
    session = new_session(tmp_path, {"client.py": "".join(functions)})
    path = session.root / "client.py"
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:100], *["# more"] * 40, *lines[100:]]))
    decision = session.decide(QUESTION, hooks_threshold=0.0)

    changed = path.read_text().split("\n")
    named = [hit for item in decision.items for hit in (*item.shown, *item.others)]
    assert named
    assert all(f"def {hit.name}(" in changed[hit.start_line - 1] for hit in named)


def test_a_changed_part_is_not_shown(tmp_path: Path) -> None:
    """The index has another text there; only what stands as it was indexed is given."""
    session = new_session(tmp_path, {"client.py": HEADER + BODY + OTHER})
    path = session.root / "client.py"
    path.write_text(path.read_text().replace("request.send()", "request.dispatch()"))

    assert "dispatch" not in session.decide(QUESTION, hooks_threshold=0.0).text


@pytest.mark.parametrize("chars", [200, 400, 700, 1500])
def test_the_budget_is_kept_and_the_first_part_cut_to_it(tmp_path: Path, chars: int) -> None:
    """As soon as a few lines fit, they are shown."""
    decision = _asked(tmp_path, {"orders.py": _long(60, 30)}, hooks_budget_chars=chars)

    assert len(decision.text) <= chars
    assert ("def settle(order):" in decision.text) == (chars >= 400)


def test_a_form_shows_all_or_the_telling_lines_or_nothing() -> None:
    """A preview keeps the signature."""
    text = "\n".join(["def pay():", *["    again = payment"] * 45])

    assert text == text_in_form(text, "full", {"payment": 2.0})
    assert text_in_form(text, "preview", {"payment": 2.0}).startswith("def pay():\n")
    assert "" == text_in_form(text, "pointer", {"payment": 2.0})
