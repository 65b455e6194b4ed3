"""Whether a cluster has what a stack needs before anything is made: a storage class, and GPUs that are free."""

from manifests.kubectl import Kubectl
from ops.checks import cluster
from ops.checks.finding import Verdict
from ops.deploy.preflight import PreflightError
from ops.stack.stack import Stack


def check(stack: Stack, kubectl: Kubectl) -> None:
    """Raise PreflightError for what is missing, one sentence each. GPU nodes that the stack brings come later."""
    found = [*cluster.storage_class(stack.plan, kubectl)]
    if not stack.own_nodes:
        found += cluster.gpus(stack.plan, kubectl)
    wrong = [f"{each.about}: {each.text}" for each in found if each.verdict is Verdict.WRONG]
    if wrong:
        raise PreflightError("\n".join(wrong))
