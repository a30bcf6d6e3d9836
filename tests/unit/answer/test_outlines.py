"""A prompt about a file as a whole gets the outline of the file and the files that use it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hybrid.answer.outline import importing
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.query import make_query
from hybrid.search.searcher import Searcher
from hybrid.upkeep.indexing import reindex
from tests.support.builders import ListSource, build_index, default_config, open_index, place_in
from tests.support.repositories import Repository
from tests.unit.answer.sessions import new_session

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.answer.decide import Decision

BILLS = '''"""Bills."""

from dataclasses import dataclass


def print_bill(bill, printer):
    """Print a bill."""
    printer.put(bill.text())
    printer.put(bill.total())


class Bill:
    """One bill."""

    def __init__(self, lines):
        self.lines = lines

    def total(
        self,
        currency="EUR",
    ):
        """The sum of its lines."""

        def rounded(amount):
            return round(amount, 2)

        return rounded(sum(self.lines))


def _pause():
    return 1
'''
FILES = {
    "shop/bills.py": BILLS,
    "shop/desk.py": "from shop.bills import print_bill\n\n\ndef close(desk):\n    print_bill(desk.bill, desk.printer)\n",
    "shop/__init__.py": "from shop import bills\n",
    "tests/test_bills.py": "from shop.bills import Bill\n\n\ndef test_total():\n    assert Bill([1]).total() == 1\n",
    "docs/bills.md": "# Bills\n\nCall `print_bill` to print one.\n",
    "shop/orders.py": "def order(number):\n    return number\n",
}


def _asked(tmp_path: Path, prompt: str, files: dict[str, str] = FILES, **flags: object) -> Decision:
    return new_session(tmp_path, files).decide(prompt, hooks_threshold=0.0, **flags)


def _outline(decision: Decision) -> list[str]:
    body = decision.items[0].body.split("\n") if decision.items else []
    end = next((n for n, line in enumerate(body) if not re.match(r"\d+-\d+ |and \d+ more$", line)), len(body))
    return body[:end]


@pytest.mark.parametrize(
    "prompt", ["refactor bills.py", "what is in shop/bills.py?", "Please split bills.py into smaller modules"]
)
def test_the_item_begins_with_the_outline(tmp_path: Path, prompt: str) -> None:
    """Each definition has a line with its range, in the order of the file; what is defined in a function has none."""
    decision = _asked(tmp_path, prompt)

    assert [
        "6-9 def print_bill(bill, printer):",
        "12-27 class Bill:",
        "15-16 Bill.__init__(self, lines):",
        'Bill.total(self, currency="EUR", ):',
        "30-31 def _pause():",
    ] == [line.removeprefix("18-27 ") for line in _outline(decision)]
    assert f"[code] shop/bills.py:1-{len(BILLS.splitlines())} (outline, also " in decision.text


def test_who_uses_the_file_stands_below(tmp_path: Path) -> None:
    """A line that calls comes before one that imports, source before tests and pages."""
    decision = _asked(tmp_path, "refactor bills.py")

    line = next(line for line in decision.items[0].body.split("\n") if line.startswith("used by: "))
    assert "used by: shop/desk.py:5, shop/__init__.py:1, tests/test_bills.py:5, docs/bills.md:3" == line


def test_what_other_files_define_too_says_nothing(tmp_path: Path) -> None:
    """Who mentions `close` may mean that of any file."""
    both = {f"{name}/run.py": "def close_all(desk):\n    return desk\n" for name in ("a", "b")}
    user = {"c/main.py": "def main(desk):\n    return close_all(desk)\n"}

    assert "used by" not in _asked(tmp_path, "refactor a/run.py", {**both, **user}).text


@pytest.mark.parametrize(
    "prompt",
    [
        "how does bills.py compute the sum of the lines of a bill?",
        "rename print_bill in bills.py",
        "does bills.py use a printer?",
        "refactor the printing of a bill",
        "refactor receipts.py",
    ],
)
def test_other_prompts_get_no_outline(tmp_path: Path, prompt: str) -> None:
    """They ask for a part of the file, or name no file that is here."""
    assert "(outline" not in _asked(tmp_path, prompt).text


def test_a_word_that_the_file_lacks_is_of_the_task(tmp_path: Path) -> None:
    """Nothing in the file can be meant by it."""
    assert "(outline" in _asked(tmp_path, "make bills.py async").text


def test_a_long_outline_keeps_the_most_important(tmp_path: Path) -> None:
    """Functions come before members, public ones before others, long ones before short ones; a line counts the rest."""
    methods = "".join(f"    def method_{n}(self):\n        return {n}\n\n" for n in range(40))
    source = f"class Till:\n{methods}\ndef _hidden():\n    return 1\n\n\ndef count(till):\n    return till\n"
    outline = _outline(_asked(tmp_path, "refactor till.py", {"till.py": source}))

    assert "1-120 class Till:" == outline[0]
    assert [line.split(" ", 1)[1] for line in outline[-3:]] == ["def _hidden():", "def count(till):", "18 more"]
    assert len(outline) <= 26
    assert sum(len(line) + 1 for line in outline) <= 1_250


def test_an_outline_of_a_page_is_its_headings(tmp_path: Path) -> None:
    """As they are written."""
    page = "# Guide\n\nAll of it.\n\n## Setup\n\nFirst.\n\n## Use\n\nThen.\n"

    assert ["1-11 # Guide", "5-8 ## Setup", "9-11 ## Use"] == _outline(
        _asked(tmp_path, "summarize guide.md", {"guide.md": page, **FILES})
    )


def test_a_session_gets_an_outline_once(tmp_path: Path) -> None:
    """It stands in the agent's context."""
    session = new_session(tmp_path, FILES)

    assert "(outline" in session.decided("refactor bills.py", hooks_threshold=0.0).text
    assert "(outline" not in session.decided("now review shop/bills.py", hooks_threshold=0.0).text


