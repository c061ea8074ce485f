"""Texts that describe a tensor: its name, one-line repr, expression and explanation.

    <Tensor 'weights' float32[64, 128] on 32 tiles (0-31), 32,768 B>
    <Tensor 'weights'.T float32[128, 64] on 32 tiles (0-31), 32,768 B>
    <Tensor 'bias'.broadcast(8, 0) float32[512] on tile 0, 64 distinct elements, 256 B>
    VAR:weights DIMSHUFFLE(1,0)
    float32[3, 2]: t from 0, extent:stride (3:1) (2:3)

A repr must be fast, since debuggers and error messages use it: tiles are looked up only for views
with few runs, or of an entire variable.

An explanation fits on one screen: the elements that a tensor reads, their order, and the
consequences.
Many regions are counted but not listed, and slow queries are skipped, so that a tensor of 10^9
elements is explained as fast as one of ten.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from poplite.arrays.intervals import Int64, union
from poplite.arrays.series import digits_of
from poplite.errors import SizeOverflowError
from poplite.graph.tensor.regions import var_regions
from poplite.graph.tensor.tensor_mapping import mapping_of
from poplite.graph.tile_mapping import NO_TILE, TileMapping, ranges
from poplite.graph.variable_mapping import split
from poplite.text import amount, element_range, fitted, shortened
from poplite.types import type_text
from poplite.view import (
    Cat,
    Storage,
    View,
    all_of,
    contains_aliases,
    num_runs,
    once,
    runs,
    source,
    storages,
)

if TYPE_CHECKING:
    from poplite.graph.space import Variable
    from poplite.graph.tensor.tensor import Tensor


FEW_RUNS = 2**17
"""Maximum number of runs whose tiles a repr looks up, in some tens of milliseconds."""

MANY_RUNS = 1_000_000
"""Number of runs above which an error does not search for the elements at fault."""

LONGEST_EXPRESSION = 100_000
"""Maximum number of characters of an expression that are written."""

LONGEST_SOURCE = 60
"""Maximum number of characters of the operations that create a tensor, without names."""

SHOWN_NAMES = 3
SHOWN_RANGES = 3


def name(tensor: Tensor) -> str:
    """Return the name of the variable underlying a tensor, or `concat(...)` for several."""
    space = tensor.view.space
    if isinstance(space, Storage) and space.num_elements:  # the common case
        return tensor.graph.space.variable_of(space).name
    names, more = _names_below(tensor)
    if len(names) < 2:
        return "".join(names)
    return f"concat({', '.join(names + [f'{more:,} more'] * (more > 0))})"


def _names_below(tensor: Tensor) -> tuple[list[str], int]:
    """Return the names of a tensor's first underlying variables, and the number of others."""
    space = tensor.view.space
    below = space.storages if isinstance(space, Cat) else storages(tensor.view)
    names = [tensor.graph.space.variable_of(storage).name for storage in below[:SHOWN_NAMES]]
    return names, len(below) - len(names)


def type_and_shape(tensor: Tensor) -> str:
    """Return type and shape in the form `float32[64, 128]`."""
    return f"{type_text(tensor.element_type)}{list(tensor.shape)}"


def one_line(tensor: Tensor) -> str:
    """Return the repr of a tensor: its construction, shape, tiles, and bytes of storage."""
    if not tensor.num_elements:
        origin = "'{}' " if tensor.name else ""
        return fitted(f"<Tensor {origin}{type_and_shape(tensor)}, no elements>", tensor.name)
    view = once(tensor.view)
    regions = num_runs(view) if isinstance(view.space, Storage) else view.num_elements
    mapping = _mapping(tensor, regions, FEW_RUNS)
    where = "" if mapping is None else " " + _tiles(mapping)
    construction, names = _construction(tensor)
    pattern = f"<Tensor {construction} {type_and_shape(tensor)}{where}, {size(tensor, regions)}"
    return fitted(pattern + _unmapped(tensor, mapping) + ">", *names)


