"""What was done with the parts of expressions, for `ops.explain`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

from poplite.errors import made_by
from poplite.expr.formula import formula
from poplite.expr.tree import Expr, Shape
from poplite.graph.graph import Graph
from poplite.ops.fuse.recipe import Body
from poplite.ops.fuse.straight import written
from poplite.text import clipped_text

What = Literal["stored", "reduced", "multiplied", "computed again", "copied", "filled"]

SHOWN = 80
"""Characters of a formula; `x + y` has three parts in five of them."""

MOST_LINES = 40
"""Lines of a vertex."""


@made_by("ops.explain(tensor)")
@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """What was done with a part of an expression.

    Attributes:
        what: "stored", "reduced", "multiplied", "computed again", "copied" or "filled".
        formula: the part.
        why: the reason, with its numbers.
        vertex: the name of the vertex class; empty for none.
        bytes: of the tensor that holds it.
        body: what the vertex computes of each element; None without one.
        origin: what another layer made the part for; None for none.
        result: the name of the tensor that holds it; empty for none.
    """

    what: What
    formula: str
    why: str
    vertex: str = ""
    bytes: int = 0
    body: Body | None = None
    origin: object = None
    result: str = ""

    @classmethod
    def of(
        cls,
        what: What,
        expr: Expr,
        why: str,
        vertex: str = "",
        size: int = 0,
        body: Body | None = None,
        result: str = "",
    ) -> Note:
        """Return a note of an expression, with as much of its formula as is shown."""
        name = f"{expr.label} = " if expr.label else ""
        shown = name + formula(expr, SHOWN // 2)
        return cls(what, shown, why, vertex, size, body, expr.origin, result)

    def __str__(self) -> str:
        shown = f"{self.what}: {clipped_text(self.formula, SHOWN)}"
        by = f", by {self.vertex}" if self.vertex else ""
        size = f", {self.bytes:,} B" if self.bytes else ""
        why = f" ({self.why})" if self.why else ""
        lines = [] if self.body is None else written(self.body).lines[:MOST_LINES]
        return "\n    ".join([f"{shown}{by}{size}{why}", *lines])


NOTES: WeakKeyDictionary[Graph, dict[tuple[str, Shape], list[Note]]] = WeakKeyDictionary()
"""What was done for each result, by name and shape; no tensor, which would keep the graph."""
