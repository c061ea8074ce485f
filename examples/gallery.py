"""Every picture that poplite draws, of one small program: heat on a plate.

    python examples/gallery.py [FOLDER]
    python examples/gallery.py --questions docs/pictures

The pictures are written to FOLDER (`gallery` when left out) by the commands a user would
type; `index.html` shows them all, on a light or a dark page as the reader's system is set.
`notebook.html` holds what a notebook shows for each kind of object.

With `--questions`, FOLDER gets the pictures of docs/viewing.md instead: the answer to each of its
questions, of matvec.py or, for what that has not, of bfs.py, and `report-page.png`, which Chromium
draws of the page of photo.py.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import heat

import poplite as pl
from poplite.files import check_folder
from poplite.tools.script import one_line_errors
from poplite.tools.viz import main as poplite_viz

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = "heat:build"

build = heat.build


@dataclass(frozen=True)
class Picture:
    """One picture in several forms.

    Attributes:
        name: of its files, without suffix.
        command: words of the command that draws it, without TARGET.
        forms: suffixes.
    """

    name: str
    command: tuple[str, ...]
    forms: tuple[str, ...]


PICTURES = (
    Picture("tiles", ("tiles",), ("txt", "svg", "json", "html")),
    Picture("tensor", ("tensor", "a"), ("txt", "svg", "json", "html")),
    Picture("view", ("tensor", "a", "--view", "10:40, ::7"), ("txt", "svg", "json", "html")),
    Picture("summary", ("summary",), ("txt", "svg", "json")),
    Picture("program", ("program", "--counts"), ("txt", "svg", "json")),
    Picture("graph", ("graph",), ("txt", "svg", "json", "gv")),
    Picture("report", ("report",), ("txt", "html")),
)

MATVEC, BFS = (f"{Path(__file__).with_name(name)}:build" for name in ("matvec.py", "bfs.py"))
PHOTO = str(Path(__file__).with_name("photo.py")) + ":build"

QUESTIONS: dict[str, tuple[str, ...]] = {
    "fits": ("summary", "TARGET"),
    "tile": ("tile", "SAVED", "5"),
    "memory": ("memory", "SAVED", "--stack", "variable"),
    "worst": ("tiles", "SAVED", "--by", "memory"),
    "liveness": ("liveness", "SAVED"),
    "steps": ("steps", "SAVED"),
    "timeline": ("steps", "SAVED", "--timeline"),
    "waited": ("tiles", "SAVED", "--by", "waited"),
    "exchange": ("exchange", "SAVED"),
    "report": ("report", "SAVED"),
    "program": ("program", "TARGET", "--counts"),
    "graph": ("graph", "TARGET", "--layout", "builtin"),
    "tensor": ("tensor", "TARGET", "x"),
    "regions": ("regions", "TARGET", "y", "--op", "reverse 0"),
    "field": ("regions", "TARGET", "--field", "dots#3.x"),
    "ops": ("ops", "SAVED"),
    "lint": ("lint", "BFS"),
    "diff": ("diff", "SAVED", "LATER"),
    "checks": ("diff", "SAVED", "LATER", "--fail-if", "cycles>+5%"),
    "script": ("tiles", "SAVED", "--by", "waited", "-f", "json"),
}
"""The commands that answer the questions of docs/viewing.md, by the names of their pictures."""

AS_TEXT = ("lint", "checks", "script")
"""Those whose command prints text: the picture shows its first lines."""

MOST_LINES, MOST_LETTERS = 24, 92
"""Of a picture of text."""

VIEW = "#tab=memory&tile=1427"
"""What the page of photo.py shows in its picture."""

STYLE = """
:root { color-scheme: light dark; }
body { margin: 2em auto; padding: 0 1.5em; max-width: 1100px; font: 15px/1.5 sans-serif; }
img { max-width: 100%; }
pre { overflow-x: auto; line-height: 1.2; }
"""


def draw(picture: Picture, folder: Path) -> list[str]:
    """Write a picture in all its forms; return the names of the files."""
    subcommand, *rest = picture.command
    names = [f"{picture.name}.{form}" for form in picture.forms]
    for name in names:
        if poplite_viz([subcommand, TARGET, *rest, "-q", "-o", str(folder / name)]):
            raise SystemExit(f"gallery: {name} was not drawn")
    return names


def cells() -> dict[str, str]:
    """Return what a notebook shows for an object of each kind, by an expression."""
    graph, program, result = heat.build()
    engine = pl.Engine(graph, program)
    engine.run()
    return {
        "graph": graph._repr_html_(),
        "result": result._repr_html_(),
        "result[10:40, ::7]": result[10:40, ::7]._repr_html_(),
        "graph.compute_sets[0]": graph.compute_sets[0]._repr_html_(),
        "graph.tile_mapping(result)": graph.tile_mapping(result)._repr_html_(),
        "program": program._repr_html_(),
        "engine.report()": engine.report()._repr_html_(),
    }


def page(title: str, parts: list[str]) -> str:
    """Return a page that follows the reader's light or dark setting."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def section(picture: Picture, folder: Path) -> str:
    """Return the part of the index that shows a picture and links to its files."""
    links = " ".join(
        f'<a href="{picture.name}.{form}">{picture.name}.{form}</a>' for form in picture.forms
    )
    subcommand, *rest = picture.command
    command = escape(shlex.join(["poplite-viz", subcommand, TARGET, *rest]))
    text = escape((folder / f"{picture.name}.txt").read_text("utf-8"))
    shown = "svg" in picture.forms
    image = f'<p><img src="{picture.name}.svg" alt="{picture.name}"></p>\n'
    return (
        f"<h2>{picture.name}</h2>\n<p><code>{command}</code></p>\n<p>{links}</p>\n"
        f"{image if shown else ''}"
        f"<details><summary>As text</summary><pre>{text}</pre></details>"
    )


