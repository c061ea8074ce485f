"""Variables by name: the full name, or the part after a slash if only one variable has it.

'blocks/w', 'blocks/b', 'head/w'        'blocks/w' and 'b' are found, 'w' is ambiguous
"""

from __future__ import annotations

from collections.abc import Sequence

from poplite.errors import USERS_LINE, ElementTypeError, UnknownName, did_you_mean, listed
from poplite.graph.storage.space import Space
from poplite.graph.storage.variable import Variable
from poplite.source import SourceLocation
from poplite.text import clipped, shortened

NAME = 80
"""Largest number of characters of a name in a list."""


def variable_named(
    space: Space,
    name: object,
    *,
    call: str = "",
    at: SourceLocation | None = USERS_LINE,
    others: Sequence[str] = (),
    missing: str = "the graph has no variable",
) -> Variable:
    """Return the variable or constant with a name, which may omit scopes where it is unambiguous.

    `call`, `at`, `others` (handles that the call also accepts) and `missing` are for the message.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> with graph.scope("blocks"):
    ...     w = graph.add_variable("float32", (4,), "w")
    >>> variable_named(graph.space, "w"), variable_named(graph.space, "blocks/w")
    (<Variable 'blocks/w' float32[4]>, <Variable 'blocks/w' float32[4]>)
    """
    before = f"{call}: " if call else ""
    if not isinstance(name, str):
        raise ElementTypeError(
            f"{before}{clipped(name)} is no name", at=at, fix="the name of a variable, as text"
        )
    found = space.named(name)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName(
            f"{before}{len(found):,} variables of the graph are called {name!r}",
            at=at,
            found=listed([f"{_described(v)}  ({v.location})" for v in found], "variables"),
            fix=f"name it with its scopes: {found[0].name!r}",
        )
    shown = [_described(variable) for variable in space.variables]
    known = [variable.name for variable in space.variables]
    short = [full.rpartition("/")[2] for full in known]
    hint = did_you_mean(name, [*known, *short, *others])
    raise UnknownName(
        f"{before}{missing} {name!r}{hint}",
        at=at,
        found=("it has:\n" + listed(shown, "variables") if shown else "it has none")
        + (f"\nhandles: {', '.join(map(repr, others))}" if others else ""),
        fix="use one of these names" if shown else "graph.add_variable(..., name=...)",
    )


def _described(variable: Variable) -> str:
    sizes = ", ".join(map(str, variable.shape))
    return f"{shortened(variable.name, NAME)}  {variable.element_type.dtype}[{sizes}]"
