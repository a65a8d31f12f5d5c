"""The report: what it says is what results.jsonl says, and a reader can get at all of it."""

import json
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait
from tests.page.conftest import BIN

from fsyncgate.history import Ended, Observed
from fsyncgate.model import Judgement, KernelRecord, Result
from fsyncgate.store import Store

pytestmark = pytest.mark.vm

SIGNS = {"conforms": "✓", "unsafe": "!", "deviates": "✗", "unknown": "?"}
RETRY = "linux-6.12/ext4-ordered/data-eio/retrying/heal_then_retry"


def ready(browser: webdriver.Chrome, address: str) -> None:
    browser.get("about:blank")
    browser.get(address)
    WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, "body[data-ready=yes]"))


def panel(browser: webdriver.Chrome, case: str) -> str:
    """Wait for the panel of a case and return its text."""
    WebDriverWait(browser, 20).until(
        lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-case") == case
    )
    return browser.find_element(By.ID, "panel").text


def links(browser: webdriver.Chrome) -> dict[str, str]:
    """Return the cells of the matrix: what a screen reader says of each, and its sign."""
    found = browser.find_elements(By.CSS_SELECTOR, "#matrix td a")
    return {str(link.get_attribute("aria-label")): link.text for link in found}


def sign(result: dict[str, Any]) -> str:
    unsafe = result["verdict"] == "conforms" and result["safe"] is False
    return SIGNS["unsafe" if unsafe else result["verdict"]]


def script(browser: webdriver.Chrome, text: str) -> Any:
    return cast("Any", browser).execute_script(text)


def silent(browser: webdriver.Chrome) -> None:
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]


def test_the_matrix_says_what_the_results_say(
    browser: webdriver.Chrome, page: str, results: list[dict[str, Any]]
) -> None:
    ready(browser, page)
    shown = links(browser)
    for result in results:
        scenario = result["scenario"].partition("/")[2].replace("_", " ")
        kernel = result["kernel"]["id"].removeprefix("linux-")
        (said,) = [one for one in shown if one.startswith(f"{scenario}, {kernel}, {result['filesystem']}: ")]
        # A cell shows the worst of its faults; a fault alone in its cell shows its own sign.
        alone = [one for one in results if (one["scenario"], one["kernel"], one["filesystem"]) == (
            result["scenario"], result["kernel"], result["filesystem"])]  # fmt: skip
        signs = {sign(one) for one in alone}
        assert shown[said] in signs
        assert shown[said] == max(signs, key=["✓", "!", "?", "✗"].index)
    assert f"{len(results)} of {len(results)} cases." in browser.find_element(By.ID, "count").text
    silent(browser)


def test_every_case_opens_by_its_link_and_says_what_was_observed(
    browser: webdriver.Chrome, page: str, results: list[dict[str, Any]]
) -> None:
    for result in results:
        ready(browser, f"{page}#{result['case']}")
        said = panel(browser, result["case"])
        for name, value in result["observed"].items():
            assert f"{name} {value if isinstance(value, str) else json.dumps(value)} " in said.replace(
                "\n", " "
            )
        assert result["because"] in said
        assert f"fsyncgate qualify --case {result['case']}" in said
        assert result["kernel"]["package"] in said
    silent(browser)


def test_the_timeline_marks_the_moment_at_which_data_is_lost(browser: webdriver.Chrome, page: str) -> None:
    ready(browser, f"{page}#{RETRY}")
    panel(browser, RETRY)
    rows = [
        row.text.partition(" ")[2] for row in browser.find_elements(By.CSS_SELECTOR, ".timeline tbody tr")
    ]
    told = [
        next(number for number, row in enumerate(rows) if part in row)
        for part in (
            "write NEW → 4096",
            "fails: EIO",
            "the data is lost",
            "an error is noted",
            "→ EIO",
            "→ 0",
        )
    ]
    assert told == sorted(told)
    assert len(browser.find_elements(By.CSS_SELECTOR, ".timeline tr.lost")) == 1


def test_filters_leave_what_was_asked_for(
    browser: webdriver.Chrome, page: str, results: list[dict[str, Any]]
) -> None:
    ready(browser, page)
    Select(browser.find_element(By.ID, "filesystem")).select_by_visible_text("ext4-journal")
    there = [one for one in results if one["filesystem"] == "ext4-journal"]
    counted = f"{len(there)} of {len(results)} cases."
    WebDriverWait(browser, 20).until(lambda b: b.find_element(By.ID, "count").text == counted)
    assert all("ext4-journal" in said for said in links(browser))
    browser.find_element(By.ID, "words").send_keys("first")
    WebDriverWait(browser, 20).until(
        lambda b: {said.partition(",")[0] for said in links(b)} == {"first fsync"}
    )
    browser.find_element(By.CSS_SELECTOR, "#filters button[type=reset]").click()
    WebDriverWait(browser, 20).until(lambda b: f"{len(results)} of" in b.find_element(By.ID, "count").text)


