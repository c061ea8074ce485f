"""Testing one vertex against NumPy: compiled, interpreted, in several memory layouts.

    assert_vertex(Axpy, {"a": 2.0, "x": x, "y": y}, {"y": y + np.float32(2) * x})

    layout 0      each field is a separate variable, on the vertex's tile
    layout 1 ...  strided, reversed, in pieces with gaps, on several tiles

Vectors have random memory layouts, since a vertex must not depend on where its elements are:
    contiguous | 0 1 2 3 4 |                          the whole variable
    strided    | . 0 . 1 . 2 . 3 . 4 |                every second element, on several tiles
    reversed   | 4 . 3 . 2 . 1 . 0 . |
    pieces     | . 3 4 . . 0 1 . 2 |                  cut, shuffled, with gaps

The elements in between, shown as dots, belong to no field: a vertex must not write them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import SHOWN_FAULTS, ElementTypeError, UnknownField, did_you_mean
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.host_values import element_array
from poplite.graph.tensor.concat import concat
from poplite.graph.tensor.tensor import Tensor
from poplite.machine.target import Target
from poplite.program import Execute
from poplite.simulator.engine import Engine
from poplite.testing.addressed import checked
from poplite.text import amount, clipped, integer_or_none
from poplite.types import (
    FLOAT,
    HALF,
    QUARTER,
    UNSIGNED_CHAR,
    ElementType,
    QuarterMetadata,
    decode,
    element_type,
)
from poplite.vertex.fields import Field
from poplite.vertex.vertex import Vertex

Array = npt.NDArray[Any]
Rows = list[Array]
"""The values of a field: one array for each of its edges."""

TILES, TILE = 4, 1
"""Number of tiles of the machine; tile of the vertex."""

FORMS = {"compiled": False, "interpreted": True}


@frozen
class _Case:
    """A vertex class under test.

    Attributes:
        vertex: the class.
        fields: its edges, by name.
        state: values of state fields, as given.
        element_types: the element type of each edge.
        before: the contents of the readable edges.
        after: the expected contents of the writable edges.
        metadata: format and scale of QUARTER fields.
    """

    vertex: type[Vertex]
    fields: Mapping[str, Field]
    state: Mapping[str, Any]
    element_types: Mapping[str, type[ElementType[Any]]]
    before: Mapping[str, Rows]
    after: Mapping[str, Rows]
    metadata: QuarterMetadata | None


@checked
def assert_vertex(
    vertex: type[Vertex],
    inputs: Mapping[str, Any],
    expected: Mapping[str, Any] | Callable[..., Any],
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
    metadata: QuarterMetadata | None = None,
    layouts: int = 5,
    seed: int = 0,
) -> None:
    """Check what one vertex writes: compiled and interpreted, in random memory layouts.

    Indices are checked (strict mode). Elements that the vertex must write are first filled with
    wrong values, so that elements that it does not write are detected; writes to elements that
    belong to none of its fields are detected as well.

    Args:
        vertex: the class; the element type of a template is given, or deduced from NumPy arrays.
        inputs: contents of its Input, InOut and State fields, by name: a number, an array, or for a
            list of vectors a 2-D array or a list of arrays; for working memory its size suffices.
        expected: expected contents of its Output and InOut fields, by name; or a function that
            takes `inputs` by keyword and returns this dictionary, or the array if there is only
            one. An InOut field that is omitted, or None, or that the function does not take, is
            working memory: its final contents are not compared.
        rtol: relative tolerance, as in `numpy.testing.assert_allclose`; 0 requires identical bits.
        atol: absolute tolerance.
        metadata: format and scale of QUARTER fields.
        layouts: number of layouts to try; the first is contiguous.
        seed: seed of the other layouts; the same seed gives the same layouts.

    Raises:
        AssertionError: if elements are wrong, with the form, the layout, the field, and the found
            and expected values of the first wrong elements.
        UnknownField: if `inputs`, `expected` or the parameters of a function do not match the
            fields of the class.
        ElementTypeError: for values that a field cannot hold.
        PopliteError: for errors in building or running the vertex, such as an invalid index.

    >>> import numpy as np
    >>> from poplite.vertices import Add
    >>> x = np.arange(5, dtype=np.float32)
    >>> assert_vertex(Add, {"a": x, "b": x}, Add.reference)
    """
    __tracebackhide__ = True
    case = _case(vertex, inputs, expected, metadata)
    for number in range(layouts):
        for form, interpret in FORMS.items():
            where = f"{vertex.__name__}, {form}, layout {number} of seed {seed}"
            random = Random(f"{seed} {number}") if number else None
            written, texts = _run(case, random, where, interpret=interpret)
            for name in case.after:
                for row, codes in enumerate(zip(written[name], case.after[name], strict=True)):
                    got, want = (_values(case, name, stored) for stored in codes)
                    wrong = _wrong(got, want, rtol, atol)
                    if len(wrong):
                        field = f"{name}[{row}]" if case.fields[name].depth == 2 else name
                        what = f"{where}: '{field}'"
                        wide = _wide(case, inputs, expected)
                        text = _difference(what, got, want, wrong, texts[name][row], wide)
                        raise AssertionError(text)


def _case(
    vertex: type[Vertex],
    inputs: Mapping[str, Any],
    expected: Mapping[str, Any] | Callable[..., Any],
    metadata: QuarterMetadata | None,
) -> _Case:
    fields = {
        name: field
        for name, field in vertex.fields.items()
        if not field.is_implicit and name != "num_workers"  # set automatically
    }
    needed = [name for name, field in fields.items() if field.role != "output"]
    written = [name for name, field in fields.items() if field.writes]
    _check_names(vertex, "inputs", inputs, needed)
    inputs = {name: _as_stored(fields.get(name), value) for name, value in inputs.items()}
    after = _called(vertex, expected, inputs, written) if callable(expected) else expected
    if not isinstance(after, Mapping):
        raise ElementTypeError(
            f"assert_vertex: expected must be values by field; found {type(after).__name__}",
            found=f"{vertex.__name__} writes {', '.join(written) or 'nothing'}",
            fix=f"pass expected={{{', '.join(f'{name!r}: ...' for name in written)}}}",
        )
    memory = [name for name in written if fields[name].role == "inout" and after.get(name) is None]
    compared = [name for name in written if name not in memory] or written
    _check_names(vertex, "expected", {n: v for n, v in after.items() if n not in memory}, compared)
    inputs = _with_memory(vertex, inputs, memory)
    edges = {name: field for name, field in fields.items() if field.is_edge}
    values = {name: after[name] if name not in inputs else inputs[name] for name in edges}
    types = _element_types(vertex, edges, values)
    return _Case(
        vertex,
        edges,
        {name: value for name, value in inputs.items() if name not in edges},
        types,
        {n: _rows(f, types[n], inputs[n], metadata) for n, f in edges.items() if n in inputs},
        {n: _rows(fields[n], types[n], after[n], metadata) for n in compared},
        metadata,
    )


def _as_stored(field: Field | None, value: Any) -> Any:
    """Return an array of floats with the values that a field of FLOAT or HALF can hold."""
    is_float = field is not None and field.element in (FLOAT, HALF)
    if (
        field is None
        or not is_float
        or not isinstance(value, np.ndarray)
        or value.dtype.kind != "f"
    ):
        return value
    with np.errstate(over="ignore"):
        return value.astype(field.element.dtype).astype(value.dtype)


def _called(
    vertex: type[Vertex],
    reference: Callable[..., Any],
    inputs: Mapping[str, Any],
    written: Sequence[str],
) -> Any:
    """Return the result of a reference function by field; it need not take working memory."""
    try:
        parameters = dict(inspect.signature(reference).parameters)
        takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    except ValueError:  # functions written in C need not have a signature
        parameters, takes_all = {}, True
    given = {
        name: value
        for name, value in inputs.items()
        if takes_all or name in parameters or name not in written
    }
    unknown = [] if takes_all else [name for name in given if name not in parameters]
    needed = [name for name, each in parameters.items() if _is_needed(each) and name not in given]
    if unknown or needed:
        name = getattr(reference, "__qualname__", clipped(reference, 60))
        fix = f"define it as def reference({', '.join(inputs)}): ..."
        if "size" in needed and not unknown:
            fix = f"pass functools.partial({name}, size=...) for an output of that size"
        raise UnknownField(
            f"assert_vertex({vertex.__name__}): {name} "
            + (f"does not take '{unknown[0]}'" if unknown else f"needs '{needed[0]}'"),
            found=f"inputs has {', '.join(inputs) or 'nothing'}",
            fix=fix,
        )
    after = reference(**given)
    left = [name for name in written if name not in inputs or name in given]
    is_one = not isinstance(after, Mapping) and len(left) == 1
    return {left[0]: after} if is_one else after


def _is_needed(parameter: inspect.Parameter) -> bool:
    is_variable = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    return parameter.default is parameter.empty and not is_variable


def _with_memory(
    vertex: type[Vertex], inputs: Mapping[str, Any], memory: Sequence[str]
) -> dict[str, Any]:
    """Return inputs with initial contents for working memory given by its size; reject None."""
    given = dict(inputs)
    for name, value in inputs.items():
        field, size = vertex.fields[name], integer_or_none(value)
        is_memory = name in memory and field.depth == 1
        has_size = is_memory and field.variable is None and field.element is not QUARTER
        if has_size and size is not None and size >= 0:
            given[name] = np.resize(_NOISE, size).astype(field.element.dtype)
        elif value is None or (is_memory and np.ndim(value) == 0):
            kinds = ("a number", "an array", "a list of arrays")[field.depth]
            raise ElementTypeError(
                f"assert_vertex({vertex.__name__}): inputs has {name!r}: {clipped(value)}",
                found=f"declared {field}",
                fix=f"pass {kinds}, its contents before the vertex runs"
                + (f"; or pass the number of its elements, {name!r}: 3" if has_size else ""),
            )
    return given


_NOISE = np.array([99, 7, 64, 23, 111])
"""Initial contents of working memory if only its size is given."""


def _check_names(
    vertex: type[Vertex], what: str, given: Mapping[str, Any], needed: Sequence[str]
) -> None:
    wrong = [name for name in given if name not in needed]
    missing = [name for name in needed if name not in given]
    if not wrong and not missing:
        return
    if wrong:
        text = f"{what} has an unknown name '{wrong[0]}'" + did_you_mean(wrong[0], needed)
    else:
        text = f"{what} lacks " + ", ".join(f"'{name}'" for name in missing)
    raise UnknownField(
        f"assert_vertex({vertex.__name__}): {text}",
        found="fields: " + ", ".join(map(str, vertex.fields.values())),
        fix=f"{what}={{{', '.join(f'{name!r}: ...' for name in needed)}}}",
    )


def _element_types(
    vertex: type[Vertex], edges: Mapping[str, Field], values: Mapping[str, Any]
) -> dict[str, type[ElementType[Any]]]:
    """Return the element type of each edge; type variables are deduced from the first array."""
    chosen: dict[Any, type[ElementType[Any]]] = {}
    # NumPy values determine types; Python numbers do so only if there is no NumPy value.
    for name in sorted(edges, key=lambda each: not hasattr(_first(values[each]), "dtype")):
        variable = edges[name].variable
        if variable is not None and variable not in chosen:
            chosen[variable] = _type_of(vertex, name, values[name])
    return {
        name: field.element if field.variable is None else chosen[field.variable]
        for name, field in edges.items()
    }


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _type_of(vertex: type[Vertex], field: str, value: Any) -> type[ElementType[Any]]:
    dtype = np.asarray(_first(value)).dtype
    try:
        return element_type(dtype)
    except ElementTypeError:
        raise ElementTypeError(
            f"assert_vertex({vertex.__name__}): '{field}' does not determine the element type",
            found=f"{clipped(value, 60)} is {dtype}, which no element type stores",
            fix=f"pass {vertex.__name__}[pl.FLOAT], or np.float32({clipped(value, 40)})",
        ) from None


def _rows(
    field: Field, element: type[ElementType[Any]], value: Any, metadata: QuarterMetadata | None
) -> Rows:
    """Return the values of a field, one array for each edge; for QUARTER, the stored codes."""
    listed = list(value) if field.depth == 2 else [value]
    what = f"assert_vertex, '{field.name}'"
    rows = [element_array(element, row, what=what, metadata=metadata) for row in listed]
    wrong = next((row for row in rows if row.ndim != min(field.depth, 1)), None)
    if wrong is not None and not (field.depth == 0 and wrong.size == 1):
        raise ElementTypeError(
            f"{what}: values of shape {wrong.shape} for {field}",
            fix="pass "
            + ("a number", "a 1-D array", "a 2-D array, or a list of 1-D arrays")[field.depth]
            + (f"; or declare {field.name}: {_deeper(field)}" if not field.depth else ""),
        )
    return [row.reshape(-1) for row in rows]


def _deeper(field: Field) -> str:
    """Return the type of a field of many elements, as an annotation."""
    return f"{str(field).partition(': ')[2].replace('[', '[Vector[', 1)}]"


def _run(
    case: _Case, random: Random | None, where: str, *, interpret: bool
) -> tuple[dict[str, Rows], dict[str, list[str]]]:
    """Run the vertex; return what it wrote, and the layout of the edges in memory."""
    graph = Graph(Target(tiles=TILES))
    places = {name: list(_placed(graph, case, name, random)) for name in case.fields}
    compute_set = graph.add_compute_set(case.vertex.__name__)
    edges = {name: _connected(case.fields[name], placed) for name, placed in places.items()}
    graph.add_vertex(compute_set, case.vertex, tile=TILE, **case.state, **edges)
    # The cost is not requested, so nothing is priced or compiled for counting.
    options = {"debug.instrument": False}
    step = Execute(compute_set)
    engine = Engine(graph, step, checks="strict", interpret=interpret, options=options)
    before = {
        name: [
            _fill(engine, place, row) for place, row in zip(placed, _start(case, name), strict=True)
        ]
        for name, placed in places.items()
    }
    engine.run()
    written = {
        name: [engine.read(_codes(place.tensor)) for place in places[name]] for name in case.after
    }
    for name, placed in places.items():
        for place, row, whole in zip(placed, _start(case, name), before[name], strict=True):
            if case.fields[name].writes:  # restored, so that the whole variable can be compared
                engine.write(_codes(place.tensor), row)
            if engine.read(_codes(place.variable)).tobytes() != whole.tobytes():
                raise AssertionError(_stray(where, name, case.fields[name], place))
    return written, {name: [place.text for place in placed] for name, placed in places.items()}


def _placed(graph: Graph, case: _Case, name: str, random: Random | None) -> Iterator[LaidOut]:
    element = case.element_types[name]
    for row in _start(case, name):
        if random is None:
            yield laid_out_contiguously(graph, name, element, len(row), TILE, case.metadata)
        else:
            yield laid_out(graph, name, element, len(row), random, case.metadata)


def _connected(field: Field, placed: Sequence[LaidOut]) -> Tensor | list[Tensor]:
    if field.depth == 2:
        return [place.tensor for place in placed]
    return placed[0].tensor.reshape(()) if field.depth == 0 else placed[0].tensor


def _start(case: _Case, name: str) -> Rows:
    """Return initial contents of an edge; for an Output, all differ from the expected values."""
    return case.before[name] if name in case.before else [_other(row) for row in case.after[name]]


def _other(row: Array) -> Array:
    return ~row if row.dtype.kind != "f" else (~row.view(f"u{row.itemsize}")).view(row.dtype)


def _fill(engine: Engine, place: LaidOut, row: Array) -> Array:
    """Write an edge, and different values to the other elements of its variable; return all."""
    whole = _codes(place.variable)
    size = whole.element_type.size_bytes
    noise = np.arange(1, whole.num_elements * size + 1).astype(np.uint8)
    dtype = whole.element_type.dtype
    engine.write(whole, noise[::size] % 2 == 1 if dtype.kind == "b" else noise.view(dtype))
    engine.write(_codes(place.tensor), row)
    return engine.read(whole)


def _codes(tensor: Tensor) -> Tensor:
    return tensor.reinterpret(UNSIGNED_CHAR) if tensor.element_type is QUARTER else tensor


def _stray(where: str, name: str, field: Field, place: LaidOut) -> str:
    what = "changed what it only reads" if not field.writes else "wrote outside its elements"
    return f"{where}: the vertex {what} of '{name}'\n  '{name}': {place.text}"


def _values(case: _Case, name: str, stored: Array) -> Array:
    if case.element_types[name] is not QUARTER:
        return stored
    assert case.metadata is not None  # the values could not have been encoded without it
    return decode(stored, case.metadata)


def _wrong(got: Array, want: Array, rtol: float, atol: float) -> npt.NDArray[np.int64]:
    """Return the positions of elements that differ by more than the tolerance."""
    if got.dtype.kind != "f":
        return np.flatnonzero(got != want)
    if rtol or atol:
        with np.errstate(invalid="ignore"):
            return np.flatnonzero(~np.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True))
    same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
    return np.flatnonzero(~same)


def _wide(case: _Case, inputs: Mapping[str, Any], expected: object) -> str:
    """Return text about arrays of float64 for fields of FLOAT, by which references differ."""
    given = {**inputs, **(expected if isinstance(expected, Mapping) else {})}
    wide = [
        f"'{name}'"
        for name, value in given.items()
        if case.element_types.get(name) is FLOAT and getattr(value, "dtype", None) == np.float64
    ]
    verb = "is" if len(wide) == 1 else "are"
    return f"{' and '.join(wide)} {verb} float64, but FLOAT is float32" if wide else ""


def _difference(
    what: str, got: Array, want: Array, wrong: npt.NDArray[np.int64], text: str, wide: str
) -> str:
    verb = "is" if len(wrong) == 1 else "are"
    lines = [f"{what}: {len(wrong):,} of {amount(len(want), 'element')} {verb} wrong"]
    lines += [
        f"  [{at}] is {got[at]!s}, expected {want[at]!s}" for at in wrong[:SHOWN_FAULTS].tolist()
    ]
    if len(wrong) > SHOWN_FAULTS:
        lines.append(f"  and {len(wrong) - SHOWN_FAULTS:,} more")
    lines.append(f"  in memory: {text}")
    tolerance = _least_tolerance(got, want)
    if tolerance and wide:
        lines += [f"  {wide}", "  try: compute the reference in float32, from x.astype(np.float32)"]
    elif tolerance:
        lines.append(f"  try: rtol={tolerance:g}, if another order of rounding is allowed")
    return "\n".join(lines)


def _least_tolerance(got: Array, want: Array) -> float:
    """Return the smallest power of ten that suffices as tolerance; 0.0 if values differ much."""
    if got.dtype.kind != "f" or not (np.isfinite(got).all() and np.isfinite(want).all()):
        return 0.0
    size = np.abs(want.astype(np.float64))
    error = np.abs(got.astype(np.float64) - want)
    if (error > 1e-3 * size).any() or not size.any():
        return 0.0
    largest = float((error[size > 0] / size[size > 0]).max())
    return float(10.0 ** np.ceil(np.log10(largest))) if largest else 0.0


# -- vector layouts --------------------------------------------------------------------------------


MOST_GAP = 3
"""Maximum number of foreign elements between two consecutive elements of a vector."""

MOST_PIECES = 4
"""Maximum number of pieces in a vector; maximum number of tiles of a variable."""


@frozen
class LaidOut:
    """A vector stored in a variable.

    Attributes:
        tensor: the elements, in order.
        variable: the variable that holds them, and the elements between them.
        text: the layout as text, for messages.
    """

    tensor: Tensor
    variable: Tensor
    text: str


def laid_out_contiguously(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    length: int,
    tile: int,
    metadata: QuarterMetadata | None = None,
) -> LaidOut:
    """Create a variable that consists of the vector.

    Args:
        graph: the graph of the variable.
        name: name of the variable.
        element: element type of the vector.
        length: number of elements of the vector.
        tile: tile of the variable.
        metadata: format and scale, for QUARTER.

    >>> from poplite.types import INT
    >>> laid_out_contiguously(Graph(), "x", INT, 3, tile=0).text
    '3 elements contiguous on tile 0'
    """
    whole = _variable(graph, name, element, length, metadata)
    graph.set_tile_mapping(whole, tile)
    return LaidOut(whole, whole, f"{amount(length, 'element')} contiguous on tile {tile}")


def laid_out(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    length: int,
    random: Random,
    metadata: QuarterMetadata | None = None,
) -> LaidOut:
    """Create a variable that holds the vector in a random layout, on random tiles.

    Args:
        graph: the graph of the variable.
        name: name of the variable.
        element: element type of the vector.
        length: number of elements of the vector.
        random: source of the layout.
        metadata: format and scale, for QUARTER.

    >>> from poplite.machine.target import Target
    >>> from poplite.types import INT
    >>> laid_out(Graph(Target(tiles=4)), "x", INT, 3, Random(1)).tensor.shape
    (3,)
    """

    def variable(size: int) -> Tensor:
        return _variable(graph, name, element, size, metadata)

    draw = _strided if random.random() < 0.5 else _pieces
    tensor, whole, text = draw(variable, length, random)
    tiles = _spread(graph, whole, random)
    return LaidOut(tensor, whole, f"{text}, on tiles {', '.join(map(str, tiles))}")


def _strided(
    variable: Callable[[int], Tensor], length: int, random: Random
) -> tuple[Tensor, Tensor, str]:
    first, step = random.randint(0, MOST_GAP), random.randint(1, MOST_GAP)
    end = first + step * length
    whole = variable(end + random.randint(0, MOST_GAP))
    tensor = whole[first:end:step]
    text = f"[{first}:{end}:{step}] of {amount(whole.num_elements, 'element')}"
    if random.random() < 0.5:
        return tensor.reverse(0), whole, f"{text}, reversed"
    return tensor, whole, text


def _pieces(
    variable: Callable[[int], Tensor], length: int, random: Random
) -> tuple[Tensor, Tensor, str]:
    cuts = sorted({0, length, *(random.randint(0, length) for _ in range(MOST_PIECES - 1))})
    pieces = list(pairwise(cuts))
    gaps = [random.randint(0, MOST_GAP) for _ in range(len(pieces) + 1)]
    whole = variable(length + sum(gaps))
    at, places = gaps[0], {}
    for (begin, end), gap in zip(random.sample(pieces, len(pieces)), gaps[1:], strict=True):
        places[begin] = (at, at + end - begin)
        at += end - begin + gap
    intervals = [places[begin] for begin, _ in pieces]
    tensor = concat([whole[begin:end] for begin, end in intervals]) if intervals else whole[:0]
    shown = " ".join(f"[{begin}, {end})" for begin, end in intervals)
    return tensor, whole, f"{shown or 'none'} of {amount(whole.num_elements, 'element')}"


def _variable(
    graph: Graph,
    name: str,
    element: type[ElementType[Any]],
    size: int,
    metadata: QuarterMetadata | None,
) -> Tensor:
    return graph.add_variable(
        element, (size,), name, metadata=metadata if element is QUARTER else None
    )


def _spread(graph: Graph, whole: Tensor, random: Random) -> list[int]:
    """Map segments of a variable to random tiles; return the tiles."""
    size = whole.num_elements
    cuts = sorted({0, size, *(random.randint(0, size) for _ in range(MOST_PIECES - 1))})
    tiles = []
    for begin, end in pairwise(cuts):
        tiles.append(random.randrange(graph.target.tiles))
        graph.set_tile_mapping(whole[begin:end], tiles[-1])
    return sorted(set(tiles))
