"""Any objects on a cluster, as one component."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pulumi

from components.charts import Release, release_in_own_namespace
from components.manifests import resource
from manifests.objects import Named


@dataclass(frozen=True, kw_only=True)
class KubernetesObjectsArgs:
    """What the component holds."""

    objects: Sequence[Named] = ()
    """In the order in which they are made. Values in their manifests may be Outputs."""
    release: Release | None = None
    """A chart, in a namespace of its own, that brings the objects' kinds and so comes first."""
    one_after_another: bool = False
    """Whether each object waits for the one before it."""
    results: Mapping[str, str] = field(default_factory=dict)
    """Outputs of the component, which nobody has before every object is there."""
    component: str = "KubernetesObjects"
    """Type by which the stack knows it: a type that has changed would make its objects anew."""


class KubernetesObjects(pulumi.ComponentResource):
    """Any objects on a cluster, as one component; there once each of them is."""

    results: dict[str, pulumi.Output[str]]

    def __init__(
        self, name: str, args: KubernetesObjectsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(f"dynamo-gpt-oss:index:{args.component}", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        made: list[pulumi.Resource] = []
        needed = [release_in_own_namespace(args.release, child)] if args.release else []
        for each in args.objects:
            after = made[-1:] if args.one_after_another else []
            options = pulumi.ResourceOptions(parent=self, depends_on=[*needed, *after])
            made.append(resource(each.manifest, options, each.name))
        there = pulumi.Output.all(*(each.urn for each in made))
        self.results = {key: there.apply(partial(_known, value)) for key, value in args.results.items()}
        self.register_outputs(self.results)


def _known(value: str, _: object) -> str:
    return value
