"""What a stack's services become when the whole program is evaluated: from a few lines to the resources."""

import json
from typing import Any

import pytest

from manifests.names import RETAINED
from ops.evaluate import Evaluation, Resource
from tests import plans
from tests.dependencies import before

EKS: dict[str, Any] = {"cluster": {"kind": "eks", "region": "us-east-1"}}


def evaluated(**config: Any) -> Evaluation:
    """A stack of that config, on a cluster that is there unless it says otherwise."""
    defaults = {"target": "vllm-disagg-h100", "cluster": {"kind": "existing", "efa": True}}
    secret = ("huggingFace", "ngc", "ingress")
    return plans.evaluated("test", secret, **{**defaults, **config})


def of_kind(evaluation: Evaluation, kind: str) -> list[Resource]:
    return [resource for resource in evaluation.resources if resource.type.endswith(f":{kind}")]


def one(evaluation: Evaluation, kind: str, name: str) -> Resource:
    (found,) = [resource for resource in of_kind(evaluation, kind) if resource.name == name]
    return found


def comes_after(evaluation: Evaluation, later: Resource, earlier: Resource) -> bool:
    """Whether the later one, or a component around it, waits for the earlier one."""
    by_urn = {resource.urn: resource for resource in evaluation.resources}
    return earlier.urn in before(later, by_urn)


def test_the_platform_is_installed_in_a_namespace_of_its_own_before_the_graph() -> None:
    made = evaluated()
    release = one(made, "Release", "dynamo-platform")
    namespace = one(made, "Namespace", "dynamo-system")
    (graph,) = of_kind(made, "DynamoGraphDeployment")
    assert release.inputs["namespace"] == namespace.inputs["metadata"]["name"]
    assert comes_after(made, release, namespace)
    assert comes_after(made, graph, release)


def test_an_existing_platform_is_only_read() -> None:
    made = evaluated(platform={"install": False, "operator": "ops/dynamo-operator"})
    assert not of_kind(made, "Release")
    read = {r.name: r.inputs["id"] for r in made.resources if r.read}
    assert read == {
        "dynamographdeployments.nvidia.com": "dynamographdeployments.nvidia.com",
        "dynamo-operator": "ops/dynamo-operator",
    }


def test_prometheus_is_there_before_the_platform_that_is_told_of_it() -> None:
    made = evaluated(monitoring={"kind": "install"})
    prometheus, platform = (
        one(made, "Release", "kube-prometheus-stack"),
        one(made, "Release", "dynamo-platform"),
    )
    assert comes_after(made, platform, prometheus)
    metrics = platform.inputs["values"]["dynamo-operator"]["dynamo"]["metrics"]
    assert metrics == {"prometheusEndpoint": "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"}
    for kind, count in (("PodMonitor", 2), ("ServiceMonitor", 1), ("PrometheusRule", 1)):
        found = of_kind(made, kind)
        assert len(found) == count
        assert all(comes_after(made, resource, prometheus) for resource in found)


def test_an_existing_prometheus_is_given_what_it_selects() -> None:
    labels = {"release": "prometheus"}
    made = evaluated(monitoring={"kind": "existing", "labels": labels, "podMonitors": False})
    assert not of_kind(made, "PodMonitor")
    for kind in ("ServiceMonitor", "PrometheusRule"):
        (found,) = of_kind(made, kind)
        assert labels.items() <= found.inputs["metadata"]["labels"].items()
    assert [r.name for r in of_kind(made, "Release")] == ["dynamo-platform"]


def test_nothing_is_watched_where_nothing_is_said() -> None:
    made = evaluated()
    assert not [r for r in made.resources if "monitoring.coreos.com" in r.type]


def test_a_pool_without_nodes_raises_no_alarm() -> None:
    made = evaluated(**EKS, pool={"active": False}, monitoring={"kind": "install"})
    assert not of_kind(made, "PrometheusRule")
    assert one(made, "Release", "kube-prometheus-stack")


def test_a_registry_key_is_in_both_namespaces_and_used_in_both() -> None:
    made = evaluated(ngc={"apiKey": "nvapi-1"})
    secrets = [r for r in of_kind(made, "Secret") if r.inputs["metadata"]["name"] == "ngc-pull-secret"]
    assert {r.inputs["metadata"]["namespace"] for r in secrets} == {"dynamo", "dynamo-system"}
    platform = one(made, "Release", "dynamo-platform")
    assert platform.inputs["values"]["dynamo-operator"]["imagePullSecrets"] == [{"name": "ngc-pull-secret"}]
    assert all(comes_after(made, platform, secret) for secret in secrets)
    (job,) = [r for r in of_kind(made, "Job") if r.name == "model-download"]
    assert job.inputs["spec"]["template"]["spec"]["imagePullSecrets"] == [{"name": "ngc-pull-secret"}]
    assert all(comes_after(made, job, secret) for secret in secrets)


