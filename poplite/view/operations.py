"""Operations that create a view from all elements of its variable, found from its digits.

A view stores no history, only digits and an offset. But the digits determine operations that
create it; the operations found are applied and the result compared before they are shown::

    variable (8, 12)    digits ((12, 1), (8, 12))      .T
                        digits ((6, 2), (2, 0))        [:, ::2].upsample(2, 1)
                        offset 12, digits (12, 1)      [1]

So two equal views have the same text, however they were created. For a view over a concatenation,
the shape is inferred from its strides, if possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from poplite.arrays.series import Digit, Digits, digits_of, pack, row_major
from poplite.view.view import Cat, Shape, Storage, View

LEVELS = 3
"""Maximum levels of nested concatenations for which an expression is written."""

MOST_JOINED = 4
"""Maximum number of views that an expression joins."""

Operation = tuple[str, Callable[[View], View]]
"""An operation: the text that follows a tensor, and the function that applies it."""


class DigitStep(NamedTuple):
    """A digit within one dimension of the tensor from which a view is created.

    Attributes:
        axis: the dimension of the variable.
        extent: number of indices.
        step: distance between indices; negative if the dimension is read backwards.
    """

    axis: int
    extent: int
    step: int


def operations(view: View, shape: Shape) -> list[str] | None:
    """Return the operations that create a view of a variable with this shape.

    The view has elements, and reads one space. The result is None if there are no such operations,
    because an index of one dimension carries into another.

    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 24), (4, 6))
    >>> operations(x.dim_shuffle((1, 0)).slice(1, 3, 0), (4, 6))
    ['[:, 1:3]', '.T']
    >>> operations(x.reshape((24,)).slice(4, 9, 0), (4, 6))
    ['.flatten()', '[4:9]']
    """
    spread = _spread(view)
    for base in dict.fromkeys([shape, (math.prod(shape),)]):
        ways = [_from(view, base)]
        if spread is not None and (found := _from(spread, base)) is not None:
            joined: list[Operation] = []
            _reshaped(spread.shape, view.shape, joined)
            ways.append(found + [text for text, _ in joined])
        known = [_without_flatten(way) for way in ways if way is not None]
        if known:
            best = min(known, key=lambda way: len("".join(way)))
            is_flat = base != shape and not (best and best[0].startswith(".reshape"))
            return [".flatten()"] * is_flat + best
    return None


def _without_flatten(texts: list[str]) -> list[str]:
    """Remove each `.flatten()` directly before a reshape.

    >>> _without_flatten([".T", ".flatten()", ".reshape((4, 6))"])
    ['.T', '.reshape((4, 6))']
    """
    pairs = zip(texts, [*texts[1:], ""], strict=False)
    return [
        text for text, next_ in pairs if text != ".flatten()" or not next_.startswith(".reshape")
    ]


def _spread(view: View) -> View | None:
    """Return the view with one dimension for each digit and its repeats; None if it is the same.

    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 24), (4, 6))
    >>> _spread(x.upsample(3, 0).reshape((72,))).shape
    (12, 6)
    """
    digits: list[list[Digit]] = []
    for digit in view.flat_digits():
        if digits and (digit[1] == 0 or all(stride == 0 for _, stride in digits[-1])):
            digits[-1].append(digit)
        else:
            digits.append([digit])
    shape = tuple([math.prod([extent for extent, _ in each]) for each in digits])
    if shape == view.shape:
        return None
    spread = View(shape, tuple([pack(each) for each in digits]), view.off, view.space)
    return spread if spread.reshape(view.shape) == view else None


def source(view: View, variable: Callable[[Storage], tuple[str, Shape]]) -> str | None:
    """Return the expression that creates a view, which has elements, from its variables.

    `variable` returns the text and the shape of a variable. The result is None if no short
    expression is found, as for concatenations of many views.

    >>> from poplite.view.concatenation import concat
    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 24), (4, 6))
    >>> source(concat([x, x.reverse(0)], 1).dim_shuffle((1, 0)), lambda _: ("x", (4, 6)))
    'concat([x, x[::-1]], 1).T'
    """
    return _source(view, variable, LEVELS)


def _source(
    view: View, variable: Callable[[Storage], tuple[str, Shape]], levels: int
) -> str | None:
    space = view.space
    if isinstance(space, Storage):
        text, shape = variable(space)
    else:
        if not levels or len(space.kids) > MOST_JOINED:
            return None
        for shape in dict.fromkeys([_shape_read(view), (space.num_elements,)]):
            joined = _joined(space, shape, variable, levels)
            if joined is not None:
                text = joined
                break
        else:
            return None
    found = operations(view, shape)
    if found is None:
        return None
    if found and found[0].startswith(".reshape"):
        text = text.removesuffix(".flatten()")
    return "".join([text, *found])


def _joined(
    space: Cat, shape: Shape, variable: Callable[[Storage], tuple[str, Shape]], levels: int
) -> str | None:
    """Return the expression for all elements of a space, in a given shape."""
    dim = _joined_along(space, shape)
    if dim is None:
        return None
    parts = []
    for kid in space.kids:
        size = space.outer * kid.shape[1] // math.prod([*shape[:dim], *shape[dim + 1 :]])
        part = _source(kid.reshape((*shape[:dim], size, *shape[dim + 1 :])), variable, levels - 1)
        if part is None:
            return None
        parts.append(part)
    along = f", {dim}" if dim else ""
    return parts[0] if len(parts) == 1 else f"concat([{', '.join(parts)}]{along})"


def _shape_read(view: View) -> Shape:
    """Return the shape of a space whose dimensions are a view's digits, or a flat shape.

    >>> from poplite.view.view import all_of
    >>> _shape_read(all_of(Storage(0, 0, 24), (4, 6)).dim_shuffle((1, 0)))
    (4, 6)
    """
    digits = [digit for each in _digits(view) for digit in each]
    shape: list[int] = []
    covered = 1
    for stride, extent in sorted((abs(stride), extent) for extent, stride in digits if stride):
        if stride != covered:
            break
        shape.insert(0, extent)
        covered *= extent
    count = view.space.num_elements
    return tuple(shape) if covered == count else (count,)


def _joined_along(cat: Cat, shape: Shape) -> int | None:
    """Return the dimension of a shape along which a space joins its views, if there is one.

    >>> from poplite.view.concatenation import concat
    >>> from poplite.view.view import all_of
    >>> x = all_of(Storage(0, 0, 24), (4, 6))
    >>> cat = concat([x, x.reverse(0)], 1).space
    >>> _joined_along(cat, (4, 12)), _joined_along(cat, (48,))
    (1, None)
    """
    for dim in range(len(shape)):
        outer, inner = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
        if outer == cat.outer and all(kid.shape[1] % inner == 0 for kid in cat.kids):
            return dim
    return None


def _from(view: View, shape: Shape) -> list[str] | None:
    """Return the operations on a tensor of a shape, if all digits are steps within dimensions."""
    parts = _parts(view, shape)
    merged = None if parts is None else _merged(parts, shape)
    if parts is None or merged is None:
        return None
    corner = _corner(view, shape)
    if any(corner[a] + (p.extent - 1) * abs(p.step) >= shape[a] for a, p in merged.items()):
        return None  # a range continues in the next row
    found = [_selection(merged, corner, shape)]
    selected = tuple([merged[a].extent for a in range(len(shape)) if a in merged])
    found += _arranged(parts, selected, view)
    result = View(shape, row_major(shape), 0, view.space)
    for _, apply in found:
        result = apply(result)
    return [text for text, _ in found if text] if result == view else None


def _digits(view: View) -> list[Digits]:
    """Return the digits of each dimension."""
    return [digits_of(size, dim) for size, dim in zip(view.shape, view.dims, strict=True)]


def _parts(view: View, shape: Shape) -> list[list[DigitStep]] | None:
    """Return the digits of each dimension of a view, cut at the dimensions of `shape`.

    A part of extent n and axis -1 repeats its dimension n times.
    """
    axes = [(math.prod(shape[a + 1 :]), a) for a in range(len(shape)) if shape[a] != 1]
    found = []
    for digits in _digits(view):
        parts: list[DigitStep] = []
        for digit in digits:
            cut = [DigitStep(-1, digit[0], 0)] if digit[1] == 0 else _cut(digit, axes, shape)
            if cut is None:
                return None
            parts += cut
        found.append(parts)
    return found


def _cut(digit: Digit, axes: Sequence[tuple[int, int]], shape: Shape) -> list[DigitStep] | None:
    """Split a digit into parts that each step within one dimension, the outermost first."""
    extent, stride = digit
    parts: list[DigitStep] = []
    for place, axis in reversed(axes):  # the innermost dimension first
        if place > abs(stride):
            break
        outer = place * shape[axis]
        if abs(stride) >= outer and outer < math.prod(shape):
            continue
        if stride % place:
            return None
        step = stride // place
        room = -(-shape[axis] // abs(step))
        if extent <= room:
            return [DigitStep(axis, extent, step), *parts]
        if shape[axis] % step or extent % room:
            return None
        if room > 1:
            parts.insert(0, DigitStep(axis, room, step))
        extent, stride = extent // room, stride * room
    return None


def _merged(parts: Sequence[Sequence[DigitStep]], shape: Shape) -> dict[int, DigitStep] | None:
    """Return one part for each dimension that is read, or None unless it is a range of indices."""
    merged: dict[int, DigitStep] = {
        a: DigitStep(a, 1, 1) for a, size in enumerate(shape) if size == 1
    }
    for part in sorted((p for each in parts for p in each), key=lambda part: abs(part.step)):
        if part.axis < 0:
            continue
        inner = merged.get(part.axis)
        if inner is None:
            merged[part.axis] = part
        elif part.step == inner.step * inner.extent:
            merged[part.axis] = inner._replace(extent=inner.extent * part.extent)
        else:
            return None
    return merged


def _corner(view: View, shape: Shape) -> list[int]:
    """Return the smallest index of each dimension that a view reads."""
    offset = view.off
    offset += sum([(e - 1) * s for digits in _digits(view) for e, s in digits if s < 0])
    corner: list[int] = []
    for size in reversed(shape):
        offset, index = divmod(offset, size)
        corner.insert(0, index)
    return corner


def _selection(merged: dict[int, DigitStep], corner: Sequence[int], shape: Shape) -> Operation:
    """Return the selection of indices and ranges, in NumPy's notation."""
    keys: list[str] = []
    for axis, size in enumerate(shape):
        part = merged.get(axis)
        keys.append(str(corner[axis]) if part is None else _range(part, corner[axis], size))
    while keys and keys[-1] == ":":
        keys.pop()

    def apply(view: View) -> View:
        for axis in range(len(shape) - 1, -1, -1):
            part, first = merged.get(axis), corner[axis]
            if part is None:
                view = view.slice(first, first + 1, axis).squeeze((axis,))
                continue
            step = abs(part.step)
            end = min(first + (part.extent - 1) * step + 1, shape[axis])
            view = view.slice(first, end, axis).sub_sample(step, axis)
            view = view.reverse(axis) if part.step < 0 else view
        return view

    return (f"[{', '.join(keys)}]" if keys else "", apply)


