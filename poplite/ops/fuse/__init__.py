"""From expressions to vertices: one generated class for each structure of an expression.

recipe        a tree as numbered lines, equal parts once, and facts about them
classes       the vertex class of such lines: its text, its name, made once
pricing       what the lines take, in slots
storing       values to store, in which level of steps, and values to compute again
placement     where a result lies, and which of its elements each worker has
contractions  products of matrices within expressions, as sums or by their plans
gathering     copies that gather elements for vertices on their tile
maps          the compute set of a map
lowering      which steps, in which order
"""
