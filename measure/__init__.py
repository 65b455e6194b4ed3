"""Measuring a stack: AIPerf, the driver around it with its teardown, results, reports, comparisons and the gate."""
