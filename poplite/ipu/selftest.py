"""Self-test of an SDK: its results on drawn data, compared with the simulator.

A row of the first program is a vertex class, with NaN, infinities, zeros of both signs and the
smallest numbers among its data, or something that programs do; one of the second is a part of the
library. Nobody who wrote this has an IPU: the rows on division, square roots and the smallest
numbers tell what docs/ipu.md cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import PopliteError
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.codelets.class_text import declared_fields
from poplite.ipu.device.device import Device
from poplite.ipu.selftest_library import LIBRARY, TILES, Inputs
from poplite.machine.floating_point import FloatingPointBehaviour
from poplite.machine.target import Target
from poplite.program import (
    Call,
    Copy,
    Execute,
    ModifyFloatingPointBehaviour,
    Program,
    Repeat,
    Sequence as InTurn,
    SetStochasticRounding,
)
from poplite.simulator.engine import Engine
from poplite.types import FLOAT, HALF, INT
from poplite.vertex.vertex import Input, MultiVertex, Output, Vector, Vertex

ELEMENTS = 240
"""Elements of each row."""

SPECIAL = (0.0, 1.0, math.inf, math.nan, 6e-8, 1e-40, 65504.0, 3e38, 1e-45, 16777217.0, 0.1)


class _OfFloats(Vertex):
    """What most rows have: two operands and a result of float32."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]


class AddMultiply(_OfFloats):
    """`a * b + a`, without contraction."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] * self.b[i] + self.a[i]


class DivideFloats(_OfFloats):
    """`a / b`."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] / self.b[i]


class SquareRoot(_OfFloats):
    """The square root of `|a|`."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = math.sqrt(abs(self.a[i]))


class Smallest(_OfFloats):
    """Products below the smallest normal number."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] * 1e-38


class Exponential(_OfFloats):
    """`exp(a)`, by the exported kernel."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = math.exp(self.a[i])


class Compare(_OfFloats):
    """Which of two numbers is less, or that neither is."""

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            if self.a[i] < self.b[i]:
                self.y[i] = -1
            elif self.a[i] >= self.b[i]:
                self.y[i] = 1
            else:
                self.y[i] = 0


class StoreHalf(Vertex):
    """float32 stored as HALF, rounded to nearest, too large ones as infinity."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[HALF]]

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i]


class IntegerArithmetic(Vertex):
    """Division that rounds down, remainder, and a product that wraps."""

    a: Input[Vector[INT]]
    b: Input[Vector[INT]]
    y: Output[Vector[INT]]

    def compute(self) -> None:
        """Write each element."""
        for i in range(len(self.y)):
            self.y[i] = self.a[i] // self.b[i] * 3 + self.a[i] % self.b[i] * self.a[i]


class StridedByWorker(MultiVertex):
    """All workers of a tile, each with every sixth element."""

    a: Input[Vector[FLOAT]]
    b: Input[Vector[FLOAT]]
    y: Output[Vector[FLOAT]]

    def compute(self, worker: int) -> None:
        """Write the elements of a worker."""
        for i in range(worker, len(self.y), self.num_workers):
            self.y[i] = self.a[i] - self.b[i]


ROWS: Mapping[str, type[Vertex]] = {
    "float32 a * b + a": AddMultiply,
    "float32 a / b": DivideFloats,
    "float32 sqrt": SquareRoot,
    "float32 below the normal numbers": Smallest,
    "float32 exp": Exponential,
    "float32 comparisons": Compare,
    "float32 to HALF": StoreHalf,
    "integers //, %, *": IntegerArithmetic,
    "workers of a MultiVertex": StridedByWorker,
}

COPIES = "copies in a loop, reversed"
HOST_CALL = "a function of the host"

EXTRA = (COPIES, HOST_CALL)
"""Rows that are not a vertex class."""


Built = tuple[Graph, Program, dict[str, list[Tensor]]]
"""A graph, its program, and the tensors to compare of each row."""


@frozen
class SelftestOutcome:
    """What a device made of all rows.

    Attributes:
        kind: "model" or "hardware".
        faults: why a program did not run; none where all ran.
        differ: by row that ran, how many elements differ from the simulator's, and of how many.
    """

    kind: str
    faults: tuple[str, ...]
    differ: Mapping[str, tuple[int, int]]

    def cell(self, row: str) -> str:
        """Return what the table says of a row."""
        if row not in self.differ:
            return "not run"
        count, of = self.differ[row]
        return f"{count} of {of} differ" if count else "equal"

    @property
    def is_equal(self) -> bool:
        """Whether all ran, and nothing differs."""
        return not self.faults and not any(count for count, _ in self.differ.values())


def selftest(
    kinds: Sequence[str],
    device_of: Callable[[str], Device],
    parts: Sequence[Callable[[], Built]] | None = None,
) -> list[SelftestOutcome]:
    """Run all rows on the devices of these kinds, and compare with the simulator.

    Args:
        kinds: "model" or "hardware".
        device_of: returns the device of a kind.
        parts: what makes the programs; left out, both.
    """
    chosen = (own_program, library_rows) if parts is None else parts
    expected = [_results(part(), None) for part in chosen]
    outcomes = []
    for kind in kinds:
        faults: list[str] = []
        differ: dict[str, tuple[int, int]] = {}
        for part, wanted in zip(chosen, expected, strict=True):
            try:
                found = _results(part(), device_of(kind))
            except PopliteError as error:
                faults.append(str(error))
            else:
                differ |= {row: _different(found[row], wanted[row]) for row in wanted}
        outcomes.append(SelftestOutcome(kind, tuple(faults), differ))
    return outcomes


