"""Layouts by Graphviz, where there is one: `dot` on the path, else the pygraphviz package.

Neither is needed: without them the built-in layout draws SVG, and the DOT text can be
taken to a machine that has Graphviz.

>>> graphviz_picture("digraph {", "svg").content is None
True
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

FORMATS = ("svg", "png", "pdf")


class GraphvizForm(NamedTuple):
    """The bytes of a picture's file, or the reason why there is none."""

    content: bytes | None
    reason: str


def graphviz_picture(dot: str, form: str) -> GraphvizForm:
    """Draw DOT text with the first Graphviz that can; `form` is one of `FORMATS`.

    A Graphviz that fails is treated like one that is missing.
    """
    assert form in FORMATS
    reasons = []
    for name, draw in graphviz_links():
        try:
            return GraphvizForm(draw(dot, form), "")
        except Exception as error:  # whatever a broken installation raises is reported
            reasons.append(f"{name} failed: {_first_line(error)}")
    return GraphvizForm(None, "; ".join(reasons) or "no Graphviz found")


def graphviz_links() -> Iterator[tuple[str, Callable[[str, str], bytes]]]:
    """Yield what can draw DOT text: its name, and a function of the text and the format."""
    if shutil.which("dot"):
        yield "dot", _by_dot
    if importlib.util.find_spec("pygraphviz"):
        yield "pygraphviz", _by_pygraphviz


def _by_dot(dot: str, form: str) -> bytes:
    import graphviz

    content: bytes = graphviz.Source(dot).pipe(format=form, quiet=True)
    return content


def _by_pygraphviz(dot: str, form: str) -> bytes:
    pygraphviz: Any = importlib.import_module("pygraphviz")
    content: bytes = pygraphviz.AGraph(string=dot).draw(format=form, prog="dot")
    return content


def _first_line(error: Exception) -> str:
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else b""
    text = (said or b"").decode(errors="replace").strip() or str(error)
    return (text.splitlines() or [type(error).__name__])[0]
