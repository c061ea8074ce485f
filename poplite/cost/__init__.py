"""What a step costs on the machine that is modelled: cycles, bytes moved, bytes held."""
