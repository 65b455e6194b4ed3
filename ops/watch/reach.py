"""The way to a real cluster while an update runs on it: as its stack file says, or as the update makes it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from embedded.processes import Report
from manifests.kubectl import Kubectl
from ops.kubectl import on_path
from ops.pulumi.events import Events
from ops.stack.kubeconfig import keys, kubectl_options
from ops.stack.stack import Stack
from ops.watch.look import Look, Observe
from ops.watch.snapshot import Snapshot
from stacks.sections.cluster import AwsCluster
from targets.errors import UserError


class RealLook:
    """Looks at the namespace of a stack on a real cluster as soon as there is a way to it.

    The outputs of a stack come when its update has ended; the provider for the cluster is made before anything on it.
    """

    def __init__(
        self, stack: Stack, events: Events, files: ExitStack, kubectl: Kubectl | None, observe: Observe
    ) -> None:
        self._namespace, self._events, self._files = stack.namespace, events, files
        self._kubectl, self._observe = kubectl, observe

    def __call__(self) -> Snapshot | None:
        """None where there is no way yet. Raises KubectlError where the cluster does not answer."""
        if self._kubectl is None and self._events.provider is not None:
            self._kubectl = _by_provider(self._events.provider, self._files)
        if self._kubectl is None:
            return None
        return Look(self._kubectl, self._namespace, logs=True, observe=self._observe)()


@contextmanager
def real_look(
    stack: Stack, events: Events, report: Report, observe: Observe = lambda _: None
) -> Iterator[RealLook]:
    """For as long as the block runs; where the cluster cannot be looked at, that is told and nothing else fails."""
    with ExitStack() as files:
        kubectl = None
        try:
            on_path(())
            # Asked before the update: its signals are for Pulumi alone.
            if not isinstance(stack.plan.cluster, AwsCluster):
                options = files.enter_context(kubectl_options(stack.plan, stack.full_name))
                kubectl = on_path(options, keys(stack.plan)).impatient()
        except UserError as error:
            report(f"the cluster is not watched: {error}")
        yield RealLook(stack, events, files, kubectl, observe)


def _by_provider(inputs: Mapping[str, Any], files: ExitStack) -> Kubectl | None:
    """kubectl for the cluster of Pulumi's provider, None where its kubeconfig is a secret."""
    given = str(inputs.get("kubeconfig") or "")
    if not given.startswith(("{", "apiVersion")):
        return None
    file = files.enter_context(tempfile.NamedTemporaryFile("w", suffix=".kubeconfig"))  # noqa: SIM115  ended with `files`
    file.write(given)
    file.flush()
    context = [f"--context={inputs['context']}"] if inputs.get("context") else []
    return on_path([f"--kubeconfig={file.name}", *context]).impatient()
