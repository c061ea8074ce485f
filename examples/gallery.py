"""Every picture that poplite draws, of one small program: heat on a plate.

    python examples/gallery.py [FOLDER]

The pictures are written to FOLDER (`gallery` when left out) by the commands a user would
type; `index.html` shows them all, on a light or a dark page as the reader's system is set.
`notebook.html` holds what a notebook shows for each kind of object.
"""

from __future__ import annotations

import argparse
import shlex
import sys
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


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write every picture that poplite draws.")
    parser.add_argument("folder", metavar="FOLDER", nargs="?", default="gallery", type=Path)
    folder: Path = parser.parse_args(argv).folder

    folder.mkdir(parents=True, exist_ok=True)
    check_folder(folder / "index.html")
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
