"""Files, changed at random: bytes, numbers of arrays, values of the manifest or of JSON.

bytes       cut, flipped, inserted                    checksums no longer fit
arrays      numbers replaced, checksums repaired      what compiled code would trust
manifest    values replaced, removed, exchanged       what Python would trust
"""

from __future__ import annotations

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

import numpy as np

from poplite.codec.archive import HEADER_BYTES, MANIFEST
from poplite.report.execution import ExecutionStep
from poplite.report.report import Report
from poplite.report.trace import trace_of
from poplite.viz.compare import Comparison, outcomes, parsed
from poplite.viz.dataflow.graph import dataflow_of_report
from poplite.viz.dataflow.picture import DataflowPicture, dataflow_dot
from poplite.viz.draw.words import Style
from poplite.viz.exchange import traffic_of
from poplite.viz.memory import STACKS, Stack, live_steps, memory_bars
from poplite.viz.notebook import html
from poplite.viz.one_tile import tile_contents
from poplite.viz.page import report_page
from poplite.viz.page.pack import Arrays
from poplite.viz.page.report_data import report_data
from poplite.viz.painters import PictureData
from poplite.viz.program import program_tree
from poplite.viz.program_nodes import saved_programs
from poplite.viz.steps import scope_tree, step_list, timeline_of
from poplite.viz.summary import summary_of_report
from poplite.viz.tensors.ownership import graph_of_variables, ownership_of
from poplite.viz.tile_map import WORDS, Quantity, quantity_map, tile_load

NUMBERS = (0, 1, -1, 2, 7, 64, 1 << 12, 1 << 31, 1 << 32, -(1 << 31), 1 << 62, (1 << 63) - 1)
"""Replacements of numbers, besides their neighbours."""


def mutated(content: bytes, random: Random) -> bytes:
    """Return a file with one or a few changes.

    Args:
        content: a file.
        random: where the changes come from.
    """
    kind = random.random()
    if kind < 0.15:
        return _bytes(content, random)
    if content.startswith(b"{"):
        value = json.loads(content)
        for _ in range(random.choice((1, 1, 1, 2, 5))):
            _value(value, random)
        return json.dumps(value).encode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        if kind < 0.55:
            name = random.choice([name for name in members if name != MANIFEST])
            members[name] = _numbers(members[name], random)
        else:
            manifest = json.loads(members[MANIFEST])
            _value(manifest, random)
            members[MANIFEST] = json.dumps(manifest).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)  # with the same date, whenever it is made
    return made.getvalue()


def _bytes(content: bytes, random: Random) -> bytes:
    data = bytearray(content)
    at = random.randrange(len(data))
    match random.randrange(4):
        case 0:
            return bytes(data[:at])
        case 1:
            data[at] ^= 1 << random.randrange(8)
        case 2:
            data[at:at] = random.randbytes(random.randrange(1, 40))
        case 3:
            # Where the directory of a zip file is: sizes, offsets and names.
            at = random.randrange(max(0, len(data) - 600), len(data))
            data[at] = random.randrange(256)
    return bytes(data)


def _numbers(member: bytes, random: Random) -> bytes:
    """Replace a number of an array member."""
    if len(member) <= HEADER_BYTES or random.random() < 0.02:
        return member[: random.randrange(len(member) + 1)]
    if not member.startswith(b"\x93NUMPY"):  # as those of states
        return _bytes(member, random)
    kind = np.dtype(member.split(b"'", 4)[3].decode())
    whole = (len(member) - HEADER_BYTES) // kind.itemsize
    numbers = np.frombuffer(member, kind, whole, HEADER_BYTES).copy()
    if not whole:
        return member
    at = random.randrange(len(numbers))
    near = int(np.nan_to_num(numbers[at])) + random.choice((-1, 1, 8, -8))
    value = random.choice((*NUMBERS, near, int(np.nan_to_num(random.choice(numbers)))))
    with np.errstate(all="ignore"):
        numbers[at] = np.array(value & ((1 << 63) - 1) if value > 0 else value).astype(kind)
    return member[:HEADER_BYTES] + numbers.tobytes()


def _value(manifest: Any, random: Random) -> None:
    """Replace, remove or exchange a value somewhere in the manifest."""
    places = list(_places(manifest))
    if not places:  # all was removed before
        return
    holder, key = random.choice(places)
    other, other_key = random.choice(places)
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = copy.deepcopy(other[other_key])
        case 2 if isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        case 3:
            holder[key] = random.choice((None, True, "", "x", [], {}, 0.5, [1] * 30, -1, 1 << 70))
        case _:
            numbers = [(h, k) for h, k in places if type(h[k]) is int]
            if not numbers:
                return
            holder, key = random.choice(numbers)
            near = holder[key] + random.choice((-1, 1, 8, 64))
            holder[key] = random.choice((*NUMBERS, near, near))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    keys: Sequence[Any] = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


