"""By what a stack is deployed: Pulumi's CLI, or kubectl alone on the embedded cluster."""

from pathlib import Path

from embedded.paths import STATE
from graphs.kubectl import Kubectl
from ops.deploy.apply import applied
from ops.pulumi import automation
from ops.stack.stack import Stack
from targets.errors import UserError


class DestinationError(UserError):
    """The stack cannot be deployed from here; the message says what to do."""


def is_through_pulumi(stack: Stack, kubectl: Kubectl, state: Path) -> bool:
    """Whether Pulumi deploys to the embedded cluster: as what is there was deployed, else if there is a CLI.

    Raises DestinationError if Pulumi did and its CLI is gone.
    """
    if stack.own_nodes or state != STATE:
        return False
    if automation.EMBEDDED_BACKEND.exists():
        if not automation.available():
            raise DestinationError(
                f"--stack: {stack.name} was deployed through a Pulumi CLI, and none is on PATH now; "
                "put it back and run the verb again"
            )
        return True
    return automation.available() and not applied(kubectl, stack.namespace, stack.name)


def require_pulumi(stack: Stack) -> None:
    """Raise DestinationError without a CLI, for a stack that is for no embedded cluster."""
    if not automation.available():
        raise DestinationError(
            f"--stack: {stack.name} is for a cluster of kind {stack.plan.cluster.kind}, which takes a Pulumi CLI, "
            f"and none is on PATH; {automation.HOW_TO_GET_PULUMI}"
        )
