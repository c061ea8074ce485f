"""The vertices of benchmarks/."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.recipes.shared import (
    Expected,
    Floats,
    Recipe,
    Values,
    add_product,
    axpy,
    diffuse,
    dot,
    floats,
    increment,
    of_two,
    sum_,
)
from helpers.vertices import Key


def sum_of_two(rng: np.random.Generator) -> tuple[Values, Expected]:
    a, b = floats(rng, 1)[0], floats(rng, 1)[0]
    return {"a": a, "b": b, "total": floats(rng, 1)[0]}, {"total": a + b}


def sum_in_place(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = rng.integers(-99, 100, 2, dtype=np.int32)
    return {"x": x, "y": y}, {"y": x + y}


def sum_of_rows(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 9), floats(rng, 9)
    return {"x": x, "y": y}, {"y": x + y}


def blend(rng: np.random.Generator) -> tuple[Values, Expected]:
    ring = floats(rng, int(rng.integers(3, 20)))
    new = np.float32(0.5) * ring[1:-1] + np.float32(0.25) * (ring[:-2] + ring[2:])
    values = {"left": ring[0], "old": ring[1:-1], "right": ring[-1], "new": floats(rng, len(new))}
    return values, {"new": new}


def copy_of_x(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(1, 20)))
    return {"x": x, "y": floats(rng, len(x))}, {"y": x}


def multiples(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, n = floats(rng, int(rng.integers(1, 20))), rng.integers(-9, 10, dtype=np.int32)
    return {"x": x, "y": floats(rng, len(x)), "n": n}, {"y": np.float32(n) * x}


def product(rows: int, cols: int) -> Recipe:
    """Return the recipe of a matrix product of this shape, added in order."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        inner = 4 * int(rng.integers(1, 3))
        a, b = floats(rng, rows, inner), floats(rng, inner, cols)
        c = np.zeros((rows, cols), np.float32)
        for k in range(inner):
            c = c + a[:, k : k + 1] * b[k]
        return {"a": a, "b": b, "c": floats(rng, rows * cols)}, {"c": c.ravel()}

    return recipe


