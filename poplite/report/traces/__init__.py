"""What ran in time: the steps of a run, and the events of Perfetto and Chrome made of them."""
