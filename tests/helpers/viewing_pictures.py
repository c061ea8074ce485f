"""Draw the pictures of docs/viewing.md, the answers to its questions.

    python tests/helpers/viewing_pictures.py docs/pictures

They are of examples/matvec.py or, for what that has not, of bfs.py; Chromium draws
`report-page.png` of the page of photo.py.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from html import escape
from pathlib import Path

from poplite.tools.viz import main as poplite_viz

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

MATVEC, BFS, PHOTO = (f"{EXAMPLES / name}.py:build" for name in ("matvec", "bfs", "photo"))

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
    "lines": ("lines", "TARGET", "--source"),
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

MOST_LINES, MOST_LETTERS = 26, 92
"""Of a picture of text."""

VIEW = "#tab=memory&tile=1427"
"""What the page of photo.py shows in its picture."""


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
                raise SystemExit(f"{name}.svg was not drawn")
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


def main(folder: Path) -> None:
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in draw_questions(folder):
        print(f"{folder / name}  {(folder / name).stat().st_size:,} B")
    print(photograph(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
