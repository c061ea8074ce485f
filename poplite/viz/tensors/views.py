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

import re
from functools import partial
from types import EllipsisType
from typing import NamedTuple

import numpy as np

from poplite.arrays.intervals import Int64
from poplite.errors import InvalidOption, TensorIndexError, did_you_mean
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.types import ELEMENT_TYPES, NUMPY_TYPES, ElementType, element_type
from poplite.view import num_runs, runs
from poplite.viz.draw.words import name_text, shape_text

Index = int | slice | EllipsisType
"""The forms of an index; an ellipsis means all axes that are not named."""

MOST_PIECES = 1 << 24
"""Pieces of a view; their positions take some hundred MB."""

_ENTRIES = re.compile(r",(?![^\[(]*[\])])")
"""Commas, except those in brackets."""

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

    Raises TensorIndexError when it is anything but integers, slices and ellipses.

    >>> parse_view("2:5, ::2, ..., -1")
    (slice(2, 5, None), slice(None, None, 2), Ellipsis, -1)
    """
    parts = _ENTRIES.split(text.strip().removesuffix(","))
    return tuple(_entry(part.strip(), text) for part in parts)


def _entry(part: str, text: str) -> Index:
    if part == "...":
        return ...
    ends = [_integer(end.strip(), text) if end.strip() else None for end in part.split(":")]
    if len(ends) > 3 or ends == [None]:
        raise TensorIndexError(f"view {text!r} is not an index", at=None, fix=_FIX)
    if ends[2:] == [0]:
        raise TensorIndexError(f"view {text!r} has a step of 0", at=None, fix="a step of 1 or more")
    return slice(*ends) if len(ends) > 1 else ends[0] or 0


def _integer(text: str, view: str) -> int:
    try:
        return int(text)
    except ValueError:
        found = f"{text!r} is neither an integer nor a slice"
        message = f"view {view!r} is not an index"
        raise TensorIndexError(message, at=None, found=found, fix=_FIX) from None


def select(shape: tuple[int, ...], view: str | Index | tuple[Index, ...]) -> Selection:
    """Find the elements that a view selects; slices are clamped as NumPy clamps them.

    Raises TensorIndexError when the view is not an index, names more axes than there are, an index
    lies outside its axis, or nothing or too many pieces are selected.

    >>> select((4, 6), (slice(1, 3), ...)).begin
    array([6])
    """
    entries = parse_view(view) if isinstance(view, str) else view
    entries = entries if isinstance(entries, tuple) else (entries,)
    text = name_text(" ".join(view.split())) if isinstance(view, str) else _spelled(entries)
    whole = Graph().add_variable("bool", shape)  # its addresses start at 0
    refused = partial(TensorIndexError, at=None, found=f"the tensor's shape is {shape_text(shape)}")
    try:
        chosen = whole[entries]
    except TensorIndexError as error:
        raise refused(f"view [{text}]: {error.what}", fix=error.fix) from None
    if not chosen.num_elements:
        raise refused(f"view [{text}] selects no element", fix="widen the empty slice")
    if (pieces := num_runs(chosen.view)) > MOST_PIECES:
        raise refused(
            f"view [{text}] is {pieces:,} pieces, but at most {MOST_PIECES:,} can be drawn",
            fix="fewer indices, or a step of 1 along the last axis",
        )
    begin, length = runs(chosen.view)
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], (begin + length)[order]
    starts = np.flatnonzero(np.append(True, begin[1:] != end[:-1]))
    ends = end[np.append(starts[1:], len(begin)) - 1]
    return Selection(text, chosen.shape, begin[starts], ends - begin[starts])


def _spelled(entries: tuple[Index, ...]) -> str:
    return ", ".join(map(_spelled_entry, entries))


def _spelled_entry(entry: Index) -> str:
    if isinstance(entry, slice):
        ends = ["" if n is None else str(n) for n in (entry.start, entry.stop)]
        return ":".join(ends) + ("" if entry.step is None else f":{entry.step}")
    return "..." if entry is ... else str(entry)


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
    """The syntax of an operation: how many numbers it takes, and whether they form a list."""

    least: int
    most: int
    usage: str
    takes_list: bool = False


FORMS = {
    "slice": _Form(2, 3, "slice BEGIN END DIM"),
    "dimShuffle": _Form(0, 99, "dimShuffle 1,0", takes_list=True),
    "reshape": _Form(0, 99, "reshape 4,6", takes_list=True),
    "flatten": _Form(0, 2, "flatten"),
    "reverse": _Form(1, 1, "reverse DIM"),
    "subSample": _Form(2, 2, "subSample STRIDE DIM"),
    "upsample": _Form(2, 2, "upsample SCALE DIM"),
    "broadcast": _Form(2, 2, "broadcast N DIM"),
    "expand": _Form(1, 99, "expand 0", takes_list=True),
}
"""Operations whose arguments are whole numbers, by their names in Poplar."""

KINDS = (*FORMS, "concat", "reinterpret")

_WORD = re.compile(r"([A-Za-z_]+)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+")
_BETWEEN = re.compile(r"[\s,]+")


def read_operation(text: str) -> TensorOperation:
    """Read an operation.

    Raises InvalidOption when there is no such operation or it takes other arguments, and
    TensorIndexError if an index is invalid.

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

    Raises the errors of the operation, and UnknownName if there is no variable with a name.

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
    apply, numbers = getattr(tensor, operation.kind), operation.numbers
    made: Tensor = apply(numbers) if FORMS[operation.kind].takes_list else apply(*numbers)
    return made
