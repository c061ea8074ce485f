"""How much the tests try: by default what shows each behaviour, with `--depth=full` all cases.

This is the one place that knows the two.  What only repeats a behaviour on more cases is marked
with `deep` or made by `thinned`; tests of Hypothesis that need more than the usual number of
examples say so with `examples`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

T = TypeVar("T")

_chosen = "quick"

_drawn: int | None = None
"""How many examples every test of Hypothesis draws; None for as many as it says."""

USUAL = {"quick": 10, "full": 30}
"""By depth: how many examples Hypothesis draws for a test that says nothing else."""

_UNIT = 50
"""What the numbers of `examples` relate to."""

deep = pytest.mark.deep
"""Marks a test, or a case of one, that runs at full depth only."""

# No deadline: the first call of a vertex compiles it.  Derandomized: the same tests every time.
for _depth, _examples in USUAL.items():
    settings.register_profile(
        _depth,
        deadline=None,
        derandomize=True,
        max_examples=_examples,
        suppress_health_check=[HealthCheck.too_slow],  # as it is on a busy machine
    )


def choose(depth: str, drawn: int | None = None) -> None:
    """Run the tests at this depth; or draw so many examples, others in each run."""
    global _chosen, _drawn
    _chosen, _drawn = depth, drawn
    settings.load_profile(depth)
    if depth == "quick" and drawn is None:
        _draw_no_constants_of_the_source()
    if drawn is not None:
        settings.register_profile("drawn", max_examples=drawn, derandomize=False, database=None)
        settings.load_profile("drawn")


def _draw_no_constants_of_the_source() -> None:
    """Let Hypothesis not parse a thousand modules, in each worker, for constants to draw.

    Nor does a change anywhere in poplite then change what each test draws.
    """
    if hasattr(providers, "_get_local_constants"):  # newer ones do
        none = providers._local_constants  # as long as nothing has been collected
        providers._get_local_constants = lambda: none


def thinned(cases: Iterable[T], keep: int | Collection[T]) -> list[Any]:
    """Return the cases of `pytest.mark.parametrize`, most of them for full depth only.

    Args:
        cases: all of them.
        keep: which always run, or how many of the first.
    """
    listed = list(cases)
    kept = listed[:keep] if isinstance(keep, int) else keep
    assert all(case in listed for case in kept)
    return [
        case
        if case in kept
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=deep)
        for case in listed
    ]


def values_only() -> dict[str, bool]:
    """Return options of engines whose values alone are tested: by default nothing is priced.

    What prices a vertex class is compiled beside what runs it, also where it is interpreted.
    """
    return {} if _chosen == "full" else {"debug.instrument": False}


def interpreted() -> dict[str, Any]:
    """Return arguments of engines of which only values are tested: by default all is interpreted.

    For vertices whose `compute` other tests compile, or others alike; at full depth it is compiled.
    """
    return {} if _chosen == "full" else {"interpret": True, "options": values_only()}


def forms() -> tuple[bool, ...]:
    """Return which forms to compare, as `interpret` of engines: by default the interpreted one.

    For operations made of those that other tests compile as well.
    """
    return (False, True) if _chosen == "full" else (True,)


INTERPRETED_ENGINES = {
    "POPLITE_ENGINE_OPTIONS": json.dumps({"interpret": True, "debug.instrument": False})
}
"""Environment variables for engines that others make, whose vertices are interpreted."""


def interpreted_everywhere() -> dict[str, str]:
    """Return environment variables for engines that others make, and that show values only.

    By default all their vertices are interpreted, at full depth compiled.
    """
    return {} if _chosen == "full" else INTERPRETED_ENGINES


def examples(number: int, *, quick: int | None = None) -> settings:
    """Return the decorator for a test of Hypothesis that draws more or fewer examples than others.

    Args:
        number: of examples where other tests draw 50; at each depth as much fewer as they do.
        quick: of examples by default, where that is not said by `number`.  Tests that compile
            something for each example need to say fewer.
    """
    if _drawn is not None:
        return settings(max_examples=_drawn)
    usual = settings().max_examples
    few = number * usual // _UNIT if quick is None or usual == USUAL["full"] else quick
    return settings(max_examples=max(1, few))
