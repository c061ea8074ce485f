"""The members that `cpp_spelling` sets, written for type checkers: `poplite/poplar/spellings.py`.

python tests/helpers/poplar_spellings.py        writes it anew

A method under two names has the signature of ours; what a binder serves has that of its
declarations, with types of Python.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, get_overloads

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import poplite as pl  # noqa: E402
from poplite.poplar.binder import WHOLE, Declaration, DeclaredParameter  # noqa: E402
from poplite.poplar.declarations import Row, declared_rows  # noqa: E402

FILE = ROOT / "poplite/poplar/spellings.py"

CLASSES = (pl.Tensor, pl.Graph, pl.Engine, pl.Target, pl.DataStream, pl.RemoteBuffer)
"""Classes with many members in C++ spelling."""

HEAD = '''"""Members in C++ spelling for type checkers; tests/helpers/poplar_spellings.py writes it.

At run time `poplite.poplar.spelling` sets them, from the declarations above each.
"""

# fmt: off
# ruff: noqa
# mypy: disable-error-code="empty-body, no-overload-impl"

from __future__ import annotations

'''

TYPES = {
    "ArrayRef<std::size_t>": "ShapeLike",
    "DebugContext": "str",
    "FunctionBufferMappingType": "FunctionBufferMappingType | Literal['REMOTE']",
    "StringRef": "str",
    "Target": "Target",
    "Tensor": "Tensor",
    "Type": "ElementTypeLike",
    "VariableMappingMethod": "VariableMappingMethod | Literal['NONE', 'LINEAR']",
    "bool": "bool",
    "double": "float",
    **dict.fromkeys(WHOLE, "int"),
}
"""Types of Python by those of C++; of any other nothing is said."""

HOMES = {
    "Any": "typing",
    "ElementTypeLike": "poplite.types",
    "FunctionBufferMappingType": "poplite.poplar.binder",
    "Literal": "typing",
    "QuarterMetadata": "poplite.types",
    "ShapeLike": "poplite.graph.space",
    "Target": "poplite.machine.target",
    "Tensor": "poplite.graph.tensor.tensor",
    "VariableMappingMethod": "poplite.poplar.binder",
}
"""Where these are made."""


def spelled_members(cls: type) -> Iterator[tuple[str, list[Row]]]:
    """Yield the members that the class did not write itself, with their declarations."""
    tree: Any = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    written = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    written |= {each.id for node in assigned for each in node.targets if isinstance(each, ast.Name)}
    for member in dict.fromkeys(row.member for row in declared_rows(cls.__name__)):
        is_made = isinstance(vars(cls).get(member), FunctionType | staticmethod)
        if is_made and member not in written:
            yield member, [row for row in declared_rows(cls.__name__) if row.member == member]


@cache
def imports_of(module: str) -> dict[str, str]:
    """Return the statement that each name of a module comes from, as another module needs it."""
    found: dict[str, str] = {}
    tree = ast.parse(Path(sys.modules[module].__file__ or "").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                also = f" as {alias.asname}" if alias.asname else ""
                found[alias.asname or alias.name] = f"{source}import {alias.name}{also}"
    blocks = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.If))]
    for node in (node for block in blocks for node in block):
        names = [node.name] if isinstance(node, ast.ClassDef) else []
        if isinstance(node, ast.Assign):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
        found |= {name: f"from {module} import {name}" for name in names}
    return found


class Writer:
    """Collects the text of classes, and what it imports."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def annotation(self, text: str, module: str) -> str:
        """Return an annotation of a module, and import what it names."""
        for node in ast.walk(ast.parse(text, mode="eval")):
            if isinstance(node, ast.Name) and node.id in imports_of(module):
                self.imports.add(imports_of(module)[node.id])
        return text

    def class_text(self, cls: type) -> str:
        """Return the class of one of ours."""
        lines = [f"class {cls.__name__}Spelling:"]
        for member, rows in spelled_members(cls):
            lines += [f"    # {row.declaration}" for row in rows]
            lines += [f"    {line}" for line in self.member_lines(cls, member, rows)]
        return "\n".join(lines)

    def member_lines(self, cls: type, member: str, rows: list[Row]) -> list[str]:
        """Return the lines of a member."""
        made = vars(cls)[member]
        is_static = isinstance(made, staticmethod)
        function: Any = inspect.unwrap(made.__func__ if is_static else made)
        if "(" in rows[0].ours:
            return self.declared(cls, member, rows)
        if function.__code__.co_name == "get":
            return [f"def {member}(self) -> {self.attribute(cls, rows[0])}: ..."]
        forms = get_overloads(function) or [function]
        overload = ["@overload"] * (len(forms) > 1)
        self.imports |= {"from typing import overload"} if overload else set()
        static = ["@staticmethod"] * is_static
        return [
            line
            for form in forms
            for line in (*overload, *static, f"def {member}{self.signature(form, is_static)}: ...")
        ]

    def attribute(self, cls: type, row: Row) -> str:
        """Return the annotation of an attribute, or what the declaration says of it."""
        name = row.ours
        for base in cls.__mro__:
            found = vars(base).get(name)
            if isinstance(found, property) and found.fget is not None:
                return self.annotation(found.fget.__annotations__["return"], base.__module__)
            if name in vars(base).get("__annotations__", {}):
                return self.annotation(vars(base)["__annotations__"][name], base.__module__)
        return self.of_cpp(row.declaration.partition(row.member)[0])

    def signature(self, function: Any, is_static: bool) -> str:
        """Return the signature of a function of ours."""
        found, module = inspect.signature(function), function.__module__
        texts, kinds = [], [each.kind for each in found.parameters.values()]
        for number, each in enumerate(found.parameters.values()):
            is_by_name = each.kind is each.KEYWORD_ONLY and each.VAR_POSITIONAL not in kinds
            if is_by_name and number == kinds.index(each.KEYWORD_ONLY):
                texts.append("*")
            stars = "*" * (each.kind is each.VAR_POSITIONAL) + "**" * (
                each.kind is each.VAR_KEYWORD
            )
            is_self = number == 0 and not is_static
            note = "" if is_self else f": {self.annotation(each.annotation, module)}"
            name = "self" if is_self else stars + each.name
            texts.append(name + note + " = ..." * (each.default is not each.empty))
            is_last = kinds[number + 1 : number + 2] != [each.POSITIONAL_ONLY]
            if each.kind is each.POSITIONAL_ONLY and is_last:
                texts.append("/")
        return f"({', '.join(texts)}) -> {self.annotation(found.return_annotation, module)}"

    def declared(self, cls: type, member: str, rows: list[Row]) -> list[str]:
        """Return the declarations of a member as overloads, without pointers that are refused."""
        self.imports |= {"from typing import Any, overload"}
        ours = inspect.unwrap(getattr(cls, rows[0].ours.partition("(")[0]))
        result = self.annotation(ours.__annotations__["return"], ours.__module__)
        result = "int" if rows[0].declaration.split()[0] in WHOLE else result
        lines: dict[tuple[str, ...], str] = {}
        for declared in map(Declaration, rows):
            if any(declared.parameters[place].default == "" for place in declared.refused):
                continue
            given = [
                each
                for place, each in enumerate(declared.parameters)
                if place not in declared.refused
            ]
            texts = [self.parameter(each) for each in given]
            texts += ["/", "**keywords: Any"] if given else []
            line = f"def {member}({', '.join(('self', *texts))}) -> {result}: ..."
            lines.setdefault(tuple(text.partition(":")[2] for text in texts), line)
        overload = ["@overload"] * (len(lines) > 1)
        lines = lines or {(): f"def {member}(self) -> {result}: ..."}
        return [text for line in lines.values() for text in (*overload, line)]

    def parameter(self, parameter: DeclaredParameter) -> str:
        """Return a parameter with a type of Python."""
        kind = self.of_cpp(parameter.type)
        if parameter.name == "metadata":
            kind += f" | {self.of_cpp('QuarterMetadata')}"
        return f"{parameter.name}: {kind}" + " = ..." * bool(parameter.default)

    def of_cpp(self, text: str) -> str:
        """Return the type of Python for one of C++."""
        text = text.replace("const ", "").replace("&", "").strip()
        kind = TYPES.get(text, text if text in HOMES else "Any")
        self.imports |= {f"from {HOMES[name]} import {name}" for name in HOMES if name in kind}
        return kind


def written() -> str:
    """Return the text of the file."""
    writer = Writer()
    classes = [writer.class_text(cls) for cls in CLASSES]
    return HEAD + "\n".join(sorted(writer.imports)) + "\n\n\n" + "\n\n\n".join(classes) + "\n"


if __name__ == "__main__":
    FILE.write_text(written())
