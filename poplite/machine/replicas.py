"""Replicas: one graph on several equal parts of a machine, which all run the same program.

    machine   IPU 0   IPU 1   IPU 2   IPU 3          Target(ipus=4)
    replica  |------ 0 ------|------ 1 ------|       Graph(target, replication_factor=2)

A graph describes one replica, and its target is that replica's part of the machine.  All its
variables exist once in each replica; only their values may differ.

Source: Poplar user guide, "Replicated graphs".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from poplite.errors import GraphReplicationError, InvalidMachineModel
from poplite.machine.device import Device
from poplite.machine.target import Target
from poplite.text import amount, clipped, integer_or_none

T = TypeVar("T")

MOST_REPLICAS = 1 << 16
"""More replicas than any machine has IPUs; every replica takes memory of its own."""


def checked_target(value: object) -> Target:
    """Return a graph's machine, `Target()` for None; refuse anything but a target."""
    if value is None:
        return Target()
    if isinstance(value, Device):
        return value.getTarget()
    if isinstance(value, Target):
        return value
    tiles = value if isinstance(value, int) and value > 0 else 4
    raise InvalidMachineModel(
        f"Graph: {clipped(value)} is not a target",
        found=f"its type is {type(value).__name__}, where a Target is needed",
        fix=f"Graph(Target(tiles={tiles}))",
    )


def replica_part(machine: Target, replicas: object) -> tuple[Target, int]:
    """Return a replica's part of a machine, and the number of replicas that the user specified.

    Raises GraphReplicationError where the machine cannot be divided into so many equal parts.

    >>> replica_part(Target(tiles=8, ipus=4), 2)
    (<Target 4 tiles on 2 IPUs, 6 workers, 638,976 B a tile, 1.330 GHz>, 2)
    """
    count = integer_or_none(replicas)
    if count is None or not 1 <= count <= MOST_REPLICAS:
        raise GraphReplicationError(
            f"Graph: replication_factor={clipped(replicas)} is not a whole number from 1 to "
            f"{MOST_REPLICAS:,}",
            fix="Graph(target), or Graph(Target(ipus=2), replication_factor=2)",
        )
    if machine.ipus % count:
        ipus = -(-machine.ipus // count) * count
        raise GraphReplicationError(
            f"Graph: {amount(machine.ipus, 'IPU')} cannot be divided among {count:,} replicas",
            found=f"the target is the whole machine: {machine!r}",
            fix=f"Graph(Target(tiles={machine.tiles_per_ipu * ipus}, ipus={ipus}), "
            f"replication_factor={count})",
        )
    tiles, ipus = machine.tiles // count, machine.ipus // count
    return dataclasses.replace(machine, tiles=tiles, ipus=ipus), count


def replica_number(value: object, count: int, what: str) -> int:
    """Return the number of a replica; raise GraphReplicationError, naming the call, if none."""
    number = integer_or_none(value)
    if number is None or not 0 <= number < count:
        raise GraphReplicationError(
            f"{what}: there is no replica {clipped(value)}",
            found=f"the graph has {amount(count, 'replica')}: "
            + (f"0 to {count - 1}" if count > 1 else "0"),
            fix="a number in that range, or leave it out for all replicas"
            if count > 1
            else "Graph(Target(ipus=2), replication_factor=2) has two",
        )
    return number


def tiles_text(tiles: int, count: int) -> str:
    """Return the number of tiles of a replica, and of replicas if there are several, as words.

    >>> tiles_text(4, 1), tiles_text(4, 2)
    ('4 tiles', '4 tiles in each of 2 replicas')
    """
    return amount(tiles, "tile") + (f" in each of {count:,} replicas" if count > 1 else "")


def by_replica(values: Mapping[int, T], count: int, what: str) -> dict[int, T]:
    """Return the user's values by number of the replica, in ascending order.

    `what` is the call, for messages. Raises GraphReplicationError where there is no such replica,
    or no value.
    """
    if not values:
        raise GraphReplicationError(
            f"{what}: a dictionary without replicas", fix="{0: value, 1: value}"
        )
    checked = {replica_number(key, count, what): value for key, value in values.items()}
    return {number: checked[number] for number in sorted(checked)}