# -- everything that is made of a report -----------------------------------------------------------

TOP = 10
"""Things that are listed."""


def report_forms(report: Report, before: Report) -> dict[str, Callable[[], object]]:
    """Return a function for each thing that is made of a report, by name: text, page, pictures.

    `before` is the report with which it is compared.

    >>> import poplite as pl
    >>> graph = pl.Graph(pl.Target(tiles=2))
    >>> a, b = (graph.add_variable(pl.INT, (3,), name, mapping=0) for name in "ab")
    >>> report = pl.Engine(graph, pl.Copy(a, b)).report()
    >>> made = {name: make() for name, make in report_forms(report, report).items()}
    >>> made["steps"][0].splitlines()[0]
    'steps: 1, 299 cycles; as compiled, of one run'
    """
    modelled = {} if report.compilation.modelled is None else _of_memory(report)
    return {
        "text": lambda: (str(report), repr(report), report.rows(), str(report.insights)),
        "json": report.to_json,
        "page": report.to_html,
        "rough pages": lambda: [report_data(report, Arrays(), rough=rough) for rough in (1, 2, 3)],
        "comparing page": lambda: report_page(report, before=before),
        "cell": lambda: html(report),
        "differences": lambda: [_differences(*pair) for pair in _pairs(report, before)],
        "trace": lambda: trace_of(report).to_json(),
        "properties": lambda: [_properties(step) for step in report.places],
        "summary": lambda: _drawn(summary_of_report(report)),
        "programs": lambda: [
            _drawn(program_tree(node, counts=True)) for node in saved_programs(report).values()
        ],
        "dataflow": lambda: _dataflow(report),
        "variables": lambda: _variables(report),
        "steps": lambda: _drawn(step_list(report)),
        "timeline": lambda: _drawn(timeline_of(report)),
        "exchange": lambda: _drawn(traffic_of(report, top=TOP)),
        "operations": lambda: _drawn(scope_tree(report, depth=9)),
        **modelled,
    }


def _of_memory(report: Report) -> dict[str, Callable[[], object]]:
    """Return the functions of reports that model memory and cycles."""
    tiles = sorted({0, report.tiles - 1})
    return {
        "tiles": lambda: [_drawn(tile_contents(report, tile)) for tile in tiles],
        "liveness": lambda: _drawn(live_steps(report)),
        "liveness of steps": lambda: [
            step.not_always_live_memory_for_tile(tile)
            for step in report.compilation.liveness_program_steps
            for tile in tiles
        ],
        **{f"memory by {stack}": partial(_bars, report, stack) for stack in STACKS},
        **{f"tiles by {by}": partial(_map, report, by) for by in WORDS},
    }


def _bars(report: Report, stack: Stack) -> list[object]:
    return _drawn(memory_bars(report, stack=stack, top=TOP))


def _map(report: Report, by: Quantity) -> list[object]:
    return _drawn(quantity_map(report, by))


def _drawn(picture: PictureData) -> list[object]:
    made: list[object] = [picture.text(Style()), picture.svg(), picture.json()]
    with suppress(NotImplementedError):  # not every picture has these forms
        made.append(picture.csv())
    with suppress(NotImplementedError):
        made.append(picture.page(""))
    return made


def _pairs(report: Report, before: Report) -> list[tuple[Report, Report]]:
    return [(before, report), (report, before), (report, report)]


def _differences(before: Report, after: Report) -> list[object]:
    checks = [parsed(text) for text in ("cycles>+5%", "balance<-2", "bytes>1000")]
    compared = Comparison(
        ("before", "after"), before.diff(after), tuple(outcomes(before, after, checks)), TOP
    )
    return [compared.markdown(), compared.page()]  # the page has all the other forms


def _properties(step: ExecutionStep) -> list[object]:
    return [step.program, step.tile_balance, step.ipus, step.bytes_sent, step.bytes_received]


def _dataflow(report: Report) -> list[object]:
    flow = dataflow_of_report(report)
    return [*_drawn(DataflowPicture(flow)), dataflow_dot(flow)]


def _variables(report: Report) -> list[object]:
    graph = graph_of_variables(report)
    drawn: list[PictureData] = [tile_load(graph)]
    drawn += [ownership_of(graph.tensor(each.name)) for each in graph.variables]
    return [_drawn(each) for each in drawn]
