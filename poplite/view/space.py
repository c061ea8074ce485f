"""Where elements live: one linear address space per graph, cut into variables.

Each variable owns the addresses [base, base + num_elements) of its graph's space, with at
least one unused guard address between neighbours, so that no run of addresses ever joins
two variables::

    address   0 1 2 3 4 5 6 7 8
    variable  a a a a . b b b .        a.base = 0, b.base = 5

Addresses count elements, not bytes, because a view never changes the size of an element.
"""

from __future__ import annotations


class Storage:
    """The elements of one variable; compared by identity.

    Attributes:
        id: number of the variable in its graph.
        base: address of its first element.
        num_elements: how many elements it owns.
        constant: whether a program may only read them.
    """

    __slots__ = ("base", "constant", "id", "num_elements")

    def __init__(self, id: int, base: int, num_elements: int, constant: bool = False) -> None:
        self.id = id
        self.base = base
        self.num_elements = num_elements
        self.constant = constant

    def __repr__(self) -> str:
        kind = "constant" if self.constant else "variable"
        return f"<Storage {kind} {self.id}, {self.num_elements:,} elements at {self.base:,}>"


NOWHERE = Storage(-1, 0, 0)
"""The space of every view without elements."""
