"""Whether the cluster's API answers from here."""

import ipaddress
import socket
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import ClientError

from components.cluster.api_reach import OWN_ADDRESS
from ops.checks.finding import Finding, ok, unknown, wrong
from stacks.sections.cluster import AUTO, ExistingEksClusterSettings, NewEksClusterSettings

_ABOUT = "API server"
_TIMEOUT_SECONDS = 10.0


def new_cluster(cluster: NewEksClusterSettings, address: Callable[[], str]) -> Iterator[Finding]:
    """Whether the control plane, once it is there, will let this machine in. address: this machine's."""
    if not cluster.public_access_from:
        yield unknown(
            _ABOUT, "it answers inside the VPC alone, and whether this machine will be there nobody can tell"
        )
        return
    try:
        own = address()
    except (OSError, ValueError) as error:
        yield unknown(_ABOUT, f"this machine's address is not known: {OWN_ADDRESS}: {error}")
        return
    ranges = ", ".join(cluster.public_access_from)
    named = [each for each in cluster.public_access_from if each != AUTO]
    if AUTO in cluster.public_access_from or any(
        ipaddress.IPv4Address(own) in ipaddress.IPv4Network(each) for each in named
    ):
        yield ok(_ABOUT, f"cluster.publicAccessFrom [{ranges}] lets this machine ({own}) in")
    else:
        yield wrong(
            _ABOUT,
            f"cluster.publicAccessFrom [{ranges}] keeps this machine ({own}) out; add {own}/32, or run from there",
        )


def existing_cluster(session: Any, cluster: ExistingEksClusterSettings) -> Iterator[Finding]:
    """Whether the cluster is there and its endpoint takes connections from here."""
    try:
        found = session.client("eks", region_name=cluster.region).describe_cluster(name=cluster.name)[
            "cluster"
        ]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        yield wrong(
            _ABOUT,
            f"{cluster.region} has no EKS cluster {cluster.name}; correct cluster.name or cluster.region",
        )
        return
    if found["status"] not in ("ACTIVE", "UPDATING"):
        yield wrong(_ABOUT, f"EKS cluster {cluster.name} is {found['status']}; wait until it is ACTIVE")
        return
    host = urlsplit(found["endpoint"])
    try:
        socket.create_connection((str(host.hostname), host.port or 443), _TIMEOUT_SECONDS).close()
    except OSError as error:
        yield wrong(
            _ABOUT,
            f"{found['endpoint']} does not answer ({error}); let this machine's address in, or run inside the VPC",
        )
    else:
        yield ok(_ABOUT, f"EKS cluster {cluster.name} answers at {found['endpoint']}")
