"""The page as its readers have it: in a real Chromium, made from a run of real kernels."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

BIN = Path(sys.executable).parent
_OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1280,1000",
)  # fmt: skip


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored run: two kernels, two file systems, some scenarios that differ between them."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    asked = ["--scenario", "first_fsync", "--scenario", "heal_then_retry", "--scenario", "page_state"]
    where = ["--kernel", "5.10", "--kernel", "6.12", "--fs", "ext4-ordered", "--fs", "ext4-journal"]
    subprocess.run([BIN / "fsyncgate", "qualify", *asked, *where, "--out", folder], check=True)
    return folder


@pytest.fixture(scope="session")
def results(run: Path) -> list[dict[str, Any]]:
    """What the run's results.jsonl says."""
    return [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def page(run: Path) -> str:
    """The address of the run's report, made by the command."""
    subprocess.run([BIN / "fsyncgate", "report", run], check=True)
    return (run / "report.html").as_uri()


def chromium() -> webdriver.Chrome:
    """Start a Chromium that keeps what its console says."""
    driver = shutil.which("chromedriver")
    assert driver, "Debian's chromium-driver is not installed: make browser"
    options = Options()
    for option in _OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, Service(driver))


@pytest.fixture
def browser() -> Iterator[webdriver.Chrome]:
    """A browser of the test's own."""
    chrome = chromium()
    try:
        yield chrome
    finally:
        chrome.quit()
