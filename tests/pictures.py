"""`make pictures RUN=results/...`: the pictures of the README, taken of a run's report in Chromium."""

import sys
from pathlib import Path
from typing import Any, cast

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from tests.page.conftest import chromium

from fsyncgate import catalogue
from fsyncgate.report.html import write
from fsyncgate.store import Store

PICTURES = Path("docs/pictures")
CASE = "linux-6.12/ext4-ordered/data-eio/retrying/heal_then_retry"
LARGEST = 300_000
"""Bytes of a picture: a reader on a slow line waits for it."""


def main(run: Path) -> None:
    """Write `report.png` and `timeline.png`."""
    PICTURES.mkdir(exist_ok=True)
    page = run / "report.html"
    write([("", Store.open(run))], catalogue.all_scenarios(), catalogue.faults(), page)
    browser = chromium()
    try:
        cast("Any", browser).set_window_size(1180, 900)
        opened(browser, page.absolute().as_uri(), "body[data-ready=yes]")
        cast("Any", browser).execute_script("document.getElementById('cases').scrollIntoView()")
        taken(browser.get_screenshot_as_png(), "report.png")
        cast("Any", browser).set_window_size(
            1180, 2400
        )  # an element is pictured as far as it is in the window
        opened(browser, f"{page.absolute().as_uri()}#{CASE}", "body[data-case] .timeline")
        taken(browser.find_element(By.CSS_SELECTOR, ".timeline").screenshot_as_png, "timeline.png")
    finally:
        browser.quit()


def opened(browser: webdriver.Chrome, address: str, what: str) -> None:
    """Open a page and wait until it shows something."""
    browser.get("about:blank")
    browser.get(address)
    WebDriverWait(browser, 20).until(lambda b: b.find_elements(By.CSS_SELECTOR, what))


def taken(picture: bytes, name: str) -> None:
    """Keep a picture."""
    assert len(picture) < LARGEST, f"'{name}' has {len(picture)} bytes"
    (PICTURES / name).write_bytes(picture)
    print(f"{PICTURES / name}: {len(picture)} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
