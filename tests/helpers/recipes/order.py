"""The vertices that sort, merge, add up as they go, read and change rows of tables by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from helpers.recipes.shared import Expected, Recipe, Values, floats
from helpers.vertices import Key
from poplite.vertices.bins import bins_reference
from poplite.vertices.order import (
    POSITIONS,
    KeyRule,
    Words,
    bits_reference,
    key_rule,
    least_reference,
    merge_reference,
    positions_reference,
    sorted_reference,
    words_reference,
)
from poplite.vertices.reduce import (
    FirstGreatest,
    FirstGreatestRows,
    FirstLeast,
    FirstLeastRows,
)
from poplite.vertices.scans import running_reference
from poplite.vertices.slices import (
    gather_reference,
    list_reference,
    pack_reference,
    ranks_reference,
    take_reference,
    update_reference,
)

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


Array = npt.NDArray[Any]


def elements(rng: np.random.Generator, count: int) -> tuple[Array, KeyRule]:
    """Draw elements with ties, zeros of both signs and NaNs, and a rule for them."""
    dtype = np.dtype(rng.choice(["float32", "float16", "int32", "uint32", "int8"]))
    rule = key_rule(dtype, falls=bool(rng.integers(2)))
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        wide = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
        return np.where(rng.random(count) < 0.5, wide, wide % 3).astype(dtype), rule
    x = floats(rng, count).clip(-6e4, 6e4).astype(dtype)
    chosen = rng.random(count)
    x[chosen < 0.3] = rng.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], dtype))
    return x, rule


def bits_of(x: Array) -> Array:
    """Return the bits of elements."""
    return x.view(f"int{8 * x.dtype.itemsize}") if x.dtype.kind == "f" else x


def words_of(rng: np.random.Generator, count: int) -> tuple[Array, Words, KeyRule, int]:
    """Draw elements; return them, words, rule, and the position of the first."""
    x, rule = elements(rng, count)
    first, bits = int(rng.integers(0, POSITIONS - 99)), bits_of(x)
    return x, words_reference(bits, rule, first), rule, first


def least_elements(rng: np.random.Generator) -> tuple[Values, Expected]:
    count = int(rng.integers(1, 60))
    x, words, rule, first = words_of(rng, count)
    kept = int(rng.integers(1, count, endpoint=True))
    values = {"x": x, "bits": bits_of(x), "first": first, "words": np.zeros(kept, np.int64)}
    values |= {"in_order": True}
    return values | rule._asdict(), {"words": least_reference(words, kept)}


def least_words(rng: np.random.Generator) -> tuple[Values, Expected]:
    count = int(rng.integers(1, 60))
    words = words_of(rng, count)[1]
    kept = int(rng.integers(1, count, endpoint=True))
    values = {"x": words, "in_order": True, "words": np.zeros(kept, np.int64)}
    return values, {"words": least_reference(words, kept)}


def sort_elements(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, words, rule, first = words_of(rng, int(rng.integers(0, 60)))
    made = sorted_reference(words, len(words) + int(rng.integers(0, 4)))
    return {"x": bits_of(x), "first": first, "words": ~made, **rule._asdict()}, {"words": made}


def merge_words(rng: np.random.Generator) -> tuple[Values, Expected]:
    words = words_of(rng, int(rng.integers(0, 60)))[1]
    cut = int(rng.integers(0, len(words), endpoint=True))
    first = int(rng.integers(0, len(words), endpoint=True))
    end = int(rng.integers(first, len(words), endpoint=True))
    left, right = np.sort(words[:cut]), np.sort(words[cut:])
    out = merge_reference(left, right, first, end - first)
    share = -(-len(out) // int(rng.integers(1, 7)))  # of at most six workers
    fields = {"left": left, "right": right, "first": first, "share": share, "out": ~out}
    return fields, {"out": out}


def values(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, words, rule, _ = words_of(rng, int(rng.integers(0, 40)))
    out, bits = bits_reference(words, rule, bits_of(x).dtype), bits_of(x)
    is_nan = (bits.astype(np.int64) & rule.mask) > rule.infinity
    assert (out == np.where(is_nan, np.array(rule.nan).astype(bits.dtype), bits)).all()
    return {"words": words, "out": ~out, **rule._asdict()}, {"out": out}


def positions(rng: np.random.Generator) -> tuple[Values, Expected]:
    count = int(rng.integers(0, 40))
    out = positions_reference(words := words_of(rng, count)[1])
    return {"words": words, "out": ~out}, {"out": out}


def numbers(rng: np.random.Generator, least: int) -> Array:
    """Draw numbers of some type."""
    count, dtype = (
        int(rng.integers(least, 40)),
        np.dtype(rng.choice(["float32", "float16", "int16"])),
    )
    if dtype.kind == "f":
        return rng.normal(size=count).astype(dtype)
    return rng.integers(-99, 99, count).astype(dtype)


def wide(x: Array) -> Array:
    """Return numbers as they are added up."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def total(join: Callable[[Any, Any], Any]) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        x = numbers(rng, 1)
        made = running_reference(join, wide(x))[-1:]
        return {"x": x, "total": 0 * made[0]}, {"total": made[0]}

    return recipe


