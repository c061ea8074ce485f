"""Compare C++ codelets, compiled for this machine, with their vertex classes on random fields.

    check_codelet(Axpy)                                            any lengths, any values
    check_codelet(Product, lambda n: {"a": (3, n), ...})           lengths that match

The headers in `native` replace Poplar's; every index is checked.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.errors import TensorIndexError
from poplite.ipu.building import compile_with, cpp_compiler
from poplite.ipu.codelets.file_text import CodeletFile, codelet_file, declared_fields
from poplite.ipu.codelets.function import member
from poplite.testing.addressed import checked
from poplite.testing.faster_forms import (
    DrawnFields,
    Shapes,
    classes_of,
    drawn_fields,
    fields_text,
    smallest_difference,
)
from poplite.vertex.compute import InterpretedSelf, interpreted
from poplite.vertex.vertex import MultiVertex, Vertex

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
        command = [*cpp_compiler(), "-std=c++17", "-O0", "-shared", "-fPIC", *flags]
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
    form = interpreted(cls)
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
