"""Examples made of operations: values as in NumPy, what is learnt, and wrong results."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

import poplite as pl
from helpers.depth import deep, interpreted_everywhere, values_only
from helpers.running import script
from poplite import viz
from poplite.report import Finding
from poplite.tools import viz as viz_command

# -- photo.py --------------------------------------------------------------------------------------


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
    assert "Total Tiles:                1,440" in printed


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
    assert [len(cs.vertices) for cs in graph.compute_sets] == [6 * 1440, 6 * 1440]
    per_tile = graph.tile_mapping(buffer[1:-1, 1:-1]).elements_per_tile // 4
    assert per_tile.min() == 11 * 16
    assert per_tile.max() == 12 * 16
    assert graph.tile_mapping(buffer).is_complete


@deep
def test_the_finding_of_uneven_rows_leads_to_the_grid_of_the_example(
    photo: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cycles_and_findings() -> tuple[int, tuple[Finding, ...]]:
        graph, program, _ = photo.build(np.zeros((427, 640, 4), np.float32), 1)
        report = pl.Engine(graph, program, checks="fast").report()
        return report.shown.cycles or 0, report.insights.findings

    even, _ = cycles_and_findings()
    chosen = pl.near_square_grid
    monkeypatch.setattr(pl, "near_square_grid", lambda *sizes, workers: chosen(*sizes))
    uneven, findings = cycles_and_findings()
    assert even < 0.8 * uneven
    assert findings[0].kind == "idle workers"
    assert "pl.near_square_grid(..., workers=6)" in findings[0].remedy
    assert findings[0].cycles == pytest.approx(uneven - even, rel=1 / 3)


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


# -- digits.py -------------------------------------------------------------------------------------


@deep
def test_digits_are_learnt(digits: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    digits.main(epochs=16)
    lines = capsys.readouterr().out.splitlines()
    losses = [float(line.split()[-1]) for line in lines[:16]]
    assert losses[0] > 1
    assert losses[-1] < 0.05
    (share,) = re.findall(r"^([\d.]+)% of the test are right$", lines[16])
    assert float(share) > 92


def logits(x: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    w0, b0, w1, b1 = weights
    return np.asarray(np.maximum(x @ w0 + b0, 0) @ w1 + b1)


def check_step(
    engine: pl.Engine,
    names: Iterable[str],
    wide: Sequence[np.ndarray],
    loss: Callable[[list[np.ndarray]], float],
    rate: float,
) -> None:
    """Compare the loss of a step, and its parameters where they moved most, with NumPy's loss.

    `wide` has the parameters before the step, in double.
    """
    assert float(engine.read("loss")) == pytest.approx(loss([*wide]), rel=1e-5)
    for number, name in enumerate(names):
        moved = engine.read(name).astype(float) - wide[number]
        place = np.unravel_index(abs(moved).argmax(), moved.shape)
        up, down = ([each.copy() for each in wide] for _ in "ud")
        up[number][place] += 1e-6
        down[number][place] -= 1e-6
        slope = (loss(up) - loss(down)) / 2e-6
        assert moved[place] == pytest.approx(-rate * slope, rel=1e-3)


def test_a_step_is_that_of_differences(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each parameter moves against the slope of NumPy's loss, where it moves most."""
    monkeypatch.setattr(digits, "BATCH", 8)
    random = np.random.default_rng(2)
    x, labels = random.random((8, 64), np.float32), random.integers(0, 10, 8, np.int32)
    graph, programs = digits.build(1, 3)
    engine = pl.Engine(
        graph, programs["train"], interpret=True, options=values_only(), checks="fast"
    )
    wide = [engine.read(name).astype(float) for name in digits.FIRST]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    engine.run()

    def loss(weights: list[np.ndarray]) -> float:
        found = logits(x.astype(float), weights)
        mine = found[np.arange(len(x)), labels]
        return float((np.logaddexp.reduce(found, 1) - mine).mean())

    check_step(engine, digits.FIRST, wide, loss, digits.RATE)


