"""Each view shows what it is for, hostile texts as text, secrets not at all; and its changes change what they say."""

from __future__ import annotations

import contextlib
import json
import re
from html import unescape
from http.client import HTTPConnection, HTTPResponse
from typing import TYPE_CHECKING

import pytest
from starlette.datastructures import QueryParams

from hybrid.dashboard.guard import PageSession
from hybrid.dashboard.service_client import NO_PROJECT, Asked, Desk, PageError
from hybrid.dashboard.views.logged import projects
from tests.support.builders import Shop, command_environment, git_project
from tests.support.pages import CONTROL, SCRIPT, SECRET, Served, event_line, key_of, write_log

if TYPE_CHECKING:
    from tests.support.browsing import Browser

HOSTILE_VIEWS = [
    "/now?reason=error",
    "/decision?id=0000050005",
    "/decision?id=0000060006",
    "/gate",
    "/lessons",
    "/lore?all=1",
    "/memory",
    "/ask?question=memory+recent&ask=1",
    "/health",
]


@pytest.mark.parametrize("path", HOSTILE_VIEWS)
def test_hostile_texts_are_shown_as_text(served: Served, browser: Browser, path: str) -> None:
    """No markup, escape, invisible character or secret of a record reaches the browser."""
    page = browser.get(f"{served.base}{path}")

    assert 200 == page.status
    assert SCRIPT not in page.text
    assert "<img src=x" not in page.text
    assert SECRET not in page.text
    assert not set(CONTROL) & {"\x1b", "\u202e", "\u200b"} & set(page.text)
    assert "&lt;script&gt;" in page.text


def test_the_first_page_is_that_of_the_project_here(served: Served, browser: Browser) -> None:
    """The root leads to the decisions of the project in whose folder the page was started."""
    assert f"{served.base}/now" == browser.get("/").headers["location"]


def test_now_tells_what_was_given_and_why_not(served: Served, browser: Browser) -> None:
    """An injection has its items with form and both legs, a silence its reason; other projects' events are not there."""
    # Other tests write events too: the page before a later one begins with those of the fixture.
    page = browser.get(f"{served.base}/now?before=0000070007")

    assert "full src/payments/client.py:1-20 PaymentClient meaning 0.51, rank 1 · words 8.2, rank 2" in page.words
    assert "Nothing in the project is close enough to the prompt" in page.words
    assert "score 0.52, bar 0.31: open" in page.words
    assert "of another project" not in page.words


def test_now_can_show_all_projects(served: Served, browser: Browser) -> None:
    """What other projects got stands beside what this one got, each with its name."""
    lines = [
        event_line(600, "e" * 16, reason="elsewhere", prompt="asked elsewhere"),
        event_line(601, key_of(served.shop), reason="elsewhere", prompt="asked here"),
    ]
    write_log(served.shop, lines)
    every = browser.get(f"{served.base}/now?owner=*&reason=elsewhere").words
    own = browser.get(f"{served.base}/now?reason=elsewhere").words

    assert re.search(r"e{16} claude, answered in 42 ms Why\? asked elsewhere", every)
    assert re.search(r"shop claude, answered in 42 ms Why\? asked here", every)
    assert "asked here" in own
    assert "asked elsewhere" not in own


