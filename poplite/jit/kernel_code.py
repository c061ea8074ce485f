"""Compile the Python text of poplite's kernels to LLVM; needs llvmlite, not Numba.

    text of a function  ->  syntax tree  ->  LLVM instructions  ->  `poplite.jit.native_code`

With Numba, the first use on each machine would take a second to import it and compile a kernel.
Kernels are simpler than the code that Numba is designed for (`poplite.jit.kernels` describes their
language): numbers are int64 and wrap around, pointers have one of three types, and functions are
inlined.

    statement    the instructions emitted
    name = ...   a store to the stack, which LLVM turns into a register; the first one sets the type
    for          a loop whose end and step are known before it starts
    a and b      branches: b is not evaluated if a is false; as a value, 1 or 0
    //, %        rounded down, as in Python; the divisor is not 0
    module.NAME  a constant integer of an imported module
    f(...)       a call to an internal function, inlined unless it is `not_inlined`, or the code
                 that a `Primitive` emits

Drivers, which have no Python text, use the helpers of this module for loops, stack slots, calls by
name, and statuses.

Importing this module imports llvmlite.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llvmlite import ir

from poplite.jit.kernels import Kernel, simple_kernels
from poplite.jit.native_code import Effort, host, optimized_object

if TYPE_CHECKING:
    from poplite.jit.build import Made

WORD, BOOL = ir.IntType(64), ir.IntType(1)

_POINTERS = {
    "Int64s": ir.IntType(64).as_pointer(),
    "Int32s": ir.IntType(32).as_pointer(),
    "Bytes": ir.IntType(8).as_pointer(),
}

_INSTRUCTIONS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
"""Operations that are one instruction, with the instruction's name in llvmlite's builder."""

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True, eq=False)
class Primitive:
    """A function of kernels that is replaced by LLVM instructions.

    Attributes:
        emit: takes the builder and argument values; returns an int64, a pointer, or None.
    """

    emit: Callable[[ir.IRBuilder, Sequence[Any]], Any]

    def __call__(self, *arguments: Any) -> int:
        """Raise: a primitive has no uncompiled form."""
        raise NotImplementedError("only compiled kernels can call a primitive")


_not_inlined: set[Callable[..., Any]] = set()


def not_inlined(function: Kernel) -> Kernel:
    """Mark a cold function noinline, so that the loop around it keeps its registers."""
    _not_inlined.add(function)
    return function


def kernel_object(exported: str, module: str, name: str) -> Made:
    """Compile a kernel of a module, as a job.

    Raises `NotImplementedError`, with the line, if the kernel is not in the kernel language.
    """
    made = _Module(exported)
    made.function(function := getattr(import_module(module), name))
    effort: Effort = "simple" if function in simple_kernels else "rolled"
    return optimized_object(exported, str(made.llvm), host().words(), effort)


@cache
def _functions(module: str) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module, by name."""
    import inspect

    tree = ast.parse(inspect.getsource(import_module(module)))
    return {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}


class _Module:
    """An LLVM module of one kernel and all functions that it calls."""

    def __init__(self, exported: str) -> None:
        self.llvm = ir.Module("kernel")
        self._exported = exported
        self._made: dict[Callable[..., Any], ir.Function] = {}

    def function(self, function: Callable[..., Any]) -> ir.Function:
        """Return a function, which is emitted when it is first needed."""
        if function not in self._made:
            tree = _functions(function.__module__)[function.__name__]
            returns = ast.unparse(tree.returns) if tree.returns else "int"
            kind = ir.FunctionType(
                ir.VoidType() if returns == "None" else WORD,
                [_POINTERS.get(ast.unparse(a.annotation), WORD) for a in _arguments(tree)],
            )
            name = f"{function.__module__}.{function.__name__}" if self._made else self._exported
            made = self._made[function] = ir.Function(self.llvm, kind, name)
            if name != self._exported:
                made.linkage = "internal"
                made.attributes.add("noinline" if function in _not_inlined else "alwaysinline")
            _Body(self, made, tree, function).emit()
        return self._made[function]


def _arguments(tree: ast.FunctionDef) -> list[Any]:
    return tree.args.args