def size(tensor: Tensor, regions: int) -> str:
    """Return the size of the elements of a tensor in bytes, each counted once.

    `regions` is an upper bound for the number of regions.

    >>> import poplite as pl
    >>> size(pl.Graph().add_variable(pl.FLOAT, (4,)).broadcast(3, 0), 3)
    '4 distinct elements, 16 B'
    """
    each, count = tensor.element_type.size_bytes, tensor.num_elements
    distinct = _num_distinct(tensor, regions)
    if distinct is None:
        return f"at most {count * each:,} B"
    repeats = f"{amount(distinct, 'distinct element')}, " if distinct < count else ""
    return f"{repeats}{distinct * each:,} B"


def _num_distinct(tensor: Tensor, regions: int) -> int | None:
    """Return the number of distinct elements, or None if counting would take long."""
    view = once(tensor.view)
    if regions > FEW_RUNS and not isinstance(view.space, Storage):
        return None
    if not contains_aliases(view):
        return view.num_elements
    if regions > FEW_RUNS:
        return None
    begin, end = _once(tensor)
    return int((end - begin).sum())


def made_from(tensor: Tensor) -> str:
    """Return the operations that create a tensor with elements, or its number of regions.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> made_from(pl.concat([x[:2].T, x[3:].T], 1)[::-1])
    "concat(['x'[:2].T, 'x'[3].expand([1])], 1)[::-1]"
    """
    pattern, names = _construction(tensor)
    return pattern.format(*names)


def _construction(tensor: Tensor) -> tuple[str, list[str]]:
    """Return the construction of a tensor, with `{}` for each name, and the names."""
    names: list[str] = []

    def variable(storage: Storage) -> tuple[str, tuple[int, ...]]:
        found = tensor.graph.space.variable_of(storage)
        names.append(found.name)
        types.add(found.element_type)
        return "'{}'", found.shape

    types: set[object] = set()
    operations = source(tensor.view, variable)
    if operations is None or len(operations) > LONGEST_SOURCE:
        view = tensor.view
        counted = isinstance(view.space, Storage) or view.num_elements <= FEW_RUNS
        regions = amount(num_runs(view), "region") if counted else "many regions"
        below, more = _names_below(tensor)
        listed = ", ".join(["'{}'"] * len(below)) + (f" and {more:,} more" if more else "")
        return f"{listed} in {regions}", below
    if types != {tensor.element_type}:
        operations += f".reinterpret({tensor.element_type.__name__})"
    return operations, names


def is_transpose(tensor: Tensor) -> bool:
    """Return whether a tensor is a variable with its dimensions in reverse order.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.FLOAT, (4, 6), "x")
    >>> is_transpose(x.T), is_transpose(x), is_transpose(x[:2].T)
    (True, False, False)
    """
    view, space = tensor.view, tensor.view.space
    if not isinstance(space, Storage) or not view.num_elements:
        return False
    variable = tensor.graph.space.variable_of(space)
    shape = variable.shape
    if view.shape != shape[::-1] or tensor.element_type is not variable.element_type:
        return False
    entire = all_of(space, shape)
    return view != entire and view == entire.dim_shuffle(range(len(shape))[::-1])


def placement(tensor: Tensor, regions: int, limit: int) -> str:
    """Return the tiles of a tensor with elements as text; "" if it has too many regions.

    `regions` is an upper bound for their number.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=4))
    >>> placement(graph.add_variable(pl.FLOAT, (64,), mapping="linear")[32:], 1, 1)
    'on 2 tiles (2-3)'
    """
    mapping = _mapping(tensor, regions, limit)
    return "" if mapping is None else _tiles(mapping) + _unmapped(tensor, mapping)


