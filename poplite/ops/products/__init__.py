"""Matrix products and convolutions, with plans of how they are divided among tiles.

Expressions around products use these names instead of the modules, which are therefore not loaded
for a map without a product.
"""

from typing import TYPE_CHECKING

from poplite.public import loaded_on_use

if TYPE_CHECKING:
    from poplite.ops.products.matmul import layout_for as layout_for
    from poplite.ops.products.matmul_layout import (
        BlockParts as BlockParts,
        Epilogue as Epilogue,
        MatrixBlocks as MatrixBlocks,
        Multiplication as Multiplication,
        Options as Options,
        ProductLayout as ProductLayout,
        mapping_of_product as mapping_of_product,
        product_of as product_of,
        rows_cost_more as rows_cost_more,
    )

__all__, __getattr__, __dir__ = loaded_on_use(__name__)
