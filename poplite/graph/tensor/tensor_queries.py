"""What a tensor tells about itself: shape, storage, text; and what it is not.

    t.shape, t.num_elements          (4, 6), 24
    t.T.is_contiguous()              False: its elements are not one range of a variable
    t[:, 2:4].var_regions()          t[2, 4), t[8, 10), t[14, 16), t[20, 22)
    t.broadcast(2, 0).contains_aliases()        True: every element occurs twice

Nothing here makes a tensor, and nothing visits elements, except where regions are listed.
Source: Poplar API reference, "Tensor".
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO

import numpy as np

from poplite import view as views
from poplite.errors import ElementTypeError, PopliteError, TensorIndexError
from poplite.graph.tensor import indexing, text
from poplite.graph.tensor.metadata import initial_metadata
from poplite.graph.tensor.variable_regions import VarRegions, region_chunks, var_regions
from poplite.quarter import decode
from poplite.source import here
from poplite.text import clipped
from poplite.types import ElementType
from poplite.view import Intervals, View

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.tensor.tensor import Tensor


class TensorQueries:
    """The part of `Tensor` that answers questions.

    Tensors are equal when they view the same elements in the same shape and type.

    Attributes:
        graph: the graph that owns the variables.
        element_type: what one element is.
        view: which elements, in which order.
    """

    __slots__ = ("element_type", "graph", "view")
    # NumPy functions and operators refuse a tensor instead of making object arrays of it.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, element_type: type[ElementType[Any]], view: View) -> None:
        self.graph = graph
        self.element_type = element_type
        self.view = view

    @property
    def shape(self) -> tuple[int, ...]:
        """Size of each dimension."""
        return self.view.shape

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.view.shape)

    @property
    def num_elements(self) -> int:
        """Number of elements, repeats counted."""
        return math.prod(self.view.shape)

    @property
    def name(self) -> str:
        """Name of the variable viewed, or of several; empty without elements."""
        return text.name(self)

    @property
    def metadata(self) -> Tensor | None:
        """Format and scale of a QUARTER tensor; None of any other, and of no elements.

        One tensor of one QUARTER_METADATA element, whatever is done to the view.  Unless it is
        a constant, a program may change it.

        Source: Poplar API reference, "Tensor::getMetadata".

        >>> import poplite as pl
        >>> metadata = pl.QuarterMetadata("F143", scale=-2)
        >>> x = pl.Graph().add_variable(pl.QUARTER, (4,), "x", metadata=metadata)
        >>> x[1:3].metadata
        <Tensor 'x/metadata' QUARTER_METADATA[] on tile 0, 1 B>
        """
        below = views.storages(self.view) if self.element_type.requires_metadata else ()
        return self.graph.variable_of(below[0]).metadata if below else None

    def has_metadata(self) -> bool:
        """Tell whether format and scale of the elements stand in a tensor beside it."""
        return self.metadata is not None

    def dim(self, i: int) -> int:
        """Return the size of one dimension.

        Raises:
            TensorIndexError: when there is no such dimension.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).dim(1)
        3
        """
        return self.view.shape[indexing.dimension(i, self)]

    def _of(self, view: View) -> Self:
        """Return a tensor of this graph and type."""
        return type(self)(self.graph, self.element_type, view)

    # Questions about storage

    def is_contiguous(self) -> bool:
        """Tell whether the elements are one ascending range of one variable, or none."""
        return views.is_contiguous(self.view)

    def contains_aliases(self) -> bool:
        """Tell whether some element of a variable occurs twice."""
        return views.contains_aliases(self.view)

    def contains_constant(self) -> bool:
        """Tell whether some element belongs to a constant."""
        return views.contains_constant(self.view)

    def is_parallel_writeable(self) -> bool:
        """Tell whether all elements may be written at once: no aliases, no constants."""
        return not (self.contains_constant() or self.contains_aliases())

    def intersects_with(self, other: TensorQueries) -> bool:
        """Tell whether two tensors share an element.

        Raises:
            ElementTypeError: when `other` is no tensor.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 3))
        >>> t[0].intersects_with(t[:, 1]), t[0].intersects_with(t[1])
        (True, False)
        """
        if not isinstance(other, TensorQueries):
            raise no_tensor("intersects_with", other)
        return views.intersects(self.view, other.view)

    def num_regions(self) -> int:
        """Count the contiguous regions, without listing them.

        Takes microseconds at any size, unless a concatenation is read out of its order.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2**15, 2**15)).T.num_regions()
        1073741824
        """
        return views.num_runs(self.view)

    def contiguous_regions(self) -> Intervals:
        """Return where the flattened tensor breaks in memory.

        Returns:
            Intervals that partition [0, num_elements), each a maximal range of consecutive
            elements of one variable. A list to read; `begin` and `end` are arrays.

        Raises:
            SizeOverflowError: for more than 2**27 regions; `region_chunks` streams them.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6))[:, 2:4].contiguous_regions()
        [Interval(begin=0, end=2), Interval(begin=2, end=4)]
        """
        length = views.runs(self.view)[1]
        end = np.cumsum(length)
        return Intervals(end - length, end)

    def var_regions(self) -> VarRegions:
        """Return which ranges of which variables the tensor reads, in order.

        Returns:
            Ranges that follow each other in the flattened tensor, each maximal. A list to
            read; `variables`, `number`, `begin` and `end` are arrays.

        Raises:
            SizeOverflowError: for more than 2**27 regions; `region_chunks` streams them.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")
        >>> [(v.name, begin, end) for v, begin, end in t[:, 2:4].var_regions()]
        [('t', 2, 4), ('t', 8, 10)]
        """
        return var_regions(self.graph, self.view)

    def region_chunks(self, most: int = 2**20) -> Iterator[VarRegions]:
        """Stream what `var_regions` returns, for tensors of more regions than fit.

        Args:
            most: regions of one part, at least 1; each takes 64 bytes while it is made.

        Yields:
            Parts that follow each other; no region is cut in two.

        Raises:
            TensorIndexError: when `most` is no whole number from 1.

        >>> import poplite as pl
        >>> t = pl.Graph().add_variable(pl.FLOAT, (100, 100), "t")
        >>> sum(len(part) for part in t.T.region_chunks(1000))
        10000
        """
        limit = indexing.number(most, "most", self)
        if not limit:
            raise TensorIndexError(
                "region_chunks of at most 0 regions, but the least is 1",
                at=here(),
                found=indexing.described(self),
                fix="t.region_chunks() has parts of 2**20 regions",
            )
        return region_chunks(self.graph, self.view, limit)

    def constant_value(self) -> np.generic | None:
        """Return the value of a one-element constant; None for anything else.

        None also for what `add_replication_index_constant` returns: every replica has its own.

        >>> import poplite as pl
        >>> pl.Graph().add_constant(pl.INT, (2,), [7, 8])[1].constant_value()
        np.int32(8)
        """
        if self.num_elements != 1 or not self.contains_constant():
            return None
        (variable, begin, _) = self.var_regions()[0]
        if variable.replica_values:
            return None
        assert variable.initial_value is not None
        value = variable.initial_value.reshape(-1)[begin]
        metadata = initial_metadata(self)
        if metadata is not None:
            return np.float32(decode(value, metadata))
        return value.view(self.element_type.dtype)  # type: ignore[no-any-return]

    # Text

    def shape_to_string(self) -> str:
        """Return the shape as Poplar writes it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).shape_to_string()
        '{2,3}'
        """
        return "{" + ",".join(map(str, self.shape)) + "}"

    def var_str(self) -> str:
        """Return the number of the first variable, and what was done to it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3)).T.broadcast(2, 0).var_str()
        'VAR:0 BROADCAST[2] DIMSHUFFLE(1,0)'
        """
        return text.summary(self, lambda variable: str(variable.storage.id))

    def debug_str(self) -> str:
        """Return the name of the first variable, and what was done to it.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.debug_str()
        'VAR:t DIMSHUFFLE(1,0)'
        """
        return text.summary(self, lambda variable: variable.name)

    def output(self, stream: TextIO) -> TextIO:
        """Write the view as an expression; returns the stream."""
        stream.write(text.expression(self) + "\n")
        return stream

    def output_regions(self, stream: TextIO) -> TextIO:
        """Write the ranges of variables, one a line; returns the stream."""
        for part in self.region_chunks():
            for variable, begin, end in part:
                stream.write(f"{variable.name}[{begin}, {end})\n")
        return stream

    def dump(self) -> None:
        """Print the view as an expression.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 3), "t").T.dump()
        float32[3, 2]: t from 0, extent:stride (3:1) (2:3)
        """
        self.output(sys.stdout)

    def dump_regions(self) -> None:
        """Print the ranges of variables.

        >>> import poplite as pl
        >>> pl.Graph().add_variable(pl.FLOAT, (2, 6), "t")[:, 2:4].dump_regions()
        t[2, 4)
        t[8, 10)
        """
        self.output_regions(sys.stdout)

    def __repr__(self) -> str:
        return text.one_line(self)

    # Equality, and what a tensor is not

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorQueries):
            return NotImplemented
        return (
            self.graph is other.graph
            and self.element_type is other.element_type
            and self.view == other.view
        )

    def __hash__(self) -> int:
        return hash((id(self.graph), self.element_type, self.view))

    def __bool__(self) -> NoReturn:
        raise self._no_values("a tensor has no truth value")

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        raise self._no_values("a tensor is not a NumPy array")

    def _no_values(
        self,
        what: str,
        fix: str = "engine.read(t) returns the values after a run; t.num_elements counts them",
    ) -> PopliteError:
        return ElementTypeError(
            f"{what}: it holds no values while a graph is built",
            at=here(),
            found=indexing.described(self),
            fix=fix,
        )

    # C++ spelling

    def getMetadata(self) -> Tensor | None:
        """Return `metadata`."""
        return self.metadata

    def elementType(self) -> type[ElementType[Any]]:
        """Return `element_type`."""
        return self.element_type

    def numElements(self) -> int:
        """Return `num_elements`."""
        return self.num_elements

    hasMetadata = has_metadata
    isContiguous = is_contiguous
    containsAliases = contains_aliases
    containsConstant = contains_constant
    isParallelWriteable = is_parallel_writeable
    intersectsWith = intersects_with
    getContiguousRegions = contiguous_regions
    getVarRegions = var_regions
    getConstantValue = constant_value
    shapeToString = shape_to_string
    getVarStr = var_str
    getDebugStr = debug_str
    outputRegions = output_regions
    dumpRegions = dump_regions


def _refused(what: str, fix: str) -> Callable[..., NoReturn]:
    def method(self: TensorQueries, *_: object) -> NoReturn:
        raise self._no_values(what, fix)

    return method


_COMPUTE = "a tensor is a view: compute in a vertex, or on engine.read(t) after a run"
_REFUSED = {
    "add radd": "'+' of a tensor",
    "sub rsub neg": "'-' of a tensor",
    "mul rmul": "'*' of a tensor",
    "matmul rmatmul": "'@' of a tensor",
    "truediv rtruediv": "'/' of a tensor",
    "floordiv rfloordiv": "'//' of a tensor",
    "mod rmod": "'%' of a tensor",
    "divmod rdivmod": "divmod of a tensor",
    "pow rpow": "'**' of a tensor",
    "lshift rlshift": "'<<' of a tensor",
    "rshift rrshift": "'>>' of a tensor",
    "and rand": "'&' of a tensor",
    "or ror": "'|' of a tensor",
    "xor rxor": "'^' of a tensor",
    "pos": "unary '+' of a tensor",
    "invert": "'~' of a tensor",
    "abs": "abs of a tensor",
    "round": "round of a tensor",
    "lt": "'<' of a tensor",
    "le": "'<=' of a tensor",
    "gt": "'>' of a tensor",
    "ge": "'>=' of a tensor",
    "contains": "'in' a tensor",
    "float": "a tensor is no float",
    "int": "a tensor is no int",
    "complex": "a tensor is no complex number",
    "index": "a tensor is no whole number",
}
_ASSIGN = "graph.set_initial_value(t, value), engine.write(t, value), or Copy(source, t)"

# Not written in the class: a type checker then refuses them without running anything.
for _names, _what in _REFUSED.items():
    for _name in _names.split():
        setattr(TensorQueries, f"__{_name}__", _refused(_what, _COMPUTE))
for _name in ("setitem", "delitem"):
    setattr(TensorQueries, f"__{_name}__", _refused("elements of a tensor are not set", _ASSIGN))


def no_tensor(what: str, value: object, fix: str = "") -> PopliteError:
    """Return the error for a value where a tensor is needed.

    Args:
        what: the call, and the argument where it has several.
        value: what was given.
        fix: what to try; left out, where tensors come from.
    """
    return ElementTypeError(
        f"{what}: {type(value).__name__} is not a tensor",
        at=here(),
        found=f"given {clipped(value, 80)}",
        fix=fix or "graph.add_variable(...) and graph.add_constant(...) return tensors",
    )
