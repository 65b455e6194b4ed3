"""A stack's cluster as verbs reach it: kubectl, and the endpoint of its main graph."""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from embedded import cluster, dynamo, endpoints
from embedded.paths import PROJECT, STATE
from manifests.kubectl import Kubectl
from manifests.names import HTTP_PORT, frontend_service
from ops.kubectl import OwnKubectl, on_path
from ops.stack.kubeconfig import keys, kubectl_options
from ops.stack.stack import Stack
from targets.errors import UserError


class EndpointError(UserError):
    """The endpoint cannot be reached; the message says why and what to do."""


@dataclass(frozen=True)
class Endpoint:
    """url: without a path. simulated: what of the endpoint is, or nothing."""

    url: str
    simulated: str = ""


@dataclass(frozen=True)
class EmbeddedCluster:
    """The embedded cluster, of which nothing but its state folder has to be known."""

    stack: Stack
    state: Path

    @property
    def kubectl(self) -> Kubectl:
        """Raises ClusterError, also where the cluster does not run."""
        return embedded_kubectl(self.state)

    @contextmanager
    def endpoint(self, timeout: float) -> Iterator[Endpoint]:
        """Where the main graph answers, for which it has `timeout` seconds. Raises EndpointError.

        At once where no graph is there to answer, and ClusterError where no cluster is.
        """
        graph = self.stack.plan.main.name
        if f"{self.stack.namespace}/{graph}" not in endpoints.read(self.state):
            self._refuse_without(graph)
        try:
            url = endpoints.wait_for(self.state, self.stack.namespace, graph, timeout)
        except dynamo.CannotRunError as error:
            raise EndpointError(str(error)) from None
        except dynamo.DynamoError as error:
            raise EndpointError(f"{error}\n`{self.stack.command('status')}` says what is deployed") from None
        yield Endpoint(url, endpoints.SIMULATED)

    def _refuse_without(self, graph: str) -> None:
        """Raise EndpointError for a graph that is not on the cluster: nobody need wait for it."""
        named = ("dynamographdeployment", graph, f"--namespace={self.stack.namespace}", "--ignore-not-found")
        if not self.kubectl("get", *named, "--output=name"):
            raise EndpointError(
                f"--stack: {self.stack.name} is not deployed; `{self.stack.command('up')}` does it"
            )


@dataclass(frozen=True)
class RealCluster:
    """Any other cluster, by the kubectl on PATH."""

    stack: Stack
    kubectl: OwnKubectl

    @contextmanager
    def endpoint(self, timeout: float) -> Iterator[Endpoint]:
        """As above, on a port of 127.0.0.1 that is forwarded for as long as the block runs. Raises EndpointError."""
        service = frontend_service(self.stack.plan.main.name)
        with self.forward(service, self.stack.namespace, HTTP_PORT, timeout) as url:
            yield Endpoint(url)

    @contextmanager
    def forward(self, service: str, namespace: str, port: int, timeout: float) -> Iterator[str]:
        """The URL of a Service's port on 127.0.0.1, for as long as the block runs. Raises EndpointError."""
        name = f"service/{service}"
        forward = ("port-forward", f"--namespace={namespace}", "--address=127.0.0.1", name, f":{port}")
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [*self.kubectl.command, *forward, f"--pod-running-timeout={timeout:.0f}s"],
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            try:
                assert process.stdout is not None
                # kubectl prints this line once it listens, or ends without it.
                listening = re.match(r"Forwarding from (127\.0\.0\.1:\d+)", process.stdout.readline())
                if not listening:
                    process.wait()
                    errors.seek(0)
                    raise EndpointError(
                        f"cannot forward a port to {name}: {errors.read().strip()}\n"
                        f"`{self.stack.command('status')}` says what is deployed"
                    )
                yield f"http://{listening[1]}"
            finally:
                process.terminate()
                process.wait()


Cluster = EmbeddedCluster | RealCluster


@contextmanager
def reach(stack: Stack, *, state: Path | None = None) -> Iterator[Cluster]:
    """The stack's cluster for as long as the block runs. state: folder of the embedded one.

    Raises NoKubectlError, KubeconfigError, and what automation.output raises; of the embedded cluster nothing.
    """
    if stack.embedded:
        yield EmbeddedCluster(stack, state or STATE)
        return
    with kubectl_options(stack.plan, stack.full_name) as options:
        yield RealCluster(stack, on_path(options, keys(stack.plan)))


def embedded_kubectl(state: Path) -> Kubectl:
    """kubectl of the embedded cluster of that state folder."""
    return partial(cluster.kubectl, state=state)
