"""Expressions: formulas over tensors, without a graph, that operations turn into vertices.

The modules:

    operand      operands of formulas, tensors and expressions, with Python's operators
    tree         the nodes of an expression, and their text
    operations   every elementwise operation: its types, and its text in `compute`
    build        from operands to nodes: types, numbers, shapes
    numpy_names  NumPy's names, supported or with a replacement

A tensor is a leaf of an expression, which uses its shape, element type and name.
"""
