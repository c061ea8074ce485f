"""Expressions: formulas over tensors, without any graph, that operations turn into vertices.

    operand      what takes part in formulas: tensors and expressions, with Python's operators
    tree         the nodes of an expression
    operations   every elementwise operation: its types, and how `compute` writes it
    build        from operands to nodes: types, numbers, shapes
    matrix_shapes  which shapes of matrices multiply
    formula      an expression as text

A tensor is a leaf of an expression, which needs its shape, element type and name.
"""