@pytest.fixture(scope="module")
def vault(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """Another project of the same home, with settings of its own."""
    other = Shop(git_project(tmp_path_factory.mktemp("more") / "vault", {"a.md": "# Vault\n"}), served.shop.home)
    other.out("reindex", "--quiet")
    return other


def test_why_leads_to_the_project_of_the_event(served: Served, browser: Browser, vault: Shop) -> None:
    """Among all projects each event leads to its own, and is explained by the session and the settings there."""
    key, own = key_of(vault), key_of(served.shop)
    same = {"session": "moved", "topic_id": "t1", "reason": "same_topic", "items": []}
    lines = [
        event_line(700, own, session="moved", topic_id="t1", prompt="first here"),
        event_line(701, key, session="moved", topic_id="t1", prompt="first there"),
        event_line(702, key, **same, prompt="then there"),
        event_line(703, "d" * 16, **same, prompt="then nowhere"),
    ]
    write_log(served.shop, lines)
    now = browser.get(f"{served.base}/now?owner=*&reason=same_topic")
    pages = [browser.get(f"{base}/decision?id=0002be02be") for base in (f"/p/{key}", served.base)]
    forgotten = browser.get(f"{served.base}/decision?id=0002bf02bf")

    assert f"/p/{key}/decision?id=0002be02be" in now.links()
    assert f"{served.base}/decision?id=0002bf02bf" in now.links()
    assert all("0002bd02bd" in page.words for page in pages)
    assert not any("0002bc02bc" in page.words for page in (*pages, forgotten))
    assert '<span class="tag">vault</span>' in pages[1].text
    assert f'<span class="tag">{"d" * 16}</span>' in forgotten.text


def test_the_settings_that_explain_are_those_of_the_event(served: Served, browser: Browser, vault: Shop) -> None:
    """What would change a silence stands in the settings of its project, wherever its address is."""
    (vault.root / ".hybrid").mkdir(exist_ok=True)
    (vault.root / ".hybrid" / "config.toml").write_text("[hooks]\nbudget = 77\n")
    write_log(served.shop, [event_line(710, key_of(vault), reason="budget", items=[])])
    told = vault.json("explain", "0002c602c6")["advice"]
    page = browser.get(f"{served.base}/decision?id=0002c602c6").words

    assert "hooks.budget` (77 lines)" in told[0]
    assert all(_letters(hint) in _letters(page) for hint in told)


def test_an_event_is_labelled_as_what_is_known_of_it(served: Served, browser: Browser, vault: Shop) -> None:
    """By its key, by its directory when it has no key, by its folder when its project is forgotten."""
    lines = [
        event_line(720, "c" * 16, reason="labels", prompt="forgotten", root="/src/old-mill"),
        event_line(721, key_of(vault), reason="labels", prompt="by key"),
        {**event_line(722, "", reason="labels", prompt="by directory"), "project": None, "cwd": f"{vault.root}/deep"},
        {**event_line(723, "", reason="labels", prompt="beside"), "project": None, "cwd": f"{vault.root}-2"},
    ]
    write_log(served.shop, lines)
    page = browser.get(f"{served.base}/now?owner=*&reason=labels")

    for name, prompt in [("old-mill", "forgotten"), ("vault", "by key"), ("vault", "by directory")]:
        assert re.search(rf"{name} claude, answered in 42 ms Why\? {prompt}", page.words), page.words
    assert re.search(r"no project claude, answered in 42 ms Why\? beside", page.words)
    assert f"/p/{key_of(vault)}/decision?id=0002d202d2" in page.links()


def test_a_mark_leads_back_to_what_was_looked_at(served: Served, browser: Browser) -> None:
    """All projects, the choice and the page stay as they were; in rows that arrive by themselves too."""
    write_log(
        served.shop,
        [event_line(number, key_of(served.shop), reason="kept", prompt=f"kept {number}") for number in range(730, 733)],
    )
    shown = f"{served.base}/now?owner=%2A&show=prompts&reason=kept"
    page = browser.get(f"{shown}&before=0002dc02dc")
    backs = re.findall(r'name="back" value="([^"]*)"', page.text)
    done = browser.post(f"{served.base}/mark", {"id": "0002da02da", "word": "good", "back": unescape(backs[0])})
    browser.post(f"{served.base}/mark", {"id": "0002da02da", "word": "none"})
    connection, answer = _followed(served, browser, "0002db02db", "owner=%2A&show=prompts&reason=kept")
    with contextlib.closing(connection), answer:
        line = next(line for line in iter(answer.readline, b"") if line.startswith(b"data:"))
    row = json.loads(line.removeprefix(b"data:"))["row"]

    assert {f"{shown}&before=0002dc02dc"} == {unescape(back) for back in backs}
    assert f"{shown}&before=0002dc02dc" == done.headers["location"]
    assert {shown} == {unescape(back) for back in re.findall(r'name="back" value="([^"]*)"', row)}


def test_rows_of_the_memory_have_their_titles(served: Served, browser: Browser) -> None:
    """The log keeps ids only; the page looks the titles up."""
    item = {"kind": "observation", "id": "o1", "path": None, "name": None, "form": "full", "cosine": 0.4, "key": "o"}
    write_log(served.shop, [event_line(500, key_of(served.shop), reason="named", items=[item])])
    now = browser.get(f"{served.base}/now?reason=named").words
    decision = browser.get(f"{served.base}/decision?id=0001f401f4").words

    assert "full observation o1 Cap retry attempts at 5" in now
    assert "observation o1 Cap retry attempts at 5" in decision


def test_now_can_be_restricted(served: Served, browser: Browser) -> None:
    """By reason, and to what was given."""
    silent = browser.get(f"{served.base}/now?reason=gate").words
    given = browser.get(f"{served.base}/now?show=injected").words

    assert "Nothing in the project is close enough" in silent
    assert "PaymentClient" not in silent
    assert "Nothing in the project is close enough" not in given


def test_now_is_paged(served: Served, browser: Browser) -> None:
    """Each page begins after the last event of the one before, and each event stands on one page."""
    key = key_of(served.shop)
    write_log(
        served.shop,
        [
            event_line(number, key, reason="paged", prompt=f"page {number}", score=None, top_cosine=None)
            for number in range(1000, 1120)
        ],
    )
    path, seen = f"{served.base}/now?reason=paged", []
    while path:
        page = browser.get(path)
        seen += [
            number for number in range(1000, 1120) if f"page {number}”" in page.words or f"page {number} " in page.words
        ]
        path = next((one for one in page.links() if "before=" in one), "")

    assert sorted(range(1000, 1120), reverse=True) == sorted(seen, reverse=True)
    assert 120 == len(seen)


def test_a_decision_says_what_explain_says(served: Served, browser: Browser) -> None:
    """Sentence, verdict in words, advice, and the numbers of each leg."""
    page = browser.get(f"{served.base}/decision?id=0000040004").words
    told = json.loads(served.shop.out("explain", "0000040004", "--json"))

    assert told["advice"]
    # What stands between back-ticks is set as code.
    assert all(_letters(hint) in _letters(page) for hint in told["advice"])
    assert "score 0.12, opens above 0.31" in page


def _letters(text: str) -> str:
    return "".join(text.replace("`", "").split())


def test_a_decision_that_is_gone_is_told(served: Served, browser: Browser) -> None:
    """An id that the log does not hold is no failure of the page."""
    page = browser.get(f"{served.base}/decision?id=ffffffffff")

    assert 400 == page.status
    assert "holds no such event any more" in page.words


def test_a_damaged_line_is_shown_as_far_as_it_goes(served: Served, browser: Browser) -> None:
    """Values of wrong types are left out."""
    assert 200 == browser.get(f"{served.base}/decision?id=0000070007").status


def test_the_log_is_followed_by_each_page(served: Served, browser: Browser) -> None:
    """What is written to the log arrives as an event of each stream, with the row that shows it."""
    newest = browser.get(f"{served.base}/now").text.partition('data-newest="')[2].partition('"')[0]
    streams = [_followed(served, browser, newest) for _ in range(3)]
    write_log(served.shop, [event_line(300, key_of(served.shop), prompt="followed <b>")])
    for connection, answer in streams:
        lines: list[bytes] = []
        while not (lines and lines[-1].startswith(b"data:")):
            lines.append(answer.readline())
            assert lines[-1], lines
        answer.close()
        connection.close()
        told = json.loads(lines[-1].removeprefix(b"data:"))
        assert "text/event-stream" in answer.headers["content-type"]
        assert "00012c012c" == told["id"]
        assert "followed &lt;b&gt;" in told["row"]


def _followed(served: Served, browser: Browser, newest: str, shown: str = "") -> tuple[HTTPConnection, HTTPResponse]:
    """A stream of the log from an event on, of which the first line was read."""
    connection = HTTPConnection("127.0.0.1", browser.port, timeout=120)
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    connection.request("GET", f"{served.base}/now/events?{shown}&after={newest}", headers={"Cookie": cookies})
    answer = connection.getresponse()
    assert answer.readline()
    return connection, answer


def test_a_decision_is_marked_as_the_command_marks_it(served: Served, browser: Browser) -> None:
    """A click is what `hybrid mark` does, and a second one takes it back."""
    browser.get(f"{served.base}/gate")
    marked = browser.post(f"{served.base}/mark", {"id": "0000040004", "word": "good", "back": f"{served.base}/gate"})
    page = browser.get(marked.headers["location"])
    listed = served.shop.json("mark", "list")["marks"]
    browser.post(f"{served.base}/mark", {"id": "0000040004", "word": "none"})

    assert f"{served.base}/gate" == marked.headers["location"]
    assert "Marked good: it should have spoken" in page.words
    assert [("0000040004", "good")] == [(one["id"], one["mark"]) for one in listed]
    assert 1 == served.shop.run("mark", "list").returncode


@pytest.mark.parametrize("back", ["http://evil.example/", "//evil.example", "/p/other/now", "/p/x\r\nSet-Cookie: a=b"])
def test_a_change_leads_back_into_this_project_only(served: Served, browser: Browser, back: str) -> None:
    """An address from elsewhere is not followed."""
    browser.get(f"{served.base}/gate")
    page = browser.post(f"{served.base}/mark", {"id": "0000030003", "word": "good", "back": back})
    browser.post(f"{served.base}/mark", {"id": "0000030003", "word": "none"})

    assert f"{served.base}/now" == page.headers["location"]


def test_search_marks_the_words_and_draws_the_evidence(served: Served, browser: Browser) -> None:
    """The hits of `hybrid search`, lines with numbers, words of the query marked."""
    page = browser.get(f"{served.base}/search?q=payment+client+retry")
    found = served.shop.json("search", "payment client retry")["hits"]

    places = [f"{hit['path']}:{hit['start_line']}" for hit in found if hit["path"]]
    assert places
    assert all(place in page.words for place in places)
    assert "<mark>" in page.text
    assert "Pieces of evidence" in page.words
    assert 'class="sharebar plus"' in page.text


def test_search_tells_how_many_of_each_kind(served: Served, browser: Browser) -> None:
    """The limit counts for each kind, so the sum is told in parts; what is no file leads to its record."""
    page = browser.get(f"{served.base}/search?q=payment+client+retry+loop")
    links = page.links()
    nothing = browser.get(f"{served.base}/search?q=payment&path=nowhere/*").words

    assert re.search(r"\b\d+ hits: \d+ among files, \d+ of the memory\.", page.words)
    assert f"{served.base}/memory/row?id=o1" in links
    assert 200 == browser.get(f"{served.base}/memory/row?id=o1").status
    assert "Nothing was found. Try fewer or other words, or search without the restrictions" in nothing


def test_search_is_restricted_as_the_command_is(served: Served, browser: Browser) -> None:
    """By path and by kind; what cannot be is said."""
    docs = browser.get(f"{served.base}/search?q=payment&path=docs/*")
    lessons = browser.get(f"{served.base}/search?q=commit&kind=lessons")
    both = browser.get(f"{served.base}/search?q=commit&kind=lessons&path=docs/*")

    assert "src/payments/client.py" not in docs.words
    assert "L001" in lessons.words
    assert 409 == both.status
    assert "leave out the path or the records" in both.words


def test_a_question_of_the_command_line_is_asked(served: Served, browser: Browser) -> None:
    """Its form is made from its arguments, and its answer is what the command prints; a wrong value is said."""
    every = browser.get(f"{served.base}/ask")
    form = browser.get(f"{served.base}/ask?question=memory+files")
    answer = browser.get(f"{served.base}/ask?question=memory+files&ask=1&path=src/users&form=index")
    wrong = browser.get(f"{served.base}/ask?question=memory+files&ask=1&path=src&limit=many")

    assert {f"{served.base}/ask?question=lore+latest", f"{served.base}/ask?question=search"} <= set(every.links())
    assert (True, True) == ('<textarea class="short" id="f-path"' in form.text, "one a line" in form.words)
    assert all(line in answer.text for line in served.shop.out("memory", "files", "src/users").splitlines()[:2])
    assert (409, True) == (wrong.status, "limit" in wrong.words)


@pytest.mark.parametrize("name", ["memory forget", "lessons add", "doctor", "nothing"])
def test_what_changes_something_is_no_question(served: Served, browser: Browser, name: str) -> None:
    """It has no form there, and is not done when it is asked for by name."""
    page = browser.get(f"{served.base}/ask?question={name.replace(' ', '+')}&ask=1&id=o1&yes=1&title=T&content=C")

    assert "<form class" not in page.text
    assert "o1" in served.shop.out("memory", "show", "o1")


def test_the_gate_draws_where_prompts_fell(served: Served, browser: Browser) -> None:
    """A curve with a point for each compared prompt, and the bars in force."""
    page = browser.get(f"{served.base}/gate")

    assert 'class="gatecurve wide"' in page.text
    assert page.text.count('class="silent"') >= 1
    assert page.text.count('class="given"') >= 3
    assert "Keeps out" in page.words
    assert "tasks of other projects 0." in page.words


def test_lessons_are_added_edited_superseded_and_deleted(served: Served, browser: Browser) -> None:
    """The forms do what the commands do; a lesson that resembles another is not added unasked."""
    base, shop = f"{served.base}/lessons", served.shop
    browser.get(base)
    browser.post(
        f"{base}/add", {"title": "Look twice", "content": "Read a diff before it lands", "triggers": "diff, review"}
    )
    added = next(one for one in shop.json("lessons", "list")["lessons"] if one["title"] == "Look twice")
    twin = browser.post(f"{base}/add", {"title": "Look twice", "content": "Read a diff before it lands"})
    form = {
        "id": added["id"],
        "title": "Look thrice",
        "content": "Read a diff",
        "category": "pattern",
        "triggers": "diff",
    }
    browser.post(f"{base}/edit", form)
    edited = shop.json("lessons", "show", added["id"])["lessons"][0]
    browser.post(f"{base}/supersede", {"id": added["id"], "new": "L001"})
    superseded = shop.json("lessons", "show", added["id"])["lessons"][0]
    browser.post(f"{base}/delete", {"id": "L002"})
    deleted = shop.json("lessons", "show", "L002")["lessons"][0]

    assert ["diff", "review"] == added["triggers"]
    assert 409 == twin.status
    assert "not added: it resembles" in twin.words
    assert "Read a diff before it lands</textarea>" in twin.text
    assert ("Look thrice", "Read a diff", "pattern") == (edited["title"], edited["content"], edited["category"])
    assert "L001" == superseded["superseded"]
    assert "deleted" == deleted["superseded"]


def test_a_secret_that_is_masked_is_not_written_over(served: Served, browser: Browser) -> None:
    """A lesson whose file holds a secret is edited elsewhere: what was masked is not taken for the text."""
    shop, base = served.shop, f"{served.base}/lessons"
    path = shop.root / ".hybrid" / "LESSONS.md"
    path.write_text(
        path.read_text().rstrip() + f"\n\n### [L090] Token\n- **Learned**: 2026-01-02\n> Send {SECRET} never\n"
    )
    form = browser.get(f"{base}/edit?id=L090")
    page = browser.post(
        f"{base}/edit", {"id": "L090", "title": "Tokens", "content": "Send [redacted:github_token] never"}
    )

    assert 200 == form.status, form.words
    assert SECRET not in form.text
    assert 303 == page.status
    assert SECRET in path.read_text()
    assert "Tokens" in path.read_text()


def test_taking_away_asks_first(served: Served, browser: Browser) -> None:
    """The links of a lesson and of rows lead to a page that shows what goes, and only its form takes it away."""
    lesson = browser.get(f"{served.base}/lessons/delete?id=L001").words
    rows = browser.get(f"{served.base}/memory/forget?ids=o2").words

    assert "Delete L001? Git commit format" in lesson
    assert "Forget 1 row for good?" in rows
    assert "Run pytest tests/test_store.py" in rows


def test_lore_is_shown_retracted_and_superseded(served: Served, browser: Browser) -> None:
    """Records with what their file says; a decision is taken back, or another one takes its place."""
    shop, base = served.shop, f"{served.base}/lore"
    shop.out("lore", "decide", "Keep the queue", "--why", "It is enough")
    shop.out("lore", "decide", "Drop the cache", "--why", "It was stale")
    listed = {one["name"]: one["id"] for one in shop.json("lore", "list")["records"] if one["kind"] == "decision"}
    page = browser.get(f"{base}?kind=decision").words
    record = browser.get(f"{base}/record?id={listed['Keep the queue']}").words
    browser.post(f"{base}/retract", {"id": listed["Keep the queue"], "reason": "It broke"})
    browser.post(f"{base}/supersede", {"id": listed["Drop the cache"], "new": "dec-a1b2c3d4"})
    after = {one["name"]: one["status"] for one in shop.json("lore", "list", "--all")["records"]}

    assert "Keep the queue" in page
    assert "rationale It is enough" in record
    assert ("retracted", "superseded") == (after["Keep the queue"], after["Drop the cache"])


def test_memory_is_a_timeline_with_filters(served: Served, browser: Browser) -> None:
    """By project, sort, file, time and text; with the days as headings."""
    base = f"{served.base}/memory"
    mine, every = browser.get(base).words, browser.get(f"{base}?owner=*").words

    assert "2026-01-10" in mine
    assert "Sign the cookie" not in mine
    assert "Sign the cookie" in every
    assert "Cap retry" not in browser.get(f"{base}?type=discovery").words
    assert "Cap retry" in browser.get(f"{base}?file=src/payments").words
    assert "Cap retry" not in browser.get(f"{base}?since=2026-01-11").words
    assert "Cap retry" in browser.get(f"{base}?q=retry+loop").words
    assert 409 == browser.get(f"{base}?since=never").status


def test_memory_tells_how_many_rows_fit(served: Served, browser: Browser) -> None:
    """Of the projects that are looked at, with and without summaries, which can be asked for beside other sorts."""
    base = f"{served.base}/memory"
    mine, every = browser.get(base).words, browser.get(f"{base}?owner=*").words
    mixed = browser.get(f"{base}?type=summary&type=bugfix").words
    sought = browser.get(f"{base}?type=summary&type=bugfix&q=retry+loop").words

    assert "4 rows" in mine
    assert "shop (4) all projects (5) blog (1)" in mine
    assert "summary 1" in mine
    assert "change 1" in mine
    assert "5 rows" in every
    assert "change 2" in every
    assert "2 rows" in mixed
    assert mixed.index("Make the retry loop end") < mixed.index("Cap retry attempts")
    assert "Run pytest" not in mixed
    assert {"Make the retry loop end", "Cap retry attempts"} == {
        title for title in ("Make the retry loop end", "Cap retry attempts", "Run pytest") if title in sought
    }


def test_what_is_forgotten_is_gone(served: Served, browser: Browser) -> None:
    """Rows go for good, from the store and from the search; forgetting again finds nothing."""
    base = f"{served.base}/memory"
    served.shop.out("memory", "add", "A row that nobody wants", "--quiet")
    name = next(row for row in served.shop.json("memory", "recent")["records"] if "nobody wants" in row["title"])
    ref = f"o{name['id']}" if str(name["id"]).isdigit() else str(name["id"])
    browser.get(f"{base}/forget?ids={ref}")
    done = browser.post(f"{base}/forget", {"ids": ref})
    told = browser.get(done.headers["location"]).words
    again = browser.get(browser.post(f"{base}/forget", {"ids": ref}).headers["location"]).words

    assert "Forgot 1 row for good" in told
    assert "Nothing to forget" in again
    assert "nobody wants" not in served.shop.out("memory", "recent")
    assert "nobody wants" not in browser.get(f"{base}?q=nobody+wants").words


def test_the_index_tells_files_and_what_was_left_out(served: Served, browser: Browser) -> None:
    """Figures, languages, reasons in words; files can be looked for."""
    page = browser.get(f"{served.base}/index?contains=client").words
    skipped = browser.get(f"{served.base}/index?show=skipped").words
    found = browser.get(f"{served.base}/index?contains=CLIENT").words

    assert re.search(r"Files by language .*python \d+", page)
    assert "src/payments/client.py code python" in page
    assert "lock_file" in skipped
    assert "src/users/store.py" not in found
    assert "src/payments/client.py" in found


def test_the_files_are_paged(served: Served, browser: Browser) -> None:
    """The next page begins after the last path of this one."""
    folder = served.shop.root / "many"
    folder.mkdir(exist_ok=True)
    for number in range(150):
        (folder / f"f{number:03}.py").write_text(f"def f{number}():\n    return {number}\n")
    served.shop.out("reindex", "--quiet")
    first = browser.get(f"{served.base}/index?contains=many/")
    second = browser.get(next(one for one in first.links() if "after=" in one).partition("#")[0])

    assert "many/f000.py" in first.words
    assert "many/f149.py" not in first.words
    assert "many/f149.py" in second.words
    assert "many/f000.py" not in second.words


def test_health_is_what_doctor_finds(served: Served, browser: Browser) -> None:
    """Findings with remedies, the gravest first."""
    page = browser.get(f"{served.base}/health").words

    assert "no client calls hybrid → hybrid hook install --client claude" in page
    assert page.index("warning") < page.index("every file has the digest")


def test_another_project_can_be_looked_at(
    served: Served, browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The projects of the registry stand in the menu; one that is not known is not there."""
    other = Shop(git_project(tmp_path_factory.mktemp("other") / "bank", {"a.md": "# Bank\n"}), served.shop.home)
    other.out("reindex", "--quiet")
    menu = browser.get(f"{served.base}/now")
    link = next(one for one in menu.links() if one.startswith("/p/") and not one.startswith(served.base))
    page = browser.get(link)

    projects = browser.get("/projects")
    row = re.search(r"bank \S+/bank No event in the log\. 0 rows in the memory\. Memory of bank", projects.words)

    assert row, projects.words
    assert f"{link.rpartition('/')[0]}/memory" in projects.links()
    assert re.search(r"also keeps rows of projects that are not known any more: blog \(1\)", projects.words)
    assert "bank" in menu.words
    assert "What was given to agents in bank" in page.words
    assert 404 == browser.get("/p/0123456789abcdef/now").status


def test_a_number_that_is_not_known_is_not_zero(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the memory cannot be asked, the list of projects tells why, and no number."""
    desk = Desk(served.shop.home, command_environment(served.shop.home), served.shop.root)

    def refuse(*_: object) -> None:
        raise PageError("the memory is in use", "busy")

    monkeypatch.setattr(desk.service, "command", refuse)
    shown = projects(Asked(desk, NO_PROJECT, PageSession(), QueryParams(""), {}))
    text = bytes(shown.body).decode()

    assert "How many rows the memory has is not known: the memory is in use." in text
    assert "– rows in the memory" in text
    assert not re.search(r"\d rows? in the memory", text)


def test_what_became_of_it_comes_first(served: Served, browser: Browser) -> None:
    """The view of the decisions counts the last days by kind; that of one begins with the text that the agent saw."""
    home, one = browser.get(f"{served.base}/now"), browser.get(f"{served.base}/decision?id=0000010001")

    assert "What became of it, last 7 days" in home.words
    assert "code 1 1 0 0 0 0" in " ".join(home.words.split())
    assert "edited src/payments/client.py; ignored" in one.words
    assert one.words.index("The text as the agent saw it") < one.words.index("Gates: scores")
    assert "[code] src/payments/client.py:1-20" in one.words
    assert "<script>alert(1)" not in one.text