def test_a_token_from_aws_brings_what_fetches_it() -> None:
    made = evaluated(**EKS, huggingFace={"awsSecret": {"name": "hf", "region": "us-east-1"}})
    external = one(made, "Release", "external-secrets")
    association = one(made, "PodIdentityAssociation", "secret-access")
    (token,) = of_kind(made, "ExternalSecret")
    assert comes_after(made, external, association), "pods started before it would not get the identity"
    assert comes_after(made, token, external)
    (job,) = [r for r in of_kind(made, "Job") if r.name == "model-download"]
    assert comes_after(made, job, token)
    assert "hf-token-secret" in str(job.inputs["spec"]["template"]["spec"]["volumes"])


@pytest.mark.parametrize(
    ("cache", "storage_class"),
    [
        ({}, None),
        ({"storageClass": "nfs"}, "nfs"),
        ({"kind": "efs", "fileSystem": "fs-0123456789abcdef0"}, "model-cache-efs"),
    ],
)
def test_the_claim_is_of_the_class_that_is_said(cache: dict[str, Any], storage_class: str | None) -> None:
    made = evaluated(cache=cache)
    claim = one(made, "PersistentVolumeClaim", "model-cache")
    assert claim.inputs["spec"].get("storageClassName") == storage_class
    classes = of_kind(made, "StorageClass")
    assert len(classes) == (1 if "fileSystem" in cache else 0)
    for each in classes:
        assert each.inputs["parameters"]["subPathPattern"] == "${.PVC.namespace}/${.PVC.name}"
        assert "reuseAccessPoint" not in each.inputs["parameters"], (
            "its token would be the account's only one"
        )
    assert not [r for r in made.resources if r.type.startswith("aws:")]


@pytest.mark.parametrize("retain", [True, False])
def test_what_is_retained_can_be_told_and_is_taken_over_by_the_next_stack(retain: bool) -> None:
    made = evaluated(cache={"retain": retain})
    for resource in (one(made, "PersistentVolumeClaim", "model-cache"), one(made, "Namespace", "dynamo")):
        assert (RETAINED.items() <= resource.inputs["metadata"]["labels"].items()) is retain
    assert RETAINED.keys().isdisjoint(one(made, "Namespace", "dynamo-system").inputs["metadata"]["labels"])
    taking_over = {r.urn for r in made.resources if r.inputs.get("upsertExistingObjects") == "true"}
    taken = [r.name for r in made.resources if r.provider in taking_over]
    assert sorted(taken) == (["dynamo", "model-cache"] if retain else [])


@pytest.mark.parametrize("kind", ["efs", "fsx"])
def test_a_file_system_of_the_stacks_own_is_there_before_the_claim(kind: str) -> None:
    made = evaluated(**EKS, cache={"kind": kind})
    file_system = next(r for r in made.resources if r.name == "model-cache" and r.type.endswith("FileSystem"))
    claim = one(made, "PersistentVolumeClaim", "model-cache")
    assert comes_after(made, claim, file_system)
    assert claim.inputs["spec"]["volumeName"] == "model-cache-dynamo"
    assert claim.inputs["spec"]["storageClassName"] == ""
    (job,) = [r for r in of_kind(made, "Job") if r.name == "model-download"]
    pod = job.inputs["spec"]["template"]["spec"]
    assert ("initContainers" in pod) == (kind == "fsx"), "an access point belongs to the pods' user"


OWN_VPC = {
    "vpcId": "vpc-0123456789abcdef0",
    "privateSubnets": {"us-east-1a": "subnet-0123456789abcdef0", "us-east-1b": "subnet-0123456789abcdef1"},
}


@pytest.mark.parametrize(
    ("cluster", "cache", "made_here"),
    [
        ({}, {}, True),
        ({}, {"fileSystem": "fs-0123456789abcdef0"}, True),
        ({}, {"fileSystem": "fs-0123456789abcdef0", "mountTargets": False}, False),
        ({"vpc": OWN_VPC}, {}, True),
        ({"vpc": OWN_VPC}, {"fileSystem": "fs-0123456789abcdef0"}, False),
        ({"vpc": OWN_VPC}, {"fileSystem": "fs-0123456789abcdef0", "mountTargets": True}, True),
    ],
)
def test_a_new_vpc_gets_mount_targets_and_one_that_is_there_has_them(
    cluster: dict[str, Any], cache: dict[str, Any], made_here: bool
) -> None:
    """Mount targets go with their VPC: a retained file system has none until its next stack makes them."""
    made = evaluated(cluster={**EKS["cluster"], **cluster}, cache={"kind": "efs", **cache})
    assert bool(of_kind(made, "MountTarget")) is made_here
    assert bool(of_kind(made, "FileSystem")) is ("fileSystem" not in cache)
    assert "fileSystemId" in made.outputs
    assert not of_kind(made, "StorageClass")[1:], "gp3 alone"


