"""poprand: random numbers from a seed, or from the state that `setSeed` sets.

    poprand::uniform(graph, &seed, 1, reference, FLOAT, -1.0, 1.0, prog)
    poprand.uniform(graph, seed, 1, reference, pl.FLOAT, -1.0, 1.0, prog)

Equal seed, modifier and shape give equal numbers, on any tiles. They differ from PopLibs' numbers,
which depend on the layout of the reference as well. If the seed is None, numbers are drawn from a
state of the graph, which every draw advances.

Source: PopLibs, `poprand/RandomGen.hpp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

import poplite.ops.random_numbers as random_numbers
from poplite import ops
from poplite.compat.arguments import checked, library_codelets as _library_codelets
from poplite.errors import (
    ElementTypeError,
    InvalidOption,
    SizeOverflowError,
    TensorCreationError,
)
from poplite.expr.tree import ElementClass
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor, check_own, of_variable
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.graph.tile_mapping import TileMapping
from poplite.ops.operands import FLOATS, check_placed, check_type, invalid_value, steps_for
from poplite.poplar.absent import shown as _shown
from poplite.program import Copy, Sequence as Steps
from poplite.text import clipped, integer_or_none, of_type
from poplite.types import INTEGERS, UNSIGNED_INT, ElementTypeLike, element_type

__all__ = _shown(
    globals(), "addCodelets bernoulli dropout normal setSeed truncatedNormal uniform", "poprand"
)


addCodelets = _library_codelets("poprand")


_STATES: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()
"""The index of each graph's key for draws without a seed, among the graph's variables."""


def _state(graph: Graph) -> Tensor:
    """Return the key for draws without a seed; the first such draw creates it on its first tile."""
    top = graph.top_level_graph
    if top not in _STATES:
        _STATES[top] = len(top.variables)
        return ops.random.key(graph, 0, "poprand/state")
    return of_variable(top, top.variables[_STATES[top]])


def _check_seed(what: str, seed: Tensor) -> None:
    if not isinstance(seed, Tensor) or seed.element_type is not UNSIGNED_INT or seed.shape != (2,):
        raise ElementTypeError(
            f"poprand.{what}: seed must be UNSIGNED_INT[2]",
            found=type_and_shape(seed) if isinstance(seed, Tensor) else of_type(seed),
            fix="pass graph.add_variable(pl.UNSIGNED_INT, (2,), 'seed', mapping=0)",
        )


class _Draw(NamedTuple):
    """The arguments that all functions share, checked before anything is recorded."""

    graph: Graph
    seed: Tensor | None
    modifier: int
    name: str
    prog: Steps

    def how(self, element: ElementClass, mapping: TileMapping) -> dict[str, Any]:
        """Return the keyword arguments that all functions of `ops.random` take."""
        steps = {"name": self.name, "program": self.prog}
        return {"element_type": element, "mapping": mapping, **steps}

    def key(self) -> Tensor:
        """Record the key for the draw, and return it; call this after checking all arguments."""
        if self.seed is None:
            return _state(self.graph)
        return self.seeded(ops.random.key(self.graph, 0, "poprand/key"))

    def seeded(self, key: Tensor) -> Tensor:
        """Record the computation of a key from the seed and the modifier, and return it."""
        assert self.seed is not None
        words = np.array([0, self.modifier % 2**32], np.uint32)
        (tile, *_) = self.graph.tile_mapping(key).tiles.tolist()
        rest = self.graph.add_constant(UNSIGNED_INT, (2,), words, "poprand/modifier", mapping=tile)
        self.prog.add(Copy(concat(self.seed, rest), key))
        return key


def _draw(
    what: str, graph: Graph, seed: Tensor | None, modifier: int, prog: Steps, name: str
) -> _Draw:
    if seed is not None:
        _check_seed(what, seed)
        check_own(graph, seed, f"poprand.{what}")
        graph.tile_mapping(seed)
    number = integer_or_none(modifier)
    if number is None:
        raise invalid_value(
            f"poprand.{what}", "seed_modifier", modifier, "a whole number, such as 0"
        )
    name = name or what
    return _Draw(graph, seed, number, name, steps_for(f"poprand.{what}", graph, name, prog))


def _mapping_of(what: str, graph: Graph, reference: Tensor) -> TileMapping:
    """Return the mapping of a reference, or raise."""
    check_own(graph, reference, f"poprand.{what}")
    return graph.tile_mapping(reference)


@checked("poprand")
def setSeed(
    graph: Graph, master_seed: Tensor, seed_modifier: int, prog: Steps, debug_context: str = ""
) -> None:
    """Record the setting of the state for draws without a seed, `poprand::setSeed`.

    Args:
        graph: the graph of the seed.
        master_seed: UNSIGNED_INT[2].
        seed_modifier: different modifiers give different numbers for the same seed.
        prog: where the steps go.
        debug_context: not used: the step is a copy.

    Raises:
        ElementTypeError: for a seed other than UNSIGNED_INT[2].
    """
    _check_seed("setSeed", master_seed)
    draw = _draw("setSeed", graph, master_seed, seed_modifier, prog, debug_context)
    draw.seeded(_state(graph))


@checked("poprand")
def uniform(
    graph: Graph,
    seed: Tensor | None,
    seed_modifier: int,
    reference: Tensor,
    out_type: ElementTypeLike,
    min_val: float,
    max_val: float,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record uniform random numbers between two limits, `poprand::uniform`.

    For integer types both limits may be drawn, and fractional limits are rounded inwards.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> reference = graph.add_variable(pl.FLOAT, (100,), "reference", mapping="linear")
    >>> dice = uniform(graph, None, 0, reference, pl.INT, 1, 6, prog)
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> sorted(set(engine.read(dice).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    draw = _draw("uniform", graph, seed, seed_modifier, prog, debug_context)
    mapping, shape = _mapping_of("uniform", graph, reference), reference.shape
    element = element_type(out_type)
    if element.is_floating_point:
        random_numbers.drawn_type("poprand.uniform", shape, element, FLOATS, None)
        random_numbers.uniform_fields(
            "poprand.uniform", element, min_val, max_val, ("min_val", "max_val")
        )
        return ops.random.uniform(draw.key(), shape, min_val, max_val, **draw.how(element, mapping))
    random_numbers.drawn_type("poprand.uniform", shape, element, INTEGERS, None)
    low, last = _whole_range(element, min_val, max_val)
    return ops.random.integers(draw.key(), shape, low, last + 1, **draw.how(element, mapping))


def _whole_range(element: ElementClass, min_val: float, max_val: float) -> tuple[int, int]:
    """Return the smallest and the largest integer of a range, or raise."""
    low = _whole(element, "min_val", min_val, math.ceil)
    last = _whole(element, "max_val", max_val, math.floor)
    if not low <= last < low + random_numbers.TWO_32:
        raise InvalidOption(
            f"poprand.uniform: from min_val {min_val!r} to max_val {max_val!r} there are "
            f"{max(0, last - low + 1):,} whole numbers",
            found="both limits may be drawn",
            fix="choose limits for 1 to 2^32 whole numbers, such as min_val=1, max_val=6",
        )
    return low, last


def _whole(element: ElementClass, name: str, value: float, toward: Callable[[float], int]) -> int:
    """Return the integer nearest to a limit, within the range."""
    what, limits = "poprand.uniform", np.iinfo(element.dtype.name)
    number = integer_or_none(value)
    if number is None:
        fraction = random_numbers.number_of(what, name, value)
        if not math.isfinite(fraction):
            raise invalid_value(what, name, value, f"a finite number, such as {name}=1")
        number = toward(fraction)
    if not limits.min <= number <= limits.max:
        raise SizeOverflowError(
            f"{what}: {name} is {clipped(value)}",
            found=f"it is drawn as {element!r}",
            fix=f"pass a number from {limits.min} to {limits.max}",
        )
    return number


@checked("poprand")
def bernoulli(
    graph: Graph,
    seed: Tensor | None,
    seed_modifier: int,
    reference: Tensor,
    out_type: ElementTypeLike,
    prob: float,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record elements that are 1 with a probability and otherwise 0, `poprand::bernoulli`."""
    draw = _draw("bernoulli", graph, seed, seed_modifier, prog, debug_context)
    mapping = _mapping_of("bernoulli", graph, reference)
    element = random_numbers.drawn_type(
        "poprand.bernoulli", reference.shape, out_type, random_numbers.CHOSEN, None
    )
    random_numbers.threshold("poprand.bernoulli", "prob", prob)
    return ops.random.bernoulli(draw.key(), reference.shape, prob, **draw.how(element, mapping))