def blur_of_vectors(vectors: int, dtype: type[np.floating[Any]] = np.float32) -> Recipe:
    """Return the recipe of a blur whose pixels have so many elements, all in one vector."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        height, width = (int(v) for v in rng.integers(1, 7, 2))
        image = floats(rng, height + 2, width + 2, vectors).clip(-6e3, 6e3).astype(dtype)
        x = image.astype(np.float32)
        left, middle, right = x[:, :-2], x[:, 1:-1], x[:, 2:]
        corners = left[:-2] + right[:-2] + left[2:] + right[2:]
        sides = middle[:-2] + left[1:-1] + right[1:-1] + middle[2:]
        quarter, eighth, sixteenth = (np.float32(2.0**-n) for n in (2, 3, 4))
        y = (sixteenth * corners + quarter * middle[1:-1] + eighth * sides).astype(dtype)
        values = {"x": image.ravel(), "y": y.ravel() * 0, "width": width, "height": height}
        return values, {"y": y.ravel()}

    return recipe


def around(x: Floats, ndim: int) -> list[Floats]:
    """Return the inside of the first dimensions of a block, and its neighbours there."""
    parts = []
    for axis, step in ((0, 0), *((axis, step) for axis in range(ndim) for step in (1, -1))):
        cut = [slice(1, -1)] * ndim
        cut[axis] = slice(1 + step, x.shape[axis] - 1 + step)
        parts.append(x[tuple(cut)])
    return parts


def heat_3d(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 5, 3))
    old, alpha = floats(rng, height + 2, width + 2, depth + 2), floats(rng, 1)[0]
    inside, down, up, right, left, deeper, higher = around(old, 3)
    near = down + up + (right + left) + (deeper + higher)
    new = (np.float32(1) - np.float32(6) * alpha) * inside + alpha * near
    state = {"height": height, "width": width, "depth": depth, "alpha": float(alpha)}
    rows = {"old": old.reshape(-1, depth + 2), "new": floats(rng, height * width, depth)}
    return {**rows, **state}, {"new": new.reshape(height * width, depth)}


def heat_pairs(dimensions: int) -> Recipe:
    """Return the recipe of heat by pairs of cells along the last dimension."""

    def recipe(rng: np.random.Generator) -> tuple[Values, Expected]:
        *sizes, pairs = (int(v) for v in rng.integers(1, 5, dimensions))
        old = floats(rng, *(size + 2 for size in sizes), pairs + 1)
        alpha, new = floats(rng, 1)[0], floats(rng, *sizes, 2 * pairs)
        inside, down, up, *beside = (part[..., 1:-1] for part in around(old, dimensions - 1))
        middle, *_ = around(old, dimensions - 1)
        left, right = middle[..., :-2] + inside, inside + middle[..., 2:]
        # In the order of each vertex.
        near = left + up + down + (beside[1] + beside[0]) if beside else up + left + down
        beta = np.float32(1) - np.float32(2 * dimensions) * alpha
        made = new.copy()
        made[..., 1 : 2 * pairs - 2 : 2] = beta * inside + alpha * near
        made[..., 2 : 2 * pairs - 1 : 2] = right
        state = dict(zip(("height", "width"), sizes, strict=False))
        rows = {"old": old.reshape(-1, pairs + 1), "new": new.reshape(-1, 2 * pairs)}
        return {**rows, **state, "pairs": pairs, "alpha": float(alpha)}, {"new": made}

    return recipe


def at_distances(x: Floats) -> list[list[Floats]]:
    """Return, for each dimension, the inside of a block moved by -2, -1, 0, 1 and 2."""
    moved = []
    for axis in range(x.ndim):
        inside = x[
            tuple(slice(2 * (k != axis), n - 2 * (k != axis)) for k, n in enumerate(x.shape))
        ]
        size = x.shape[axis] - 4
        moved.append([inside.take(range(by, by + size), axis) for by in range(5)])
    return moved


def diffusion(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 4, 3))
    old = rng.standard_normal((height + 4, width + 4, depth + 4), np.float32)
    alpha, dt, r0, *rates = rng.random(6, np.float32)
    change: Any = 0
    for rate, (far, near, e, next_, last) in zip(rates, at_distances(old), strict=True):
        sides = np.float32(0.083333333) * (far + last), np.float32(1.3333333) * (near + next_)
        change = change + rate * (np.float32(-2.5) * e - sides[0] + sides[1])
    new = (dt * (alpha * change + r0 * e)).reshape(-1, depth)
    sizes = {"height": height, "width": width, "depth": depth}
    names = ("alpha", "dt", "r0", "r1", "r2", "r3")
    state = dict(zip(names, map(float, (alpha, dt, r0, *rates)), strict=True))
    return {"old": old.reshape(-1, depth + 4), "new": new * 0, **sizes, **state}, {"new": new}


def wave(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width, depth = (int(v) for v in rng.integers(1, 4, 3))
    now = rng.standard_normal((height + 4, width + 4, depth + 4), np.float32)
    before, damp, speed = rng.random((3, height, width, depth), np.float32) + np.float32(0.5)
    r0, r1 = rng.random(2, np.float32)
    (x0, x1, e, x3, x4), (y0, y1, _, y3, y4), (z0, z1, _, z3, z4) = at_distances(now)
    far = (x0 + y0) + (z0 + z4) + (y4 + x4)
    near = (x1 + y1) + (z1 + z3) + (y3 + x3)
    r2 = np.float32(1) / (speed * speed)
    inertia = r2 * (np.float32(2) * r0 * e - r0 * before)
    pull = np.float32(0.013333333) * near - np.float32(0.00083333332) * far - np.float32(0.075) * e
    new = (r1 * damp * e + inertia + pull) / (r0 * r2 + r1 * damp)
    blocks = {"before": before, "damp": damp, "speed": speed, "new": new * 0}
    rows = {name: block.reshape(-1, depth) for name, block in blocks.items()}
    sizes = {"height": height, "width": width, "depth": depth, "r0": float(r0), "r1": float(r1)}
    return {"now": now.reshape(-1, depth + 4), **rows, **sizes}, {"new": new}


def heart(rng: np.random.Generator) -> tuple[Values, Expected]:
    height, width = (int(v) for v in rng.integers(1, 5, 2))
    e_in, r = (
        rng.random((height + 2, width + 2), np.float32),
        rng.random((height, width), np.float32),
    )
    names = ("delta", "epsilon", "my1", "my2", "h", "dt", "k", "a", "b")
    constants = dict(zip(names, rng.random(9, np.float32) + np.float32(0.5), strict=True))
    delta, epsilon, my1, my2, h, dt, k, a, b = constants.values()
    e, down, up, right, left = around(e_in, 2)
    one, near = np.float32(1), down + up + (right + left)
    change = delta / (h * h) * (np.float32(-4) * e + near)
    change = change - k * e * (e - a) * (e - one) - e * r
    recovery = (-epsilon - my1 * r / (my2 + e)) * (r + k * e * (e - (b + one)))
    state = {name: float(value) for name, value in constants.items()}
    values = {"e_in": e_in, "e_out": r * 0, "r": r, "height": height, "width": width, **state}
    return values, {"e_out": e + change * dt, "r": r + recovery * dt}


def count_all(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = rng.integers(-(2**31), 2**31, int(rng.integers(0, 20)), np.int32)
    return {"x": x, "n": len(x)}, {"x": x + np.int32(1)}


def collatz(rng: np.random.Generator) -> tuple[Values, Expected]:
    numbers = rng.integers(-2, 100, int(rng.integers(0, 9)), np.int32)
    steps = np.zeros_like(numbers)
    for i, number in enumerate(numbers.tolist()):
        while number > 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps[i] += 1
    return {"numbers": numbers, "steps": ~steps}, {"steps": steps}


def triad(rng: np.random.Generator) -> tuple[Values, Expected]:
    values, expected = of_two(lambda b, c: b + np.float32(0.1) * c, ("b", "c", "a"))(rng)
    return {**values, "q": float(np.float32(0.1))}, expected


def scale_add(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 40)))
    return {"x": x, "y": y}, {"y": y + np.float32(2) * x}


def scaled_add(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = rng.standard_normal((2, int(rng.integers(0, 40)))).astype(np.float16)
    made = y - np.float32(0.05) * x.astype(np.float32)
    return {"x": x, "y": y}, {"y": made.astype(np.float16)}


def rotate(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 40)))
    cosine, sine = rng.standard_normal(2, np.float32)
    made = {"x_out": cosine * x - sine * y, "y_out": sine * x + cosine * y}
    angle = {"cosine": float(cosine), "sine": float(sine)}
    return {**angle, "x": x, "y": y, "x_out": y, "y_out": x}, made


def fixed(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, y = floats(rng, 2, int(rng.integers(0, 20)))
    return {"x": x, "around": floats(rng, 8, 3), "y": y}, {"y": x}


def gelu(rng: np.random.Generator) -> tuple[Values, Expected]:
    half = floats(rng, int(rng.integers(0, 40))).clip(-9, 9).astype(np.float16)
    x = half.astype(np.float32)
    one, a, b = (np.float32(v) for v in (1, 0.79788456, 0.044715))
    made = np.float32(0.5) * x * (one + np.tanh(a * (x + b * x * x * x)))
    return {"x": half, "out": half * 0}, {"out": made.astype(np.float16)}


def axpy_of_some(rng: np.random.Generator) -> tuple[Values, Expected]:
    x, count = floats(rng, int(rng.integers(1, 20))), rng.integers(0, 2, dtype=np.int32)
    a, y = floats(rng, 1)[0], floats(rng, len(x))
    made = np.where(np.arange(len(x)) < count, y + a * x, y)
    return {"a": a, "count": count, "x": x, "y": y}, {"y": made}


def gather(rng: np.random.Generator) -> tuple[Values, Expected]:
    x = floats(rng, int(rng.integers(1, 20)))
    index = rng.integers(0, len(x), int(rng.integers(1, 20)), dtype=np.int32)
    return {"x": x, "index": index, "y": floats(rng, len(index))}, {"y": x[index]}


KERNELS: dict[Key, Recipe] = {
    ("benchmarks/compilation.py", "Scale"): multiples,
    ("benchmarks/engine_axpy.py", "Collatz"): collatz,
    ("benchmarks/engine_axpy.py", "Pass"): copy_of_x,
    ("benchmarks/engine_axpy.py", "Axpy"): axpy("a"),
    ("benchmarks/ipu.py", "Axpy"): axpy("factor"),
    ("benchmarks/engine_axpy.py", "AxpyOfSome"): axpy_of_some,
    ("benchmarks/engine_axpy.py", "Gather"): gather,
    ("benchmarks/executable.py", "Add"): sum_of_two,
    ("benchmarks/executable.py", "AddRows"): sum_of_rows,
    ("benchmarks/engine_kernels.py", "Add"): sum_of_two,
    ("benchmarks/engine.py", "AddProduct"): add_product,
    ("benchmarks/engine_kernels.py", "Diffuse"): diffuse,
    ("benchmarks/engine_kernels.py", "Product"): product(16, 128),
    ("benchmarks/engine_kernels.py", "SquareProduct"): product(32, 32),
    ("benchmarks/engine.py", "Sum"): sum_("x", "total"),
    ("benchmarks/fidelity_blur.py", "Blur"): blur_of_vectors(4, np.float16),
    ("benchmarks/fidelity_blur.py", "BlurOfOne"): blur_of_vectors(1),
    ("benchmarks/fidelity_blur.py", "BlurOfTwo"): blur_of_vectors(2),
    ("benchmarks/fidelity_networks.py", "ScaledAddTo"): scaled_add,
    ("benchmarks/fidelity_stencils.py", "AlievPanfilov"): heart,
    ("benchmarks/fidelity_stencils.py", "Diffusion"): diffusion,
    ("benchmarks/fidelity_stencils.py", "Heat2DPairs"): heat_pairs(2),
    ("benchmarks/fidelity_stencils.py", "Heat3D"): heat_3d,
    ("benchmarks/fidelity_stencils.py", "Heat3DPairs"): heat_pairs(3),
    ("benchmarks/fidelity_stencils.py", "Wave"): wave,
    ("benchmarks/fidelity.py", "AddConstant"): increment,
    ("benchmarks/fidelity.py", "AddInts"): of_two(np.add, ("a", "b", "out"), np.int32),
    ("benchmarks/fidelity.py", "Count"): count_all,
    ("benchmarks/fidelity.py", "Gelu"): gelu,
    ("benchmarks/fidelity.py", "Greater"): of_two(
        lambda a, b: np.where(b > a, b, a), ("a", "b", "out")
    ),
    ("benchmarks/fidelity.py", "TriadOfVectors"): of_two(
        lambda b, c: b + np.float32(3) * c, ("b", "c", "a")
    ),
    ("benchmarks/fidelity_blur.py", "Dot"): dot("a", "b", "out"),
    ("benchmarks/fidelity_blur.py", "Fixed"): fixed,
    ("benchmarks/fidelity_blur.py", "Sum"): sum_("x", "out"),
    ("benchmarks/fidelity.py", "Rotate"): rotate,
    ("benchmarks/fidelity.py", "ScaleAdd"): scale_add,
    ("benchmarks/fidelity.py", "Triad"): triad,
    ("benchmarks/scale.py", "Blend"): blend,
    ("benchmarks/scale_ranks.py", "Add"): sum_in_place,
    ("benchmarks/scale_ranks.py", "Diffuse"): diffuse,
}


# -- multigrid -------------------------------------------------------------------------------------


FILE = "benchmarks/ops_multigrid.py"


def inside(rng: np.random.Generator) -> tuple[int, int]:
    """Return rows and columns of a block."""
    return int(rng.integers(1, 9)), int(rng.integers(1, 9))


def summed(u: Floats) -> Floats:
    """Return above, below, before and behind, added in this order."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]


