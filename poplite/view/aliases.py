"""Which elements are shared: aliases inside a view, intersections of views, constants.

Over one variable a view is a strided set of addresses, and `strided_sets` answers.  Nothing is
listed for a view of a `Cat` either, as long as it reads every position of the Cat once: it then
consists of the strided sets of the Cat's kids, which `set_arrays` compares::

    view of a Cat
      repeats a position          -> aliases
      else, kids never overlap    -> none               (found once per Cat)
      else, reads all of the Cat  -> aliases
      else                        -> compare its runs

A Cat whose kids never overlap is as good as a variable: views of it share an element where they
share a position.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from poplite.view.contiguous.chunks import chunks
from poplite.view.contiguous.concatenated import below, leaves_of, stacked
from poplite.view.contiguous.nested import MOST_RUNS, runs
from poplite.view.set_arrays import (
    FEW_PAIRS,
    Sets,
    any_meet,
    intervals,
    joined,
    marks_meet,
    sets_of,
)
from poplite.view.slices import SlicedViews
from poplite.view.strided_sets import meet, repeats
from poplite.view.view import NOWHERE, Cat, Storage, View, once

Kids = tuple[View, ...] | SlicedViews
Blocks = tuple[list[Sets], list[View]]

FEW = 8
"""At most so many views are compared in pairs, without arrays."""


def contains_aliases(view: View) -> bool:
    """Return whether some element occurs twice in a view.

    Raises `SizeOverflowError` for the rare view that is too irregular and too large to decide.

    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 0, 6), (1, 6))
    >>> contains_aliases(row), contains_aliases(row.broadcast(2, 0))
    (False, True)
    """
    space, shape = view.space, view.shape
    if len(shape) == 1 and isinstance(space, Storage) and isinstance(view.dims[0], int):
        return view.dims[0] == 0 and shape[0] > 1  # the common case
    if repeats(view.flat_digits()):
        return True
    if isinstance(space, Storage) or _alias_free(space):
        return False
    if view.num_elements == space.num_elements:
        return True
    if view.num_elements > sum([storage.num_elements for storage in space.storages]):
        return True
    return _meet([_blocks(view)], space.storages)


def intersects(a: View, b: View) -> bool:
    """Return whether two views share an element.

    Raises `SizeOverflowError` for the rare views that are too irregular and too large to decide.

    >>> from poplite.view.view import all_of
    >>> row = all_of(Storage(0, 0, 6), (6,))
    >>> even, odd = row.sub_sample(2, 0), row.slice(1, 6, 0).sub_sample(2, 0)
    >>> intersects(row, odd), intersects(even, odd)
    (True, False)
    """
    space = a.space
    if space is b.space:
        if space is NOWHERE:
            return False
        if meet(a.off, a.flat_digits(), b.off, b.flat_digits()):
            return True
        if isinstance(space, Storage) or _alias_free(space):
            return False
    elif isinstance(space, Storage) and isinstance(b.space, Storage):
        return False
    few_a, few_b = few_on_variables(a), few_on_variables(b)
    if few_a and few_b:
        return _some_meet(product(few_a, few_b))
    storages = (*_storages(a), *_storages(b))
    if len(set(storages)) == len(storages):
        return False
    return _meet([_blocks(a), _blocks(b)], storages)


def contains_constant(view: View) -> bool:
    """Return whether some element of a view belongs to a constant."""
    space = view.space
    if isinstance(space, Storage):
        return space.constant
    below_view = space.storages
    constants = [storage for storage in below_view if storage.constant]
    if len(constants) in (0, len(below_view)):
        return bool(constants)
    found = _reaches_constant(view)
    if found is not None:
        return found
    # A space may be built on storages of which it, or the view, reads nothing.
    begin = np.array([storage.base for storage in constants], np.int64)
    length = np.array([storage.num_elements for storage in constants], np.int64)
    return _meet([_blocks(view), ([intervals(begin, length)], [])], below_view)


def _reaches_constant(view: View) -> bool | None:
    """Compare positions with those of constant kids; None if kids are many, or one is on a Cat."""
    space = view.space
    if isinstance(space, Storage) or isinstance(space.kids, SlicedViews):
        return None
    places = []
    for kid, begin, end in zip(space.kids, space.breaks, space.breaks[1:], strict=False):
        if isinstance(kid.space, Cat):
            return None
        if kid.space.constant:
            chunk = [(space.outer, space.period), (end - begin, 1)]
            places.append((begin, [digit for digit in chunk if digit[0] > 1]))
    if len(places) > FEW_PAIRS:
        return None
    digits = view.flat_digits()
    return any(meet(view.off, digits, begin, chunk) for begin, chunk in places)


def _storages(view: View) -> tuple[Storage, ...]:
    """Return the storages below a view's space, whether or not the view reaches them."""
    space = view.space
    if isinstance(space, Storage):
        return () if space is NOWHERE else (space,)
    return space.storages


