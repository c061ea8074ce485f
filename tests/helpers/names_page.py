"""The tables of docs/poplar-names.md, made of the table of signatures and of what is absent.

python tests/helpers/names_page.py        writes them anew
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import poplite as pl  # noqa: E402
from helpers.poplar_members import ENUMERATIONS  # noqa: E402
from helpers.poplar_signatures import REFUSALS, ROWS  # noqa: E402
from poplite.compat.absent_names import NAMES  # noqa: E402
from poplite.errors import Absent  # noqa: E402

PAGE = ROOT / "docs/poplar-names.md"

OWNERS = (
    *(pl.Tensor, pl.Graph, pl.Engine, pl.Target, pl.Device, pl.IPUModel, pl.OptionFlags),
    *(pl.VertexInstance, pl.FieldData, pl.PopliteError),
)
"""Classes that Poplar has more members of."""


def absent_members() -> Iterator[tuple[str, Absent]]:
    """Yield the members that are refused with a reason."""
    for cls in OWNERS:
        for name, member in vars(cls).items():
            if isinstance(member, Absent):
                yield f"{cls.__name__}::{name}", member


def signatures() -> str:
    """Return the table of signatures."""
    lines = ["| class | Poplar | poplite |", "| --- | --- | --- |"]
    lines += [f"| {row.owner} | `{row.poplar}` | `{row.ours or row.camel}` |" for row in ROWS]
    return "\n".join(lines)


def absences() -> str:
    """Return the table of what is refused."""
    rows = [(name, member.reason, member.instead) for name, member in absent_members()]
    rows += [
        (f"{each.owner}::{each.poplar}".removeprefix("::"), each.reason, each.instead)
        for each in REFUSALS
    ]
    rows += [(name, *why) for name, why in NAMES.items()]
    lines = ["| Poplar | why not | instead |", "| --- | --- | --- |"]
    for name, reason, instead in rows:
        lines.append(f"| `{name}` | {reason} | {instead and f'`{instead}`'} |")
    return "\n".join(lines)


def enumerations() -> str:
    """Return the table of the members of enumerations that are spelled otherwise here."""
    lines = ["| enumeration | Poplar | poplite |", "| --- | --- | --- |"]
    for path, names in ENUMERATIONS.items():
        members = reduce(getattr, path.split("."), pl)
        for name in names.split():
            ours = getattr(members, name).name
            if ours != name:
                lines.append(f"| {path} | `{name}` | `{ours}` |")
    return "\n".join(lines)


def made(page: str) -> str:
    """Return a page with its tables made anew."""
    tables = (
        ("signatures", signatures()),
        ("enumerations", enumerations()),
        ("absent", absences()),
    )
    for name, table in tables:
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end -->)"
        found = re.search(pattern, page, re.S)
        assert found is not None, name
        page = page.replace(found[0], found[1] + table + found[2])
    return page


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text()))
