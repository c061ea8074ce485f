"""The simulator: one arena of memory, compiled drivers, and the engine that runs them."""
