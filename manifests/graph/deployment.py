"""A resolved graph as a DynamoGraphDeployment, in the API version that its Dynamo release serves. Pure."""

from typing import Any

from facts.engines import Engine
from facts.releases import graph_api_version
from manifests import objects  # fmt: skip
from manifests.cache import pod_cache
from manifests.graph import frontend, planner, probes, worker_pod
from manifests.graph.component import Asked, GraphComponent, container, environment, pod, v1alpha1, v1beta1
from manifests.graph.placement import cpu_affinity, frontend_affinity
from manifests.graph.workers import worker_component, workers_in_one_pod
from manifests.names import (
    VERSION_LABEL,
)  # fmt: skip
from manifests.services import inference_extension
from targets.parts import Planner
from targets.plan import GraphPlan


def graph_deployment(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The DynamoGraphDeployment of a graph."""
    api_version = graph_api_version(plan.version)
    components = [
        _frontend(plan),
        *([_endpoint_picker(plan)] if plan.frontend.inference_extension else []),
        *_workers(plan),
        *([_planner(plan, plan.operation.planner)] if plan.operation.planner else []),
    ]
    spec: dict[str, Any] = {}
    if plan.target.engine is not Engine.MOCKER:
        spec["backendFramework"] = plan.target.engine.value
    if api_version.endswith("v1alpha1"):
        spec["services"] = {component.name: v1alpha1(plan, component) for component in components}
    else:
        spec["components"] = [v1beta1(plan, component) for component in components]
    return objects.manifest(
        api_version,
        "DynamoGraphDeployment",
        plan.name,
        namespace,
        labels={VERSION_LABEL: str(plan.version)},
        annotations=worker_pod.DISCOVERY_ANNOTATION if plan.in_one_pod else None,
        spec=spec,
    )


def _workers(plan: GraphPlan) -> list[GraphComponent]:
    if plan.in_one_pod:
        return [workers_in_one_pod(plan)]
    return [worker_component(plan, planned) for planned in plan.workers]


def _frontend(plan: GraphPlan) -> GraphComponent:
    command, cache = frontend.command(plan), pod_cache.pod_cache(plan, weights=False)
    return GraphComponent(
        name="Frontend",
        kind="frontend",
        replicas=plan.frontend.replicas,
        pod=pod(
            plan,
            affinity=frontend_affinity(plan),
            volumes=cache.volumes,
            terminationGracePeriodSeconds=plan.operation.termination_grace_period_seconds,
            **cache.spec,
        ),
        container=container(
            plan.image.reference,
            command,
            env={**environment(plan, "frontend"), **command.env},
            mounts=cache.mounts,
            probes=probes.frontend(),
        ),
        asked=Asked(requests=plan.target.pods.frontend_requests),
    )


def _endpoint_picker(plan: GraphPlan) -> GraphComponent:
    """One, and without a command: its image and the operator know what to run. It reads prompts as a frontend does."""
    cache = pod_cache.pod_cache(plan, weights=False)
    return GraphComponent(
        name=inference_extension.PICKER,
        kind="epp",
        replicas=1,
        pod=pod(
            plan,
            affinity=cpu_affinity(plan),
            volumes=[*cache.volumes, inference_extension.scratch_volume()],
            **cache.spec,
        ),
        container=container(
            inference_extension.picker_image(plan),
            None,
            env={**environment(plan, "picker"), **inference_extension.picker_environment(plan)},
            mounts=[*cache.mounts, inference_extension.scratch_mount()],
            probes=probes.endpoint_picker(),
        ),
        asked=Asked(requests=plan.target.pods.frontend_requests),
    )


def _planner(plan: GraphPlan, planned: Planner) -> GraphComponent:
    return GraphComponent(
        name="Planner",
        kind="planner",
        replicas=1,
        pod=pod(plan, affinity=cpu_affinity(plan)),
        container=container(
            planner.image(plan),
            planner.command(plan, planned),
            env={"DYN_LOG": plan.operation.log_level},
            mounts=[],
            # Live from the start, ready once the workers are.
            probes=probes.worker(),
        ),
    )
