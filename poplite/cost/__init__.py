"""What a step costs on the machine that is modelled: cycles, bytes moved, bytes held.

Prices of single instructions, for vertices without a formula, are in `poplite.simulator.pricing`.
"""
