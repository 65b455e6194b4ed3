"""Every EKS stack as it would be registered: least privilege, nothing open, nothing in plain, the right order."""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import yaml
from moto.iam.aws_managed_policies import aws_managed_policies_data

from manifests.names import POOL_LABEL
from ops.evaluate import Evaluation, Resource, evaluate
from ops.pulumi.stack_file import StackFile, stacks
from tests import plans
from tests.project import PROJECT

MANAGED = {
    f"arn:aws:iam::aws:policy{p['Path']}{name}": p["Document"]
    for name, p in json.loads(aws_managed_policies_data).items()
}
BLOCK = "cr-0123456789abcdef0"
VARIANTS: dict[str, dict[str, Any]] = {
    "open to an office": {
        "target": "trtllm-disagg-b200",
        "cluster": {
            "kind": "eks", "region": "us-east-2",
            "publicAccessFrom": ["203.0.113.0/24"],
            "admins": ["arn:aws:iam::123456789012:role/ml-platform"],
        },
        "pool": {"nodes": 2},
        "cache": {"kind": "fsx", "size": "1200Gi"},
    },
    "existing VPC": {
        "target": "vllm-disagg-h100",
        "cluster": {
            "kind": "eks", "region": "us-east-2",
            "vpc": {
                "vpcId": "vpc-0123456789abcdef0",
                "privateSubnets": {
                    "us-east-2a": "subnet-0123456789abcdef0", "us-east-2b": "subnet-0123456789abcdef1",
                },
            },
        },
        "cache": {"kind": "efs"},
    },
    "existing EKS": {
        "target": "vllm-disagg-h100",
        "cluster": {
            "kind": "existing-eks", "region": "us-east-2", "name": "there",
            "subnets": {"us-east-2a": "subnet-0123456789abcdef0"},
        },
        "pool": {"capacity": {"kind": "spot"}},
    },
    "several pools": {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": "us-east-1"},
        "monitoring": {"kind": "install"},
        "pools": [
            {"name": "h100", "nodes": 2},
            {
                "name": "gb200", "zones": ["us-east-1-dfw-2a"], "active": True,
                "capacity": {
                    "kind": "capacity-block", "reservationId": BLOCK, "ultraserver": "u-p6e-gb200x36",
                },
            },
            {
                "name": "next-block", "zones": ["us-east-1b"],
                "capacity": {"kind": "capacity-block", "reservationId": BLOCK},
            },
        ],
        "graphs": [
            {"name": "vllm", "target": "vllm-disagg-h100", "pool": "h100"},
            {"name": "sglang", "target": "sglang-disagg-h100", "pool": "h100"},
            {"name": "agg", "target": "trtllm-agg-gb200", "pool": "gb200"},
            {"name": "copy", "pool": "next-block"},
        ],
    },
    "block not begun": {
        "target": "trtllm-disagg-b200",
        "cluster": {"kind": "eks", "region": "us-east-2"},
        "pool": {"zones": ["us-east-2a"], "capacity": {"kind": "capacity-block", "reservationId": BLOCK}},
    },
}  # fmt: skip


def eks_stacks() -> list[str]:
    def kind(stack: str) -> str:
        config = yaml.safe_load((PROJECT / f"Pulumi.{stack}.yaml").read_text())["config"]
        return str(config.get("dynamo-gpt-oss:cluster", {}).get("kind"))

    return [stack for stack in stacks(PROJECT) if kind(stack) == "eks"]


@cache
def evaluated(name: str) -> Evaluation:
    if name not in VARIANTS:
        return evaluate(PROJECT, StackFile.load(PROJECT, name))
    return plans.evaluated(**VARIANTS[name])


every_stack = pytest.mark.parametrize("name", [*eks_stacks(), *VARIANTS])


def of_type(name: str, *tokens: str) -> Iterator[Resource]:
    return (resource for resource in evaluated(name).resources if resource.type in tokens)


