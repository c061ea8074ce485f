"""The text behind the user's, with one function for each codelet that runs `compute` on an object.

    extern "C" long long poplite_run_0(float *, long long, ..., void *) __asm__("vertex.run.0");

The parameters are, in this order::

    for each field   scalar          T *data
                     scalar state    T *data, then its value: a float, or a long long
                     vector          T *data, long long length
                     list            T *data, long long rows, stride, length, void *table
    then             void *about, long long worker (MultiVertex alone)
    for each list    void *objects   room for the objects of its rows

The object is memory on the stack: no constructor runs, so that it need not be defined, and members
may be const or private. Names begin with `poplite_`, since macros of the user hold here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from poplite.cpp.codelets import Codelet, CodeletField
from poplite.types import FLOAT, HALF, INT

RUN = "vertex.run."
"""Start of the names of functions, followed by the number of the codelet."""

_WORKERS = CodeletField("poplite_workers", "state", INT, 0, "SPAN", 1, False)

_C_NAMES = {
    **{"HALF": "_Float16", "LONGLONG": "long long"},
    "UNSIGNED_LONGLONG": "unsigned long long",
}


def shim(codelets: Sequence[Codelet]) -> list[str]:
    """Return the lines for the codelets of a text that can be used."""
    found = ["using namespace ::poplite_cpp;"]
    for number, codelet in enumerate(codelets):
        found += [] if codelet.refused else _function(number, codelet)
    return found


def _function(number: int, codelet: Codelet) -> list[str]:
    fields = [*([_WORKERS] if codelet.is_multi else []), *codelet.fields]
    head = f'extern "C" long long poplite_run_{number}({", ".join(_parameters(codelet, fields))})'
    worker = "static_cast<unsigned>(poplite_worker)" if codelet.is_multi else ""
    return [
        f'{head} __asm__("{RUN}{number}");',
        f"{head} {{",
        f"  typedef {codelet.spelled} poplite_type;",
        "  alignas(poplite_type) unsigned char poplite_space[sizeof(poplite_type)];",
        "  poplite_type &poplite_v = *reinterpret_cast<poplite_type *>(poplite_space);",
        *(f"  {_filled(place, field)};" for place, field in enumerate(fields)),
        f"  return (poplite_v.compute({worker}), poplite_ended());",
        "}",
    ]


def c_name(field: CodeletField) -> str:
    """Return the C++ name of the type of a field's elements."""
    name = repr(field.element)
    return _C_NAMES.get(name) or name.lower().replace("_", " ")


def _parameters(codelet: Codelet, fields: Sequence[CodeletField]) -> Iterator[str]:
    for place, field in enumerate(fields):
        name = f"poplite_{place}"
        yield f"{c_name(field)} *__restrict {name}"
        if field.depth == 0 and field.role == "state":
            yield f"{'float' if field.element in (FLOAT, HALF) else 'long long'} {name}_value"
        elif field.depth == 1:
            yield f"long long {name}_length"
        elif field.depth == 2:
            yield from (f"long long {name}_{each}" for each in ("rows", "stride", "length"))
            yield f"void *{name}_table"
    yield "void *poplite_about"
    if codelet.is_multi:
        yield "long long poplite_worker"
    for place, field in enumerate(fields):
        if field.depth == 2:
            yield f"void *__restrict poplite_{place}_objects"


def _filled(place: int, field: CodeletField) -> str:
    """Return the statement that fills a member."""
    name, member = f"poplite_{place}", f"poplite_v.{field.name}"
    if field.depth == 0 and field.role == "state":
        return f"poplite_state({member}, {name}_value)"
    if field.depth == 0:
        return f"poplite_fill({member}, {name})"
    if field.depth == 1:
        return f"poplite_fill({member}, {name}, {name}_length, {place}, poplite_about)"
    sizes = ", ".join(f"{name}_{each}" for each in ("rows", "stride", "length", "table"))
    return f"poplite_fill({member}, {name}, {sizes}, {place}, poplite_about, {name}_objects)"