def _range(part: DigitStep, first: int, size: int) -> str:
    """Return a range of indices in NumPy's notation.

    >>> _range(DigitStep(0, 4, 1), 0, 4), _range(DigitStep(0, 2, 2), 1, 8)
    (':', '1:4:2')
    >>> _range(DigitStep(0, 4, -1), 0, 4)
    '::-1'
    """
    step = abs(part.step)
    last = first + (part.extent - 1) * step
    if part.step < 0:
        start = "" if last == size - 1 else str(last)
        stop = "" if first < step else str(first - 1)
        return f"{start}:{stop}:{part.step}"
    start = str(first) if first else ""
    stop = "" if last + step >= size else str(last + 1)
    return f"{start}:{stop}" + (f":{step}" if step > 1 else "")


def _arranged(parts: Sequence[Sequence[DigitStep]], selected: Shape, view: View) -> list[Operation]:
    """Return the operations from the selected elements to the view's dimensions."""
    found: list[Operation] = []
    read = [part for each in parts for part in each if part.axis >= 0]
    stored = sorted(range(len(read)), key=lambda k: (read[k].axis, -abs(read[k].step)))
    order = [stored.index(k) for k in range(len(read))]
    shape = selected
    if order != sorted(order):
        shape = _reshaped(shape, tuple([read[k].extent for k in stored]), found)
        backwards = order == sorted(order, reverse=True)
        text = ".T" if backwards else f".dim_shuffle({order})"
        found.append((text, lambda view: view.dim_shuffle(order)))
        shape = tuple([part.extent for part in read])
    once = tuple([math.prod([p.extent for p in each if p.axis >= 0]) for each in parts])
    _reshaped(shape, once, found)
    for dim, each in enumerate(parts):
        for k, part in enumerate(each):
            if part.axis < 0:
                found.append(_repeated(part.extent, dim, inner=0 < k == len(each) - 1))
    return found


