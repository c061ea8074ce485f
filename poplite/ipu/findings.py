"""What a lint finds, in the four parts of an error: what, where, what was found, what to try."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from poplite.errors import made_by
from poplite.source import SourceLocation
from poplite.text import amount


@made_by("pl.ipu.lint(graph)")
@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a tile would do slowly, or otherwise than the simulator.

    Attributes:
        rule: "double", "division", "sub-word store", "alignment" or "copy".
        name: the function, or the compute set.
        what: what is wrong.
        at: the user's line.
        found: the line of text, or the elements.
        fix: what to try.

    >>> from poplite.source import SourceLocation
    >>> at = SourceLocation("heat.py", 7, "compute")
    >>> print(Finding("double", "Heat.compute", "'i / 2' is ...", at, "x = i / 2", "write ..."))
    Heat.compute: 'i / 2' is ...  (heat.py:7 in compute)
      x = i / 2
      try: write ...
    """

    rule: str
    name: str
    what: str
    at: SourceLocation
    found: str
    fix: str

    def __str__(self) -> str:
        return f"{self.name}: {self.what}  ({self.at})\n  {self.found}\n  try: {self.fix}"


def findings_text(findings: Sequence[Finding], unplaced: int = 0) -> str:
    """Return findings one below the other, with how many there are of each rule.

    `unplaced` compute sets have something without a tile, so that what they copy is not known.

    >>> findings_text([])
    'a tile would emulate nothing of this graph, and copy nothing for its vertices'
    >>> print(findings_text([], unplaced=1))
    a tile would emulate nothing of this graph
    <BLANKLINE>
    1 compute set has vertices, fields or elements without a tile: what it copies is not known
    """
    nothing = "a tile would emulate nothing of this graph"
    parts = [nothing if unplaced else f"{nothing}, and copy nothing for its vertices"]
    if findings:
        rules = Counter(finding.rule for finding in findings)
        counts = ", ".join(f"{count:,} {rule}" for rule, count in rules.items())
        parts = [f"{amount(len(findings), 'finding')}: {counts}", *map(str, findings)]
    if unplaced:
        sets = amount(unplaced, "compute set")
        verb, they = ("has", "it copies") if unplaced == 1 else ("have", "they copy")
        without = "vertices, fields or elements without a tile"
        parts.append(f"{sets} {verb} {without}: what {they} is not known")
    return "\n\n".join(parts)


def findings_json(findings: Sequence[Finding]) -> str:
    r"""Return findings as JSON, a list of objects.

    >>> findings_json([])
    '[]\n'
    """
    rows = [
        {
            "rule": each.rule,
            "name": each.name,
            "what": each.what,
            "file": each.at.file,
            "line": each.at.line,
            "found": each.found,
            "fix": each.fix,
        }
        for each in findings
    ]
    return json.dumps(rows, indent=1) + "\n"
