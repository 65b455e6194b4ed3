"""How a verb reaches the cluster of a stack: kubectl's options, and the kubeconfig that a stack has as output."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from embedded.paths import PROJECT
from ops.pulumi import automation
from stacks.plan import StackPlan
from stacks.sections.cluster import ExistingClusterSettings, StackClusterSettings
from targets.errors import UserError


class KubeconfigError(UserError):
    """The way to the stack's cluster is not known here; the message says what to do."""


@contextmanager
def kubectl_options(plan: StackPlan, stack: str) -> Iterator[list[str]]:
    """kubectl's options for the stack's cluster, for as long as the block runs. stack: as Pulumi is to be asked for it.

    A kubeconfig out of a stack's outputs is in a private file meanwhile. Raises KubeconfigError, and what
    automation.output raises.
    """
    cluster = plan.cluster
    if isinstance(cluster, ExistingClusterSettings):
        given = (("--kubeconfig", cluster.kubeconfig), ("--context", cluster.context))
        yield [f"{flag}={value}" for flag, value in given if value]
        return
    source = cluster.stack if isinstance(cluster, StackClusterSettings) else stack
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as file:
        file.write(_output(source))
        file.flush()
        yield [f"--kubeconfig={file.name}"]


def keys(plan: StackPlan) -> str:
    """Those of the stack file, with their values, that name the credentials; empty where no kubeconfig is named."""
    cluster = plan.cluster
    if not isinstance(cluster, ExistingClusterSettings):
        return ""
    context, file = cluster.context or "the current one", cluster.kubeconfig or "kubectl's own"
    return f"cluster.context ({context}) in cluster.kubeconfig ({file})"


def _output(stack: str) -> str:
    if not automation.available():
        raise KubeconfigError(
            f"--stack: the way to the cluster is an output of the stack {stack}, and no Pulumi CLI is on PATH; "
            "install it, or forward the frontend's port yourself and give --url"
        )
    kubeconfig = automation.output(PROJECT, stack, "kubeconfig")
    if kubeconfig is None:
        raise KubeconfigError(f"--stack: {stack} has no output `kubeconfig`: is it deployed?")
    return kubeconfig