def selftest_text(outcomes: Sequence[SelftestOutcome]) -> str:
    """Return outcomes as a table, with what went wrong below it.

    >>> print(selftest_text([SelftestOutcome("model", (), dict.fromkeys(ROWS, (0, 240)))]))
    | row | model |
    | --- | --- |
    | float32 a * b + a | equal |
    ...
    """
    lines = [("row", *(each.kind for each in outcomes)), ("---",) * (1 + len(outcomes))]
    lines += [(row, *(each.cell(row) for each in outcomes)) for row in (*ROWS, *EXTRA, *LIBRARY)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    faults = [f"{each.kind}: {fault}" for each in outcomes for fault in each.faults]
    return "\n\n".join([table, *faults])


def _results(built: Built, device: Device | None) -> dict[str, list[npt.NDArray[Any]]]:
    """Return the results of each row on a device, or on the simulator."""
    graph, program, outputs = built
    if device is None:
        options = {"debug.instrument": False}
        engine = Engine(graph, program, interpret=True, checks="none", options=options)
    else:
        engine = Engine(graph, program, device=device)
    if HOST_CALL in outputs:
        engine.connect_host_function("reverse", _reverse)
    engine.run()
    return {row: [engine.read(each) for each in tensors] for row, tensors in outputs.items()}


def library_rows() -> Built:
    """Return the program of the library's vertices."""
    graph, outputs = Graph(Target(tiles=TILES)), dict[str, list[Tensor]]()
    with graph.steps("library") as program:
        for number, (row, build) in enumerate(LIBRARY.items()):
            made = build(Inputs(graph, program, number))
            outputs[row] = [graph.clone(each, name=row) for each in made]
            for one, kept in zip(made, outputs[row], strict=True):  # some are temporaries
                program.add(Copy(one, kept))
    return graph, program, outputs


def own_program() -> Built:
    """Return the program of the vertex classes here, with copies and a call of the host."""
    graph = Graph(Target(tiles=len(ROWS)))
    work = graph.add_compute_set("rows")
    outputs: dict[str, list[Tensor]] = {}
    for tile, (row, cls) in enumerate(ROWS.items()):
        rng = np.random.default_rng(tile)
        fields = {field.name: field for field in declared_fields(cls)}
        tensors = {}
        for name, field in fields.items():
            tensors[name] = graph.add_variable(
                field.element,
                (ELEMENTS,),
                f"{cls.__name__}.{name}",
                mapping=tile,
                initial_value=None if name == "y" else _drawn(field.element.dtype, rng),
            )
        graph.add_vertex(work, cls, tile=tile, **tensors)
        outputs[row] = [tensors["y"]]
    (first,) = next(iter(outputs.values()))
    moved = graph.add_variable(first.element_type, (ELEMENTS,), "moved", mapping="linear")
    turn = InTurn(Copy(first.reverse(0), moved), Copy(moved, first))
    reverse = graph.add_host_function("reverse", [(FLOAT, ELEMENTS)], [(FLOAT, ELEMENTS)])
    reversed_ = graph.clone(moved, name="reversed")
    outputs |= {COPIES: [moved], HOST_CALL: [reversed_]}
    call = Call(reverse, [moved], [reversed_])
    # These are the initial modes anyway: the table shows that a device knows the calls.
    modes = InTurn(
        ModifyFloatingPointBehaviour(clear=_behaviour(esr=True), set=_behaviour()),
        SetStochasticRounding(False),
    )
    return graph, InTurn(modes, Execute(work), Repeat(3, turn), call), outputs


def _behaviour(*, esr: bool = False) -> FloatingPointBehaviour:
    return FloatingPointBehaviour(inv=False, div0=False, oflo=False, esr=esr, nanoo=False)


def _reverse(inputs: Any, outputs: Any) -> None:
    outputs[0][:] = inputs[0][::-1]


def _drawn(dtype: Any, rng: np.random.Generator) -> npt.NDArray[Any]:
    """Return numbers of usual sizes, with special ones among them."""
    if dtype.kind == "i":
        ends = np.iinfo(dtype)
        usual = rng.integers(-1000, 1000, ELEMENTS).astype(dtype)
        special = rng.choice(np.array([ends.min, ends.max, 0, 1, -1], dtype), ELEMENTS)
    else:
        sizes = 10.0 ** rng.integers(-6, 7, ELEMENTS)
        usual = (rng.standard_normal(ELEMENTS) * sizes).astype(dtype)
        signs = rng.choice([-1.0, 1.0], ELEMENTS)
        special = (rng.choice(SPECIAL, ELEMENTS) * signs).astype(dtype)
    chosen: npt.NDArray[Any] = np.where(rng.random(ELEMENTS) < 0.3, special, usual)
    return chosen


def _different(
    got: Sequence[npt.NDArray[Any]], want: Sequence[npt.NDArray[Any]]
) -> tuple[int, int]:
    """Return how many elements have other bits, and of how many; any NaN is as good as another."""
    count = 0
    for found, wanted in zip(got, want, strict=True):
        bits = f"u{found.dtype.itemsize}"
        same = found.view(bits) == wanted.view(bits)
        if found.dtype.kind == "f":
            same |= np.isnan(found) & np.isnan(wanted)
        count += int((~same).sum())
    return count, sum(each.size for each in want)
