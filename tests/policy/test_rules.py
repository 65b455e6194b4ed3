"""Each rule: resources that pass, and the same with one thing changed that it stops."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from policy.check import findings, settings_in
from policy.resource import STACK, UNKNOWN, Resource
from policy.rules import RESOURCE_RULES, STACK_RULES
from stacks.sections.policy import Level, PolicySettings, Rule

TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
CLUSTER = "aws:eks/cluster:Cluster"
RELEASE = "kubernetes:helm.sh/v3:Release"
POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
COMMIT = "b5c939de8f754692c1647ca79fbf85e8c1e70f8a"
PROVIDER = {"defaultTags": '{"tags": {"owner": "ml", "ttl": "24h"}}'}
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
USER = {"runAsNonRoot": True, "runAsUser": 1000}
TOKEN = "hf_" + "a" * 34
EFA = {"limits": {"vpc.amazonaws.com/efa": "8"}}
ROUTE = {"kind": "HTTPRoute", "metadata": {"name": "api", "namespace": "dynamo"}}
KEYS = {"credentialRefs": [{"kind": "Secret", "name": "keys"}]}


def resource(kind: str, inputs: Mapping[str, Any], **more: Any) -> Resource:
    return Resource(urn=more.pop("urn", "urn"), type=kind, name="it", inputs=inputs, **more)


def pod(*, context: Mapping[str, Any] = USER, volumes: list[Any] | None = None, **container: Any) -> Resource:
    """A Job with one container that needs nothing."""
    spec = {"name": "main", "image": "example.com/image:1.2", "securityContext": SAFE, **container}
    template = {"spec": {"containers": [spec], "securityContext": context, "volumes": volumes or []}}
    return resource("kubernetes:batch/v1:Job", {"kind": "Job", "spec": {"template": template}})


def group(capacity: str = "ON_DEMAND", **more: Any) -> Resource:
    inputs = {
        "amiType": "AL2023_x86_64_NVIDIA",
        "capacityType": capacity,
        "scalingConfig": {"desiredSize": 1},
    }
    return resource(NODE_GROUP, inputs | more.pop("inputs", {}), **{"provider": PROVIDER} | more)


def nodes(*, size: int = 1, capacity: str = "ON_DEMAND", reservation: bool = False) -> list[Resource]:
    target = {"capacityReservationTarget": {"capacityReservationId": "cr-1"}} if reservation else {}
    inputs = {"instanceType": "p6-b200.48xlarge", "capacityReservationSpecification": target}
    urn = f"template of {capacity}"
    scaling = {"scalingConfig": {"desiredSize": size}}
    return [resource(TEMPLATE, inputs, urn=urn), group(capacity, inputs=scaling, dependencies=(urn,))]


def cluster(**inputs: Any) -> Resource:
    access = {"endpointPublicAccess": True, "publicAccessCidrs": ["203.0.113.7/32"]}
    safe = {"deletionProtection": True, "encryptionConfig": {"resources": ["secrets"]}, "vpcConfig": access}
    return resource(CLUSTER, safe | inputs, protect=True)


def stack(**parts: float | str) -> Resource:
    return resource(STACK, {"cost": {"perHourByPart": parts}})


def statement(**said: Any) -> Resource:
    allowed = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::models/*", **said}
    return resource(POLICY, {"policy": {"Statement": [allowed]}})


def template(**inputs: Any) -> Resource:
    safe = {
        "metadataOptions": {"httpTokens": "required"},
        "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "true"}}],
        "tagSpecifications": [{"resourceType": "instance", "tags": {"project": "p", "stack": "s"}}],
    }
    return resource(TEMPLATE, safe | inputs)


def release(chart: str, version: str | None = None, **values: Any) -> Resource:
    return resource(RELEASE, {"chart": chart, "version": version, "values": values})


def security_policy(target: str, **spec: Any) -> Resource:
    refs = [{"kind": "HTTPRoute", "name": target}]
    metadata = {"name": "api", "namespace": "dynamo"}
    return resource(
        "sp", {"kind": "SecurityPolicy", "metadata": metadata, "spec": {"targetRefs": refs, **spec}}
    )


CASES: list[tuple[Rule, Mapping[str, Any], list[Resource], list[Resource], str]] = [
    (Rule.OWNER_AND_TTL, {}, [group()], [group(provider={})], "no tag `owner`"),
    (
        Rule.OWNER_AND_TTL, {}, [group("CAPACITY_BLOCK", provider={}, inputs={"tags": {"owner": "ml"}})],
        [group("SPOT", provider={}, inputs={"tags": {"owner": "ml"}})], "no tag `ttl`",
    ),
    (
        Rule.PRICE_CEILING, {"maxUsdPerHour": 120}, [stack(node=113.9, eks=0.1)], [stack(node=113.9, more=6.2)],
        "120.10 USD an hour; policy.maxUsdPerHour allows 120.00",
    ),
    (Rule.PRICE_CEILING, {}, [stack(block=90)], [stack(block="unknown", eks=0.1)], "no list has the price of block"),
    (Rule.ON_DEMAND_GPUS, {}, nodes(), nodes(size=2), "16 GPUs on demand up to here; policy.maxOnDemandGpus allows 8"),
    (
        Rule.ON_DEMAND_GPUS, {"maxOnDemandGpus": 0}, [*nodes(reservation=True), *nodes(capacity="CAPACITY_BLOCK")],
        nodes(), "8 GPUs on demand",
    ),
    (
        Rule.PROTECTED_PRODUCTION, {"production": True}, [cluster()], [cluster(deletionProtection=False)],
        "AWS would delete this cluster",
    ),
    (
        Rule.PROTECTED_PRODUCTION, {"production": True}, [cluster()],
        [resource(CLUSTER, {"deletionProtection": True})], "Pulumi would delete this cluster",
    ),
    (
        Rule.NO_OPEN_ENDPOINT, {}, [cluster(), cluster(vpcConfig={"endpointPublicAccess": False})],
        [cluster(vpcConfig={"publicAccessCidrs": ["0.0.0.0/0"]})], "0.0.0.0/0 opens the API server",
    ),
    (
        Rule.NO_OPEN_ENDPOINT, {}, [cluster(vpcConfig={"publicAccessCidrs": UNKNOWN})],
        [cluster(vpcConfig={"endpointPublicAccess": True})], "lets in the whole internet",
    ),
    (
        Rule.NO_OPEN_ENDPOINT, {},
        [resource("aws:ec2/securityGroup:SecurityGroup", {"egress": [{"cidrBlocks": ["0.0.0.0/0"]}]})],
        [resource("aws:ec2/securityGroup:SecurityGroup", {"ingress": [{"cidrBlocks": ["0.0.0.0/0"]}]})],
        "lets in 0.0.0.0/0",
    ),
    (
        Rule.NO_OPEN_ENDPOINT, {}, [resource("s", {"kind": "Service", "spec": {"type": "ClusterIP"}})],
        [resource("s", {"kind": "Service", "spec": {"type": "LoadBalancer"}})], "a Service of type LoadBalancer",
    ),
    (
        Rule.NO_OPEN_ENDPOINT, {}, [release("c", "1.0.0", grafana={"service": {"type": "ClusterIP"}})],
        [release("c", "1.0.0", grafana={"service": {"type": "LoadBalancer"}})], "values.grafana.service.type",
    ),
    (Rule.NO_OPEN_ENDPOINT, {}, [pod()], [resource("i", {"kind": "Ingress"})], "an Ingress has no keys"),
    (
        Rule.KEYS_AT_THE_INGRESS, {}, [security_policy("api", apiKeyAuth=KEYS), resource("r", ROUTE)],
        [security_policy("other", apiKeyAuth=KEYS), security_policy("api", cors={}), resource("r", ROUTE)],
        "the API is open to everyone",
    ),
    (Rule.IMDSV2, {}, [template()], [template(metadataOptions={"httpTokens": "optional"})], "httpTokens"),
    (
        Rule.ENCRYPTION, {}, [template()], [template(blockDeviceMappings=[{"deviceName": "/dev/xvda", "ebs": {}}])],
        "disk /dev/xvda is not encrypted",
    ),
    (
        Rule.ENCRYPTION, {}, [resource("aws:efs/fileSystem:FileSystem", {"encrypted": True})],
        [resource("aws:efs/fileSystem:FileSystem", {})], "the file system is not encrypted",
    ),
    (Rule.ENCRYPTION, {}, [cluster()], [cluster(encryptionConfig=None)], "Kubernetes secrets are not encrypted"),
    (
        Rule.ENCRYPTION, {},
        [resource("sc", {"kind": "StorageClass", "provisioner": "efs.csi.aws.com"})],
        [resource("sc", {"kind": "StorageClass", "provisioner": "ebs.csi.aws.com"})], "volumes of this class",
    ),
    (
        Rule.PINNED_VERSIONS, {},
        [pod(), pod(image="example.com:5000/image@sha256:0"), pod(image=UNKNOWN), pod(image="")],
        [pod(image="example.com:5000/image")], "image example.com:5000/image moves",
    ),
    (Rule.PINNED_VERSIONS, {}, [pod()], [pod(image="example.com/a:latest")], "image example.com/a:latest moves"),
    (
        Rule.PINNED_VERSIONS, {},
        [release("gpu-operator", "v25.10.1"), release("https://example.com/dynamo-platform-1.4.2.tgz")],
        [release("gpu-operator", ">=25")], "chart gpu-operator: version '>=25' moves",
    ),
    (
        Rule.PINNED_VERSIONS, {}, [resource("aws:eks/addon:Addon", {"addonName": "coredns", "addonVersion": UNKNOWN})],
        [resource("aws:eks/addon:Addon", {"addonName": "coredns"})], "add-on coredns: no addonVersion",
    ),
    (Rule.PINNED_VERSIONS, {}, [group(inputs={"releaseVersion": "1.35.0-2"})], [group()], "no releaseVersion"),
    (
        Rule.PINNED_VERSIONS, {}, [pod(env=[{"name": "MODELS", "value": f'[{{"model":"m","revision":"{COMMIT}"}}]'}])],
        [pod(env=[{"name": "MODELS", "value": '[{"model":"m","revision":"main"}]'}])], "revision 'main' is no commit",
    ),
    (
        Rule.PINNED_VERSIONS, {}, [pod(args=["--model-path", f"/models/snapshots/{COMMIT}"])],
        [pod(args=["--model-path", "/models/snapshots/main"])], "model snapshot 'main' is no commit",
    ),
    (Rule.UNPRIVILEGED_PODS, {}, [pod()], [pod(securityContext={"privileged": True})], "(main): privileged"),
    (
        Rule.UNPRIVILEGED_PODS, {},
        [pod(resources=EFA, securityContext={"privileged": True}, context={"runAsUser": 0})],
        [pod(context={"runAsUser": 0})], "may be root",
    ),
    (
        Rule.UNPRIVILEGED_PODS, {}, [pod()],
        [pod(securityContext={**SAFE, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}})],
        "adds capabilities IPC_LOCK",
    ),
    (Rule.UNPRIVILEGED_PODS, {}, [pod()], [pod(securityContext={})], "may gain privileges"),
    (
        Rule.UNPRIVILEGED_PODS, {}, [pod(volumes=[{"name": "tmp", "emptyDir": {}}])],
        [pod(volumes=[{"name": "root", "hostPath": {"path": "/"}}], resources=EFA)], "volume root: / of the node",
    ),
    (Rule.NO_WILDCARD_RIGHTS, {}, [statement()], [statement(Action="s3:*")], "allows s3:*"),
    (
        Rule.NO_WILDCARD_RIGHTS, {}, [statement(Action="ecr:GetAuthorizationToken", Resource="*")],
        [statement(Action="s3:PutObject", Resource="*")], "allows s3:PutObject on every resource",
    ),
    (
        Rule.NO_WILDCARD_RIGHTS, {}, [statement(Effect="Deny", Action="s3:*")],
        [statement(NotAction="iam:*", Action=None)], "allows everything but NotAction",
    ),
    (
        Rule.NO_WILDCARD_RIGHTS, {},
        [resource(ATTACHMENT, {"policyArn": "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"})],
        [resource(ATTACHMENT, {"policyArn": "arn:aws:iam::aws:policy/AmazonS3FullAccess"})],
        "AmazonS3FullAccess allows more",
    ),
    (
        Rule.NO_WILDCARD_RIGHTS, {},
        [resource("r", {"kind": "Role", "rules": [{"verbs": ["get"], "resources": ["pods"]}]})],
        [resource("r", {"kind": "Role", "rules": [{"verbs": ["*"], "resources": ["pods"]}]})], "* in verbs",
    ),
    (
        Rule.FIXED_NODE_TAGS, {}, [template()],
        [template(tagSpecifications=[{"resourceType": "instance", "tags": {"stack": "s", "ttl": "24h"}}])],
        "instance: tags ttl would replace nodes",
    ),
    (
        Rule.NO_PLAIN_SECRETS, {}, [resource("s", {"kind": "Secret", "stringData": {"t": TOKEN}})],
        [resource(CONFIG_MAP, {"kind": "ConfigMap", "data": {"t": TOKEN}})], "data.t holds what looks like a",
    ),
    (
        Rule.NO_PLAIN_SECRETS, {},
        [pod(env=[{"name": "HF_TOKEN", "valueFrom": {}}, {"name": "DYN_TOKENS", "value": "1"}])],
        [pod(env=[{"name": "HF_TOKEN", "value": "anything"}])], "HF_TOKEN has its value in plain text",
    ),
]  # fmt: skip


def said(rule: Rule, settings: Mapping[str, Any], resources: list[Resource]) -> list[str]:
    """What the rule finds; the others are not asked."""
    parsed = PolicySettings.model_validate(settings)
    return [finding.problem for finding in findings(resources, parsed) if finding.rule is rule]


@pytest.mark.parametrize(("rule", "settings", "passing", "stopped", "sentence"), CASES)
def test_a_rule(
    rule: Rule, settings: Mapping[str, Any], passing: list[Resource], stopped: list[Resource], sentence: str
) -> None:
    assert said(rule, settings, passing) == []
    [problem] = [problem for problem in said(rule, settings, stopped) if sentence in problem]
    assert not problem.endswith(".")


def test_every_rule_is_there_once_says_what_it_demands_and_has_its_cases() -> None:
    assert {*RESOURCE_RULES} & {*STACK_RULES} == set()
    rules = RESOURCE_RULES | STACK_RULES
    assert {*rules} == {rule for rule, *_ in CASES} == {*Rule}
    assert all(rule.__doc__ and rule.__doc__.endswith(".") for rule in rules.values())


def test_no_message_shows_what_it_takes_for_a_secret() -> None:
    found = said(Rule.NO_PLAIN_SECRETS, {}, [pod(env=[{"name": "HF_TOKEN", "value": TOKEN}])])
    assert len(found) == 2
    assert TOKEN not in str(found)


def test_a_resource_can_be_spared_with_a_reason() -> None:
    settings = {"rules": {"imdsv2": {"notFor": ["i*"], "reason": "an old agent"}}}
    assert said(Rule.IMDSV2, settings, [template(metadataOptions={})]) == []
    assert said(Rule.IMDSV2, {"rules": {"imdsv2": {"notFor": ["x*"], "reason": "an old agent"}}}, [
        template(metadataOptions={})
    ]) != []  # fmt: skip


@pytest.mark.parametrize("level", Level)
def test_a_rule_is_held_at_the_level_of_the_config(level: Level) -> None:
    config = {"rules": {"imdsv2": {"level": level, "reason": "an old agent"}}}
    settings = settings_in({"dynamo-gpt-oss:policy": json.dumps(config)})
    found = [*findings([template(metadataOptions={})], settings)]
    assert [finding.level for finding in found] == ([] if level is Level.DISABLED else [level])


@pytest.mark.parametrize(
    "rule", [{"level": "advisory"}, {"level": "disabled", "reason": " "}, {"notFor": ["a"]}]
)
def test_less_than_the_rule_needs_a_reason(rule: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="write a reason"):
        PolicySettings.model_validate({"rules": {"imdsv2": rule}})