def test_an_outline_beside_another_is_given_once_too(tmp_path: Path) -> None:
    """Beside another it is shorter, and the session has it all the same, until the file changes."""
    steps = "".join(f"def step_{n}(till):\n    return till + {n}\n\n\n" for n in range(30))
    session = new_session(tmp_path, {**FILES, "shop/till.py": steps})
    both = session.decided("refactor bills.py and till.py", hooks_threshold=0.0)
    assert 2 == both.text.count("(outline")
    assert "  and 18 more" in both.text.split("\n")

    assert "(outline" not in session.decided("refactor till.py", hooks_threshold=0.0).text

    (session.root / "shop/till.py").write_text(f"{steps}# The end.\n")
    assert "(outline" in session.decided("now refactor till.py once more", hooks_threshold=0.0).text


def test_a_question_about_a_file_does_not_use_up_its_outline(tmp_path: Path) -> None:
    """The session has the part that answers; who is to change the file needs the rest as well."""
    session = new_session(tmp_path, FILES)
    assert "def total(" in session.decided("How is the total of a bill computed?", hooks_threshold=0.0).text

    whole = session.decided("refactor bills.py", hooks_threshold=0.0)
    given = session.ledger().given
    assert "(outline" in whole.text
    assert all(one.hit.digest.hex() in given for one in whole.withheld if one.reason == "seen")


@pytest.mark.parametrize("prompt", ["refactor bills.py", "change the total in bills.py"])
def test_other_words_about_a_file_bring_nothing_again(tmp_path: Path, prompt: str) -> None:
    """The session has its outline, or what a prompt about a part of it gets."""
    session = new_session(tmp_path, FILES)
    assert session.decided(prompt, hooks_threshold=0.0).text

    for again in (prompt, f"please {prompt}", prompt.replace("bills.py", "shop/bills.py"), f"{prompt} once more"):
        assert not session.decided(again, hooks_threshold=0.0).text


