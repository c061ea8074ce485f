"""A call that works of every public function and method, by where it is."""
