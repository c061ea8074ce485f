"""How a vector field lies in the memory of its tile: pointers, counts, alignment.

    x: Annotated[Input[Vector[FLOAT]], Layout(VectorLayout.SHORT_SPAN, min_align=8)]

    SPAN         | pointer | 32-bit count |      any length
    SHORT_SPAN   | pointer | count |             11 bits of a count: at most 2,047 elements
    ONE_PTR      | pointer |                     the length is not stored

What a vertex computes does not depend on it: a layout limits how many elements can be connected,
and the cost model needs it for the size of the field.

Source: Poplar user guide, "Vertex vector types".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from poplite.errors import Enumeration, VertexDefinitionError, checked_member
from poplite.text import clipped

LARGEST_COUNT = 2**32 - 1
LARGEST_SHORT_COUNT = 2**11 - 1


class VectorLayout(Enumeration):
    """What is stored of a vector besides its elements."""

    SPAN = "pointer and count"
    SHORT_SPAN = "pointer and count of 11 bits"
    ONE_PTR = "pointer"
    SCALED_PTR32 = "16-bit pointer in units of 4 bytes"
    SCALED_PTR64 = "16-bit pointer in units of 8 bytes"
    SCALED_PTR128 = "16-bit pointer in units of 16 bytes"
    COMPACT_PTR = "the shortest pointer that does"

    @property
    def limit(self) -> int:
        """The most elements of a vector."""
        return LARGEST_SHORT_COUNT if self is VectorLayout.SHORT_SPAN else LARGEST_COUNT


class VectorListLayout(Enumeration):
    """What is stored of a list of vectors besides their elements."""

    DELTANELEMENTS = "a pointer, and for each vector an offset and a count"
    DELTAN = "a pointer, and for each vector an offset and a count, the older form"
    COMPACT_DELTAN = "as DELTAN, in the least bytes"


class ProfilerVectorLayout(Enumeration):
    """What an estimator is told of a vector; source: Poplar API reference, "layout::Vector"."""

    NOT_A_VECTOR = "one element"
    SPAN = VectorLayout.SPAN.value
    SHORT_SPAN = VectorLayout.SHORT_SPAN.value
    ONE_PTR = VectorLayout.ONE_PTR.value
    SCALED_PTR32 = VectorLayout.SCALED_PTR32.value
    SCALED_PTR64 = VectorLayout.SCALED_PTR64.value
    SCALED_PTR128 = VectorLayout.SCALED_PTR128.value

    # C++ spelling

    NotAVector = NOT_A_VECTOR
    Span = SPAN
    ShortSpan = SHORT_SPAN
    OnePtr = ONE_PTR
    ScaledPtr32 = SCALED_PTR32
    ScaledPtr64 = SCALED_PTR64
    ScaledPtr128 = SCALED_PTR128


class ProfilerVectorListLayout(Enumeration):
    """What an estimator is told of a list; source: Poplar API reference, "layout::VectorList"."""

    NOT_A_VECTOR_LIST = "no list in one descriptor"
    DELTANELEMENTS = VectorListLayout.DELTANELEMENTS.value
    DELTAN = VectorListLayout.DELTAN.value
    ONE_PTR = "a pointer to vectors of equal lengths; no field has it"
    SCALED_PTR32 = "a 16-bit pointer in units of 4 bytes to such vectors; no field has it"
    SCALED_PTR64 = "a 16-bit pointer in units of 8 bytes to such vectors; no field has it"
    SCALED_PTR128 = "a 16-bit pointer in units of 16 bytes to such vectors; no field has it"

    # C++ spelling

    NotAVector = NOT_A_VECTOR_LIST
    OnePtr = ONE_PTR
    ScaledPtr32 = SCALED_PTR32
    ScaledPtr64 = SCALED_PTR64
    ScaledPtr128 = SCALED_PTR128
    DeltaN = DELTAN
    DeltaNElements = DELTANELEMENTS


@dataclass(frozen=True, slots=True, repr=False)
class Layout:
    """How a vector field lies in memory; written in `Annotated` beside the field's type.

    Args:
        vector: what is stored for each vector; for a list of edges also a `VectorListLayout`, for
            one list of all its vectors.
        min_align: alignment of the first element in bytes; a power of two.
        interleaved: whether the elements are in interleaved memory.

    Raises:
        VertexDefinitionError: for another layout, or an alignment that is no power of two.

    >>> Layout(VectorLayout.ONE_PTR, min_align=8)
    Layout(VectorLayout.ONE_PTR, min_align=8)
    """

    vector: VectorLayout | VectorListLayout = VectorLayout.SPAN
    min_align: int = 1
    interleaved: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.vector, VectorListLayout):
            of_list = isinstance(self.vector, str) and self.vector in VectorListLayout.__members__
            kind: type[VectorLayout | VectorListLayout] = (
                VectorListLayout if of_list else VectorLayout
            )
            vector = checked_member(self.vector, kind, "Layout", error=VertexDefinitionError)
            object.__setattr__(self, "vector", vector)
        align = self.min_align
        if type(align) is not int or align < 1 or align & (align - 1):
            raise VertexDefinitionError(
                f"Layout: min_align={clipped(align)} is no power of two",
                found="it is bytes, such as 8 for loads of 64 bits",
                fix="Layout(min_align=8)",
            )

    @property
    def limit(self) -> int:
        """The most elements of a vector."""
        return self.vector.limit if isinstance(self.vector, VectorLayout) else LARGEST_COUNT

    def __str__(self) -> str:
        align = f", min_align {self.min_align}" if self.min_align > 1 else ""
        return f"{self.vector.name}{align}{', interleaved' if self.interleaved else ''}"

    def __repr__(self) -> str:
        align = f", min_align={self.min_align}" if self.min_align > 1 else ""
        interleaved = ", interleaved=True" if self.interleaved else ""
        return f"Layout({type(self.vector).__name__}.{self.vector.name}{align}{interleaved})"


PLAIN = Layout()
"""The layout of fields without one of their own."""


def split_annotation(annotation: Any) -> tuple[Any, list[Layout]]:
    """Return the type in an annotation, and the layouts beside it; other metadata is ignored.

    >>> split_annotation(Annotated[int, "a count", PLAIN])
    (<class 'int'>, [Layout(VectorLayout.SPAN)])
    """
    if get_origin(annotation) is not Annotated:
        return annotation, []
    kind, *beside = get_args(annotation)
    return kind, [each for each in beside if isinstance(each, Layout)]


def refusal_of_layouts(layouts: list[Layout], depth: int, is_edge: bool) -> str:
    """Return why a field of this depth cannot have these layouts, or ""."""
    if len(layouts) > 1:
        return f"has {len(layouts)} layouts; a field has one"
    if layouts and depth == 0:
        return f"is one element, which has no {layouts[0]!r}"
    is_list = layouts and isinstance(layouts[0].vector, VectorListLayout)
    if is_list and (depth != 2 or not is_edge):
        return f"is no list of edges, as {layouts[0]!r} needs"
    return ""


def profiler_layout(layout: Layout, rank: int, dim: int) -> ProfilerVectorLayout:
    """Return how the vectors of a dimension are stored; a list itself is a pointer and a count.

    >>> profiler_layout(Layout(VectorLayout.ONE_PTR), rank=2, dim=1)
    <ProfilerVectorLayout.ONE_PTR: 'pointer'>
    """
    if rank == 0 or isinstance(layout.vector, VectorListLayout):
        return ProfilerVectorLayout.NOT_A_VECTOR
    if dim == 0 and rank == 2:
        return ProfilerVectorLayout.SPAN
    if layout.vector is VectorLayout.COMPACT_PTR:
        return ProfilerVectorLayout.ONE_PTR
    return ProfilerVectorLayout[layout.vector.name]


def profiler_list_layout(layout: Layout, rank: int) -> ProfilerVectorListLayout:
    """Return how a list of vectors is stored in one descriptor, if it is.

    >>> profiler_list_layout(Layout(VectorListLayout.COMPACT_DELTAN), rank=2)
    <ProfilerVectorListLayout.DELTAN: 'a pointer, and for each vector an offset and a count, ...'>
    """
    if rank != 2 or not isinstance(layout.vector, VectorListLayout):
        return ProfilerVectorListLayout.NOT_A_VECTOR_LIST
    if layout.vector is VectorListLayout.DELTANELEMENTS:
        return ProfilerVectorListLayout.DELTANELEMENTS
    return ProfilerVectorListLayout.DELTAN
