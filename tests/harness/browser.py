"""A real Chromium without a window and without a network, for tests of pages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness.tools import need

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,1400", "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-dev-shm-usage",
)  # fmt: skip
SECONDS = 20


@contextmanager
def chromium() -> Iterator[Any]:
    """A driver of the installed Chromium; skips the test without one, or without selenium."""
    selenium = pytest.importorskip("selenium", reason="selenium is not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = need("chromium")
    for flag in _FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    assert selenium
    driver = webdriver.Chrome(options=options, service=Service(need("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def visit(driver: Any, path: Path) -> int:
    """Open a page; return the milliseconds until it could be used."""
    driver.get(path.as_uri())
    ended = time.monotonic() + SECONDS
    while time.monotonic() < ended:
        ready = driver.execute_script("return document.body.dataset.ready || null")
        if ready is not None:
            return int(ready)
        time.sleep(0.02)
    raise AssertionError(f"not ready: {driver.execute_script('return document.body.innerText')}")


def dark(driver: Any) -> None:
    """Let pages see that the reader prefers dark colours."""
    feature = {"name": "prefers-color-scheme", "value": "dark"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


@contextmanager
def paper(driver: Any, width: int) -> Iterator[None]:
    """Show a page as it is printed, on paper with some pixels between its margins."""
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        driver.execute_script("dispatchEvent(new Event('afterprint'))")
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def complaints(driver: Any) -> list[str]:
    """What the console says."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver: Any) -> list[str]:
    """The addresses that were asked for since the last call, apart from files."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [address for address in sent if not address.startswith(("file:", "data:", "about:"))]


def axe(driver: Any) -> list[tuple[str, list[str]]]:
    """The violations of accessibility that axe-core finds, with the elements."""
    module = pytest.importorskip("axe_selenium_python", reason="axe-selenium-python is not installed")
    checker = module.Axe(driver)
    checker.inject()
    found = checker.run()
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]]
