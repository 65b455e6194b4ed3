"""The verification Job: what it asks for, and that a changed graph is verified anew."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from manifests.verification import GRAPH_ANNOTATION, expectation, job, script_config_map
from pods import verification as package
from pods.verification import __main__ as script
from pods.verification.expectation import SLOW_TRANSPORTS
from targets.knobs import FrontendKnobs
from targets.plan import GraphPlan
from targets.transport import KV_PATHS
from tests.plans import resolved

B200 = resolved("trtllm-disagg-b200", "p6-b200.48xlarge")


@pytest.mark.parametrize(
    ("graph", "roles", "disaggregated"),
    [(B200, "prefill,decode", True), (resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge"), "worker", False)],
)
def test_it_asks_for_the_roles_of_the_graph(graph: GraphPlan, roles: str, disaggregated: bool) -> None:
    container = job(graph, "dynamo", timeout_seconds=60)["spec"]["template"]["spec"]["containers"][0]
    args = container["args"]
    assert args[args.index("--roles") + 1] == roles
    assert args[args.index("--url") + 1] == f"http://{graph.name}-frontend.dynamo.svc:8000"
    assert ("--disaggregated" in args) is disaggregated


def arguments(graph: GraphPlan) -> list[str]:
    args: list[str] = job(graph, "dynamo", timeout_seconds=1)["spec"]["template"]["spec"]["containers"][0][
        "args"
    ]
    return args


@pytest.mark.parametrize(
    ("graph", "engine", "transport", "kv_counter"),
    [
        (B200, "trtllm", "pod", None),
        (resolved("trtllm-agg-gb200", "p6e-gb200.36xlarge"), "trtllm", None, None),
        (resolved("vllm-disagg-h100", "p5.48xlarge"), "vllm", "pod", "vllm:nixl_bytes_transferred_sum"),
        (
            resolved("vllm-disagg-h100", "p5.48xlarge", transport="node"),
            "vllm",
            "node",
            "vllm:nixl_bytes_transferred_sum",
        ),
        (resolved("mocker-disagg-cpu", "m7i.4xlarge"), "mocker", "node", None),
        (resolved("sglang-disagg-h100", "p5.48xlarge", transport="efa"), "sglang", "efa", None),
        (
            resolved("trtllm-disagg-8k", "p6-b200.48xlarge", transport="tcp"),
            "trtllm",
            "tcp",
            None,
        ),
        (
            resolved("trtllm-disagg-8k", "p6-b200.48xlarge", transport="efa"),
            "trtllm",
            "efa",
            "agent_tx_bytes_total",
        ),
        # Decode's agent alone counts there, and prefill is the one that writes.
        (
            resolved(
                "trtllm-disagg-b200",
                "p6-b200.48xlarge",
                transport="efa",
                decode={"tensorParallel": 1},
            ),
            "trtllm",
            "efa",
            None,
        ),
    ],
)
def test_the_script_takes_what_the_job_says(
    graph: GraphPlan, engine: str, transport: str | None, kv_counter: str | None
) -> None:
    given = script.parser().parse_args(arguments(graph))
    expected = expectation(graph)
    assert script.expectation(given) == expected
    assert (expected.version, expected.router_mode) == (str(graph.version), graph.frontend.router_mode)
    assert (expected.engine, expected.transport, expected.kv_counter) == (engine, transport, kv_counter)
    assert given.worker_port == ([9090] if transport == "pod" else [9090, 19090])


@pytest.mark.parametrize(
    ("frontend", "conditional"),
    [
        ({}, False),
        ({"extra_args": ("--router-conditional-disagg",)}, True),
        ({"extra_args": ("--router-conditional-disagg-config={}",)}, True),
        ({"env": {"DYN_ROUTER_CONDITIONAL_DISAGG": "true"}}, True),
    ],
)
def test_the_script_hears_that_decode_may_serve_alone(frontend: dict[str, Any], conditional: bool) -> None:
    graph = resolved("vllm-disagg-h100", "p5.48xlarge", frontend=FrontendKnobs(**frontend))
    given = script.parser().parse_args(arguments(graph))
    assert script.expectation(given).conditional is conditional


def test_the_script_warns_of_the_transports_that_are_slow() -> None:
    assert set(SLOW_TRANSPORTS) == {str(path.transport) for path in KV_PATHS.values() if path.slow}


def test_simulated_engines_hand_nothing_over() -> None:
    simulated = expectation(resolved("vllm-disagg-h100", "p5.48xlarge"), simulated=True)
    assert (simulated.transport, simulated.kv_counter) == (None, None)


def test_the_job_fails_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    flag, _, *others = arguments(B200)
    nobody = [flag, "http://127.0.0.1:9", *others[:-2]]
    monkeypatch.setattr("sys.argv", ["verification", *nobody])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 1


def test_the_config_map_holds_the_package_that_is_tested() -> None:
    modules = Path(str(package.__file__)).parent.glob("*.py")
    assert script_config_map(B200, "dynamo")["data"] == {each.name: each.read_text() for each in modules}


def test_the_package_is_found_where_it_is_mounted() -> None:
    container = job(B200, "dynamo", timeout_seconds=60)["spec"]["template"]["spec"]["containers"][0]
    (mount,) = container["volumeMounts"]
    assert mount["mountPath"] == f"{container['workingDir']}/{container['command'][-1]}"


def test_a_changed_graph_is_another_job_template() -> None:
    def digest(graph: GraphPlan) -> str:
        template = job(graph, "dynamo", timeout_seconds=60)["spec"]["template"]
        return str(template["metadata"]["annotations"][GRAPH_ANNOTATION])

    smaller = resolved("trtllm-disagg-b200", "p6-b200.48xlarge", decode={"maxBatchSize": 64})
    assert digest(B200) == digest(replace(B200))
    assert digest(B200) != digest(smaller)


def test_it_runs_unprivileged_and_once() -> None:
    made = job(B200, "dynamo", timeout_seconds=60)["spec"]
    container = made["template"]["spec"]["containers"][0]
    assert made["backoffLimit"] == 0
    (lost,) = made["podFailurePolicy"]["rules"]
    assert lost == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