@pytest.mark.parametrize(
    ("prompt", "line"),
    [
        ("refactor shop/bills.py", "changes with: docs/bills.md (4 of 5 commits), tests/test_bills.py (3)"),
        (
            "Please rename everything in bills.py",
            "changes with: docs/bills.md (4 of 5 commits), tests/test_bills.py (3)",
        ),
        ("explain shop/bills.py", ""),
        ("what is in shop/bills.py?", ""),
        ("refactor shop/desk.py", ""),
    ],
)
def test_a_change_is_told_what_changes_with_the_file(tmp_path: Path, prompt: str, line: str) -> None:
    """By the commits, where these are clear, and files that are there and indexed; a question has no use for it."""
    session = new_session(tmp_path, FILES)
    repository = Repository(session.root)
    repository.commit("Begin", {".hybridignore": "private/\n", "private/bills.py": "A = 1\n"})
    for n in range(4):
        paths = ["shop/bills.py", "docs/bills.md", *(["tests/test_bills.py"] if n else [])]
        more = {"private/bills.py": f"A = {n + 2}\n", "gone.py": f"B = {n}\n"}
        changed = {path: f"{FILES[path]}\n{'#' * (n + 1)} {n}\n" for path in paths}
        repository.commit(f"Change {n}", {**changed, **more})
    repository.commit("Tidy", {"shop/bills.py": BILLS})
    (session.root / "gone.py").unlink()
    repository.commit("Drop it")
    reindex(session.workspace())
    decision = session.decide(prompt, hooks_threshold=0.0)

    assert "(outline" in decision.text
    assert [line][: bool(line)] == [one for one in decision.items[0].body.split("\n") if one.startswith("changes with")]


def _used_by(tmp_path: Path, prompt: str, files: dict[str, str]) -> str:
    decision = _asked(tmp_path, prompt, {**FILES, **files})
    assert "(outline" in decision.text
    lines = decision.items[0].body.split("\n")
    return next((line.removeprefix("used by: ") for line in lines if line.startswith("used by: ")), "")


def test_a_definition_that_moved_is_left_out(tmp_path: Path) -> None:
    """Of a file that changed since it was indexed, an outline has only what is where the index says."""
    steps = "".join(f"    step_{n}(bill, till)\n" for n in range(30))
    source = "\n\n".join(f"def {name}_bill(bill, till):\n{steps}" for name in ("print", "send", "pay", "keep"))
    session = new_session(tmp_path, {**FILES, "shop/bills.py": source})
    before = _outline(session.decide("refactor bills.py", hooks_threshold=0.0))
    changed = source.replace("def pay_bill", "# One more.\n# And another.\ndef pay_bill")
    (session.root / "shop/bills.py").write_text(changed)
    after = _outline(session.decide("refactor bills.py", hooks_threshold=0.0))

    assert [line.split()[2].split("_")[0] for line in before] == ["print", "send", "pay", "keep"]
    assert before[:2] == after


def test_a_body_is_no_head(tmp_path: Path) -> None:
    """Of what has no name where it begins, nothing is shown; of parameters over several lines, all."""
    files = {
        "cat.js": "class Cat {\n  static at(i) {\n    return i;\n  }\n}\n\nconst bowl = {\n  full: () => 1,\n  eat(i) {\n    return i;\n  },\n};\n\nfunction feed(\n  cat,\n  food\n) {\n  cat.eat(food);\n}\n",
        "till.py": "class Till:\n    def f(self, n):\n        return n\n\n    @property\n    def e(self):\n        return 1\n",
    }
    cat = _outline(_asked(tmp_path / "a", "refactor cat.js", files))
    till = _outline(_asked(tmp_path / "b", "refactor till.py", files))

    assert [
        "1-5 class Cat {",
        "2-4 Cat.at(i) {",
        "8-8 full: () => 1,",
        "9-11 eat(i) {",
        "14-19 function feed(cat, food) {",
    ] == cat
    assert ["1-7 class Till:", "2-3 Till.f(self, n):", "6-7 Till.e(self):"] == till


