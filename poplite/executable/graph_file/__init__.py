"""A graph and its programs in a file, before anything is compiled."""

from poplite.executable.graph_file.saved import (
    is_saved_graph as is_saved_graph,
    load as load,
    save as save,
)
