"""Blur a photograph on 1,440 tiles, check every bit against NumPy, and draw the mapping.

    python examples/photo.py [--half] [--image FILE]

The picture has four channels (red, green, blue and a zero that fills up the vectors) in float32,
with `--half` in float16, and a border of zero cells around it.  The tiles share it in near-square
blocks, the six workers of a tile share the rows of its block: 36 x 40 blocks of 12 rows give each
worker two.  Of 1,472 tiles 32 have no block, as 32 x 46 blocks would give some workers three rows,
and all others would wait.  A vertex reads its rows with one cell more on every side, and writes

              1 2 1
    y =  sum  2 4 2  / 16      of x,  zero outside the picture.
              1 2 1

A double step blurs from buffer a to buffer b and back.  The result must equal NumPy's in every
bit: same taps, same order, float32 arithmetic; with `--half` each cell is rounded when stored.
"""

import argparse
import time
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from PIL import Image

import poplite as pl
from poplite.viz import tiles_svg

T = TypeVar("T", bound=pl.ElementType[float])

WEIGHTS = np.array([[1, 2, 1], [2, 4, 2], [1, 2, 1]], np.float32) / 16


class Blur(pl.Vertex, Generic[T]):
    """One blur of one worker's rows; `x` has a cell more than `y` on every side."""

    x: pl.Input[pl.Vector[pl.Vector[T]]]
    y: pl.Output[pl.Vector[pl.Vector[T]]]

    def compute(self) -> None:
        """Add the nine taps; neighbours to the right are four channels further on."""
        for r in range(len(self.y)):
            for i in range(len(self.y[r])):
                total = 0.0625 * self.x[r][i]
                total += 0.125 * self.x[r][i + 4]
                total += 0.0625 * self.x[r][i + 8]
                total += 0.125 * self.x[r + 1][i]
                total += 0.25 * self.x[r + 1][i + 4]
                total += 0.125 * self.x[r + 1][i + 8]
                total += 0.0625 * self.x[r + 2][i]
                total += 0.125 * self.x[r + 2][i + 4]
                total += 0.0625 * self.x[r + 2][i + 8]
                self.y[r][i] = total


def photograph(file: Path | None = None) -> np.ndarray:
    """Return float32[rows, cols, 4] of an image, or of the photograph that scikit-learn has."""
    if file is None:
        from sklearn.datasets import load_sample_image

        pixels = load_sample_image("china.jpg")
    else:
        pixels = np.asarray(Image.open(file).convert("RGB"))
    return np.pad(pixels, ((0, 0), (0, 0), (0, 1))).astype(np.float32)


def with_border(picture: np.ndarray) -> np.ndarray:
    return np.pad(picture, ((1, 1), (1, 1), (0, 0)))


def build(
    picture: np.ndarray | None = None,
    steps: int = 100,
    tiles: int = 1472,
    element: type[pl.ElementType[float]] = pl.FLOAT,
) -> tuple[pl.Graph, pl.Program, pl.Tensor]:
    """Return the graph, its program, and the buffer with the picture and its border."""
    start = with_border(photograph() if picture is None else picture)
    rows, cols, _ = start.shape
    grid = pl.near_square_grid(rows - 2, cols - 2, tiles, workers=pl.Target().workers)
    graph = pl.Graph(pl.Target(tiles=grid[0] * grid[1]))
    a = graph.add_variable(element, start.shape, name="a", initial_value=start)
    b = graph.add_variable(element, start.shape, name="b", initial_value=0.0)
    for buffer in (a, b):
        pl.map_blocks(graph, buffer, grid, halo=1)
    parts = pl.halo_blocks(start.shape, grid, workers=graph.target.workers)

    def blur(x: pl.Tensor, y: pl.Tensor, name: str) -> pl.Program:
        work = graph.add_compute_set(name)
        for tile, own, around in parts:  # a row of pixels and channels is one vector
            x_part, y_part = x[around].flatten(1, 3), y[own].flatten(1, 3)
            graph.add_vertex(work, Blur, tile=tile, x=x_part, y=y_part)
        return pl.Execute(work)

    both = pl.Sequence(blur(a, b, "a to b"), blur(b, a, "b to a"))
    return graph, pl.Repeat(steps, both), a


def in_numpy(picture: np.ndarray, steps: int, dtype: Any = np.float32) -> np.ndarray:
    """Return the blurred picture; sums are of float32, cells are rounded as they are stored."""
    rows, cols, _ = picture.shape
    x = with_border(picture).astype(dtype)
    for _ in range(2 * steps):
        wide = x.astype(np.float32)
        taps = [WEIGHTS[r, c] * wide[r : r + rows, c : c + cols] for r, c in np.ndindex(3, 3)]
        x[1:-1, 1:-1] = sum(taps)
    return x[1:-1, 1:-1]


def save(picture: np.ndarray, name: str) -> None:
    colours = np.clip(np.rint(picture[..., :3]), 0, 255).astype(np.uint8)
    Image.fromarray(colours).save(name)


def main(
    half: bool = False, image: Path | None = None, steps: int = 100, tiles: int = 1472
) -> None:
    picture, element = photograph(image), pl.HALF if half else pl.FLOAT
    graph, program, buffer = build(picture, steps, tiles, element)
    engine = pl.Engine(graph, program)
    engine.run()  # the first run loads what later ones find loaded
    engine.write(buffer, with_border(picture))
    begin = time.perf_counter()
    engine.run()
    seconds = time.perf_counter() - begin
    blurred = engine.read(buffer)[1:-1, 1:-1]
    assert blurred.tobytes() == in_numpy(picture, steps, element.dtype).tobytes()  # every bit
    print(f"{2 * steps} blurs of {picture.shape[0]} x {picture.shape[1]} pixels: {seconds:.3f} s")
    print(engine.report())
    save(picture, "photo_before.png")
    save(blurred, "photo_after.png")
    Path("photo_tiles.svg").write_text(tiles_svg(graph, program=program))
    print("equal to NumPy's in every bit; wrote photo_before.png, photo_after.png, photo_tiles.svg")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Blur a photograph on many tiles.")
    parser.add_argument("--half", action="store_true", help="store the cells as float16")
    parser.add_argument("--image", type=Path, help="a picture instead of scikit-learn's china.jpg")
    main(**vars(parser.parse_args()))
