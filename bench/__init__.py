"""Benchmark runs: AIPerf on this machine, what it measured, reports, comparisons and the regression gate."""
