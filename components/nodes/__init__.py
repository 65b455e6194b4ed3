"""GPU nodes: pools, their capacity, their launch templates, and what makes them usable."""
