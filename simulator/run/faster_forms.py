"""Which vertex classes an engine may run in their faster forms, where it compiles them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from poplite.compile.options import Faster, Interpret
from poplite.executable.executable import Executable
from poplite.executable.step import vertex_classes
from poplite.simulator.codegen.compute_code import modes_of
from poplite.vertex.compute import FasterForm, faster_form
from poplite.vertex.vertex import MultiVertex, Vertex

Forms = Mapping[type[Vertex], FasterForm]
"""The faster form of each class that has one."""


def faster_forms(executable: Executable, faster: Faster | None, interpret: Interpret) -> Forms:
    """Return the forms that an engine with these arguments may run.

    Classes whose results depend on floating-point behaviour other than the default have none: a
    faster form may round, and trap, in another order.  Raises what `faster_form` raises.
    """
    if faster is False or interpret is True:
        return {}
    classes = vertex_classes(executable.steps)
    found = {cls: faster_form(cls) for cls in classes if not modes_of(cls, executable.float_modes)}
    is_tolerant = faster == "tolerant"
    return {cls: form for cls, form in found.items() if form and (is_tolerant or not form.rtol)}


def is_put_off(form: FasterForm) -> bool:
    """Return whether strict checks leave a form alone until they no longer look at its step.

    They look at a `MultiVertex` for long, by its `compute`. The library's tests compare its forms;
    to compile them for that as well took half the time of a first product.
    """
    is_library = form.vertex.__module__.startswith("poplite.vertices.")
    return is_library and issubclass(form.vertex, MultiVertex)


def ran(form: FasterForm) -> str:
    """Return the line of an error that says which faster form a vertex ran.

    It is the same in all errors, so that a form is found by it.
    """
    return f"its faster form {form} ran, of {form.location}"


def differing(
    defined: npt.NDArray[Any], faster: npt.NDArray[Any], rtol: float
) -> npt.NDArray[np.bool_]:
    """Return where results of a faster form differ from those of `compute` by more than they may.

    One NaN is as good as another: which of two an addition keeps is the processor's choice.

    >>> nan, zero = np.float32(np.nan), np.float32(0)
    >>> differing(np.array([nan, zero]), np.array([-nan, -zero]), 0.0).tolist()
    [False, True]
    """
    if defined.dtype.kind != "f":
        return np.asarray(defined != faster)
    if rtol:
        with np.errstate(invalid="ignore"):
            is_close = np.isclose(faster, defined, rtol=rtol, atol=0.0, equal_nan=True)
        return np.asarray(~is_close)
    bits = f"u{defined.itemsize}"
    are_nan = np.isnan(defined) & np.isnan(faster)
    return np.asarray((defined.view(bits) != faster.view(bits)) & ~are_nan)
