"""Which vertex classes are counted, and how: those whose cycles depend on data.

while self.x[i] > limit        counted
while i < len(self.x)          not: lengths decide, so that each shape is priced once
set_perf_estimate(...)         not; other vertices of the class are
print(...)                     not: such a class is never compiled
QUARTER                        not, nor HALF where the processor has none: the code that is
                               priced differs from the code that runs
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from poplite.cost.step_cost import may_depend_on_data
from poplite.executable.executable import Executable
from poplite.executable.step import ComputeStep
from poplite.machine.facts import CODE_FACTS
from poplite.machine.target import Target
from poplite.simulator.codegen.variant import Counting, modes_of
from poplite.types import HALF, QUARTER
from poplite.vertex.compute import check
from poplite.vertex.compute.mathematics.functions import KERNELS
from poplite.vertex.vertex import Vertex


def counting_of(
    executable: Executable,
    number: int,
    interpreted: Collection[type[Vertex]],
    checked: Collection[type[Vertex]],
) -> Mapping[type[Vertex], Counting]:
    """Return how to count each class of a compute set whose cycles depend on data."""
    target = executable.target
    return {
        cls: Counting(
            on_copies=(separately := cls in interpreted or _is_counted_separately(executable, cls)),
            costs=_costs(target),
            checked=cls in checked and not separately,
        )
        for cls in _candidates(executable, number)
        if _is_data_dependent(cls, target)
    }


def counting_candidates(executable: Executable) -> Iterator[type[Vertex]]:
    """Yield the classes that are counted if the cycles of their code depend on data."""
    for number in range(len(executable.costs)):
        yield from _candidates(executable, number)


def deciding_fields(executable: Executable, number: int) -> Mapping[type[Vertex], frozenset[str]]:
    """Return the edges whose data decide the cycles of a compute set, by class."""
    from poplite.simulator.pricing import deciding_fields

    candidates = _candidates(executable, number)
    return {cls: deciding_fields(cls, executable.target) for cls in candidates}


def _candidates(executable: Executable, number: int) -> Iterator[type[Vertex]]:
    if number < len(executable.costs) and isinstance(executable.steps[number], ComputeStep):
        vertices = executable.costs[number].vertices
        for cls in dict.fromkeys(each.cls for each in vertices if each.source == "automatic"):
            if may_depend_on_data(cls) and _has_code(cls):
                yield cls


def _has_code(cls: type[Vertex]) -> bool:
    """Tell whether the code that is priced loads and stores elements as the code that runs does."""
    elements = {field.element for field in cls.fields.values()}
    return QUARTER not in elements and (HALF not in elements or _has_half())


def _is_data_dependent(cls: type[Vertex], target: Target) -> bool:
    from poplite.simulator.pricing import is_data_dependent

    return is_data_dependent(cls, target)


def _has_half() -> bool:
    """Tell whether the processor for which code is compiled converts halves."""
    import llvmlite.binding as llvm

    from poplite.simulator.codegen.codecs import half_in_hardware

    chosen = any(os.environ.get(f"NUMBA_CPU_{choice}") for choice in ("NAME", "FEATURES"))
    features = "" if chosen else llvm.get_host_cpu_features().flatten()
    return half_in_hardware(llvm.get_process_triple(), features)


def _is_counted_separately(executable: Executable, cls: type[Vertex]) -> bool:
    """Tell whether a driver of its own counts a class, since more runs than is priced.

    A function of `math` is priced as a call of the C library, whose bits are others.
    """
    checked = check(cls)
    calls = {name for each in checked.functions() for name in each.facts.calls.values()}
    does_more = checked.raises or checked.result is not None or not KERNELS.keys().isdisjoint(calls)
    modes = modes_of(cls, executable.float_modes)
    return executable.checks == "strict" or bool(modes) or does_more


def _costs(target: Target) -> tuple[tuple[str, float], ...]:
    names = (*CODE_FACTS, "supervisor_overhead", "workers")
    return tuple((name, target.cost(name)) for name in names)
