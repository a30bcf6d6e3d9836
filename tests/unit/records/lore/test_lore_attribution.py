from __future__ import annotations

from typing import Any

import pytest

from hybrid.records.lore.eligible import ProjectNames, attributed, project_names, words_of

KEY = "0123456789abcdef"


def _whose(fields: dict[str, Any], name: str = "flow", *others: str) -> str:
    return attributed(fields, ProjectNames(name, KEY, others))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"project": "flow"}, "this"),
        ({"project": "Flow"}, "this"),
        ({"project": KEY}, "this"),
        ({"project": "acme/flow"}, "this"),
        ({"project": "workflow"}, "other"),
        ({"project": "flow-cli"}, "other"),
        ({"context": {"project": "flow"}}, "this"),
        ({"context": {"project": "bach"}}, "other"),
        ({"context": "flow"}, "none"),
        ({"project": {"name": "flow"}}, "this"),
        ({"project": {"name": "other"}}, "other"),
        ({"project": {"id": KEY}}, "this"),
        ({"project": {"key": 7}}, "other"),
        ({"project": {"slug": "flow"}}, "other"),
        ({"project": {"name": "bach"}, "tags": ["flow"]}, "other"),
        ({"project": ["bach", "flow"]}, "this"),
        ({"project": ["bach", {"name": "x"}]}, "other"),
        ({"project": [{"name": "flow"}]}, "this"),
        ({"project": [["flow"]]}, "other"),
        ({"project": "***"}, "other"),
        ({"project": {}, "context": {"project": ["bach"]}}, "other"),
        ({"context": {"project": {"name": "flow"}}}, "this"),
        ({"project": []}, "none"),
        ({"project": {}}, "none"),
        ({"project": " "}, "none"),
        ({"tags": ["flow"]}, "this"),
        ({"tags": ["workflow"]}, "none"),
        ({"tags": ["flow.js"]}, "none"),
        ({"tags": ["project:flow"]}, "this"),
        ({"tags": "flow"}, "this"),
        ({"entities": ["/workspace/flow/lib/store.sh"]}, "this"),
        ({"entities": ["flow/"]}, "this"),
        ({"entities": ["lib/flow.sh"]}, "none"),
        ({"entities": ["the flow project."]}, "this"),
        ({"entities": [{"name": "flow"}]}, "this"),
        ({"entities": ["in flow."]}, "this"),
        ({"entities": [None, 3, ["flow"]]}, "none"),
        ({"decision": "flow"}, "none"),
        ({}, "none"),
    ],
)
def test_whose_a_record_is(fields: dict[str, Any], expected: str) -> None:
    """Name or key as a whole word in project, context.project, entities or tags; paths give their parts."""
    assert expected == _whose(fields)


def test_a_record_that_names_another_project_is_that_ones() -> None:
    """Unless it names this one too; what stands in `project` decides alone, known or not."""
    assert "other" == _whose({"tags": ["bach"]}, "flow", "bach")
    assert "this" == _whose({"tags": ["bach", "flow"]}, "flow", "bach")
    assert "other" == _whose({"project": "bach", "tags": ["flow"]}, "flow")
    assert "this" == _whose({"project": "flow", "tags": ["bach"]}, "flow", "bach")
    assert "other" == _whose({"project": "flow"}, "")
    assert "none" == _whose({"tags": ["flow"]}, "")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("next.js", "vercel/next.js", "this"),
        ("next.js", "next", "none"),
        ("lore-client", "lib/lore-client/x.sh", "this"),
        ("lore", "lib/lore-client-base.sh", "none"),
        ("lore", "LORE_CONTRACT.md", "none"),
        ("my project", "in My  Project today", "this"),
        ("my project", "my/project", "none"),
        ("my project", "my projects", "none"),
        (".github", ".github/workflows", "this"),
        ("github", ".github/workflows", "none"),
        ("straße", "STRASSE", "this"),
        ("c++", "c", "this"),
    ],
)
def test_names_with_marks_in_them(name: str, text: str, expected: str) -> None:
    """Dots and dashes belong to a word; white space within a name is one space."""
    assert expected == _whose({"entities": [text]}, name)


def test_a_name_shared_with_another_project_is_this_ones() -> None:
    """Two clones of one name cannot be told apart: better given than lost."""
    names = project_names("shop", "k1", [("k1", "shop"), ("k2", "shop"), ("k3", "payments")])

    assert ("shop", "k2", "payments", "k3") == names.others
    assert "this" == attributed({"tags": ["shop"]}, names)
    assert "other" == attributed({"tags": ["payments"]}, names)


def test_words() -> None:
    """White space is one space, other marks a slash, ends are clean."""
    assert "a/b c.d/e-f" == words_of("/A/b\n c.d, (e-f)...")
