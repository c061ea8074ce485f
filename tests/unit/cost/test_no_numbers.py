"""No quantity of the machine stands in the code of the cost model: they are all facts.

A number in a calculation or comparison is 0, 1, 2 or the name of a constant: of the machine, from
`poplite.machine.facts`, where it has a source; or of the data's form, one of the module's own
constants, with a docstring.  Powers of two may have any exponent.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FILES = sorted(
    path
    for folder in ("poplite/cost", "simulator/pricing", "vertices/estimators")
    for path in (ROOT / folder).rglob("*.py")
) + [ROOT / "poplite/graph/compute_sets/cycles_method.py", ROOT / "poplite/vertex/fields.py"]
PLAIN = (0, 1, 2)


def numbers(source: str) -> list[tuple[int, float]]:
    """Return (line, number) of what a calculation takes that is no plain number."""
    found = []
    for node in ast.walk(ast.parse(source)):
        operands: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, op=ast.Pow() | ast.LShift() | ast.RShift()):
                operands = [left]
            case ast.BinOp(left=ast.List() | ast.Tuple()):
                pass  # so many of the same
            case ast.BinOp(left=left, right=right):
                operands = [left, right]
            case ast.AugAssign(value=value) | ast.UnaryOp(operand=value):
                operands = [value]
            case ast.Compare(left=left, comparators=others):
                operands = [left, *others]
        found += [
            (operand.lineno, operand.value)
            for operand in operands
            if isinstance(operand, ast.Constant)
            and isinstance(operand.value, int | float)
            and operand.value not in PLAIN
        ]
    return sorted(found)


def undocumented(source: str) -> list[str]:
    """Return constants of a module that are numbers and do not say what they are."""
    body = ast.parse(source).body
    documented = {
        line.lineno
        for line, text in zip(body, body[1:], strict=False)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
    return [
        ast.unparse(node)
        for node in body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int | float)
        and node.lineno not in documented
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_numbers_of_the_machine_are_facts(path: Path) -> None:
    source = path.read_text()
    assert numbers(source) == []
    assert undocumented(source) == []


def test_a_number_in_a_calculation_is_found() -> None:
    assert numbers("cycles = 90 + words\nif words > 4.5: words *= 8\n") == [
        (1, 90),
        (2, 4.5),
        (2, 8),
    ]
    assert numbers("x = -1 * row[5] + 2 * (n - 1)\ny = (3, f(7))\n") == []
    assert undocumented('A = 64\n"""What it is."""\nB = 64\n') == ["B = 64"]
    assert len(FILES) > 10
