"""Names of variables and compute sets: with scopes before them, and a number if already in use.

    with graph.scope("layer1"):
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w'
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w_1'

Names are unique, so that they are unambiguous in messages, drawings and `poplite-viz tensor NAME`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from poplite.errors import TensorCreationError
from poplite.text import clipped


class Names:
    """Unique names of several kinds of objects, within nested scopes.

    >>> names = Names()
    >>> with names.within("m4"):
    ...     names.unique("variable", "w"), names.unique("variable", "w")
    ('m4/w', 'm4/w_1')
    """

    def __init__(self) -> None:
        self._scopes: list[str] = []
        self._taken: defaultdict[str, dict[str, int]] = defaultdict(dict)

    @contextmanager
    def within(self, scope: str) -> Iterator[None]:
        """Prefix `scope/` to names made inside a `with` block."""
        self._scopes.append(scope)
        try:
            yield
        finally:
            self._scopes.pop()

    def unique(self, kind: str, name: str) -> str:
        """Return a name with its scopes that no other object of its kind ("variable", ...) has."""
        full = self.full(name)
        unique, taken = full, self._taken[kind]
        while unique in taken:
            taken[full] += 1
            unique = f"{full}_{taken[full]}"
        taken[unique] = 0
        return unique

    def number(self, kind: str, name: str) -> int:
        """Return how many names of a kind were taken before this one.

        >>> names = Names()
        >>> _ = names.unique("function", "blur"), names.unique("function", "sum")
        >>> names.number("function", "sum")
        1
        """
        return list(self._taken[kind]).index(name)

    def full(self, name: str) -> str:
        """Return a name with the scopes that are open."""
        return "/".join([*self._scopes, name]) if self._scopes else name

    def local(self, name: str) -> str:
        """Return a full name without the scopes that are open.

        >>> names = Names()
        >>> with names.within("conv1"):
        ...     names.local("conv1/w")
        'w'
        """
        return name.removeprefix("/".join([*self._scopes, ""]))

    def release(self, kind: str, name: str) -> None:
        """Make a name available again."""
        del self._taken[kind][name]


def checked_name(name: object, kind: str, call: str) -> str:
    """Return a name, perhaps empty, after checking that it is a string."""
    if isinstance(name, str):
        return name
    raise TensorCreationError(
        f"the name of a {kind} is text, but {clipped(name)} is given",
        found=f"its type is {type(name).__name__}",
        fix=call,
    )


def checked_scope(name: object) -> str:
    """Return the name of a scope after checking that it is a string, and not empty."""
    if isinstance(name, str) and name:
        return name
    raise TensorCreationError(
        f"{clipped(name)} is no name for a scope",
        found="an empty name" if isinstance(name, str) else f"its type is {type(name).__name__}",
        fix="graph.scope('layer1')",
    )
