"""A GPT-OSS graph: the DynamoGraphDeployment, and the engine files and the script that its workers read."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pulumi

from components.graph.graph import Graph
from components.manifests import rendered, resource
from manifests.cache import compiled, local_copy
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

    graph: Graph
    """The graph."""
    namespace: pulumi.Input[str]
    """Its namespace, which the model cache is in too."""
    image: pulumi.Input[str] | None = None
    """What its pods run instead of the published image."""
    claim: pulumi.Input[str] | None = None
    """The claim that holds the models, as `claimName` of a ModelCache; by default the usual one."""


class InferenceGraph(pulumi.ComponentResource):
    """The graph; ready when the operator says so."""

    name: pulumi.Output[str]
    """Name of the DynamoGraphDeployment, once it is ready."""
    endpoint: pulumi.Output[str]
    """URL of the OpenAI API inside the cluster, once it answers."""

    def __init__(
        self, name: str, args: InferenceGraphArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:InferenceGraph", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        plan = args.graph.plan
        made = rendered(partial(_objects, plan), args.namespace, args.claim)
        needed = [resource(each, child) for each in made["needed"]]
        needed += [resource(each, child, f"{plan.name}-compute-domain") for each in made["domains"]]
        for budget in made["budgets"]:
            resource(budget, child)
        manifest = made["graph"]
        if args.image is not None:
            manifest["spec"] = _with_image(manifest["spec"], plan.image.reference, args.image)
        graph = self._graph(name, manifest, needed)
        service = frontend_service(plan.name)
        self.name = graph.urn.apply(lambda _: plan.name)
        self.endpoint = pulumi.Output.all(args.namespace, self.name).apply(
            lambda known: f"http://{service}.{known[0]}.svc:{HTTP_PORT}"
        )
        self.register_outputs({"name": self.name, "endpoint": self.endpoint})

    def _graph(
        self, name: str, manifest: dict[str, Any], needed: Sequence[pulumi.Resource]
    ) -> pulumi.Resource:
        return resource(
            manifest,
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


def _objects(plan: GraphPlan, namespace: str, claim: str | None) -> dict[str, Any]:
    """Every object of the graph. claim: that holds the models, None for the plan's."""
    if claim is not None:
        plan = replace(plan, cache=replace(plan.cache, claim=claim))
    graph = graph_deployment(plan, namespace)
    seconds = _PULL_SECONDS + rounds(plan) * _LOAD_SECONDS
    # Without READY the update ends as soon as the object is stored, ready or not.
    waited = {TOPOLOGY_ANNOTATION: topology(graph), **READY, "pulumi.com/timeoutSeconds": str(seconds)}
    return {
        "needed": [*_engine_files(plan, namespace), *_scripts(plan, namespace)],
        "domains": [compute_domain(plan, namespace)] if plan.needs_compute_domain else [],
        "budgets": budgets(plan, namespace),
        "graph": annotate(graph, waited),
    }


def _engine_files(plan: GraphPlan, namespace: str) -> list[dict[str, Any]]:
    files = engine_files(plan)
    return [config_map(engine_config_map(plan.name), namespace, files)] if files else []


def _scripts(plan: GraphPlan, namespace: str) -> list[dict[str, Any]]:
    copies = [local_copy.script_config_map(plan, namespace)]
    return [
        *([compiled.script_config_map(plan, namespace)] if compiled.is_kept(plan) else []),
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