def _unmapped(tensor: Tensor, mapping: TileMapping | None) -> str:
    if mapping is None or not len(mapping.tiles) or not mapping.num_unmapped:
        return ""
    return f", {amount(_num_unmapped(tensor, mapping), 'element')} unmapped"


def _num_unmapped(tensor: Tensor, mapping: TileMapping) -> int:
    """Return the number of distinct elements without a tile."""
    if not contains_aliases(tensor.view):
        return mapping.num_unmapped
    owners = [tensor.graph.space.variable_of(storage) for storage in storages(tensor.view)]
    begin, end = _once(tensor)
    pairs = [(variable.storage.base, variable.mapping) for variable in owners]
    tile, _, length = split(pairs, begin, end - begin)
    return int(length[tile == NO_TILE].sum())


def _mapping(tensor: Tensor, regions: int, limit: int) -> TileMapping | None:
    view = tensor.view
    space = view.space
    if regions > limit:
        # If every element occurs once, in any order, the tiles are the variable's.
        if (
            not isinstance(space, Storage)
            or view.num_elements != space.num_elements
            or contains_aliases(view)
        ):
            return None
        view = all_of(space, (space.num_elements,))
    return mapping_of(tensor.graph.space, view)


def _tiles(mapping: TileMapping) -> str:
    tiles = mapping.tiles
    if not len(tiles):
        return "on no tile"
    if len(tiles) == 1:
        return f"on tile {tiles[0]}"
    return f"on {len(tiles):,} tiles ({ranges(tiles, SHOWN_RANGES)})"


def element_text(variables: Sequence[Variable], begin: int, end: int) -> str:
    """Return the addresses [begin, end) as an indexed range of their variable.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (4,), "x")
    >>> element_text(x.graph.variables, 1, 3)
    "'x'[1:3]"
    """
    variable = next(v for v in reversed(variables) if v.storage.base <= begin)
    base = variable.storage.base
    return element_range(variable.name, variable.shape, begin - base, end - base)


def shared(a: Tensor, b: Tensor) -> str:
    """Return the elements that two intersecting tensors share.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (4,), "x")
    >>> shared(x[:3], x[1:])
    "'x'[1:3]"
    """
    if max(num_runs(a.view), num_runs(b.view)) > MANY_RUNS:
        return f"elements of '{a.name}'"
    (a_begin, a_end), (b_begin, b_end) = _once(a), _once(b)
    low = np.searchsorted(a_end, b_begin, side="right")
    high = np.searchsorted(a_begin, b_end, side="left")
    k = int(np.argmax(low < high))
    first = low[k]
    begin, end = max(a_begin[first], b_begin[k]), min(a_end[first], b_end[k])
    return _first_of(a.graph.variables, int(begin), int(end), int((high - low).sum()))


def repeated_elements(tensor: Tensor) -> str:
    """Return the elements that occur more than once in a tensor; there must be at least one.

    >>> import poplite as pl
    >>> x = pl.Graph().add_variable(pl.INT, (4,), "x")
    >>> repeated_elements(pl.concat([x[:3], x[2:]]))
    "elements 'x'[2]"
    """
    if num_runs(tensor.view) > MANY_RUNS:
        return f"elements of '{tensor.name}'"
    begin, length = runs(tensor.view)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], (begin + length)[order]
    seen = np.maximum.accumulate(end)[:-1]
    again = np.flatnonzero(begin[1:] < seen)
    begin, end = union(begin[1:][again], np.minimum(end[1:], seen)[again])
    return "elements " + _first_of(tensor.graph.variables, int(begin[0]), int(end[0]), len(begin))


def _first_of(variables: Sequence[Variable], begin: int, end: int, count: int) -> str:
    more = f" and {amount(count - 1, 'more range')}" if count > 1 else ""
    return element_text(variables, begin, end) + more


def _once(tensor: Tensor) -> tuple[Int64, Int64]:
    """Return the ranges of addresses that a tensor reads, sorted and disjoint."""
    begin, length = runs(tensor.view)
    return union(begin, begin + length)


