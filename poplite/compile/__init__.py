"""From a graph and its programs to something that runs: checks, edges, lowering."""
