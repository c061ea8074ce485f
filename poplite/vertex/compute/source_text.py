"""The source text of a `compute` method, parsed with the file's own line numbers.

Both forms are created from the text.  Code in files, notebook cells, `python -c` and at a prompt
has source text; a string passed to `exec` does not, and the result is None.  The text is also
compared with the function that actually runs, since a file may have been edited after its import:
text that compiles to different byte code is treated as missing.

A method is indented, so it is parsed inside a one-line class statement; every line and
column number is then the file's own::

    line 6     class C:                 <- poplite's, in place of the line above
    line 7         def compute(self):   <- the user's
    line 8             ...
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import dis
import functools
import inspect
import linecache
import operator
import sys
import tokenize
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, TypeVar

from poplite.errors import VertexCompileError
from poplite.source import SourceLocation
from poplite.text import amount

_COMMAND = "<string>"
"""File name of code that comes from `python -c`, and of most code that `exec` runs."""

_PROMPTS = ("<stdin>", "<console>")
"""File name of code that is piped in, or typed at a prompt that does not store it."""

_SENT = "<dynamic-code>"
"""File name of code that cloudpickle transferred from another process."""

FUTURE_FLAGS: int = functools.reduce(
    operator.or_,
    (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names),
)
DEEPEST = 200
"""Maximum depth of a syntax tree, since Python's own `ast` and `copy` are recursive."""

TOO_DEEP = f"text nested more than {DEEPEST} levels deep"
SHALLOWER = "assign parts of an expression to locals, use loops for sums, and split branches"

_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


@dataclass(frozen=True, slots=True, eq=False)
class SourceText:
    """The text of one function.

    Attributes:
        tree: its definition, with the line and column numbers of the file.
        code: the byte code with which the text was compared.
        defaults: the defaults of its parameters when the text was read.
    """

    function: FunctionType
    tree: ast.FunctionDef
    lines: tuple[str, ...]
    code: CodeType
    defaults: tuple[object, ...] | None

    def is_current(self) -> bool:
        """Return whether the function is still the one that was read.

        IPython's autoreload replaces the code of functions of an edited module.
        """
        function = self.function
        return function.__code__ is self.code and repr(function.__defaults__) == repr(self.defaults)

    def line(self, number: int) -> str:
        """Return one line of the function, by its number in the file, without its indentation."""
        return self.lines[number - self.code.co_firstlineno].strip()

    def segment(self, node: ast.AST) -> str:
        """Return the source text of an expression, in one line."""
        before = "\n" * (self.code.co_firstlineno - 1)
        written = ast.get_source_segment(before + "".join(self.lines), node)
        return " ".join((written or ast.unparse(node)).split())


def read(function: FunctionType) -> SourceText | None:
    """Parse the text of a function that a `def` statement defines.

    Returns None if there is no text, or only that of a different function.  Raises
    `VertexCompileError` for text that Python's parser can read only when it compiles the module.

    >>> text = read(read)
    >>> text.tree.name, text.line(text.tree.lineno)
    ('read', 'def read(function: FunctionType) -> SourceText | None:')
    """
    code = function.__code__
    for lines in _texts(code):
        try:
            module = _parse("".join(lines), code)
            body = module.body[0]
            tree = body.body[0] if isinstance(body, ast.ClassDef) else body
            is_own = isinstance(tree, ast.FunctionDef) and _is_text_of(module, tree, code)
        except SyntaxError:
            continue
        except RecursionError as error:
            raise VertexCompileError(
                f"'{code.co_qualname.rpartition('<locals>.')[2]}': {TOO_DEEP}",
                at=SourceLocation(code.co_filename, code.co_firstlineno, code.co_name),
                found=amount(len(lines), "line"),
                fix=SHALLOWER,
            ) from error
        if is_own:
            assert isinstance(tree, ast.FunctionDef)
            return SourceText(function, tree, tuple(lines), code, function.__defaults__)
    return None


def _texts(code: CodeType) -> Iterator[list[str]]:
    """Yield candidates for the text of a function, as lines."""
    if code.co_filename in _PROMPTS:
        yield from _typed_texts()
        return
    if code.co_filename == _COMMAND:
        _remember_command()
    yield from _lines_of(code)
    with contextlib.suppress(OSError, TypeError, SyntaxError, tokenize.TokenError):
        yield inspect.getsourcelines(code)[0]