def _alias_free(cat: Cat) -> bool:
    if cat.alias_free is None:
        for space in below(cat):
            if space.alias_free is None:
                space.alias_free = _kids_apart(space)
    assert cat.alias_free is not None
    return cat.alias_free


def _kids_apart(cat: Cat) -> bool:
    """Return whether no element occurs twice in a Cat; `alias_free` of all Cats below is known."""
    kids = cat.kids
    common = _common_space(kids)
    if isinstance(common, Cat) and common.alias_free:
        positions = Storage(-1, 0, common.num_elements)
        return _kids_apart(Cat(_moved(kids, positions), cat.outer))
    if any([contains_aliases(kid) for kid in _distinct(kids)]):
        return False
    if len(kids) == 1:
        return True
    everything = View((cat.num_elements,), (1,), 0, cat)
    few = few_on_variables(everything)
    if few:
        return not _some_meet(combinations(few, 2))
    return not _meet([_blocks(everything)], cat.storages)


def _common_space(kids: Kids) -> Storage | Cat | None:
    if isinstance(kids, SlicedViews):
        return kids.template.space
    space = kids[0].space
    return space if all([kid.space is space for kid in kids]) else None


def _moved(kids: Kids, space: Storage) -> Kids:
    """Return the same kids on another space."""
    if isinstance(kids, SlicedViews):
        (template,) = _moved((kids.template,), space)
        return SlicedViews(template, kids.extent, kids.off)
    return tuple([View(kid.shape, kid.dims, kid.off, space) for kid in kids])


def _distinct(kids: Kids) -> Iterable[View]:
    """Return representatives of the kids: one repeats an element if any kid does.

    A kid on a Cat represents only itself, since the Cat may repeat elements.
    """
    if isinstance(kids, SlicedViews):
        return (kids[int(kids.extent.argmax())],)
    found: dict[object, View] = {}
    for kid in kids:
        on_variable = isinstance(kid.space, Storage)
        found.setdefault((kid.shape, kid.dims) if on_variable else id(kid), kid)
    return found.values()


def few_on_variables(view: View) -> tuple[View, ...]:
    """Return the views of variables that make up a view, or () if there are more than `FEW`."""
    space = view.space
    if isinstance(space, Storage):
        return (view,)
    kids = space.kids
    if len(kids) > FEW or isinstance(kids, SlicedViews):
        return ()
    on_variables = all([isinstance(kid.space, Storage) for kid in kids])
    return kids if on_variables and reads_all(view, space) else ()


def _some_meet(pairs: Iterable[tuple[View, View]]) -> bool:
    return any(
        a.space is b.space and meet(a.off, a.flat_digits(), b.off, b.flat_digits())
        for a, b in pairs
    )


def _meet(blocks: Sequence[Blocks], storages: Sequence[Storage]) -> bool:
    """Return whether sets of one view share an address, or sets of one view with another's."""
    if not any([streamed for _, streamed in blocks]):
        return any_meet(*[joined(sets) for sets, _ in blocks])
    low = min([storage.base for storage in storages])
    high = max([storage.base + storage.num_elements for storage in storages]) - 1
    return marks_meet([_all_sets(*part) for part in blocks], low, high)


def _all_sets(sets: Iterable[Sets], streamed: Iterable[View]) -> Iterator[Sets]:
    yield from sets
    for view in streamed:
        for begin, length in chunks(view):
            yield intervals(begin, length)


def _blocks(view: View) -> Blocks:
    """Return the strided sets that make up a view, and parts that are too large to list.

    A view that reads only part of a Cat is listed as runs.
    """
    sets: list[Sets] = []
    streamed: list[View] = []
    on_variables: list[View] = []
    todo = [view]
    while todo:
        view = once(todo.pop())
        space = view.space
        if isinstance(space, Storage):
            on_variables.append(view)
            continue
        kids = space.kids if reads_all(view, space) else None
        if isinstance(kids, tuple):
            todo += kids
        elif kids is not None and isinstance(kids.template.space, Storage):
            leaves = leaves_of(space)
            sets.append(sets_of(leaves.base, leaves.extent, leaves.stride))
        elif view.num_elements > MOST_RUNS:
            streamed.append(view)
        else:
            sets.append(intervals(*runs(view)))
    if on_variables:
        sets.append(sets_of(*stacked(on_variables, split=False)[:3]))
    return sets, streamed


def reads_all(view: View, cat: Cat) -> bool:
    """Return whether a view reads every position of a Cat, any number of times each."""
    digits = [digit for digit in view.flat_digits() if digit[1]]
    count = math.prod([extent for extent, _ in digits])
    return count == cat.num_elements and not repeats(digits)