class _Body:
    """Emits one function."""

    def __init__(
        self,
        module: _Module,
        emitted: ir.Function,
        tree: ast.FunctionDef,
        function: Callable[..., Any],
    ) -> None:
        self._module, self._tree = module, tree
        self._globals: dict[str, Any] = function.__globals__
        self._where = function.__module__
        self._entry = ir.IRBuilder(emitted.append_basic_block("entry"))
        self._builder = ir.IRBuilder(emitted.append_basic_block("begin"))
        self._arguments = emitted.args
        self._returns = emitted.function_type.return_type
        self._locals: dict[str, Any] = {}
        self._loops: list[tuple[Any, Any]] = []

    def emit(self) -> None:
        begin = self._builder.block
        for argument, value in zip(_arguments(self._tree), self._arguments, strict=True):
            self._store(argument, argument.arg, value)
        self._block(self._tree.body)
        if not self._builder.block.is_terminated:
            if self._returns == WORD:  # every path has ended with a return
                self._builder.unreachable()
            else:
                self._builder.ret_void()
        self._entry.position_at_end(self._entry.block)  # primitives also allocate stack slots there
        self._entry.branch(begin)

    def _refused(self, node: ast.AST) -> NotImplementedError:
        line, text = (
            getattr(node, "lineno", self._tree.lineno),
            ast.unparse(node).partition("\n")[0],
        )
        return NotImplementedError(f"{self._where}, line {line}: kernels cannot use '{text}'")

    # -- statements --------------------------------------------------------------------------------

    def _block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            if self._builder.block.is_terminated:
                return  # statements after a return never run
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                self._assign(node)
            case ast.AugAssign():
                self._set(node.target, self._operation(node, node.target, node.op, node.value))
            case ast.If():
                self._if(node)
            case ast.While(orelse=[]):
                self._while(node)
            case ast.For(orelse=[], target=ast.Name()):
                self._for(node)
            case ast.Break():
                self._builder.branch(self._loops[-1][1])
            case ast.Continue():
                self._builder.branch(self._loops[-1][0])
            case ast.Return(value=None) if self._returns != WORD:
                self._builder.ret_void()
            case ast.Return(value=ast.expr() as value) if self._returns == WORD:
                self._builder.ret(self._integer(value))
            case ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Expr(value=ast.Call() as call):
                self._call(call)
            case _:
                raise self._refused(node)

    def _assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Tuple):
            values = [self._value(each) for each in node.value.elts]
            for target in node.targets:
                if not isinstance(target, ast.Tuple) or len(target.elts) != len(values):
                    raise self._refused(node)
                for place, value in zip(target.elts, values, strict=True):
                    self._set(place, value)
            return
        value = self._value(node.value)
        for target in node.targets:
            self._set(target, value)

    def _set(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._store(target, target.id, value)
            return
        place = self._element(target)
        kind = place.type.pointee
        value = self._widened(value)
        self._builder.store(value if kind == WORD else self._builder.trunc(value, kind), place)

    def _store(self, node: ast.AST, name: str, value: Any) -> None:
        if name not in self._locals:
            self._locals[name] = self._entry.alloca(value.type, name=name)
        place = self._locals[name]
        if place.type.pointee == WORD:
            value = self._widened(value)
        if value.type != place.type.pointee:
            raise self._refused(node)
        self._builder.store(value, place)

    def _if(self, node: ast.If) -> None:
        then, end = self._new("then"), self._new("end")
        other = self._new("else") if node.orelse else end
        self._branch(node.test, then, other)
        for block, body in ((then, node.body), (other, node.orelse)):
            if block is not end:
                self._builder.position_at_end(block)
                self._block(body)
                self._go(end)
        self._builder.position_at_end(end)

    def _while(self, node: ast.While) -> None:
        head, body, end = (self._new(name) for name in ("while", "do", "done"))
        self._builder.branch(head)
        self._builder.position_at_end(head)
        self._branch(node.test, body, end)
        self._loop(node.body, body, head, end)

    def _for(self, node: ast.For) -> None:
        begin, stop, step = self._range(node.iter)
        builder = self._builder
        number = self._entry.alloca(WORD)
        builder.store(begin, number)
        head, body, following, end = (self._new(name) for name in ("for", "do", "next", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        is_left = builder.icmp_signed("<" if step > 0 else ">", builder.load(number), stop)
        builder.cbranch(is_left, body, end)
        builder.position_at_end(body)
        assert isinstance(node.target, ast.Name), "kernels have no other targets"
        self._store(node, node.target.id, builder.load(number))
        self._loop(node.body, body, following, end)
        builder.position_at_end(following)
        builder.store(builder.add(builder.load(number), WORD(step), flags=["nsw"]), number)
        builder.branch(head)
        builder.position_at_end(end)

    def _range(self, node: ast.expr) -> tuple[Any, Any, int]:
        """Emit the limits of a loop; its step is a constant."""
        match node:
            case ast.Call(func=ast.Name("range"), args=[stop]):
                return WORD(0), self._integer(stop), 1
            case ast.Call(func=ast.Name("range"), args=[begin, stop]):
                return self._integer(begin), self._integer(stop), 1
            case ast.Call(func=ast.Name("range"), args=[begin, stop, step]):
                limits = self._integer(begin), self._integer(stop)
                return *limits, self._constant(step)
        raise self._refused(node)

    def _constant(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return int(number)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._constant(operand)
            case ast.Name(name):
                found = self._globals.get(name)
            case ast.Attribute(value=ast.Name(name), attr=attribute) if name not in self._locals:
                module = self._globals.get(name)
                found = vars(module).get(attribute) if isinstance(module, ModuleType) else None
            case _:
                found = None
        if isinstance(found, int):
            return int(found)
        raise self._refused(node)

    def _loop(self, body: Sequence[ast.stmt], begin: Any, following: Any, end: Any) -> None:
        self._builder.position_at_end(begin)
        self._loops.append((following, end))
        self._block(body)
        self._loops.pop()
        self._go(following)
        self._builder.position_at_end(end)

    def _new(self, name: str) -> Any:
        return self._builder.append_basic_block(name)

    def _go(self, block: Any) -> None:
        if not self._builder.block.is_terminated:
            self._builder.branch(block)

    # -- conditions --------------------------------------------------------------------------------

    def _branch(self, node: ast.expr, yes: Any, no: Any) -> None:
        """Emit a condition and its branches; `and` and `or` stop once the answer is known."""
        match node:
            case ast.BoolOp(op=op, values=[*firsts, last]):
                for each in firsts:
                    following = self._new("and" if isinstance(op, ast.And) else "or")
                    ways = (following, no) if isinstance(op, ast.And) else (yes, following)
                    self._branch(each, *ways)
                    self._builder.position_at_end(following)
                self._branch(last, yes, no)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._branch(operand, no, yes)
            case ast.Constant(value=bool(always)):
                self._builder.branch(yes if always else no)
            case _:
                value = self._value(node)
                if value.type == WORD:
                    value = self._builder.icmp_signed("!=", value, WORD(0))
                self._builder.cbranch(value, yes, no)

    def _chosen(self, test: ast.expr, first: ast.expr, second: ast.expr) -> Any:
        """Emit `first if test else second`."""
        blocks = [self._new("first"), self._new("second")]
        end = self._new("end")
        self._branch(test, *blocks)
        ways = []
        for block, node in zip(blocks, (first, second), strict=True):
            self._builder.position_at_end(block)
            value = self._value(node)
            ways.append((value, self._builder.block))
        is_bool = all(value.type == BOOL for value, _ in ways)
        kind = BOOL if is_bool else WORD
        for number, (value, block) in enumerate(ways):
            self._builder.position_at_end(block)
            ways[number] = (value if is_bool else self._widened(value), block)
            self._builder.branch(end)
        self._builder.position_at_end(end)
        phi = self._builder.phi(kind)
        for value, block in ways:
            phi.add_incoming(value, block)
        return phi

    # -- values ------------------------------------------------------------------------------------

    def _integer(self, node: ast.expr) -> Any:
        return self._widened(self._value(node))

    def _widened(self, value: Any) -> Any:
        return self._builder.zext(value, WORD) if value.type == BOOL else value

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool(value)):
                return BOOL(value)
            case ast.Constant(value=int(value)):
                return WORD(value)
            case ast.Name(name) if name in self._locals:
                return self._builder.load(self._locals[name])
            case ast.Name() | ast.Attribute():
                return WORD(self._constant(node))
            case ast.Subscript():
                value = self._builder.load(self._element(node))
                if value.type == WORD:
                    return value
                is_signed = value.type == ir.IntType(32)
                return (self._builder.sext if is_signed else self._builder.zext)(value, WORD)
            case ast.BinOp():
                return self._operation(node, node.left, node.op, node.right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._builder.neg(self._integer(operand))
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self._builder.not_(self._integer(operand))
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._chosen(node.test, node.body, node.orelse)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return self._chosen(node, ast.Constant(True), ast.Constant(False))
            case ast.Call():
                if (value := self._call(node)) is not None:
                    return value
        raise self._refused(node)

    def _element(self, node: ast.expr) -> Any:
        """Emit the address of `pointer[index]`."""
        if not isinstance(node, ast.Subscript):
            raise self._refused(node)
        pointer = self._value(node.value)
        if not pointer.type.is_pointer:
            raise self._refused(node)
        return self._builder.gep(pointer, [self._integer(node.slice)])

    def _comparison(self, node: ast.Compare) -> Any:
        is_one = len(node.ops) == 1 and isinstance(node.ops[0], ast.In)
        if is_one and isinstance(node.comparators[0], ast.Tuple):
            left, found = self._integer(node.left), BOOL(0)
            for each in node.comparators[0].elts:
                is_it = self._builder.icmp_signed("==", left, self._integer(each))
                found = self._builder.or_(found, is_it)
            return found
        values = [self._integer(each) for each in (node.left, *node.comparators)]
        found = None
        for number, op in enumerate(node.ops):
            if type(op) not in _COMPARISONS:
                raise self._refused(node)
            one = self._builder.icmp_signed(_COMPARISONS[type(op)], *values[number : number + 2])
            found = one if found is None else self._builder.and_(found, one)
        return found

    def _operation(self, node: ast.AST, left: ast.expr, op: ast.operator, right: ast.expr) -> Any:
        builder = self._builder
        a, b = self._integer(left), self._integer(right)
        if type(op) in _INSTRUCTIONS:
            return getattr(builder, _INSTRUCTIONS[type(op)])(a, b)
        match op:
            case ast.FloorDiv():
                return builder.sub(builder.sdiv(a, b), self._widened(self._is_split(a, b)))
            case ast.Mod():
                rest = builder.srem(a, b)
                return builder.add(rest, builder.select(self._is_split(a, b), b, WORD(0)))
        raise self._refused(node)

    def _is_split(self, a: Any, b: Any) -> Any:
        """Emit whether the quotient of two numbers is negative and not an integer."""
        builder = self._builder
        rest = builder.srem(a, b)
        differs = builder.icmp_signed("<", builder.xor(rest, b), WORD(0))
        return builder.and_(builder.icmp_signed("!=", rest, WORD(0)), differs)

    def _call(self, node: ast.Call) -> Any:
        """Emit a call; return its value, None if it has none."""
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise self._refused(node)
        name = node.func.id
        called = self._globals.get(name)
        values = [self._widened(self._value(each)) for each in node.args]
        if called is None and name in ("min", "max") and len(values) == 2:
            order = "<" if name == "min" else ">"
            is_first = self._builder.icmp_signed(order, values[0], values[1])
            return self._builder.select(is_first, values[0], values[1])
        if isinstance(called, Primitive):
            return called.emit(self._builder, values)
        if not callable(called):
            raise self._refused(node)
        function = self._module.function(called)
        if [value.type for value in values] != [each.type for each in function.args]:
            raise self._refused(node)
        value = self._builder.call(function, values)
        return None if isinstance(value.type, ir.VoidType) else value


# -- instructions shared by all emitted code -------------------------------------------------------

OUTSIDE_STATUS, RAISED_STATUS, TRAPPED_STATUS = (ir.IntType(32)(each) for each in (-1, 1, 2))
"""Statuses of a compiled function that stops: an access outside a field, which is recorded; an
exception that it raised; a trap.  A function that reaches its end returns 0.

The first two are Numba's, and its own code returns them.
"""


@contextmanager
def count_up(builder: ir.IRBuilder, end: Any, begin: Any = None) -> Iterator[Any]:
    """Emit a loop from `begin` (0 if None) to `end`; code emitted inside is its body.

    Yields the index of the iteration.
    """
    before, head, body, after = builder.block, *(builder.append_basic_block() for _ in range(3))
    builder.branch(head)
    builder.position_at_end(head)
    number = builder.phi(end.type)
    number.add_incoming(end.type(0) if begin is None else begin, before)
    builder.cbranch(builder.icmp_signed("<", number, end), body, after)
    builder.position_at_end(body)
    yield number
    number.add_incoming(builder.add(number, end.type(1), flags=["nsw"]), builder.block)
    builder.branch(head)
    builder.position_at_end(after)


def on_stack(builder: ir.IRBuilder, kind: ir.Type, count: int = 1) -> Any:
    """Emit a stack allocation of `count` values, the first of which is initialized to 0."""
    with builder.goto_entry_block():
        place = builder.alloca(kind, size=count if count > 1 else None)
        builder.store(kind(None), place)
    return place


def call_named(builder: ir.IRBuilder, name: str, result: ir.Type, arguments: Sequence[Any]) -> Any:
    """Emit a call to a function that is defined elsewhere."""
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)
