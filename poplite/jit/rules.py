"""Rules for poplite's types in Numba: typing and code generation.

A rule types a call; its emitter gets an `Emission` and the values of the operands::

    @rule_for(len)
    def _type_length(owner):                    types of the result and of the cast operands
        return (types.int64, owner) if isinstance(owner, VectorType) else None

    @code_for(len, VectorType)
    def _emit_length(code, owner):
        return code.parts(code.kinds[0], owner).length

Functions of vertices are compiled with their caller: typing needs the result type of a call, so the
function is compiled at that point, once for each combination of argument types, and linked when the
call is emitted::

    near(x, 1)            types.Function: the function's own arguments
    self.near(x, 1)       types.BoundFunction: self is passed first

Importing this module imports Numba.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from numba.core import types
from numba.core.datamodel import models, register_default
from numba.core.typeconv import Conversion
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    Signature,
    fold_arguments,
    signature,
)

from poplite.frozen import frozen
from poplite.jit.numba_context import (
    Emission,
    compile_library,
    contexts,
    lowerings,
    overrides,
    referred,
    typing_rules,
)

if TYPE_CHECKING:
    from llvmlite import ir

Rule = Callable[..., Sequence[Any] | None]
"""Takes types; returns the type of the result and the types to cast operands to, or None to
reject.
"""

Emit = TypeVar("Emit", bound=Callable[..., Any])
"""Takes an `Emission` and the operands' values; returns the result's value, or None.
"""

# -- typing ----------------------------------------------------------------------------------------


def rule_for(*functions: object, sees_numbers: bool = False) -> Callable[[Rule], Rule]:
    """Register the rule for calls to the given functions without keyword arguments.

    With `sees_numbers`, an int literal has a literal type, which includes its value.
    """

    def register(rule: Rule) -> Rule:
        for each in functions:
            template = _template(each, rule, sees_numbers)
            typing_rules.register_global(each, types.Function(template))
        return rule

    return register


def _template(name: object, rule: Rule, sees_numbers: bool) -> type[AbstractTemplate]:
    class _Call(AbstractTemplate):
        key = name
        prefer_literal = sees_numbers
        this: Any = None  # Numba sets it for a method

        def generic(self, args: Any, kws: Any) -> Any:
            owner = () if self.this is None else (self.this,)
            found = None if kws else rule(*owner, *args)
            return found and signature(*found, recvr=self.this)

    return _Call


def rule_for_method(
    owner: type[Any], name: str, *, sees_numbers: bool = False
) -> Callable[[Rule], Rule]:
    """Register the rule for calls to a method; its first argument is the type of the owner."""

    def register(rule: Rule) -> Rule:
        template = _template(_method(owner, name), rule, sees_numbers)

        @rule_for_attributes(owner)
        def resolve(kind: Any, attribute: str) -> Any:
            return types.BoundFunction(template, kind) if attribute == name else None

        return rule

    return register


def _method(owner: type[Any], name: str) -> str:
    return f"{owner.__name__}.{name}"


def rule_for_attributes(owner: type[Any]) -> Callable[[Rule], Rule]:
    """Register a function that returns the type of an attribute; None for an unknown one."""

    def register(rule: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
        @typing_rules.register_attr
        class _Attributes(AttributeTemplate):
            key = owner

            def generic_resolve(self, kind: Any, name: str) -> Any:
                return rule(kind, name)

        return rule

    return register


# -- code ------------------------------------------------------------------------------------------


def code_for(key: object, *kinds: Any) -> Callable[[Emit], Emit]:
    """Register an emitter of calls to a function with operands of the given, or of any, types."""
    return _to(lowerings.lower(key, *(kinds or [types.VarArg(types.Any)])))


def code_in_place_of(key: object, *kinds: Any) -> Callable[[Emit], Emit]:
    """Register an emitter that replaces Numba's own code for an operation."""
    return _to(overrides.lower(key, *kinds))


def _to(register: Callable[[Callable[..., Any]], Any]) -> Callable[[Emit], Emit]:
    def registering(emit: Emit) -> Emit:
        def lower(context: Any, builder: ir.IRBuilder, sig: Any, args: Any) -> Any:
            value = emit(Emission(context, builder, sig.args, sig.return_type), *args)
            return context.get_dummy_value() if value is None else value

        register(lower)
        return emit

    return registering


def code_for_method(owner: type[Any], name: str, *kinds: Any) -> Callable[[Emit], Emit]:
    """Register an emitter of calls to a method with operands of the given types."""
    return code_for(_method(owner, name), owner, *kinds)


def code_for_walk(owner: type[Any]) -> Callable[[Emit], Emit]:
    """Register an emitter of the start of an iteration over the elements of a value."""
    return code_for("getiter", owner)


