"""A private Numba target: typing, registries, code generation for vertices.

It differs from the Numba that users call in two respects; users' code is not affected, because the
contexts here are private:

* **Weak numbers.** With Numba's rules `(i + 0.5) * self.step` is computed in double, since an
  integer or a Python float outweighs a float32. Here Python numbers are weak: an operation
  with one float32 operand is a float32 operation, and a variable that is a Python number on
  one path and float32 on another becomes float32. `docs/arithmetic.md` has the table.
* **Text.** The result is LLVM text, which is changed and compiled without Numba: `emitted_module`
  returns it as it was emitted, and `poplite.jit.native_code` compiles it.

Importing this module imports Numba, so it is imported only when there is code to compile.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType
from typing import Any, Protocol, TypeVar
from weakref import ref

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import (
    callconv,
    cgutils,
    compiler,
    config,
    cpu,
    typed_passes,
    types,
    typing,
    untyped_passes,
)
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.imputils import Registry as LoweringRegistry
from numba.core.typing.templates import (
    Registry as TypingRegistry,
    RegistryLoader,
    _OverloadAttributeTemplate,
    _OverloadFunctionTemplate,
    builtin_registry,
    signature,
)

from poplite.frozen import frozen
from poplite.jit.kernel_code import RAISED_STATUS
from poplite.jit.native_code import Processor, hide, with_short_vectors

typing_rules = TypingRegistry()
"""Typing templates for poplite's own types and intrinsics."""

lowerings = LoweringRegistry("poplite")
"""Code generation for poplite's own types and intrinsics."""

overrides = LoweringRegistry("poplite overrides")
"""Code generation that replaces Numba's for the same operation and types."""


replacements: dict[object, Callable[..., Any]] = {}
"""Python functions that poplite's functions replace in compiled code, under any name."""

_IN_PYTHON = (_OverloadAttributeTemplate, _OverloadFunctionTemplate)
"""Base classes of the Numba rules that return a Python function to be compiled for a call."""

_REPLACEABLE = (type, BuiltinFunctionType, FunctionType, np.ufunc)


T = TypeVar("T")


def referred(held: ref[T]) -> T:
    """Return the target of a weak reference; it exists while code is made from it."""
    found = held()
    assert found is not None, "the caller that has code made from it keeps it"
    return found


