"""Images on GPU nodes before the graphs ask for them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.image_pull import daemon_sets
from targets.plan import GraphPlan


@dataclass(frozen=True, kw_only=True)
class ImagePullArgs:
    """plans: whose images. namespace: where the DaemonSets live."""

    plans: Sequence[GraphPlan]
    namespace: str


class ImagePull(pulumi.ComponentResource):
    """A pull that starts with the node; made before the GPU pool, it waits for no node itself."""

    def __init__(self, name: str, args: ImagePullArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:ImagePull", name, None, opts)
        for manifest in daemon_sets(args.plans, args.namespace):
            # Without it an update would wait for 20 GB on every node before it goes on to the graphs.
            manifest["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
            kubernetes.apps.v1.DaemonSet(
                manifest["metadata"]["name"],
                metadata=manifest["metadata"],
                spec=manifest["spec"],
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.register_outputs({})