def _reshaped(shape: Shape, new: Shape, found: list[Operation]) -> Shape:
    """Add the operation from one shape to another, if they differ; return the new shape."""
    if shape != new:
        inserted, removed = _ones_between(shape, new), _ones_between(new, shape)
        if inserted is not None:
            text = f".expand({[at for at, _ in inserted]})"
        elif len(new) == 1:
            text = ".flatten()"
        elif removed is not None:
            text = f".squeeze({[dim for _, dim in removed]})"
        else:
            text = f".reshape({new})"
        found.append((text, lambda view: view.reshape(new)))
    return new


def _ones_between(shape: Shape, longer: Shape) -> list[tuple[int, int]] | None:
    """Return the position in both shapes of each size of 1 that only the longer shape has.

    >>> _ones_between((4,), (1, 4)), _ones_between((4,), (4, 1)), _ones_between((4,), (2, 2))
    ([(0, 0)], [(1, 1)], None)
    """
    more: list[tuple[int, int]] = []
    k = 0
    for dim, size in enumerate(longer):
        if k < len(shape) and size == shape[k]:
            k += 1
        elif size == 1:
            more.append((k, dim))
        else:
            return None
    return more if k == len(shape) else None


def _repeated(times: int, dim: int, inner: bool) -> Operation:
    if inner:
        return (f".upsample({times}, {dim})", lambda view: view.upsample(times, dim))
    return (f".broadcast({times}, {dim})", lambda view: view.broadcast(times, dim))