def test_a_retained_file_system_alone_outlives_its_cluster() -> None:
    made = evaluated(**EKS, cache={"kind": "efs", "retain": True})
    claim = one(made, "PersistentVolumeClaim", "model-cache")
    assert RETAINED.keys().isdisjoint(claim.inputs["metadata"]["labels"])


def test_nodes_of_a_local_zone_mount_through_a_zone_that_has_a_mount_target() -> None:
    """EFS's own name resolves only beside a mount target, and a Local Zone has none."""
    cluster = {"kind": "eks", "region": "us-east-1", "zones": ["us-east-1b", "us-east-1c"]}
    block = {
        "kind": "capacity-block",
        "reservationId": "cr-0123456789abcdef0",
        "ultraserver": "u-p6e-gb200x36",
    }
    pool = {"zones": ["us-east-1-dfw-2a"], "capacity": block}
    made = evaluated(target="trtllm-agg-gb200", cluster=cluster, pool=pool, cache={"kind": "efs"})
    volume = one(made, "PersistentVolume", "model-cache-dynamo").inputs["spec"]
    assert volume["mountOptions"] == ["tls", "iam", "az=us-east-1b"]
    subnets = [target.inputs["subnetId"] for target in of_kind(made, "MountTarget")]
    assert len(subnets) == 2


def test_the_endpoint_outside_is_an_output() -> None:
    ingress = {"host": "llm.example.com", "gateway": "envoy/public", "apiKeys": {"ci": "sk-1"}}
    made = evaluated(ingress=ingress)
    (route,), (graph,) = of_kind(made, "HTTPRoute"), of_kind(made, "DynamoGraphDeployment")
    assert comes_after(made, route, graph)
    assert made.outputs["publicEndpoint"] == "https://llm.example.com/v1"


@pytest.mark.parametrize("more", [{}, EKS], ids=["existing", "eks"])
def test_a_gateway_without_pools_is_noticed_before_anything_is_paid_for(more: dict[str, Any]) -> None:
    ingress = {"host": "llm.example.com", "gateway": "envoy/public", "apiKeys": {"ci": "sk-1"}}
    made = evaluated(
        **more,
        graph={"dynamoVersion": "1.6.1"},
        ingress=ingress | {"inferenceExtension": True},
        graphs=[{"name": "other"}],
        pool={"nodes": 2},
    )
    pools = one(made, "CustomResourceDefinition", "inferencepools.inference.networking.k8s.io")
    assert pools.read
    gpu_nodes = [
        r for r in of_kind(made, "NodeGroup") if comes_after(made, r, one(made, "Job", "model-download"))
    ]
    assert bool(gpu_nodes) is bool(more)
    graphs = of_kind(made, "DynamoGraphDeployment")
    for resource in (one(made, "Release", "dynamo-platform"), *graphs, *gpu_nodes):
        assert comes_after(made, resource, pools), resource.urn
    shapes = {graph.name: json.dumps(graph.inputs) for graph in graphs}
    assert {name: '"epp"' in shape for name, shape in shapes.items()} == {"graph": True, "other": False}


def test_nothing_is_reached_from_outside_by_default() -> None:
    made = evaluated()
    assert not [r for r in made.resources if r.read and "inferencepools" in r.name]
    assert not of_kind(made, "HTTPRoute")
    assert not [r for r in of_kind(made, "Service") if r.inputs.get("spec", {}).get("type") != "ClusterIP"]


SIZING: dict[str, Any] = {"platform": {"version": "1.6.1"}, "sizing": {"concurrency": 64}}


def test_the_profiler_is_asked_once_the_weights_are_there_and_goes_before_the_platform() -> None:
    made = evaluated(**SIZING)
    (request,) = of_kind(made, "DynamoGraphDeploymentRequest")
    assert comes_after(made, request, one(made, "Release", "dynamo-platform"))
    assert comes_after(made, request, one(made, "Job", "model-download"))
    assert made.outputs["sizing"] == request.inputs["metadata"]["name"]


def test_what_is_asked_follows_from_target_and_monitoring() -> None:
    made = evaluated(**SIZING, monitoring={"ttftSeconds": 1.5, "itlSeconds": 0.02})
    spec = of_kind(made, "DynamoGraphDeploymentRequest")[0].inputs["spec"]
    assert spec["sla"] == {"ttft": 1500, "itl": 20}
    assert spec["workload"] == {"isl": 32000, "osl": 256, "concurrency": 64}
    assert spec["image"].endswith("/dynamo-planner:1.6.1")