def test_two_kernels_are_held_against_each_other(browser: webdriver.Chrome, page: str) -> None:
    ready(browser, page)
    for name, kernel in (("left", "5.10"), ("right", "6.12")):
        Select(browser.find_element(By.ID, name)).select_by_visible_text(kernel)
    WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, "td.differs a"))
    marked = browser.find_elements(By.CSS_SELECTOR, "td.differs a")
    assert {str(link.get_attribute("aria-label")).partition(":")[0] for link in marked} >= {
        "first fsync, 5.10, ext4-journal",
        "first fsync, 6.12, ext4-journal",
    }
    assert not any("ext4-ordered: " in str(link.get_attribute("aria-label")) and "first fsync" in str(
        link.get_attribute("aria-label")) for link in marked)  # fmt: skip


def test_the_keyboard_reaches_a_case_and_leaves_it(browser: webdriver.Chrome, page: str) -> None:
    ready(browser, page)
    link = browser.find_element(By.CSS_SELECTOR, "#matrix td a")
    link.send_keys(Keys.ENTER)
    WebDriverWait(browser, 20).until(lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-case"))
    assert browser.switch_to.active_element.text == "Close"
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    WebDriverWait(browser, 20).until(lambda b: not b.find_element(By.ID, "panel").is_displayed())


def violations(browser: webdriver.Chrome) -> list[str]:
    """Ask axe-core what a reader with a screen reader, or with weak eyes, would stumble over."""
    script(browser, resources.files("axe_core_python").joinpath("axe.min.js").read_text())
    asked = "const say = arguments[0]; axe.run().then((found) => say(found.violations));"
    found: list[dict[str, Any]] = cast("Any", browser).execute_async_script(asked)
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in found]


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_and_a_case_are_accessible_in_both_themes(
    browser: webdriver.Chrome, page: str, dark: bool
) -> None:
    ready(browser, page)
    root = browser.find_element(By.TAG_NAME, "html")
    if (root.get_attribute("data-theme") == "dark") != dark:
        browser.find_element(By.ID, "theme").click()
    assert root.get_attribute("data-theme") == ("dark" if dark else "light")
    for opened in (False, True):
        if opened:
            browser.find_element(By.CSS_SELECTOR, "#matrix td a.unsafe").click()
            WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, ".timeline"))
        assert violations(browser) == []


def test_a_phone_scrolls_the_tables_and_not_the_page(browser: webdriver.Chrome, page: str) -> None:
    cast("Any", browser).set_window_size(500, 900)
    ready(browser, page)
    width = script(browser, "return document.documentElement.scrollWidth - window.innerWidth")
    assert width <= 0


HOSTILE = "</script><script>window.hurt=1</script><img src=x onerror=window.hurt=2>\u2028${window.hurt=3}"


def test_hostile_strings_are_shown_and_never_obeyed(browser: webdriver.Chrome, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    store = Store.create(folder)
    case = "linux-6.1/xfs/data-eio/reporting/first_fsync"
    store.append(
        Result(
            case=case, scenario="reporting/first_fsync", filesystem="xfs", fault="data-eio", fired=1,
            kernel=KernelRecord("linux-6.1", HOSTILE, "6.1", HOSTILE, HOSTILE), observed={HOSTILE: HOSTILE},
            expected={"first": "EIO"}, verdict=Judgement.DEVIATES, safe=None, reason=HOSTILE, because=HOSTILE,
            seconds=1.0,
        )
    )  # fmt: skip
    where = store.case_folder(case)
    (where / "console.log").write_text(HOSTILE + "\n\x1b[31mred\n")
    events = [Observed(0.1, {HOSTILE: HOSTILE}), Ended(0.2, HOSTILE)]
    (where / "history.jsonl").write_bytes(b"".join(msgspec.json.encode(event) + b"\n" for event in events))
    subprocess.run([BIN / "fsyncgate", "report", folder], check=True)
    ready(browser, f"{(folder / 'report.html').as_uri()}#{case}")
    said = panel(browser, case)
    assert "</script><script>window.hurt=1</script>" in said
    assert script(browser, "return window.hurt === undefined")
    silent(browser)


def test_two_runs_are_shown_beside_each_other(browser: webdriver.Chrome, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "both.html"
    subprocess.run([BIN / "fsyncgate", "report", "--compare", run, run, "--out", target], check=True)
    ready(browser, target.as_uri())
    assert "nothing differs" in browser.find_element(By.TAG_NAME, "main").text


def test_a_lesson_leaves_a_page_with_its_timeline(browser: webdriver.Chrome, tmp_path: Path) -> None:
    target = tmp_path / "lesson-3.html"
    subprocess.run([BIN / "fsyncgate", "lesson", "3", "--auto", "--out", target], check=True)
    ready(browser, target.as_uri())
    rows = [row.text for row in browser.find_elements(By.CSS_SELECTOR, ".timeline tbody tr")]
    assert sum("the data is lost" in row for row in rows) == 1
    assert any("mount" in row for row in rows)
    assert violations(browser) == []
    silent(browser)
