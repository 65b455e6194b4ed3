"""When EKS gives a node group new nodes, and how long its graphs are silent for it. Pure."""

from collections.abc import Iterable

from targets.timeline import Setting, new_nodes_minutes

OF_A_NODE = ("launchTemplate", "version", "releaseVersion")
"""What a node has for life, among a node group's inputs: another one takes another node."""


def needs_new_nodes(changed: Iterable[str]) -> bool:
    """Whether any of the changed inputs, as dotted paths, is one that a node has for life."""
    return any(path.partition(".")[0] in OF_A_NODE for path in changed)


def refusal(key: str, running: int) -> str:
    """Why a Capacity Block's nodes are not updated while they run. key: the pool in the stack file."""
    return (
        f"{key}: the change needs new nodes, but {running} run in a Capacity Block that has no others; set "
        f"{key}.active to false and run `pulumi up`, then set it to true and run it again"
    )


def silence(nodes: int, setting: Setting, *, at_once: bool) -> float:
    """Minutes from the first node's end until a graph on new nodes answers, by the timeline's assumptions.

    at_once: whether the nodes go together; else one after the other.
    """
    return new_nodes_minutes(setting, rounds=1 if at_once else nodes)
