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
from tests.support.cases import read
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

VIEWS = {case.text: str(case.expected) for case in read("dashboard/views.txt")}
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


def _views(fill: str) -> dict[str, str]:
    """The views that a project has; where nothing is, no record can be shown."""
    has_record = ("?id", "ids", "session=s")
    return VIEWS if fill == "full" else {n: path for n, path in VIEWS.items() if not any(p in path for p in has_record)}


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
    for name, path in _views(fill).items():
        _show(chromium, page, path, size, theme)
        _shoot(chromium, f"{name}-{fill}-{size}-{theme}")
        # What is folded up is looked at as well.
        chromium.execute_script("for (const one of document.querySelectorAll('main details')) one.open = true")
        overflow = chromium.execute_script("return document.documentElement.scrollWidth") - SIZES[size][0]
        messages = [one["message"] for one in chromium.get_log("browser") if not _is_login(page, one["message"])]
        # A browser remarks on every answer that is an error, and these are.
        messages = [one for one in messages if "error" not in name or "Failed to load resource" not in one]
        if problems := [*_violations(chromium), *messages, *([f"{overflow} px too wide"] if overflow > 0 else [])]:
            wrong[name] = problems

    assert {} == wrong


def test_new_decisions_appear_by_themselves(full: Served, chromium: Any) -> None:
    """A line that is written to the log is shown without loading the page again, its hostile text as text."""
    _log_in(chromium, full)
    _show(chromium, full, "/now", "wide", "light")
    until(lambda: "Live" in chromium.find_element("id", "live").text)
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
    before, offered = chromium.execute_script(ground), chromium.find_element("id", "theme").text
    chromium.find_element("id", "theme").click()
    after = chromium.execute_script(ground)
    chromium.get(chromium.current_url)

    assert ("Switch to dark", "Switch to light") == (offered, chromium.find_element("id", "theme").text)
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


@pytest.mark.parametrize("fill", ["full", "empty"])
def test_every_view_is_usable_without_a_mouse(fill: str, request: pytest.FixtureRequest, chromium: Any) -> None:
    """In every view Tab reaches each control in the order of the page, with an outline; the first one skips the menus.

    Hidden controls are left out: those of closed details, and a group of radio buttons, in which arrows move.
    """
    page: Served = request.getfixturevalue(fill)
    _log_in(chromium, page)
    wrong: dict[str, object] = {}
    for name, path in _views(fill).items():
        _show(chromium, page, path, "wide", "light")
        expected = chromium.execute_script(_REACHABLE)
        stops = _tabbed(chromium, len(expected))
        skips = stops[0]["text"] if stops else ""
        invisible = [stop["html"] for stop in stops if not stop["has_outline"]]
        if [stop["number"] for stop in stops] != expected or skips != "Skip to the content" or invisible:
            wrong[name] = {"stops": [stop["html"] for stop in stops], "expected": expected, "invisible": invisible}

    assert {} == wrong


_REACHABLE = """
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')];
    const groups = new Set();
    all.forEach((one, number) => { one.dataset.number = number; });
    // A view that puts the focus into its field would begin there.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
    return all.filter((one) => {
      if (one.type === 'hidden' || one.hidden || one.disabled || one.tabIndex < 0) return false;
      if (!one.checkVisibility({checkVisibilityCSS: true, contentVisibilityAuto: true})) return false;
      if (one.type === 'radio' && !one.checked) return false;
      return true;
    }).map((one) => Number(one.dataset.number));
"""
_STOP = """
    const one = document.activeElement, style = getComputedStyle(one);
    const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    return {number: Number(one.dataset.number), html: one.outerHTML.slice(0, 90), text: one.textContent.trim(),
            has_outline: outlined};
"""


def _tabbed(driver: Any, n: int) -> list[dict[str, Any]]:
    """What has the focus after each of so many tabs, from the beginning of the page on."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    stops: list[dict[str, Any]] = []
    for _ in range(n):
        ActionChains(driver, duration=0).send_keys(Keys.TAB).perform()
        stops.append(driver.execute_script(_STOP))
    return stops


def test_the_menu_of_projects_opens_and_closes_by_keys(full: Served, chromium: Any) -> None:
    """Enter opens it, Escape closes it and leaves the focus there."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    _log_in(chromium, full)
    _show(chromium, full, "/lessons", "wide", "light")
    _tab_to(chromium, lambda: chromium.switch_to.active_element.tag_name == "summary")
    menu = "return document.querySelector('details.menu').open"
    ActionChains(chromium).send_keys(Keys.ENTER).perform()
    is_open = chromium.execute_script(menu)
    _shoot(chromium, "menu-full-wide-light")
    flaws = _violations(chromium)
    ActionChains(chromium).send_keys(Keys.ESCAPE).perform()

    assert is_open
    assert [] == flaws
    assert not chromium.execute_script(menu)
    assert "summary" == chromium.switch_to.active_element.tag_name


def test_a_record_is_written_by_keys_alone(full: Served, chromium: Any) -> None:
    """From the list to the form, through its fields, and back to the list with the new record."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    _log_in(chromium, full)
    _show(chromium, full, "/lore?kind=decision", "wide", "light")
    _tab_to(chromium, lambda: chromium.switch_to.active_element.text == "Write something down")
    ActionChains(chromium).send_keys(Keys.ENTER).perform()
    until(lambda: "/lore/add" in chromium.current_url)
    _tab_to(chromium, lambda: chromium.switch_to.active_element.get_attribute("name") == "text")
    ActionChains(chromium).send_keys("Write by keys", Keys.TAB, "No mouse was there").perform()
    _tab_to(chromium, lambda: chromium.switch_to.active_element.text == "Write it down")
    ActionChains(chromium).send_keys(Keys.ENTER).perform()
    until(lambda: "written" in chromium.page_source)

    assert "Write by keys" in chromium.find_element("id", "content").text


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
def test_pages_without_a_project_can_be_read(full: Served, chromium: Any, size: str, theme: str) -> None:
    """The list of all projects, and the login of somebody who has no session."""
    _log_in(chromium, full)
    _show(chromium, full, "/now?owner=*", size, theme)
    _shoot(chromium, f"now-all-full-{size}-{theme}")
    flaws = _violations(chromium)
    chromium.get(f"{full.told['address']}projects")
    _shoot(chromium, f"projects-full-{size}-{theme}")
    flaws += _violations(chromium)
    chromium.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    overflow = chromium.execute_script("return document.documentElement.scrollWidth") - SIZES[size][0]
    chromium.delete_all_cookies()
    chromium.get(full.told["address"])
    _shoot(chromium, f"login-full-{size}-{theme}")
    flaws += _violations(chromium)

    assert [] == flaws
    assert overflow <= 0


def _tab_to(driver: Any, is_there: Any, most: int = 200) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    for _ in range(most):
        ActionChains(driver).send_keys(Keys.TAB).perform()
        if is_there():
            return
    raise AssertionError("the keyboard does not lead there")
