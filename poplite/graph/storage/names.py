"""Names of variables and compute sets: scopes in front, a number behind when taken.

    with graph.scope("layer1"):
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w'
        graph.add_variable(FLOAT, (4,), "w")     'layer1/w_1'

Names are unique, so that messages, drawings and `poplite-viz tensor NAME` mean one thing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from poplite.errors import TensorCreationError
from poplite.source import SourceLocation, here
from poplite.text import clipped


class Names:
    """Unique names of one kind of object each, within nested scopes.

    >>> names = Names()
    >>> with names.within("m4"):
    ...     names.unique("variable", "w"), names.unique("variable", "w")
    ('m4/w', 'm4/w_1')
    """

    def __init__(self) -> None:
        self._scopes: list[str] = []
        self._taken: dict[str, dict[str, int]] = {}

    @contextmanager
    def within(self, scope: str) -> Iterator[None]:
        """Put `scope/` in front of names made inside a `with` block.

        >>> names = Names()
        >>> with names.within("a"), names.within("b"):
        ...     names.unique("variable", "w")
        'a/b/w'
        """
        self._scopes.append(scope)
        try:
            yield
        finally:
            self._scopes.pop()

    def unique(self, kind: str, name: str) -> str:
        """Return a name with its scopes that no other object of its kind has.

        Args:
            kind: "variable" or "compute set".
            name: what the user calls it.

        >>> names = Names()
        >>> names.unique("variable", "w"), names.unique("compute set", "w")
        ('w', 'w')
        """
        wanted = "/".join([*self._scopes, name]) if self._scopes else name
        unique, taken = wanted, self._taken.setdefault(kind, {})
        while unique in taken:
            taken[wanted] += 1
            unique = f"{wanted}_{taken[wanted]}"
        taken[unique] = 0
        return unique

    def local(self, name: str) -> str:
        """Return a full name without the scopes that are open.

        Args:
            name: made in these scopes.

        >>> names = Names()
        >>> with names.within("conv1"):
        ...     names.local("conv1/w")
        'w'
        """
        return name.removeprefix("/".join([*self._scopes, ""]))

    def release(self, kind: str, name: str) -> None:
        """Give a name back.

        >>> names = Names()
        >>> names.release("variable", names.unique("variable", "w"))
        >>> names.unique("variable", "w")
        'w'
        """
        del self._taken[kind][name]


def checked_name(name: object, kind: str, at: SourceLocation, call: str) -> str:
    """Return a name after checking that it is text; it may be empty.

    Args:
        name: what the user gave.
        kind: what gets the name, for the message.
        at: the user's line.
        call: how the call is written.

    Raises:
        TensorCreationError: when it is something else.

    >>> from poplite.source import here
    >>> checked_name("w", "variable", here(), "")
    'w'
    """
    if isinstance(name, str):
        return name
    raise TensorCreationError(
        f"the name of a {kind} is text, but {clipped(name)} is given",
        at=at,
        found=f"its type is {type(name).__name__}",
        fix=call,
    )


def checked_scope(name: object) -> str:
    """Return a name for a scope after checking that it is text.

    Args:
        name: what the user gave.

    Raises:
        TensorCreationError: when it is something else, or empty.

    >>> checked_scope("conv1")
    'conv1'
    """
    if isinstance(name, str) and name:
        return name
    raise TensorCreationError(
        f"{clipped(name)} is no name for a scope",
        at=here(),
        found=f"its type is {type(name).__name__}" if name != "" else "an empty name",
        fix="graph.scope('layer1')",
    )
