"""Compiled programs as trees, which can be visited in order of execution.

    Sequence 'main'
      Repeat 100 times
        Execute 'blur'
      Copy 'a -> b'

>>> blur = Program(ProgramType.EXECUTE, "blur", 1)
>>> main = Program(ProgramType.SEQUENCE, "main", 0, (Program(ProgramType.REPEAT, "9", 0, (blur,)),))
>>> class Names(ProgramVisitor):
...     def visit_execute(self, program):
...         print(program.name)
>>> main.accept(Names())
blur
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from poplite.codec.file_formats import Malformed
from poplite.errors import UnknownName, did_you_mean
from poplite.frozen import frozen
from poplite.text import clipped, fitted
from poplite.walks import bottom_up, top_down


class ProgramType(enum.Enum):
    """Kinds of programs."""

    SEQUENCE = "Sequence"
    REPEAT = "Repeat"
    REPEAT_WHILE = "RepeatWhile"
    LOOP = "Loop"
    IF = "If"
    SWITCH = "Switch"
    CALL = "Call"
    EXECUTE = "Execute"
    COPY = "Copy"
    HOST_COPY = "HostCopy"
    HOST_CALL = "HostCall"
    HOST_ACTION = "HostAction"
    MARK = "Mark"


_ARRANGING = (
    *(ProgramType.SEQUENCE, ProgramType.REPEAT, ProgramType.REPEAT_WHILE, ProgramType.LOOP),
    *(ProgramType.IF, ProgramType.SWITCH, ProgramType.CALL),
)
"""Kinds that are not steps, even when they are empty."""


@frozen(repr=False, eq=False)
class Program:
    """A program in its tree.

    Attributes:
        type: its kind.
        name: the name of the compute set, source and target of a copy, or number of iterations.
        row: its row in the code, which is also the row of its `ExecutionStep`.
        children: the programs under it, in order; for a RepeatWhile the condition, then the body.
            A function is the only program under each of its calls.
        at: the user's line; empty if unknown.
        role: its role in its parent, if that branches: "condition" or "body" of a
            RepeatWhile, "then" or "else" of an If, "case 3" or "default" of a Switch.
        count: the number of its executions in one run, for a function summed over all of its calls;
            None if that depends on data.
    """

    type: ProgramType
    name: str
    row: int
    children: tuple[Program, ...] = ()
    at: str = ""
    role: str = ""
    count: int | None = None

    def accept(self, visitor: ProgramVisitor) -> None:
        """Call the visitor's method for the type, such as `visit_execute`."""
        getattr(visitor, f"visit_{self.type.name.lower()}")(self)

    def walk(self) -> Iterator[Program]:
        """Yield the program and all under it in order; a function only at its first call."""
        yield from top_down([self], attrgetter("children"), key=id)

    def __eq__(self, other: object) -> bool:
        return nodes_of(self) == nodes_of(other) if isinstance(other, Program) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.type, self.name, self.row, len(self.children)))

    def __reduce__(self) -> tuple[object, ...]:
        """Return its nodes, as pickle cannot recurse through a tree of hundreds of levels."""
        return tree_of, (nodes_of(self),)

    def __repr__(self) -> str:
        return fitted(f"<Program {self.type.value} '{{}}'>", self.name)


Node = tuple[str, str, int, tuple[int, ...], str, str, int | None]
"""A program: its type, name and row, the numbers of its children, its line, role and count."""


def nodes_of(tree: Program) -> list[Node]:
    """Return each program of a tree once, after its children; the root is the last."""
    numbers: dict[int, int] = {}
    nodes: list[Node] = []
    for node in children_first(tree):
        children = tuple(numbers[id(child)] for child in node.children)
        numbers[id(node)] = len(nodes)
        nodes.append(
            (node.type.name, node.name, node.row, children, node.at, node.role, node.count)
        )
    return nodes


def tree_of(nodes: Iterable[Sequence[Any]]) -> Program:
    """Return the tree of nodes.

    Raises `Malformed` for other data, and if a node does not follow its children.
    """
    made: list[Program] = []
    for node in nodes:
        parts = node if isinstance(node, list | tuple) else ()  # tuples come from `nodes_of`
        if len(parts) != 7 or not isinstance(parts[3], list | tuple):
            raise Malformed(f"{clipped(node)} is not a valid program")
        kind, name, row, children, at, role, count = parts
        whole = (row, *children, 0 if count is None else count)
        texts = (kind, name, at, role)
        if any(type(each) is not int for each in whole) or not all(
            isinstance(each, str) for each in texts
        ):
            raise Malformed(f"{clipped(node)} is not a valid program")
        if kind not in ProgramType.__members__:
            raise Malformed(f"{clipped(kind)} is not a valid program type")
        if row < 0 or any(not 0 <= child < len(made) for child in children):
            raise Malformed(
                f"program {len(made):,} must have a row from 0 and only children that precede it; "
                f"found row {clipped(row)} and children {clipped(children)}"
            )
        if kind == ProgramType.REPEAT.name and not _TIMES.fullmatch(name):
            raise Malformed(f"the name of a Repeat must be like '3 times'; found {clipped(name)}")
        below = tuple(made[child] for child in children)
        made.append(Program(ProgramType[kind], name, row, below, at, role, count))
    if not made:
        raise Malformed("a program must have at least one node")
    return made[-1]