def _lines_of(code: CodeType) -> Iterator[list[str]]:
    """Yield the lines from the first to the last with byte code, if no others can be part of it.

    `inspect` finds the end by tokenising the text in Python, which takes a quarter of the time of
    checking a class.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    first = code.co_firstlineno - 1
    parts = (code, *nested(code))
    last = max(end or 0 for part in parts for _, end, _, _ in part.co_positions())
    if not first < last <= len(lines) or not lines[first].lstrip().startswith(("def ", "@")):
        return
    following = (line for line in lines[last:] if line.strip() and line.lstrip()[0] != "#")
    if _indent(next(following, "")) <= _indent(lines[first]):
        yield lines[first:last]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _typed_texts() -> Iterator[list[str]]:
    """Yield functions that were typed at a prompt, the last one first.

    A prompt before Python 3.13 does not store text, but `readline`, if it is loaded, has a history.
    """
    readline = sys.modules.get("readline")
    if readline is None:
        return
    length = readline.get_current_history_length()
    typed = [f"{readline.get_history_item(number + 1)}\n" for number in range(length)]
    for start in reversed(range(length)):
        if typed[start].lstrip().startswith(("def ", "@")):
            with contextlib.suppress(SyntaxError, tokenize.TokenError):
                yield inspect.getblock(typed[start:])


def why_no_text(function: FunctionType) -> tuple[str, str]:
    """Return the reason why `read` returned None, and the fix.

    >>> exec("def f(): pass")
    >>> why_no_text(f)
    ('it was created from a string', 'put it into a file or a notebook cell')
    """
    file = function.__code__.co_filename
    if file in _PROMPTS:
        found = "Python does not store text that is typed at this prompt, or piped into it"
        return found, "put it into a file, a notebook cell, or python -c"
    if file == _SENT:
        found = "a script or a notebook sent it to this process without its text"
        return found, "put it into a module that both processes import"
    if file.startswith("<"):
        return "it was created from a string", "put it into a file or a notebook cell"
    if not linecache.getlines(file, function.__globals__):
        return f"'{file}' does not exist, only its byte code", "store the .py file with the program"
    return f"'{file}' changed since it was imported", "run the program again"


def _remember_command() -> None:
    """Register the text of `python -c` as source text, as Python 3.13 does."""
    text = _command_text()
    if _COMMAND not in linecache.cache and text is not None:
        lines = [line + "\n" for line in text.splitlines()]
        linecache.cache[_COMMAND] = len(text), None, lines, _COMMAND


def _command_text() -> str | None:
    """Return the text after -c, which may be combined with other options: `python -Ic text`."""
    arguments = iter(sys.orig_argv[1:])
    for argument in arguments:
        options = argument[1:] if argument.startswith("-") else ""
        for position, letter in enumerate(options, 1):
            if letter in "cmWX":  # they take a value, attached or as the next word
                value = options[position:] or next(arguments, "")
                if letter != "c":
                    break
                return value
    return None


def _parse(text: str, code: CodeType) -> ast.Module:
    first = code.co_firstlineno
    if text[:1].isspace():
        owner = code.co_qualname.split(".")[-2:][0]  # a part of names that start with __
        owner = owner if owner.isidentifier() else "C"
        text, first = f"class {owner}:\n{text}", first - 1
    return ast.increment_lineno(ast.parse(text), first - 1)


def _is_text_of(module: ast.Module, tree: ast.FunctionDef, code: CodeType) -> bool:
    """Return whether the text compiles to the code that runs.

    Under pytest, an `assert` is compiled to different code; that is accepted.
    """
    if "@pytest_ar" in code.co_names:
        return tree.name == code.co_name
    compiled = compile(
        with_free_names(module, code.co_freevars),
        code.co_filename,
        "exec",
        flags=code.co_flags & FUTURE_FLAGS,
        dont_inherit=True,
    )
    parts = nested(compiled)
    return code in parts or _fingerprint(code) in map(_fingerprint, parts)


def with_free_names(module: ast.Module, names: tuple[str, ...]) -> ast.Module:
    """Wrap a function's definition in a function that has its free variables.

    `names` are the `co_freevars` of its byte code.
    """
    if not names:
        return module
    outer = ast.parse(f"def outer():\n {' = '.join(names)} = 0")
    assert isinstance(outer.body[0], ast.FunctionDef)
    outer.body[0].body += module.body
    return outer


def nested(code: CodeType) -> list[CodeType]:
    """Return the byte code of all functions inside another, outer ones first."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return inner + [deeper for const in inner for deeper in nested(const)]


def _fingerprint(code: CodeType) -> tuple[object, ...]:
    """Return the operations of a function, independent of the module around it.

    Python calls a function of an imported module with different instructions from a method, so
    offsets differ; a jump is identified by the number of its target instruction.
    """
    kept = [
        step
        for step in dis.get_instructions(code)
        if step.opname not in ("PUSH_NULL", "EXTENDED_ARG")
    ]
    offsets = [step.offset for step in kept]
    steps = [
        (
            step.opname.replace("METHOD", "ATTR"),
            bisect_left(offsets, step.argval) if step.opcode in _JUMPS else _operand(step.argval),
        )
        for step in kept
    ]
    return code.co_name, code.co_firstlineno, steps


def _operand(value: object) -> str:
    return "" if isinstance(value, CodeType) else repr(value)


# -- copies of trees -------------------------------------------------------------------------------


N = TypeVar("N", bound=ast.AST)


def copied(tree: N, copies: dict[int, Any] | None = None) -> N:
    """Return a copy of a tree of any depth; `copies` receives the copy of each node, by `id`.

    Python's own `copy` makes six calls for each level of a tree. `copies` has the form of the memo
    of `copy.deepcopy`, for objects that refer to nodes of the tree.

    >>> ast.unparse(copied(ast.parse("a + b")))
    'a + b'
    """
    copies = {} if copies is None else copies
    nodes = list(ast.walk(tree))
    for node in nodes:
        copies.setdefault(id(node), type(node).__new__(type(node)))
    for node in nodes:
        # Not all of `vars(node)`: IPython's tracebacks add each node's parent, also to the nodes
        # such as `Load()` that all trees share.
        own = {*node._fields, *node._attributes}
        for name, value in [item for item in vars(node).items() if item[0] in own]:
            parts = value if isinstance(value, list) else [value]
            new = [copies[id(part)] if isinstance(part, ast.AST) else part for part in parts]
            setattr(copies[id(node)], name, new if isinstance(value, list) else new[0])
    copy: N = copies[id(tree)]
    return copy
