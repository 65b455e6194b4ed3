"""A graph, and the Jobs that verify and measure it."""
