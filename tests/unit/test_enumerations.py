"""Members of enumerations are given by themselves or by their names, wherever one is asked for."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

import poplite as pl
from poplite.compat import popnn, popops
from poplite.errors import Enumeration

Use = Callable[[pl.Graph, pl.Tensor, Any], object]


def _serialized(graph: pl.Graph, x: pl.Tensor, format: Any) -> str:
    stream = io.StringIO()
    graph.serialize_tensors(stream, [x], format)
    return stream.getvalue()


def _reduced(graph: pl.Graph, x: pl.Tensor, operation: Any) -> str:
    program = pl.Sequence()
    popops.reduce(graph, x, [0], operation, program)
    return repr(program)


def _lstm(order: Any) -> popnn.lstm.LstmParams:
    named: Any = {"activation": "TANH", "recurrentActivation": "SIGMOID"}
    return popnn.lstm.LstmParams(pl.FLOAT, 2, 2, [3, 4], **named, cellOrder=order)


USES: dict[str, tuple[Enum, Use]] = {
    "upsample": (pl.UpsampleMethod.REPEAT, lambda g, x, m: x.upsample(2, 0, m).shape),
    "clone": (
        pl.TensorCloneMethod.CREATE_NEW_ORDER,
        lambda g, x, m: g.tile_mapping(g.clone(x, method=m)),
    ),
    "clone_n": (
        pl.TensorCloneDuplicationMethod.DUPLICATE_BY_OUTER_DIMENSION,
        lambda g, x, m: g.clone_n(x, 2, duplication=m).shape,
    ),
    "stream": (
        pl.ReplicatedStreamMode.BROADCAST,
        lambda g, x, m: (
            pl.Graph(g.target).add_host_to_device_fifo("a", pl.INT, 4, m).replicated_mode
        ),
    ),
    "function buffer": (
        pl.FunctionBufferMappingType.REMOTE,
        lambda g, x, m: repr(g.addFunctionBuffer(g.addFunction(pl.Sequence()), m))[:15],
    ),
    "serialize_tensors": (pl.SerializationFormat.JSON, _serialized),
    "Sync": (pl.SyncType.GLOBAL, lambda g, x, m: repr(pl.Sync(m))),
    "cycle_stamp": (
        pl.SyncType.EXTERNAL,
        lambda g, x, m: pl.cycle_stamp(g, pl.Sequence(), 0, m).shape,
    ),
    "getDevices": (
        pl.TargetType.CPU,
        lambda g, x, m: [repr(each) for each in pl.DeviceManager().getDevices(m)],
    ),
    "Layout": (pl.VectorLayout.ONE_PTR, lambda g, x, m: pl.Layout(m)),
    "QuarterMetadata": (pl.QuarterMetadata.Format.F152, lambda g, x, m: pl.QuarterMetadata(m)),
    "reduce": (popops.Operation.ADD, _reduced),
    "ReduceParams": (popops.Operation.MAX, lambda g, x, m: popops.ReduceParams(m).op),
    "topK": (
        popops.SortOrder.ASCENDING,
        lambda g, x, m: popops.topK(g, pl.Sequence(), x, popops.TopKParams(2, True, m)).shape,
    ),
    "nonLinearity": (
        popnn.NonLinearityType.RELU,
        lambda g, x, m: popnn.nonLinearity(g, m, x, pl.Sequence()).shape,
    ),
    "pool": (
        popnn.PoolingType.MAX,
        lambda g, x, m: popnn.PoolParams(
            m, [4], [2], [2], [0], [0], 1, 1, pl.FLOAT
        ).getOutputFieldShape(),
    ),
}


@pytest.mark.parametrize(("member", "use"), USES.values(), ids=USES)
def test_names_stand_for_members(member: Enum, use: Use) -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    x = graph.add_variable(pl.FLOAT, (4, 3), "x", mapping="linear")
    assert use(graph, x, member.name) == use(graph, x, member)
    with pytest.raises(
        pl.PopliteError, match=f": 'NOTHING' is not in {type(member).__name__}"
    ) as caught:
        use(graph, x, "NOTHING")
    assert ", ".join(each.name for each in type(member)) in caught.value.found
    assert f"{next(iter(type(member))).name!r}" in caught.value.fix


def test_gates_of_cells_and_layouts_of_lists_have_names() -> None:
    graph = pl.Graph(pl.Target(tiles=2))
    order = popnn.lstm.getDefaultBasicLstmCellOrder()
    names = [each.name for each in order]
    made = [popnn.lstm.createWeights(graph, _lstm(each)) for each in (order, names)]
    assert made[0].inputWeights.shape == made[1].inputWeights.shape
    layout: Any = "DELTAN"
    assert pl.Layout(layout) == pl.Layout(pl.VectorListLayout.DELTAN)


def test_every_enumeration_finds_its_members_by_name() -> None:
    values = [*vars(popnn).values(), *vars(popops).values()]
    values += [getattr(pl, name) for name in pl.__all__]
    kinds: set[Any] = {each for each in values if inspect.isclass(each) and issubclass(each, Enum)}
    assert len(kinds) > 20
    for kind in kinds:
        assert issubclass(kind, Enumeration), kind
        assert [kind(each.name) for each in kind] == [*kind]
        for wrong in ("x", 7.5, None, [1]):
            with pytest.raises(pl.InvalidOption, match=rf"is not in {kind.__name__}"):
                kind(wrong)
