"""Pictures: the size of a tile map and a report page, and the time to write and use them.

    python benchmarks/pictures.py [--samples 9] [--json FILE] [--small]

The baseline of the tile map writes only a coloured rectangle with a tooltip for every tile; that of
the page is the report as JSON.  The baseline for reading a saved report is Python's own JSON
reader, in this process and as the first action of another one.  Rows that need a browser are
skipped if there is none.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import poplite as pl
from poplite.report import Report
from poplite.report.per_tile import PerTile
from poplite.viz import tiles_svg
from poplite.viz.summary import summary_of_report
from rows import Row, example, in_turn, run

if TYPE_CHECKING:
    from playwright.sync_api import Page


# -- the report page in a browser ------------------------------------------------------------------
# The time is that for which its reader waits: from a key to the second frame after it.  Of each
# tab the best of the samples counts, of all tabs the slowest.  The baseline is an empty page,
# which shows a frame as fast as the browser can.


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


def page_times(
    report: Report, name: str, samples: int, most: tuple[float, float, float] = (0.5, 0.2, 0.1)
) -> list[Row]:
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
    for what, found, limit in zip(names, (first, slowest(tabs), slowest(tiles)), most, strict=True):
        rows.append(Row(what, min(found), "s", "<=", limit, found, blank))
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


# -- pictures --------------------------------------------------------------------------------------


def machine() -> pl.Graph:
    """A Mk2 with a photograph and its weights spread over all tiles."""
    graph = pl.Graph()
    graph.add_variable(pl.FLOAT, (427, 640, 4), "image/a", mapping="linear")
    graph.add_variable(pl.FLOAT, (500,), "image/row", mapping="linear")
    return graph


def bare_svg(size_bytes: np.ndarray) -> str:
    """Return one rectangle a tile."""
    largest = int(size_bytes.max())
    shapes = [
        f'<rect x="{12 * (tile % 64)}" y="{12 * (tile // 64)}" width="11" height="11"'
        f' fill="hsl(200,60%,{90 - 60 * size // largest}%)">'
        f"<title>tile {tile}: {size:,} B</title></rect>"
        for tile, size in enumerate(size_bytes.tolist())
    ]
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(shapes)}</svg>'


def photo() -> Report:
    """The report of the compiled examples/photo.py."""
    graph, program, *_ = example("photo").build()
    return pl.Engine(graph, program, checks="fast").report()


def large(steps: int) -> Report:
    """A report of a whole machine in which every number of every tile is random."""
    graph = pl.Graph()
    x, y = (graph.add_variable(pl.FLOAT, (14_720,), name, mapping="linear") for name in "xy")
    engine = pl.Engine(graph, pl.Copy(x.reverse(0), y), checks="fast")
    engine.run()
    report = engine.report()
    rng = np.random.default_rng(0)
    tiles = report.tiles

    def numbers() -> PerTile:
        return PerTile.of(rng.integers(0, 4096, tiles))

    step = report.execution.steps[0]
    phases = step.phases + step.phases[-1:]
    ran = tuple(
        replace(
            step,
            name=f"layer{number // 10}/step{number}",
            phases=tuple(
                replace(
                    each, tile_cycles=numbers(), received=numbers(), sent=numbers(), cycles=4096
                )
                for each in phases
            ),
            cycles=9000,
        )
        for number in range(steps)
    )
    execution = replace(report.execution, steps=ran, cycles=9000 * steps)
    return replace(report, execution=execution)


def many_steps(count: int) -> Report:
    """A report of a program of so many steps."""
    graph = pl.Graph(pl.Target(tiles=64))
    x = [graph.add_variable(pl.FLOAT, (512,), f"x{k}", mapping="linear") for k in range(8)]
    turned = [each.reverse(0) for each in x]
    copies = [pl.Copy((turned if k % 3 else x)[k % 7], x[7]) for k in range(count)]
    options = {"debug.allowOutOfMemory": True}
    engine = pl.Engine(graph, pl.Sequence(*copies), checks="fast", options=options)
    engine.run()
    return engine.report()


def many_variables(count: int) -> Report:
    """A report of a graph of so many variables."""
    graph = pl.Graph(pl.Target(tiles=64))
    x = [
        graph.add_variable(pl.FLOAT, (4,), f"layer{k // 100}/x{k}", mapping=k % 64)
        for k in range(count)
    ]
    return pl.Engine(graph, pl.Copy(x[0], x[1]), checks="fast").report()


def many_rows(small: bool, samples: int) -> list[Row]:
    """Pages of long programs and of many variables, and the summary of a large file.

    A key is pressed in at most half a second, whatever a page has.
    """
    steps, variables = (300, 1000) if small else (10_000, 100_000)
    reports = {
        f"{steps:,} steps": (many_steps(steps), 5.0),
        f"{variables:,} variables": (many_variables(variables), 20.0),
    }
    found = []
    for name, (report, most_s) in reports.items():
        found += page_rows(1, report, name, 5000, most_s)
        found += page_times(report, name, min(3, samples), (2.0, 0.5, 0.5))
    return [*found, summary_row(min(3, samples), report, name)]


def summary_row(samples: int, report: Report, name: str) -> Row:
    """How long a saved report takes to be read and summed up."""
    text = report.to_json()

    ours, bare = in_turn(
        lambda: summary_of_report(Report.from_json(text)), lambda: json.loads(text), samples
    )
    what = f"report of {name}, {len(text) / 1e6:.0f} MB, read and summed up"
    return Row(what, min(ours), "s", "<=", 2.0, ours, bare)


def page_rows(samples: int, report: Report, name: str, most_kb: int, most_s: float) -> list[Row]:
    """How large the page of a report is, and how long writing it takes."""
    ours, bare = in_turn(report.to_html, report.to_json, samples)
    size = len(report.to_html().encode()) / 1000
    return [
        Row(f"report page of {name}, written", min(ours), "s", "<=", most_s, ours, bare),
        Row(f"report page of {name}, size", size, "kB", "<=", most_kb, ours, bare),
    ]


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    steps = 2 if small else 200
    random, name = large(steps), f"1,472 tiles x {steps} random steps"
    pages = [
        *page_rows(samples, photo(), "photo.py", 300, 0.3),
        *page_rows(samples, random, name, 5000, 2.0),
        *page_times(photo(), "photo.py", samples),
        *page_times(random, name, samples),
    ]
    loads = [load_row(samples, random, name), first_load_row(samples, random, name)]
    return [*map_rows(samples), *loads, *pages, *many_rows(small, samples)]


def load_row(samples: int, report: Report, name: str) -> Row:
    """How long a saved report takes to read."""
    text = report.to_json()
    ours, bare = in_turn(lambda: Report.from_json(text), lambda: json.loads(text), samples)
    return Row(f"report of {name}, read", min(ours), "s", "<=", 0.3, ours, bare)


FIRST_LOAD = """
import json, numpy, pathlib, sys, time
begin = time.perf_counter()
{}
print(time.perf_counter() - begin)
"""


def first_load_row(samples: int, report: Report, name: str) -> Row:
    """How long the first read of a process takes, with its imports besides NumPy."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.json"
        report.save(path)
        text = f"pathlib.Path({str(path)!r})"
        works = (
            f"from poplite.report import Report; Report.load({text})",
            f"json.loads({text}.read_text())",
        )
        environment = {**os.environ}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        ours, bare = (
            [
                float(
                    subprocess.run(
                        [sys.executable, "-c", FIRST_LOAD.format(work)],
                        env=environment,
                        capture_output=True,
                        text=True,
                        check=True,
                    ).stdout
                )
                for _ in range(samples + 1)  # the first one may write byte code
            ][1:]
            for work in works
        )
    return Row(f"report of {name}, read first", min(ours), "s", "<=", 0.3, ours, bare)


def map_rows(samples: int) -> list[Row]:
    """How large a tile map is, and how long drawing it takes."""
    graph = machine()
    tiles = graph.target.tiles
    size_bytes = np.random.default_rng(0).integers(1, 10_000, tiles)
    ours, bare = in_turn(lambda: tiles_svg(graph), lambda: bare_svg(size_bytes), samples)
    name = f"tile map of {tiles:,} tiles"
    size = len(tiles_svg(graph).encode()) / 1000
    return [
        Row(f"{name}, drawn as SVG", min(ours), "s", "<=", 0.1, ours, bare),
        Row(f"{name}, size of the SVG", size, "kB", "<=", 200, ours, bare),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
