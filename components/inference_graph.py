"""A GPT-OSS graph: the DynamoGraphDeployment, and the engine files and the script that its workers read."""

from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import config_map, custom_resource
from graphs import local_copy, worker_pod
from graphs.compute_domain import compute_domain
from graphs.deployment import engine_files, graph_deployment
from graphs.disruption import budgets
from graphs.names import HTTP_PORT, MANAGED_BY, engine_config_map, frontend_service
from graphs.rolling import rounds
from graphs.topology import TOPOLOGY_ANNOTATION, topology
from targets.plan import GraphPlan

_PULL_SECONDS = 30 * 60
"""Of an image of 20 GB and more, with room."""
_LOAD_SECONDS = 60 * 60
"""What the probes allow."""


@dataclass(frozen=True, kw_only=True)
class InferenceGraphArgs:
    """plan: the resolved graph. namespace: where it runs. image: what its pods run instead of the plan's image."""

    plan: GraphPlan
    namespace: str
    image: pulumi.Input[str] | None = None


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
        needed = [
            *self._engine_files(args, child),
            *self._scripts(args, child),
            *self._compute_domain(args, child),
        ]
        self._disruption_budgets(args, child)
        graph = self._graph(name, args, needed)
        service = frontend_service(args.plan.name)
        self.name = graph.urn.apply(lambda _: args.plan.name)
        self.endpoint = self.name.apply(lambda _: f"http://{service}.{args.namespace}.svc:{HTTP_PORT}")
        self.register_outputs({"name": self.name, "endpoint": self.endpoint})

    @staticmethod
    def _engine_files(args: InferenceGraphArgs, child: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        files = engine_files(args.plan)
        if not files:
            return []
        name = engine_config_map(args.plan.name)
        metadata = {"name": name, "namespace": args.namespace, "labels": dict(MANAGED_BY)}
        return [config_map({"metadata": metadata, "data": files}, child)]

    @staticmethod
    def _scripts(args: InferenceGraphArgs, child: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        scripts = []
        if args.plan.copied_weights and not args.plan.from_bucket:
            scripts.append(local_copy.script_config_map(args.plan, args.namespace))
        if args.plan.in_one_pod:
            scripts.append(worker_pod.script_config_map(args.plan, args.namespace))
        return [config_map(script, child) for script in scripts]

    @staticmethod
    def _compute_domain(args: InferenceGraphArgs, child: pulumi.ResourceOptions) -> list[pulumi.Resource]:
        if not args.plan.needs_compute_domain:
            return []
        manifest = compute_domain(args.plan, args.namespace)
        return [custom_resource(f"{args.plan.name}-compute-domain", manifest, child)]

    @staticmethod
    def _disruption_budgets(args: InferenceGraphArgs, child: pulumi.ResourceOptions) -> None:
        for budget in budgets(args.plan, args.namespace):
            kubernetes.policy.v1.PodDisruptionBudget(
                budget["metadata"]["name"], metadata=budget["metadata"], spec=budget["spec"], opts=child
            )

    def _graph(
        self, name: str, args: InferenceGraphArgs, needed: list[pulumi.Resource]
    ) -> kubernetes.apiextensions.CustomResource:
        manifest = graph_deployment(args.plan, args.namespace)
        # The shape is told from the plan: whether an image is known yet changes nothing about it.
        shape = topology(manifest)
        if args.image is not None:
            manifest["spec"] = _with_image(manifest["spec"], args.plan.image, args.image)
        manifest["metadata"]["annotations"] = {
            **manifest["metadata"].get("annotations", {}),
            TOPOLOGY_ANNOTATION: shape,
            # Without it the update ends as soon as the object is stored, ready or not.
            "pulumi.com/waitFor": "condition=Ready",
            "pulumi.com/timeoutSeconds": str(_PULL_SECONDS + rounds(args.plan) * _LOAD_SECONDS),
        }
        return custom_resource(
            name,
            manifest,
            pulumi.ResourceOptions(
                parent=self,
                depends_on=needed,
                # Both API versions are one object: without the alias a graph that changes its version would be made,
                # and then deleted as what is left of the other.
                aliases=[pulumi.Alias(type_=_other_type(manifest["apiVersion"]))],
                # A successor needs the GPUs that its predecessor holds.
                delete_before_replace=True,
                replace_on_changes=[f'metadata.annotations["{TOPOLOGY_ANNOTATION}"]'],
            ),
        )


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
