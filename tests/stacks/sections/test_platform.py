"""Platform, cache, secrets and monitoring of a stack: what follows from little, and what is refused."""

from collections.abc import Mapping
from typing import Any

import pytest

from facts.releases import LATEST_PATCH, Version
from manifests.services.charts import platform_chart
from stacks.load import parse
from stacks.plan import StackPlan
from stacks.settings import PROJECT, ConfigError
from targets.platform import Discovery, Platform

STACK: dict[str, Any] = {"target": "vllm-disagg-h100", "cluster": {"kind": "existing", "efa": True}}
EKS: dict[str, Any] = {"cluster": {"kind": "eks", "region": "us-east-1"}}
PICKED = {
    "host": "llm.example.com",
    "gateway": "envoy/public",
    "existingSecret": "keys",
    "inferenceExtension": True,
}
SECRET = {"name": "tokens/hf", "region": "us-east-1"}


def settings(more: Mapping[str, Any]) -> StackPlan:
    return parse(STACK | dict(more), {"huggingFace", "ngc", "ingress"})


def platform(more: Mapping[str, Any]) -> Platform:
    made = settings(more)
    return made.platform.wanted


def release(version: str, /, **platform: Any) -> dict[str, Any]:
    return {"graph": {"dynamoVersion": version}, "platform": platform}


