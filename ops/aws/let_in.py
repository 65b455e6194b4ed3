"""`let-in`: let this machine in to the API server of a stack whose file says `cluster.publicAccessFrom: [auto]`.

`up` does so by itself, before any Kubernetes object. A destroy, a refresh and a preview begin with those objects.
"""

import asyncio
import ipaddress
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from components.aws.session import session as aws_session
from components.cluster import api_reach
from embedded.paths import PROJECT
from embedded.processes import Report
from ops import options
from ops.progress import tell
from ops.pulumi import automation, stack_config
from ops.stack.on_embedded import plan_of
from stacks.plan import StackPlan
from stacks.sections.cluster import AUTO, NewEksClusterSettings
from targets.errors import UserError

_CLUSTER = "aws:eks/cluster:Cluster"
_SECONDS, _POLL_SECONDS = 1200.0, 10.0
"""How long AWS may take: an update of a cluster's endpoint takes minutes, and waits for the one before it."""


_SERVES = ("ACTIVE", "UPDATING")
"""What a cluster with an API server can be; one that failed to be made has no endpoint (EKS API, Cluster)."""
_MOST_RANGES = 40
"""That a public endpoint can have; the quota cannot be raised (EKS user guide, service quotas)."""


class LetInError(UserError):
    """This machine could not be let in; the message says what to do."""


def let_in(
    stack: options.Stack,
    alone: Annotated[
        bool,
        typer.Option("--alone", help="Whoever was let in before, and is not named, is let out, as by `up`."),
    ] = False,
) -> None:
    """Let this machine in to the stack's API server, where the stack file says `auto`; else nothing is done."""
    plan = plan_of(stack_config.load(PROJECT, stack))
    if not _is_auto(plan):
        typer.echo(f"{stack}: cluster.publicAccessFrom does not say {AUTO}, so nobody is let in")
        return
    try:
        opened = automation.open_stack(PROJECT, stack, report=tell)
    except automation.NoStackError:
        typer.echo(f"{stack} is not deployed; `up` lets in whoever runs it")
        return
    caller(plan, automation.resources(opened), typer.echo, alone=alone)


def caller(
    plan: StackPlan, resources: Iterable[Mapping[str, Any]], report: Report, *, alone: bool = False
) -> None:
    """Let the caller in, if the stack file leaves the address to whoever deploys, and wait until the API answers.

    resources: of the stack's state. alone: the ranges are then what the next `up` from here would make them, so that a
    preview finds no difference; else the caller's is added. Raises LetInError, pulumi.RunError.
    """
    name = next((str(each["outputs"]["name"]) for each in resources if each["type"] == _CLUSTER), None)
    cluster = plan.cluster
    if name is None or not _is_auto(plan):
        return
    assert isinstance(cluster, NewEksClusterSettings), "no other has the key"
    named = [each for each in cluster.public_access_from if each != AUTO]
    client = aws_session(cluster.region, cluster.aws).client("eks")
    try:
        report(_Door(client, name, named).open(alone=alone))
    except (BotoCoreError, ClientError) as error:
        raise LetInError(
            f"cluster.publicAccessFrom: {AUTO}, but this machine could not be let in to {name}: {error}; have a caller "
            "do it who may eks:UpdateClusterConfig, or run from an address that is let in"
        ) from None


def _is_auto(plan: StackPlan) -> bool:
    cluster = plan.cluster
    return isinstance(cluster, NewEksClusterSettings) and AUTO in cluster.public_access_from


@dataclass(frozen=True)
class _Door:
    """The public endpoint of one cluster. named: ranges that the stack file names."""

    client: Any
    name: str
    named: Collection[str]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def open(self, *, alone: bool) -> str:
        """What was done, in a line."""
        cluster = self._look()
        if cluster is None:
            return f"EKS cluster {self.name} is gone; nobody is let in"
        if cluster["status"] not in _SERVES:
            return f"EKS cluster {self.name} is {cluster['status']} and has no API server; nobody is let in"
        endpoint, authority = cluster["endpoint"], cluster["certificateAuthority"]["data"]
        if not alone and api_reach.answers(endpoint, authority):
            return f"EKS cluster {self.name} answers from here already"
        own = self._own()
        lets_in = self._set(own, alone=alone)
        asyncio.run(api_reach.wait_for_api(endpoint, authority, lets_in, seconds=300))
        return f"EKS cluster {self.name} lets in {own}, where this machine calls from ({', '.join(lets_in)} in all)"

    def _own(self) -> str:
        try:
            return f"{api_reach.own_address()}/32"
        except (OSError, ValueError) as error:
            raise LetInError(
                f"cluster.publicAccessFrom: {AUTO}, but {api_reach.OWN_ADDRESS} did not say from where this machine "
                f"calls ({error}); run from an address that is let in"
            ) from None

    def _look(self) -> dict[str, Any] | None:
        """The cluster; None if it is not there or goes."""
        try:
            found: dict[str, Any] = self.client.describe_cluster(name=self.name)["cluster"]
        except self.client.exceptions.ResourceNotFoundException:
            return None
        return None if found["status"] == "DELETING" else found

    def _set(self, own: str, *, alone: bool) -> list[str]:
        """The ranges, once they are in force."""
        until = self.clock() + _SECONDS
        while (cluster := self._look()) is not None and self.clock() < until:
            network = cluster["resourcesVpcConfig"]
            # Of a closed endpoint AWS keeps the range of everybody, which is to stay out.
            there = network["publicAccessCidrs"] if network["endpointPublicAccess"] else []
            wanted = {*self.named, *there, own}
            if alone or _is_open(there) or len(wanted) > _MOST_RANGES:
                wanted = {*self.named, own}
            if cluster["status"] == "ACTIVE":
                if {*there} == wanted:
                    return sorted(wanted)
                self._ask(wanted)
            self.sleep(_POLL_SECONDS)
        raise LetInError(
            f"EKS cluster {self.name} did not let {own} in within {_SECONDS / 60:.0f} minutes; try again"
        )

    def _ask(self, ranges: Collection[str]) -> None:
        access = {"endpointPublicAccess": True, "publicAccessCidrs": sorted(ranges)}
        try:
            self.client.update_cluster_config(name=self.name, resourcesVpcConfig=access)
        except self.client.exceptions.ResourceInUseException:
            return  # another update, or this one, is under way


def _is_open(ranges: Iterable[str]) -> bool:
    return any(ipaddress.ip_network(each).prefixlen == 0 for each in ranges)