@pytest.mark.parametrize("prompt", ["fix bills.py:4-9", "refactor shop/bills.py:12-27", "explain shop/bills.py#L12"])
def test_a_prompt_that_names_lines_is_about_these(tmp_path: Path, prompt: str) -> None:
    """It says which part of the file is meant."""
    assert "(outline" not in _asked(tmp_path, prompt).text


@pytest.mark.parametrize(
    ("word", "line", "is_about_all"),
    [
        ("cli", "class Bill", True),
        ("log", "catalog = 1", True),
        ("log", "def writeLog", False),
        ("logs", "a_log = 1", False),
        ("retry", "retried = 1", False),
        ("client", "HTTPClient()", False),
    ],
)
def test_a_word_is_looked_for_where_words_begin(tmp_path: Path, word: str, line: str, *, is_about_all: bool) -> None:
    """Within other words it means nothing; at the beginning of a part of a name it does."""
    files = {"shop/till.py": f"def count(till):\n    return till\n\n\n# {line}\n"}

    assert is_about_all == ("(outline" in _asked(tmp_path, f"refactor the {word} of till.py", files).text)


HELPERS = "def helper(value):\n    return value\n"


@pytest.mark.parametrize(
    ("path", "source", "other"),
    [
        ("a/view.js", "export default function () {\n  return 1;\n}\n", {"b/x.js": "const load = { default: 1 };\n"}),
        (
            "a/run.py",
            "def close_all(till):\n    return till\n",
            {"b/x.py": "def x():\n    # As close_all does.\n    return 1\n"},
        ),
        ("a/run.py", "def shut(till):\n    return till\n", {"b/x.py": "def x(door):\n    door.shut()\n"}),
        ("lib/main.rs", "pub fn a() {}\n", {"b/x.rs": "use std::lib;\nfn x() {}\n"}),
        ("src/index.js", "export const a = () => 1;\n", {"b/x.js": "import x from './src/more';\n"}),
        ("a/util/__init__.py", HELPERS, {"b/util/__init__.py": "A = 1\n", "c/x.py": "from b.util import more\n"}),
        (
            "own/client.py",
            HELPERS,
            {f"d{n}/client.py": "A = 1\n" for n in range(70)} | {"x.py": "from d1.client import A\n"},
        ),
    ],
)
def test_who_only_has_a_word_of_it_does_not_use_a_file(
    tmp_path: Path, path: str, source: str, other: dict[str, str]
) -> None:
    """Words of no file, comments, plain words without an import, and modules that other files may be."""
    assert not _used_by(tmp_path, f"refactor {path}", {path: source, **other})


@pytest.mark.parametrize(
    ("path", "source", "user", "line"),
    [
        ("a/util/__init__.py", HELPERS, "from a.util import helper\n\n\ndef x():\n    return helper(1)\n", 5),
        ("cash/src/lib.rs", "pub fn count(a: u8) -> u8 { a }\n", "use cash::count;\n", 1),
        (
            "a/run.py",
            "def close_all(a):\n    return a\n",
            "from a.run import (\n    close_all,\n)\n\nclose_all(1)\n",
            5,
        ),
        (
            "a/till.go",
            "package a\n\nfunc Count(n int) int {\n\treturn n\n}\n",
            "package a\n\n// It uses the till.\nfunc Close(till int) int {\n\treturn Count(till)\n}\n",
            5,
        ),
        ("a/maße.py", "def größe_max(a):\n    return a\n", "def x():\n    return größe_max(1)\n", 2),
        ("a/run.h", "int run_all(int a) {\n  return a;\n}\n", '#include "run.h"\n', 1),
    ],
)
def test_who_uses_a_file(tmp_path: Path, path: str, source: str, user: str, line: int) -> None:
    """By the name of its folder, behind an import over several lines, by a name beyond ASCII, and by including it."""
    using = f"b/other{path[path.rindex('.') :]}"

    assert f"{using}:{line}" == _used_by(tmp_path, f"refactor {path}", {path: source, using: user})


