"""The verification Job: what it asks for, and that a changed graph is verified anew."""

from dataclasses import replace
from pathlib import Path

import pytest

from graphs.scripts import verification as script
from graphs.verification import GRAPH_ANNOTATION, job, script_config_map
from targets.catalogue import TARGETS
from targets.hardware import INSTANCE_TYPES
from targets.knobs import GraphKnobs, RoleKnobs
from targets.plan import GraphPlan, Pool, resolve


def plan(target: str, instance: str, knobs: GraphKnobs | None = None) -> GraphPlan:
    return resolve(TARGETS[target], knobs or GraphKnobs(), Pool(instance=INSTANCE_TYPES[instance], nodes=1))


B200 = plan("trtllm-disagg-b200", "p6-b200.48xlarge")


@pytest.mark.parametrize(
    ("graph", "roles", "disaggregated"),
    [(B200, "prefill,decode", True), (plan("trtllm-agg-gb200", "p6e-gb200.36xlarge"), "worker", False)],
)
def test_it_asks_for_the_roles_of_the_graph(graph: GraphPlan, roles: str, disaggregated: bool) -> None:
    container = job(graph, "dynamo", timeout_seconds=60)["spec"]["template"]["spec"]["containers"][0]
    args = container["args"]
    assert args[args.index("--roles") + 1] == roles
    assert args[args.index("--url") + 1] == f"http://{graph.name}-frontend.dynamo.svc:8000"
    assert ("--disaggregated" in args) is disaggregated


def test_the_script_takes_what_the_job_says(monkeypatch: pytest.MonkeyPatch) -> None:
    args = job(B200, "dynamo", timeout_seconds=1)["spec"]["template"]["spec"]["containers"][0]["args"]
    nobody = [*args[:1], "http://127.0.0.1:9", *args[2:]]
    monkeypatch.setattr("sys.argv", ["verification.py", *nobody])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 1


def test_the_config_map_holds_the_script_that_is_tested() -> None:
    assert script_config_map(B200, "dynamo")["data"] == {"verification.py": Path(script.__file__).read_text()}


def test_a_changed_graph_is_another_job_template() -> None:
    def digest(graph: GraphPlan) -> str:
        template = job(graph, "dynamo", timeout_seconds=60)["spec"]["template"]
        return str(template["metadata"]["annotations"][GRAPH_ANNOTATION])

    smaller = GraphKnobs(decode=RoleKnobs(max_batch_size=64))
    assert digest(B200) == digest(replace(B200))
    assert digest(B200) != digest(plan("trtllm-disagg-b200", "p6-b200.48xlarge", smaller))


def test_it_runs_unprivileged_and_once() -> None:
    made = job(B200, "dynamo", timeout_seconds=60)["spec"]
    container = made["template"]["spec"]["containers"][0]
    assert made["backoffLimit"] == 0
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
