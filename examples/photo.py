"""Blur a photograph on 1,472 tiles, check every bit against NumPy, and draw the mapping.

    python examples/photo.py [--half] [--image FILE] [--steps 100] [--tiles 1472]
                             [--output-dir DIR]

The picture has four channels (red, green, blue and a zero that fills up the vectors) in
float32, with `--half` in float16, and a border of zero cells around it.  The tiles share it in
near-square blocks, the six workers of a tile share the rows of its block.  A vertex reads its
rows with one cell more on every side, and writes

              1 2 1
    y =  sum  2 4 2  / 16      of x,  zero outside the picture.
              1 2 1

A double step blurs from buffer a to buffer b and back.  The result must equal NumPy's in every
bit: same taps, same order, float32 arithmetic; with `--half` each cell is rounded as it is
stored.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

import poplite as pl
from poplite.files import check_folder, write_bytes
from poplite.text import amount
from poplite.tools.script import one_line_errors
from poplite.viz import tiles_svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T", bound=pl.ElementType[float])
R = TypeVar("R")
Pixels = npt.NDArray[np.float32]
Stored = npt.NDArray[np.floating[Any]]
"""Cells as they are stored: float32 or float16."""

CHANNELS = 4
WEIGHTS = (
    (0, 0, 1 / 16), (0, 1, 2 / 16), (0, 2, 1 / 16),
    (1, 0, 2 / 16), (1, 1, 4 / 16), (1, 2, 2 / 16),
    (2, 0, 1 / 16), (2, 1, 2 / 16), (2, 2, 1 / 16),
)  # fmt: skip
"""Row, column and weight of the nine taps, in the order in which they are added."""

MOST_STEPS = 1_000_000

FILES = ("photo_before.png", "photo_after.png", "photo_tiles.svg")


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


class UserError(pl.PopliteError):
    """Something the user can mend."""


def build(
    picture: Pixels | None = None,
    steps: int = 100,
    tiles: int = 1472,
    element: type[pl.ElementType[float]] = pl.FLOAT,
) -> tuple[pl.Graph, pl.Program, pl.Tensor, pl.Tensor]:
    """Return the graph, its program, the whole buffer with its border, and the picture in it.

    Args:
        picture: float32[rows, cols, 4]; the photograph of scikit-learn when omitted.
        steps: double steps, from a to b and back.
        tiles: how many tiles share the picture at most; never more than it has pixels.
        element: what a cell is stored as, FLOAT or HALF.
    """
    picture = read_picture() if picture is None else picture
    rows, cols, _ = picture.shape
    grid = pl.near_square_grid(rows, cols, tiles)
    graph = pl.Graph(pl.Target(tiles=grid[0] * grid[1]))
    shape = (rows + 2, cols + 2, CHANNELS)
    a = graph.add_variable(element, shape, name="a", initial_value=with_border(picture))
    b = graph.add_variable(element, shape, name="b", initial_value=0.0)
    blocks = [
        (slice(r.start + 1, r.stop + 1), slice(c.start + 1, c.stop + 1))
        for r, c in pl.grid_blocks((rows, cols), grid)
    ]
    for tile, (r, c) in enumerate(blocks):
        graph.set_tile_mapping(a[with_edge(r, rows + 2), with_edge(c, cols + 2)], tile)
    graph.set_tile_mapping(b, graph.tile_mapping(a))
    body = pl.Sequence(
        blur(graph, a, b, blocks, "a to b"),
        blur(graph, b, a, blocks, "b to a"),
    )
    return graph, pl.Repeat(steps, body), a, a[1:-1, 1:-1]


def with_border(picture: Pixels) -> Pixels:
    """Return the picture with one cell of zeros around it."""
    return np.pad(picture, ((1, 1), (1, 1), (0, 0)))


def with_edge(block: slice, length: int) -> slice:
    """Give the border cells to the nearest block."""
    return slice(
        0 if block.start == 1 else block.start, length if block.stop == length - 1 else block.stop
    )


def blur(
    graph: pl.Graph, x: pl.Tensor, y: pl.Tensor, blocks: list[tuple[slice, slice]], name: str
) -> pl.Execute:
    """Add one blur from `x` to `y`: up to six vertices a tile."""
    work = graph.add_compute_set(name)
    wide = x.flatten(1, 3)  # [rows + 2, (cols + 2) * channels]
    out = y.flatten(1, 3)
    for tile, (rows, cols) in enumerate(blocks):
        height = rows.stop - rows.start
        workers = min(graph.target.workers, height)
        left, right = cols.start * CHANNELS, cols.stop * CHANNELS
        for worker in range(workers):
            top = rows.start + pl.cut(worker, height, workers)
            bottom = rows.start + pl.cut(worker + 1, height, workers)
            graph.add_vertex(
                work,
                Blur,
                tile=tile,
                x=wide[top - 1 : bottom + 1, left - CHANNELS : right + CHANNELS],
                y=out[top:bottom, left:right],
            )
    return pl.Execute(work)


def nine_taps(picture: Pixels, steps: int, dtype: npt.DTypeLike = np.float32) -> Stored:
    """Return the blurred picture: the oracle, in the vertex's order, without new arrays.

    Args:
        picture: float32[rows, cols, 4].
        steps: double steps.
        dtype: what every cell is rounded to as it is stored, float32 or float16.
    """
    rows, cols, _ = picture.shape
    x, y = with_border(picture).astype(dtype), with_border(picture).astype(dtype)
    rounds = x.dtype != picture.dtype
    sums, tap = np.empty_like(picture), np.empty_like(picture)
    for _ in range(2 * steps):
        total = sums if rounds else y[1:-1, 1:-1]
        for position, (r, c, weight) in enumerate(WEIGHTS):
            out = tap if position else total
            np.multiply(x[r : r + rows, c : c + cols], np.float32(weight), out=out)
            if position:
                np.add(total, tap, out=total)
        if rounds:
            y[1:-1, 1:-1] = sums
        x, y = y, x
    return x[1:-1, 1:-1].copy()


def separable(picture: Pixels, steps: int) -> Pixels:
    """Return the blurred picture the quick way: along the rows, then along the columns."""
    x = with_border(picture)
    once = np.zeros_like(x)
    tap = np.empty_like(picture)
    for _ in range(2 * steps):
        for source, target, axis in ((x, once, 1), (once, x, 0)):
            whole = slice(1, -1)
            before = source[(whole, slice(0, -2)) if axis else (slice(0, -2), whole)]
            after = source[(whole, slice(2, None)) if axis else (slice(2, None), whole)]
            total = target[1:-1, 1:-1]
            np.multiply(source[1:-1, 1:-1], np.float32(0.5), out=tap)
            np.add(before, after, out=total)
            np.multiply(total, np.float32(0.25), out=total)
            np.add(total, tap, out=total)
    return x[1:-1, 1:-1].copy()


def read_picture(path: Path | None = None) -> Pixels:
    """Return float32[rows, cols, 4] from an image file, or the photograph of scikit-learn."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise UserError("pillow is not installed\n  try: pip install '.[examples]'") from None
    if path is None:
        pixels = sample_photograph()
    else:
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("RGB"))
        except UnidentifiedImageError:
            raise UserError(f"{path} is not an image\n  try: a PNG or JPEG file") from None
        except Exception as error:  # what a decoder raises for a damaged file is up to the decoder
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise UserError(f"{path} cannot be read: {reason}\n  try: another file") from None
    picture = np.zeros((*pixels.shape[:2], CHANNELS), np.float32)
    picture[..., :3] = pixels
    return picture


