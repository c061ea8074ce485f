"""From expressions to vertices: one generated class for each structure of an expression.

The modules:

    recipe        a tree as numbered lines, equal subtrees only once, and facts about them
    classes       the vertex class for such lines: its text and its name, generated once
    pricing       the cost of the lines, in slots
    storing       which values are stored, at which level of steps, and which are recomputed
    placement     where a result is mapped, and which of its elements each worker computes
    contractions  matrix products within expressions, as sums or by their plans
    gathering     copies that gather elements for vertices on their tile
    maps          the compute set for a map
    lowering      which steps are recorded, in which order
"""
