"""Views and operations of tensors as text: read by a small grammar, never evaluated.

    2:5, ::2               an index, as in t[2:5, ::2]
    slice 2 5 1            Poplar's names, with their arguments in Poplar's order;
    dimShuffle(1, 0)       parentheses and commas may be left out
    concat bias 0          the other tensor is a variable, by its name

The elements that an index selects are kept as runs over the tensor's row-major order, so that a
slice of complete rows is one run whatever its size.

    >>> chosen = select((4, 6), "1:3, ::2")
    >>> chosen.shape, chosen.begin[:4], chosen.length[:4]
    ((2, 3), array([ 6,  8, 10, 12]), array([1, 1, 1, 1]))
    >>> operation = read_operation("dim_shuffle 1,0")
    >>> operation.text, operation.numbers
    ('dimShuffle(1, 0)', (1, 0))
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption, TensorIndexError, did_you_mean
from poplite.frozen import frozen
from poplite.graph.tensor.concat import concat
from poplite.types import ELEMENT_TYPES, NUMPY_TYPES, ElementType, element_type
from poplite.viz.draw.units import name_text, shape_text

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor

Index = int | slice | EllipsisType
"""What may stand for an axis; an ellipsis stands for all axes not named."""

MOST_PIECES = 1 << 24
"""Pieces of a view; their positions take some hundred MB."""

_FIX = "give integers and slices for the axes, for instance '2:5, ::2'"


@frozen(eq=False)
class Selection:
    """Elements picked out of a tensor.

    Attributes:
        text: the view as the user wrote it.
        begin: int64[runs], first elements, rising.
        length: int64[runs], elements of each run.
    """

    text: str
    shape: tuple[int, ...]
    begin: Int64
    length: Int64


def parse_view(text: str) -> tuple[Index, ...]:
    """Read the text between the brackets of an index: an entry for each axis named.

    Raises TensorIndexError when it is anything but integers, slices and one ellipsis.

    >>> parse_view("2:5, ::2, ..., -1")
    (slice(2, 5, None), slice(None, None, 2), Ellipsis, -1)
    """
    try:
        parsed = ast.parse(f"_[{text}]", mode="eval").body
    except (SyntaxError, ValueError):
        parsed = None
    if not isinstance(parsed, ast.Subscript) or not isinstance(parsed.value, ast.Name):
        raise TensorIndexError(f"view {text!r} is not an index", at=None, fix=_FIX)
    entries = parsed.slice.elts if isinstance(parsed.slice, ast.Tuple) else [parsed.slice]
    return tuple(_entry(entry, text) for entry in entries)


def _entry(node: ast.expr, text: str) -> Index:
    if isinstance(node, ast.Slice):
        parts = [_integer(p, text) for p in (node.lower, node.upper, node.step)]
        if parts[2] == 0:
            raise TensorIndexError(
                f"view {text!r} has a step of 0", at=None, fix="a step of 1 or more"
            )
        return slice(*parts)
    if isinstance(node, ast.Constant) and node.value is ...:
        return ...
    value = _integer(node, text)
    assert value is not None
    return value


def _integer(node: ast.expr | None, text: str) -> int | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    if node is None:
        return None
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return sign * node.value
    found = f"{ast.unparse(node)!r} is neither an integer nor a slice"
    raise TensorIndexError(f"view {text!r} is not an index", at=None, found=found, fix=_FIX)


def select(shape: tuple[int, ...], view: str | Index | tuple[Index, ...]) -> Selection:
    """Find the elements that a view selects; slices are clamped as NumPy clamps them.

    Raises TensorIndexError when the view is no index, names more axes than there are, an index
    lies outside its axis, or nothing is selected.

    >>> select((4, 6), (slice(1, 3), ...)).begin
    array([6])
    """
    entries = parse_view(view) if isinstance(view, str) else view
    entries = entries if isinstance(entries, tuple) else (entries,)
    text = name_text(" ".join(view.split())) if isinstance(view, str) else _spelled(entries)
    spread = _spread(entries, shape, text)
    chosen = [_positions(entry, axis, shape, text) for axis, entry in enumerate(spread)]
    kept = tuple(
        len(picked)
        for picked, entry in zip(chosen, spread, strict=True)
        if isinstance(entry, slice)
    )
    if not math.prod(kept):
        raise TensorIndexError(
            f"view [{text}] selects no element",
            at=None,
            found=f"the tensor's shape is {shape_text(shape)}",
            fix="widen the empty slice",
        )
    return Selection(text, kept, *_runs(shape, chosen, text))


def _spelled(entries: tuple[Index, ...]) -> str:
    return ", ".join(_spelled_entry(entry) for entry in entries)


def _spelled_entry(entry: Index) -> str:
    if isinstance(entry, slice):
        ends = ["" if n is None else str(n) for n in (entry.start, entry.stop)]
        return ":".join(ends) + ("" if entry.step is None else f":{entry.step}")
    return "..." if entry is ... else str(entry)


def _spread(entries: tuple[Index, ...], shape: tuple[int, ...], text: str) -> list[int | slice]:
    """Give every axis an entry: an ellipsis, and axes at the end not named, take all."""
    dots = [k for k, entry in enumerate(entries) if entry is ...]
    if len(dots) > 1:
        raise TensorIndexError(f"view [{text}] has {len(dots)} ellipses", at=None, fix="use one")
    named = len(entries) - len(dots)
    if named > len(shape):
        raise TensorIndexError(
            f"view [{text}] names {named} axes but the tensor has {len(shape)}",
            at=None,
            found=f"its shape is {shape_text(shape)}",
            fix=f"give at most {len(shape)} entries",
        )
    cut = dots[0] if dots else len(entries)
    fill = [slice(None)] * (len(shape) - named)
    spread = [*entries[:cut], *fill, *entries[cut + 1 :]]
    return [entry for entry in spread if isinstance(entry, int | slice)]


def _positions(entry: int | slice, axis: int, shape: tuple[int, ...], text: str) -> range:
    """Return the positions chosen on an axis, rising."""
    extent = shape[axis]
    if isinstance(entry, slice):
        chosen = range(*entry.indices(extent))
        return chosen if chosen.step > 0 else chosen[::-1]
    if not -extent <= entry < extent:
        raise TensorIndexError(
            f"view [{text}]: index {entry} lies outside axis {axis} of {extent}",
            at=None,
            found=f"the tensor's shape is {shape_text(shape)}",
            fix=f"use an index from 0 to {extent - 1}",
        )
    return range(entry % extent, entry % extent + 1)


def _runs(shape: tuple[int, ...], chosen: list[range], text: str) -> tuple[Int64, Int64]:
    """Return maximal runs of the product of the positions chosen on each axis.

    Raises TensorIndexError for more pieces than fit in memory.
    """
    inner, block = len(shape), 1
    while inner and len(chosen[inner - 1]) == shape[inner - 1]:
        inner -= 1
        block *= shape[inner]
    joined = 1
    axes = list(chosen[:inner])
    if inner and chosen[inner - 1].step == 1:  # one run, which does not reach the next one's begin
        joined = len(axes[-1])
        axes[-1] = axes[-1][:1]
    pieces = math.prod(map(len, axes))
    if pieces > MOST_PIECES:
        raise TensorIndexError(
            f"view [{text}] is {pieces:,} pieces, but at most {MOST_PIECES:,} can be drawn",
            at=None,
            found=f"the tensor's shape is {shape_text(shape)}",
            fix="fewer indices, or a step of 1 along the last axis",
        )
    first = np.zeros(1, np.int64)
    for axis, picked in enumerate(axes):
        first = (first[:, None] * shape[axis] + np.array(picked)).ravel()
    if joined > 1:
        return first * block, np.full(len(first), joined * block)
    starts = np.ones(len(first), np.bool_)
    starts[1:] = np.diff(first) != 1
    at = np.flatnonzero(starts)
    length = np.diff(np.append(at, len(first)))
    return first[at] * block, length * block


# -- operations ------------------------------------------------------------------------------------

INDEX = "index"


@frozen
class TensorOperation:
    """One operation.

    Attributes:
        kind: its name in Poplar, or `index`.
        numbers: its whole numbers.
        word: a name of a variable or of a type, or the text of an index.
    """

    kind: str
    numbers: tuple[int, ...] = ()
    word: str = ""

    @property
    def text(self) -> str:
        """The operation as it is shown."""
        if self.kind == INDEX:
            return f"[{name_text(' '.join(self.word.split()))}]"
        words = [f"'{name_text(self.word)}'"] if self.kind == "concat" else [self.word]
        arguments = [*filter(None, words), *map(str, self.numbers)]
        return f"{self.kind}({', '.join(arguments)})"


class _Form(NamedTuple):
    """How an operation is written: with how many numbers, and what it does with them."""

    least: int
    most: int
    usage: str
    apply: Callable[[Tensor, tuple[int, ...]], Tensor]


FORMS = {
    "slice": _Form(2, 3, "slice BEGIN END DIM", lambda t, n: t.slice(*n)),
    "dimShuffle": _Form(0, 99, "dimShuffle 1,0", lambda t, n: t.dim_shuffle(n)),
    "reshape": _Form(0, 99, "reshape 4,6", lambda t, n: t.reshape(n)),
    "flatten": _Form(0, 2, "flatten", lambda t, n: t.flatten(*n)),
    "reverse": _Form(1, 1, "reverse DIM", lambda t, n: t.reverse(*n)),
    "subSample": _Form(2, 2, "subSample STRIDE DIM", lambda t, n: t.sub_sample(*n)),
    "upsample": _Form(2, 2, "upsample SCALE DIM", lambda t, n: t.upsample(n[0], n[1])),
    "broadcast": _Form(2, 2, "broadcast N DIM", lambda t, n: t.broadcast(*n)),
    "expand": _Form(1, 99, "expand 0", lambda t, n: t.expand(n)),
}
"""Operations whose arguments are whole numbers, by their names in Poplar."""

KINDS = (*FORMS, "concat", "reinterpret")

_WORD = re.compile(r"([A-Za-z_]+)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
_BETWEEN = re.compile(r"[\s,]+")


def read_operation(text: str) -> TensorOperation:
    """Read an operation.

    Raises InvalidOption when there is no such operation or it takes other arguments, and
    TensorIndexError when an index is none.

    >>> read_operation("0:20").text, read_operation("concat bias 1").text
    ('[0:20]', "concat('bias', 1)")
    """
    stripped = text.strip()
    found = _WORD.fullmatch(stripped)
    if found is None:
        index = _without(stripped, "[", "]")
        parse_view(index)
        return TensorOperation(INDEX, word=index)
    spelled = {kind.lower(): kind for kind in KINDS}
    kind = spelled.get(found[1].replace("_", "").lower())
    if kind is None:
        raise InvalidOption(
            f"there is no operation {found[1]!r}{did_you_mean(found[1], KINDS)}",
            at=None,
            found=f"known are an index, {', '.join(KINDS)}",
            fix="--op '2:5, ::2', or --op 'dimShuffle 1,0'",
        )
    rest = _without(found[2].strip(), "(", ")")
    if kind == "concat":
        return _concat(text, rest)
    if kind == "reinterpret":
        return TensorOperation(kind, word=repr(_type_named(rest)))
    form, words = FORMS[kind], [word for word in _BETWEEN.split(_without(rest, "[", "]")) if word]
    if not (form.least <= len(words) <= form.most and all(map(_NUMBER.fullmatch, words))):
        raise InvalidOption(
            f"{name_text(text)!r} is not written as {kind} is",
            at=None,
            found=f"its arguments are {name_text(rest)!r}",
            fix=f"--op '{form.usage}'",
        )
    return TensorOperation(kind, tuple(map(int, words)))


def _concat(text: str, rest: str) -> TensorOperation:
    name, _, last = rest.replace(",", " ").rpartition(" ")
    if name and _NUMBER.fullmatch(last):
        return TensorOperation("concat", (int(last),), name.strip().strip("'\""))
    if not rest:
        raise InvalidOption(
            f"{name_text(text)!r} names no variable", at=None, fix="--op 'concat NAME DIM'"
        )
    return TensorOperation("concat", (0,), rest.strip("'\""))


def _without(text: str, opening: str, closing: str) -> str:
    if text.startswith(opening) and text.endswith(closing):
        return text[1:-1].strip()
    return text


def _type_named(text: str) -> type[ElementType[object]]:
    kinds = [*(str(kind.dtype) for kind in NUMPY_TYPES), *map(repr, ELEMENT_TYPES)]
    if text not in kinds:
        raise InvalidOption(
            f"there is no element type {name_text(text)!r}{did_you_mean(text, kinds)}",
            at=None,
            found=f"known are {', '.join(kinds)}",
            fix="--op 'reinterpret UNSIGNED_INT'",
        )
    return element_type(text)


def applied(tensor: Tensor, operation: TensorOperation) -> Tensor:
    """Return the tensor that an operation makes.

    Raises what the operation raises, and UnknownName where there is no variable of a name.

    >>> from poplite.graph import Graph
    >>> x = Graph().add_variable("float32", (4, 6), "x")
    >>> applied(x, read_operation("dimShuffle 1,0")) == x.T
    <same elements: True (not ops.equal)>
    """
    match operation.kind:
        case "index":
            return tensor[parse_view(operation.word)]
        case "concat":
            return concat([tensor, tensor.graph.tensor(operation.word)], *operation.numbers)
        case "reinterpret":
            return tensor.reinterpret(_type_named(operation.word))
    return FORMS[operation.kind].apply(tensor, operation.numbers)
