"""What the operator stand-in's webhook refuses."""

from typing import Any

import pytest

from embedded import admission
from embedded.operator.platform import Platform
from targets.releases import Version
from tests.embedded.example_graphs import Graph, alpha, beta, changed

PLATFORM = Platform(version=Version(1, 6, 1))
WITH_GROVE = Platform(version=Version(1, 6, 1), grove=True)
PROVIDER = "nvidia.com/workload-provider"
GROVE_OFF = {"nvidia.com/enable-grove": "false"}
DECODE = "spec/services/TrtllmDecodeWorker"
SCALED = (
    "cannot be modified directly when scaling adapter is enabled; scale or update the related "
    "DynamoGraphDeploymentScalingAdapter instead"
)
EXECUTOR = "nvidia.com/vllm-distributed-executor-backend"


@pytest.mark.parametrize("graph", [alpha(), beta()], ids=["v1alpha1", "v1beta1"])
def test_the_published_graph_is_good(graph: Graph) -> None:
    assert admission.violations(graph, PLATFORM) == []
    assert admission.violations(graph, PLATFORM, graph) == []
    assert admission.warnings(graph) == []


@pytest.mark.parametrize(
    ("graph", "path", "value", "sentence"),
    [
        (alpha(), "spec/services", {}, "spec.services must have at least one component"),
        (beta(), "spec/components", [], "spec.components must have at least one component"),
        (
            alpha(),
            f"{DECODE}/multinode",
            {"nodeCount": 2},
            (
                "spec.services[TrtllmDecodeWorker]: combined resource name length 48 exceeds the 45-character "
                "pod-name limit; shorten the component's name 'TrtllmDecodeWorker'"
            ),
        ),
        (
            alpha(),
            f"{DECODE}/extraPodSpec/mainContainer/image",
            None,
            "spec.services[TrtllmDecodeWorker].extraPodSpec.mainContainer.image is required",
        ),
        (
            beta(),
            "spec/components/1/podTemplate/spec/containers/0/image",
            None,
            "spec.components[TrtllmPrefillWorker].podTemplate.spec.containers[main].image is required",
        ),
        (
            alpha(),
            f"{DECODE}/extraPodSpec/mainContainer/image",
            "registry:5000/tensorrtllm-runtime:my-tag",
            (
                "spec.services[TrtllmDecodeWorker].runtimeVersionOverride is required when the specified Dynamo "
                "runtime container image has no parseable semantic-version tag: "
                "registry:5000/tensorrtllm-runtime:my-tag"
            ),
        ),
        (
            beta(),
            "spec/components/1/type",
            "epp",
            (
                "spec.components[TrtllmPrefillWorker]: type epp needs the InferencePool API, which this cluster does "
                "not serve"
            ),
        ),
        (
            beta(),
            "spec/components/1/sharedMemorySize",
            "-1Gi",
            "spec.components[TrtllmPrefillWorker].sharedMemorySize must be non-negative, not -1Gi",
        ),
        (
            beta(),
            "spec/components/1/frontendSidecar",
            "side",
            (
                "spec.components[TrtllmPrefillWorker].frontendSidecar must match a podTemplate.spec.containers name "
                "(main), not 'side'"
            ),
        ),
        (
            alpha(),
            f"{DECODE}/volumeMounts",
            [{"name": "model-cache"}],
            (
                "spec.services[TrtllmDecodeWorker].volumeMounts[0].mountPoint is required when useAsCompilationCache "
                "is false"
            ),
        ),
        (alpha(), "spec/pvcs", [{"name": ""}], "spec.pvcs[0].name is required"),
        (
            alpha(),
            f"{DECODE}/annotations",
            {EXECUTOR: "dask"},
            f"spec.services[TrtllmDecodeWorker].annotations[{EXECUTOR}] must be one of mp, ray, not 'dask'",
        ),
        (
            alpha(),
            "metadata/annotations",
            {"nvidia.com/dynamo-kube-discovery-mode": "node"},
            "metadata.annotations[nvidia.com/dynamo-kube-discovery-mode] must be one of pod, container, not 'node'",
        ),
        (
            alpha(),
            "metadata/annotations",
            {"nvidia.com/dynamo-operator-origin-version": "latest"},
            "metadata.annotations[nvidia.com/dynamo-operator-origin-version] must be semver, not 'latest'",
        ),
        (
            alpha(),
            "spec/restart",
            {"id": "1", "strategy": {"type": "Parallel", "order": ["Frontend"]}},
            "spec.restart.strategy.order cannot be set when type is Parallel",
        ),
        (
            alpha(),
            "spec/restart",
            {"id": "1", "strategy": {"order": ["Frontend"]}},
            (
                "spec.restart.strategy.order must name every component once "
                "(Frontend, TrtllmDecodeWorker, TrtllmPrefillWorker), not ['Frontend']"
            ),
        ),
        (
            changed(alpha(), "metadata/annotations", GROVE_OFF),
            f"{DECODE}/minAvailable",
            1,
            "spec.services[TrtllmDecodeWorker].minAvailable is currently supported only for Grove-backed components",
        ),
        (
            changed(alpha(), "metadata/annotations", GROVE_OFF),
            "spec/priorityClassName",
            "high",
            "spec.priorityClassName requires the Grove pathway, and the graph goes to Deployments",
        ),
    ],
)
def test_refused_on_create(graph: Graph, path: str, value: Any, sentence: str) -> None:
    switched_off = "enable-grove" in str(graph)
    platform = WITH_GROVE if switched_off or "pod-name limit" in sentence else PLATFORM
    assert sentence in admission.violations(changed(graph, path, value), platform)