def why_not_writeable(tensor: Tensor) -> tuple[str, str]:
    """Return why a tensor is not parallel writeable: the reason, and the elements at fault.

    >>> import poplite as pl
    >>> why_not_writeable(pl.Graph().add_constant(pl.INT, (4,), 0, "zeros"))
    ('is constant', "'zeros' is a constant")
    """
    if tensor.contains_constant():
        storage = next(storage for storage in storages(tensor.view) if storage.constant)
        return "is constant", f"'{tensor.graph.space.variable_of(storage).name}' is a constant"
    return (
        "contains some elements more than once",
        f"{repeated_elements(tensor)} occur more than once",
    )


def summary(tensor: Tensor, label: Callable[[Variable], str]) -> str:
    """Return the first variable and the operations on it, as Poplar's getVarStr does."""
    view = tensor.view
    below = view.space.storages if isinstance(view.space, Cat) else storages(view)
    if not below:
        return "VAR:"
    parts = [f"VAR:{label(tensor.graph.space.variable_of(below[0]))}"]
    factor = math.prod([extent for extent, stride in view.flat_digits() if stride == 0])
    if factor > 1:
        parts.append(f"BROADCAST[{factor}]")
    order = _shuffled(view)
    if order != sorted(order):
        parts.append(f"DIMSHUFFLE({','.join(map(str, order))})")
    if isinstance(view.space, Cat) and len(view.space.kids) > 1:
        parts.append(f"INTERLEAVE[{len(view.space.kids)}]")
    return " ".join(parts)


def _shuffled(view: View) -> list[int]:
    """Return the dimensions of a row-major tensor in the order in which they are stored."""
    reach = []
    for d, (size, dim) in enumerate(zip(view.shape, view.dims, strict=True)):
        steps = [abs(stride) for _, stride in digits_of(size, dim) if stride]
        if steps:
            reach.append((-max(steps), d))
    by_stride = [d for _, d in sorted(reach)]
    stored = sorted(by_stride)
    return [by_stride.index(d) for d in stored]


def expression(tensor: Tensor) -> str:
    """Return the view of a tensor as an expression, down to its variables, cut off if very long.

    >>> import poplite as pl
    >>> expression(pl.Graph().add_variable(pl.INT, (2, 3), "t").T.flatten())
    'int32[6]: t from 0, extent:stride (3:1, 2:3)'
    """
    return f"{type_and_shape(tensor)}: {_expression(tensor, tensor.view)}"


def _expression(tensor: Tensor, view: View) -> str:
    words: list[str] = []
    room = LONGEST_EXPRESSION
    # A shared view is written each time it occurs, up to 2^n times below n concatenations.
    stack: list[Iterator[str | View]] = [iter([view])]
    while stack:
        word = next(stack[-1], None)
        if word is None:
            stack.pop()
        elif isinstance(word, View):
            stack.append(_words(tensor, word))
        else:
            words.append(word)
            room -= len(word)
            if room < 0:
                return "".join(words)[:LONGEST_EXPRESSION] + "..."
    return "".join(words)


def _words(tensor: Tensor, view: View) -> Iterator[str | View]:
    """Yield the text of a view, with the views below it in place of their texts."""
    if not view.num_elements:
        yield "no elements"
        return
    if isinstance(view.space, Storage):
        yield tensor.graph.space.variable_of(view.space).name
    else:
        yield f"{view.space.outer} x ["
        for k in range(len(view.space.kids)):
            yield "; " if k else ""
            yield view.space.kids[k]
        yield "]"
    numbers = [
        ", ".join(f"{extent}:{stride}" for extent, stride in digits_of(size, dim)) or "1"
        for size, dim in zip(view.shape, view.dims, strict=True)
    ]
    digits = " ".join(f"({number})" for number in numbers)
    yield f" from {view.off}, extent:stride {digits}".rstrip()


