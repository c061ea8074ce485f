"""Programs that look across the replicas of a graph.

CrossReplicaCopy(x, y, {0: 1, 1: 2, 2: 0})    x of replica 0 to y of replica 1, and so on
AssumeEqualAcrossReplicas(x)                  says that x is the same in all of them
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import ElementTypeError, GraphReplicationError
from poplite.expr.operand import as_read
from poplite.graph.mapping.tile_mapping import ranges
from poplite.graph.tensor.tensor import Tensor
from poplite.graph.tensor.tensor_text import type_and_shape
from poplite.program.base import Program, declared, set_once
from poplite.program.copy import check_copied
from poplite.program.marks import Mark
from poplite.text import amount, clipped, fitted, integer_or_none

SHOWN = 4
"""Replicas of the map that an error shows as an example."""


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class CrossReplicaCopy(Program):
    """Copies a tensor of each replica to a tensor of another replica, all at once.

    Args:
        source: what is read.
        destination: what is written: equally many elements of the same type.
        replica_map: for each replica the one that its source goes to, in a dictionary, a list
            or an array; every replica receives once.
        name: as in Poplar; it has no effect.

    Attributes:
        replica_map: for each replica the one that its source goes to.

    Raises:
        GraphReplicationError: when replicas are left out, or receive twice or never.
        PopliteError: for tensors that do not fit together, as `Copy`.

    >>> from poplite.graph import Graph
    >>> from poplite.machine.target import Target
    >>> graph = Graph(Target(tiles=6, ipus=3), replication_factor=3)
    >>> a, b = graph.add_variable("int32", (4,), "a"), graph.add_variable("int32", (4,), "b")
    >>> CrossReplicaCopy(a, b, {0: 1, 1: 2, 2: 0})
    <CrossReplicaCopy 'a' -> 'b' of replicas 1, 2, 0, 4 elements>
    """

    source: Tensor
    destination: Tensor
    replica_map: tuple[int, ...]

    def __init__(
        self,
        source: Tensor,
        destination: Tensor,
        replica_map: Mapping[int, int] | Sequence[int] | npt.NDArray[np.integer[Any]],
        name: str = "",
    ) -> None:
        source = as_read(source)
        for role, tensor in (("source", source), ("destination", destination)):
            if not isinstance(tensor, Tensor):
                raise ElementTypeError(
                    f"CrossReplicaCopy: {role} {clipped(tensor, 60)} is not a tensor",
                    fix="CrossReplicaCopy(source, destination, {0: 1, 1: 0})",
                )
        title = f"CrossReplicaCopy '{source.name}' -> '{destination.name}'"
        check_copied(title, source, destination)
        to = _permutation(replica_map, source.graph.replication_factor, title)
        set_once(self, source=source, destination=destination, replica_map=to, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """The source."""
        return (self.source,)

    @property
    def writes(self) -> tuple[Tensor, ...]:
        """The destination."""
        return (self.destination,)

    def __str__(self) -> str:
        return f"CrossReplicaCopy '{self.source.name}' -> '{self.destination.name}'"

    def __repr__(self) -> str:
        to = ", ".join(map(str, self.replica_map))
        elements = amount(self.source.num_elements, "element")
        return fitted(
            f"<CrossReplicaCopy '{{}}' -> '{{}}' of replicas {to}, {elements}>",
            self.source.name,
            self.destination.name,
        )


def _permutation(replica_map: object, count: int, title: str) -> tuple[int, ...]:
    """Return where the source of each replica goes."""
    pairs: list[tuple[object, object]] = []
    replica_map = replica_map.tolist() if isinstance(replica_map, np.ndarray) else replica_map
    if isinstance(replica_map, Mapping):
        pairs = list(replica_map.items())
    elif isinstance(replica_map, Sequence):
        pairs = list(enumerate(replica_map))
    numbers = [(integer_or_none(sender), integer_or_none(receiver)) for sender, receiver in pairs]
    to_of = {sender: to for sender, to in numbers if sender is not None and to is not None}
    times = Counter(to_of.values())
    faults = {
        "replicas that send nothing": [n for n in range(count) if n not in to_of],
        "replicas that receive nothing": [n for n in range(count) if n not in times],
        "replicas that receive more than once": sorted(n for n in times if times[n] > 1),
        "no replicas of the graph": sorted({*to_of, *times} - set(range(count))),
    }
    lines = [f"{what}: {ranges(listed)}" for what, listed in faults.items() if listed]
    if len(to_of) < len(pairs) or not pairs:
        lines = [f"{clipped(replica_map, 60)} does not map replicas to replicas"]
    if lines:
        shown = {number: (number + 1) % count for number in range(min(count, SHOWN))}
        raise GraphReplicationError(
            f"{title}: {lines[0]}",
            found="\n".join([*lines[1:], f"the graph has {amount(count, 'replica')}"]),
            fix=f"let every replica send and receive once: {shown}"
            + (f" for the first {SHOWN}, and so on" if count > SHOWN else ""),
        )
    return tuple(to for _, to in sorted(to_of.items()))


@declared
@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class AssumeEqualAcrossReplicas(Mark):
    """Says that a tensor holds the same in all replicas.

    With strict checks the engine compares them, and stops the run where they differ; with fast
    checks it does nothing.

    Args:
        tensor: any view.
        name: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: when it is no tensor.

    >>> from poplite.graph import Graph
    >>> AssumeEqualAcrossReplicas(Graph().add_variable("int32", (3,), "x"))
    <AssumeEqualAcrossReplicas 'x' int32[3]>
    """

    tensor: Tensor

    def __init__(self, tensor: Tensor, name: str = "") -> None:
        if not isinstance(tensor, Tensor):
            raise ElementTypeError(
                f"AssumeEqualAcrossReplicas: {clipped(tensor, 60)} is not a tensor",
                fix="AssumeEqualAcrossReplicas(tensor)",
            )
        set_once(self, tensor=tensor, num_steps=1)

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """What is compared."""
        return (self.tensor,)

    def __str__(self) -> str:
        return f"AssumeEqualAcrossReplicas '{self.tensor.name}'"

    def __repr__(self) -> str:
        shown = type_and_shape(self.tensor)
        return fitted(f"<AssumeEqualAcrossReplicas '{{}}' {shown}>", self.tensor.name)
