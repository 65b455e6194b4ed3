"""Who reaches a cluster's API server: the address of whoever deploys, and the wait until the server answers it."""

import asyncio
import base64
import ipaddress
import ssl
import urllib.error
import urllib.request
from collections.abc import Sequence

import pulumi

OWN_ADDRESS = "https://checkip.amazonaws.com"
_SECONDS = 5.0


def own_address() -> str:
    """The IPv4 address that the internet sees this machine under, as AWS says it. Raises OSError, ValueError."""
    with urllib.request.urlopen(OWN_ADDRESS, timeout=_SECONDS) as answer:
        return str(ipaddress.IPv4Address(answer.read(64).decode().strip()))


def own_address_if_known() -> str | None:
    """The same; None if it could not be asked."""
    try:
        return own_address()
    except (OSError, ValueError):
        return None


def answers(endpoint: str, certificate_authority: str) -> bool:
    """Whether an API server answers from here, whatever it answers to nobody in particular.

    endpoint: its https address. certificate_authority: base64 PEM.
    """
    trusted = ssl.create_default_context(cadata=base64.b64decode(certificate_authority).decode())
    try:
        urllib.request.urlopen(f"{endpoint}/readyz", timeout=_SECONDS, context=trusted).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


async def wait_for_api(
    endpoint: str, certificate_authority: str, lets_in: Sequence[str], *, seconds: float
) -> None:
    """Return once the API server answers. lets_in: the ranges that reach it. Raises RunError after some seconds."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while not await asyncio.to_thread(answers, endpoint, certificate_authority):
        if clock() > until:
            here = await asyncio.to_thread(own_address_if_known)
            raise pulumi.RunError(
                f"dynamo-gpt-oss:cluster: the API server {endpoint} does not answer from here after "
                f"{seconds / 60:.0f} minutes. It lets in [{', '.join(lets_in)}]; this machine calls from "
                f"{here or 'an address that is not known'}. Set publicAccessFrom, or with privateAccessFrom connect "
                "this machine to the VPC, and run `up` again: it goes on from here"
            )
        await asyncio.sleep(_SECONDS)
