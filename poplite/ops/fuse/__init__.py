"""From expressions to vertices: one generated class for each structure of an expression.

straight     a tree as numbered lines, equal parts once
class_text   the lines as the text of a vertex class
dots         products by one row or column as sums
arrivals     what products take whose operands lie elsewhere
joining      what reductions compute of an element, in slots
once         reductions along what is repeated
cuts         which elements each worker of each tile computes
placement    where a result lies
maps         the compute set of a map
lowering     what is stored, what is computed again, and in which order
"""