def residual(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    high, low = (floats(rng, rows + 2, cols + 2) for _ in "hl")
    b, u, ring = floats(rng, rows, cols), high[1:-1, 1:-1], low
    across = (u - high[1:-1, :-2]) - (high[1:-1, 2:] - u)
    along = (u - high[:-2, 1:-1]) - (high[2:, 1:-1] - u)
    around = (ring[:-2, 1:-1] + ring[2:, 1:-1]) + (ring[1:-1, :-2] + ring[1:-1, 2:])
    rest = np.float32(4) * low[1:-1, 1:-1] - around
    fields = {"high": high, "low": low, "b": b, "r": floats(rng, rows, cols)}
    return fields, {"r": b - ((across + along) + rest)}


def start(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    b = floats(rng, rows + 2, cols + 2)
    e = np.float32(0.24) * b[1:-1, 1:-1] + np.float32(0.04) * summed(b)
    return {"b": b, "e": floats(rng, rows, cols)}, {"e": e}


def smooth(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    old, b = floats(rng, rows + 2, cols + 2), floats(rng, rows, cols)
    new = np.float32(0.2) * (old[1:-1, 1:-1] + summed(old) + b)
    return {"old": old, "b": b, "new": floats(rng, rows, cols)}, {"new": new}


def defect(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    e, b = floats(rng, rows + 2, cols + 2), floats(rng, rows, cols)
    r = b + summed(e) - np.float32(4) * e[1:-1, 1:-1]
    return {"e": e, "b": b, "r": floats(rng, rows, cols)}, {"r": r}


def restrict(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    r, two = floats(rng, 2 * rows + 1, 2 * cols + 1), np.float32(2)
    columns = r[:-2:2] + r[2::2] + two * r[1:-1:2]
    b = np.float32(0.25) * (columns[:, :-2:2] + columns[:, 2::2] + two * columns[:, 1:-1:2])
    return {"r": r, "b": floats(rng, rows, cols)}, {"b": b}


def correct(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    coarse, e = floats(rng, rows // 2 + 2, cols // 2 + 2), floats(rng, rows, cols)
    half = np.float32(0.5)
    columns = np.empty((rows, cols // 2 + 2), np.float32)
    for i in range(rows):
        columns[i] = half * (coarse[(i + 1) // 2] + coarse[i // 2 + 1])
    added = np.empty((rows, cols), np.float32)
    added[:, 1::2] = columns[:, 1 : cols // 2 + 1]
    added[:, ::2] = half * (columns[:, :-1] + columns[:, 1:])[:, : (cols + 1) // 2]
    return {"coarse": coarse, "e": e}, {"e": e + added}


def add(rng: np.random.Generator) -> tuple[Values, Expected]:
    rows, cols = inside(rng)
    e, high, low = rng.standard_normal((3, rows, cols)).astype(np.float32)
    new = high + e
    # Numbers so near to each other have an exact sum in double precision.
    error = (high.astype(float) + e - new).astype(np.float32)
    return {"e": e, "high": high, "low": low}, {"high": new, "low": low + error}


MULTIGRID: dict[Key, Recipe] = {
    (FILE, "Add"): add,
    (FILE, "Correct"): correct,
    (FILE, "Defect"): defect,
    (FILE, "Residual"): residual,
    (FILE, "Restrict"): restrict,
    (FILE, "Smooth"): smooth,
    (FILE, "Start"): start,
}

RECIPES = KERNELS | MULTIGRID
