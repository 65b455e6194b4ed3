"""Platform, cache, secrets and monitoring as components: inputs, parents, dependencies, what outlives the stack."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pulumi
import pytest

from components.cache.model_cache import ModelCache, ModelCacheArgs
from components.cache.storage import EfsCache, EfsCacheArgs, LustreCache, LustreCacheArgs, Network
from components.charts import Release
from components.kubernetes_objects import KubernetesObjects, KubernetesObjectsArgs
from components.services.inference_extension import InferenceExtension
from components.services.monitoring import Monitoring, MonitoringArgs
from components.services.platform import DynamoPlatform, DynamoPlatformArgs, ExistingOperator
from components.services.secret_access import SecretAccess, SecretAccessArgs
from facts.releases import Version
from facts.versions import KUBE_PROMETHEUS_STACK, Chart
from manifests import objects
from manifests.cache.storage import efs_storage_class
from manifests.monitoring.dashboards import config_map
from manifests.monitoring.pod_monitors import pod_monitors
from manifests.names import RETAINED
from manifests.services import secrets
from manifests.services.image_pull import daemon_sets
from manifests.services.ingress import Route, manifests
from manifests.services.secrets import AwsSecret
from manifests.services.sizing import sizing_request
from ops.evaluate import Resource, Secret
from targets.plan import all_weights
from targets.sizing import Sizing
from tests.components.recording import Deployed, deploy, named
from tests.components.test_on_cluster import plan

CHART = Chart(
    "dynamo-platform", "https://charts.example/dynamo-platform-{version}.tgz", "1.2.1", "dynamo-system"
)
HF = AwsSecret(name="tokens/hf", region="us-east-1", key="token")
NETWORK = Network(
    vpc_id="vpc-1", subnets={"a": "subnet-a", "b": "subnet-b"}, node_security_group_id="sg-nodes"
)


class Retained(Deployed):
    """Also keeps what outlives its stack."""

    def __init__(self) -> None:
        super().__init__()
        self.retained: set[str] = set()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().RegisterResource(request)
        if request.retainOnDelete:
            self.retained.add(request.name)
        return response


def held(made: Sequence[objects.Named], **more: Any) -> None:
    """Objects as one component."""
    KubernetesObjects("some", KubernetesObjectsArgs(objects=made, **more))


def install() -> None:
    values = {"global": {"nats": {"install": True}}}
    DynamoPlatform(
        "dynamo-platform",
        DynamoPlatformArgs(
            graph_api_version="nvidia.com/v1alpha1",
            installation=Release(chart=CHART, values=values),
        ),
    )


def test_the_platform_is_one_release_of_a_pinned_file() -> None:
    release = named(deploy(install), "dynamo-platform", ":Release")
    assert release.inputs["chart"] == "https://charts.example/dynamo-platform-1.2.1.tgz"
    assert release.inputs["namespace"] == "dynamo-system"
    assert release.inputs["values"] == {"global": {"nats": {"install": True}}}
    assert release.inputs["skipAwait"] is False
    assert "repositoryOpts" not in release.inputs


def test_a_platform_of_the_stack_s_own_brings_no_definition_into_the_state() -> None:
    recorder = deploy(install)
    component = named(recorder, "dynamo-platform", ":DynamoPlatform")
    assert named(recorder, "dynamo-platform", ":Release").parent == component.urn
    assert not [resource for resource in recorder.recorded if resource.read]
    assert recorder.registered_outputs["dynamo-platform"]["graphApiVersion"] == "nvidia.com/v1alpha1"


def use_existing() -> None:
    operator = ExistingOperator(namespace="ops", name="operator", version=Version(1, 2, 1))
    args = DynamoPlatformArgs(graph_api_version="nvidia.com/v1alpha1", operator=operator)
    DynamoPlatform("dynamo-platform", args)


class WithOperator(Deployed):
    """A cluster with an operator of some image."""

    image = ""

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().ReadResource(request)
        if request.type.endswith(":Deployment"):
            container = {"name": "manager", "image": self.image}
            response.properties.update({"spec": {"template": {"spec": {"containers": [container]}}}})
        return response


@pytest.mark.parametrize("image", ["kubernetes-operator:1.2.0", "kubernetes-operator:v1.3.1-rc1"])
def test_a_recent_operator_is_accepted(monkeypatch: pytest.MonkeyPatch, image: str) -> None:
    monkeypatch.setattr(WithOperator, "image", image)
    monkeypatch.setattr("tests.components.recording.Deployed", WithOperator)
    recorder = deploy(use_existing)
    assert named(recorder, "operator", ":Deployment").inputs["id"] == "ops/operator"


def test_an_older_operator_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WithOperator, "image", "nvcr.io/nvidia/ai-dynamo/kubernetes-operator:1.0.2")
    monkeypatch.setattr("tests.components.recording.Deployed", WithOperator)
    with pytest.raises(pulumi.RunError) as error:
        deploy(use_existing)
    assert str(error.value) == (
        "dynamo-gpt-oss:platform.operator: ops/operator is version 1.0.2, older than 1.2.1, which this stack wants; "
        "upgrade the platform or lower platform.version"
    )


def test_an_operator_of_unknown_version_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WithOperator, "image", "registry.example/operator@sha256:0123")
    monkeypatch.setattr("tests.components.recording.Deployed", WithOperator)
    assert named(deploy(use_existing), "operator", ":Deployment")


def cache(**more: Any) -> Callable[[], None]:
    def program() -> None:
        made = plan()
        args: dict[str, Any] = {
            "namespace": "dynamo",
            "weights": all_weights([made]),
            "size": "100Gi",
            "storage_class": None,
            "image": made.image.reference,
            "archs": made.image.archs,
            "token_secret": None,
            "pull_secret": None,
        }
        ModelCache("model-cache", ModelCacheArgs(**args | more))

    return program


def retained(monkeypatch: pytest.MonkeyPatch, program: Callable[[], None]) -> tuple[set[str], Deployed]:
    monkeypatch.setattr("tests.components.recording.Deployed", Retained)
    recorder = deploy(program)
    assert isinstance(recorder, Retained)
    return recorder.retained, recorder


@pytest.mark.parametrize("retain", [True, False])
def test_the_claim_outlives_the_stack_if_asked(monkeypatch: pytest.MonkeyPatch, retain: bool) -> None:
    kept, recorder = retained(monkeypatch, cache(retain=retain))
    claim = named(recorder, "model-cache", ":PersistentVolumeClaim")
    assert kept == ({"model-cache"} if retain else set())
    assert (RETAINED.items() <= claim.inputs["metadata"]["labels"].items()) is retain


def test_the_claim_takes_the_volume_of_a_lustre_file_system() -> None:
    recorder = deploy(cache(volume="model-cache-dynamo"))
    spec = named(recorder, "model-cache", ":PersistentVolumeClaim").inputs["spec"]
    assert (spec["volumeName"], spec["storageClassName"]) == ("model-cache-dynamo", "")
    pod = named(recorder, "model-download", ":Job").inputs["spec"]["template"]["spec"]
    (own_root,) = pod["initContainers"]
    assert own_root["command"] == ["chown", "1000:1000", "/opt/models"]
    assert own_root["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN"]}
    assert "runAsUser" not in pod["containers"][0]["securityContext"]


def test_a_claim_of_ones_own_is_read_checked_and_never_written() -> None:
    recorder = deploy(cache(existing_claim="weights", source={"HTTPS_PROXY": "http://proxy:3128"}))
    claim = named(recorder, "weights", ":PersistentVolumeClaim")
    assert claim.read
    assert claim.inputs["id"] == "dynamo/weights"
    pod = named(recorder, "model-download", ":Job").inputs["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    variables = {each["name"]: each["value"] for each in container["env"]}
    assert variables["EXISTING"] == "1"
    assert "HTTPS_PROXY" not in variables
    assert pod["volumes"][0]["persistentVolumeClaim"] == {"claimName": "weights", "readOnly": True}
    assert container["volumeMounts"][0]["readOnly"] is True


def test_no_other_cache_has_a_root_container() -> None:
    pod = named(deploy(cache(storage_class="nfs")), "model-download", ":Job").inputs["spec"]["template"][
        "spec"
    ]
    assert "initContainers" not in pod


def rotated(token: str) -> dict[str, Resource]:
    """The token and a cache that uses it."""

    def program() -> None:
        held(secrets.token("dynamo", pulumi.Output.secret(token), None, 60))
        cache(token_secret="hf-token-secret")()

    return {resource.urn: resource for resource in deploy(program).recorded}


def test_a_changed_token_changes_the_secret_alone() -> None:
    """No new download, no restarted worker: nothing but the Secret has another input."""
    before, after = rotated("hf_old"), rotated("hf_new")
    changed = {urn.split("::")[-1] for urn in before if before[urn] != after[urn]}
    assert changed == {"hf-token-secret"}


def test_a_token_from_aws_is_fetched_under_the_same_name() -> None:
    def program() -> None:
        held(secrets.token("dynamo", None, HF, 5))

    recorder = deploy(program)
    secret = named(recorder, "hf-token", ":ExternalSecret")
    assert secret.inputs["spec"] == {
        "refreshInterval": "5m",
        "secretStoreRef": {"kind": "SecretStore", "name": "aws-secrets-manager-us-east-1"},
        "target": {
            "name": "hf-token-secret",
            "creationPolicy": "Owner",
            "template": {"type": "Opaque", "data": {"HF_TOKEN": "{{ .token }}"}},
        },
        "data": [{"secretKey": "token", "remoteRef": {"key": "tokens/hf", "property": "token"}}],
    }
    assert secret.inputs["metadata"]["annotations"]["pulumi.com/waitFor"] == "condition=Ready"


def test_the_registry_key_is_a_pull_secret_in_every_namespace_and_stays_secret() -> None:
    def program() -> None:
        config = pulumi.Output.secret("nvapi-1").apply(secrets.docker_config)
        held(secrets.pull_secrets(["dynamo", "dynamo-system"], config, None, 60))

    made = [r for r in deploy(program).recorded if r.type.endswith(":Secret")]
    assert {r.inputs["metadata"]["namespace"] for r in made} == {"dynamo", "dynamo-system"}
    for secret in made:
        assert secret.inputs["type"] == "kubernetes.io/dockerconfigjson"
        assert isinstance(secret.inputs["stringData"], Secret)
        assert '"username": "$oauthtoken", "password": "nvapi-1"' in str(secret.inputs["stringData"].value)
        assert "nvapi-1" not in repr(secret)


def test_a_registry_key_from_aws_is_templated_where_it_arrives() -> None:
    def program() -> None:
        held(secrets.pull_secrets(["dynamo"], None, HF, 60))

    template = named(deploy(program), "ngc-pull-secret-dynamo").inputs["spec"]["target"]["template"]
    assert template["type"] == "kubernetes.io/dockerconfigjson"
    assert '"password": "{{ .token }}"' in template["data"][".dockerconfigjson"]


@pytest.mark.parametrize("chart", [CHART, None])
def test_stores_come_after_their_operator(chart: Chart | None) -> None:
    def program() -> None:
        brought = Release(chart=chart) if chart else None
        held(secrets.stores(["dynamo", "dynamo-system"], ["us-east-1"]), release=brought)

    recorder = deploy(program)
    stores = [r for r in recorder.recorded if r.type.endswith(":SecretStore")]
    releases = [r.urn for r in recorder.recorded if r.type.endswith(":Release")]
    assert len(stores) == 2
    assert len(releases) == (1 if chart else 0)
    for store in stores:
        assert store.dependencies == tuple(releases)
        assert store.inputs["spec"] == {
            "provider": {"aws": {"service": "SecretsManager", "region": "us-east-1"}}
        }


def test_external_secrets_reads_the_named_secrets_and_no_others() -> None:
    arn = "arn:aws:secretsmanager:us-east-1:123456789012:secret:ngc-AbCdEf"

    def program() -> None:
        read = [HF, AwsSecret(name=arn, region="us-east-1", key=None)]
        SecretAccess("secret-access", SecretAccessArgs(cluster_name="dynamo", secrets=read))

    recorder = deploy(program)
    document = named(recorder, "secret-access", "rolePolicy:RolePolicy").inputs["policy"]
    assert '"arn:aws:secretsmanager:us-east-1:*:secret:tokens/hf-??????"' in document
    assert f'"{arn}"' in document
    association = named(recorder, "secret-access", ":PodIdentityAssociation").inputs
    assert (association["namespace"], association["serviceAccount"]) == (
        "external-secrets",
        "external-secrets",
    )


def efs(**more: Any) -> Callable[[], None]:
    given: dict[str, Any] = {"network": NETWORK, "namespace": "dynamo", "size": "100Gi"}
    return lambda: void(EfsCache("model-cache", EfsCacheArgs(**given | more)))


@pytest.mark.parametrize("retain", [True, False])
def test_efs_is_encrypted_reached_from_every_subnet_and_kept_if_asked(
    monkeypatch: pytest.MonkeyPatch, retain: bool
) -> None:
    kept, recorder = retained(monkeypatch, efs(retain=retain))
    assert kept == ({"model-cache"} if retain else set())
    file_system = named(recorder, "model-cache", "fileSystem:FileSystem")
    assert file_system.inputs["encrypted"] is True
    assert "creationToken" not in file_system.inputs, "the provider's own is never used twice"
    targets = [r for r in recorder.recorded if r.type.endswith(":MountTarget")]
    assert [r.inputs["subnetId"] for r in sorted(targets, key=lambda r: r.name)] == ["subnet-a", "subnet-b"]
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume")
    assert {r.urn for r in targets} <= {*volume.dependencies}
    (rule,) = [r for r in recorder.recorded if r.type.endswith(":SecurityGroupIngressRule")]
    assert rule.inputs["referencedSecurityGroupId"] == "sg-nodes"
    assert (rule.inputs["fromPort"], rule.inputs["toPort"]) == (2049, 2049)


def test_efs_is_mounted_through_an_access_point_and_by_no_class() -> None:
    """A class with `reuseAccessPoint` gives one client token to every claim of a name in account and region."""
    recorder = deploy(efs())
    assert not [r for r in recorder.recorded if r.type.endswith(":StorageClass")]
    point = named(recorder, "model-cache", "accessPoint:AccessPoint").inputs
    assert point["rootDirectory"] == {
        "path": "/dynamo-gpt-oss/dynamo/model-cache",
        "creationInfo": {"ownerUid": 1000, "ownerGid": 1000, "permissions": "0700"},
    }
    assert point["posixUser"] == {"uid": 1000, "gid": 1000}
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume").inputs["spec"]
    assert volume["csi"] == {"driver": "efs.csi.aws.com", "volumeHandle": "model-cache-id::model-cache-id"}
    assert volume["claimRef"] == {"namespace": "dynamo", "name": "model-cache"}
    assert volume["mountOptions"] == ["tls", "iam"]


def test_a_later_stack_takes_the_file_system_up_with_mount_targets_of_its_own() -> None:
    recorder = deploy(efs(file_system="fs-0123456789abcdef0"))
    assert not [r for r in recorder.recorded if r.type.endswith(":FileSystem")]
    targets = [r.inputs for r in recorder.recorded if r.type.endswith(":MountTarget")]
    assert [each["fileSystemId"] for each in targets] == ["fs-0123456789abcdef0"] * 2
    assert named(recorder, "model-cache", ":AccessPoint").inputs["fileSystemId"] == "fs-0123456789abcdef0"


def test_a_file_system_with_mount_targets_of_its_own_keeps_them_and_its_policy() -> None:
    recorder = deploy(efs(network=None, file_system="fs-0123456789abcdef0"))
    made = {r.type.rpartition(":")[2] for r in recorder.recorded if r.type.startswith("aws:")}
    assert made == {"AccessPoint"}


@pytest.mark.parametrize("role", ["arn:aws:iam::123456789012:role/efs", None])
def test_efs_lets_in_the_drivers_role_alone_by_tls_and_access_point(role: str | None) -> None:
    recorder = deploy(efs(client_role=role))
    policy = json.loads(named(recorder, "model-cache", ":FileSystemPolicy").inputs["policy"])
    (statement,) = policy["Statement"]
    assert statement["Principal"] == {"AWS": role or "*"}
    assert not any("Root" in action for action in statement["Action"])
    assert statement["Condition"]["Bool"]["aws:SecureTransport"] == "true"
    assert statement["Condition"]["Null"] == {"elasticfilesystem:AccessPointArn": "false"}


@pytest.mark.parametrize(
    ("size", "gib"), [("100Gi", 1200), ("1200Gi", 1200), ("1201Gi", 2400), ("2Ti", 2400), ("3Ti", 4800)]
)
def test_lustre_is_bought_in_the_sizes_that_are_sold(size: str, gib: int) -> None:
    def program() -> None:
        args = LustreCacheArgs(network=NETWORK, namespace="dynamo", size=size, throughput=250)
        LustreCache("model-cache", args)

    recorder = deploy(program)
    file_system = named(recorder, "model-cache", "lustreFileSystem:LustreFileSystem").inputs
    assert file_system["storageCapacity"] == gib
    assert file_system["subnetIds"] == "subnet-a"
    volume = named(recorder, "model-cache-dynamo", ":PersistentVolume").inputs["spec"]
    assert volume["csi"]["volumeHandle"] == "model-cache-id"
    assert volume["claimRef"] == {"namespace": "dynamo", "name": "model-cache"}


def test_lustre_clients_and_servers_reach_each_other() -> None:
    def program() -> None:
        args = LustreCacheArgs(network=NETWORK, namespace="dynamo", size="100Gi", throughput=250)
        LustreCache("model-cache", args)

    rules = [r for r in deploy(program).recorded if "SecurityGroup" in r.type and r.type.endswith("Rule")]
    ports = {(r.inputs["fromPort"], r.inputs["toPort"]) for r in rules}
    assert ports == {(988, 988), (1018, 1023)}
    nodes = [r for r in rules if r.inputs["referencedSecurityGroupId"] == "sg-nodes"]
    assert len(nodes) == 2
    assert all(r.type.endswith("IngressRule") for r in nodes)


def test_prometheus_is_a_pinned_file_in_a_namespace_of_its_own() -> None:
    def program() -> None:
        wanted = Release(chart=KUBE_PROMETHEUS_STACK, values={"fullnameOverride": "p"})
        Monitoring("monitoring", MonitoringArgs(release=wanted))

    recorder = deploy(program)
    namespace = named(recorder, "monitoring", ":Namespace")
    release = named(recorder, "kube-prometheus-stack", ":Release")
    assert release.dependencies == (namespace.urn,)
    assert release.inputs["chart"].endswith(f"/kube-prometheus-stack-{KUBE_PROMETHEUS_STACK.version}.tgz")
    assert release.inputs["values"] == {"fullnameOverride": "p"}


def test_what_is_watched_is_written_as_it_is_rendered() -> None:
    monitors, dashboards = pod_monitors([], "dynamo", {}), config_map("dynamo", {"a.json": "{}\n"})

    recorder = deploy(lambda: held(objects.named([*monitors, dashboards])))
    for manifest in monitors:
        assert named(recorder, manifest["metadata"]["name"]).inputs == manifest
    assert named(recorder, "dynamo-gpt-oss-dashboards", ":ConfigMap").inputs["data"] == {"a.json": "{}\n"}


def public(existing_secret: str | None = None, **more: Any) -> Callable[[], None]:
    args: dict[str, Any] = {
        "namespace": "dynamo",
        "graph": "gpt-oss-disagg",
        "host": "llm.example.com",
        "gateway_namespace": "envoy",
        "gateway": "public",
        "listener": "https",
    }

    def program() -> None:
        keys = {} if existing_secret else {"ci": pulumi.Output.secret("sk-1")}
        made = manifests(Route(**args | more), keys, existing_secret)
        held(made, one_after_another=True, results={"endpoint": "https://llm.example.com/v1"})

    return program


def test_no_route_is_open_before_keys_are_asked_for() -> None:
    recorder = deploy(public())
    route, policy = (
        named(recorder, "openai-api", ":HTTPRoute"),
        named(recorder, "openai-api-keys", ":SecurityPolicy"),
    )
    keys = named(recorder, "openai-api-keys", ":Secret")
    assert route.dependencies == (policy.urn,)
    assert policy.dependencies == (keys.urn,)
    (target,) = policy.inputs["spec"]["targetRefs"]
    assert (target["kind"], target["name"]) == ("HTTPRoute", route.inputs["metadata"]["name"])
    (credentials,) = policy.inputs["spec"]["apiKeyAuth"]["credentialRefs"]
    assert credentials["name"] == keys.inputs["metadata"]["name"]
    assert keys.inputs["stringData"] == Secret({"ci": "sk-1"})
    assert "sk-1" not in repr(keys)


def test_only_the_openai_api_is_reached_and_only_over_tls() -> None:
    recorder = deploy(public())
    spec = named(recorder, "openai-api", ":HTTPRoute").inputs["spec"]
    assert spec["parentRefs"] == [{"name": "public", "namespace": "envoy", "sectionName": "https"}]
    (rule,) = spec["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/v1"}}]
    assert rule["backendRefs"] == [{"name": "gpt-oss-disagg-frontend", "port": 8000}]
    assert recorder.registered_outputs["some"] == {"endpoint": "https://llm.example.com/v1"}


def test_what_a_picker_routes_goes_to_the_pool_under_the_same_keys() -> None:
    recorder = deploy(public(inference_extension=True))
    route = named(recorder, "openai-api", ":HTTPRoute").inputs
    picked, rest = route["spec"]["rules"]
    assert picked["matches"] == [{"path": {"type": "Exact", "value": "/v1/chat/completions"}}]
    pool = {"kind": "InferencePool", "name": "gpt-oss-disagg-pool", "port": 8000}
    assert picked["backendRefs"] == [{"group": "inference.networking.k8s.io", **pool}]
    assert rest["matches"] == [{"path": {"type": "PathPrefix", "value": "/v1"}}]
    assert rest["backendRefs"] == [{"name": "gpt-oss-disagg-frontend", "port": 8000}]
    assert picked["timeouts"] == rest["timeouts"] == {"request": "0s"}
    (target,) = named(recorder, "openai-api-keys", ":SecurityPolicy").inputs["spec"]["targetRefs"]
    assert target == {
        "group": "gateway.networking.k8s.io",
        "kind": "HTTPRoute",
        "name": route["metadata"]["name"],
    }


class WithPools(Deployed):
    """A cluster whose InferencePool API is in some versions."""

    versions: tuple[str, ...] = ()

    def ReadResource(self, request: Any) -> Any:  # noqa: N802 the protocol's name
        response = super().ReadResource(request)
        if request.id == "inferencepools.inference.networking.k8s.io":
            served = [{"name": version, "served": True} for version in self.versions]
            response.properties.update({"spec": {"versions": [*served, {"name": "v2", "served": False}]}})
        return response


def test_the_pools_api_is_read_and_not_managed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WithPools, "versions", ("v1alpha2", "v1"))
    monkeypatch.setattr("tests.components.recording.Deployed", WithPools)
    recorder = deploy(lambda: void(InferenceExtension("inference-extension")))
    assert named(recorder, "inferencepools.inference.networking.k8s.io").read
    assert recorder.registered_outputs["inference-extension"] == {"version": "v1"}


def test_a_pools_api_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WithPools, "versions", ("v1alpha2",))
    monkeypatch.setattr("tests.components.recording.Deployed", WithPools)
    with pytest.raises(pulumi.RunError) as error:
        deploy(lambda: void(InferenceExtension("inference-extension")))
    assert str(error.value) == (
        "dynamo-gpt-oss:ingress.inferenceExtension: true needs inferencepools.inference.networking.k8s.io in v1, but "
        "the cluster serves v1alpha2; upgrade the Gateway API Inference Extension"
    )


def test_keys_that_are_there_are_used_and_not_managed() -> None:
    recorder = deploy(public(existing_secret="theirs"))
    assert not [r for r in recorder.recorded if r.type.endswith(":Secret")]
    policy = named(recorder, "openai-api-keys", ":SecurityPolicy").inputs["spec"]
    assert [c["name"] for c in policy["apiKeyAuth"]["credentialRefs"]] == ["theirs"]


def test_images_are_pulled_by_pods_that_take_no_gpu() -> None:
    made = plan()
    recorder = deploy(lambda: held(objects.named(daemon_sets([made, made], "dynamo"))))
    daemon_set = named(recorder, "image-pull", ":DaemonSet").inputs
    pod = daemon_set["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == made.image.reference
    assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert "nvidia.com/gpu" not in str(container["resources"])
    assert pod["nodeSelector"] == {"node.kubernetes.io/instance-type": "p6-b200.48xlarge"}
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert daemon_set["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"


def void(_: object) -> None:
    """Programs return nothing."""


def test_a_question_to_the_profiler_is_one_object_that_is_not_waited_for() -> None:
    question = Sizing(ttft=2.0, itl=0.03, isl=8192, osl=1024)

    asked = sizing_request(question, plan(), "dynamo", Version(1, 6, 1))
    request = named(deploy(lambda: held([objects.Named("sizing", asked)])), "sizing")
    assert request.type.endswith(":DynamoGraphDeploymentRequest")
    assert "annotations" not in request.inputs["metadata"]


def test_objects_are_under_a_component_of_the_type_that_the_stack_knows() -> None:
    made = objects.config_map("a", "dynamo", {"k": "v"})
    recorder = deploy(lambda: held([objects.Named("other", made)], component="Watch", results={"name": "a"}))
    component = named(recorder, "some", ":Watch")
    config_map = named(recorder, "other", ":ConfigMap")
    assert config_map.parent == component.urn
    assert config_map.inputs["metadata"] == made["metadata"]
    assert recorder.registered_outputs["some"] == {"name": "a"}


@pytest.mark.parametrize(
    ("manifest", "kind"),
    [
        (objects.manifest("batch/v1", "Job", "a", "b", spec={}), "kubernetes:batch/v1:Job"),
        (
            objects.manifest("keda.sh/v1alpha1", "ScaledObject", "a", "b", spec={}),
            "kubernetes:keda.sh/v1alpha1:ScaledObject",
        ),
        (efs_storage_class("fs-1"), "kubernetes:storage.k8s.io/v1:StorageClass"),
    ],
)
def test_an_object_is_written_as_it_is_rendered(manifest: dict[str, Any], kind: str) -> None:
    made = named(deploy(lambda: held(objects.named([manifest]))), manifest["metadata"]["name"])
    assert made.type == kind
    assert made.inputs == manifest
