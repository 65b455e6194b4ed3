"""A GPT-OSS graph: the DynamoGraphDeployment, and the engine files and the script that its workers read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from components.manifests import resource
from manifests.cache import local_copy
from manifests.graph import worker_pod
from manifests.graph.compute_domain import compute_domain
from manifests.graph.deployment import graph_deployment
from manifests.graph.disruption import budgets
from manifests.graph.rolling import rounds
from manifests.graph.topology import TOPOLOGY_ANNOTATION, topology
from manifests.graph.workers import engine_files
from manifests.names import HTTP_PORT, engine_config_map, frontend_service
from manifests.objects import READY, annotate, config_map
from targets.plan import GraphPlan

_PULL_SECONDS = 30 * 60
"""Of an image of 20 GB and more, with room."""
_LOAD_SECONDS = 60 * 60
"""What the probes allow."""


@dataclass(frozen=True, kw_only=True)
class InferenceGraphArgs:
    """The graph, and where it runs."""

    plan: GraphPlan
    namespace: str
    image: pulumi.Input[str] | None = None
    """What its pods run instead of the plan's image."""


class InferenceGraph(pulumi.ComponentResource):
    """The graph; ready when the operator says so."""

    name: pulumi.Output[str]
    endpoint: pulumi.Output[str]
    """URL of the OpenAI API inside the cluster."""

    def __init__(
        self, name: str, args: InferenceGraphArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:InferenceGraph", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        needed = [resource(each, child) for each in (*_engine_files(args), *_scripts(args))]
        if args.plan.needs_compute_domain:
            domain = compute_domain(args.plan, args.namespace)
            needed.append(resource(domain, child, f"{args.plan.name}-compute-domain"))
        for budget in budgets(args.plan, args.namespace):
            resource(budget, child)
        graph = self._graph(name, args, needed)
        service = frontend_service(args.plan.name)
        self.name = graph.urn.apply(lambda _: args.plan.name)
        self.endpoint = self.name.apply(lambda _: f"http://{service}.{args.namespace}.svc:{HTTP_PORT}")
        self.register_outputs({"name": self.name, "endpoint": self.endpoint})

    def _graph(
        self, name: str, args: InferenceGraphArgs, needed: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        manifest = graph_deployment(args.plan, args.namespace)
        # The shape is told from the plan: whether an image is known yet changes nothing about it.
        shape = topology(manifest)
        if args.image is not None:
            manifest["spec"] = _with_image(manifest["spec"], args.plan.image.reference, args.image)
        seconds = _PULL_SECONDS + rounds(args.plan) * _LOAD_SECONDS
        # Without READY the update ends as soon as the object is stored, ready or not.
        waited = {TOPOLOGY_ANNOTATION: shape, **READY, "pulumi.com/timeoutSeconds": str(seconds)}
        return resource(
            annotate(manifest, waited),
            pulumi.ResourceOptions(
                parent=self,
                depends_on=list(needed),
                # Both API versions are one object: without the alias a graph that changes its version would be made,
                # and then deleted as what is left of the other.
                aliases=[pulumi.Alias(type_=_other_type(manifest["apiVersion"]))],
                # A successor needs the GPUs that its predecessor holds.
                delete_before_replace=True,
                replace_on_changes=[f'metadata.annotations["{TOPOLOGY_ANNOTATION}"]'],
            ),
            name,
        )


def _engine_files(args: InferenceGraphArgs) -> list[dict[str, Any]]:
    files = engine_files(args.plan)
    return [config_map(engine_config_map(args.plan.name), args.namespace, files)] if files else []


def _scripts(args: InferenceGraphArgs) -> list[dict[str, Any]]:
    plan, namespace = args.plan, args.namespace
    copies = [local_copy.script_config_map(plan, namespace)]
    return [
        *(copies if plan.copied_weights and not plan.cache.from_bucket else []),
        *([worker_pod.script_config_map(plan, namespace)] if plan.in_one_pod else []),
    ]


def _other_type(api_version: str) -> str:
    """Pulumi's type of graphs in the API version that is not the given one."""
    other = "v1alpha1" if api_version.endswith("v1beta1") else "v1beta1"
    return f"kubernetes:nvidia.com/{other}:DynamoGraphDeployment"


def _with_image(spec: Any, published: str, image: pulumi.Input[str]) -> Any:
    """The spec with that image in place of the published one; endpoint picker and Planner keep their own."""
    if isinstance(spec, list):
        return [_with_image(item, published, image) for item in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        key: image if key == "image" and value == published else _with_image(value, published, image)
        for key, value in spec.items()
    }
