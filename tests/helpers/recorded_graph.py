"""A Python graph in the form in which the stand-in records one, found element by element.

Nothing of `poplite.ipu.tables` is used: edges are the addresses of their views, one by one.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

import numpy as np

import poplite as pl
from poplite.graph.compute_sets.compute_set import ComputeSet, VertexInstance
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.codelet_file import CodeletFile, declared_fields
from poplite.ipu.codelet_function import member
from poplite.program.base import FunctionCall
from poplite.types import (
    BOOL,
    CHAR,
    FLOAT,
    HALF,
    INT,
    LONGLONG,
    QUARTER,
    QUARTER_METADATA,
    SHORT,
    SIGNED_CHAR,
    UNSIGNED_CHAR,
    UNSIGNED_INT,
    UNSIGNED_LONGLONG,
    UNSIGNED_SHORT,
)
from poplite.view import addresses

TYPES = {
    BOOL: "bool",
    CHAR: "char",
    SIGNED_CHAR: "signed char",
    UNSIGNED_CHAR: "unsigned char",
    QUARTER: "unsigned char",
    QUARTER_METADATA: "unsigned char",
    SHORT: "short",
    UNSIGNED_SHORT: "unsigned short",
    INT: "int",
    UNSIGNED_INT: "unsigned int",
    LONGLONG: "long long",
    UNSIGNED_LONGLONG: "unsigned long long",
    HALF: "half",
    FLOAT: "float",
}

NO_PROGRAM: list[Any] = ["sequence"]


class Expected:
    """What the stand-in should have recorded of a graph and its programs."""

    def __init__(
        self, graph: pl.Graph, programs: Mapping[str, pl.Program], codelets: CodeletFile
    ) -> None:
        self.graph, self.programs, self._codelets = graph, programs, codelets
        self._bases = [variable.base for variable in graph.variables]

    def variables(self) -> list[Any]:
        """Return name, type, shape, tiles and first values of all variables."""
        return [
            [
                each.name,
                TYPES[each.element_type],
                int(each.constant),
                list(each.shape),
                self._tiles(each),
                _hex(
                    np.zeros(each.shape) if each.initial_value is None else each.initial_value, each
                ),
            ]
            for each in self.graph.variables
        ]

    def vertices(self, compute_set: ComputeSet) -> Counter[str]:
        """Return the vertices of a compute set."""
        return Counter(json.dumps(self._vertex(each)) for each in compute_set.vertices)

    def tree(self, name: str) -> list[Any]:
        """Return the program of a name as nested lists."""
        return self._node(self.programs[name])

    def elements(self, tensor: Tensor) -> list[int]:
        """Return variable and position of each element of a tensor, one behind the other."""
        flat = []
        for address in addresses(tensor.view).reshape(-1).tolist():
            variable = bisect_right(self._bases, address) - 1
            flat += [variable, address - self._bases[variable]]
        return flat

    def _tiles(self, variable: Any) -> list[int]:
        tiles = [-1] * variable.num_elements
        if variable.num_elements:
            breaks, owners = variable.mapping.pieces()
            for begin, end, tile in zip(breaks[:-1], breaks[1:], owners, strict=True):
                tiles[begin:end] = [int(tile)] * int(end - begin)
        return tiles

    def _vertex(self, vertex: VertexInstance) -> list[Any]:
        cls, edges, states = vertex.vertex_class, {}, {}
        for field in declared_fields(cls):
            if field.is_edge:
                connected = vertex.connections[field.name]
                if isinstance(connected, Tensor):
                    rows = list(connected) if field.depth == 2 else [connected]
                else:
                    rows = list(connected)
                edges[member(field.name)] = [self.elements(row) for row in rows]
            else:
                values = np.asarray(vertex.state[field.name], field.element.dtype)
                states[member(field.name)] = values.tobytes().hex()
        estimate = vertex.estimate
        return [
            self._codelets.names[cls],
            vertex.tile,
            [estimate.cycles, estimate.flops] if estimate else [],
            dict(sorted(edges.items())),
            dict(sorted(states.items())),
        ]

    def _node(self, program: pl.Program) -> list[Any]:
        from poplite import program as p

        of = self.elements
        match program:
            case FunctionCall():
                return ["call", self._node(program.function.program)]
            case p.Execute():
                result = [] if program.result is None else [of(program.result)]
                return ["execute", program.compute_set.name, *result]
            case p.TensorCopy():
                return ["copy", of(program.source), of(program.destination)]
            case p.StreamCopy(source=Tensor() as source):
                return ["to host", program.stream.handle, of(source)]
            case p.StreamCopy(destination=Tensor() as destination):
                return ["from host", program.stream.handle, of(destination)]
            case p.PrintTensor():
                return ["to host", "printed", of(program.tensor)]
            case p.Repeat():
                return ["repeat", program.count, self._node(program.body)]
            case p.RepeatWhile():
                what = f"while {'true' if program.goes_on_if else 'false'}"
                parts = [self._node(each) for each in program.children]
                return [what, of(program.predicate), *parts]
            case p.Loop():
                return ["loop", self._node(program.body)]
            case p.If():
                return ["if", of(program.predicate), *map(self._node, program.children)]
            case p.Switch():
                default = self._node(program.default)
                if program.unmatched != "default":
                    default = ["abort", "no case of the Switch matches"]
                cases = [[value, self._node(each)] for value, each in program.cases.items()]
                return ["switch", of(program.control), default, *cases]
            case p.Abort():
                return ["abort", program.message]
            case p.AbortOnCondition():
                return ["abort on", program.message, of(program.predicate)]
            case p.ErrorProgram():
                return ["error", program.message, of(program.debug_tensor)]
            case p.Sync():
                return ["sync", ["INTERNAL", "EXTERNAL", "GLOBAL"].index(program.sync_type.name)]
            case p.WriteUndef():
                return ["write undef", of(program.tensor)]
            case p.CodeCopy():
                return ["load code", self._node(program.destination.program)]
            case p.HostCall():
                tensors = [of(each) for each in (*program.inputs, *program.outputs)]
                return ["host call", program.function.handle, *tensors]
            case p.SetFloatingPointBehaviour():
                return ["set floating point", *_bits(program.behaviour)]
            case p.ModifyFloatingPointBehaviour():
                return ["modify floating point", *_bits(program.off), *_bits(program.on)]
            case p.SetStochasticRounding():
                return ["set stochastic rounding", int(program.set != 0)]
        return _sequence([self._node(each) for each in program.children])


class Recorded:
    """What the stand-in recorded, in the same form: without copies of what vertices overwrite.

    Trees come before vertices, whose edges then lead to the elements that were copied.
    """

    def __init__(self, recorded: Any) -> None:
        self._all = recorded
        self._copied: dict[int, list[int]] = {}

    def variables(self, count: int) -> list[Any]:
        """Return the first variables; those that the host program adds come behind them."""
        keys = "name", "type", "constant", "shape", "tiles", "data"
        return [[each[key] for key in keys] for each in self._all["variables"][:count]]

    def vertices(self, name: str) -> Counter[str]:
        """Return the vertices of a compute set."""
        (found,) = (each for each in self._all["compute_sets"] if each["name"] == name)
        return Counter(
            json.dumps(
                [
                    *(each[key] for key in ("class", "tile", "estimate")),
                    {field: list(map(self._read, rows)) for field, rows in each["edges"].items()},
                    each["states"],
                ]
            )
            for each in found["vertices"]
        )

    def _read(self, edge: list[int]) -> list[int]:
        """Return variable and position of each element of an edge; of a copy, those copied."""
        flat = []
        for variable, position in zip(edge[::2], edge[1::2], strict=True):
            if variable in self._copied:
                flat += self._copied[variable][2 * position : 2 * position + 2]
            else:
                flat += [variable, position]
        return flat

    def tree(self, number: int) -> list[Any]:
        """Return a program without what the host program puts around it."""
        (counted,) = self._all["programs"][number]["parts"]
        assert counted["what"] == "count cycles"
        (program,) = counted["parts"][0]["parts"]
        return self._node(program)

    def behaviour(self) -> list[Any]:
        """Return how arithmetic behaves at first, which the last program sets."""
        return self._node(self._all["programs"][-1])

    def _node(self, node: Any) -> list[Any]:
        what, numbers, views = node["what"], node["numbers"], node["views"]
        parts = [self._node(each) for each in node["parts"]]
        match what:
            case "sequence":
                copies = [each for each in node["parts"] if self._is_taken(each, node["parts"][-1])]
                return _sequence(parts[len(copies) :])
            case "call" | "load code":
                return [what, self._node(self._all["functions"][numbers[0]])]
            case "execute":
                return [what, self._all["compute_sets"][numbers[0]]["name"], *views]
            case "host call":
                return [what, self._all["called"][numbers[0]][0], *views]
            case "to host" | "from host":
                name = self._all["streams"][numbers[0]][0]
                return [what, "printed" if name.startswith("print:") else name, *views]
            case "switch":
                cases = [list(case) for case in zip(numbers, parts[1:], strict=True)]
                return [what, *views, parts[0], *cases]
        text = [node["text"]] if what in ("abort", "abort on", "error") else []
        return [what, *text, *numbers, *views, *parts]

    def _is_taken(self, node: Any, last: Any) -> bool:
        """Return whether a step copies what vertices of the compute set at the end overwrite."""
        if node["what"] != "copy" or last["what"] != "execute":
            return False
        source, destination = node["views"]
        before = self._all["variables"][destination[0]] if destination else {"name": ""}
        work = self._all["compute_sets"][last["numbers"][0]]["name"]
        if not re.fullmatch(rf"{re.escape(work)}/\w+/before", before["name"]):
            return False
        assert destination[1::2] == list(range(len(before["tiles"])))
        self._copied[destination[0]] = source
        return True


def _sequence(parts: list[list[Any]]) -> list[Any]:
    """Return a sequence without sequences in it; of one part, the part."""
    flat = [each for part in parts for each in (part[1:] if part[0] == "sequence" else [part])]
    return flat[0] if len(flat) == 1 else [*NO_PROGRAM, *flat]


def _bits(behaviour: pl.FloatingPointBehaviour) -> list[int]:
    return [int(each) for each in astuple(behaviour)]


def _hex(values: Any, variable: Any) -> str:
    return np.asarray(values, variable.element_type.dtype).tobytes().hex()


def check_recorded(
    graph: pl.Graph, programs: Mapping[str, pl.Program], codelets: CodeletFile, recorded: Any
) -> None:
    """Compare everything that was recorded with a Python graph."""
    expected, found = Expected(graph, programs, codelets), Recorded(recorded)
    assert found.variables(len(graph.variables)) == expected.variables()
    assert found.behaviour() == ["set floating point", 0, 0, 0, 0, 1]
    for number, name in enumerate(programs):
        assert found.tree(number) == expected.tree(name)
    by_name = {each.name: each for each in graph.compute_sets}
    for each in recorded["compute_sets"]:
        assert found.vertices(each["name"]) == expected.vertices(by_name[each["name"]])