def num_steps(tree: Program) -> int:
    """Return the number of steps under a program, counting every place.

    >>> num_steps(Program(ProgramType.SEQUENCE, "main", 0))
    0
    """
    return steps_below(tree)[id(tree)]


def steps_below(tree: Program) -> dict[int, int]:
    """Return the number of steps under each program of a tree, counting every place, by `id`."""
    found: dict[int, int] = {}
    for node in children_first(tree):
        is_step = not node.children and node.type not in _ARRANGING
        found[id(node)] = is_step + sum(found[id(child)] for child in node.children)
    return found


_TIMES = re.compile(r"\d{1,3}(,\d{3}){0,3} times?", re.ASCII)
"""The iteration count in the name of a Repeat: at most 2**32 - 1."""

BY_DATA = (ProgramType.REPEAT_WHILE, ProgramType.LOOP, ProgramType.IF, ProgramType.SWITCH)
"""Kinds whose number of iterations depends on data, or on a request to stop."""


def repeats(node: Program) -> int:
    """Return the number of iterations of a Repeat.

    >>> repeats(Program(ProgramType.REPEAT, "1,000 times", 0))
    1000
    """
    return int(node.name.partition(" ")[0].replace(",", ""))


def counts_as_compiled(tree: Program) -> dict[int, int]:
    """Return the number of executions of each program of a tree in one run, by its `id`.

    Each branch is taken whenever it is reached, and a loop that ends depending on data has one
    iteration, in which all iterations of inner Repeats count.
    """
    below_first = children_first(tree)
    total = dict.fromkeys(map(id, below_first), 0)
    total[id(tree)] = 1
    for node in reversed(below_first):
        times = repeats(node) if node.type is ProgramType.REPEAT else 1
        for child in node.children:
            total[id(child)] += total[id(node)] * times
    return total


def are_decided_by_data(trees: Iterable[Program]) -> bool:
    """Return whether the steps that programs run depend on data."""
    return any(node.type in BY_DATA for tree in trees for node in tree.walk())


def children_first(tree: Program) -> list[Program]:
    """Return each program of a tree once, after its children."""
    return bottom_up([tree], attrgetter("children"), key=id)


class ProgramVisitor:
    """Base class of visitors: each method visits the children unless it is overridden."""

    def visit_children(self, program: Program) -> None:
        """Visit the children of a program."""
        for child in program.children:
            child.accept(self)

    visit_sequence = visit_children
    visit_repeat = visit_children
    visit_repeat_while = visit_children
    visit_loop = visit_children
    visit_if = visit_children
    visit_switch = visit_children
    visit_call = visit_children
    visit_execute = visit_children
    visit_copy = visit_children
    visit_host_copy = visit_children
    visit_host_call = visit_children
    visit_host_action = visit_children
    visit_mark = visit_children


class Programs(Mapping[str, Program]):
    """The programs of an executable by name; `make` creates their trees on demand."""

    def __init__(self, make: Callable[[], Mapping[str, Program]]) -> None:
        self._make = make
        self._made: Mapping[str, Program] | None = None
        self._rows: dict[tuple[str, int], Program] = {}

    def at(self, name: str, row: int) -> Program:
        """Return a leaf by its row in the program of this name."""
        if not self._rows:
            for program, tree in self.items():
                leaves = (node for node in tree.walk() if not node.children)
                self._rows.update(((program, node.row), node) for node in leaves)
        return self._rows[name, row]

    def __reduce__(self) -> tuple[object, ...]:
        """Return the trees, as `make` cannot be pickled."""
        return _of_trees, (dict(self._trees()),)

    def _trees(self) -> Mapping[str, Program]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> Program:
        trees = self._trees()
        if name not in trees:
            raise UnknownName(
                f"there is no program {clipped(name)}"
                + (did_you_mean(name, trees) if isinstance(name, str) else ""),
                found="programs: " + ", ".join(map(repr, trees)),
            )
        return trees[name]

    def __contains__(self, name: object) -> bool:
        return name in self._trees()

    def get(self, name: str, default: Any = None, /) -> Any:
        """Return the tree of a program, or `default` if there is none."""
        return self._trees().get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._trees())

    def __len__(self) -> int:
        return len(self._trees())


def _of_trees(trees: dict[str, Program]) -> Programs:
    return Programs(lambda: trees)
