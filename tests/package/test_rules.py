"""What components refuse of arguments that are of their types."""

from typing import Any

import pulumi
import pytest

from components.nodes.gpu_node_pool_args import GpuNodePoolArgs
from package.arguments import args_from
from package.provider import COMPONENTS
from package.rules import problems
from tests.package.test_provider import GIVEN, H100, made, preview

BLOCK = {"kind": "capacity-block", "reservationId": "cr-0123456789abcdef0"}


def refused(component: str, **more: Any) -> list[tuple[str, str]]:
    """Argument and reason of each problem."""
    with pytest.raises(pulumi.InputPropertiesError) as refusal:
        made(component, **more)
    return [(each["property_path"], each["reason"]) for each in refusal.value.errors or []]


@pytest.mark.parametrize(
    ("component", "more", "path", "reason"),
    [
        ("InferenceGraph", {"namespace": "My Team"}, "namespace", "'My Team': write lower-case letters"),
        (
            "InferenceGraph", {"graph": {**H100, "platformVersion": "new"}}, "graph.platformVersion",
            "'new': write a version as MAJOR.MINOR.PATCH",
        ),
        (
            "InferenceGraph", {"graph": {**H100, "platformVersion": "1.2.1"}}, "graph.platformVersion",
            "1.2.1 is older than graph.knobs.dynamoVersion 1.4.2",
        ),
        ("InferenceGraph", {"graph": {**H100, "pool": {"nodes": 0.0}}}, "graph.pool.nodes", "0: input should be"),
        (
            "InferenceGraph", {"graph": {**H100, "pool": {"tolerations": [{"keey": "a"}]}}},
            "graph.pool.tolerations[0].keey", "unknown key, given 'a' (did you mean key?)",
        ),
        ("GpuNodePool", {"nodes": 0.0}, "nodes", "0: input should be greater"),
        ("GpuNodePool", {"instanceType": "m7i.4xlarge"}, "instanceType", "m7i.4xlarge has no GPUs; choose one of p5"),
        ("GpuNodePool", {"efaDevices": 64.0}, "efaDevices", "64 is not allowed on p5.48xlarge; choose 32"),
        ("GpuNodePool", {"subnets": {}}, "subnets", "missing; give the id of a private subnet"),
        ("GpuNodePool", {"subnets": {"here": "subnet-1"}}, "subnets", "'here': write an Availability or Local Zone"),
        ("GpuNodePool", {"subnets": {"me-south-1a": "subnet-1"}}, "subnets", "me-south-1 has no p5.48xlarge; EC2"),
        (
            "GpuNodePool", {"capacity": {"kind": "capacity-block"}}, "capacity.reservationId",
            "missing; a capacity-block pool needs the block's",
        ),
        (
            "GpuNodePool", {"capacity": {**BLOCK, "kind": "spot"}}, "capacity.reservationId",
            "'cr-0123456789abcdef0' with kind spot, which uses no reservation",
        ),
        ("GpuNodePool", {"versions": {"kubernetes": "new"}}, "versions.kubernetes", "'new': write a minor version"),
        ("DynamoPlatform", {"version": "2.0.0"}, "version", "'2.0.0': Dynamo 2.0.0 is not supported; choose one of"),
        ("DynamoPlatform", {"version": "0.4.1"}, "version", "0.4.1 cannot be installed: "),
        (
            "DynamoPlatform", {"services": {"discovery": "etcd", "etcd": False}}, "services.etcd",
            "false, but services.discovery is 'etcd'",
        ),
        (
            "DynamoPlatform", {"operator": {"namespace": "theirs", "name": "operator"}}, "operator",
            "an operator that is there, but install is true",
        ),
        ("EksCluster", {"subnets": {"us-east-2a": "subnet-1"}}, "subnets", "[us-east-2a]; EKS needs subnets in two"),
        (
            "EksCluster", {"subnets": {"us-east-2a": "subnet-1", "us-east-1a": "subnet-2"}}, "subnets",
            "us-east-1a is no Availability Zone of region us-east-2",
        ),
        ("EksCluster", {"api": {"publicFrom": ["0.0.0.0/0"]}}, "api.publicFrom[0]", "'0.0.0.0/0': opens the control"),
        ("EksCluster", {"api": {"publicFrom": ["auto"]}}, "api.publicFrom", "'auto' is for stack files alone"),
        ("EksCluster", {"cpuNodes": {"instanceType": "p5.48xlarge"}}, "cpuNodes.instanceType", "p5.48xlarge has GPUs"),
        ("ModelCache", {"claim": {"size": "100 GB"}}, "claim.size", "'100 GB': write a size in Gi or Ti"),
        ("Verification", {"timeoutSeconds": 0.0}, "timeoutSeconds", "0: input should be greater"),
        ("Benchmark", {"load": {"sweep": [8.0, 0.0]}}, "load.sweep[1]", "0: input should be greater"),
        ("Monitoring", {"retentionDays": 0.0}, "retentionDays", "0: input should be greater"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_by_its_argument(
    component: str, more: dict[str, Any], path: str, reason: str
) -> None:
    [(argument, said)] = refused(component, **more)
    assert argument == path
    assert said.startswith(reason)


@pytest.mark.parametrize("component", COMPONENTS)
def test_defaults_and_outputs_of_other_resources_pass(component: type[pulumi.ComponentResource]) -> None:
    """So that nobody is refused for what is not known yet."""

    def program() -> None:
        given = GIVEN[component.__name__]
        later = {key: pulumi.Output.from_input(given[key]) for key in ("namespace",) if key in given}
        args = component.__init__.__annotations__["args"]
        assert list(problems(args_from(args, {**given, **later}))) == []

    preview(program)


def test_a_reservation_may_be_another_resource_s() -> None:
    def program() -> None:
        capacity = {**BLOCK, "reservationId": pulumi.Output.from_input("cr-1")}
        args = args_from(GpuNodePoolArgs, {**GIVEN["GpuNodePool"], "capacity": capacity})
        assert list(problems(args)) == []

    preview(program)
