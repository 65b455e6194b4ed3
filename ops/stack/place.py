"""Where a stack is that was deployed: who put it on the embedded cluster need not say so again with each verb."""

import json

from embedded import cluster
from embedded.paths import PROJECT, STATE
from ops.deploy.apply import STACK_LABEL
from ops.pulumi import automation
from ops.pulumi.command import PulumiError
from ops.stack.stack import Stack, find
from targets.errors import UserError


class PlaceError(UserError):
    """A stack is in two places; the message says which, and how to name one."""


def find_deployed(stack: str, *, embedded: bool | None = None) -> Stack:
    """The stack where it is. embedded: where it is to be looked for, None where nobody says.

    Raises PlaceError where it is in both places, and as `find` does.
    """
    found = find(stack, embedded=bool(embedded))
    if embedded is not None or found.embedded or not _has_nodes(found.name):
        return found
    if place := _real(found):
        raise PlaceError(
            f"--stack: {stack} is on the embedded cluster, and as {place}; add --embedded or --no-embedded"
        )
    return find(stack, embedded=True)


def _has_nodes(stack: str) -> bool:
    """Whether the stack brought nodes to the embedded cluster, which it does before anything else."""
    if not cluster.is_running(STATE):
        return False
    selector = f"--selector={STACK_LABEL}={stack}"
    listed = cluster.kubectl("get", "nodes", selector, "--output=json", state=STATE)
    return bool(json.loads(listed)["items"])


def _real(stack: Stack) -> str:
    """Where Pulumi has resources of it, empty where it has none or cannot be asked."""
    if not automation.available():
        return ""
    try:
        if not automation.state(PROJECT, stack.full_name).resources:
            return ""
        return str(automation.place(PROJECT, stack.full_name))
    except (automation.LoggedOutError, PulumiError):
        return ""