def running(join: Callable[[Any, Any], Any], none: int | None) -> Recipe:
    """Return the recipe of a scan; `none` is the value before the first, None where none is."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        x = numbers(rng, 1)
        before = wide(x)[: int(rng.integers(2))] + 1
        excludes = none is not None and bool(rng.integers(2))
        made = running_reference(join, wide(x))
        made = join(before[0], made) if len(before) else made
        if excludes:
            made = np.concatenate([before if len(before) else [none], made[:-1]])
        out = made.astype(x.dtype)
        return {"x": x, "before": before, "out": 0 * out, "excludes": excludes}, {"out": out}

    return recipe


def extremes_of_rows(reference: Callable[..., dict[str, Array]]) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        size, length = (int(n) for n in rng.integers(1, 5, 2))
        x = some_extremes(rng, size * length)
        first = int(rng.integers(0, 99))
        made = reference(x, first=first, size=size)
        return {
            "x": x,
            "first": first,
            **{name: np.zeros_like(each) for name, each in made.items()},
        }, made

    return recipe


def found_extremes(reference: Callable[..., dict[str, Array]]) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        values = some_extremes(rng, int(rng.integers(1, 9)))
        positions = rng.permutation(99)[: len(values)].astype(np.uint32)
        made = reference(values, positions)
        fields = {"values": values, "positions": positions}
        return {**fields, **{name: np.zeros_like(each) for name, each in made.items()}}, made

    return recipe


def some_extremes(rng: np.random.Generator, size: int) -> Array:
    some = np.array([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan], rng.choice(["f4", "f2"]))
    return rng.choice(some[: int(rng.integers(1, 8))], size)


def take_part(rng: np.random.Generator) -> tuple[Values, Expected]:
    row = numbers(rng, 1)
    size = len(row)
    begin = int(rng.integers(0, size))
    end = int(rng.integers(begin, size, endpoint=True))
    dtype = rng.choice(["int32", "uint32"])
    indices = rng.integers(-size if dtype == "int32" else 0, size, 30).astype(dtype)
    before = numbers(rng, 1)[:1].astype(row.dtype).repeat(30)
    state: Any = {
        "x": row[begin:end],
        "indices": indices,
        "first": begin,
        "size": size,
        "out": before,
    }
    return state, {"out": take_reference(**state)}


def pack_unique(rng: np.random.Generator) -> tuple[Values, Expected]:
    few = np.array([-np.inf, -1, -0.0, 0.0, 2, np.nan], np.float32)
    row = few[np.sort(rng.integers(0, len(few), int(rng.integers(0, 40))))]
    cut = int(rng.integers(0, 2)) if len(row) else 0
    out, count = pack_reference(row[cut:], row[:cut])
    fields: Any = {"x": row[cut:], "before": row[:cut], "out": out + 1, "count": np.uint32(7)}
    expected: Any = {"out": out, "count": np.uint32(count)}
    return fields, expected


def take_ranks(rng: np.random.Generator) -> tuple[Values, Expected]:
    size, blocks = (int(rng.integers(1, 6)) for _ in range(2))
    counts = rng.integers(0, size, blocks, endpoint=True)
    starts = int(rng.integers(0, 9)) + np.concatenate([[0], np.cumsum(counts)])
    fields: Any = {
        "x": rng.integers(0, 99, size * blocks).astype(np.int32),
        "starts": starts.astype(np.uint32),
        "out": np.full(int(rng.integers(0, 20)), -1, np.int32),
        "first": int(rng.integers(0, 20)),
        "size": size,
    }
    return fields, {"out": ranks_reference(**fields)}


def in_bins(*, has_weights: bool) -> Recipe:
    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        size = int(rng.integers(0, 6))
        x = rng.integers(0, size + 3, int(rng.integers(0, 30))).astype(np.uint32)
        weights = matrix(rng, 1, len(x), rng.choice(TYPES))[0]
        old = wide(weights)[:0] if has_weights else x[:0]
        fields: Any = {"x": x, "out": np.resize(old, size)}
        fields |= {"weights": weights} if has_weights else {}
        with np.errstate(over="ignore"):
            return fields, {"out": bins_reference(**fields)}

    return recipe


def search_sorted(rng: np.random.Generator) -> tuple[Values, Expected]:
    few = np.array([-np.inf, -1, -0.0, 0.0, 2, np.nan], rng.choice(["float32", "float16"]))
    x, v = np.sort(rng.choice(few, int(rng.integers(0, 9)))), rng.choice(few, 9)
    right = bool(rng.integers(2))
    out = np.searchsorted(x, v, "right" if right else "left").astype(np.uint32)
    fields: Any = {"x": x, "v": v, "out": out + np.uint32(1), "right": right}
    return fields, {"out": out}


RECIPES: dict[Key, Recipe] = {
    ("vertices/reduce.py", "FirstGreatest"): found_extremes(FirstGreatest.reference),
    ("vertices/reduce.py", "FirstGreatestRows"): extremes_of_rows(FirstGreatestRows.reference),
    ("vertices/reduce.py", "FirstLeast"): found_extremes(FirstLeast.reference),
    ("vertices/reduce.py", "FirstLeastRows"): extremes_of_rows(FirstLeastRows.reference),
    ("vertices/order.py", "LeastElements"): least_elements,
    ("vertices/order.py", "LeastWords"): least_words,
    ("vertices/order.py", "MergeWords"): merge_words,
    ("vertices/order.py", "Positions"): positions,
    ("vertices/order.py", "SortElements"): sort_elements,
    ("vertices/order.py", "Values"): values,
    ("vertices/scans.py", "CumulativeProduct"): running(np.multiply, 1),
    ("vertices/scans.py", "CumulativeSum"): running(np.add, 0),
    ("vertices/scans.py", "TotalProduct"): total(np.multiply),
    ("vertices/scans.py", "TotalSum"): total(np.add),
    ("vertices/scans.py", "CumulativeMax"): running(np.maximum, None),
    ("vertices/scans.py", "TotalMax"): total(np.maximum),
    ("vertices/bins.py", "AddToBins"): in_bins(has_weights=True),
    ("vertices/bins.py", "CountBins"): in_bins(has_weights=False),
    ("vertices/bins.py", "SearchSorted"): search_sorted,
    ("vertices/slices.py", "PackUnique"): pack_unique,
    ("vertices/slices.py", "TakePart"): take_part,
    ("vertices/slices.py", "TakeRanks"): take_ranks,
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
