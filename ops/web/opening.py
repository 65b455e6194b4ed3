"""`open`: a stack's chat page, Grafana or metrics in the browser, through a port of this machine alone."""

import os
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Annotated

import typer

from facts.versions import KUBE_PROMETHEUS_STACK
from manifests.verification import expectation
from ops import options
from ops.progress import tell
from ops.stack.cluster import Cluster, EmbeddedCluster, reach
from ops.stack.place import find_deployed
from ops.stack.stack import Stack
from ops.web.chat_server import ChatServer, Conversation
from stacks.settings import PROJECT
from targets.errors import UserError

GRAFANA = f"{KUBE_PROMETHEUS_STACK.name}-grafana"
"""The Service that the chart makes for it."""
_GRAFANA_PORT = 80
_SECONDS_TO_ANSWER = 60.0


class OpenError(UserError):
    """The stack has no such page; the message says why."""


class What(StrEnum):
    """What is opened."""

    CHAT = "chat"
    GRAFANA = "grafana"
    METRICS = "metrics"


def open_page(
    what: Annotated[
        What, typer.Argument(help="chat: a page to talk to the graph. metrics: of its frontend.")
    ],
    stack: options.Stack = "dev",
    embedded: options.Where = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
) -> None:
    """Open the stack's chat page, Grafana or metrics on 127.0.0.1, until Ctrl-C."""
    found = find_deployed(stack, embedded=embedded)
    if what is What.GRAFANA:
        refuse_without_grafana(found)
    with reach(found) as cluster, _address(what, cluster) as url:
        show(url, browser=browser)
        tell("Ctrl-C ends it")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


def show(url: str, *, browser: bool) -> None:
    """Print an address, at once, and open a browser on it if one can be seen."""
    print(url, flush=True)
    if browser and _has_display():
        webbrowser.open(url)


@contextmanager
def _address(what: What, cluster: Cluster) -> Iterator[str]:
    """The page's URL, for as long as the block runs. Raises EndpointError."""
    if what is What.GRAFANA:
        assert not isinstance(cluster, EmbeddedCluster), "it was refused"
        monitoring = cluster.stack.plan.monitoring.namespace
        with cluster.forward(GRAFANA, monitoring, _GRAFANA_PORT, _SECONDS_TO_ANSWER) as url:
            yield url
        return
    with ExitStack() as open_now:
        endpoint = open_now.enter_context(cluster.endpoint(_SECONDS_TO_ANSWER))
        if what is What.METRICS:
            if endpoint.simulated:
                tell(f"simulated: {endpoint.simulated}")
            yield f"{endpoint.url}/metrics"
            return
        stack = cluster.stack
        told = Conversation(
            stack=stack.name,
            graph=stack.plan.main.name,
            model=expectation(stack.plan.main, simulated=stack.embedded).model,
            url=endpoint.url,
            simulated=endpoint.simulated,
        )
        with serving(told) as server:
            yield server.url


@contextmanager
def serving(conversation: Conversation) -> Iterator[ChatServer]:
    """The chat page, served for as long as the block runs."""
    with ChatServer(conversation) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


def refuse_without_grafana(stack: Stack) -> None:
    """Raise OpenError for a stack that brings no Grafana."""
    if stack.embedded:
        raise OpenError(
            "grafana: the embedded cluster has none, for its pods run nothing; "
            f"`{stack.command('open')} WHAT=metrics` shows what the graph's frontend measures"
        )
    kind = stack.plan.monitoring.kind
    if kind == "existing":
        raise OpenError(
            f"grafana: {stack.name} uses the monitoring that is on its cluster; open the Grafana of that, which finds "
            "the stack's dashboards by their label"
        )
    if kind == "none":
        raise OpenError(
            f"grafana: {stack.name} brings none; a line `{PROJECT}:monitoring: {{ kind: install }}` in "
            f"Pulumi.{stack.name}.yaml and `{stack.command('up')}` do"
        )


def _has_display() -> bool:
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
