"""A real headless Chromium, and what tests ask of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .conftest import wait_for

AXE = Path(__file__).parent / "data" / "axe.min.js"  # of npm, MPL-2.0, for these tests only
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--window-size=1400,1000",
)


class Browser:
    """One page of Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def text(self, selector: str) -> str:
        found: str = self.js("(document.querySelector(arguments[0]) || {}).textContent || ''", selector)
        return found

    def find(self, selector: str) -> Any:
        """The element, once it is there."""
        return wait_for(lambda: self.js("document.querySelector(arguments[0])", selector))

    def says(self, selector: str, words: str) -> None:
        """Wait until the element says the words."""
        wait_for(lambda: words in self.text(selector))

    def unfold(self, selector: str) -> None:
        """Click on the summary of a fold until it is open: a page that is still growing moves it away from a click."""

        def is_open() -> bool:
            fold = self.find(selector)
            if not self.js("arguments[0].open", fold):
                self.js("arguments[0].scrollIntoView({block: 'center'})", fold)
                self.find(f"{selector} > summary").click()
            return bool(self.js("arguments[0].open", fold))

        wait_for(is_open)

    def press(self, *keys: str) -> None:
        """To whatever has the focus."""
        from selenium.webdriver import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def focused(self) -> str:
        """What the focus is on: its id, or its words."""
        found: str = self.js(
            "(e => e.id || e.getAttribute('aria-label') || e.textContent.trim())(document.activeElement)"
        )
        return found

    def tab_to(self, name: str, most: int = 80) -> None:
        """Press Tab until the focus is on the element of that id or of those words."""
        for _ in range(most):
            if self.focused() == name:
                return
            self.press("\ue004")
        raise AssertionError(f"Tab does not reach {name!r}; it ended on {self.focused()!r}")

    def resize(self, width: int, height: int = 900) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def whole_page(self, width: int, path: Path | None = None) -> None:
        """Show the page at its full height, wait until every plot in it is drawn, and keep a picture if asked."""

        def drawn() -> bool:
            # a plot is drawn when it comes into view, and the page may still grow: follow it
            self.resize(width, int(self.js("document.documentElement.scrollHeight")))
            plots = "[...document.querySelectorAll('.plot')].filter(p => p.offsetParent !== null)"
            return bool(self.js(f"{plots}.every(p => p.querySelector('.main-svg'))"))

        self.resize(width)
        wait_for(drawn)
        self.resize(width, int(self.js("document.documentElement.scrollHeight")))
        if path is not None:
            self.driver.save_screenshot(str(path))

    def layout_faults(self, seconds: float = 15.0) -> list[str]:
        """What is wrong with the layout once it has settled: plots follow a new width a moment later."""
        until = time.monotonic() + seconds
        while (found := self.js(LAYOUT_FAULTS)) and time.monotonic() < until:
            time.sleep(0.1)
        return list(found)

    def scheme(self, name: str) -> None:
        """The colours that the reader's system prefers: "light" or "dark"."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def barriers(self) -> list[str]:
        """What keeps people with a keyboard, a screen reader or weak eyes out, by axe-core: serious and critical."""
        if not self.js("'axe' in window"):
            self.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": AXE.read_text(encoding="utf-8")})
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run(document).then(done, (e) => done(String(e)))"
        )
        assert isinstance(found, dict), found
        return [
            f"{v['id']}: {node['target']} {node['failureSummary']}"
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
            for node in v["nodes"]
        ]

    def complaints(self) -> list[str]:
        """What the console said that is worse than information, since the last time."""
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in ("SEVERE", "WARNING")]


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A fresh Chromium; ends with the block."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


# what is wrong with a page as it is laid out now; empty where nothing is
LAYOUT_FAULTS = """(() => {
  const faults = [];
  const wide = document.documentElement.clientWidth;
  const needed = document.documentElement.scrollWidth;
  if (needed > wide) faults.push(`the page is ${needed} wide`);
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.offsetParent !== null);
  const boxes = seen('.card, .tile').map((e) => [e, e.getBoundingClientRect()]);
  for (const [e, box] of boxes) {
    const name = e.textContent.trim().slice(0, 25);
    if (box.left < 0 || box.right > wide + 1) faults.push(`${name} sticks out`);
    if (box.width < 100 || box.height < 40) faults.push(`${name} is squeezed`);
    for (const [other, b] of boxes) {
      const beside = box.left >= b.right - 1 || b.left >= box.right - 1;
      const apart = beside || box.top >= b.bottom - 1 || b.top >= box.bottom - 1;
      if (e !== other && !apart) faults.push(`${name} overlaps ${other.textContent.trim().slice(0, 25)}`);
    }
  }
  for (const plot of seen('.plot')) {
    const card = plot.closest('.card').getBoundingClientRect(), box = plot.getBoundingClientRect();
    if (box.right > card.right + 1 || box.bottom > card.bottom + 1) faults.push(`${plot.ariaLabel} leaves its card`);
    const svg = plot.querySelector('.main-svg');
    const off = svg ? Math.abs(svg.getBoundingClientRect().width - box.width) : 0;
    if (off > 2) faults.push(`${plot.ariaLabel} does not fit`);
  }
  for (const e of document.querySelectorAll('button, select, input, h1, h2, .note, .message')) {
    const box = e.getBoundingClientRect(), cut = box.width && (box.left < 0 || box.right > wide + 1);
    if (cut && !e.closest('.scroll')) faults.push(`${e.tagName} ${e.textContent.slice(0, 20)} is cut off`);
  }
  return faults;
})()"""
