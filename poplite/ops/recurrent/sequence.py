"""Loops over the steps of a sequence, and what they read and write.

    x [steps, ...]       each step lies spread over all tiles, as `create_sliceable` makes it, so
                         that a step is read and written where it lies

The steps run in a loop, so that the size of a program does not depend on their number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from poplite.expr.build import as_expr, cast
from poplite.expr.operand import Operand
from poplite.expr.tree import ElementClass, Expr
from poplite.graph.graph import Graph
from poplite.graph.spreading import map_like
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.virtual import home_graph
from poplite.ops.choices import where
from poplite.ops.control import repeat
from poplite.ops.record import map as stored
from poplite.ops.slices.dynamic import create_sliceable, dynamic_slice, dynamic_update
from poplite.types import FLOAT


@contextmanager
def forwards(steps: int) -> Iterator[Tensor]:
    """Record what runs for each step; its number is an UNSIGNED_INT of the program."""
    with repeat(steps) as number:
        yield number.tensor


@contextmanager
def backwards(steps: int) -> Iterator[Tensor]:
    """Record what runs for each step, the last one first."""
    with repeat(steps) as number:
        yield stored((steps - 1) - number.tensor, name="step")


def sequence(graph: Graph, element: ElementClass, shape: tuple[int, ...], name: str) -> Tensor:
    """Make a variable for what belongs to the steps, along dimension 0."""
    if not math.prod(shape):
        return graph.add_variable(element, shape, name, mapping="linear")
    return create_sliceable(graph, element, shape, [0], [1], name)


def of_step(x: Tensor, step: Tensor, name: str) -> Tensor:
    """Record the read of what belongs to a step."""
    if not x.num_elements:
        return x[0]
    # The number of a step is never out of range.
    return dynamic_slice(x, step, [0], [1], out_of_range="popops", name=name)[0]


def store_step(x: Tensor, part: Tensor, step: Tensor, name: str) -> None:
    """Record the write of what belongs to a step."""
    if x.num_elements:
        whole = part.reshape((1, *part.shape))
        dynamic_update(x, whole, step, [0], [1], out_of_range="popops", name=name)


def running(lengths: Tensor | None, step: Tensor) -> Tensor | None:
    """Record which sequences have a step, [batch, 1]; None where all of them have all steps."""
    if lengths is None:
        return None
    return stored(lengths.reshape((*lengths.shape, 1)) > step, name="running")


def among(run: Tensor | None, new: Operand, other: Operand | float) -> Expr:
    """Return what sequences have that run, and the other of those that have ended."""
    return as_expr(new, "among") if run is None else where(run, new, other)


def shown(run: Tensor | None, h: Tensor) -> Tensor:
    """Record the outputs of a step: zeros of sequences that have ended."""
    return h if run is None else stored(where(run, h, 0.0), name="shown")


def beside(like: Tensor, name: str) -> Tensor:
    """Make a variable that lies as another tensor does."""
    made = home_graph(like.graph, [like]).add_variable(like.element_type, like.shape, name)
    map_like(like.graph, made, like)
    return made


def wide(x: Operand) -> Expr:
    """Return an operand in FLOAT."""
    return cast(x, FLOAT)
