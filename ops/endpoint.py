"""How to reach the endpoint of a stack's graph: on the embedded cluster, or through a port-forward of our own."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from embedded import dataplane, dynamo
from embedded.paths import PROJECT, STATE
from graphs.names import HTTP_PORT, frontend_service
from graphs.scripts.verification.expectation import Expectation
from graphs.verification import expectation
from ops.deploy.embedded_stack import is_embedded, on_embedded, plan_of
from ops.errors import OpsError
from ops.kubeconfig import kubectl_options
from ops.pulumi import stack_config
from stacks.plan import StackPlan


class EndpointError(OpsError):
    """The endpoint cannot be reached; the message says why and what to do."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A stack's graph and where it is. stack: as it was asked for."""

    stack: str
    plan: StackPlan
    namespace: str
    graph: str
    expected: Expectation
    embedded: bool


@dataclass(frozen=True)
class Endpoint:
    """url: without a path. simulated: what of the endpoint is, or nothing."""

    url: str
    simulated: str = ""


def deployment(stack: str, *, embedded: bool = False) -> Deployment:
    """The graph of a stack. embedded: as `up --embedded` puts it on the embedded cluster.

    Raises StackFileError or ConfigError.
    """
    stack_file = stack_config.load(PROJECT, stack)
    plan = plan_of(on_embedded(stack_file) if embedded else stack_file)
    graph = plan.main
    simulated = is_embedded(plan, PROJECT)
    return Deployment(
        stack=stack,
        plan=plan,
        namespace=plan.cluster.namespace,
        graph=graph.name,
        expected=expectation(graph, simulated=simulated),
        embedded=simulated,
    )


@contextmanager
def reached(deployed: Deployment, timeout: float) -> Iterator[Endpoint]:
    """The endpoint for as long as the block runs; `timeout` seconds for it to appear. Raises EndpointError."""
    if not deployed.embedded:
        options = kubectl_options(deployed.plan, deployed.stack)
        with options as found, _port_forward(deployed, found, timeout) as url:
            yield Endpoint(url)
        return
    try:
        url = dataplane.endpoint(STATE, deployed.namespace, deployed.graph, timeout)
    except dynamo.CannotRunError as error:
        raise EndpointError(str(error)) from None
    except dynamo.DynamoError as error:
        raise EndpointError(f"{error}\nIs it deployed? `python -m ops status` says what is.") from None
    yield Endpoint(url, dataplane.SIMULATED)


@contextmanager
def _port_forward(deployed: Deployment, options: Sequence[str], timeout: float) -> Iterator[str]:
    """kubectl's port-forward to the frontend's Service on a free port of 127.0.0.1, ended with the block."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        raise EndpointError(
            "kubectl is not on PATH: install it (https://kubernetes.io/docs/tasks/tools), or forward the frontend's "
            "port yourself and give --url"
        )
    service = f"service/{frontend_service(deployed.graph)}"
    forward = [
        "port-forward",
        f"--namespace={deployed.namespace}",
        "--address=127.0.0.1",
        service,
        f":{HTTP_PORT}",
    ]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [kubectl, *options, *forward, f"--pod-running-timeout={timeout:.0f}s"],
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
                raise EndpointError(f"cannot forward a port to {service}: {errors.read().strip()}")
            yield f"http://{listening[1]}"
        finally:
            process.terminate()
            process.wait()
