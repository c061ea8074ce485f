"""The report page as one HTML file: the data of reports, and the code that draws them.

    <noscript>                           the report as text
    <script type="application/json">     the format, and where the names are in the block
    <script type="text/plain">           arrays, assets/view/*, and names, steps and trees as JSON,
                                         all compressed
    <script>                             assets/view/boot.js, which unpacks it

Nothing is loaded from anywhere, and a Content-Security-Policy forbids that the page does.  Equal
reports give equal bytes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from poplite.report.memory import KIND_NAMES, KINDS
from poplite.viz.colours import MEMORY, RAMP, TIME, color_of, ink_on
from poplite.viz.dataflow.picture import report_svg
from poplite.viz.draw.words import name_text
from poplite.viz.page.pack import Arrays
from poplite.viz.page.report_data import report_data
from poplite.viz.page.words import shared
from poplite.viz.paint_html import asset, escaped

if TYPE_CHECKING:
    from poplite.report import Report

FORMAT, VERSION = "poplite-view", 2

SCRIPTS = (
    *("words.js", "arrays.js", "derived.js", "state.js", "plot.js", "drag.js", "parts.js"),
    *("tab_overview.js", "tab_tiles.js", "tab_memory.js", "strip.js", "tab_liveness.js"),
    *("course.js", "timeline.js", "tab_steps.js", "tab_source.js", "matrix.js", "tab_exchange.js"),
    *("tab_program.js", "regions.js", "tab_variables.js", "tab_graph.js", "tab_compare.js"),
    *("side.js", "find.js", "frame.js"),
)
"""The code of the page, in order: each file may use the previous ones when it is loaded."""

MOST_BLOCK = 5_000_000
"""Characters of the largest block; beyond it, numbers of tiles are rounded."""

MOST_ROUGH = 3
"""Levels of rounding; see `report_data`."""


def report_page(
    report: Report,
    *,
    title: str = "poplite report",
    before: Report | None = None,
    names: tuple[str, str] = ("before", "after"),
    graph_svg: str = "",
    source: bool = False,
) -> str:
    """Return the page of a report.

    Args:
        report: the report; the later one, where two are compared.
        title: the title of the page.
        before: an earlier report to compare with.
        names: of the two reports that are compared.
        graph_svg: the dataflow graph of the graph itself; by default, that of the report.
        source: whether the text of the lines that are named is in the page.

    Returns:
        The content of a file, which needs no other file and no network.

    >>> import poplite as pl
    >>> engine = pl.Engine(pl.Graph(pl.Target(tiles=4)), pl.Sequence())
    >>> report_page(engine.report()).splitlines()[0]
    '<!doctype html>'
    """
    title = name_text(title)
    graph_svg = graph_svg or report_svg(report)
    for rough in range(MOST_ROUGH + 1):
        arrays = Arrays()
        shown = _shown(report, before, names, arrays, rough=rough, source=source)
        shown["style"] = arrays.add_text(role_colors() + asset("view/view.css"))
        shown["script"] = arrays.add_text(script())
        if graph_svg:
            shown["graph"] = arrays.add_text(graph_svg)
        words: list[str] = []
        shown["reports"] = shared(shown["reports"], words)
        shown |= {"title": title, "table": arrays.table, "words": words}
        block, begin = arrays.block(json_in_page(shown))
        if len(block) <= MOST_BLOCK:
            break
    text = str(report) if before is None else f"{before.diff(report)}\n\n{report}"
    parts = {
        "TITLE": escaped(title),
        "TEXT": escaped(name_text_of_lines(text)),
        "DATA": json_in_page({"format": FORMAT, "v": VERSION, "begin": begin}),
        "BLOCK": block,
        "BOOT": asset("view/boot.js"),
    }
    pieces = asset("view/view.html").split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


@cache
def script() -> str:
    """Return the code of the page, whose names are its own, without comments and indentation.

    >>> script().startswith('"use strict";')
    True
    """
    parts = "\n".join(asset(f"view/{name}") for name in SCRIPTS)
    parts = re.sub(r"^ *(// .*\n)?", "", parts, flags=re.MULTILINE)
    return f'"use strict";\n(() => {{\n{parts}}})();\n//# sourceURL=poplite-report.js\n'


def role_colors() -> str:
    """Return the colours of roles on a light and on a dark page, as variables of CSS.

    >>> role_colors().splitlines()[1]
    '  --phase-compute: #0072b2;'
    """
    lines = []
    for dark, page in enumerate((":root", ':root[data-theme="dark"]')):
        lines.append(f"{page} {{")
        for part, role in TIME.items():
            name = part.replace(" ", "-")
            lines.append(f"  --phase-{name}: {color_of(role.kind, dark=bool(dark))};")
        for number, name in enumerate(KIND_NAMES):
            kind = MEMORY[name].kind
            lines.append(f"  --memory-{number}: {color_of(kind, dark=bool(dark))};")
            lines.append(f"  --on-memory-{number}: {ink_on(kind, dark=bool(dark))};")
        lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _shown(
    report: Report,
    before: Report | None,
    names: tuple[str, str],
    arrays: Arrays,
    *,
    rough: int,
    source: bool,
) -> dict[str, Any]:
    groups = {name: [c for c, kind in KINDS.items() if kind == name] for name in KIND_NAMES}
    shown: dict[str, Any] = {"ramp": list(RAMP), "kinds": [*groups.items()]}
    shown["time"] = [[part, role.words] for part, role in TIME.items()]
    reports = [report] if before is None else [before, report]
    shown["reports"] = [report_data(each, arrays, rough=rough, source=source) for each in reports]
    if before is not None:
        shown["names"] = [name_text(name) for name in names]
        diff = before.diff(report)
        kinds = {"totals": diff.totals, "steps": diff.steps}
        kinds |= {"phases": diff.phases, "memory": diff.memory}
        shown["diff"] = {
            kind: [[name_text(each.name), each.before, each.after] for each in changes]
            for kind, changes in kinds.items()
        }
        shown["diff"]["note"] = diff.note((shown["names"][0], shown["names"][1]))
    return shown


def name_text_of_lines(text: str) -> str:
    r"""Return text without the control characters that names may hold, lines kept.

    >>> name_text_of_lines("one\ntwo")
    'one\ntwo'
    """
    return "\n".join(map(name_text, text.split("\n")))


def json_in_page(value: Any) -> str:
    r"""Return JSON that is safe inside a script element.

    >>> json_in_page({"b": "</script>", "a": 1})
    '{"a":1,"b":"\\u003c/script>"}'
    """
    text = json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
