"""Finds the text of a `compute` method and parses it with the file's own line numbers.

Both forms are checked by their text.  Files, notebook cells and `python -c` have one; the
string given to `exec` has none, and the answer is None.  The text is also compared with the
function that really runs, since a file may have been edited after its import: text that
compiles to other byte code is as good as none.

A method is indented, so it is parsed inside a one-line class statement; every line and
column number is then the file's own::

    line 6     class C:                 <- ours, takes the place of the line above
    line 7         def compute(self):   <- the user's
    line 8             ...
"""

from __future__ import annotations
import __future__

import ast
import dis
import functools
import inspect
import linecache
import operator
import sys
import tokenize
from dataclasses import dataclass
from types import CodeType, FunctionType

_COMMAND = "<string>"
"""File name of code that comes from `python -c`, and of most code that `exec` runs."""

_FUTURE_FLAGS: int = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
NO_TEXT = "it comes from a string, or its file changed since it was imported"
WITH_TEXT = "put it into a file or a notebook cell, or run the program again"
"""What was found, and what to try, where a function has no text."""

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one function.

    Attributes:
        function: the function itself.
        tree: its definition, with the line and column numbers of the file.
        lines: the text, line by line.
        code: the byte code that the text was compared with.
        defaults: the defaults of its parameters at that moment.
    """

    function: FunctionType
    tree: ast.FunctionDef
    lines: tuple[str, ...]
    code: CodeType
    defaults: tuple[object, ...] | None

    def is_current(self) -> bool:
        """Whether the function is still the one that was read.

        IPython's autoreload gives new code to the functions of an edited module.
        """
        function = self.function
        return function.__code__ is self.code and repr(function.__defaults__) == repr(self.defaults)

    def line(self, number: int) -> str:
        """Return one line of the file without its indentation.

        Args:
            number: a line of the function, counted as in the file.
        """
        return self.lines[number - self.code.co_firstlineno].strip()


def read(function: FunctionType) -> SourceText | None:
    """Parse the text of a function.

    Args:
        function: a function made by a `def` statement.

    Returns:
        Its text, or None where there is no text, or not of this function.

    >>> text = read(read)
    >>> text.tree.name, text.line(text.tree.lineno)
    ('read', 'def read(function: FunctionType) -> SourceText | None:')
    """
    code = function.__code__
    if code.co_filename == _COMMAND:
        _remember_command()
    try:
        lines, first = inspect.getsourcelines(code)
        module = _parse("".join(lines), first, code)
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return None
    body = module.body[0]
    tree = body.body[0] if isinstance(body, ast.ClassDef) else body
    if not isinstance(tree, ast.FunctionDef) or not _is_text_of(module, tree, code):
        return None
    return SourceText(function, tree, tuple(lines), code, function.__defaults__)


def _remember_command() -> None:
    """Let Python's source look-up know the text of `python -c`, as it does from 3.13 on."""
    arguments = sys.orig_argv
    if _COMMAND not in linecache.cache and "-c" in arguments[:-1]:
        text = arguments[arguments.index("-c") + 1]
        lines = [line + "\n" for line in text.splitlines()]
        linecache.cache[_COMMAND] = len(text), None, lines, _COMMAND


def _parse(text: str, first: int, code: CodeType) -> ast.Module:
    if text[:1].isspace():
        owner = code.co_qualname.split(".")[-2:][0]  # a part of names that start with __
        owner = owner if owner.isidentifier() else "C"
        text, first = f"class {owner}:\n{text}", first - 1
    return ast.increment_lineno(ast.parse(text), first - 1)


def _is_text_of(module: ast.Module, tree: ast.FunctionDef, code: CodeType) -> bool:
    """Whether the text compiles to the code that runs.

    Under pytest an `assert` runs as other code than its text says; it is accepted.
    """
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return tree.name == code.co_name
    compiled = compile(
        _with_free_names(module, code.co_freevars),
        code.co_filename,
        "exec",
        flags=code.co_flags & _FUTURE_FLAGS,
        dont_inherit=True,
    )
    return any(_fingerprint(inner) == _fingerprint(code) for inner in _nested(compiled))


def _with_free_names(module: ast.Module, names: tuple[str, ...]) -> ast.Module:
    """Put the text into a function that owns the names which the original closes over."""
    if not names:
        return module
    outer = ast.parse(f"def outer():\n {' = '.join(names)} = 0")
    assert isinstance(outer.body[0], ast.FunctionDef)
    outer.body[0].body += module.body
    return outer


def _nested(code: CodeType) -> list[CodeType]:
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return inner + [deeper for const in inner for deeper in _nested(const)]


def _fingerprint(code: CodeType) -> tuple[object, ...]:
    """What a function does, without what depends on the module round it.

    Python calls a function of an imported module by other instructions than a method.
    """
    steps = [
        (step.opname.replace("METHOD", "ATTR"), _operand(step.argval))
        for step in dis.get_instructions(code)
        if step.opcode not in _JUMPS and step.opname not in ("PUSH_NULL", "EXTENDED_ARG")
    ]
    return code.co_name, code.co_firstlineno, steps


def _operand(value: object) -> str:
    return "" if isinstance(value, CodeType) else repr(value)
