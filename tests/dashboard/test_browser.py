"""The page in a headless Chromium: every view wide and narrow, light and dark, full and empty; by keyboard; with axe.

`make browser` brings what it needs; screenshots go to `$HYBRID_BROWSER_DIR/shots`. Where Chromium, its driver, Selenium
or axe is missing the tests are skipped, and say so.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.agent import Agent, until
from tests.support.builders import CHECKOUT, new_shop
from tests.support.pages import Served, event_line, full_shop, key_of, write_log

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.builders import Shop

FOLDER = Path(os.environ.get("HYBRID_BROWSER_DIR", CHECKOUT / ".browser")).absolute()
AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
DRIVER = shutil.which("chromedriver") or ""
MISSING = [
    name
    for name, is_there in (
        ("chromium", CHROMIUM),
        ("chromedriver", DRIVER),
        ("selenium", importlib.util.find_spec("selenium")),
        (str(AXE), AXE.is_file()),
    )
    if not is_there
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"`make browser` brings what is missing here: {', '.join(MISSING)}"),
]

VIEWS = {
    "now": "/now",
    "decision": "/decision?id=0000010001",
    "decision-hostile": "/decision?id=0000050005",
    "decision-silent": "/decision?id=0000040004",
    "search": "/search",
    "search-found": "/search?q=how+does+the+payment+client+retry",
    "gate": "/gate",
    "lessons": "/lessons",
    "lesson-edit": "/lessons/edit?id=L001",
    "lesson-supersede": "/lessons/supersede?id=L001",
    "lesson-delete": "/lessons/delete?id=L001",
    "lore": "/lore?all=1",
    "lore-record": "/lore/record?id=dec-a1b2c3d4",
    "memory": "/memory?owner=*",
    "memory-filtered": "/memory?type=bugfix&file=src&since=2026-01-01",
    "memory-row": "/memory/row?id=o1",
    "memory-forget": "/memory/forget?ids=o1&ids=o2",
    "index": "/index",
    "health": "/health",
}
SIZES = {"wide": (1280, 900), "narrow": (380, 800)}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A project in which there is something of everything."""
    yield from _served(full_shop(tmp_path_factory.mktemp("full")))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A project with an index and nothing else."""
    yield from _served(new_shop(tmp_path_factory.mktemp("empty")))


def _served(shop: Shop) -> Iterator[Served]:
    page = Served(shop)
    try:
        yield page
    finally:
        page.end()
        Agent(shop).stop_service()


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Any]:
    """A headless browser with a profile of its own."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(60)
    yield driver
    driver.quit()


def _log_in(driver: Any, page: Served) -> None:
    """Open the printed address, as a person does; each address works once, so later tests take over its cookie."""
    if not page.browser.cookies:
        driver.get(page.told["url"])
        until(lambda: "/now" in driver.current_url)
        assert "#" not in driver.current_url
        page.browser.cookies.update({one["name"]: one["value"] for one in driver.get_cookies()})
        return
    driver.get(page.told["address"])
    for name, value in page.browser.cookies.items():
        driver.add_cookie({"name": name, "value": value, "path": "/", "httpOnly": True, "sameSite": "Strict"})
    driver.get(page.told["address"])


def _show(driver: Any, page: Served, path: str, size: str, theme: str) -> None:
    width, height = SIZES[size]
    # A window of a headless browser is at least 500 wide: what is narrower is a view of a phone.
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "narrow"},
    )
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    driver.get(f"http://127.0.0.1:{page.told['port']}{page.base}{path}")


def _shoot(driver: Any, name: str) -> None:
    import base64

    shots = FOLDER / "shots"
    shots.mkdir(parents=True, exist_ok=True)
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "format": "png"})
    (shots / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))


def _is_login(page: Served, message: str) -> bool:
    """Is it the browser's remark that the first page asked for a token?"""
    return message.startswith((page.told["address"] + " ", page.told["address"] + "#")) and "401" in message


def _violations(driver: Any) -> list[str]:
    """What axe finds that is serious or worse."""
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    found = driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']}).then(done)"
    )
    return [
        f"{one['id']} ({one['impact']}): {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("fill", ["full", "empty"])
def test_every_view_can_be_read(
    fill: str, size: str, theme: str, request: pytest.FixtureRequest, chromium: Any
) -> None:
    """No view is wider than the window, breaks a rule of its own policy, or has a serious flaw for assistive tools."""
    page: Served = request.getfixturevalue(fill)
    _log_in(chromium, page)
    wrong: dict[str, object] = {}
    views = (
        VIEWS
        if fill == "full"
        else {name: path for name, path in VIEWS.items() if "?id" not in path and "ids" not in path}
    )
    for name, path in views.items():
        _show(chromium, page, path, size, theme)
        _shoot(chromium, f"{name}-{fill}-{size}-{theme}")
        overflow = chromium.execute_script("return document.documentElement.scrollWidth - innerWidth")
        messages = [one["message"] for one in chromium.get_log("browser") if not _is_login(page, one["message"])]
        if problems := [*_violations(chromium), *messages, *([f"{overflow} px too wide"] if overflow > 0 else [])]:
            wrong[name] = problems

    assert {} == wrong


def test_new_decisions_appear_by_themselves(full: Served, chromium: Any) -> None:
    """A line that is written to the log is shown without loading the page again, its hostile text as text."""
    _log_in(chromium, full)
    _show(chromium, full, "/now", "wide", "light")
    until(lambda: "live" in chromium.find_element("id", "live").text)
    write_log(full.shop, [event_line(200, key_of(full.shop), prompt="What came <b>live</b>?")])
    until(lambda: "What came <b>live</b>?" in chromium.find_element("id", "events").text)
    first = chromium.find_element("css selector", "#events > article")

    assert "What came <b>live</b>?" in first.text
    assert [] == [one for one in chromium.get_log("browser") if not _is_login(full, one["message"])]


def test_the_theme_can_be_switched_and_stays(full: Served, chromium: Any) -> None:
    """The button changes the colours whatever the system prefers, and the next page keeps them."""
    _log_in(chromium, full)
    _show(chromium, full, "/lessons", "wide", "light")
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = chromium.execute_script(ground)
    chromium.find_element("id", "theme").click()
    after = chromium.execute_script(ground)
    chromium.get(chromium.current_url)

    assert before != after
    assert after == chromium.execute_script(ground)


def test_a_keyboard_is_enough(full: Served, chromium: Any) -> None:
    """By keys alone: to the search field, to a hit, to a decision, to mark it; the focus can be seen everywhere."""
    from selenium.webdriver.common.keys import Keys

    _log_in(chromium, full)
    _show(chromium, full, "/search", "wide", "light")
    body = chromium.find_element("tag name", "body")
    assert "q" == chromium.switch_to.active_element.get_attribute("id")
    chromium.switch_to.active_element.send_keys("payment retry", Keys.ENTER)
    until(lambda: "q=payment" in chromium.current_url)
    body = chromium.find_element("tag name", "body")
    body.send_keys("j")
    hit = chromium.switch_to.active_element
    assert "article" == hit.tag_name
    outline = chromium.execute_script("return getComputedStyle(document.activeElement).outlineStyle")

    _show(chromium, full, "/gate", "wide", "light")
    _tab_to(chromium, lambda: chromium.switch_to.active_element.get_attribute("value") == "good")
    chromium.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: "Marked good" in chromium.page_source)

    assert "solid" == outline


def _tab_to(driver: Any, is_there: Any, most: int = 200) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    for _ in range(most):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        if is_there():
            return
    raise AssertionError("the keyboard does not lead there")
