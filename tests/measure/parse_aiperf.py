"""Runs under AIPerf's own Python: what its parser says of command lines, read from standard input as JSON.

Prints for each its settings, or the error that `aiperf` would end with.
"""

import json
import sys

from aiperf.cli import app  # type: ignore[import-not-found]
from aiperf.config.flags.resolver import resolve_config  # type: ignore[import-not-found]
from aiperf.config.loader import build_benchmark_plan  # type: ignore[import-not-found]


def verdict(argv: list[str]) -> dict[str, object]:
    """What AIPerf makes of the words after its name, by its own name of each setting."""
    try:
        _, bound, _ = app.parse_args(argv, exit_on_error=False, print_error=False)
        given = bound.arguments["cli_config"]
        build_benchmark_plan(resolve_config(given, None))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"settings": given.model_dump(mode="json", exclude_unset=True)}


print(json.dumps([verdict(argv) for argv in json.load(sys.stdin)]))