def test_a_module_of_the_same_name_is_no_user(tmp_path: Path) -> None:
    """Who imports `other.bills` and calls its `total` uses nothing of `shop/bills.py`; who calls `print_bill` does."""
    files = {
        "a/x.py": "from other.bills import total\n\n\ndef x(a):\n    return total(a)\n",
        "a/y.py": "import other.bills\n\n\ndef y(a):\n    return print_bill(a)\n",
        "b/z.py": "from shop import (\n    bills,\n)\n\nBILLS = [bills]\n",
    }
    used = _used_by(tmp_path, "refactor shop/bills.py", files)

    assert "a/x.py" not in used
    assert "a/y.py:5" in used
    assert "b/z.py:2" in used


@pytest.mark.parametrize(
    ("said", "name", "path", "user", "is_meant"),
    [
        ("import other.client", "client", "shop/client.py", "x/a.py", False),
        ("from other.client import A", "client", "shop/client.py", "x/a.py", False),
        ("from shop.client import A", "client", "shop/client.py", "x/a.py", True),
        ("from shop import client", "client", "shop/client.py", "x/a.py", True),
        ("from other import client", "client", "shop/client.py", "x/a.py", False),
        ("from shop import (\n    a,\n    client,\n)", "client", "shop/client.py", "x/a.py", True),
        ("from other import (\n    a,\n    client,\n)", "client", "shop/client.py", "x/a.py", False),
        ("import os, shop.client as c", "client", "src/shop/client.py", "x/a.py", True),
        ("import os, other.client as c", "client", "src/shop/client.py", "x/a.py", False),
        ("from .client import A", "client", "shop/client.py", "shop/a.py", True),
        ("from .client import A", "client", "shop/client.py", "other/a.py", False),
        ("from . import client", "client", "shop/client.py", "shop/a.py", True),
        ("from . import client", "client", "shop/client.py", "x/a.py", False),
        ("from ..client import A", "client", "shop/client.py", "shop/b/a.py", True),
        ("from ..shop.client import A", "client", "shop/client.py", "b/a.py", True),
        ("from django.client import A", "client", "client.py", "a.py", False),
        ("import client", "client", "client.py", "x/a.py", True),
        ("import client", "client", "shop/client.py", "x/a.py", False),
        ("import client", "client", "shop/client.py", "shop/a.py", True),
        ("import shop as client", "client", "client.py", "a.py", False),
        ("import a from './client'", "client", "shop/client.js", "shop/a.js", True),
        ("import a from './client.js'", "client", "shop/client.ts", "shop/a.js", True),
        ("import a from '../shop/client'", "client", "shop/client.ts", "x/a.js", True),
        ("import a from './client'", "client", "shop/client.js", "x/a.js", False),
        ("import a from 'client'", "client", "shop/client.js", "x/a.js", False),
        ("import a from '@/shop/client'", "client", "src/shop/client.vue", "x/a.js", True),
        ("import a from '@acme/client'", "client", "shop/client.js", "x/a.js", False),
        ("import a from '@acme/client'", "client", "packages/client/src/index.ts", "x/a.js", True),
        ("import { client } from './api'", "client", "shop/client.js", "shop/a.js", False),
        ("const c = require('./client')", "client", "shop/client.js", "shop/a.js", True),
        ("export const client = 1", "client", "shop/client.js", "shop/a.js", False),
        ("use crate::client::A;", "client", "src/client.rs", "src/a.rs", True),
        ("use reqwest::client::A;", "client", "shop/src/client.rs", "src/a.rs", False),
        ("use shop_core::client::A;", "client", "crates/core/src/client.rs", "x/a.rs", True),
        ("use crate::{a, net::client::{A, B}};", "client", "src/net/client.rs", "src/a.rs", True),
        ("use crate::{\n  a,\n other::{client::A},\n};", "client", "src/net/client.rs", "src/a.rs", False),
        ("use super::client;", "client", "src/net/client.rs", "src/net/a.rs", True),
        ('#include "client.h"', "client", "net/client.h", "a/x.c", True),
        ('#include "other/client.h"', "client", "net/client.h", "a/x.c", False),
        ("#include <net/client.hpp>", "client", "include/net/client.hpp", "a/x.c", True),
        ('#include "../net/client.h"', "client", "net/client.h", "a/x.c", True),
        (
            'import (\n\t"fmt"\n\t"github.com/o/shop/internal/client"\n)',
            "client",
            "internal/client/client.go",
            "a/x.go",
            True,
        ),
        ('import (\n\t"fmt"\n\t"golang.org/x/client"\n)', "client", "internal/client/client.go", "a/x.go", False),
        ('import (\n\t"context"\n)', "context", "context.go", "a/x.go", False),
        ("import com.acme.shop.Client;", "Client", "src/main/java/com/acme/shop/Client.java", "a/X.java", True),
        ("import org.other.Client;", "Client", "src/main/java/com/acme/shop/Client.java", "a/X.java", False),
        ("import com.acme.shop.{A, Client}", "Client", "src/main/scala/com/acme/shop/Client.scala", "a/X.scala", True),
        ("use GuzzleHttp\\Client;", "Client", "src/Http/Client.php", "a/X.php", False),
        ("use Acme\\Shop\\Http\\Client;", "Client", "src/Http/Client.php", "a/X.php", True),
        ("require 'shop/client'", "client", "lib/shop/client.rb", "a/x.rb", True),
        ("require 'other/client'", "client", "lib/shop/client.rb", "a/x.rb", False),
        ("require_relative 'client'", "client", "lib/shop/client.rb", "lib/shop/x.rb", True),
        ("import 'package:shop/client.dart';", "client", "lib/client.dart", "lib/x.dart", True),
        ("import 'package:other/client.dart';", "client", "shop/lib/client.dart", "lib/x.dart", False),
        ("from a.util import helper", "util", "a/util/__init__.py", "c/x.py", True),
        ("from b.util import helper", "util", "a/util/__init__.py", "c/x.py", False),
        ("use cash::count;", "cash", "cash/src/lib.rs", "x/a.rs", True),
        ("Use the client to do it. import it", "client", "shop/client.py", "README.md", False),
    ],
)
def test_what_an_import_means(said: str, name: str, path: str, user: str, *, is_meant: bool) -> None:
    """A module means a file when the ends of their paths are the same; a relative one is found from where it stands."""
    assert is_meant == any(importing(said.split("\n"), name, path, user).values())


