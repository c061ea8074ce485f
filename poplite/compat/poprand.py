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


def _seeded(graph: Graph, seed: Tensor, modifier: int, key: Tensor, prog: Steps) -> Tensor:
    """Record that a key becomes that of a seed and its modifier."""
    if not isinstance(seed, Tensor) or seed.element_type is not UNSIGNED_INT or seed.shape != (2,):
        raise ElementTypeError(
            "poprand: a seed is two words of UNSIGNED_INT",
            at=here(),
            found=type_and_shape(seed) if isinstance(seed, Tensor) else of_type(seed),
            fix="graph.add_variable(pl.UNSIGNED_INT, (2,), 'seed', mapping=0)",
        )
    words = np.array([0, modifier % 2**32], np.uint32)
    (tile, *_) = graph.tile_mapping(key).tiles.tolist()
    rest = graph.add_constant(UNSIGNED_INT, (2,), words, "poprand/modifier", mapping=tile)
    prog.add(Copy(concat(seed, rest), key))
    return key


def _key(graph: Graph, seed: Tensor | None, modifier: int, prog: Steps) -> Tensor:
    if seed is None:
        return _state(graph)
    return _seeded(graph, seed, modifier, ops.random.key(graph, 0, "poprand/key"), prog)


def _out(graph: Graph, reference: Tensor, out_type: ElementTypeLike, name: str) -> Tensor:
    """Return a new variable that lies as the reference."""
    made = graph.add_variable(element_type(out_type), reference.shape, name)
    graph.set_tile_mapping(made, graph.tile_mapping(reference))
    return made


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
    key, name = _key(graph, seed, seed_modifier, prog), debug_context or "uniform"
    out = _out(graph, reference, out_type, name)
    if out.element_type.is_floating_point:
        return ops.random.uniform(key, None, min_val, max_val, out=out, name=name, program=prog)
    low, past = int(min_val), int(max_val) + 1
    return ops.random.integers(key, None, low, past, out=out, name=name, program=prog)


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
    key, name = _key(graph, seed, seed_modifier, prog), debug_context or "bernoulli"
    out = _out(graph, reference, out_type, name)
    return ops.random.bernoulli(key, None, prob, out=out, name=name, program=prog)


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
    key, name = _key(graph, seed, seed_modifier, prog), debug_context or "normal"
    out = _out(graph, reference, out_type, name)
    return ops.random.normal(key, None, mean, std_dev, out=out, name=name, program=prog)


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
    key, name = _key(graph, seed, seed_modifier, prog), debug_context or "truncatedNormal"
    out = _out(graph, reference, out_type, name)
    return ops.random.truncated_normal(
        key, None, mean, std_dev, alpha, out=out, name=name, program=prog
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

    The result lies as the reference, which has the shape of the input.
    """
    key, name = _key(graph, seed, seed_modifier, prog), debug_context or "dropout"
    out = _out(graph, reference, input.element_type, name)
    kept = ops.random.bernoulli(
        key, out.shape, keep_probability, mapping=graph.tile_mapping(out), program=prog
    )
    return ops.map(ops.where(kept, input * scale, 0), out=out, name=name, program=prog)
