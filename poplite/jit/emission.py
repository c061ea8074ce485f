"""Code that is being emitted, as what emits it sees it: where it goes, and how values are held.

    code.builder                     llvmlite's builder, where the next instruction goes
    code.kinds, code.result          types of operands and result of the call that is emitted
    code.parts(kind, value).length   a member of a value that has several
    code.value_of(parts)             such a value, from its members
    code.cast(value, kind, to)       conversions, other operations and functions
    code.stop(status)                the function returns: its vertex stops

Importing this module imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numba.core import cgutils
from numba.core.typing.templates import signature

from poplite.frozen import frozen

if TYPE_CHECKING:
    from llvmlite import ir

    from poplite.jit.numba_context import Watch


@frozen
class Emission:
    """Where code is emitted, for a call with operands of types `kinds`, if it is one."""

    context: Any
    builder: ir.IRBuilder
    kinds: Sequence[Any] = ()
    result: Any = None

    @property
    def watch(self) -> Watch | None:
        """What inspects the operations of the function that is being compiled."""
        found: Watch | None = self.context.typing_context.watch
        return found

    def register(self, kind: Any) -> ir.Type:
        """Return the LLVM type of values of a type."""
        return self.context.get_value_type(kind)

    def parts(self, kind: Any, value: Any = None) -> Any:
        """Return an object with the members of a value, or of a new one, to be read and set.

        They are on the stack, as Numba's variables are: instructions on whole values become
        longer code.
        """
        return cgutils.create_struct_proxy(kind)(self.context, self.builder, value=value)

    def value_of(self, parts: Any) -> Any:
        """Emit the value of which there are `parts`."""
        return parts._getvalue()

    def cast(self, value: Any, kind: Any, to: Any) -> Any:
        """Emit a conversion."""
        return self.context.cast(self.builder, value, kind, to)

    def constant(self, kind: Any, value: float) -> Any:
        """Return a number as a value of a type."""
        return self.context.get_constant(kind, value)

    def operation(self, key: object, result: Any, *kinds: Any) -> Callable[..., Any]:
        """Return what emits an operation, known by `key`, on operands of these types."""
        emit = self.context.get_function(key, signature(result, *kinds))
        return lambda *operands: emit(self.builder, operands)

    def function(self, kind: Any, given: Sequence[Any]) -> tuple[Callable[..., Any], Any]:
        """Return what emits calls of a function on values of `given` types, and its result's type.

        Values are cast to the types of its arguments; those that are left out have their defaults.
        """
        context, builder, count = self.context, self.builder, len(given)
        typed = context.typing_context.resolve_function_type(kind, tuple(given), {})
        emit = context.get_function(kind, typed)
        left_out = list(typed.pysig.parameters.values())[count:] if typed.pysig else []
        defaults = [
            context.get_constant_generic(builder, own, parameter.default)
            for own, parameter in zip(typed.args[count:], left_out, strict=True)
        ]

        def call(*values: Any) -> Any:
            casts = zip(values, given, typed.args, strict=False)
            return emit(builder, [*(self.cast(*each) for each in casts), *defaults])

        return call, typed.return_type

    def stop(self, status: Any) -> None:
        """Emit the return from the function, with a status of `poplite.jit.instructions`."""
        self.context.call_conv._return_errcode_raw(self.builder, status)