@pytest.mark.parametrize("tag", ["1.3.1", "v1.3.1", "1.1.1-efa-amd64", "1.6.0+cuda13"])
def test_a_semantic_version_tag_is_enough(tag: str) -> None:
    graph = changed(alpha(), f"{DECODE}/extraPodSpec/mainContainer/image", f"registry:5000/runtime:{tag}")
    assert admission.violations(graph, PLATFORM) == []


@pytest.mark.parametrize("image", ["runtime:latest", "runtime", "runtime@sha256:1", "registry:5000/runtime"])
def test_an_override_stands_in_for_the_tag(image: str) -> None:
    graph = changed(alpha(), f"{DECODE}/extraPodSpec/mainContainer/image", image)
    assert len(admission.violations(graph, PLATFORM)) == 1
    assert admission.violations(changed(graph, f"{DECODE}/runtimeVersionOverride", "1.3.1"), PLATFORM) == []


def test_an_init_container_named_runtime_may_give_the_image() -> None:
    graph = changed(alpha(), f"{DECODE}/extraPodSpec/mainContainer/image", None)
    runtime = [{"name": "runtime", "image": "runtime:1.3.1"}]
    assert (
        admission.violations(changed(graph, f"{DECODE}/extraPodSpec/initContainers", runtime), PLATFORM) == []
    )


def test_grove_allows_what_needs_it() -> None:
    graph = changed(
        changed(alpha("g"), f"{DECODE}/multinode", {"nodeCount": 2}), "spec/priorityClassName", "high"
    )
    assert admission.violations(changed(graph, f"{DECODE}/minAvailable", 1), WITH_GROVE) == []


