"""The engine against hand-written code: rows R1 to R30, a photograph, floating point, Pallas.

    python benchmarks/engine.py [--samples 9] [--json FILE] [--small]

Every row first checks that both sides give the same bits, then times them in turn.  Rows R17 and
R18, compiling a vertex and loading it, are in compilation.py; R20 comes with several processes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import engine_accounting
import engine_axpy
import engine_bounds
import engine_bulk
import engine_copies
import engine_faster
import engine_floats
import engine_heat
import engine_matmul
import engine_pallas
import engine_reduction
import engine_steps
import engine_strict
import poplite as pl
from rows import Row, check, example, in_turn, run


def nine_taps(photo: Any, picture: np.ndarray, steps: int) -> np.ndarray:
    """The blurred picture by NumPy, in the order of the vertex, without new arrays."""
    rows, cols, _ = picture.shape
    x, y = photo.with_border(picture), photo.with_border(picture)
    tap = np.empty_like(picture)
    for _ in range(2 * steps):
        total = y[1:-1, 1:-1]
        for r, c in np.ndindex(3, 3):
            out = tap if r or c else total
            np.multiply(x[r : r + rows, c : c + cols], photo.WEIGHTS[r, c], out=out)
            if r or c:
                np.add(total, tap, out=total)
        x, y = y, x
    return np.asarray(x[1:-1, 1:-1])


def photo_row(small: bool, samples: int) -> Row:
    """The main job of examples/photo.py against its oracle."""
    photo = example("photo")
    steps, tiles = (2, 24) if small else (20, 1472)
    picture = photo.photograph()[: 40 if small else None]
    graph, program, buffer = photo.build(picture, steps, tiles)
    engine = pl.Engine(graph, program)
    engine.run()
    check("photo", engine.read(buffer)[1:-1, 1:-1].copy(), nine_taps(photo, picture, steps).copy())
    engine.write(buffer, photo.with_border(picture))
    ours, oracle = in_turn(engine.run, lambda: nine_taps(photo, picture, steps), samples)
    name = f"photo, {2 * steps} blurs: NumPy oracle / poplite"
    return Row(name, min(oracle) / min(ours), "x", ">=", 6.0, ours, oracle)


def rows(small: bool, samples: int) -> list[Row]:
    """All rows of all parts."""
    parts = (
        engine_axpy,
        engine_bounds,
        engine_bulk,
        engine_heat,
        engine_matmul,
        engine_faster,
        engine_reduction,
        engine_steps,
        engine_copies,
        engine_floats,
        engine_accounting,
        engine_pallas,
        engine_strict,
    )
    return [
        photo_row(small, samples),
        *[row for part in parts for row in part.rows(small, samples)],
    ]


if __name__ == "__main__":
    sys.exit(run(__doc__.splitlines()[0], rows))
