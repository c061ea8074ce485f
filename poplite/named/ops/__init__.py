"""Operations on named tensors: nodes that hold axes, a type and operands, and no values."""