@pytest.mark.parametrize(
    ("graph", "path", "value", "sentence"),
    [
        (
            alpha(),
            DECODE,
            None,
            (
                "component topology is immutable and cannot be modified after creation: "
                "added none, removed TrtllmDecodeWorker"
            ),
        ),
        (
            alpha(),
            "spec/backendFramework",
            "vllm",
            "spec.backendFramework is immutable and cannot be changed after creation: trtllm to vllm",
        ),
        (
            changed(alpha(), "spec/backendFramework"),
            "spec/backendFramework",
            "trtllm",
            "spec.backendFramework is immutable and cannot be changed after creation: None to trtllm",
        ),
        (
            changed(alpha(), "metadata/annotations", {PROVIDER: "component"}),
            "metadata/annotations",
            {PROVIDER: "grove"},
            "metadata.annotations[nvidia.com/workload-provider] is immutable: component to grove",
        ),
        (
            beta("g"),
            "spec/components/1/multinode",
            {"nodeCount": 2},
            (
                "spec.components[TrtllmPrefillWorker] cannot change node topology between single-node and multi-node "
                "after creation"
            ),
        ),
        (
            changed(alpha(), f"{DECODE}/scalingAdapter", {"enabled": True}),
            f"{DECODE}/replicas",
            2,
            f"spec.services[TrtllmDecodeWorker].replicas {SCALED}",
        ),
        (
            changed(beta(), "spec/components/1/scalingAdapter", {}),
            "spec/components/1/replicas",
            2,
            f"spec.components[TrtllmPrefillWorker].replicas {SCALED}",
        ),
    ],
)
def test_refused_on_update(graph: Graph, path: str, value: Any, sentence: str) -> None:
    assert admission.violations(changed(graph, path, value), PLATFORM, graph) == [sentence]


def test_the_operator_alone_may_scale_what_has_an_adapter() -> None:
    graph = changed(alpha(), f"{DECODE}/scalingAdapter", {"enabled": True})
    assert (
        admission.violations(changed(graph, f"{DECODE}/replicas", 2), PLATFORM, graph, by_operator=True) == []
    )


def test_replicas_may_change_without_the_adapter() -> None:
    assert admission.violations(changed(alpha(), f"{DECODE}/replicas", 2), PLATFORM, alpha()) == []


def test_an_ignored_field_is_a_warning() -> None:
    assert admission.warnings(changed(alpha(), f"{DECODE}/dynamoNamespace", "mine")) == [
        (
            "spec.services[TrtllmDecodeWorker].dynamoNamespace is deprecated and ignored: "
            "the namespace is default-gpt-oss-disagg"
        )
    ]


@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(
            changed(alpha(), "metadata/annotations", {EXECUTOR: "RAY"}), id="executor backend in capitals"
        ),
        pytest.param(
            changed(alpha(), f"{DECODE}/annotations", {EXECUTOR: "Ray"}), id="a component's executor backend"
        ),
        pytest.param(
            changed(alpha(), "metadata/annotations", {"nvidia.com/dynamo-operator-origin-version": "1.2"}),
            id="an origin version of two numbers",
        ),
        pytest.param(alpha("x" * 60), id="a name that makes pods' names too long"),
        pytest.param(beta("x" * 46), id="the same in v1beta1"),
    ],
)
def test_the_operator_admits(graph: Graph) -> None:
    for platform in (PLATFORM, WITH_GROVE):
        assert admission.violations(graph, platform) == []


def test_workers_that_span_nodes_are_admitted_where_nothing_can_start_them() -> None:
    graph = changed(alpha(), f"{DECODE}/multinode", {"nodeCount": 2})
    assert admission.violations(graph, PLATFORM) == []


@pytest.mark.parametrize("release", [Version(1, 2, 1), Version(1, 3, 1)])
def test_before_1_4_a_tag_need_not_say_the_version(release: Version) -> None:
    graph = changed(alpha(), f"{DECODE}/extraPodSpec/mainContainer/image", "runtime@sha256:1")
    assert admission.violations(graph, Platform(version=release)) == []
    assert len(admission.violations(graph, Platform(version=Version(1, 4)))) == 1


@pytest.mark.parametrize(("platform", "refused"), [(PLATFORM, 2), (WITH_GROVE, 0)])
def test_what_only_grove_heeds_is_refused_without_it(platform: Platform, refused: int) -> None:
    graph = changed(changed(alpha(), f"{DECODE}/minAvailable", 1), "spec/priorityClassName", "high")
    assert len(admission.violations(graph, platform)) == refused
