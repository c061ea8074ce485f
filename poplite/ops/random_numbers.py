"""Random numbers: keys, draws, dropout.

    key         words 0 and 1: seed, 2 and 3: number of the next draw

    counter     AdvanceKey, on the tile of the key        counter = key, then the key advances
    draw        one vertex for each range of elements     each reads the counter, 16 bytes

The counter is a copy of the key, from which a gradient can repeat the draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

import poplite.ops.operands as checks
from poplite.errors import (
    ElementTypeError,
    GraphConnectionError,
    InvalidOption,
    TensorCreationError,
)
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph, mapping_graph
from poplite.graph.tensor.arguments import no_tensor
from poplite.graph.tensor.tensor import Slices, Tensor, check_own
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.ops.fuse.maps import Mappings, complete, cuts, held, variable
from poplite.ops.operands import FLOATS
from poplite.ops.record import map as stored
from poplite.program import Sequence as Steps
from poplite.program.control import check_graph
from poplite.program.recording import Recorder, graph_for, recorder
from poplite.text import clipped
from poplite.types import (
    BOOL,
    FLOAT,
    INT,
    INTEGERS,
    UNSIGNED_INT,
    ElementTypeLike,
    element_type as type_of,
)
from poplite.vertices import random as library

# -- checks ----------------------------------------------------------------------------------------


TWO_32 = 1 << 32
"""Number of distinct words."""

WORDS = 4
"""Words of a key, and of a block of Philox output."""

LARGEST = float(np.finfo(np.float32).max)


def drawn_type(
    what: str,
    shape: Any,
    element_type: ElementTypeLike,
    types: tuple[ElementClass, ...],
    out: Tensor | None,
) -> ElementClass:
    """Return the element type of the numbers: that of `out`, or the requested one."""
    if (shape is None) == (out is None):
        raise InvalidOption(
            f"{what}: {'neither shape nor out is' if out is None else 'both shape and out are'} "
            "given",
            fix=f"call {what}(key, shape), or {what}(key, out=tensor)",
        )
    if out is not None and not isinstance(out, Tensor):
        raise no_tensor(f"{what}, out", out)
    found = type_of(element_type) if out is None else out.element_type
    if found not in types:
        raise ElementTypeError(
            f"{what}: cannot draw numbers of type {found!r}",
            fix="use one of " + ", ".join(repr(each) for each in types),
        )
    return found


def number_of(what: str, name: str, value: object) -> float:
    """Return a number as a Python float."""
    if isinstance(value, (int, float, np.floating, np.integer)):
        with suppress(OverflowError):  # from an integer beyond the range of floats
            return float(value)
    raise checks.invalid_value(what, name, value, f"a number, such as {name}=0.5")


def rounded(what: str, name: str, value: object, dtype: np.dtype[Any]) -> Any:
    """Return a number rounded to a dtype; reject one that is then not finite."""
    number = number_of(what, name, value)
    with np.errstate(over="ignore"):
        rounded = dtype.type(number)
    if not np.isfinite(rounded):
        raise checks.invalid_value(what, name, value, f"a number that {dtype} can represent")
    return rounded


def threshold(what: str, name: str, value: object) -> int:
    """Return 2^32 times a probability."""
    number = number_of(what, name, value)
    if not 0 <= number <= 1:
        raise checks.invalid_value(what, name, value, "a number from 0 to 1")
    return round(number * TWO_32)


# -- keys ------------------------------------------------------------------------------------------


def key(graph: Graph, seed: int, name: str = "key", *, tile: int = 0) -> Tensor:
    """Create a key: a variable from which random numbers are drawn.

    Args:
        graph: the graph of the variable.
        seed: at least 0 and below 2^64. Keys with different seeds give different numbers.
        name: name of the variable.
        tile: the tile of the variable; every draw sends it to all tiles of the result.

    Returns:
        UNSIGNED_INT[4]: the seed and the number of the next draw, initially 0, each as two words,
        the lower one first. Replicas draw the same numbers, unless `engine.write` gives each its
        own seed.

    Raises:
        InvalidOption: for an invalid seed.
        InvalidTileMapping: for a tile that the graph does not have.

    >>> import poplite as pl
    >>> key(pl.Graph(pl.Target(tiles=1)), seed=7)
    <Tensor 'key' uint32[4] on tile 0, 16 B>
    """
    check_graph("ops.random.key(graph, seed)", graph)
    number = checks.count_of("key", "seed", seed, 0, 1 << 64)
    words = np.array([number % TWO_32, number // TWO_32, 0, 0], np.uint32)
    return graph.add_variable(UNSIGNED_INT, (WORDS,), name, mapping=tile, initial_value=words)


# -- drawing ---------------------------------------------------------------------------------------


class RandomDraw:
    """One recorded draw: its steps, and the tensor that receives its numbers.

    Args:
        what: the call, for messages.
        key: the key, which advances; or the counter of an earlier draw.
        name: name of the steps and of a new variable.
        program: where the steps go; None for the open block.
        operands: the other operands of the draw.
        is_placed: whether the user gave a mapping for the result.
        again: whether to repeat the numbers of an earlier draw, from its counter.

    Attributes:
        counter: the copy of the key from which the numbers are drawn.
    """

    def __init__(
        self,
        what: str,
        key: Tensor,
        name: str,
        program: Steps | None,
        *operands: object,
        is_placed: bool = False,
        again: bool = False,
    ) -> None:
        if (
            not isinstance(key, Tensor)
            or key.element_type is not UNSIGNED_INT
            or key.shape != (WORDS,)
        ):
            found = type_and_shape(key) if isinstance(key, Tensor) else f"given {clipped(key)}"
            raise ElementTypeError(
                f"{what}: key must be UNSIGNED_INT[4]",
                found=found,
                fix="key = ops.random.key(graph, seed=1)",
            )
        self._what, self._key, self._name = what, key, name
        self.graph = graph_for(
            key.graph, checks.tensors_of(key, *operands), program, is_placed=is_placed
        )
        self._target = checks.steps_for(what, self.graph, name, program)
        self._recorder: Recorder = recorder(self.graph, self._target)
        self._mappings = Mappings(self.graph)
        self._tile = None if again else int(self._mappings.of(key).tiles[0])
        self.counter = key

    def new(
        self,
        vertex: type[library.Draw[Any]],
        numbers: Mapping[str, object],
        shape: Any,
        element_type: ElementClass,
        out: Tensor | None,
        mapping: Any,
        operands: Mapping[str, Tensor] | None = None,
    ) -> Tensor:
        """Record a draw, and return the tensor of its numbers: `out`, or a new variable.

        Args:
            vertex: the vertex class that turns words into numbers.
            numbers: fields with the same value in all vertices, already checked.
            shape: shape of a new variable.
            element_type: element type of a new variable.
            out: the tensor that receives the numbers; None for a new variable.
            mapping: mapping of a new variable.
            operands: fields that are divided like the result.
        """
        self.check_out(out, mapping)
        operands = operands or {}
        like = [*operands.values()]
        if out is not None:
            complete(self._mappings, out, like)
        elif mapping is not None:
            graph = mapping_graph(self.graph)
            out = graph.add_variable(element_type, shape, self._name, mapping=mapping)
        else:
            out = variable(self._mappings, element_type, shape, self._name, like)
        if self._tile is not None:
            self._advance(self._tile)
        self._draw(vertex, out, numbers, operands)
        return out

    def check_out(self, out: Tensor | None, mapping: Any) -> None:
        """Reject an `out` that cannot receive the numbers."""
        if out is None:
            return
        check_own(self.graph, out, f"{self._what}, out")
        if mapping is not None:
            raise TensorCreationError(
                f"{self._what}: mapping cannot be given with out '{out.name}', which has its own",
                fix="call graph.set_tile_mapping(out, mapping), or omit out",
            )
        checks.check_writeable(self._what, "out", out)
        if out.intersects_with(self._key):
            raise GraphConnectionError(
                f"{self._what}: out '{out.name}' shares elements with the key",
                found=f"out is {out!r}, the key {self._key!r}",
                fix="pass a separate tensor",
            )

    def _advance(self, tile: int) -> None:
        """Record a copy of the key, from which numbers are drawn, and the advance of the key."""
        self.counter = self.graph.add_variable(
            UNSIGNED_INT, (WORDS,), f"{self._name}/counter", mapping=tile
        )
        self.graph.add_vertex(
            self._recorder.compute_set(f"{self._name}/counter"),
            library.AdvanceKey,
            tile=tile,
            key=self._key,
            counter=self.counter,
        )

    def _draw(
        self,
        vertex: type[library.Draw[Any]],
        out: Tensor,
        numbers: Mapping[str, object],
        operands: Mapping[str, Tensor],
    ) -> None:
        """Record the draw of all elements, and append the steps to the program."""
        found = cuts(*held(self._mappings.of(out)), self.graph.target.workers, WORDS)
        count = len(found.tile)
        parts = {"out": out, **operands}
        if count:
            self.graph.add_vertices(
                self._recorder.compute_set(self._name),
                vertex,
                tile=found.tile,
                counter=self.counter.reshape((1, WORDS)).broadcast(count, 0),
                first=found.begin.astype(np.uint64),
                **{
                    name: Slices(tensor.flatten(), 0, found.begin, found.end)
                    for name, tensor in parts.items()
                },
                **numbers,
            )
        written = [out] if self.counter is self._key else [out, self._key, self.counter]
        reads = [self._key, *operands.values()]
        self._recorder.uses(self._name, reads, written)
        self._recorder.finish(self._target, self._name)


# -- numbers ---------------------------------------------------------------------------------------


CHOSEN: tuple[ElementClass, ...] = (BOOL, *FLOATS, *INTEGERS)
"""Element types that can hold true and false, or 1 and 0."""


def uniform(
    key: Tensor,
    shape: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "uniform",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw of uniformly distributed numbers from `low` up to, but not including, `high`.

    Args:
        key: the key to draw from; see `ops.random.key`.
        shape: shape of the new variable; omitted if `out` is given.
        low: the smallest number.
        high: the upper bound, which is never drawn.
        element_type: FLOAT or HALF. FLOAT numbers are `low` plus multiples of 2^-24 of the range.
        out: a tensor of such a type that receives the numbers; by default, a new variable.
        mapping: mapping of the new variable, as in `graph.add_variable`; linear by default.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        ElementTypeError: for an invalid key, or an element type that is not listed above.
        InvalidOption: if `low` is not below `high`, both rounded to the element type, or if not
            exactly one of `shape` and `out` is given.
        GraphConnectionError: for an `out` that cannot be written.
        ControlProgramError: if `program` is omitted outside any block of steps.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = uniform(pl.ops.random.key(graph, seed=7), (3,), -1, 1, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> engine.read(x)
    array([...], dtype=float32)
    """
    what = "ops.random.uniform"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = uniform_fields(what, found, low, high)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(library.Uniform, numbers, shape, found, out, mapping)


