"""How fast this project itself is, as ratios within one run: `python -m benchmarks`."""
