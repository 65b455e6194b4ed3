"""Benchmarks: the points that are measured, their command lines, and the Job. Pure."""