REFUSED: dict[str, tuple[Mapping[str, Any], str]] = {
    "a chart from before 1.0": (
        release("0.4.1", version="0.4.1"),
        "platform.version: 0.4.1 cannot be installed: its CRDs are a second chart near Helm's size limit and its etcd "
        "image has left its registry (dynamo#2806, PR#6466); use 1.0.2 or newer, which runs earlier graphs too, or "
        "set platform.install to false",
    ),
    "the chart with another release's operator": (
        release("1.2.1", version="0.9.0"),
        "platform.version: '0.9.0': Dynamo 0.9.0 is not supported; choose one of "
        + ", ".join(LATEST_PATCH.values()),
    ),
    "NATS off where events need it": (
        release("1.2.1", nats=False),
        "platform.nats: false, but graphs of Dynamo 1.2.1 send events over NATS; leave the key out or use "
        "graph.dynamoVersion 1.4.0 or newer",
    ),
    "etcd off where it is the discovery": (
        release("1.4.2", discovery="etcd", etcd=False),
        "platform.etcd: false, but platform.discovery is 'etcd'; leave the key out or choose 'kubernetes'",
    ),
    "etcd off where the release needs it": (
        release("1.0.2", etcd=False),
        "platform.etcd: false, but graphs of Dynamo 1.0.2 need etcd; leave the key out or use graph.dynamoVersion "
        "1.1.0 or newer",
    ),
    "several nodes without a scheduler for them": (
        {"pool": {"nodes": 2}, "graph": {"decode": {"nodes": 2}, "transport": "efa"}},
        "graph.decode.nodes: 2 nodes for one worker need a multi-node scheduler; without one the operator starts no "
        "pod of the graph; set platform.grove to bundled or external, or platform.leaderWorkerSet to true if that is "
        "on the cluster",
    ),
    "an operator to look at and to install": (
        {"platform": {"operator": "dynamo-system/operator"}},
        "platform: {operator}: operator names an operator that is already there; set install to false or leave it out",
    ),
    "the platform among the graphs": (
        {"platform": {"namespace": "dynamo"}},
        "platform.namespace: 'dynamo' is the graphs' namespace; the platform needs one of its own, which goes with it",
    ),
    "a file system without AWS": (
        {"cache": {"kind": "efs"}},
        "cache.kind: 'efs' makes a file system, for cluster.kind eks or existing-eks; choose class and name a "
        "storageClass, or efs and name its fileSystem",
    ),
    "a class beside a file system": (
        EKS | {"cache": {"kind": "efs", "storageClass": "nfs"}},
        "cache: {kind, storageClass}: storageClass is for kind class; kind efs makes its own",
    ),
    "mount targets without AWS": (
        {"cache": {"kind": "efs", "fileSystem": "fs-0123456789abcdef0", "mountTargets": True}},
        "cache.mountTargets: true makes them, for cluster.kind eks or existing-eks; leave it out where the file "
        "system has them",
    ),
    "a new file system without mount targets": (
        EKS | {"cache": {"kind": "efs", "mountTargets": False}},
        "cache: {kind, mountTargets}: mountTargets: false is for a fileSystem that has them; a new one cannot be "
        "mounted",
    ),
    "a file system for a Local Zone alone": (
        {
            "target": "vllm-disagg-h100",
            "cluster": {
                "kind": "existing-eks",
                "region": "us-east-1",
                "name": "there",
                "subnets": {"us-east-1-dfw-2a": "subnet-0123456789abcdef0"},
            },
            "cache": {"kind": "efs"},
        },
        "cache.kind: 'efs' needs a subnet in an Availability Zone, which Local Zones [us-east-1-dfw-2a] reach; add one "
        "to cluster.subnets",
    ),
    "a Lustre file system that is to stay": (
        EKS | {"cache": {"kind": "fsx", "retain": True}},
        "cache: {kind, retain}: retain is for kind class, efs or s3; a Lustre file system keeps hold of the stack's "
        "subnets",
    ),
    "a local copy for workers without weights": (
        {"target": "mocker-disagg-cpu", "cache": {"localCopy": True}},
        "cache.localCopy: true, but no graph of the stack loads weights; leave it out",
    ),
    "a file system of another kind": (
        EKS | {"cache": {"kind": "fsx", "fileSystem": "fs-0123456789abcdef0"}},
        "cache: {kind, fileSystem}: fileSystem is for kind efs, not fsx",
    ),
    "two sources of a token": (
        {"huggingFace": {"existingSecret": "theirs", "awsSecret": SECRET}},
        "huggingFace: {existingSecret, awsSecret}: awsSecret excludes token and existingSecret; keep one",
    ),
    "two sources of a key": (
        {"ngc": {"apiKey": "nvapi-hidden", "awsSecret": SECRET}},
        "ngc: {apiKey, awsSecret}: apiKey and awsSecret exclude each other; keep one",
    ),
    "External Secrets without a pod identity": (
        {"huggingFace": {"awsSecret": SECRET}},
        "externalSecrets.install: true gives External Secrets a pod identity, for cluster.kind eks or existing-eks; "
        "set it to false where External Secrets is on the cluster",
    ),
    "an endpoint without keys": (
        {"ingress": {"host": "llm.example.com", "gateway": "envoy/public"}},
        "ingress: {host, gateway}: needs either apiKeys or existingSecret: an endpoint without keys is open to "
        "everyone",
    ),
    "two sources of keys": (
        {
            "ingress": {
                "host": "llm.example.com",
                "gateway": "envoy/public",
                "apiKeys": {"ci": "sk-hidden"},
                "existingSecret": "keys",
            }
        },
        "ingress: {host, gateway, apiKeys, existingSecret}: needs either apiKeys or existingSecret: an endpoint "
        "without keys is open to everyone",
    ),
    "a client that cannot be a key of a Secret": (
        {"ingress": {"host": "llm.example.com", "gateway": "envoy/public", "apiKeys": {"a b": "sk-hidden"}}},
        "ingress.apiKeys: [secret]: write letters, digits, dots, dashes and underscores, at most 63, for example "
        "team-a",
    ),
    "an endpoint picker before there was one": (
        {"ingress": PICKED},
        "ingress.inferenceExtension: true needs the endpoint picker of Dynamo 1.5.0 or newer, but gpt-oss-disagg is "
        "Dynamo 1.4.2; use graph.dynamoVersion 1.6.1 or newer",
    ),
    "an endpoint picker that cannot find a worker's pod": (
        release("1.6.1", discovery="etcd") | {"ingress": PICKED},
        "platform.discovery: 'etcd', under which the endpoint picker of ingress.inferenceExtension finds no pod of a "
        "worker; choose 'kubernetes'",
    ),
    "an address for a Prometheus that is installed": (
        {"monitoring": {"kind": "install", "endpoint": "http://prometheus:9090"}},
        "monitoring: {kind, endpoint}: endpoint is for kind existing, not install",
    ),
}


