"""What a lint finds, in the four parts of an error: what, where, what was found, what to try."""

from __future__ import annotations

from dataclasses import dataclass

from poplite.source import SourceLocation


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
