"""The vertices that read and change rows of tables by number."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertex_classes import Key
from poplite.vertices.slices import gather_reference, list_reference, update_reference

TYPES = ["float32", "float16", "int32", "uint8"]


def sizes(rng: np.random.Generator) -> tuple[int, int, int]:
    """Return rows, indices and elements of a row."""
    return int(rng.integers(1, 9)), int(rng.integers(0, 30)), int(rng.integers(1, 5))


def matrix(rng: np.random.Generator, rows: int, width: int, dtype: Any) -> npt.NDArray[Any]:
    """Return elements of a type."""
    if np.dtype(dtype).kind == "f":
        return floats(rng, rows, width).clip(-100, 100).astype(dtype)
    return rng.integers(0, 100, (rows, width)).astype(dtype)


def larger(old: Any, new: Any) -> Any:
    """Return the larger numbers; of zeros the new one, where np.maximum takes either."""
    return np.where((old > new) | (old != old), old, new)


def set_last(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return new


def add_three(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if old.dtype == np.float16:
        return (old.astype(np.float32) + np.float32(3) * new.astype(np.float32)).astype(old.dtype)
    added: npt.NDArray[Any] = old + old.dtype.type(3) * new
    return added


def check_indices(rng: np.random.Generator) -> tuple[Values, Expected]:
    size = int(rng.integers(1, 100))
    dtype = rng.choice(["int32", "uint32"])
    return {"index": rng.integers(0, size, 20).astype(dtype), "size": size}, {}


def gather(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, count, width = sizes(rng)
    first = int(rng.integers(0, 5))
    x = matrix(rng, rows, width, rng.choice(["uint8", "uint16", "uint32", "uint64"]))
    index = rng.integers(0, rows + 8, count).astype(np.uint32)
    out = gather_reference(x, index, first).ravel()
    fields = {"x": x.ravel(), "index": index, "first": first, "width": width}
    return {**fields, "out": ~out}, {"out": out}


def update(join: Any, *, has_scale: bool = False) -> Recipe:
    """Return the recipe of a vertex that looks at all indices."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        rows, count, width = sizes(rng)
        dtype = rng.choice(TYPES)
        first = int(rng.integers(0, 5))
        x, s = (matrix(rng, n, width, dtype) for n in (rows, count))
        index = rng.integers(0, rows + 8, count).astype(np.uint32)
        fields: Values = {"x": x.ravel(), "s": s.ravel(), "index": index}
        fields |= {"first": first, "width": width}
        if has_scale:
            fields["scale"] = np.full(1, 3, dtype)
        return fields, {"x": update_reference(join, x, index, s, first).ravel()}

    return recipe


def listed(join: Any, *, has_scale: bool = False) -> Recipe:
    """Return the recipe of a vertex that has lists."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        share, count, width = sizes(rng)
        dtype = rng.choice(TYPES)
        owners, length = int(rng.integers(1, 5)), int(rng.integers(1, 12))
        owner = int(rng.integers(0, owners))
        x, s = (matrix(rng, n, width, dtype) for n in (share, count))
        size = share * owners
        index = rng.integers(0, size + 3, count).astype(np.uint32)
        parts = [
            list_reference(index[begin : begin + length], owners, share, size, begin)
            for begin in range(0, max(1, count), length)
        ]
        row, place, ends = (np.concatenate(each) for each in zip(*parts, strict=True))
        fields: Values = {"x": x.ravel(), "s": s.ravel(), "row": row, "place": place}
        fields |= {"ends": ends, "width": width, "owner": owner}
        fields |= {"owners": owners, "length": length}
        if has_scale:
            fields["scale"] = np.full(1, 3, dtype)
        return fields, {"x": update_reference(join, x, index, s, owner * share).ravel()}

    return recipe


def list_rows(rng: np.random.Generator) -> tuple[Values, Expected]:
    share, count, owners = sizes(rng)
    begin = int(rng.integers(0, 100))
    size = share * owners - int(rng.integers(0, share))
    index = rng.integers(0, share * owners + 3, count).astype(np.uint32)
    row, place, ends = list_reference(index, owners, share, size, begin)
    fields: Values = {"index": index, "begin": begin, "share": share, "size": size}
    expected = {"row": row, "place": place, "ends": ends}
    return fields | {name: ~each for name, each in expected.items()}, expected


FILE = "vertices/slices.py"

RECIPES: dict[Key, Recipe] = {
    (FILE, "AddListed"): listed(add_three, has_scale=True),
    (FILE, "MultiUpdateAdd"): update(add_three, has_scale=True),
    (FILE, "CheckIndices"): check_indices,
    (FILE, "MultiSlice"): gather,
    (FILE, "ListRows"): list_rows,
    (FILE, "MaxListed"): listed(larger),
    (FILE, "MultiUpdateMax"): update(larger),
    (FILE, "MulListed"): listed(np.multiply),
    (FILE, "MultiUpdateMul"): update(np.multiply),
    (FILE, "SetListed"): listed(set_last),
    (FILE, "MultiUpdate"): update(set_last),
}
