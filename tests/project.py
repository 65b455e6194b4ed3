"""The project's own folders, for tests that look at its source."""

from pathlib import Path

PROJECT = Path(__file__).parents[1]
PROGRAM = ("facts", "targets", "pods", "manifests", "components", "stacks")
"""What `pulumi up` runs, from what imports nothing of the project to what imports the most."""
SOURCE = (*PROGRAM, "package", "policy", "embedded", "pages", "measure", "ops", "docs", "benchmarks")
"""Every folder that has Python of the project."""
