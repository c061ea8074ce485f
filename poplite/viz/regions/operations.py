"""Operations of a tensor as text: read by a small grammar, never evaluated.

    2:5, ::2               an index, as in t[2:5, ::2]
    slice 2 5 1            Poplar's names, with their arguments in Poplar's order;
    dimShuffle(1, 0)       parentheses and commas may be left out
    concat bias 0          the other tensor is a variable, by its name

>>> operation = read_operation("dim_shuffle 1,0")
>>> operation.text, operation.numbers
('dimShuffle(1, 0)', (1, 0))
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from poplite.errors import InvalidOption, did_you_mean
from poplite.frozen import frozen
from poplite.graph.tensor.concat import concat
from poplite.types import ELEMENT_TYPES, NUMPY_TYPES, ElementType, element_type
from poplite.viz.draw.units import name_text
from poplite.viz.tensor.selection import parse_view

if TYPE_CHECKING:
    from poplite.graph.tensor.tensor import Tensor

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