def code_for_next(walk: type[Any]) -> Callable[[Emit], Emit]:
    """Register an emitter of the next step of an iteration.

    It gets the iterator and a pair to set: `first` to the element, `second` to whether it exists.
    """

    def register(emit: Emit) -> Emit:
        @code_for("iternext", walk)
        def step(code: Emission, value: Any) -> Any:
            pair = code.parts(code.result)
            emit(code, value, pair)
            return code.value_of(pair)

        return emit

    return register


def code_for_attributes(owner: type[Any]) -> Callable[[Emit], Emit]:
    """Register an emitter of the load of an attribute; it gets the value and the name."""

    def register(emit: Emit) -> Emit:
        @lowerings.lower_getattr_generic(owner)
        def lower(context: Any, builder: Any, kind: Any, value: Any, name: str) -> Any:
            found = emit(Emission(context, builder, (kind,)), value, name)
            return context.get_dummy_value() if found is None else found

        return emit

    return register


def code_for_stores(owner: type[Any]) -> Callable[[Emit], Emit]:
    """Register an emitter of the store of an attribute; it gets owner, value and name."""

    def register(emit: Emit) -> Emit:
        @lowerings.lower_setattr_generic(owner)
        def lower(context: Any, builder: Any, sig: Any, args: Any, name: str) -> None:
            emit(Emission(context, builder, sig.args), *args, name)

        return emit

    return register


def code_for_cast(own: type[Any], to: type[Any]) -> Callable[[Emit], Emit]:
    """Register an emitter of the cast of a value from one type to another."""

    def register(emit: Emit) -> Emit:
        @lowerings.lower_cast(own, to)
        def lower(context: Any, builder: Any, kind: Any, result: Any, value: Any) -> Any:
            return emit(Emission(context, builder, (kind,), result), value)

        return emit

    return register


# -- types -----------------------------------------------------------------------------------------


Layout = TypeVar("Layout", bound=Callable[[Any], Any])


def held_in_one(kind: type[Any]) -> Callable[[Layout], Layout]:
    """Register a function that returns the LLVM type of a value in one register."""
    return _held(kind, models.PrimitiveModel)


def held_in_parts(kind: type[Any]) -> Callable[[Layout], Layout]:
    """Register a function that returns the names and types of the members of a value."""
    return _held(kind, models.StructModel)


def _held(kind: type[Any], model: Any) -> Callable[[Layout], Layout]:
    def register(layout: Layout) -> Layout:
        class _Model(model):
            def __init__(self, manager: Any, own: Any) -> None:
                super().__init__(manager, own, layout(own))

        register_default(kind)(_Model)
        return layout

    return register


class WidenedType(types.Type):
    """A type ordered by width: a variable that may hold values of two types has the wider one."""

    def is_within(self, other: Any) -> bool:
        """Return whether the other type can hold all values of this one."""
        raise NotImplementedError

    def unify(self, typingctx: Any, other: Any) -> Any:
        """Return the wider of two types; None if neither is wider."""
        if self.is_within(other):
            return other
        return self if isinstance(other, type(self)) and other.is_within(self) else None

    def can_convert_to(self, typingctx: Any, other: Any) -> Any:
        """Return Numba's rank of the conversion; None if there is none."""
        return Conversion.safe if self.is_within(other) else None


# -- Python functions that compiled code calls -----------------------------------------------------


@frozen
class _Key:
    """Stable key of a function in Numba's registry, hidden from its registrations."""

    function: ref[Callable[..., Any]]


class _FunctionType(types.Function):
    """The type of a function that is called by name; equal for equal functions."""

    @property
    def key(self) -> tuple[_Key]:
        """The key by which types are equal."""
        return (self.typing_key,)


# If an argument of a call branches, as in f(a if b else c), a variable holds the function.
register_default(_FunctionType)(models.OpaqueModel)


def function_type(function: Callable[..., Any]) -> Any:
    """Return the Numba type of a function that is called by name."""
    return _FunctionType(_call_template(function))


def method_type(function: Callable[..., Any], owner: Any) -> Any:
    """Return the Numba type of a function that is called with an `owner` before its arguments."""
    return types.BoundFunction(_call_template(function), owner)


def is_harmless(code: Emission, kind: Any) -> bool:
    """Return whether a needless call to a function is harmless: it terminates without a fault."""
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
    """Compile a function and emit a call to it; return its status, an i32, and its result.

    `kinds` are the types of the arguments, `result` is the type of the result.
    """
    context = code.context
    compiled = compile_library(context, function, kinds, result)
    context.active_code_library.add_linking_library(compiled.library)
    status, returned = context.call_internal_no_propagate(
        code.builder, compiled.fndesc, signature(result, *kinds), values
    )
    return status.code, returned


def _call_template(called: Callable[..., Any]) -> type[AbstractTemplate]:
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
                # Registries are read between compilations, but this function was added during one.
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