def draw_questions(folder: Path) -> list[str]:
    """Write the picture of each question; return the names of the files."""
    with tempfile.TemporaryDirectory() as place:
        known = {"TARGET": MATVEC, "BFS": BFS}
        known |= {"SAVED": f"{place}/base.json", "LATER": f"{place}/later.json"}
        for name, split in (("SAVED", ()), ("LATER", ("--arg", "split=8"))):
            poplite_viz(["report", MATVEC, *split, "-q", "-o", known[name]])
        for name, command in QUESTIONS.items():
            words = [known.get(word, word) for word in command]
            if name in AS_TEXT:
                shown = io.StringIO()
                with contextlib.redirect_stdout(shown):
                    code = poplite_viz([*words, "-q"])
                shown_text = shown.getvalue().replace(f"{place}/", "")
                (folder / f"{name}.svg").write_text(text_svg(shown_text), "utf-8")
                failed = code not in (0, CHECK_FAILED)
            else:
                failed = poplite_viz([*words, "-q", "-o", str(folder / f"{name}.svg")]) != 0
            if failed:
                raise SystemExit(f"gallery: {name}.svg was not drawn")
    return [f"{name}.svg" for name in QUESTIONS]


CHECK_FAILED = 3
"""The exit code of a check that fails, which is a picture too."""


def text_svg(text: str) -> str:
    """Return the first lines of a text as a picture."""
    lines = text.splitlines()
    shown = [
        line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 3] + "..." for line in lines
    ]
    if len(shown) > MOST_LINES:
        shown = [*shown[: MOST_LINES - 1], f"... {len(lines) - MOST_LINES + 1:,} more lines"]
    width, height = 20 + 8 * MOST_LETTERS, 20 + 18 * len(shown)
    rows = "\n".join(
        f'<text x="10" y="{24 + 18 * number}" xml:space="preserve">{escape(line)}</text>'
        for number, line in enumerate(shown)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
        "<style>text { font: 13px monospace; fill: #1b1f23 }\n"
        "@media (prefers-color-scheme: dark) { text { fill: #e6e9ec } }</style>\n"
        f"{rows}\n</svg>\n"
    )


def photograph(folder: Path) -> str:
    """Have Chromium draw the page of photo.py; return what was written, or why nothing was."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return f"{PAGE}: not drawn, as there is no chromium"
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return f"{PAGE}: not drawn, as there is no playwright: pip install playwright"
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        file = Path(place) / "report.html"
        poplite_viz(["report", PHOTO, "-q", "-o", str(file)])
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1280, "height": 800})
        shown.goto(file.as_uri() + VIEW)
        shown.wait_for_selector("main h2")
        shown.screenshot(path=folder / PAGE)
        browser.close()
    with contextlib.suppress(ImportError):  # Pillow writes it in a third of the bytes
        from PIL import Image

        with Image.open(folder / PAGE) as picture:
            picture.convert("RGB").quantize(128).save(folder / PAGE, optimize=True)
    return f"{folder / PAGE}  {(folder / PAGE).stat().st_size:,} B"


PAGE = "report-page.png"


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write every picture that poplite draws.")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="gallery", type=Path)
    parser.add_argument(
        "--questions", action="store_true", help="the pictures of docs/viewing.md instead"
    )
    options = parser.parse_args(argv)
    folder: Path = options.folder

    folder.mkdir(parents=True, exist_ok=True)
    check_folder(folder / "index.html")
    if options.questions:
        for name in draw_questions(folder):
            print(f"{folder / name}  {(folder / name).stat().st_size:,} B")
        print(photograph(folder))
        return 0
    written = [name for picture in PICTURES for name in draw(picture, folder)]
    shown = [f"<h2><code>{escape(text)}</code></h2>\n{html}" for text, html in cells().items()]
    (folder / "notebook.html").write_text(page("In a notebook", shown), "utf-8")
    sections = [section(picture, folder) for picture in PICTURES]
    sections.append('<h2>notebook</h2>\n<p><a href="notebook.html">notebook.html</a></p>')
    (folder / "index.html").write_text(page("Pictures of heat.py", sections), "utf-8")
    for name in [*written, "notebook.html", "index.html"]:
        print(f"{folder / name}  {(folder / name).stat().st_size:,} B")
    return 0


if __name__ == "__main__":
    sys.exit(main())
