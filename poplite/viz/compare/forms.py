"""What changed between two reports, with checks: text, SVG, Markdown, HTML and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from poplite.frozen import frozen
from poplite.report.diff import Change, ReportDiff
from poplite.viz.compare.checks import CheckOutcome
from poplite.viz.compare.svg import draw_changes_svg
from poplite.viz.draw.columns import folded
from poplite.viz.draw.html import page, table
from poplite.viz.draw.json_text import json_text
from poplite.viz.draw.svg import SvgText
from poplite.viz.draw.terminal import DEFAULT_STYLE, Style
from poplite.viz.draw.units import name_text

TITLE = "What changed"


@frozen
class Comparison:
    """What changed between two reports.

    Attributes:
        names: of the reports, above their columns.
        diff: what changed.
        checks: what was checked.
        top: most changes of one kind that are listed.
    """

    names: tuple[str, str]
    diff: ReportDiff
    checks: tuple[CheckOutcome, ...] = ()
    top: int = 20

    def rows(self) -> Iterator[tuple[str, Sequence[Change], int]]:
        """Yield titles with the changes that are listed, and how many are left out."""
        yield "in all", self.diff.totals, 0
        for title, changes in self.diff.sections().items():
            if changes:
                yield title, changes[: self.top], max(0, len(changes) - self.top)

    @property
    def note(self) -> str:
        """That the two are of unlike runs, if they are."""
        return name_text(self.diff.note(self.names))

    def checks_text(self, style: Style = DEFAULT_STYLE) -> str:
        """Return what was checked, a line each."""
        lines = ((each.failed, name_text(each.text(self.names))) for each in self.checks)
        return "".join(f"{style.warning(line) if bad else line}\n" for bad, line in lines)


def comparison_text(comparison: Comparison, style: Style = DEFAULT_STYLE) -> str:
    """Return what changed as text."""
    text = comparison.diff.text(comparison.names, top=comparison.top, width=style.columns)
    lines = [part for line in text.split("\n") for part in folded(line, style.columns)]
    drawn = "\n".join(lines) + "\n"
    if style.ascii_only:
        drawn = drawn.replace("×", "x")
    checks = comparison.checks_text(style)
    return f"{drawn}\n{checks}" if checks else drawn


def comparison_markdown(comparison: Comparison) -> str:
    """Return what changed as a table of Markdown, for review comments."""
    before, after = map(_marked, comparison.names)
    lines = [f"| | {before} | {after} | change | |", "| --- | ---: | ---: | ---: | ---: |"]
    for title, changes, more in comparison.rows():
        lines.append(f"| **{title}** | | | | |")
        lines += [f"| {' | '.join([_marked(c.name), *_cells(c)])} |" for c in changes]
        if more:
            lines.append(f"| ... {more:,} more | | | | |")
    if comparison.note:
        lines = [f"**!** {_marked(comparison.note)}", "", *lines]
    if comparison.checks:
        lines += ["", "| check | |", "| --- | --- |"]
        for each in comparison.checks:
            verdict, _, rest = each.text(comparison.names).partition("  ")
            mark = f"**{verdict}**" if each.failed else verdict
            lines.append(f"| {mark} | {_marked(name_text(rest))} |")
    return "\n".join(lines) + "\n"


def comparison_html(comparison: Comparison, command: str) -> str:
    """Return what changed as a page; `command` writes it."""
    before, after = comparison.names
    heading = ["", before, after, "change", ""]
    tables = []
    for title, changes, more in comparison.rows():
        rows = [[name_text(change.name), *_cells(change)] for change in changes]
        note = f"<p>... {more:,} more</p>" if more else ""
        tables.append(f"<h2>{title}</h2>{table(heading, rows, 'numbers first')}{note}")
    facts = {"before": before, "after": after}
    if comparison.note:
        facts["!"] = comparison.note
    for number, each in enumerate(comparison.checks, 1):
        facts[f"check {number}"] = name_text(each.text(comparison.names))
    picture = comparison_svg(comparison)
    text, data = comparison_text(comparison), comparison_json(comparison)
    subject = f"{before} and {after}"
    return page(TITLE, subject, facts, picture, tables, text, data, command=command)


def comparison_svg(comparison: Comparison) -> SvgText:
    """Return what changed as a picture."""
    lines = [f"! {comparison.note}"] if comparison.note else []
    lines += [name_text(each.text(comparison.names)) for each in comparison.checks]
    return draw_changes_svg(comparison.diff, comparison.top, comparison.names, lines)


def comparison_json(comparison: Comparison) -> str:
    """Return what changed as JSON, all of it."""
    diff = comparison.diff
    kinds = {"totals": diff.totals, "steps": diff.steps, "phases": diff.phases}
    data: dict[str, object] = {
        name: [asdict(change) for change in changes]
        for name, changes in (kinds | {"memory": diff.memory}).items()
    }
    data["names"] = list(comparison.names)
    data["note"] = comparison.note
    data["checks"] = [
        {"check": c.check.text, "before": c.before, "after": c.after, "failed": c.failed}
        for c in comparison.checks
    ]
    return json_text("diff", data)


def _cells(change: Change) -> list[str]:
    return [f"{change.before:,}", f"{change.after:,}", f"{change.change:+,}", change.percent]


def _marked(text: str) -> str:
    """Return text with what Markdown would read as its own marks written out."""
    plain = name_text(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", plain)
