"""Members of Graph for streams, handles and functions whose C++ spelling takes other arguments.

    graph.addHostToDeviceFIFO("in", FLOAT, 6, {"bufferingDepth": "2"})
    graph.add_host_to_device_fifo("in", FLOAT, 6, buffering_depth=2)

Each function becomes a method of `Graph` under its C++ name.
Source of names, order and overloads: Poplar API reference, "Graph".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from poplite.errors import (
    InvalidOption,
    checked_member,
    checked_truth,
    did_you_mean,
)
from poplite.graph.host.streams import DataStream, ReplicatedStreamMode
from poplite.machine.option_flags import checked_options
from poplite.poplar.binder import FunctionBufferMappingType
from poplite.source import here
from poplite.text import clipped, integer_or_none

if TYPE_CHECKING:
    from poplite.graph.graph import Graph
    from poplite.graph.host.transfer_checks import TypeLike
    from poplite.graph.tensor.tensor import Tensor
    from poplite.program.function import Function, FunctionBuffer


def addHostToDeviceFIFO(
    graph: Graph,
    handle: str,
    element_type: TypeLike,
    num_elements: int,
    replicated_mode: ReplicatedStreamMode | str | Mapping[str, object] | None = None,
    options: Mapping[str, object] | None = None,
    *,
    buffering_depth: int | None = None,
) -> DataStream:
    """C++ spelling of `add_host_to_device_fifo`.

    `addHostToDeviceFIFO(handle, type, numElements, [mode,] [options])`

    Args:
        graph: where it is made.
        handle: as in `add_host_to_device_fifo`.
        element_type: as there.
        num_elements: as there.
        replicated_mode: as there; or the options, where they follow the number.
        options: Poplar's, by name: `bufferingDepth`, and `splitLimit`, which has no effect.
        buffering_depth: as in `add_host_to_device_fifo`, before the option.

    Raises:
        InvalidOption: for another option, or a value that is no whole number from 0.
        PopliteError: as `add_host_to_device_fifo`.

    >>> from poplite.graph import Graph
    >>> Graph().addHostToDeviceFIFO("in", "int32", 6, {"bufferingDepth": "3"}).buffering_depth
    3
    """
    if isinstance(replicated_mode, Mapping):
        if options is not None:
            raise InvalidOption(
                f"stream {clipped(handle)}: options {clipped(replicated_mode)} and "
                f"{clipped(options)}",
                at=here(),
                fix="addHostToDeviceFIFO(handle, type, n, ReplicatedStreamMode.REPLICATE, options)",
            )
        replicated_mode, options = None, replicated_mode
    asked = _buffering_depth(options, handle)
    depth = asked if buffering_depth is None else buffering_depth
    mode = ReplicatedStreamMode.REPLICATE if replicated_mode is None else replicated_mode
    return graph.add_host_to_device_fifo(handle, element_type, num_elements, mode, depth)


def addDeviceToHostFIFO(
    graph: Graph,
    handle: str,
    element_type: TypeLike,
    num_elements: int,
    options: Mapping[str, object] | None = None,
) -> DataStream:
    """C++ spelling of `add_device_to_host_fifo`.

    Args:
        graph: where it is made.
        handle: as in `add_device_to_host_fifo`.
        element_type: as there.
        num_elements: as there.
        options: Poplar's, by name; none has an effect.

    Raises:
        InvalidOption: as `addHostToDeviceFIFO`.
        PopliteError: as `add_device_to_host_fifo`.

    >>> from poplite.graph import Graph
    >>> Graph().addDeviceToHostFIFO("out", "int32", 6, {"splitLimit": "0"})
    <DataStream 'out' device to host, int32[6], 24 B>
    """
    _buffering_depth(options, handle)
    return graph.add_device_to_host_fifo(handle, element_type, num_elements)


def createHostWrite(
    graph: Graph, handle: str, tensor: Tensor, rearrange_on_host: bool = False
) -> None:
    """C++ spelling of `create_host_write`.

    Args:
        graph: the graph of the tensor.
        handle: as in `create_host_write`.
        tensor: as there.
        rearrange_on_host: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: for anything but a truth value.
        PopliteError: as `create_host_write`.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.createHostWrite("x", graph.add_variable("int32", (4,), mapping=0), True)
    >>> list(graph.host_writes)
    ['x']
    """
    checked_truth(rearrange_on_host, "createHostWrite: rearrangeOnHost")
    graph.create_host_write(handle, tensor)


def createHostRead(
    graph: Graph, handle: str, tensor: Tensor, rearrange_on_host: bool = False
) -> None:
    """C++ spelling of `create_host_read`.

    Args:
        graph: the graph of the tensor.
        handle: as in `create_host_read`.
        tensor: as there.
        rearrange_on_host: as in Poplar; it has no effect.

    Raises:
        ElementTypeError: for anything but a truth value.
        PopliteError: as `create_host_read`.

    >>> from poplite.graph import Graph
    >>> graph = Graph()
    >>> graph.createHostRead("x", graph.add_variable("int32", (4,), mapping=0), True)
    >>> list(graph.host_reads)
    ['x']
    """
    checked_truth(rearrange_on_host, "createHostRead: rearrangeOnHost")
    graph.create_host_read(handle, tensor)


def addFunctionBuffer(
    graph: Graph,
    function: Function,
    mapping_type: FunctionBufferMappingType = FunctionBufferMappingType.REMOTE,
) -> FunctionBuffer:
    """C++ spelling of `add_function_buffer`.

    Args:
        graph: the graph of the function.
        function: as in `add_function_buffer`.
        mapping_type: REMOTE, the one type there is.

    Raises:
        ElementTypeError: for another type.
        PopliteError: as `add_function_buffer`.

    >>> import poplite as pl
    >>> graph = pl.Graph()
    >>> graph.addFunctionBuffer(graph.addFunction(pl.Program()), FunctionBufferMappingType.REMOTE)
    <FunctionBuffer of 'function'>
    """
    checked_member(mapping_type, FunctionBufferMappingType, "addFunctionBuffer")
    return graph.add_function_buffer(function)


_STREAM_OPTIONS = ("bufferingDepth", "splitLimit")


def _buffering_depth(options: Mapping[str, object] | None, handle: str) -> int:
    """Return the depth that a stream's options ask for; 1 if none."""
    depth = 1
    checked_options(options, f"stream {clipped(handle)}")
    for name, value in (options or {}).items():
        is_text = isinstance(value, str) and value.removeprefix("-").isdecimal()
        number = integer_or_none(int(str(value)) if is_text else value)
        if name not in _STREAM_OPTIONS:
            raise InvalidOption(
                f"stream {clipped(handle)} has no option {clipped(name)}"
                f"{did_you_mean(name, _STREAM_OPTIONS)}",
                at=here(),
                found=f"options are {' and '.join(_STREAM_OPTIONS)}",
                fix='{"bufferingDepth": 2}',
            )
        if number is None or number < 0:
            raise InvalidOption(
                f"stream {clipped(handle)}: {name} is {clipped(value)}, not a whole number from 0",
                at=here(),
                fix=f'{{"{name}": 2}}',
            )
        depth = number if name == "bufferingDepth" else depth
    return depth
