"""The compiled form of a function: what raises only stops the vertex, and loops have guards.

::

    raise EmptyBlock(n)                 ->    raise @Raised
    assert x > 0, f"pivot {x}"          ->    if not x > 0: raise @Raised
    for i in range(n): ... x[i] ...     ->    see `poplite.vertex.compute.bounds`

Which exception it is, and its text, is found by the interpreted form, in which the vertex runs
again after it stopped.  A function with none of these is compiled as it is.
"""

from __future__ import annotations

import ast
from types import CodeType, FunctionType

from poplite.vertex.compute.bounds import FUNCTIONS, guarded
from poplite.vertex.compute.parse.source_text import FUTURE_FLAGS, nested, with_free_names
from poplite.vertex.compute.parse.trees import copied
from poplite.vertex.compute.typing.facts import Checked

_RAISED = "@Raised"  # no identifier, so no name of the user's can hide it


def compiled_form(checked: Checked) -> FunctionType:
    """Return the function to pass to a compiler: a `compute`, or a function that it calls."""
    function = checked.text.function
    tree = guarded(checked)
    if tree is None and not checked.facts.raises:
        return function
    tree = _Bare().visit(tree or copied(checked.text.tree))
    tree.decorator_list = []
    code = function.__code__
    module = compile(
        ast.fix_missing_locations(with_free_names(ast.Module([tree], []), code.co_freevars)),
        code.co_filename,
        "exec",
        flags=code.co_flags & FUTURE_FLAGS,
        dont_inherit=True,
    )
    inner: CodeType = next(each for each in nested(module) if each.co_name == code.co_name)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    return FunctionType(
        inner,
        {**function.__globals__, **FUNCTIONS, _RAISED: Exception},
        argdefs=function.__defaults__,
        closure=tuple(cells[name] for name in inner.co_freevars),
    )


class _Bare(ast.NodeTransformer):
    """Replaces what raises by a bare exception; consumes the tree it visits."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        return ast.copy_location(ast.Raise(ast.Name(_RAISED, ast.Load()), None), node)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if not __debug__:
            return ast.copy_location(ast.Pass(), node)
        test = ast.UnaryOp(ast.Not(), node.test)
        raised = self.visit_Raise(ast.copy_location(ast.Raise(None, None), node))
        return ast.copy_location(ast.If(test, [raised], []), node)