WIDTH = 80
LABEL = 14
SHOWN_DIMENSIONS = 6
SHOWN_VARIABLES = 3
SHOWN_LAYERS = 3
LONGEST_NAME = 32

MOST_READ = 2**24
"""Maximum number of elements of a reordered concatenation whose regions are counted."""

MOST_MEASURED = 100_000
"""Maximum number of regions that are listed to compare their lengths, in some milliseconds."""

MOST_LOOKED_UP = 2**20
"""Maximum number of regions whose tiles are looked up, in some tens of milliseconds."""


class Explanation(str):
    """Text whose repr is the text itself, for the interactive prompt."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def explain(tensor: Tensor) -> Explanation:
    """Return the text of `Tensor.explain`."""
    title = f"{_quoted(tensor.name)} {type_and_shape(tensor)}".strip()
    lines = [title if len(title) <= WIDTH else title[: WIDTH - 3] + "..."]
    for label, text in _facts(tensor):
        lines += textwrap.wrap(
            text,
            WIDTH,
            initial_indent=f"  {label:<{LABEL}}",
            subsequent_indent=" " * (LABEL + 2),
            max_lines=1 if label.startswith("dim") else 2,
            placeholder=" ...",
        )
    return Explanation("\n".join(lines))


def _quoted(name: str) -> str:
    return f"'{shortened(name, LONGEST_NAME)}'" if name else ""


def _dimensions(view: View) -> list[tuple[str, str]]:
    found = []
    for d, (extent, dim) in enumerate(zip(view.shape, view.dims, strict=True)):
        if d == SHOWN_DIMENSIONS:
            found.append(("", f"and {amount(len(view.shape) - d, 'more dimension')}"))
            break
        digits = digits_of(extent, dim)
        number = f"{extent:,}"
        if len(digits) > 1:
            number += " = " + " x ".join([f"{count:,}" for count, _ in digits])
        steps = ", ".join([_step(stride) for _, stride in digits]) or "one index"
        if isinstance(view.space, Cat) and any([stride for _, stride in digits]):
            steps += " in the layer below"
        found.append((f"dimension {d}", f"{number}: {steps}"))
    return found


def _step(stride: int) -> str:
    if stride == 0:
        return "repeated"
    return f"steps of {abs(stride):,}" + (" backwards" if stride < 0 else "")


def _facts(tensor: Tensor) -> list[tuple[str, str]]:
    view, count = tensor.view, tensor.num_elements
    if not count:
        return [("reads", "nothing: one of its sizes is 0")]
    regions = _count(view)
    below = _below(view, regions)
    tiles = placement(tensor, count if regions is None else regions, MOST_LOOKED_UP)
    return [
        ("view", made_from(tensor)),
        ("elements", f"{count:,} ({size(tensor, count if regions is None else regions)})"),
        *_dimensions(view),
        ("reads", _variables(tensor, below)),
        ("layers", _layers(view)),
        ("regions", _regions(tensor, regions)),
        ("tiles", tiles or "not looked up: too many regions"),
        ("contiguous", _contiguity(view, regions, len(below))),
        *_writing(tensor, regions, all([storage.constant for storage in below])),
    ]


def _below(view: View, regions: int | None) -> tuple[Storage, ...]:
    """Return the storages that a view reads, or those of its space if an exact answer is slow."""
    if isinstance(view.space, Storage) or (regions is not None and regions <= MOST_MEASURED):
        return storages(view)
    return view.space.storages


def _variables(tensor: Tensor, below: tuple[Storage, ...]) -> str:
    named = [tensor.graph.space.variable_of(storage) for storage in below[:SHOWN_VARIABLES]]
    texts = [f"{_quoted(v.name)} {type_text(v.element_type)}{list(v.shape)}" for v in named]
    more = [f"{len(below) - SHOWN_VARIABLES:,} more"] if len(below) > SHOWN_VARIABLES else []
    return ", ".join([*texts, *more])


def _layers(view: View) -> str:
    if isinstance(view.space, Storage):
        return "none: directly from the variable"
    texts: list[str] = []
    space: Storage | Cat = view.space
    while isinstance(space, Cat) and len(texts) < SHOWN_LAYERS:
        pieces = f"{len(space.kids):,} pieces" if len(space.kids) > 1 else "one view reshaped"
        texts.append(f"{pieces} in turn, {space.outer:,} times" if space.outer > 1 else pieces)
        space = space.kids[0].space
    return ", over ".join(texts)


def _count(view: View) -> int | None:
    """Return the number of regions, or None if counting would take long."""
    space = view.space
    jumps = isinstance(space, Cat) and view.flat_digits() != [(space.num_elements, 1)]
    return None if jumps and view.num_elements > MOST_READ else num_runs(view)


def _regions(tensor: Tensor, regions: int | None) -> str:
    view = tensor.view
    if regions is None:
        return f"not counted: {view.num_elements:,} elements across pieces"
    each, rest = divmod(view.num_elements, regions)
    if regions == 1:
        return "1, all elements"
    if regions > MOST_MEASURED:
        if each == 1 and not rest:
            return f"{regions:,} of 1 element"
        return f"{regions:,} of {view.num_elements / regions:,.1f} elements on average"
    ranges = var_regions(tensor.graph.space, view)
    length = ranges.end - ranges.begin
    low, high = int(length.min()), int(length.max())
    sizes = f"{low:,} to {high:,} elements" if low != high else amount(low, "element")
    return f"{regions:,} of {sizes}: {ranges.text()}"


def _contiguity(view: View, regions: int | None, variables: int) -> str:
    if regions == 1:
        return "yes: one range of one variable"
    if variables > 1:
        return f"no: it reads {variables:,} variables"
    if isinstance(view.space, Cat):
        return "no: its pieces do not follow each other in memory"
    covered = 1
    for d in range(len(view.shape) - 1, -1, -1):
        for extent, stride in reversed(digits_of(view.shape[d], view.dims[d])):
            if stride != covered:
                return f"no: {_gap(d, stride, covered)}"
            covered *= extent
    return "no"


def _gap(dim: int, stride: int, covered: int) -> str:
    if stride == 0:
        return f"dimension {dim} repeats elements"
    if stride < 0:
        return f"dimension {dim} runs backwards"
    if covered == 1:
        return f"neighbours along dimension {dim} are {stride:,} elements apart"
    return f"dimension {dim} steps by {stride:,}, after {covered:,} elements"


def _is_deep(view: View) -> bool:
    """Return whether a view reads pieces of pieces, which may be slow to compare."""
    space = view.space
    return isinstance(space, Cat) and isinstance(space.kids[0].space, Cat)


def _writing(tensor: Tensor, regions: int | None, only_constants: bool) -> list[tuple[str, str]]:
    try:
        constant = tensor.contains_constant()
    except SizeOverflowError as error:
        return [("constants", f"not known: {error.what}")]
    constants = ("all elements" if only_constants else "some elements") if constant else "none"
    if regions is None and _is_deep(tensor.view):
        return [("aliases", "not looked up: too many regions"), ("constants", constants)]
    try:
        aliased = tensor.contains_aliases()
    except SizeOverflowError as error:
        return [
            ("aliases", f"not known: {error.what}"),
            ("constants", constants),
        ]
    aliases = "none"
    if aliased:
        few = regions is not None and regions <= MOST_MEASURED
        aliases = f"{repeated_elements(tensor) if few else 'some elements'} occur more than once"
    reasons = ["it contains a constant"] * constant + ["elements occur more than once"] * aliased
    return [
        ("aliases", aliases),
        ("constants", constants),
        (
            "writeable",
            f"not in parallel: {' and '.join(reasons)}" if reasons else "yes, in parallel",
        ),
    ]
