"""The machine that is modelled: what it has, what it costs, where that is known from."""