@deep
def test_wrong_weights_fail_loudly(digits: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    build = digits.build

    def wrong(*given: int) -> tuple[pl.Graph, dict[str, pl.Program]]:
        graph, programs = build(*given)
        answers = graph.add_constant(pl.FLOAT, (digits.TESTS, 10), 0, mapping=0)
        graph.create_host_read("wrong", answers)
        return graph, programs

    read = pl.Engine.read
    monkeypatch.setattr(digits, "build", wrong)
    monkeypatch.setattr(
        pl.Engine, "read", lambda self, at: read(self, "wrong" if at == "answers" else at)
    )
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        digits.main(epochs=1)


# -- convnet.py ------------------------------------------------------------------------------------


@deep
def test_the_convnet_learns_digits(convnet: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    convnet.main()
    lines = capsys.readouterr().out.splitlines()
    assert [float(line.split()[-1]) < 0.1 for line in lines[:12:11]] == [False, True]
    (share,) = re.findall(r"^([\d.]+)% of the test are right$", lines[12])
    assert float(share) > 94


def numpy_logits(x: np.ndarray, weights: list[np.ndarray]) -> np.ndarray:
    """The logits of pictures."""
    for n in (0, 1):
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
        y = np.einsum("bihwuv,oiuv->bohw", seen, weights[2 * n], optimize=True)
        y = np.maximum(y + weights[2 * n + 1], 0)
        x = y.reshape((*y.shape[:2], y.shape[2] // 2, 2, y.shape[3] // 2, 2)).max((3, 5))
    return np.asarray(x.reshape((len(x), -1)) @ weights[4] + weights[5])


def test_a_step_of_the_convnet_is_that_of_differences(
    convnet: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights of each layer move against the slope of NumPy's loss."""
    monkeypatch.setattr(convnet, "BATCH", 2)
    rng = np.random.default_rng(4)
    x = rng.random((2, 1, 8, 8)).astype(np.float32)
    labels = np.array([3, 8], np.int32)
    graph, programs = convnet.build(1, 3)
    engine = pl.Engine(graph, programs, interpret=True, options=values_only(), checks="fast")
    wide = [engine.read(name).astype(float) for name in convnet.FIRST]
    engine.connect_stream("pictures", x)
    engine.connect_stream("digits", labels)
    engine.run("train")

    def loss(changed: list[np.ndarray]) -> float:
        logits = numpy_logits(x.astype(float), changed)
        return float((np.logaddexp.reduce(logits, 1) - logits[[0, 1], labels]).mean())

    np.testing.assert_allclose(engine.read("logits"), numpy_logits(x, wide), atol=1e-5)
    check_step(engine, convnet.FIRST, wide, loss, 0.3)


# -- multigrid.py ----------------------------------------------------------------------------------


def test_cycles_reach_a_millionth(
    multigrid: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in interpreted_everywhere().items():
        monkeypatch.setenv(variable, value)
    multigrid.main(31, (3, 2))
    share, *words = capsys.readouterr().out.split()
    assert 0 < float(share) <= 1.01e-6
    assert words == ["of", "b", "is", "left"]


def test_each_level_is_a_function(multigrid: ModuleType) -> None:
    graph, program = multigrid.build(15, (3, 2))
    names = [v.name for v in graph.variables if v.name.startswith("e")]
    assert names == ["e", "e7", "e3", "e1"]
    drawn = viz.program_text(program)
    assert all(f"level of {size}" in drawn for size in (15, 7, 3, 1))


def test_what_is_left_fails_loudly(multigrid: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _ = multigrid.build(7, (2, 2))
    monkeypatch.setattr(multigrid, "build", lambda size, grid: (graph, pl.Sequence()))
    with pytest.raises(AssertionError):
        multigrid.main(7)


# -- attention.py ----------------------------------------------------------------------------------


@deep
def test_the_layer_is_numpys(attention: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    attention.main(4)
    assert "Total cycles:" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["output", "gradients"])
def test_a_wrong_value_fails_loudly(
    attention: ModuleType, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    graph = pl.Graph(pl.Target(tiles=1))
    values = attention.VALUES
    out = attention.in_numpy(values)
    shapes = [out.shape, *(value.shape for value in values)]
    tensors = [graph.add_constant(pl.FLOAT, shape, 0, mapping=0) for shape in shapes]
    if wrong == "gradients":
        tensors[0] = graph.add_constant(pl.FLOAT, out.shape, out, mapping=0)
    monkeypatch.setattr(attention, "build", lambda tiles: (graph, pl.Sequence(), tensors))
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        attention.main()


# -- named axes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("named_seeds", {}, ["[[ True  True  True]"]),
        (
            "named_l2",
            {"length": 100_000, "tiles": 16},
            ["452 bytes besides the 800,000 of x and y"],
        ),
        pytest.param("named_attention", {"tiles": 4}, ["22 compute sets"], marks=deep),
        pytest.param("named_digits", {}, ["loss 0.13", "loss 0.017, 94."], marks=deep),
    ],
)
def test_examples_find_nothing_wrong(
    root: Path,
    name: str,
    sizes: dict[str, int],
    said: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    script(root / "examples" / f"{name}.py").main(**sizes)
    printed = capsys.readouterr().out
    assert all(each in printed for each in said), printed


@pytest.mark.parametrize(
    ("command", "said"),
    [("summary", "16 tiles"), ("program", "attention"), ("tiles", "tile"), ("graph", "'dot'")],
)
def test_computations_are_drawn_as_all_programs(
    root: Path, command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{root / 'examples' / 'named_attention.py'}:build"
    assert viz_command.main([command, target]) == 0
    assert said in capsys.readouterr().out
