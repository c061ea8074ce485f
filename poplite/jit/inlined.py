"""Python functions that compiled code calls: compiled with it, inlined where called.

Numba's typing asks for the result of a call; the function is compiled then, once for each
types of its arguments, and linked to its caller when the call is emitted::

    near(x, 1)            types.Function: the function's own arguments
    self.near(x, 1)       types.BoundFunction: self is passed first

Importing this module imports Numba.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any
from weakref import ref

from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.typing.templates import AbstractTemplate, Signature, fold_arguments, signature

from poplite.frozen import frozen
from poplite.jit.numba_context import compile_library, contexts, referred

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llvmlite import ir

    from poplite.jit.emission import Emission


@frozen
class _Key:
    """What identifies a function in Numba, for ever; hidden from what is registered for it."""

    function: ref[Callable[..., Any]]


class _FunctionType(types.Function):
    """A function called by name; equal for equal functions."""

    @property
    def key(self) -> tuple[_Key]:
        """What makes it equal to others."""
        return (self.typing_key,)


# It is kept in a variable where an argument of the call branches: f(a if b else c).
register_default(_FunctionType)(models.OpaqueModel)


def function_type(function: Callable[..., Any]) -> Any:
    """Return the Numba type of a function that is called by name."""
    return _FunctionType(_template(function))


def method_type(function: Callable[..., Any], owner: Any) -> Any:
    """Return the Numba type of a function that is called with an `owner` before its arguments."""
    return types.BoundFunction(_template(function), owner)


def is_harmless(code: Emission, kind: Any) -> bool:
    """Return whether a function may be called in vain: it stops no vertex, and comes to an end."""
    typing, key = code.context.typing_context, kind.typing_key
    if typing.watch is not None:
        return False
    return not isinstance(key, _Key) or key.function() in typing.harmless


def call_compiled(
    code: Emission,
    function: Callable[..., Any],
    kinds: Sequence[Any],
    values: Sequence[Any],
    result: Any,
) -> tuple[Any, Any]:
    """Compile a function and emit its call; return its status, an i32, and what it returned.

    `kinds` are the types of its arguments, `result` that of what it returns.
    """
    context = code.context
    compiled = compile_library(context, function, kinds, result)
    context.active_code_library.add_linking_library(compiled.library)
    status, returned = context.call_internal_no_propagate(
        code.builder, compiled.fndesc, signature(result, *kinds), values
    )
    return status.code, returned


def _template(called: Callable[..., Any]) -> type[AbstractTemplate]:
    held = ref(called)

    class _Call(AbstractTemplate):
        key = _Key(held)
        this: Any = None  # Numba sets it for a bound function

        def generic(self, args: Any, kws: Any) -> Any:
            function = referred(held)
            owner = () if self.this is None else (self.this,)
            full = inspect.signature(function, follow_wrapped=False)
            called = inspect.Signature(list(full.parameters.values())[len(owner) :])
            passed = fold_arguments(called, args, kws, self._type_passed, self._type_default, None)
            arguments = (*owner, *passed)
            target = contexts()[1]
            compiled = self.context.inlined
            if (function, arguments) not in compiled:
                compiled[function, arguments] = compile_library(target, function, arguments, None)
            if self.key not in target._defns:
                # Registries are read between compilations; this function turned up in one.
                target.insert_func_defn([(_emit_call, self.key, (types.VarArg(types.Any),))])
            result = types.unliteral(compiled[function, arguments].fndesc.restype)
            return Signature(result, passed, self.this, called)

        def _type_passed(self, index: int, parameter: inspect.Parameter, passed: Any) -> Any:
            return types.unliteral(passed)

        def _type_default(self, index: int, parameter: inspect.Parameter, default: Any) -> Any:
            return self.context.resolve_value_type(default)

    def _emit_call(context: Any, builder: ir.IRBuilder, sig: Any, args: Sequence[Any]) -> Any:
        compiled = context.typing_context.inlined[referred(held), tuple(sig.args)]
        context.active_code_library.add_linking_library(compiled.library)
        return context.call_internal(builder, compiled.fndesc, sig, args)

    return _Call
