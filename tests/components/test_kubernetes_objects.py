"""Lists of objects as one component: written as rendered, in their order, secrets kept secret."""

import base64
from collections.abc import Callable
from functools import partial
from typing import Any

import pulumi
import pytest

from components.charts import Release
from components.kubernetes_objects import KubernetesObjects, KubernetesObjectsArgs
from facts.releases import Version
from facts.versions import Chart
from manifests import objects
from manifests.cache.storage import efs_storage_class
from manifests.monitoring.dashboards import config_map
from manifests.monitoring.pod_monitors import pod_monitors
from manifests.services import secrets
from manifests.services.ingress import Route, manifests
from manifests.services.pre_pull import daemon_sets
from manifests.services.secrets import AwsSecret
from manifests.services.sizing import sizing_request
from ops.evaluate import Secret
from targets.sizing import Sizing
from tests.components.recording import deploy, held, named
from tests.plans import resolved

CHART = Chart(
    "dynamo-platform", "https://charts.example/dynamo-platform-{version}.tgz", "1.2.1", "dynamo-system"
)
HF = AwsSecret(name="tokens/hf", region="us-east-1", key="token")


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
        config = pulumi.Output.secret(objects.encode(secrets.docker_config("nvapi-1")))
        held(secrets.pull_secrets(["dynamo", "dynamo-system"], config, None, 60))

    made = [r for r in deploy(program).recorded if r.type.endswith(":Secret")]
    assert {r.inputs["metadata"]["namespace"] for r in made} == {"dynamo", "dynamo-system"}
    for secret in made:
        assert secret.inputs["type"] == "kubernetes.io/dockerconfigjson"
        assert isinstance(secret.inputs["data"], Secret)
        written = base64.b64decode(secret.inputs["data"].value[".dockerconfigjson"]).decode()
        assert '"username": "$oauthtoken", "password": "nvapi-1"' in written
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


def test_what_is_watched_is_written_as_it_is_rendered() -> None:
    monitors, dashboards = pod_monitors([], "dynamo", {}), config_map("dynamo", {"a.json": "{}\n"})

    recorder = deploy(lambda: held(objects.by_own_name([*monitors, dashboards])))
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
    assert keys.inputs["data"] == Secret({"ci": "sk-1"})
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


def test_keys_that_are_there_are_used_and_not_managed() -> None:
    recorder = deploy(public(existing_secret="theirs"))
    assert not [r for r in recorder.recorded if r.type.endswith(":Secret")]
    policy = named(recorder, "openai-api-keys", ":SecurityPolicy").inputs["spec"]
    assert [c["name"] for c in policy["apiKeyAuth"]["credentialRefs"]] == ["theirs"]


def test_images_are_pulled_by_pods_that_take_no_gpu() -> None:
    made = resolved()
    recorder = deploy(lambda: held(objects.by_own_name(daemon_sets([made, made], "dynamo"))))
    daemon_set = named(recorder, "image-pull", ":DaemonSet").inputs
    pod = daemon_set["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == made.image.reference
    assert container["env"] == [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    assert "nvidia.com/gpu" not in str(container["resources"])
    assert pod["nodeSelector"] == {"node.kubernetes.io/instance-type": "p6-b200.48xlarge"}
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert daemon_set["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"


def test_a_question_to_the_profiler_is_one_object_that_is_not_waited_for() -> None:
    question = Sizing(ttft=2.0, itl=0.03, isl=8192, osl=1024)

    asked = sizing_request(question, resolved(), "dynamo", Version(1, 6, 1))
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
    made = named(deploy(lambda: held(objects.by_own_name([manifest]))), manifest["metadata"]["name"])
    assert made.type == kind
    assert made.inputs == manifest


def token(existing: str | None = None, text: str | None = None) -> None:
    secret = None if text is None else pulumi.Output.secret(text)
    made = secrets.token("dynamo", secret, None, 60)
    args = KubernetesObjectsArgs(objects=made, results={"secretName": existing or "hf-token-secret"})
    KubernetesObjects("hugging-face", args)


def test_the_token_stays_a_secret() -> None:
    program = partial(token, text="hf_abc")
    secret = named(deploy(program), "hf-token-secret", ":Secret")
    assert secret.inputs["data"] == Secret({"HF_TOKEN": "hf_abc"})
    assert "hf_abc" not in repr(secret)


def test_an_existing_secret_does_not_come_into_the_state() -> None:
    recorder = deploy(partial(token, existing="theirs"))
    assert [resource.name for resource in recorder.recorded] == ["hugging-face"]
    assert recorder.registered_outputs["hugging-face"] == {"secretName": "theirs"}