def uniform_fields(
    what: str,
    element_type: ElementClass,
    low: float,
    high: float,
    names: tuple[str, str] = ("low", "high"),
) -> dict[str, object]:
    """Check a range, with `names` for messages; return the fields of vertices that draw from it."""
    dtype = element_type.dtype
    least, most = rounded(what, names[0], low, dtype), rounded(what, names[1], high, dtype)
    width = float(most) - float(least)
    if not 0 < width <= LARGEST:
        raise InvalidOption(
            f"{what}: {names[0]} {low!r} and {names[1]} {high!r} do not form a valid range of "
            f"{element_type!r}",
            found=f"rounded, they are {least} and {most}, {width:g} apart",
            fix=f"pass {names[0]} less than {names[1]}, such as {names[0]}=0.0, {names[1]}=1.0",
        )
    return {"low": float(least), "scale": width, "last": float(np.nextafter(most, least))}


def integers(
    key: Tensor,
    shape: Any = None,
    low: int = 0,
    high: int = 2,
    *,
    element_type: ElementTypeLike = INT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "integers",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw of integers from `low` up to, but not including, `high`.

    They are equally likely to within 2^-32: each is `low` plus the upper half of the product of a
    word of 32 bits and `high - low`.

    Args:
        key: the key to draw from; see `ops.random.key`.
        shape: shape of the new variable; omitted if `out` is given.
        low: the smallest number.
        high: one past the largest number; at most 2^32 above `low`.
        element_type: an integer type.
        out: a tensor of such a type that receives the numbers.
        mapping: mapping of the new variable, as in `graph.add_variable`; linear by default.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        SizeOverflowError: for numbers that the type cannot represent.
        InvalidOption: if `low` is not below `high`, or more than 2^32 below.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> dice = integers(pl.ops.random.key(graph, seed=7), (1000,), 1, 7, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> sorted(set(engine.read(dice).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    what = "ops.random.integers"
    found = drawn_type(what, shape, element_type, INTEGERS, out)
    numbers = integer_fields(what, found, low, high)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(library.Integers, numbers, shape, found, out, mapping)


def integer_fields(what: str, element_type: ElementClass, low: int, high: int) -> dict[str, object]:
    """Check a range, and return the fields of vertices that draw integers from it."""
    limits = np.iinfo(element_type.dtype.name)
    least = checks.count_of(what, "low", low, int(limits.min), int(limits.max) + 1)
    most = checks.count_of(what, "high", high, int(limits.min), int(limits.max) + 2)
    if not 0 < most - least <= TWO_32:
        raise InvalidOption(
            f"{what}: there are {most - least} numbers from low {least} up to, but not including, "
            f"high {most}",
            fix=f"choose a range of 1 to 2^32 numbers, such as high={least + 10}",
        )
    signed = (least + (1 << 63)) % (1 << 64) - (1 << 63)
    return {"low": signed, "range": most - least}


def bernoulli(
    key: Tensor,
    shape: Any = None,
    probability: float = 0.5,
    *,
    element_type: ElementTypeLike = BOOL,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "bernoulli",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw that gives true or 1 with the given probability, and false or 0 otherwise.

    Args:
        key: the key to draw from; see `ops.random.key`.
        shape: shape of the new variable; omitted if `out` is given.
        probability: from 0 to 1, rounded to a multiple of 2^-32.
        element_type: BOOL, FLOAT, HALF or an integer type.
        out: a tensor of such a type that receives the numbers.
        mapping: mapping of the new variable, as in `graph.add_variable`; linear by default.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: for a probability below 0 or above 1.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> heads = bernoulli(pl.ops.random.key(graph, seed=7), (1000,), 0.25, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> 200 < engine.read(heads).sum() < 300
    np.True_
    """
    what = "ops.random.bernoulli"
    found = drawn_type(what, shape, element_type, CHOSEN, out)
    limit = threshold(what, "probability", probability)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(library.Bernoulli, {"threshold": limit}, shape, found, out, mapping)


# -- normal distribution ---------------------------------------------------------------------------


def normal(
    key: Tensor,
    shape: Any = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "normal",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw of normally distributed numbers, within 6.77 standard deviations of the mean.

    Args:
        key: the key to draw from; see `ops.random.key`.
        shape: shape of the new variable; omitted if `out` is given.
        mean: mean of the numbers.
        deviation: standard deviation of the numbers, 0 or more.
        element_type: FLOAT or HALF.
        out: a tensor of such a type that receives the numbers.
        mapping: mapping of the new variable, as in `graph.add_variable`; linear by default.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: for a mean that is not finite, or a deviation that is negative or not finite.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> x = normal(key, (10_000,), mean=5, deviation=2, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> round(float(engine.read(x).mean()), 1), round(float(engine.read(x).std()), 1)
    (5.0, 2.0)
    """
    what = "ops.random.normal"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = normal_fields(what, mean, deviation)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(library.Normal, numbers, shape, found, out, mapping)


def truncated_normal(
    key: Tensor,
    shape: Any = None,
    mean: float = 0.0,
    deviation: float = 1.0,
    bound: float = 2.0,
    *,
    element_type: ElementTypeLike = FLOAT,
    out: Tensor | None = None,
    mapping: Any = None,
    name: str = "truncated_normal",
    program: Steps | None = None,
) -> Tensor:
    """Record a draw from a normal distribution, cut off `bound` standard deviations from the mean.

    Args:
        key: the key to draw from; see `ops.random.key`.
        shape: shape of the new variable; omitted if `out` is given.
        mean: mean of the numbers.
        deviation: standard deviation of the distribution before it is cut off, 0 or more.
        bound: the maximum distance from the mean in standard deviations, above 0. Beyond 5.4 it
            has no effect, as each number is made from 24 bits of a word.
        element_type: FLOAT or HALF.
        out: a tensor of such a type that receives the numbers.
        mapping: mapping of the new variable, as in `graph.add_variable`; linear by default.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The numbers: `out`, or the new variable.

    Raises:
        InvalidOption: as in `ops.random.normal`, or if the bound is not positive.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> x = truncated_normal(key, (10_000,), deviation=0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> 0.99 < abs(engine.read(x)).max() <= 1
    np.True_
    """
    what = "ops.random.truncated_normal"
    found = drawn_type(what, shape, element_type, FLOATS, out)
    numbers = truncated_fields(what, mean, deviation, bound)
    draw = RandomDraw(what, key, name, program, is_placed=mapping is not None)
    return draw.new(library.TruncatedNormal, numbers, shape, found, out, mapping)


def truncated_fields(
    what: str,
    mean: float,
    deviation: float,
    bound: float,
    names: tuple[str, str] = ("deviation", "bound"),
) -> dict[str, float]:
    """Check the arguments, and return the fields of vertices that draw truncated normal numbers."""
    numbers = normal_fields(what, mean, deviation, names[0])
    most = float(rounded(what, names[1], bound, np.dtype(np.float32)))
    if not most > 0:
        raise checks.invalid_value(what, names[1], bound, "a number greater than 0")
    numbers |= {"bound": most, "share": math.erf(most / math.sqrt(2))}
    return numbers


def normal_fields(
    what: str, mean: float, deviation: float, name: str = "deviation"
) -> dict[str, float]:
    """Check the arguments, and return the fields of vertices that draw normal numbers."""
    single = np.dtype(np.float32)
    numbers = {
        "mean": float(rounded(what, "mean", mean, single)),
        "deviation": float(rounded(what, name, deviation, single)),
    }
    if numbers["deviation"] < 0:
        raise checks.invalid_value(what, name, deviation, "a number of at least 0")
    return numbers


# -- dropout ---------------------------------------------------------------------------------------
# Dropout, and its gradient, which drops the same elements without a stored mask.


class Dropped(NamedTuple):
    """The result of `dropout`.

    Attributes:
        out: the kept elements of the tensor, scaled, and 0 elsewhere.
        counter: determines the dropped elements, for `dropout_gradient`: UNSIGNED_INT[4].

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear")
    >>> made = pl.ops.random.dropout(pl.ops.random.key(graph, seed=7), x, 0.5, program=program)
    >>> made.out.shape, made.counter.shape
    ((8,), (4,))
    """

    out: Tensor
    counter: Tensor


def dropout(
    key: Tensor,
    x: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout",
    program: Steps | None = None,
) -> Dropped:
    """Record a draw that replaces elements by 0, and divides the others by `1 - rate`.

    Args:
        key: see `ops.random.key`.
        x: FLOAT or HALF. An expression is stored first.
        rate: the probability that an element becomes 0, from 0 to 1, rounded to a multiple of
            2^-32.
        out: the tensor that receives the result, of the type and shape of x; it may be x itself. By
            default, a new variable with the mapping of x.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The result, and the counter of the draw, from which `dropout_gradient` finds the same
        elements again, so that no mask is stored.

    Raises:
        InvalidOption: for a rate below 0 or above 1.
        whatever `ops.random.uniform` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=range(8))
    >>> y, counter = dropout(pl.ops.random.key(graph, seed=7), x, 0.5, program=program)
    >>> gradient = dropout_gradient(counter, x, 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> set(engine.read(y)) <= {0, 2, 4, 6, 8, 10, 12, 14}
    True
    >>> bool((engine.read(y) == engine.read(gradient)).all())
    True
    """
    what = "ops.random.dropout"
    draw = RandomDraw(what, key, name, program, x)
    made = _drop(draw, what, x, rate, out, name, program)
    return Dropped(made, draw.counter)


def dropout_gradient(
    counter: Tensor,
    gradient: Operand,
    rate: float,
    *,
    out: Tensor | None = None,
    name: str = "dropout_gradient",
    program: Steps | None = None,
) -> Tensor:
    """Record the gradient of a dropout: 0 for the same elements, the others divided by `1 - rate`.

    Args:
        counter: the counter that `ops.random.dropout` returned.
        gradient: gradient with respect to the result of the dropout, FLOAT or HALF.
        rate: the rate of the dropout.
        out: the tensor that receives the result, of the type and shape of the gradient; by
            default, a new variable.
        name: name of the new variable and of the steps.
        program: where the steps go; by default, the open block of `graph.steps()`.

    Returns:
        The gradient with respect to the operand of the dropout.

    Raises:
        whatever `ops.random.dropout` raises.

    >>> import poplite as pl
    >>> graph, program = pl.Graph(pl.Target(tiles=4)), pl.Sequence()
    >>> x = graph.add_variable(pl.FLOAT, (8,), "x", mapping="linear", initial_value=1)
    >>> key = pl.ops.random.key(graph, seed=7)
    >>> y, counter = pl.ops.random.dropout(key, x, 0.5, program=program)
    >>> by_x = pl.ops.random.dropout_gradient(counter, x, 0.5, program=program)
    >>> engine = pl.Engine(graph, program)
    >>> engine.run()
    >>> bool((engine.read(by_x) == engine.read(y)).all())
    True
    """
    what = "ops.random.dropout_gradient"
    draw = RandomDraw(what, counter, name, program, gradient, again=True)
    return _drop(draw, what, gradient, rate, out, name, program)


def _drop(
    draw: RandomDraw,
    what: str,
    x: Operand,
    rate: float,
    out: Tensor | None,
    name: str,
    program: Steps | None,
) -> Tensor:
    """Record the draw of a dropout, and return its result."""
    kept = TWO_32 - threshold(what, "rate", rate)
    x = checks.own_operand(what, draw.graph, x, program)
    checks.check_type(what, x, FLOATS)
    if out is not None:
        checks.the_tensor(what, "out", out)
        if (out.element_type, out.shape) != (x.element_type, x.shape):
            raise TensorCreationError(
                f"{what}: out '{out.name}' is {type_and_shape(out)}, "
                f"but x is {checks.described(x)}",
                fix="pass an out with the type and shape of x",
            )
    draw.check_out(out, None)
    if isinstance(x, Expr):
        x = stored(x, name=f"{name}/x", program=program)
    numbers = {"threshold": kept, "scale": TWO_32 / kept if kept else 0.0}
    return draw.new(library.Dropout, numbers, x.shape, x.element_type, out, None, {"x": x})
