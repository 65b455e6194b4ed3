"""Asks the Planner of one unpacked Dynamo release about configurations: `planner_child SITE`, a JSON list on stdin.

Prints one JSON list: of each configuration what the release's own model makes of the keys that were said, and the keys
that it does not know. Fails where the model refuses one. Only imports are stubbed.
"""

import importlib
import json
import sys

from tests.parsers.child import ABSENT, AbsentFinder
from tests.parsers.request_child import COMPUTING


def main(site: str) -> None:
    sys.path.insert(0, site)
    sys.meta_path.insert(0, AbsentFinder(ABSENT | COMPUTING))
    model = importlib.import_module("dynamo.planner.config.planner_config").PlannerConfig
    answers = []
    for config in json.load(sys.stdin):
        kept = model.from_config_arg(json.dumps(config)).model_dump(mode="json")
        answers.append(
            [{key: kept[key] for key in config if key in kept}, sorted(config.keys() - kept.keys())]
        )
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])
