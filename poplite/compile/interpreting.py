"""Which vertices run as plain Python: all, none, or those of some classes and steps.

    interpret=True                  all
    interpret=["Align", Score]      those of two classes, in whatever step
    interpret=["align rows"]        those of one compute set

A class stands for all classes that derive from it as well, as the template `Add` for `Add[FLOAT]`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from poplite.errors import UnknownName, did_you_mean
from poplite.executable.step import ComputeStep, CopyStep
from poplite.vertex.vertex import Vertex

Interpret = bool | tuple[str | type[Vertex], ...]
"""Whether vertices are interpreted, or the classes and names of those that are."""

Classes = frozenset[type[Vertex]]
"""Vertex classes of one step."""


def interpreted_classes(
    interpret: Interpret | None, steps: Iterable[tuple[str, Collection[type[Vertex]]]]
) -> list[Classes]:
    """Return the classes of each step that are interpreted; `steps` are names with their classes.

    Raises `UnknownName` for a class or name that no step has.
    """
    listed = list(steps)
    if not isinstance(interpret, tuple):
        none: Classes = frozenset()
        return [frozenset(classes) if interpret else none for _, classes in listed]
    found: list[Classes] = [frozenset()] * len(listed)
    for asked in interpret:
        each = [_meant(asked, name, classes) for name, classes in listed]
        if not any(each):
            raise _unknown(asked, listed)
        found = [before | more for before, more in zip(found, each, strict=True)]
    return found


def classes_of_steps(
    interpret: Interpret | None, steps: Sequence[ComputeStep | CopyStep]
) -> list[Classes]:
    """Return the classes of each lowered step that are interpreted, as `interpreted_classes`."""
    listed = [
        (step.name, {group.cls for group in step.groups} if isinstance(step, ComputeStep) else ())
        for step in steps
    ]
    return interpreted_classes(interpret, listed)


def interpret_text(interpret: Interpret | None) -> str:
    """Return the argument of an engine as it is written.

    >>> interpret_text(("Align", Vertex)), interpret_text(True)
    ("interpret=['Align', Vertex]", 'interpret=True')
    """
    if not isinstance(interpret, tuple):
        return f"interpret={bool(interpret)}"
    names = (repr(each) if isinstance(each, str) else each.__name__ for each in interpret)
    return f"interpret=[{', '.join(names)}]"


def _meant(asked: str | type[Vertex], name: str, classes: Collection[type[Vertex]]) -> Classes:
    if asked == name:
        return frozenset(classes)
    return frozenset(cls for cls in classes if _is_called(cls, asked))


def _is_called(cls: type[Vertex], asked: str | type[Vertex]) -> bool:
    bases = (base for base in cls.__mro__ if issubclass(base, Vertex) and base is not Vertex)
    return any(asked in (base, base.__name__) for base in bases)


def _unknown(
    asked: str | type[Vertex], steps: Sequence[tuple[str, Collection[type[Vertex]]]]
) -> UnknownName:
    classes = dict.fromkeys(cls.__name__ for _, of_step in steps for cls in of_step)
    names = dict.fromkeys(name for name, of_step in steps if of_step)
    called = asked if isinstance(asked, str) else asked.__name__
    what = f"no class and no step that runs is called '{called}'"
    return UnknownName(
        f"interpret: {what}{did_you_mean(called, [*classes, *names])}",
        found=f"classes: {', '.join(classes) or 'none'}; steps: {', '.join(names) or 'none'}",
        fix="interpret=True runs all vertices as plain Python",
    )
