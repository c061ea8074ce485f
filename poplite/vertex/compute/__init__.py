"""The language of `compute`: its syntax, its meaning, its interpreted form.

`dialect` defines the syntax and finds the functions that `compute` calls, `typed_compute` infers
the kind of every number, `identity` identifies the code of a class and prepares it for a compiler,
`arithmetic` contains the operations, and `interpret` runs the method as Python. `meaning` is the
protocol through which everything else uses a `compute`, and detects its changes.

Both forms have bit-identical results; docs/arithmetic.md has the rules.
"""
