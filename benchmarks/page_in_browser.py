"""How long the report page takes in a browser: its first draw, another tab, another tile.

The time is that for which its reader waits: from a key to the second frame after it.  Of each tab
the best of the samples counts, of all tabs the slowest.  The baseline is an empty page, which shows
a frame as fast as the browser can.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rows import Row

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from poplite.report import Report

TABS = "1234567890"
"""Keys of the tabs."""

NOTE_DRAWN = """
window.drawn = new Promise((done) => {
  new MutationObserver((_, observer) => {
    if (!("ready" in document.documentElement.dataset)) return;
    observer.disconnect();
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() / 1000)));
  }).observe(document, { attributes: true, subtree: true });
});
"""

PRESS = """
(key) => new Promise((done) => {
  const begin = performance.now();
  document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const end = () => done((performance.now() - begin) / 1000);
  requestAnimationFrame(() => requestAnimationFrame(end));
})
"""


def page_times(report: Report, name: str, samples: int) -> list[Row]:
    """Return the rows of a report's page; they are skipped where there is no browser."""
    names = [f"report page of {name}, {what}" for what in ("first draw", "a tab", "a tile")]
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return [Row.skipped(each) for each in names]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "report.html"
        file.write_text(report.to_html(), "utf-8")
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = started.new_page(viewport={"width": 1280, "height": 900})
        blank = [page.evaluate(PRESS, "a") for _ in range(samples)]
        page.add_init_script(NOTE_DRAWN)
        first = [opened(page, file.as_uri()) for _ in range(samples)]
        tabs = {key: [turned(page, key) for _ in range(samples)] for key in TABS}
        tiles = {}
        for key in TABS:
            page.evaluate(PRESS, key)
            tiles[key] = [page.evaluate(PRESS, "]") for _ in range(samples)]
        started.close()
    rows = []
    for what, found, most in zip(
        names, (first, slowest(tabs), slowest(tiles)), (0.5, 0.2, 0.1), strict=True
    ):
        rows.append(Row(what, min(found), "s", "<=", most, found, blank))
    return rows


def opened(page: Page, address: str) -> float:
    """Open a page; return the seconds until it was drawn."""
    page.goto("about:blank")
    page.goto(address)
    drawn: float = page.evaluate("() => window.drawn")
    return drawn


def turned(page: Page, key: str) -> float:
    """Open a tab from another one; return the seconds that it took."""
    page.evaluate(PRESS, "2" if key == "1" else "1")
    took: float = page.evaluate(PRESS, key)
    return took


def slowest(of_tabs: dict[str, list[float]]) -> list[float]:
    """Return the samples of the tab whose best is the slowest."""
    return max(of_tabs.values(), key=min)
