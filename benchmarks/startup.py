"""Start-up: what importing poplite and asking for help cost, and a whole small program.

    python benchmarks/startup.py [--samples 9] [--json FILE] [--small]

Every sample is a process of its own; the compiled code is on disk for both sides.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rows import Row, in_turn, run

PI = Path(__file__).resolve().parents[1] / "examples" / "pi.py"

HAND_WRITTEN = """
from numba import njit


@njit(cache=True)
def pi(slices):
    total = 0.0
    for i in range(slices):
        x = (i + 0.5) / slices
        total += 4.0 / (1.0 + x * x)
    return total / slices


print(f"pi = {pi(64_000):.5f}")
"""


def python(*arguments: str, cache: Path) -> str:
    """Run one process; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "POPLITE_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of this script."""
    samples = min(samples, 1) if small else samples
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        hand = cache / "hand_written.py"
        hand.write_text(HAND_WRITTEN)
        first = [python(str(script), cache=cache).splitlines()[0] for script in (PI, hand)]
        if first != ["pi = 3.14159"] * 2:
            sys.exit(f"the two programs print {first}")
        imports, numpy = in_turn(
            lambda: python("-c", "import poplite; poplite.Graph, poplite.Engine", cache=cache),
            lambda: python("-c", "import numpy", cache=cache),
            samples,
        )
        program, numba = in_turn(
            lambda: python(str(PI), cache=cache), lambda: python(str(hand), cache=cache), samples
        )
        helps, bare = in_turn(
            lambda: python("-m", "poplite.tools.viz", "--help", cache=cache),
            lambda: python("-c", "pass", cache=cache),
            samples,
        )
    beyond = min(imports) - min(numpy)
    help_beyond = min(helps) - min(bare)
    return [
        Row("import poplite, beyond import numpy", beyond, "s", "<=", 0.15, imports, numpy),
        Row("poplite-viz --help, beyond Python", help_beyond, "s", "<=", 0.15, helps, bare),
        Row(
            "examples/pi.py / script with one cached Numba kernel",
            min(program) / min(numba),
            "x",
            "<=",
            1.5,
            program,
            numba,
        ),
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