@pytest.mark.parametrize("active", [True, False])
def test_nothing_waits_for_the_profiler(active: bool) -> None:
    """Neither GPU nodes nor graphs: its answer may take minutes, or be that the targets cannot be held."""
    made = evaluated(**EKS, **SIZING, pool={"active": active})
    (request,) = of_kind(made, "DynamoGraphDeploymentRequest")
    asked = one(made, "SizingRequest", "sizing")
    others = [each for each in made.resources if each not in (request, asked)]
    assert bool(of_kind(made, "DynamoGraphDeployment")) is active
    assert not [each.name for each in others if comes_after(made, each, asked)]
    gpu_nodes = [group for group in of_kind(made, "NodeGroup") if "nvidia.com/gpu" in str(group.inputs)]
    assert gpu_nodes
    assert not any(comes_after(made, request, group) for group in gpu_nodes)
    assert "pulumi.com/waitFor" not in str(request.inputs)


def test_nobody_is_asked_by_default() -> None:
    made = evaluated()
    assert not of_kind(made, "DynamoGraphDeploymentRequest")
    assert "sizing" not in made.outputs


AUTOSCALED: dict[str, Any] = {
    "pool": {"nodes": 2},
    "graph": {"decode": {"maxReplicas": 2}},
    "monitoring": {"kind": "install"},
}


def test_keda_is_told_of_adapters_that_are_there_and_goes_last() -> None:
    made = evaluated(**AUTOSCALED, autoscaling={"kind": "keda"})
    keda = one(made, "Release", "keda")
    (scaled_object,) = of_kind(made, "ScaledObject")
    (graph,) = of_kind(made, "DynamoGraphDeployment")
    assert keda.inputs["chart"] == "https://kedacore.github.io/charts/keda-2.20.2.tgz"
    assert comes_after(made, scaled_object, graph), "the operator makes the adapter with the graph"
    assert comes_after(made, scaled_object, keda), "KEDA takes its finalizer off what it scales"
    (trigger,) = scaled_object.inputs["spec"]["triggers"]
    assert (
        trigger["metadata"]["serverAddress"] == "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"
    )


def test_a_keda_that_is_there_is_only_told() -> None:
    made = evaluated(**AUTOSCALED, autoscaling={"kind": "keda", "install": False})
    assert [release.name for release in of_kind(made, "Release") if release.name == "keda"] == []
    assert len(of_kind(made, "ScaledObject")) == 1


def test_only_graphs_that_are_deployed_are_scaled() -> None:
    further = {"name": "later", "decode": {"maxReplicas": 2}, "pool": "later"}
    pools = [{"name": "later", "nodes": 2, "active": False}]
    made = evaluated(**EKS, **AUTOSCALED, autoscaling={"kind": "keda"}, graphs=[further], pools=pools)
    (scaled_object,) = of_kind(made, "ScaledObject")
    (graph,) = of_kind(made, "DynamoGraphDeployment")
    assert scaled_object.inputs["spec"]["scaleTargetRef"]["name"].startswith(graph.inputs["metadata"]["name"])


def test_what_something_else_scales_has_adapters_alone() -> None:
    made = evaluated(**AUTOSCALED, autoscaling={"kind": "external"})
    (graph,) = of_kind(made, "DynamoGraphDeployment")
    adapters = {part["name"]: "scalingAdapter" in part for part in graph.inputs["spec"]["components"]}
    assert adapters == {"Frontend": False, "VllmPrefillWorker": False, "VllmDecodeWorker": True}
    assert not of_kind(made, "ScaledObject")


def test_the_copy_of_a_node_comes_after_the_cache_and_before_nodes_and_graphs() -> None:
    made = evaluated(**EKS, cache={"kind": "efs", "localCopy": "node"})
    copier = one(made, "DaemonSet", "model-copy")
    (graph,) = of_kind(made, "DynamoGraphDeployment")
    assert comes_after(made, copier, one(made, "Job", "model-download"))
    assert comes_after(made, graph, copier)
    for group in (each for each in of_kind(made, "NodeGroup") if "gpu" in each.name):
        assert comes_after(made, group, copier)
    # It is deleted before the rights with which its pods ask whether they are to clear the copy.
    assert comes_after(made, copier, one(made, "RoleBinding", "model-copy"))
    folder = copier.inputs["spec"]["template"]["spec"]["volumes"][1]["hostPath"]["path"]
    assert folder == "/var/lib/kubelet/dynamo-gpt-oss/dynamo"


def test_no_stack_has_a_copy_of_the_node_that_does_not_ask_for_one() -> None:
    assert "model-copy" not in {
        each.name for each in of_kind(evaluated(cache={"localCopy": True}), "DaemonSet")
    }
