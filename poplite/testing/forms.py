"""Comparing another form of a vertex class, faster or in C++, with its `compute`.

By default fields are random::

    check_faster(Total)                                          any lengths, any values
    check_faster(Product, lambda n: {"a": (3, n), ...})          lengths that match
    check_codelet(Axpy)                                          compiled for this machine
    check_faster(Shift, values={"places": range(8)})             meaningful values

The headers in `native` replace Poplar's when codelets are compiled; every index is checked.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import as_file, files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.cpp.compilers import any_compiler
from poplite.errors import PopliteError, TensorIndexError, VertexCompileError
from poplite.frozen import frozen
from poplite.graph.graph import Graph
from poplite.graph.tensor.tensor import Tensor
from poplite.ipu.building import compile_with
from poplite.ipu.codelet_file import CodeletFile, codelet_file, declared_fields
from poplite.ipu.codelet_function import member
from poplite.machine.target import Target
from poplite.program import Execute
from poplite.simulator.engine import Engine
from poplite.simulator.strict.replay import differing
from poplite.testing.addressed import checked
from poplite.text import amount
from poplite.types import BOOL, HALF, QUARTER, UNSIGNED_CHAR, ElementType, QuarterMetadata
from poplite.vertex.compute.interpreted_fields import InterpretedSelf
from poplite.vertex.compute.meaning import FasterForm, check, faster_form, meaning_of
from poplite.vertex.fields import Field, allowed_elements, definition_error
from poplite.vertex.vertex import MultiVertex, Vertex

METADATA = QuarterMetadata("F143", scale=1)
"""The metadata of all QUARTER fields."""

RESULT = "the returned value"


@checked
def check_faster(
    vertex: type[Vertex],
    shapes: Shapes | None = None,
    *,
    values: Mapping[str, Sequence[Any]] | None = None,
    examples: int = 150,
    seed: int = 0,
) -> None:
    """Check that the faster form of a vertex class has the same results as its `compute`.

    Both run compiled, on the same random fields: with no, one, few and many elements, including
    NaN, infinities, the smallest numbers, zeros of both signs and the limits of integer types.
    Fields for which `compute` indexes out of range are skipped. A template is checked for all
    element types that its `compute` supports.

    Args:
        vertex: the class.
        shapes: returns, for a size, the length of each vector, and the rows and columns of each
            list of vectors, by field; by default they are random.
        values: the values that fields are drawn from, by name. By default integer State fields
            are small.
        examples: number of vertices to try, for each element type.
        seed: seed of the random fields; the same seed gives the same fields.

    Raises:
        AssertionError: if results differ in any bit, or by more than the form's `rtol`, with the
            smallest fields found for which they do; and if `compute` stops for all random fields.
        VertexDefinitionError: if the class has no faster form.
        VertexCompileError: if one of the forms cannot be compiled.

    >>> import poplite as pl
    >>> class Last(pl.Vertex):
    ...     x: pl.Input[pl.Vector[pl.FLOAT]]
    ...     y: pl.Output[pl.FLOAT]
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.y = self.x[i]
    ...     @pl.faster(bits="equal")
    ...     def only_last(self) -> None:
    ...         if len(self.x) > 0:
    ...             self.y = self.x[len(self.x) - 1]
    >>> check_faster(Last)
    """
    __tracebackhide__ = True
    for cls in classes_of(vertex):
        form = faster_form(cls)
        if form is None:
            fix = 'mark a method of it with @pl.faster(bits="equal")'
            raise definition_error(cls, "it has no faster form", fix)
        rng = np.random.default_rng(seed)
        drawn = drawn_fields(cls, rng, shapes, values or {}, examples)
        _compare(form, cls, drawn, f"of {examples} vertices from seed {seed}")


# -- both forms ------------------------------------------------------------------------------------


class _Vertices:
    """Vertices of one class, each in its own compute set and program."""

    def __init__(self, cls: type[Vertex], drawn: Sequence[DrawnFields]) -> None:
        self._cls = cls
        self._graph = Graph(Target(tiles=1))
        self._written: list[dict[str, Sequence[Tensor]]] = []
        self._programs: dict[str, Execute] = {}
        for number, fields in enumerate(drawn):
            self._add(number, fields)

    def _add(self, number: int, fields: DrawnFields) -> None:
        compute_set = self._graph.add_compute_set(f"vertex {number}")
        declared, written, connected = self._cls.fields, {}, {}
        for name, rows in fields.edges.items():
            tensors = self._tensors(declared[name], rows)
            connected[name] = tensors if declared[name].depth == 2 else tensors[0]
            if declared[name].writes:
                written[name] = tensors
        self._graph.add_vertex(compute_set, self._cls, tile=0, **fields.state, **connected)
        result = None
        if meaning_of(self._cls).returns:
            result = self._graph.add_variable(BOOL, (), RESULT, mapping=0)
            written[RESULT] = [result]
        self._written.append(written)
        self._programs[str(number)] = Execute(compute_set, result)

    def _tensors(self, field: Field, rows: Rows) -> Sequence[Tensor]:
        """Return the edges of a field; rows of equal length become those of a matrix."""
        is_matrix = field.depth == 2 and len({len(row) for row in rows}) < 2
        arrays = [np.array(rows).reshape(len(rows), -1 if rows else 1)] if is_matrix else rows
        tensors = []
        for array in arrays:
            shape = () if field.depth == 0 else array.shape
            metadata = METADATA if field.element is QUARTER else None
            tensor = self._graph.add_variable(
                field.element, shape, field.name, mapping=0, metadata=metadata
            )
            self._graph.set_initial_value(_codes(tensor), array.reshape(shape))
            tensors.append(tensor)
        return list(tensors[0]) if is_matrix else tensors

    def engine(self, *, is_faster: bool) -> Engine:
        """Return an engine that runs one of the forms."""
        options = {"debug.instrument": False, "debug.allowOutOfMemory": True}
        return Engine(
            self._graph,
            self._programs,
            checks="fast",
            faster="tolerant" if is_faster else False,
            options=options,
        )

    def run(self, engine: Engine, number: int) -> dict[str, Rows] | PopliteError:
        """Run a vertex; return the contents of its writable fields, or the error that occurred."""
        try:
            engine.run(number)
        except PopliteError as error:
            engine.load()
            return error
        return {
            name: [engine.read(_codes(each)).reshape(-1) for each in tensors]
            for name, tensors in self._written[number].items()
        }


def _codes(tensor: Tensor) -> Tensor:
    return tensor.reinterpret(UNSIGNED_CHAR) if tensor.element_type is QUARTER else tensor


def _compare(form: FasterForm, cls: type[Vertex], drawn: Sequence[DrawnFields], which: str) -> None:
    __tracebackhide__ = True

    def differences(drawn: Sequence[DrawnFields]) -> Iterator[str | None]:
        vertices = _Vertices(cls, drawn)
        definition, faster = (vertices.engine(is_faster=each) for each in (False, True))
        for number in range(len(drawn)):
            defined = vertices.run(definition, number)
            if isinstance(defined, TensorIndexError):
                yield None
            else:
                yield _difference(form, cls, defined, vertices.run(faster, number))

    call = f"check_faster({cls.__name__}"
    if found := smallest_difference(drawn, differences, f"{form}: compute", which, call):
        fields, why = found
        raise AssertionError(f"{form} is not {cls.__name__}.compute: {why}\n{fields_text(fields)}")


def _difference(
    form: FasterForm,
    cls: type[Vertex],
    defined: dict[str, Rows] | PopliteError,
    faster: dict[str, Rows] | PopliteError,
) -> str:
    """Return text for the difference between results; empty if they are equal."""
    if isinstance(defined, PopliteError) or isinstance(faster, PopliteError):
        if isinstance(defined, PopliteError) and isinstance(faster, PopliteError):
            return ""  # an error of compute is raised for both
        if isinstance(faster, PopliteError):
            return f"only the faster form stops: {faster.what}"
        return f"only compute stops: {defined.what}" if isinstance(defined, PopliteError) else ""
    for name, rows in defined.items():
        for row, (want, got) in enumerate(zip(rows, faster[name], strict=True)):
            wrong = np.flatnonzero(differing(want, got, form.rtol))
            if len(wrong):
                at = int(wrong[0])
                depth = cls.fields[name].depth if name in cls.fields else 0
                field = f"{name}[{row}]" if depth == 2 else name
                index = f"[{at}]" if depth else ""
                more = f" ({amount(len(wrong), 'element')} of {len(want):,})" if index else ""
                which = f"'{field}'{index} is {want[at]!s} in compute"
                return f"{which}, but {got[at]!s} in the faster form{more}"
    return ""


# -- random fields of all sizes, with some special values ------------------------------------------

Array = npt.NDArray[Any]
Rows = list[Array]
"""The elements of a field, one array for each of its edges."""

Shapes = Callable[[int], Mapping[str, int | tuple[int, ...]]]
"""Returns shapes for a size: lengths of vectors, and rows and columns of lists, by field."""

SIZES = (0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 64, 65)
"""Lengths of vectors: zero, and lengths equal to or near the lane counts of machines."""

MOST_SHOWN = 70
"""Maximum number of elements of a field that a message shows."""


@frozen(eq=False)
class DrawnFields:
    """The random contents of one vertex: edges by name, and values of State."""

    cls: type[Vertex]
    edges: Mapping[str, Rows]
    state: Mapping[str, Any]

    @property
    def size(self) -> int:
        """The total number of elements."""
        lists = (value for value in self.state.values() if isinstance(value, list))
        rows = (row for rows in self.edges.values() for row in rows)
        return sum(map(len, lists)) + sum(map(len, rows))


def classes_of(vertex: type[Vertex]) -> list[type[Vertex]]:
    """Return a class, or all instances of a template."""
    if not vertex.type_variables:
        return [vertex]
    found: list[type[Vertex]] = []
    template: Any = vertex
    refused: VertexCompileError | None = None
    for elements in product(*map(allowed_elements, vertex.type_variables)):
        try:
            cls = template[elements]
            check(cls)
            found.append(cls)
        except VertexCompileError as error:  # compute does not support these types
            refused = error
    if not found and refused is not None:
        raise refused
    return found


def drawn_fields(
    cls: type[Vertex],
    rng: np.random.Generator,
    shapes: Shapes | None,
    values: Mapping[str, Sequence[Any]],
    count: int,
) -> list[DrawnFields]:
    """Return the fields of a number of vertices, those with the fewest elements first.

    `shapes` and `values` are as for `check_faster`.
    """
    drawn = [_drawn(cls, rng, shapes, values) for _ in range(count)]
    return sorted(drawn, key=lambda each: each.size)


def _drawn(
    cls: type[Vertex],
    rng: np.random.Generator,
    shapes: Shapes | None,
    values: Mapping[str, Sequence[Any]],
) -> DrawnFields:
    size = int(rng.choice(SIZES))
    others = [size, size, int(rng.choice(SIZES)), *rng.integers(0, 6, 2).tolist()]
    fitting = shapes(size) if shapes is not None else {}
    is_even = rng.random() < 0.7
    special = float(rng.choice([0.0, 0.05, 1.0]))
    edges: dict[str, Rows] = {}
    state: dict[str, Any] = {}
    for name, field in cls.fields.items():
        if field.is_implicit or (name == "num_workers" and issubclass(cls, MultiVertex)):
            continue
        shape = fitting.get(name)
        lengths = _lengths(field, rng, shape, others, is_even=is_even)
        rows = [_elements(field, length, rng, special, values.get(name)) for length in lengths]
        if field.is_edge:
            edges[name] = rows
        else:
            state[name] = rows[0].tolist() if field.depth else rows[0].tolist()[0]
    return DrawnFields(cls, edges, state)


def _lengths(
    field: Field,
    rng: np.random.Generator,
    shape: int | tuple[int, ...] | None,
    sizes: Sequence[int],
    *,
    is_even: bool,
) -> list[int]:
    """Return the number of elements of each edge of a field; equal for `is_even` fields."""
    if field.depth == 0:
        return [1]
    if shape is not None:
        *rows, length = (shape,) if isinstance(shape, int) else shape
        return [length] * (rows[0] if rows else 1)
    length = sizes[0] if is_even else int(rng.choice(sizes))
    if field.depth == 1:
        return [length]
    rows = [sizes[0] if is_even else int(rng.choice(sizes))]
    is_ragged = not is_even and rng.random() < 0.3
    return [int(rng.choice(sizes)) if is_ragged else length for _ in range(rows[0])]


def _elements(
    field: Field,
    length: int,
    rng: np.random.Generator,
    special: float,
    values: Sequence[Any] | None,
) -> Array:
    """Return random elements of a field, some of them `special`."""
    dtype = field.element.dtype
    if values is not None:
        return np.asarray([values[k] for k in rng.integers(0, len(values), length)], dtype)
    if field.role == "state" and dtype.kind in "iu":
        return rng.integers(0, 10, length).astype(dtype)
    usual = _usual(field.element, length, rng)
    return np.where(
        rng.random(length) < special, rng.choice(_special(field.element), length), usual
    )


def _usual(element: type[ElementType[Any]], length: int, rng: np.random.Generator) -> Array:
    dtype = element.dtype
    if dtype.kind == "b":
        return rng.random(length) < 0.5
    if dtype.kind == "f":
        powers = rng.integers(-2, 3, length) if element is HALF else rng.integers(-5, 6, length)
        return (rng.standard_normal(length) * 10.0**powers).astype(dtype)
    if element is QUARTER or rng.random() < 0.5:
        return rng.integers(0, 256, length * dtype.itemsize, np.uint8).view(dtype)
    return rng.integers(0, 100, length).astype(dtype)


def _special(element: type[ElementType[Any]]) -> Array:
    dtype = element.dtype
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind == "f":
        limits: Any = np.finfo(dtype)
        small = [limits.smallest_subnormal, limits.smallest_normal]
        positive = np.array([0.0, *small, 1.0, limits.max, np.inf, np.nan], dtype)
        return np.concatenate([positive, -positive])
    if element is QUARTER:
        return np.array([0, 1, 0x7F, 0x80, 0x81, 0xFF], dtype)
    ends: Any = np.iinfo(dtype.name)
    return np.array([ends.min, ends.min + 1, 0, 1, ends.max - 1, ends.max], dtype)


Differences = Callable[[Sequence[DrawnFields]], Iterator[str | None]]
"""Yields the difference for each vertex, "" if there is none; None for a vertex that does not
count, since its definition indexes out of range.
"""


def smallest_difference(
    drawn: Sequence[DrawnFields], differences: Differences, what: str, which: str, call: str
) -> tuple[DrawnFields, str] | None:
    """Return the smallest fields with different results, and the difference; None if all agree.

    Args:
        drawn: the fields.
        differences: yields the differences for given fields; it is read up to the first one.
        what: the name of the definition, for the message if it indexes out of range for all fields.
        which: a description of the fields, for the same message.
        call: the beginning of the user's call, for the same message.

    Raises:
        AssertionError: if nothing was compared.
    """
    __tracebackhide__ = True
    compared, found = _first_difference(drawn, differences)
    if not compared and found is None:
        raise AssertionError(
            f"{what} indexes out of range for all fields {which}, so nothing was compared\n"
            "  "
            f"try: pass lengths that fit each other, {call}, lambda n: {{...}}), or values={{...}}"
        )
    smallest = found
    while found is not None:
        smallest, size = found, found[0].size
        parts = (each for each in parts_of(found[0]) if each.size < size)
        _, found = _first_difference(sorted(parts, key=lambda each: each.size), differences)
    return smallest


def _first_difference(
    drawn: Sequence[DrawnFields], differences: Differences
) -> tuple[int, tuple[DrawnFields, str] | None]:
    """Return the number of equal vertices, and the first difference with the vertex's fields."""
    compared = 0
    for fields, why in zip(drawn, differences(drawn), strict=False):
        if why:
            return compared, (fields, why)
        compared += why is not None
    return compared, None


