"""examples/photo.py: the pictures, and the check against NumPy."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

import poplite as pl
from helpers.depth import deep

PICTURES = ["photo_after.png", "photo_before.png", "photo_tiles.svg"]


@pytest.fixture
def small_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A picture of 24 x 36 pixels, in the folder where pictures are written."""
    monkeypatch.chdir(tmp_path)
    pixels = np.random.default_rng(7).integers(0, 256, (24, 36, 3), dtype=np.uint8)
    path = tmp_path / "small.png"
    Image.fromarray(pixels).save(path)
    return path


def test_small_run_writes_three_pictures(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    photo.main(image=small_image, steps=2, tiles=12)
    assert "4 blurs of 24 x 36 pixels" in capsys.readouterr().out
    folder = small_image.parent
    assert sorted(p.name for p in folder.iterdir()) == [*PICTURES, "small.png"]
    before = np.asarray(Image.open(folder / "photo_before.png"))
    after = np.asarray(Image.open(folder / "photo_after.png"))
    assert np.array_equal(before, np.asarray(Image.open(small_image)))
    assert after.shape == (24, 36, 3)
    assert after[4:-4, 4:-4].std() < before[4:-4, 4:-4].std() / 2  # it is a blur
    assert ET.parse(folder / "photo_tiles.svg").getroot().tag.endswith("svg")


@deep
def test_default_photograph_on_all_tiles(
    photo: ModuleType,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    photo.main(steps=1)
    printed = capsys.readouterr().out
    assert "2 blurs of 427 x 640 pixels" in printed
    assert "Total Tiles:                1,472" in printed


def test_half_rounds_every_cell_as_it_is_stored(photo: ModuleType, small_image: Path) -> None:
    photo.main(half=True, image=small_image, steps=2, tiles=12)
    picture = photo.photograph(small_image)
    graph, program, buffer = photo.build(picture, 1, 12, pl.HALF)
    engine = pl.Engine(graph, program)
    engine.run()
    found = engine.read(buffer)[1:-1, 1:-1]
    assert found.dtype == np.float16
    assert np.array_equal(found, photo.in_numpy(picture, 1, np.float16))
    rounded_late = photo.in_numpy(picture, 1).astype(np.float16)
    assert np.count_nonzero(found != rounded_late) > 100


def test_fewer_pixels_than_tiles(photo: ModuleType, small_image: Path) -> None:
    Image.new("L", (3, 2), 200).save(small_image)
    photo.main(image=small_image, steps=1)
    assert photo.build(photo.photograph(small_image))[0].target.tiles == 6


def test_oracle_is_the_definition(photo: ModuleType) -> None:
    picture = np.zeros((5, 4, 4), np.float32)
    picture[2, 1] = [16, 32, 48, 0]
    kernel = np.outer([1, 2, 1], [1, 2, 1]) / 16
    once = np.zeros((5, 4, 4))
    once[1:4, 0:3] = kernel[..., None] * [16, 32, 48, 0]
    padded = np.pad(once, ((1, 1), (1, 1), (0, 0)))
    twice = sum(kernel[r, c] * padded[r : r + 5, c : c + 4] for r in range(3) for c in range(3))
    assert np.array_equal(photo.in_numpy(picture, 1), twice)


@deep
def test_vertices_are_six_a_tile_and_blocks_near_square(photo: ModuleType) -> None:
    picture = np.zeros((427, 640, 4), np.float32)
    graph, _, buffer = photo.build(picture, 1, 1472)
    assert [len(cs.vertices) for cs in graph.compute_sets] == [8832, 8832]
    per_tile = graph.tile_mapping(buffer[1:-1, 1:-1]).elements_per_tile // 4
    assert per_tile.min() == 13 * 13
    assert per_tile.max() == 14 * 14
    assert graph.tile_mapping(buffer).is_complete


def test_a_wrong_bit_fails_loudly_and_writes_nothing(
    photo: ModuleType, small_image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_numpy = photo.in_numpy

    def off_by_one_bit(*given: object) -> np.ndarray:
        expected = in_numpy(*given)
        expected[3, 4, 1] = np.nextafter(expected[3, 4, 1], np.float32(0))
        return np.asarray(expected)

    monkeypatch.setattr(photo, "in_numpy", off_by_one_bit)
    with pytest.raises(AssertionError):
        photo.main(image=small_image, steps=1, tiles=12)
    assert [p.name for p in small_image.parent.iterdir()] == ["small.png"]


def test_an_engine_can_start_over(photo: ModuleType) -> None:
    picture = np.random.default_rng(3).random((8, 9, 4), dtype=np.float32)
    graph, program, buffer = photo.build(picture, 1, 4)
    engine = pl.Engine(graph, program)
    engine.run()
    first = engine.read(buffer)
    engine.write(buffer, photo.with_border(picture))
    engine.run()
    assert np.array_equal(engine.read(buffer), first)
