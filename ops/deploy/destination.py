"""By what a stack is deployed, and where its state is."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path

from pulumi.automation import Stack as PulumiStack

from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from manifests.kubectl import Kubectl, items
from manifests.names import MANAGED_BY, RETAINED
from ops.deploy.apply import STACK_LABEL
from ops.pulumi import automation
from ops.stack.stack import Stack
from targets.errors import UserError

_KINDS = "configmaps,persistentvolumeclaims,jobs,dynamographdeployments"


class DestinationError(UserError):
    """The stack cannot be deployed from here; the message says what to do."""


class Deployer(Enum):
    """Who deploys to the embedded cluster, and where the stack's state is."""

    KUBECTL = "kubectl; on the cluster itself"
    HOME = "Pulumi; in the cluster's folder, with which it ends"
    LOGIN = "Pulumi, by hand; where its CLI is logged in"


def deployer(stack: Stack, kubectl: Kubectl, state: Path) -> Deployer:
    """Who deploys a stack to the embedded cluster: as what is there was deployed, else Pulumi if there is a CLI.

    Raises DestinationError if Pulumi did and its CLI is gone.
    """
    if stack.own_nodes or state != STATE:
        return Deployer.KUBECTL
    labels = _labels(stack.namespace, kubectl)
    by_kubectl = any(each.get(STACK_LABEL) == stack.name for each in labels)
    by_pulumi = any(STACK_LABEL not in each for each in labels)
    if by_pulumi and not automation.available():
        raise DestinationError(
            f"--stack: {stack.name} was deployed through a Pulumi CLI, and none is on PATH now; "
            "put it back and run the verb again"
        )
    if by_kubectl or not automation.available():
        return Deployer.KUBECTL
    return Deployer.LOGIN if by_pulumi and not automation.is_at_home(stack.name) else Deployer.HOME


def open_on_embedded(
    stack: Stack, by: Deployer, opens: Callable[..., PulumiStack], report: Report
) -> PulumiStack:
    """The stack on the embedded cluster, in the backend that has its state. opens: open_stack or make_stack."""
    at_home = by is Deployer.HOME
    return opens(PROJECT, stack.name if at_home else stack.full_name, embedded=at_home, report=report)


def _labels(namespace: str, kubectl: Kubectl) -> list[dict[str, str]]:
    """Labels of the objects there that this project made, without what outlives its stack."""
    managed = ",".join(f"{key}={value}" for key, value in MANAGED_BY.items())
    passing = ",".join(f"{key}!={value}" for key, value in RETAINED.items())
    listed = kubectl(
        "get", _KINDS, f"--namespace={namespace}", f"--selector={managed},{passing}", "--output=json"
    )
    return [each["metadata"]["labels"] for each in items(listed)]


def require_pulumi(stack: Stack) -> None:
    """Raise DestinationError without a CLI, for a stack that is for no embedded cluster."""
    if not automation.available():
        raise DestinationError(
            f"--stack: {stack.name} is for a cluster of kind {stack.plan.cluster.kind}, which takes a Pulumi CLI, "
            f"and none is on PATH; {automation.HOW_TO_GET_PULUMI}"
        )
