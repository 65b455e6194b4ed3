"""One page of a stack: what it is made of, when it answers, what it costs, and what was measured of it."""
