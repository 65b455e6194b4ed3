"""The command line of the Job in the cluster: exit code 0 only if the model answers."""

import argparse
import json
import sys

from .checks import verify
from .expectation import Expectation
from .results import summary


def main() -> None:
    """Verifies, and ends with 1 where a check failed."""
    given = parser().parse_args()
    results = []
    for result in verify(
        given.url,
        expectation(given),
        wait=given.wait,
        request_timeout=given.request_timeout,
        worker_ports=given.worker_port,
    ):
        results.append(result)
        if not given.json:
            print("\n".join(result.lines()), flush=True)
    if given.json:
        print(json.dumps(summary(given.url, results), indent=1))
    sys.exit(0 if all(result.ok for result in results) else 1)


def expectation(given: argparse.Namespace) -> Expectation:
    """What the arguments say of the graph."""
    return Expectation(
        given.model,
        tuple(given.roles.split(",")),
        given.disaggregated,
        version=given.dynamo_version,
        router_mode=given.router_mode,
        engine=given.engine,
        transport=given.transport,
        kv_counter=given.kv_counter,
        conditional=given.conditional,
    )


def parser() -> argparse.ArgumentParser:
    """The Job's arguments."""
    made = argparse.ArgumentParser(description="Verify that a Dynamo graph serves its model.")
    made.add_argument("--url", required=True)
    made.add_argument("--model", required=True)
    made.add_argument("--roles", required=True, help="of the workers: prefill,decode or worker")
    made.add_argument("--disaggregated", action="store_true")
    made.add_argument("--dynamo-version", required=True, help="release of the graph, as 1.2.1")
    made.add_argument("--router-mode", required=True, help="of the frontend: round-robin, random or kv")
    made.add_argument("--engine", help="vllm, sglang, trtllm or mocker")
    made.add_argument("--transport", help="how KV cache travels between the workers, as in graph.transport")
    made.add_argument("--kv-counter", help="the workers' metric that counts bytes of KV cache")
    made.add_argument("--conditional", action="store_true", help="where decode may serve a request alone")
    made.add_argument("--worker-port", type=int, action="append", default=[], help="of the workers' metrics")
    made.add_argument("--wait", type=float, default=0.0, help="seconds that a starting graph has")
    made.add_argument("--request-timeout", type=float, default=120.0, help="seconds for one answer")
    made.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    return made


if __name__ == "__main__":
    main()