_ARITHMETIC = frozenset(
    getattr(operator, prefix + name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
    for prefix in ("", "i")
) | {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


_ON_INTEGERS = frozenset(
    getattr(operator, prefix + name)
    for name in ("add", "sub", "mul", "floordiv", "mod", "pow")
    for prefix in ("", "i")
) | {operator.and_, operator.iand, operator.or_, operator.ior, operator.xor, operator.ixor}
_CAST_TO = {types.float32: _ARITHMETIC, types.uint64: _ON_INTEGERS}
"""Operations whose operands are cast to the wider operand's type, by that type."""

_DIVISIONS = frozenset({operator.truediv, operator.itruediv})
_ROUNDINGS = frozenset({math.floor, math.ceil})


def _wider(first: Any, second: Any) -> Any:
    """Return the common type of two different number types if Numba's own rule differs."""
    pair = {first, second}
    if len(pair) == 2 and all(isinstance(t, (types.Number, types.Boolean)) for t in pair):
        if types.float32 in pair:
            return types.float32
        if types.uint64 in pair and types.float64 not in pair:
            return types.uint64
    return None


def _is_in_python(template: type) -> bool:
    """Return whether a rule returns a Python function.

    Numba's rules are abstract base classes: `issubclass` would compare each with all classes that
    derive from these two, and cache 40,000 answers, which Python's garbage collector visits.
    """
    return not set(_IN_PYTHON).isdisjoint(template.__mro__)


class Watch(Protocol):
    """Adds code to operations, casts and returns."""

    def concerns(self, key: object, kinds: Sequence[Any]) -> bool:
        """Return whether to inspect an operation, given by `key`, on operands of types `kinds`."""

    def operation(
        self, code: Emission, key: object, operands: Sequence[Any], emit: Callable[[], Any]
    ) -> Any:
        """Emit an operation and the code that inspects it; return its result."""

    def cast(self, code: Emission, value: Any, result: Any) -> None:
        """Inspect a double that was converted to float32."""

    def stored(self, code: Emission, found: Any) -> None:
        """Inspect a store that reports whether its value was too large."""

    def status(self, builder: ir.IRBuilder) -> Any:
        """Emit the status that a function returns; None means success."""


class WeakNumberContext(typing.Context):
    """Typing context in which Python numbers yield to float32, and ints to unsigned types."""

    inlined: dict[Any, Any]
    """Functions compiled along with the current one, by function and argument types."""

    forms: Mapping[Any, Any]
    """Functions that are compiled in place of others."""

    harmless: frozenset[Any] = frozenset()
    """Functions that never stop a vertex, and always terminate."""

    watch: Watch | None = None
    """The watch of the function that is being compiled."""

    @contextmanager
    def alone(
        self, forms: Mapping[Any, Any], harmless: frozenset[Any], watch: Watch | None
    ) -> Iterator[None]:
        """Compile one piece of code, without state from others or for others."""
        self.inlined, self.forms, self.harmless, self.watch = {}, forms, harmless, watch
        try:
            yield
        finally:
            self.inlined, self.forms, self.harmless, self.watch = {}, {}, frozenset(), None

    def init(self) -> None:
        """Start without typed operations."""
        self._typed: dict[Any, Any] = {}

    def load_additional_registries(self) -> None:
        """Install the rules for mathematics, and poplite's own rules."""
        from numba.core.typing import mathdecl

        self.install_registry(mathdecl.registry)
        self.install_registry(typing_rules)

    def _load_builtins(self) -> None:
        """Install the rules of Python's operators and functions; arrays would take 0.3 s more."""
        from numba.core.typing import builtins  # noqa: F401  (this registers them)

        self.install_registry(builtin_registry)

    def install_registry(self, registry: Any) -> None:
        """Install rules, except Python functions, which are for arrays and containers.

        To install Python functions, Numba would also set up the contexts of its own compiler.
        """
        if registry not in self._registries:
            self._registries[registry] = RegistryLoader(registry)
        new = self._registries[registry].new_registrations
        for template in new("functions"):
            if not _is_in_python(template):
                self.insert_function(template(self))
        for template in new("attributes"):
            if not _is_in_python(template):
                self.insert_attributes(template(self))
        for name, kind in new("globals"):
            if not any(map(_is_in_python, getattr(kind, "templates", ()))):
                known = self._lookup_global(name)
                if known is not None:
                    kind = known.augment(kind)
                    self._remove_global(name)
                self._insert_global(name, kind)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """Type a call; the operands of arithmetic are cast to the wider of their kinds."""
        key = getattr(func, "typing_key", func)
        if len(args) == 2 and (key in _ARITHMETIC or key in _ON_INTEGERS):
            pair = [types.unliteral(arg) for arg in args]
            if all(isinstance(each, types.Number) for each in pair):
                return self._arithmetic(func, key, *pair)
            wide = _wider(*pair)
            if key in _CAST_TO.get(wide, ()):
                args = (wide, wide)
        elif key in _ROUNDINGS and args == (types.uint64,):
            args = (types.int64,)
        return super().resolve_function_type(func, args, kws)

    def _arithmetic(self, func: Any, key: Any, first: Any, second: Any) -> Any:
        """Type an operation on two numbers; Numba would try all rules each time."""
        asked = func, first, second
        if asked not in self._typed:
            wide, args = _wider(first, second), (first, second)
            if key in _CAST_TO.get(wide, ()):
                args = (wide, wide)
            elif wide == types.uint64 and key in _DIVISIONS:
                args = (types.float64, types.float64)
            self._typed[asked] = super().resolve_function_type(func, args, {})
        return self._typed[asked]

    def unify_pairs(self, first: Any, second: Any) -> Any:
        """Unify the types of one variable on two paths; the wider kind wins."""
        wide = _wider(types.unliteral(first), types.unliteral(second))
        return wide or super().unify_pairs(first, second)

    def resolve_value_type(self, val: Any) -> Any:
        """Type a value from outside the function; poplite replaces some functions."""
        if isinstance(val, _REPLACEABLE):
            val = replacements.get(val, val)
        if isinstance(val, FunctionType) and self._lookup_global(val) is None:
            from poplite.jit.rules import function_type  # which imports this module

            return function_type(val)
        return super().resolve_value_type(val)

    def resolve_getattr(self, typ: Any, attr: str) -> Any:
        """Type a member of a module; poplite replaces some functions."""
        if isinstance(typ, types.Module):
            found = getattr(typ.pymod, attr, None)
            if isinstance(found, _REPLACEABLE) and found in replacements:
                return self.resolve_value_type(found)
        return super().resolve_getattr(typ, attr)

    def resolve_setattr(self, target: Any, attr: str, value: Any) -> Any:
        """Type `target.attr = value`; poplite's types may reject it and say why."""
        check = getattr(target, "check_store", None)
        if check is not None:
            check(attr, value)
        return super().resolve_setattr(target, attr, value)


class _CallConv(callconv.CPUCallConv):
    """Numba's calling convention, with `raise` reduced to a status.

    Numba would create a Python exception; here, the driver records which vertex stopped.
    """

    def return_value(self, builder: ir.IRBuilder, retval: Any) -> None:
        """Return a result with its status."""
        watch = self.context.typing_context.watch
        status = None if watch is None else watch.status(builder)
        if status is None:
            super().return_value(builder, retval)
            return
        builder.store(retval, self._get_return_argument(builder.function))
        self._return_errcode_raw(builder, status)

    def return_user_exc(self, builder: ir.IRBuilder, *args: Any, **named: Any) -> None:
        """Return from a function that raises."""
        self._return_errcode_raw(builder, RAISED_STATUS)


class TargetContext(cpu.CPUContext):
    """CPU lowering with poplite's registries and a calling convention that does not raise."""

    @property
    def call_conv(self) -> _CallConv:
        """The convention by which functions return results and faults."""
        return _CallConv(self)

    def init(self) -> None:
        """Set up code generation to LLVM text."""
        super().init()
        self._internal_codegen = TextCodegen("poplite")

    def load_additional_registries(self) -> None:
        """Install the code generation that vertices need."""
        # Importing these modules fills Numba's builtin registry.
        from numba.cpython import builtins, iterators, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)
        self.install_registry(lowerings)

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return the emitter of an operation; the watch may add code to it."""
        call = super().get_function(fn, sig, _firstcall)
        watch = self.typing_context.watch
        if watch is None:
            return call
        key = fn.get_impl_key(sig) if isinstance(fn, types.Callable) else fn
        if not watch.concerns(key, sig.args):
            return call

        def watched(builder: ir.IRBuilder, args: Sequence[Any], loc: Any = None) -> Any:
            code = Emission(self, builder, sig.args, sig.return_type)
            return watch.operation(code, key, args, lambda: call(builder, args, loc))

        return watched

    def cast(self, builder: ir.IRBuilder, val: Any, fromty: Any, toty: Any) -> Any:
        """Emit a cast; the watch may inspect its result."""
        result = super().cast(builder, val, fromty, toty)
        watch = self.typing_context.watch
        if watch is not None and (fromty, toty) == (types.float64, types.float32):
            watch.cast(Emission(self, builder), val, result)
        return result

    def post_lowering(self, mod: Any, library: Any) -> None:
        """Link nothing: without reference counts, vertices do not need Numba's library for them."""

    def refresh(self) -> None:
        """Install all registrations so far; among equal signatures, the last one is used."""
        super().refresh()
        self.install_registry(overrides)


class Pipeline(compiler.CompilerBase):
    """The passes that numeric code needs, without those that change its meaning.

    Before it infers types, Numba prunes branches whose condition it can evaluate. That would
    change the type of a variable that only the pruned branch makes float32.
    """

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline, from byte code to machine code."""
        manager = PassManager("poplite")
        for step in (
            untyped_passes.TranslateByteCode,
            untyped_passes.FixupArgs,
            untyped_passes.IRProcessing,
            untyped_passes.GenericRewrites,
            untyped_passes.ReconstructSSA,
            typed_passes.NopythonTypeInference,
            typed_passes.PreLowerStripPhis,
            typed_passes.NoPythonSupportedFeatureValidation,
            typed_passes.IRLegalization,
            typed_passes.AnnotateTypes,
            typed_passes.NativeLowering,
            typed_passes.NoPythonBackend,
        ):
            manager.add_pass(step, step.__name__)
        manager.finalize()
        return [manager]


_contexts: tuple[WeakNumberContext, TargetContext] | None = None


def _made_once() -> tuple[WeakNumberContext, TargetContext]:
    global _contexts
    if _contexts is None:
        typing_context = WeakNumberContext()
        _contexts = typing_context, TargetContext(typing_context)
    return _contexts


def contexts() -> tuple[WeakNumberContext, TargetContext]:
    """Return the typing and the target context, refreshed with all registrations."""
    made = _made_once()
    made[1].refresh()
    return made


def codegen() -> TextCodegen:
    """Return the code generation that collects modules; it does not depend on registrations."""
    found: TextCodegen = _made_once()[1].codegen()
    return found


def common_type(kinds: Sequence[Any]) -> Any:
    """Return the type that can hold values of all the given types; None if there is none."""
    return _made_once()[0].unify_types(*kinds)


def type_of_call(function: Any, kinds: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """Return the types of a call's result and arguments; None if the call is rejected."""
    found = _made_once()[0].resolve_function_type(function, tuple(kinds), {})
    return None if found is None else (found.return_type, found.args)


@global_compiler_lock
def compile_library(
    context: Any, function: Callable[..., Any], arguments: Sequence[Any], result: Any
) -> Any:
    """Compile a function into a separate library, to be linked and inlined.

    `arguments` and `result` are Numba types; None infers the result. Returns Numba's compile
    result, with `fndesc` and `library`.
    """
    return compiler.compile_extra(
        context.typing_context,
        context,
        context.typing_context.forms.get(function, function),
        tuple(arguments),
        result,
        _flags(),
        {},
        library=context.codegen().create_library(function.__qualname__),
        pipeline_class=Pipeline,
    )


def _flags() -> Any:
    flags = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.forceinline = True
    flags.error_model = "numpy"
    return flags


# -- code generation that stops before LLVM --------------------------------------------------------


class _Library(CPUCodeLibrary):
    """A library that becomes a linked LLVM module and is never run."""

    def _optimize_functions(self, ll_module: Any) -> None:
        pass

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_specific(self) -> None:
        pass


class TextCodegen(JITCPUCodegen):
    """Code generation into libraries that are not optimized."""

    _library_class = _Library

    @property
    def processor(self) -> Processor:
        """The processor for which code is compiled, according to Numba's options."""
        uses_svml, features = bool(config.USING_SVML), with_short_vectors(str(self._tm_features))
        return Processor(self._get_host_cpu_name(), features, int(config.OPT), uses_svml)

    def _add_module(self, module: Any) -> None:
        pass


# -- code that is being emitted --------------------------------------------------------------------


@frozen
class Emission:
    """The place where code is emitted; for a call, `kinds` are the types of its operands.

    code.builder                     llvmlite's builder, where the next instruction goes
    code.kinds, code.result          types of the operands and result of the emitted call
    code.parts(kind, value).length   a member of a value that has several members
    code.value_of(parts)             a value with several members, from its members
    code.cast(value, kind, to)       conversions, other operations and functions
    code.stop(status)                the function returns: its vertex stops
    """

    context: Any
    builder: ir.IRBuilder
    kinds: Sequence[Any] = ()
    result: Any = None

    @property
    def watch(self) -> Watch | None:
        """The watch of the function that is being compiled."""
        found: Watch | None = self.context.typing_context.watch
        return found

    def register(self, kind: Any) -> ir.Type:
        """Return the LLVM type for values of a type."""
        return self.context.get_value_type(kind)

    def parts(self, kind: Any, value: Any = None) -> Any:
        """Return an object with the members of a value, or of a new one, to be read and set.

        Members are on the stack, like Numba's variables: instructions on whole values would become
        longer code.
        """
        return cgutils.create_struct_proxy(kind)(self.context, self.builder, value=value)

    def value_of(self, parts: Any) -> Any:
        """Emit the value that consists of `parts`."""
        return parts._getvalue()

    def cast(self, value: Any, kind: Any, to: Any) -> Any:
        """Emit a conversion."""
        return self.context.cast(self.builder, value, kind, to)

    def constant(self, kind: Any, value: float) -> Any:
        """Return a number as a constant of a type."""
        return self.context.get_constant(kind, value)

    def operation(self, key: object, result: Any, *kinds: Any) -> Callable[..., Any]:
        """Return a function that emits an operation, given by `key`, on operands of `kinds`."""
        emit = self.context.get_function(key, signature(result, *kinds))
        return lambda *operands: emit(self.builder, operands)

    def function(self, kind: Any, given: Sequence[Any]) -> tuple[Callable[..., Any], Any]:
        """Return an emitter of calls to a function with `given` types, and the type of its result.

        Values are cast to the types of its arguments; omitted arguments have their defaults.
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
        """Emit the return from the function, with a status of `poplite.jit.kernel_code`."""
        self.context.call_conv._return_errcode_raw(self.builder, status)


# -- modules made from Python functions ------------------------------------------------------------


@global_compiler_lock
def emitted_module(
    exported: str,
    arguments: Mapping[str, ir.Type],
    result: ir.Type,
    emit: Callable[[Emission, Sequence[Any]], Any],
    *,
    forms: Mapping[Any, Any],
    harmless: frozenset[Any],
    watch: Watch | None,
) -> llvm.ModuleRef:
    """Return an unoptimized LLVM module with one visible function, linked with all its callees.

    `arguments` are types by name. `emit` emits the body of the function from the values of
    the arguments, and returns its result.  For `forms`, `harmless` and `watch` see
    `WeakNumberContext`.
    """
    typing_context, context = contexts()
    library = context.codegen().create_library(exported)
    module = context.create_module(exported)
    kind = ir.FunctionType(result, arguments.values())
    function = ir.Function(module, kind, exported)
    for argument, name in zip(function.args, arguments, strict=True):
        argument.name = name
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with typing_context.alone(forms, harmless, watch), context.push_code_library(library):
        builder.ret(emit(Emission(context, builder), function.args))
    library.add_ir_module(module)
    library.finalize()
    hide(library._final_module, exported)
    return library._final_module


def processor() -> Processor:
    """Return the processor of the code: this machine, unless the environment says otherwise."""
    return codegen().processor