@pytest.mark.parametrize(("more", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused_with_its_reason(more: Mapping[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(more)
    assert str(error.value) == f"{PROJECT}:{message}"


@pytest.mark.parametrize(
    ("key", "more"),
    [
        ("ngc.apiKey", {"ngc": {"apiKey": "sk-hidden"}}),
        (
            "ingress.apiKeys",
            {
                "ingress": {
                    "host": "llm.example.com",
                    "gateway": "envoy/public",
                    "apiKeys": {"ci": "sk-hidden"},
                }
            },
        ),
    ],
)
def test_a_key_that_is_not_encrypted_is_refused_and_not_shown(key: str, more: Mapping[str, Any]) -> None:
    with pytest.raises(ConfigError) as error:
        parse(STACK | dict(more), set())
    assert str(error.value) == (
        f"{PROJECT}:{key}: the value is not encrypted; set it with `pulumi config set --secret --path {PROJECT}:{key}`"
    )


@pytest.mark.parametrize(
    ("version", "nats", "etcd"),
    [("1.0.2", True, True), ("1.2.1", True, False), ("1.3.1", True, False), ("1.4.2", False, False)],
)
def test_services_follow_the_graphs_release(version: str, nats: bool, etcd: bool) -> None:
    made = platform(release(version))
    assert (made.nats, made.etcd, made.discovery) == (nats, etcd, Discovery.KUBERNETES)


def test_a_newer_platform_keeps_what_older_graphs_need() -> None:
    made = platform(release("0.4.1"))
    assert made.version == Version(1, 0, 2)
    assert (made.nats, made.etcd, made.discovery) == (True, True, Discovery.ETCD)


def test_the_oldest_graph_decides_what_is_needed() -> None:
    graphs = [{"name": "older", "dynamoVersion": "1.2.1"}]
    made = platform(release("1.4.2") | {"graphs": graphs, "pool": {"nodes": 2}})
    assert made.version == Version(1, 4, 2)
    assert made.nats


def test_services_can_be_had_where_they_are_not_needed() -> None:
    made = platform(release("1.4.2", nats=True, etcd=True))
    assert made.nats
    assert made.etcd


@pytest.mark.parametrize("platform", [{"grove": "bundled"}, {"grove": "external"}, {"leaderWorkerSet": True}])
def test_several_nodes_with_a_scheduler_for_them(platform: dict[str, Any]) -> None:
    graph = {"decode": {"nodes": 2}, "transport": "efa"}
    assert settings({"pool": {"nodes": 2}, "graph": graph, "platform": platform}).graphs


def test_how_an_existing_platform_was_installed_is_not_judged() -> None:
    assert settings(release("0.4.1", install=False, nats=False)).graphs


def test_an_existing_platform_needs_a_scheduler_for_several_nodes_too() -> None:
    graph = {"decode": {"nodes": 2}, "transport": "efa"}
    with pytest.raises(ConfigError, match="need a multi-node scheduler"):
        settings({"pool": {"nodes": 2}, "graph": graph, "platform": {"install": False}})


@pytest.mark.parametrize(
    ("monitoring", "endpoint"),
    [
        ({}, None),
        ({"kind": "install"}, "http://kube-prometheus-stack-prometheus.monitoring.svc:9090"),
        ({"kind": "existing", "endpoint": "http://prometheus.ops:9090"}, "http://prometheus.ops:9090"),
    ],
)
def test_the_platform_is_told_where_prometheus_is(monitoring: dict[str, Any], endpoint: str | None) -> None:
    assert platform({"monitoring": monitoring}).prometheus == endpoint


def test_a_key_gives_graphs_its_pull_secret_unless_they_name_one() -> None:
    key = {"ngc": {"apiKey": "nvapi-hidden"}}
    assert settings(key).main.image.pull_secret == "ngc-pull-secret"
    own = {"graph": {"image": {"pullSecret": "own"}}}
    assert settings(key | own).main.image.pull_secret == "own"
    assert settings({}).main.image.pull_secret is None


def test_every_default_platform_can_be_installed() -> None:
    for version in LATEST_PATCH.values():
        if version.startswith("1."):
            assert version in str(platform_chart(platform(release(version)).version).file)
