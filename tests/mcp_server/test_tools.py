"""Every tool, resource and prompt through the official client library, over the real command."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from mcp.shared.exceptions import MCPError

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Summarised
from tests.mcp_server.projects import OUTSIDE, SECRET
from tests.support.agent import until
from tests.support.builders import write_files
from tests.support.cases import read
from tests.support.memories import BLOG, FIRST_MS, shop_owner
from tests.support.records import DECISION, HANDOFF, RECORD_FILES, write_records
from tests.support.tool_client import tools_of
from tests.support.tool_texts import cursor_of, hits_of, numbered_of, rows_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop
    from tests.support.tool_client import Tools

NAMES = ["search", "read", "context", "related", "lessons", "recall", "decide", "remember"]


def test_lists_every_tool_with_valid_schemas(tools: Tools) -> None:
    """Tools come in a fixed order, with valid schemas of what they take; two say that they write."""
    from jsonschema import Draft202012Validator  # As in `tool_client`.

    listed = tools.ask("list_tools").tools

    assert NAMES == [tool.name for tool in listed if tool.name in NAMES]
    assert ["decide", "remember"] == [tool.name for tool in listed if not tool.annotations.read_only_hint]
    for tool in listed:
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is None
        assert ("object", False) == (tool.input_schema["type"], tool.input_schema["additionalProperties"])
        assert {name for name, field in tool.input_schema["properties"].items() if "type" not in field} == set()


def test_descriptions_are_short(tools: Tools) -> None:
    """All that an agent has in its context of the tools before it uses one stays below 1,000 characters for each."""
    listed = tools.ask("list_tools").tools

    assert all(len(tool.description) < 400 for tool in listed)
    assert sum(len(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in listed) < 1_000 * len(listed)


def test_search_finds_code_and_records(tools: Tools) -> None:
    """A question gives hits with refs, lines that tell, and the kinds that were asked for."""
    found = tools.hits(query="How does the payment client retry after a timeout?")
    lesson = tools.refs(query="may I edit an applied migration", kinds=["lesson"])
    decided = tools.refs(query="format of the audit journal", kinds=["decision"])

    assert found[0].ref.startswith("src/payments/client.py:")
    assert "retry" in found[0].text
    assert ["L002"] == lesson[:1]
    assert DECISION in decided


def test_every_hit_can_be_read(tools: Tools) -> None:
    """A header names its hit by what `read` takes, whatever its kind: a pattern, whose title has no id, too."""
    kinds = ["code", "doc", "lesson", "pattern", "anti-pattern", "decision", "handoff", "observation", "summary"]
    for kind in kinds:
        hits = tools.hits(query="payment retry migration journal path login", kinds=[kind], limit=3)

        assert hits, kind
        assert all(tools.text("read", ref=hit.ref) for hit in hits)


def test_detail_says_how_much_comes(shared: Shop) -> None:
    """`places` gives no text, `lines` those that tell most, `full` all."""
    has_text: list[bool] = []
    for detail in ("places", "lines", "full"):
        with tools_of(shared) as tools:
            [hit] = tools.hits(query="how does the payment client retry", limit=1, detail=detail)
        has_text.append(bool(hit.text))

    assert [False, True, True] == has_text


def test_path_narrows_a_search(tools: Tools) -> None:
    """A glob keeps hits to the files that it names."""
    found = tools.refs(query="ledger report of the rows", path="src/parts/**", limit=50)

    assert found
    assert all(ref.startswith("src/parts/") for ref in found)


def test_pages_cover_all_hits_once(tools: Tools) -> None:
    """Following the cursor that a page ends with gives what one large page gives, in the same order, each hit once."""
    asked = {"query": "part of the ledger report", "detail": "places"}
    whole = tools.refs(**asked, limit=50)
    paged: list[str] = []
    cursor = ""
    for _ in range(50):
        page = tools.text("search", **asked, limit=3, cursor=cursor)
        paged += [hit.ref for hit in hits_of(page)]
        cursor = cursor_of(page)
        if not cursor:
            break

    assert len(whole) > 6
    assert whole == paged
    assert len(set(paged)) == len(paged)


def test_read_gives_lines_neighbours_and_records(tools: Tools) -> None:
    """A ref of a hit is read in full, a file whole or in part, a record by its id in any case."""
    [ref] = tools.refs(query="wait twice as long after each failed attempt", limit=1)
    alone, wider = (numbered_of(tools.text("read", ref=ref, neighbours=n)) for n in (0, 2))
    whole = tools.text("read", ref="docs/deploy.md")
    lines = numbered_of(whole)

    assert tools.text("read", ref=ref, neighbours=0).startswith(f"{ref} of ")
    assert alone.items() < wider.items()
    assert ("# Deployment", list(range(1, len(lines) + 1))) == (lines[1], list(lines))
    assert whole.startswith(f"docs/deploy.md:1-{len(lines)} of {len(lines)} lines\n")
    assert "the old one has run on every customer's database" in tools.text("read", ref="l002")
    assert "append-only" in tools.text("read", ref=DECISION)


def test_a_record_is_read_by_every_form_of_its_id(tools: Tools) -> None:
    """As it is printed, as it was printed before, in any case, and by the beginning that handoffs had in injections."""
    forms = (
        ("o1", "1", "#1", "O1", "`o1`"),
        ("s1", "#s1", "S1"),
        ("L002", "l002", "[L002]"),
        (DECISION, DECISION.upper(), DECISION[:8]),
        (HANDOFF, "session-20260214"),
    )
    for names in forms:
        assert 1 == len({tools.text("read", ref=name) for name in names}), names
    assert tools.text("recall", around="o1") == tools.text("recall", around="#1")


def test_a_beginning_that_several_records_have_names_none(small: Shop) -> None:
    """The error says so; a text that is no beginning of an id is taken as a file."""
    lines = [{"id": f"dec-{n}", "decision": f"Ferry {n} sails", "rationale": "tide", "project": "shop"} for n in "ab"]
    files = {".hybrid/lore/journal/data/decisions.jsonl": "".join(json.dumps(line) + "\n" for line in lines)}
    write_records(small.root, small.home, files)
    with tools_of(small) as tools:
        assert "2 records begin with 'dec-'" in tools.error("read", ref="dec-")
        assert "no file or record" in tools.error("read", ref="d")


def test_a_summary_and_a_lesson_of_one_number_are_told_apart(small: Shop) -> None:
    """Each is read as it is printed; where there is but one, letter case does not matter."""
    small.out("lessons", "add", "--system", "Look at the tide", "Ferries wait for it.")
    lessons = small.home / "LESSONS.md"
    lessons.write_text(lessons.read_text(encoding="utf-8").replace("S001", "S101"), encoding="utf-8")
    store = MemoryStore(small.home / "memory.db")
    for number in range(1, 103):
        assert store.add_summary(shop_owner(small, f"s-{number}"), Summarised(request=f"Tide {number}"), FIRST_MS)
    store.close()
    with tools_of(small) as tools:
        texts = [tools.text("read", ref=ref).split("\n")[0] for ref in ("S101", "s101", "S102", "s102")]

    assert ["S101 Look at the tide", "Tide 101", "Tide 102", "Tide 102"] == [
        "".join(re.findall(r"S101 Look at the tide|Tide \d+", text)) for text in texts
    ]


def test_read_takes_absolute_paths_of_the_project(tools: Tools, shared: Shop) -> None:
    """An agent names files by their full path too, and by way of a folder."""
    for ref in (str(shared.root / "README.md"), "./README.md", "src/../README.md"):
        assert tools.text("read", ref="README.md") == tools.text("read", ref=ref)


def test_context_gives_what_a_prompt_gets_or_why_it_gets_nothing(shared: Shop) -> None:
    """A task that code answers is answered; small talk is not, with the reason."""
    with tools_of(shared) as tools:  # A session that was given nothing yet.
        found = tools.text("context", prompt="Make the payment client retry a request once more after a timeout")
        nothing = tools.text("context", prompt="thanks, that was all for today")

    assert found.startswith("--- hybrid context (auto-injected")
    assert "\n[code] src/payments/client.py:" in found
    assert re.match(r"hybrid: skipped \(.+\)$", nothing, re.MULTILINE)


def test_related_names_the_tests_of_a_file(tools: Tools) -> None:
    """A file without commits has no companions; its test is found by its name."""
    found = tools.text("related", file="src/payments/client.py").split("\n")

    assert ["src/payments/client.py: in 0 commits of the 0 read", "Changes with:", "  nothing known"] == found[:3]
    assert ["Tested by:", "  tests/test_client.py"] == found[3:5]


def test_lessons_by_query_and_the_most_used(tools: Tools) -> None:
    """A query gives what fits with its relevance, none all; `read` has one by its id."""
    by_query = tools.text("lessons", query="commit message format").split("\n")[0]
    by_id = tools.text("read", ref="l001")
    every = rows_of(tools.text("lessons"))

    assert re.match(r"L001 .*\(relevance [1-9]\d?/10\)$", by_query)
    assert ("L001", True) == (*rows_of(by_id), "Git commit format" in by_id)
    assert ["L001", "L002"] == sorted(every)


def test_recall_by_query_file_place_and_time(tools: Tools) -> None:
    """Rows of the memory come by a question, by a file, around a row, or the newest first."""
    asked = tools.text("recall", query="retry attempts").split("\n")[0]
    of_file = tools.text("recall", file=["src/payments/client.py"])
    around = tools.text("recall", around="o1")
    newest = tools.text("recall", type=["bugfix"], detail="full")

    assert re.match(r"o1 .* bugfix Cap retry attempts at 5 in PaymentClient ", asked)
    assert "o1" in rows_of(of_file)
    assert len(rows_of(around)) > 1
    assert ["o1"] == rows_of(newest)
    assert "never ended" in newest


def test_recall_pages(tools: Tools) -> None:
    """Pages of one row each give every row once."""
    refs: list[str] = []
    cursor = ""
    while True:
        page = tools.text("recall", limit=1, cursor=cursor)
        refs += rows_of(page)
        cursor = cursor_of(page)
        if not cursor:
            break

    assert refs == rows_of(tools.text("recall", limit=50))
    assert len(refs) == len(set(refs)) > 2


# --- resources and prompts ----------------------------------------------------------------------------------


def test_resources_tell_of_the_project(tools: Tools) -> None:
    """Orientation and hot topics are listed and read; a record has an address by its ref."""
    listed = [str(one.uri) for one in tools.ask("list_resources").resources]
    [template] = tools.ask("list_resource_templates").resource_templates
    [orientation] = tools.ask("read_resource", "hybrid://orientation").contents
    [topics] = tools.ask("read_resource", "hybrid://hot-topics").contents
    [record] = tools.ask("read_resource", template.uri_template.replace("{ref}", "L002")).contents
    [part] = tools.ask("read_resource", "hybrid://record/src%2Fpayments%2Fclient.py:4-6").contents

    assert ["hybrid://orientation", "hybrid://hot-topics"] == listed
    assert "documents indexed" in orientation.text
    assert topics.text.startswith("# Hot topics")
    assert "Never edit an applied migration" in record.text
    assert "class PaymentClient" in part.text


def test_prompts_ask_for_a_handoff_and_for_lessons(tools: Tools) -> None:
    """Both prompts are listed and hold what the memory knows."""
    listed = [one.name for one in tools.ask("list_prompts").prompts]
    texts = [tools.ask("get_prompt", name).messages[0].content.text for name in listed]

    assert ["hand-over", "what-did-we-learn"] == listed
    assert "handoff" in texts[0]
    assert "remember" in texts[1]
    assert all("Cap retry attempts" in text for text in texts)


# --- what cannot be done ------------------------------------------------------------------------------------


def test_mistakes_are_errors_of_the_tool_that_help(tools: Tools) -> None:
    """An agent is told what was wrong in words that it can act on."""
    for case in read("mcp/mistakes.txt"):
        name, _, arguments = case.text.partition(" ")
        assert str(case.expected) in tools.error(name, **json.loads(arguments))


def test_what_is_not_there_is_an_error_of_the_protocol(tools: Tools) -> None:
    """A tool, a resource or a prompt that nobody listed is named in the error."""
    for method, *args in (
        ("call_tool", "sing", {}),
        ("read_resource", "hybrid://nothing"),
        ("read_resource", "file:///etc/passwd"),
        ("get_prompt", "sing"),
    ):
        with pytest.raises(MCPError, match=re.escape(str(args[0]))):
            tools.ask(method, *args)


def test_a_resource_of_a_record_that_is_not_there_says_so(tools: Tools) -> None:
    """The template takes refs as `read` does."""
    with pytest.raises(MCPError, match="no file or record"):
        tools.ask("read_resource", "hybrid://record/L999")


def test_outside_of_a_project_a_tool_says_that_there_is_none(shared: Shop, tmp_path: Path) -> None:
    """The session works, and each tool says what is missing."""
    with tools_of(shared, cwd=tmp_path) as tools:
        assert {*NAMES} <= {tool.name for tool in tools.ask("list_tools").tools}
        assert "project" in tools.error("search", query="anything")
        assert "project" in tools.error("remember", title="anything")


def test_another_folder_is_named_with_project(shared: Shop, tmp_path: Path) -> None:
    """`--project` names the project when the client starts elsewhere."""
    with tools_of(shared, cwd=tmp_path, options=("--project", str(shared.root))) as tools:
        assert tools.file("README.md").startswith("# Shop")


# --- what may be read ---------------------------------------------------------------------------------------


def test_read_refuses_what_is_not_indexed(tools: Tools) -> None:
    """Ignored files, secrets, links that lead outside and every path beside the project are unknown, as are folders."""
    for case in read("mcp/not_indexed.txt"):
        assert "no file or record" in tools.error("read", ref=case.text)


def test_read_refuses_absolute_paths_of_neighbours(tools: Tools, shared: Shop) -> None:
    """The full path of a file beside the project is unknown, also by way of the project."""
    neighbour = shared.root.parent / "neighbour" / "salaries.md"

    assert neighbour.exists()
    for ref in (str(neighbour), f"{shared.root}/../neighbour/salaries.md", f"{shared.root}/link.md"):
        assert "no file or record" in tools.error("read", ref=ref)


def test_a_file_that_becomes_a_link_is_not_followed(small: Shop) -> None:
    """What was indexed as a file and leads outside by now is not read."""
    write_files(small.root.parent, {"neighbour/salaries.md": OUTSIDE})
    with tools_of(small) as tools:
        assert tools.file("README.md").startswith("# Shop")
        (small.root / "README.md").unlink()
        (small.root / "README.md").symlink_to(small.root.parent / "neighbour" / "salaries.md")
        result = tools.result("read", ref="README.md")

    assert "salary" not in result.model_dump_json()


def test_a_record_longer_than_an_answer_is_shortened(small: Shop) -> None:
    """The best record is given as far as the answer goes, and counts as given in part: `read` gives all of it."""
    why = " ".join(f"Rule {number} of the ferry timetable." for number in range(1_200))
    ferry = {"id": "dec-f", "decision": "Print the ferry timetable", "rationale": why, "project": "shop"}
    files = {".hybrid/lore/journal/data/decisions.jsonl": json.dumps(ferry) + "\n"}
    write_records(small.root, small.home, files)
    with tools_of(small) as tools:
        [hit] = tools.hits(query="ferry timetable", kinds=["decision"], limit=1, detail="full")
        [again] = tools.hits(query="ferry timetable", kinds=["decision"], limit=1)
        whole = tools.text("read", ref=hit.ref)

    assert 20_000 < len(hit.text) <= 24_000
    assert hit.text.endswith("of the ferry timetable. … (shortened)")
    assert not again.is_given
    assert "Rule 1199 of the ferry timetable." in whole


def test_secrets_are_masked_everywhere(tools: Tools) -> None:
    """A token in an indexed file reaches the text of no tool."""
    for name, arguments in (
        ("read", {"ref": "src/settings.py"}),
        ("search", {"query": "FORGE_TOKEN settings of the forge", "detail": "full"}),
        ("search", {"query": SECRET, "detail": "full"}),
        ("context", {"prompt": "where is the FORGE_TOKEN of the forge settings defined?"}),
    ):
        result = tools.result(name, **arguments)
        assert not result.is_error
        assert SECRET not in result.model_dump_json()
    assert "FORGE_TOKEN" in tools.text("read", ref="src/settings.py")


def test_rows_of_other_projects_are_kept_apart(tools: Tools, shared: Shop) -> None:
    """A neighbour's row comes in no list and is not read by its number or path, until the owner sets that it may."""
    found = [
        tools.result("recall", query="cookie key", detail="full"),
        tools.result("recall", limit=50, detail="full"),
        tools.result("recall", around="3", detail="full"),
        tools.result("read", ref="3"),
        # A path of the index, as `read` has taken it for any record.
        tools.result("read", ref=f"o3/{BLOG.key}"),
        tools.result("read", ref=f"O3/{BLOG.key.upper()}"),
        tools.result("search", query="sign the cookie with a new key", kinds=["observation"]),
        tools.result("recall", file=["src/users/store.py"], detail="full"),
    ]
    shared.out("config", "set", "memory.cross_project", "true", "--user")
    seen = tools.text("recall", query="cookie key")
    shared.out("config", "set", "memory.cross_project", "false", "--user")

    assert ["[from: blog]"] == re.findall(r"\[from: \w+\]", seen)
    assert not [result for result in found if "Sign the cookie" in result.model_dump_json()]


def test_records_of_a_tree_that_nobody_accepted_are_not_given(unindexed: Shop) -> None:
    """Lessons and decisions that came with a cloned tree stay silent until its owner accepts them."""
    write_files(unindexed.root, RECORD_FILES)
    with tools_of(unindexed) as tools:
        assert "No lesson fits." == tools.text("lessons")
        assert "No lesson fits." == tools.text("lessons", query="commit format")
        until(lambda: "no file or record" in tools.error("read", ref="L001"))  # The model is loaded first.
        assert "no file or record" in tools.error("read", ref=DECISION)
        found = tools.result("search", _unheard, query="Never edit an applied migration", limit=50, detail="full")

    assert not found.is_error
    assert "customer's database" not in found.model_dump_json()


async def _unheard(*_: object) -> None:
    """A first build may take as long as it takes."""
