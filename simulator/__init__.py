"""The simulator: one arena of memory, compiled drivers, and the engine that runs them."""

if __name__ == "simulator":  # from a checkout: a second copy of its classes
    raise ImportError("simulator is a part of poplite: import poplite.simulator")
