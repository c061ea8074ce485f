"""Every picture that poplite draws of one small program, heat on a plate, and a page of them all.

    python examples/gallery.py [FOLDER]

The pictures are written to FOLDER (`gallery` when left out) by the commands that a user would
type; `index.html` shows them, and what a notebook shows for an object of each kind.
"""

import shlex
import sys
from html import escape
from pathlib import Path

import heat

import poplite as pl
from poplite.tools.viz import main as poplite_viz

build = heat.build

PICTURES = {
    "tiles": ("tiles", "txt svg json html"),
    "tensor": ("tensor a", "txt svg json html"),
    "view": ("tensor a --view '10:40, ::7'", "txt svg json html"),
    "summary": ("summary", "txt svg json"),
    "program": ("program --counts", "txt svg json"),
    "graph": ("graph", "txt svg json gv"),
    "report": ("report", "txt html"),
}
"""The command of each picture, but for its target, and its forms."""


def drawn(name: str, folder: Path) -> str:
    """Draw a picture in each of its forms, and return its part of the page."""
    command, forms = PICTURES[name]
    subcommand, *rest = shlex.split(command)
    files = [f"{name}.{form}" for form in forms.split()]
    for file in files:
        assert poplite_viz([subcommand, "heat:build", *rest, "-q", "-o", str(folder / file)]) == 0
        print(f"{folder / file}  {(folder / file).stat().st_size:,} B")
    links = " ".join(f'<a href="{file}">{file}</a>' for file in files)
    text = escape((folder / f"{name}.txt").read_text("utf-8"))
    image = f'<p><img src="{name}.svg" alt="{name}"></p>' if "svg" in forms else ""
    return (
        f"<h2>{name}</h2>\n<p><code>poplite-viz {escape(command)}</code></p>\n<p>{links}</p>\n"
        f"{image}<details><summary>As text</summary><pre>{text}</pre></details>\n"
    )


def in_a_notebook() -> dict[str, str]:
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


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    parts = [drawn(name, folder) for name in PICTURES]
    parts += [f"<h2><code>{text}</code></h2>\n{html}\n" for text, html in in_a_notebook().items()]
    head = "<!doctype html>\n<meta charset=utf-8>\n<title>Pictures of heat.py</title>\n"
    (folder / "index.html").write_text(head + "".join(parts), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gallery"))
