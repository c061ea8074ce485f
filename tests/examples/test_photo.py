"""examples/photo.py: the pictures, the check against NumPy, and bad input."""

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
def small_image(tmp_path: Path) -> Path:
    """A picture of 24 x 36 pixels."""
    pixels = np.random.default_rng(7).integers(0, 256, (24, 36, 3), dtype=np.uint8)
    path = tmp_path / "small.png"
    Image.fromarray(pixels).save(path)
    return path


def run(photo: ModuleType, image: Path, *more: str) -> int:
    """Run with two double steps on twelve tiles, into the image's folder."""
    folder = ["--output-dir", str(image.parent)]
    code = photo.main(["--image", str(image), "--steps", "2", "--tiles", "12", *folder, *more])
    assert isinstance(code, int)
    return code


def test_small_run_writes_three_pictures(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(photo, small_image) == 0
    printed = capsys.readouterr().out
    folder = small_image.parent
    assert sorted(p.name for p in folder.iterdir()) == [*PICTURES, "small.png"]
    for name in PICTURES:
        assert f"wrote {folder / name}" in printed
    before = np.asarray(Image.open(folder / "photo_before.png"))
    after = np.asarray(Image.open(folder / "photo_after.png"))
    assert np.array_equal(before, np.asarray(Image.open(small_image)))
    assert after.shape == (24, 36, 3)
    assert after[4:-4, 4:-4].std() < before[4:-4, 4:-4].std() / 2  # it is a blur
    assert ET.parse(folder / "photo_tiles.svg").getroot().tag.endswith("svg")


@deep
def test_default_photograph_on_all_tiles(
    photo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert photo.main(["--steps", "1", "--output-dir", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "china.jpg: 427 x 640 pixels on 1,472 tiles" in printed
    assert "all 1,093,120 values equal NumPy's, bit for bit" in printed


def test_half_rounds_every_cell_as_it_is_stored(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(photo, small_image, "--half") == 0
    assert "all 3,456 values equal NumPy's, bit for bit" in capsys.readouterr().out
    picture = photo.read_picture(small_image)
    graph, program, _, inside = photo.build(picture, 1, 12, pl.HALF)
    engine = pl.Engine(graph, program)
    engine.run()
    found = engine.read(inside)
    assert found.dtype == np.float16
    assert np.array_equal(found, photo.nine_taps(picture, 1, np.float16))
    rounded_late = photo.nine_taps(picture, 1).astype(np.float16)
    assert np.count_nonzero(found != rounded_late) > 100


def test_fewer_pixels_than_tiles(
    photo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "tiny.png"
    Image.new("RGB", (3, 2), (10, 20, 30)).save(path)
    assert run(photo, path, "--tiles", "1472") == 0
    assert (
        "2 x 3 pixels on 6 tiles\n  not the 1,472 tiles asked for: one for each pixel\n"
    ) in capsys.readouterr().out


def test_blocks_stay_near_square_on_a_prime_number_of_tiles(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(photo, small_image, "--tiles", "23") == 0
    assert "24 x 36 pixels on 21 tiles\n  not the 23 tiles asked" in capsys.readouterr().out


def test_grey_picture_with_one_pixel(
    photo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.png"
    Image.new("L", (1, 1), 200).save(path)
    assert run(photo, path) == 0
    assert "1 x 1 pixel on 1 tile\n" in capsys.readouterr().out


def test_oracle_is_the_definition(photo: ModuleType) -> None:
    picture = np.zeros((5, 4, 4), np.float32)
    picture[2, 1] = [16, 32, 48, 0]
    kernel = np.outer([1, 2, 1], [1, 2, 1]) / 16
    once = np.zeros((5, 4, 4))
    once[1:4, 0:3] = kernel[..., None] * [16, 32, 48, 0]
    padded = np.pad(once, ((1, 1), (1, 1), (0, 0)))
    twice = sum(kernel[r, c] * padded[r : r + 5, c : c + 4] for r in range(3) for c in range(3))
    assert np.array_equal(photo.nine_taps(picture, 1), twice)
    assert np.array_equal(photo.separable(picture, 1), twice)


@deep
def test_vertices_are_six_a_tile_and_blocks_near_square(photo: ModuleType) -> None:
    picture = np.zeros((427, 640, 4), np.float32)
    graph, _, buffer, inside = photo.build(picture, 1, 1472)
    assert [len(cs.vertices) for cs in graph.compute_sets] == [8832, 8832]
    per_tile = graph.tile_mapping(inside).elements_per_tile // 4
    assert per_tile.min() == 13 * 13
    assert per_tile.max() == 14 * 14
    assert graph.tile_mapping(buffer).is_complete


def test_wrong_bits_fail_loudly_and_write_nothing(
    photo: ModuleType,
    small_image: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    oracle = photo.nine_taps

    def off_by_one_bit(picture: np.ndarray, *more: object) -> np.ndarray:
        expected = oracle(picture, *more)
        expected[3, 4, 1] = np.nextafter(expected[3, 4, 1], np.float32(0))
        return np.asarray(expected)

    monkeypatch.setattr(photo, "nine_taps", off_by_one_bit)
    assert run(photo, small_image) == 1
    assert "WRONG: 1 of 3,456 values differ" in capsys.readouterr().err
    assert [p.name for p in small_image.parent.iterdir()] == ["small.png"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("text.png", b"no picture at all", r"text.png is not an image"),
        ("half.png", None, r"half.png cannot be read: "),
        ("absent.png", b"", r"absent.png cannot be read: No such file"),
        ("width.ppm", b"P6 2x 2 255 " + bytes(12), r"width.ppm cannot be read: "),
    ],
)
def test_bad_image_is_named(
    photo: ModuleType,
    tmp_path: Path,
    small_image: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: bytes | None,
    message: str,
) -> None:
    path = tmp_path / name
    whole = small_image.read_bytes()
    if content != b"":
        path.write_bytes(whole[: len(whole) // 2] if content is None else content)
    before = sorted(tmp_path.iterdir())
    assert run(photo, path) == 1
    printed = capsys.readouterr().err
    assert printed.startswith("photo.py: ")
    assert message in printed
    assert "try: " in printed
    assert sorted(tmp_path.iterdir()) == before


def test_output_folder_must_exist(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = small_image.parent / "no" / "such"
    assert run(photo, small_image, "--output-dir", str(missing)) == 1
    printed = capsys.readouterr().err
    assert f"photo.py: cannot write '{missing / 'photo_before.png'}'" in printed
    assert f"try: mkdir -p {missing}" in printed
    assert not missing.exists()


def test_a_picture_that_cannot_be_replaced_is_named(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = small_image.parent
    (folder / "photo_after.png").mkdir()  # cannot be replaced by a file
    assert run(photo, small_image) == 1
    printed = capsys.readouterr().err
    assert f"photo.py: cannot write '{folder / 'photo_after.png'}': it is a folder" in printed
    assert sorted(p.name for p in folder.iterdir()) == ["photo_after.png", "small.png"]


@pytest.mark.parametrize("option", ["--steps", "--tiles"])
def test_counts_below_one_are_refused(
    photo: ModuleType, small_image: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert run(photo, small_image, option, "0") == 1
    assert f"{option} 0" in capsys.readouterr().err


def test_an_engine_can_start_over(photo: ModuleType) -> None:
    picture = np.random.default_rng(3).random((8, 9, 4), dtype=np.float32)
    graph, program, buffer, inside = photo.build(picture, 1, 4)
    engine = pl.Engine(graph, program)
    engine.run()
    first = engine.read(inside)
    engine.write(buffer, photo.with_border(picture))
    engine.run()
    assert np.array_equal(engine.read(inside), first)