def sample_photograph() -> npt.NDArray[np.uint8]:
    """Return the photograph that scikit-learn brings along, uint8[427, 640, 3]."""
    try:
        from sklearn.datasets import load_sample_image
    except ImportError:
        raise UserError(
            "scikit-learn, which brings the photograph, is not installed\n"
            "  try: pip install '.[examples]', or --image FILE"
        ) from None
    photograph: npt.NDArray[np.uint8] = load_sample_image("china.jpg")
    return photograph


def png(picture: Stored) -> bytes:
    """Encode the three colours of a picture."""
    from PIL import Image

    file = io.BytesIO()
    colours = np.clip(np.rint(picture[..., :3]), 0, 255).astype(np.uint8)
    Image.fromarray(colours).save(file, "PNG")
    return file.getvalue()


def timed(work: Callable[[], R]) -> tuple[float, R]:
    """Return the seconds that one call takes, and what it returns."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def run(options: argparse.Namespace) -> None:
    """Do the whole job; raise UserError or FileLoadError when it cannot be done."""
    if options.steps < 1 or options.tiles < 1:
        raise UserError(f"--steps {options.steps} --tiles {options.tiles}: at least 1 is needed")
    if options.steps > MOST_STEPS:
        raise UserError(f"--steps {options.steps}: at most {MOST_STEPS:,}")
    for name in FILES:
        check_folder(options.output_dir / name)
    picture = read_picture(options.image)
    rows, cols, _ = picture.shape
    element: type[pl.ElementType[float]] = pl.HALF if options.half else pl.FLOAT
    graph, program, buffer, inside = build(picture, options.steps, options.tiles, element)
    tiles = graph.target.tiles
    pixels = "pixel" if rows * cols == 1 else "pixels"
    print(f"{options.image or 'china.jpg'}: {rows} x {cols} {pixels} on {amount(tiles, 'tile')}")
    if tiles < options.tiles:
        why = "one for each pixel" if tiles == rows * cols else "blocks are near-square that way"
        print(f"  not the {options.tiles:,} tiles asked for: {why}")
    engine = pl.Engine(graph, program)
    engine.run()  # the first run loads what later ones find loaded
    engine.write(buffer, with_border(picture))
    time_engine, _ = timed(engine.run)
    result = engine.read(inside)
    time_oracle, expected = timed(lambda: nine_taps(picture, options.steps, element.dtype))
    bits = f"u{element.size_bytes}"
    different = int(np.count_nonzero(result.view(bits) != expected.view(bits)))
    if different:
        raise UserError(f"WRONG: {different:,} of {result.size:,} values differ from NumPy's")

    cells = 2 * options.steps * rows * cols
    rate = cells / time_engine
    print(f"{2 * options.steps} blurs: {time_engine:.3f} s, {rate:,.0f} cells a second")
    print(f"  NumPy, same nine taps: {time_oracle:.3f} s, {time_oracle / time_engine:.1f} x")
    if element is pl.FLOAT:
        time_quick, quick = timed(lambda: separable(picture, options.steps))
        if not np.allclose(quick, expected, rtol=1e-4, atol=1e-3):
            raise UserError("WRONG: the two NumPy versions disagree")
        print(f"  NumPy, separable:      {time_quick:.3f} s, {time_quick / time_engine:.1f} x")
    print(f"  all {result.size:,} values equal NumPy's, bit for bit")
    print(engine.report())
    contents = png(picture), png(result), tiles_svg(graph, program=program).encode()
    for name, content in zip(FILES, contents, strict=True):
        print(f"wrote {write_bytes(options.output_dir / name, content)}")


@one_line_errors
def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Blur a photograph on many tiles.")
    parser.add_argument(
        "--half", action="store_true", help="store the cells as float16, compute in float32"
    )
    parser.add_argument("--image", type=Path, help="a picture; default: scikit-learn's china.jpg")
    parser.add_argument("--steps", type=int, default=100, help="double steps (default 100)")
    parser.add_argument("--tiles", type=int, default=1472, help="default 1472")
    parser.add_argument(
        "--output-dir", type=Path, default=Path(), help="an existing folder (default: here)"
    )
    run(parser.parse_args(argv))
    return 0


if __name__ == "__main__":
    sys.exit(main())
