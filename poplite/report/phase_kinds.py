"""What phases of a step do, and how their cycles are known: words that costs and reports share."""

from __future__ import annotations

from typing import Literal, get_args

PhaseKind = Literal["compute", "copy", "exchange", "global exchange", "host exchange"]
"""What happens in a phase: vertices run; data are rearranged on their tile; they move between the
tiles of an IPU, between IPUs, or from and to the host."""

PHASE_KINDS: tuple[PhaseKind, ...] = get_args(PhaseKind)

Source = Literal["given", "formula", "estimated", "counted", "guessed"]
"""How cycles of vertices are known: `set_perf_estimate`; a formula of the class, or an estimator;
priced from the compiled code; counted while it ran; or a guess."""
