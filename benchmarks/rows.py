"""Rows of a benchmark: alternating samples, one line for each row, a verdict.

A row compares poplite with a baseline in one process.  Their samples alternate, so that a slow
moment of the machine affects both, and the best of each counts, since disturbances only add time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison.

    Attributes:
        name: the two sides of the comparison.
        value: the figure that has a target.
        unit: its unit, `x` for a ratio.
        sense: whether `value` must be at most or at least the target.
        target: the target.
        ours: seconds of every sample of poplite.
        baseline: seconds of every sample of the baseline.
    """

    name: str
    value: float
    unit: str
    sense: Literal["<=", ">="]
    target: float
    ours: list[float]
    baseline: list[float]

    @classmethod
    def skipped(cls, name: str) -> Row:
        """Return the row of a comparison whose baseline is not installed; it misses nothing."""
        return cls(name, 0.0, "", ">=", 0.0, [], [])

    @property
    def reached(self) -> bool:
        """Whether the target is met."""
        return self.value <= self.target if self.sense == "<=" else self.value >= self.target

    def __str__(self) -> str:
        if not self.ours:
            return f"{self.name:<58} skipped, not installed"
        verdict = "ok" if self.reached else "MISSED"
        return (
            f"{self.name:<58} {self.value:7.3f} {self.unit} {self.sense} {self.target:g} "
            f"(poplite {min(self.ours):.4g} s, baseline {min(self.baseline):.4g} s)  {verdict}"
        )


def example(name: str) -> Any:
    """Return an example as a module; vertex classes look their module up by its name."""
    path = Path(__file__).resolve().parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


SETTLING = 1.0
"""Seconds after their start in which threads may still share one processor."""

BLAS_SPINS = 0.2
"""Seconds for which each BLAS thread occupies a processor after a product, waiting for more work.

Measured for OpenBLAS: 0.1 s. Other code takes twice as long meanwhile, and three times as long if
its threads wait for each other often.
"""


def check(name: str, ours: npt.NDArray[Any], baseline: npt.NDArray[Any]) -> None:
    """Stop if the two sides differ in a bit."""
    if ours.dtype != baseline.dtype or ours.shape != baseline.shape:
        sys.exit(f"{name}: {ours.dtype}{ours.shape} and {baseline.dtype}{baseline.shape}")
    if ours.tobytes() != baseline.tobytes():
        sys.exit(f"{name}: {(ours != baseline).sum():,} of {ours.size:,} values differ")


def seconds(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(
    ours: Callable[[], object],
    baseline: Callable[[], object],
    samples: int,
    before: Callable[[], object] = lambda: None,
    warm_up: float = 0.0,
    calls: int = 1,
) -> tuple[list[float], list[float]]:
    """Time both alternately, after warm-up calls that do not count.

    Args:
        ours: the work of poplite.
        baseline: the work of the baseline.
        samples: of each.
        before: called before each turn, not timed.
        warm_up: seconds for which both are called before that, at least once.
        calls: of each side in a turn, one after the other, each of them timed.
    """
    end = time.perf_counter() + warm_up
    while True:
        ours()
        baseline()
        if time.perf_counter() >= end:
            break
    one: list[float] = []
    other: list[float] = []
    for _ in range(samples):
        before()
        one += [seconds(ours) for _ in range(calls)]
        other += [seconds(baseline) for _ in range(calls)]
    return one, other


def run(
    description: str, make: Callable[[bool, int], list[Row]], argv: Sequence[str] | None = None
) -> int:
    """Run the rows of a script from its command line.

    Args:
        description: what the script measures.
        make: takes (small, samples), returns the rows.
        argv: the command line.

    Returns:
        0 when all targets are met, otherwise 1.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the samples")
    parser.add_argument("--samples", type=int, default=9, help="of each side (default 9)")
    parser.add_argument(
        "--small", action="store_true", help="tiny sizes: try the rows, judge nothing"
    )
    options = parser.parse_args(argv)
    rows = make(options.small, options.samples)
    for row in rows:
        print(row)
    if options.json is not None:
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        content = {**machine, "small": options.small, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0 if options.small or all(row.reached for row in rows) else 1