def statements(document: Any) -> list[dict[str, Any]]:
    found = document["Statement"]
    return found if isinstance(found, list) else [found]


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def documents(value: Any) -> Iterator[Any]:
    """Policy documents anywhere in a resource's inputs."""
    if isinstance(value, dict):
        if "Statement" in value:
            yield value
        for item in value.values():
            yield from documents(item)
    elif isinstance(value, list):
        for item in value:
            yield from documents(item)
    elif isinstance(value, str) and '"Statement"' in value:
        yield json.loads(value)


def test_the_seven_stacks_are_there() -> None:
    assert {
        "prod", "disagg-b200", "disagg-b200-8k", "disagg-gb200-8k", "agg-gb200", "disagg-h100-vllm",
        "disagg-h100-sglang",
    } <= set(eks_stacks())  # fmt: skip


@every_stack
def test_no_policy_allows_everything(name: str) -> None:
    attached = {
        r.inputs["policyArn"] for r in of_type(name, "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    }
    assert attached
    assert not [arn for arn in attached if arn.endswith("FullAccess")]
    written = [
        d for r in evaluated(name).resources if r.type.startswith("aws:") for d in documents(dict(r.inputs))
    ]
    for document in [*written, *(MANAGED[arn] for arn in attached)]:
        for statement in statements(document):
            allowed = statement["Effect"] == "Allow" and "*" in as_list(statement.get("Action", []))
            assert not (allowed and "*" in as_list(statement.get("Resource", []))), statement


@every_stack
def test_the_walk_sees_the_trust_policies(name: str) -> None:
    roles = list(of_type(name, "aws:iam/role:Role"))
    trusted = [d for role in roles for d in documents(dict(role.inputs))]
    assert len(trusted) == len(roles) > 0
    for document in trusted:
        (statement,) = statements(document)
        assert list(statement["Principal"]) == ["Service"]


@every_stack
def test_nodes_hold_only_what_eks_requires(name: str) -> None:
    on_nodes = {
        r.inputs["policyArn"].rpartition("/")[2]
        for r in of_type(name, "aws:iam/rolePolicyAttachment:RolePolicyAttachment")
        if "-node-" in r.name
    }
    assert on_nodes == {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"}


@every_stack
def test_nothing_is_open_to_the_world(name: str) -> None:
    for cluster in of_type(name, "aws:eks/cluster:Cluster"):
        if cluster.read:
            continue
        network = cluster.inputs["vpcConfig"]
        assert network["endpointPrivateAccess"] is True
        open_to = network.get("publicAccessCidrs", [])
        assert network["endpointPublicAccess"] is bool(open_to)
        assert not {"0.0.0.0/0", "::/0"} & set(open_to)
    groups = list(of_type(name, "aws:ec2/securityGroup:SecurityGroup"))
    assert groups
    for group in groups:
        for rule in group.inputs.get("ingress", []):
            assert not {"0.0.0.0/0", "::/0"} & {*rule.get("cidrBlocks", []), *rule.get("ipv6CidrBlocks", [])}
    for rule in of_type(name, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"):
        assert rule.inputs.get("cidrIpv4") != "0.0.0.0/0"
        assert "cidrIpv6" not in rule.inputs
    for subnet in of_type(name, "aws:ec2/subnet:Subnet"):
        assert subnet.inputs["mapPublicIpOnLaunch"] is False


@every_stack
def test_no_volume_is_unencrypted(name: str) -> None:
    templates = list(of_type(name, "aws:ec2/launchTemplate:LaunchTemplate"))
    assert templates
    for template in templates:
        for mapping in template.inputs["blockDeviceMappings"]:
            assert mapping["ebs"]["encrypted"] == "true"
    for system in of_type(name, "aws:efs/fileSystem:FileSystem"):
        assert system.inputs["encrypted"] is True
    for storage in of_type(name, "kubernetes:storage.k8s.io/v1:StorageClass"):
        if storage.inputs["provisioner"] == "ebs.csi.aws.com":
            assert storage.inputs["parameters"]["encrypted"] == "true"
    for cluster in of_type(name, "aws:eks/cluster:Cluster"):
        assert cluster.read or cluster.inputs["encryptionConfig"]["resources"] == ["secrets"]


@every_stack
def test_instance_metadata_is_not_for_pods(name: str) -> None:
    for template in of_type(name, "aws:ec2/launchTemplate:LaunchTemplate"):
        options = template.inputs["metadataOptions"]
        assert (options["httpTokens"], options["httpPutResponseHopLimit"]) == ("required", 1)


@every_stack
def test_everything_on_aws_is_tagged(name: str) -> None:
    (provider,) = of_type(name, "pulumi:providers:aws")
    tags = json.loads(provider.inputs["defaultTags"])["tags"]
    assert {"project", "stack", "target"} <= tags.keys()
    for resource in evaluated(name).resources:
        if resource.type.startswith("aws:"):
            assert resource.provider == provider.urn, resource.name
    for template in of_type(name, "aws:ec2/launchTemplate:LaunchTemplate"):
        for specification in template.inputs["tagSpecifications"]:
            assert specification["tags"] == {key: tags[key] for key in ("project", "stack")}


@pytest.mark.parametrize("name", ["prod", "existing VPC"])
def test_what_is_billed_by_the_hour_is_what_is_made(name: str) -> None:
    endpoints = [r.inputs["vpcEndpointType"] for r in of_type(name, "aws:ec2/vpcEndpoint:VpcEndpoint")]
    assert set(endpoints) <= {"Gateway"}, "an interface endpoint is billed by the hour"
    gateways = len(list(of_type(name, "aws:ec2/natGateway:NatGateway")))
    billed = evaluated(name).outputs["cost"]["perHourByPart"]
    assert ("NAT gateway" in billed) is ("the NAT gateway's address" in billed) is (gateways == 1)


@every_stack
def test_no_object_of_kubernetes_goes_to_another_cluster(name: str) -> None:
    (provider,) = of_type(name, "pulumi:providers:kubernetes")
    for resource in evaluated(name).resources:
        if resource.type.startswith("kubernetes:"):
            assert resource.provider == provider.urn, resource.name


def before(name: str, urn: str) -> set[str]:
    """Everything that the engine finishes before it starts on a resource."""
    by_urn = {resource.urn: resource for resource in evaluated(name).resources}
    found: set[str] = set()
    waiting = [urn]
    while waiting:
        resource = by_urn.get(waiting.pop())
        if resource is None:
            continue
        for needed in (*resource.dependencies, resource.parent, resource.provider):
            if needed not in found:
                found.add(needed)
                waiting.append(needed)
    return {by_urn[urn].name for urn in found if urn in by_urn}


def gpu_nodes(name: str, group: str = "gpu-nodes") -> Resource:
    (nodes,) = [r for r in of_type(name, "aws:eks/nodeGroup:NodeGroup") if r.name == group]
    return nodes


@pytest.mark.parametrize("name", ["disagg-b200", "disagg-h100-vllm", "existing EKS"])
def test_nothing_is_bought_before_the_weights_are_there(name: str) -> None:
    assert {"model-download", "gpu-operator"} <= before(name, gpu_nodes(name).urn)


@pytest.mark.parametrize("name", ["prod", "agg-gb200"])
def test_prepaid_nodes_wait_for_nothing_but_the_cluster(name: str) -> None:
    assert not {"model-download", "gpu-operator", "dynamo-platform"} & before(name, gpu_nodes(name).urn)


@pytest.mark.parametrize(
    "name", [*(stack for stack in eks_stacks() if stack != "smoke"), "existing VPC", "existing EKS"]
)
def test_graphs_wait_for_nodes_and_weights(name: str) -> None:
    graphs = [r for r in evaluated(name).resources if r.type.endswith(":DynamoGraphDeployment")]
    assert graphs
    for graph in graphs:
        assert {"gpu-nodes", "model-download", "gpu-operator"} <= before(name, graph.urn)


@pytest.mark.parametrize(("name", "charts"), [
    ("prod", {"gpu-operator", "aws-efa-k8s-device-plugin"}),
    ("agg-gb200", {"gpu-operator", "aws-efa-k8s-device-plugin", "nvidia-dra-driver-gpu"}),
    ("several pools", {"gpu-operator", "aws-efa-k8s-device-plugin", "nvidia-dra-driver-gpu"}),
])  # fmt: skip
def test_gpu_enablement(name: str, charts: set[str]) -> None:
    releases = {
        r.name: r.inputs
        for r in of_type(name, "kubernetes:helm.sh/v3:Release")
        if "GpuEnablement" in r.parent
    }
    assert releases.keys() == charts
    operator = releases["gpu-operator"]["values"]
    assert (operator["driver"], operator["toolkit"]) == ({"enabled": False}, {"enabled": False})
    assert operator["devicePlugin"]["env"] == [{"name": "MOFED_ENABLED", "value": "false"}]
    assert operator["dcgmExporter"] == {"enabled": True}
    tolerated = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    assert releases["aws-efa-k8s-device-plugin"]["values"] == {"tolerations": [tolerated]}
    if "nvidia-dra-driver-gpu" in releases:
        driver = releases["nvidia-dra-driver-gpu"]["values"]
        assert driver["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
        assert driver["controller"]["affinity"] is None


@pytest.mark.parametrize("name", ["agg-gb200", "disagg-gb200-8k"])
def test_gb200_is_arm_throughout_and_an_ultraserver_whole(name: str) -> None:
    groups = list(of_type(name, "aws:eks/nodeGroup:NodeGroup"))
    assert {group.inputs["amiType"] for group in groups} == {"AL2023_ARM_64_NVIDIA", "AL2023_ARM_64_STANDARD"}
    assert gpu_nodes(name).inputs["scalingConfig"] == {"minSize": 0, "maxSize": 9, "desiredSize": 9}


def test_a_local_zone_takes_nodes_but_neither_control_plane_nor_endpoints() -> None:
    subnets = {r.name: r for r in of_type("agg-gb200", "aws:ec2/subnet:Subnet")}
    local = subnets["dynamo-agg-gb200-private-us-east-1-dfw-2a"].urn
    assert "dynamo-agg-gb200-public-us-east-1-dfw-2a" not in subnets
    (cluster,) = of_type("agg-gb200", "aws:eks/cluster:Cluster")
    assert local not in cluster.property_dependencies["vpcConfig"]
    for endpoint in of_type("agg-gb200", "aws:ec2/vpcEndpoint:VpcEndpoint"):
        assert local not in endpoint.property_dependencies.get("subnetIds", ())
    assert local in gpu_nodes("agg-gb200").property_dependencies["subnetIds"]


def test_a_block_that_has_not_begun_makes_everything_ready_but_no_graph() -> None:
    made = {resource.name for resource in evaluated("block not begun").resources}
    assert {"gpu-nodes", "model-download", "dynamo-platform"} <= made
    assert not [
        r for r in evaluated("block not begun").resources if r.type.endswith(":DynamoGraphDeployment")
    ]
    assert gpu_nodes("block not begun").inputs["scalingConfig"]["desiredSize"] == 0
    assert "capacityBlock" in evaluated("block not begun").outputs


@pytest.mark.parametrize(("group", "sizes", "ami", "labels"), [
    ("gpu-nodes", (1, 1), "AL2023_x86_64_NVIDIA", {}),
    ("gpu-nodes-h100", (2, 2), "AL2023_x86_64_NVIDIA", {POOL_LABEL: "h100"}),
    ("gpu-nodes-gb200", (9, 9), "AL2023_ARM_64_NVIDIA", {POOL_LABEL: "gb200"}),
    ("gpu-nodes-next-block", (1, 0), "AL2023_x86_64_NVIDIA", {POOL_LABEL: "next-block"}),
])  # fmt: skip
def test_each_pool_is_a_node_group_of_its_own(
    group: str, sizes: tuple[int, int], ami: str, labels: dict[str, str]
) -> None:
    inputs = gpu_nodes("several pools", group).inputs
    scaling = inputs["scalingConfig"]
    assert (scaling["maxSize"], scaling["desiredSize"]) == sizes
    assert inputs["amiType"] == ami
    assert {key: value for key, value in inputs["labels"].items() if key == POOL_LABEL} == labels


def test_each_pools_images_are_pulled_onto_its_own_nodes() -> None:
    pods = {
        r.name: r.inputs["spec"]["template"]["spec"]
        for r in of_type("several pools", "kubernetes:apps/v1:DaemonSet")
    }
    engines = {
        name: [c["image"].rpartition("/")[2].partition("-runtime")[0] for c in pod["containers"]]
        for name, pod in pods.items()
    }
    assert engines == {
        "image-pull": ["tensorrtllm"],
        "image-pull-p5-48xlarge": ["sglang", "vllm"],
        "image-pull-p6e-gb200-36xlarge": ["tensorrtllm"],
    }
    types = [pod["nodeSelector"]["node.kubernetes.io/instance-type"] for pod in pods.values()]
    assert types == ["p6-b200.48xlarge", "p5.48xlarge", "p6e-gb200.36xlarge"]


def test_a_pool_that_has_not_begun_keeps_its_own_graph_back_and_no_other() -> None:
    graphs = {
        r.inputs["metadata"]["name"]
        for r in evaluated("several pools").resources
        if r.type.endswith(":DynamoGraphDeployment")
    }
    assert graphs == {"gpt-oss-disagg", "vllm", "sglang", "agg"}
    (rules,) = [r for r in evaluated("several pools").resources if r.type.endswith(":PrometheusRule")]
    assert "agg has no worker" in str(rules.inputs)
    assert "copy has no" not in str(rules.inputs)
    outputs = evaluated("several pools").outputs
    assert outputs["gpus"] == {"B200": 8, "H100": 16, "GB200": 4}
    assert outputs["endpoints"].keys() == graphs
    assert outputs["capacityBlocks"].keys() == {"gb200", "next-block"}
    assert "capacityBlock" not in outputs


@pytest.mark.parametrize(("stack", "loaded"), [("dev", False), ("prod", True)])
def test_only_stacks_on_aws_load_its_sdk(stack: str, loaded: bool) -> None:
    code = (
        "import sys; from pathlib import Path; from ops.evaluate import evaluate; "
        "from ops.pulumi.stack_file import StackFile; "
        f"evaluate(Path.cwd(), StackFile.load(Path.cwd(), {stack!r})); print('pulumi_aws' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert run.stdout.split()[-1] == str(loaded)


@pytest.mark.parametrize(("name", "pools"), [
    ("block not begun", {"main"}),
    ("several pools", {"main", "h100", "gb200", "next-block"}),
    ("existing EKS", {"main"}),
])  # fmt: skip
def test_another_program_finds_what_it_needs_to_stand_beside_the_stack(name: str, pools: set[str]) -> None:
    outputs = evaluated(name).outputs
    assert {
        "cluster",
        "kubeconfig",
        "vpcId",
        "securityGroupId",
        "namespace",
        "model",
        "target",
    } <= outputs.keys()
    assert outputs["nodeGroups"].keys() == pools
    zones = {
        r.inputs["availabilityZone"] for r in of_type(name, "aws:ec2/subnet:Subnet") if "-private-" in r.name
    }
    assert len(outputs["privateSubnets"]) >= max(1, len(zones))