def test_a_word_with_another_in_it_uses_nothing(tmp_path: Path) -> None:
    """A name beyond ASCII is looked for as a whole: its first part alone stands in many files."""
    files = {"a/maße.py": "def größe_max(a):\n    return a\n"} | {f"b/x{n}.py": f"größe = {n}\n" for n in range(160)}

    assert "b/y.py:2" == _used_by(tmp_path, "refactor a/maße.py", {**files, "b/y.py": "def y():\n    größe_max(1)\n"})


def test_a_folder_has_the_users_in_it(tmp_path: Path) -> None:
    """Files around it do not take their places."""
    around = {
        f"a/user{n}.py": "from shop.bills import print_bill\n\n\ndef x(a):\n    return print_bill(a)\n"
        for n in range(20)
    }
    build_index(
        place_in(tmp_path / "index"), ListSource({**around, **{f"z/{path}": text for path, text in FILES.items()}})
    )
    config = default_config(tmp_path)
    searcher = Searcher(
        open_index(place_in(tmp_path / "index")), HashingEmbedder(), config.search, ranking=config.ranking
    )
    searched = searcher.restricted("z").search(make_query("refactor bills.py"), top_k=5)
    row = next(hit.row for hit in searched.hits if hit.path == "shop/bills.py")

    assert searched.parts is not None
    assert "shop/desk.py" in [user.path for user in searched.parts.users_of(row, ["print_bill"])]
