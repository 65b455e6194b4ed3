"""The ComputeDomain through which workers on GB200 reach each other's memory over NVLink. Pure.

Source: NVIDIA's DRA driver (resource.nvidia.com/v1beta1); one ComputeDomain per workload.
"""

from typing import Any

from manifests.objects import manifest
from targets.plan import GraphPlan

CLAIM = "compute-domain-channel"
"""Name of the claim inside a pod."""


def claim_template(graph: str) -> str:
    """The ResourceClaimTemplate that the driver makes for the domain."""
    return f"{graph}-{CLAIM}"


def compute_domain(plan: GraphPlan, namespace: str) -> dict[str, Any]:
    """The ComputeDomain of a graph, over the nodes of its worker.

    0 lets the domain follow its pods (driver 25.8.0 and later): how many nodes several workers share is the
    scheduler's choice.
    """
    spec = {
        "numNodes": 0 if plan.target.disaggregated else plan.workers[0].nodes,
        "channel": {"resourceClaimTemplate": {"name": claim_template(plan.name)}},
    }
    return manifest("resource.nvidia.com/v1beta1", "ComputeDomain", plan.name, namespace, spec=spec)


def pod_claim(plan: GraphPlan) -> dict[str, str]:
    """The pod's claim on a channel of the domain."""
    return {"name": CLAIM, "resourceClaimTemplateName": claim_template(plan.name)}
