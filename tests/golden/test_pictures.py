"""Pictures as files: any change of a byte shows in review.

`POPLITE_UPDATE_GOLDEN=1 python -m pytest tests/golden` writes them anew; look at them, in
light and dark, before they are committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from poplite import FLOAT, INT, Target
from poplite.graph import Graph
from poplite.tensor import Tensor
from poplite.viz import tensor_svg, tensor_text, tiles_svg, tiles_text

HERE = Path(__file__).parent


def plate() -> Tensor:
    """A 64 x 128 plate in 4 x 4 blocks."""
    tensor = Graph(Target(tiles=16)).add_variable(FLOAT, (64, 128), "plate")
    for tile in range(16):
        row, column = divmod(tile, 4)
        block = tensor[16 * row : 16 * row + 16, 32 * column : 32 * column + 32]
        tensor.graph.set_tile_mapping(block, tile)
    return tensor


def bias() -> Tensor:
    """Four tiles, three elements each, and two elements forgotten."""
    tensor = Graph(Target(tiles=4)).add_variable(INT, (2, 7), "head/bias")
    for tile in range(4):
        tensor.graph.set_tile_mapping(tensor.flatten()[3 * tile : 3 * tile + 3], tile)
    return tensor


def spread() -> Graph:
    """More on every tile than on the one before; the last three hold too much."""
    graph = Graph(Target(tiles=100, tile_memory_bytes=388))
    for tile in range(100):
        graph.add_variable(FLOAT, (tile,), f"x{tile}", mapping=tile)
    return graph


def machine() -> Graph:
    """A photograph's worth of elements over a whole Mk2."""
    graph = Graph()
    graph.add_variable(FLOAT, (427, 640, 4), "image/a", mapping="linear")
    graph.add_variable(FLOAT, (500,), "image/row", mapping="linear")
    return graph


PICTURES: dict[str, Callable[[], str]] = {
    "tiles_spread.txt": lambda: tiles_text(spread()),
    "tiles_spread_ascii.txt": lambda: tiles_text(spread(), ascii_only=True, width=60),
    "tiles_spread_color.txt": lambda: tiles_text(spread(), color=True),
    "tiles_spread.svg": lambda: tiles_svg(spread()),
    "tiles_machine.txt": lambda: tiles_text(machine()),
    "tiles_few.svg": lambda: tiles_svg(bias().graph),
    "tensor_plate.txt": lambda: tensor_text(plate()),
    "tensor_plate.svg": lambda: tensor_svg(plate()),
    "tensor_plate_view.txt": lambda: tensor_text(plate(), "10:40, 20:100:8"),
    "tensor_plate_view.svg": lambda: tensor_svg(plate(), "10:40, 20:100:8"),
    "tensor_bias_view.txt": lambda: tensor_text(bias(), "0:2, ::2"),
    "tensor_bias_view.svg": lambda: tensor_svg(bias(), "0:2, ::2"),
    "tensor_bias_ascii.txt": lambda: tensor_text(bias(), "0, 1:5", ascii_only=True),
    "tensor_bias_color.txt": lambda: tensor_text(bias(), "0, 1:5", color=True),
    "tensor_machine.txt": lambda: tensor_text(tensor_of(machine()), "100:200, 300:400"),
}


def tensor_of(graph: Graph) -> Tensor:
    """A new variable of the graph, mapped like a photograph."""
    return graph.add_variable(FLOAT, (427, 640, 4), "image/b", mapping="linear")


@pytest.mark.parametrize("name", PICTURES)
def test_picture_is_as_before(name: str) -> None:
    path, picture = HERE / name, PICTURES[name]().encode()
    if os.environ.get("POPLITE_UPDATE_GOLDEN"):
        path.write_bytes(picture)
    assert path.is_file(), "POPLITE_UPDATE_GOLDEN=1 writes it"
    assert picture.decode() == path.read_bytes().decode()


def test_every_file_is_compared() -> None:
    files = {path.name for path in HERE.iterdir() if path.suffix in (".txt", ".svg")}
    assert files == set(PICTURES)
