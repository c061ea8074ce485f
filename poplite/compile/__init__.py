"""From a graph and its programs to an executable: checks, races, lowering, ops."""
