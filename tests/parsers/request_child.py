"""Asks the profiler of one unpacked Dynamo release about requests: `request_child SITE`, specs as JSON on stdin.

Prints one JSON list: of each spec what the release's own model keeps of it. Fails where that model or the profiler's
checks refuse one. Only imports are stubbed.
"""

import importlib
import json
import sys

from tests.parsers.child import ABSENT, AbsentFinder

COMPUTING = frozenset({"aisimulate_core", "pandas", "sklearn"})
"""Packages that profiler and planner import beside those of the parsers."""


def main(site: str) -> None:
    sys.path.insert(0, site)
    sys.meta_path.insert(0, AbsentFinder(ABSENT | COMPUTING))
    types = importlib.import_module("dynamo.profiler.utils.dgdr_v1beta1_types")
    checks = importlib.import_module("dynamo.profiler.utils.dgdr_validate")
    kept = []
    for spec in json.load(sys.stdin):
        request = types.DynamoGraphDeploymentRequestSpec.model_validate(spec)
        kept.append(request.model_dump(mode="json", exclude_unset=True))
        checks.valid_dgdr_spec(request)
    print(json.dumps(kept))


if __name__ == "__main__":
    main(*sys.argv[1:])