def parts_of(fields: DrawnFields) -> Iterator[DrawnFields]:
    """Yield fields with fewer elements; vectors of equal length keep the same positions."""
    declared, rows_of = fields.cls.fields, list(fields.edges.values())
    sizes = {len(row) for rows in rows_of for row in rows} | {len(rows) for rows in rows_of}
    for size in sorted(sizes - {0}):
        ends = [(0, size // 2), (size // 2, size), *((k, k + 1) for k in range(size))]
        for begin, end in dict.fromkeys(each for each in ends if each != (0, size)) or [(0, 0)]:
            kept = slice(begin, end)
            edges = {name: _part(rows, kept, size) for name, rows in fields.edges.items()}
            edges |= {name: fields.edges[name] for name in edges if not declared[name].depth}
            lists = (name for name in edges if declared[name].depth == 2)
            edges |= {name: edges[name][kept] for name in lists if len(edges[name]) == size}
            state = {
                name: value[kept] if isinstance(value, list) and len(value) == size else value
                for name, value in fields.state.items()
            }
            yield DrawnFields(fields.cls, edges, state)


def _part(rows: Rows, kept: slice, size: int) -> Rows:
    return [row[kept] if len(row) == size else row for row in rows]


def fields_text(fields: DrawnFields) -> str:
    """Return fields as text, one per line, for messages."""
    lines = [f"  {name} = {value!r}" for name, value in fields.state.items()]
    for name, rows in fields.edges.items():
        for number, row in enumerate(rows):
            at = f"{name}[{number}]" if len(rows) > 1 else name
            text = np.array2string(row, threshold=MOST_SHOWN, separator=", ", max_line_width=100)
            lines.append(f"  {at} = {text}".replace("\n", "\n    "))
    return "\n".join(lines)


# -- codelets in C++ -------------------------------------------------------------------------------


EXACT = ("-ffp-contract=off",)
"""Compiler flags that make results bit-identical to the simulator's."""

Fields = Mapping[str, Any]
"""The fields of a vertex: an array for an edge, a list of arrays for a list, or a number."""

STOPPED = "stopped"
OUTSIDE = "an index is outside"


@checked
def check_codelet(
    vertex: type[Vertex],
    shapes: Shapes | None = None,
    *,
    values: Mapping[str, Sequence[Any]] | None = None,
    examples: int = 150,
    seed: int = 0,
) -> None:
    """Check that the C++ codelet of a vertex class has the same results as its `compute`.

    It is compiled by the C++ compiler of this machine, run on random fields, and compared with the
    interpreted form; see `check_faster` for the fields. This is most useful for a class with its
    own C++ in `cpp`. NaN payloads are not significant.

    Args:
        vertex: the class.
        shapes: returns, for a size, the length of each vector, and the rows and columns of each
            list of vectors, by field; by default they are random.
        values: the values that fields are drawn from, by name.
        examples: number of vertices to try, for each element type.
        seed: seed of the random fields; the same seed gives the same fields.

    Raises:
        AssertionError: if results differ in any bit, with the smallest fields found for which they
            do; and if `compute` indexes out of range for all random fields.
        VertexCompileError: if the class has no codelet, or the compiler rejects it.
        FileLoadError: if there is no C++ compiler.

    >>> import poplite as pl
    >>> class Double(pl.Vertex):
    ...     x: pl.InOut[pl.Vector[pl.FLOAT]]
    ...     cpp = "for (unsigned i = 0; i < x.size(); ++i) x[i] += x[i]; return true;"
    ...     def compute(self) -> None:
    ...         for i in range(len(self.x)):
    ...             self.x[i] *= 2.0
    >>> check_codelet(Double)
    """
    __tracebackhide__ = True
    classes = classes_of(vertex)
    with tempfile.TemporaryDirectory(prefix="poplite-") as folder:
        native = compiled(classes, Path(folder))
    for cls in classes:
        rng = np.random.default_rng(seed)
        drawn = drawn_fields(cls, rng, shapes, values or {}, examples)
        which, call = f"of {examples} vertices from seed {seed}", f"check_codelet({cls.__name__}"
        differences = partial(_differences, cls, native)
        found = smallest_difference(drawn, differences, f"{cls.__name__}: compute", which, call)
        if found is not None:
            raise AssertionError(f"{found[1]}\n{fields_text(found[0])}")


def _differences(
    cls: type[Vertex], native: CompiledCodelets, drawn: Sequence[DrawnFields]
) -> Iterator[str | None]:
    for fields in drawn:
        yield difference(cls, native, _arrays(cls, fields))


def _arrays(cls: type[Vertex], fields: DrawnFields) -> dict[str, Any]:
    """Return fields in the form that `CompiledCodelets.run` takes."""
    made: dict[str, Any] = {}
    for field in declared_fields(cls):
        if field.is_edge:
            rows = fields.edges[field.name]
            made[field.name] = [*rows] if field.depth == 2 else rows[0]
        else:
            value = np.array(fields.state[field.name], field.element.dtype)
            made[field.name] = value.reshape(-1)
    return made


def compiled(
    classes: Iterable[type[Vertex]],
    folder: Path,
    *,
    edit: Callable[[str], str] = str,
    flags: Sequence[str] = EXACT,
) -> CompiledCodelets:
    """Compile the codelets of classes; `edit` may change the text first.

    The files are written to a folder that may be deleted once the codelets are loaded.
    """
    made = codelet_file(classes)
    source, library = folder / "codelets.cpp", folder / "codelets.so"
    stop = "namespace stand_in { [[noreturn]] void stop(); }\n#define PL_STOP() stand_in::stop()\n"
    source.write_text(stop + edit(made.text) + "\n" + _glue(made))
    with as_file(files("poplite.testing").joinpath("native")) as headers:
        command = [*any_compiler(), "-std=c++17", "-O0", "-shared", "-fPIC", *flags]
        compile_with([*command, "-I", headers, source, "-o", library], "codelets")
    return CompiledCodelets(ctypes.CDLL(str(library)), made.names)


def _glue(made: CodeletFile) -> str:
    lines = ['#include "binding.hpp"', "void stand_in::stop() { throw stand_in::Stopped{}; }"]
    for cls, name in made.names.items():
        binds = " ".join(f"b.bind(v.{member(field.name)});" for field in declared_fields(cls))
        is_multi = issubclass(cls, MultiVertex)
        run = "for (unsigned w = 0; w < workers; ++w) all = v.compute(w) && all;"
        run = run if is_multi else "all = v.compute();"
        lines.append(
            f'extern "C" int run_{name}(void *const *data, const std::size_t *sizes, '
            "[[maybe_unused]] unsigned workers) {\n"
            f"  {name} v; stand_in::Binding b{{data, sizes}}; bool all = true;\n"
            f"  stand_in::Binding::use(workers); {binds}\n"
            f"  try {{ {run} }} catch (const stand_in::Stopped &) {{ return 2; }}\n"
            "  catch (const std::out_of_range &) { return 3; }\n  return all;\n}"
        )
    return "\n".join(lines) + "\n"


class CompiledCodelets:
    """Native codelets, by vertex class."""

    def __init__(self, library: ctypes.CDLL, names: Mapping[type[Vertex], str]) -> None:
        self._library, self._names = library, names

    def run(self, cls: type[Vertex], fields: Fields, workers: int = 6) -> bool | str:
        """Run one vertex in place; return its result, or the reason why it stopped."""
        rows: list[tuple[Any, int]] = []
        for field in declared_fields(cls):
            value = fields[field.name]
            if field.depth == 2:
                rows.append((None, len(value)))
            rows += [(each, each.size) for each in (value if field.depth == 2 else [value])]
        data = (ctypes.c_void_p * len(rows))(
            *[None if a is None else a.ctypes.data for a, _ in rows]
        )
        sizes = (ctypes.c_size_t * len(rows))(*[size for _, size in rows])
        found = getattr(self._library, f"run_{self._names[cls]}")(data, sizes, workers)
        return {2: STOPPED, 3: OUTSIDE}.get(found) or bool(found)


def run_interpreted(cls: type[Vertex], fields: Fields, workers: int = 6) -> bool | str:
    """Run one vertex in place, as the simulator does in its interpreted form."""
    given = {f.name: fields[f.name] for f in declared_fields(cls)}
    for field in declared_fields(cls):
        if not field.is_edge and not field.depth:
            given[field.name] = given[field.name][0]
    form = meaning_of(cls).interpreted()
    is_multi = issubclass(cls, MultiVertex)
    if is_multi:
        given["num_workers"] = workers
    own, result = InterpretedSelf(cls, given), True
    try:
        with np.errstate(all="ignore"):
            for arguments in [(w,) for w in range(workers)] if is_multi else [()]:
                result = form(own, *arguments) is not False and result
    except TensorIndexError:
        return OUTSIDE
    except Exception:
        return STOPPED
    return result


def copied(fields: Fields) -> dict[str, Any]:
    """Return fields with copies of the arrays."""
    return {
        name: [each.copy() for each in value] if isinstance(value, list) else value.copy()
        for name, value in fields.items()
    }


def difference(cls: type[Vertex], native: CompiledCodelets, fields: Fields) -> str | None:
    """Return text for a difference between codelet and simulator; empty if there is none.

    Returns None if the simulator finds an out-of-range index; the codelet is then not run.
    """
    defined, made = copied(fields), copied(fields)
    expected = run_interpreted(cls, defined)
    if expected == OUTSIDE:
        return None
    found = native.run(cls, made)
    if found != expected:
        return f"compute of {cls.__name__} returns {expected}, but its codelet returns {found}"
    if expected == STOPPED:
        return ""
    for field in declared_fields(cls):
        if not field.writes:
            continue
        pairs = zip(_listed(made[field.name]), _listed(defined[field.name]), strict=True)
        for row, (got, want) in enumerate(pairs):
            wrong = np.flatnonzero(~equal_elements(got, want))
            if len(wrong):
                at = int(wrong[0])
                place = f"{field.name}[{row}]" if field.depth == 2 else field.name
                index = f"[{at}]" if field.depth else ""
                which = f"'{place}'{index} of {cls.__name__}"
                return f"{which} is {want[at]!s} in compute, but {got[at]!s} in C++"
    return ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def equal_elements(got: npt.NDArray[Any], want: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which elements are bit-identical; all NaNs count as equal."""
    if got.dtype.kind != "f":
        return np.asarray(got == want)
    bits = f"u{got.dtype.itemsize}"
    return np.asarray((got.view(bits) == want.view(bits)) | (np.isnan(got) & np.isnan(want)))