@checked("poprand")
def normal(
    graph: Graph,
    seed: Tensor | None,
    seed_modifier: int,
    reference: Tensor,
    out_type: ElementTypeLike,
    mean: float,
    std_dev: float,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record normally distributed numbers, `poprand::normal`."""
    draw = _draw("normal", graph, seed, seed_modifier, prog, debug_context)
    mapping = _mapping_of("normal", graph, reference)
    element = random_numbers.drawn_type("poprand.normal", reference.shape, out_type, FLOATS, None)
    random_numbers.normal_fields("poprand.normal", mean, std_dev, "std_dev")
    return ops.random.normal(
        draw.key(), reference.shape, mean, std_dev, **draw.how(element, mapping)
    )


@checked("poprand")
def truncatedNormal(
    graph: Graph,
    seed: Tensor | None,
    seed_modifier: int,
    reference: Tensor,
    out_type: ElementTypeLike,
    mean: float,
    std_dev: float,
    alpha: float,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record normally distributed numbers, truncated, `poprand::truncatedNormal`.

    Numbers are within `alpha` standard deviations of the mean.
    """
    draw = _draw("truncatedNormal", graph, seed, seed_modifier, prog, debug_context)
    mapping = _mapping_of("truncatedNormal", graph, reference)
    element = random_numbers.drawn_type(
        "poprand.truncatedNormal", reference.shape, out_type, FLOATS, None
    )
    names = "std_dev", "alpha"
    random_numbers.truncated_fields("poprand.truncatedNormal", mean, std_dev, alpha, names)
    return ops.random.truncated_normal(
        draw.key(), reference.shape, mean, std_dev, alpha, **draw.how(element, mapping)
    )


@checked("poprand")
def dropout(
    graph: Graph,
    seed: Tensor | None,
    seed_modifier: int,
    input: Tensor,  # noqa: A002  (the name that PopLibs has)
    reference: Tensor,
    keep_probability: float,
    scale: float,
    prog: Steps,
    debug_context: str = "",
) -> Tensor:
    """Record a dropout, `poprand::dropout`: random elements are set to 0 and the others scaled.

    The result is mapped like the reference, which has the shape of the input. If all elements are
    kept, they are copied and not scaled, as in PopLibs.
    """
    what = "poprand.dropout"
    draw = _draw("dropout", graph, seed, seed_modifier, prog, debug_context)
    mapping, shape = _mapping_of("dropout", graph, reference), reference.shape
    check_type(what, input, FLOATS, "input")
    check_own(graph, input, f"{what}, input")
    check_placed(input)
    if input.shape != shape:
        raise TensorCreationError(
            f"{what}: input '{input.name}' is {type_and_shape(input)}",
            found=f"reference '{reference.name}' is {type_and_shape(reference)}",
            fix=f"pass an input of shape {shape}",
        )
    random_numbers.threshold(what, "keep_probability", keep_probability)
    factor = random_numbers.number_of(what, "scale", scale)
    scaled = input if keep_probability == 1 else input * factor
    kept = ops.random.bernoulli(
        draw.key(), shape, keep_probability, mapping=mapping, program=draw.prog
    )
    out = graph.add_variable(input.element_type, shape, draw.name, mapping=mapping)
    return ops.map(ops.where(kept, scaled, 0), out=out, name=draw.name, program=draw.prog)
