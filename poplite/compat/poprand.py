"""poprand: random numbers of a seed, or of the state that `setSeed` sets.

    poprand::uniform(graph, &seed, 1, reference, FLOAT, -1.0, 1.0, prog)
    poprand.uniform(graph, seed, 1, reference, pl.FLOAT, -1.0, 1.0, prog)

Equal seed, modifier and shape give equal numbers, on any tiles; PopLibs' are others, and depend on
the layout of the reference as well. Where the seed is None, numbers are drawn from a state of the
graph, which every draw advances.

Source: PopLibs, `poprand/RandomGen.hpp`.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from poplite import ops
from poplite.errors import ElementTypeError
from poplite.graph.graph import Graph
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor, of_variable
from poplite.graph.tensor.text import type_and_shape
from poplite.ops.operands import FLOATS, INTEGERS
from poplite.ops.random.checks import drawn_type, threshold
from poplite.ops.random.normals import normal_fields, truncated_fields
from poplite.ops.random.numbers import CHOSEN, integer_fields, uniform_fields
from poplite.program import Copy, Sequence as Steps
from poplite.source import here
from poplite.text import of_type
from poplite.types import UNSIGNED_INT, ElementTypeLike, element_type

_STATES: WeakKeyDictionary[Graph, int] = WeakKeyDictionary()
"""The key of each graph, for draws without a seed: its place among the graph's variables."""


def _state(graph: Graph) -> Tensor:
    top = graph.top_level_graph
    if top not in _STATES:
        _STATES[top] = len(top.variables)
        return ops.random.key(top, 0, "poprand/state")
    return of_variable(top, top.variables[_STATES[top]])


def _check_seed(seed: Tensor) -> None:
    if not isinstance(seed, Tensor) or seed.element_type is not UNSIGNED_INT or seed.shape != (2,):
        raise ElementTypeError(
            "poprand: a seed is two words of UNSIGNED_INT",
            at=here(),
            found=type_and_shape(seed) if isinstance(seed, Tensor) else of_type(seed),
            fix="graph.add_variable(pl.UNSIGNED_INT, (2,), 'seed', mapping=0)",
        )


def _seeded(graph: Graph, seed: Tensor, modifier: int, key: Tensor, prog: Steps) -> Tensor:
    """Record that a key becomes that of a seed and its modifier."""
    words = np.array([0, modifier % 2**32], np.uint32)
    (tile, *_) = graph.tile_mapping(key).tiles.tolist()
    rest = graph.add_constant(UNSIGNED_INT, (2,), words, "poprand/modifier", mapping=tile)
    prog.add(Copy(concat(seed, rest), key))
    return key


def _key(graph: Graph, seed: Tensor | None, modifier: int, prog: Steps) -> Tensor:
    """Return what is drawn from; everything else has been checked, so that it is used."""
    if seed is None:
        return _state(graph)
    _check_seed(seed)
    return _seeded(graph, seed, modifier, ops.random.key(graph, 0, "poprand/key"), prog)


def setSeed(
    graph: Graph, master_seed: Tensor, seed_modifier: int, prog: Steps, debug_context: str = ""
) -> None:
    """Record that draws without a seed begin anew, `poprand::setSeed`.

    Args:
        graph: of the seed.
        master_seed: UNSIGNED_INT[2].
        seed_modifier: another number gives other numbers of the same seed.
        prog: where the steps go.
        debug_context: not used: the step is a copy.

    Raises:
        ElementTypeError: for another seed.
    """
    _check_seed(master_seed)
    _seeded(graph, master_seed, seed_modifier, _state(graph), prog)


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
    """Record numbers between two, `poprand::uniform`; of integers both may be drawn.

    >>> import poplite as pl
    >>> graph, prog = pl.Graph(pl.Target(tiles=2)), pl.Sequence()
    >>> reference = graph.add_variable(pl.FLOAT, (100,), "reference", mapping="linear")
    >>> dice = uniform(graph, None, 0, reference, pl.INT, 1, 6, prog)
    >>> engine = pl.Engine(graph, prog)
    >>> engine.run()
    >>> sorted(set(engine.read(dice).tolist()))
    [1, 2, 3, 4, 5, 6]
    """
    element, name = element_type(out_type), debug_context or "uniform"
    shape, mapping = reference.shape, graph.tile_mapping(reference)
    if element.is_floating_point:
        drawn_type("poprand.uniform", shape, element, FLOATS, None)
        uniform_fields("poprand.uniform", element, min_val, max_val)
        return ops.random.uniform(
            _key(graph, seed, seed_modifier, prog),
            shape,
            min_val,
            max_val,
            element_type=element,
            mapping=mapping,
            name=name,
            program=prog,
        )
    low, past = int(min_val), int(max_val) + 1
    drawn_type("poprand.uniform", shape, element, INTEGERS, None)
    integer_fields("poprand.uniform", element, low, past)
    return ops.random.integers(
        _key(graph, seed, seed_modifier, prog),
        shape,
        low,
        past,
        element_type=element,
        mapping=mapping,
        name=name,
        program=prog,
    )


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
    """Record 1 with a probability, and 0 otherwise, `poprand::bernoulli`."""
    element = drawn_type("poprand.bernoulli", reference.shape, out_type, CHOSEN, None)
    threshold("poprand.bernoulli", "prob", prob)
    mapping = graph.tile_mapping(reference)
    return ops.random.bernoulli(
        _key(graph, seed, seed_modifier, prog),
        reference.shape,
        prob,
        element_type=element,
        mapping=mapping,
        name=debug_context or "bernoulli",
        program=prog,
    )


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
    """Record normal numbers, `poprand::normal`."""
    element = drawn_type("poprand.normal", reference.shape, out_type, FLOATS, None)
    normal_fields("poprand.normal", mean, std_dev)
    mapping = graph.tile_mapping(reference)
    return ops.random.normal(
        _key(graph, seed, seed_modifier, prog),
        reference.shape,
        mean,
        std_dev,
        element_type=element,
        mapping=mapping,
        name=debug_context or "normal",
        program=prog,
    )


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
    """Record normal numbers within `alpha` deviations, `poprand::truncatedNormal`."""
    element = drawn_type("poprand.truncatedNormal", reference.shape, out_type, FLOATS, None)
    truncated_fields("poprand.truncatedNormal", mean, std_dev, alpha)
    mapping = graph.tile_mapping(reference)
    return ops.random.truncated_normal(
        _key(graph, seed, seed_modifier, prog),
        reference.shape,
        mean,
        std_dev,
        alpha,
        element_type=element,
        mapping=mapping,
        name=debug_context or "truncatedNormal",
        program=prog,
    )


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
    """Record 0 for some elements, and `scale` times the others, `poprand::dropout`.

    The result lies as the reference, which has the shape of the input. Where all are kept, they are
    copied and not scaled, as in PopLibs.
    """
    name, mapping = debug_context or "dropout", graph.tile_mapping(reference)
    threshold("poprand.dropout", "keep_probability", keep_probability)
    scaled = input if keep_probability == 1 else input * scale
    key = _key(graph, seed, seed_modifier, prog)
    kept = ops.random.bernoulli(
        key, reference.shape, keep_probability, mapping=mapping, program=prog
    )
    out = graph.add_variable(input.element_type, reference.shape, name, mapping=mapping)
    return ops.map(ops.where(kept, scaled, 0), out=out, name=name, program=prog)
