"""Who reaches a cluster's API server: the address of whoever deploys, and the wait until the server answers it."""

import asyncio
import base64
import ipaddress
import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pulumi

OWN_ADDRESS = "https://checkip.amazonaws.com"
_SECONDS, _TOKEN_SECONDS = 5.0, 60.0
_UNAUTHORIZED = 401


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


def knows(kubeconfig: str, endpoint: str, certificate_authority: str) -> bool:
    """Whether an API server knows the caller, as the kubeconfig's own command names it. Raises OSError, ValueError and
    subprocess.TimeoutExpired where that gives no token.

    A provider that begins before it does takes the whole cluster for unreachable.
    """
    credentials = json.loads(kubeconfig)["users"][0]["user"]["exec"]
    command = [credentials["command"], *credentials["args"]]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TOKEN_SECONDS)
    if answer.returncode:
        raise OSError(answer.stderr.strip())
    token = json.loads(answer.stdout)["status"]["token"]
    asked = {"Authorization": f"Bearer {token}"}
    return _status(f"{endpoint}/api", certificate_authority, asked) not in (None, _UNAUTHORIZED)


async def wait_until_known(
    kubeconfig: str, endpoint: str, certificate_authority: str, *, seconds: float
) -> None:
    """Return once an API server that answers knows the caller. Raises RunError after some seconds."""
    try:
        known = await _within(seconds, partial(knows, kubeconfig, endpoint, certificate_authority))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise pulumi.RunError(
            f"no token for the API server {endpoint}: {error}; try `aws eks get-token`"
        ) from None
    if not known:
        raise pulumi.RunError(
            f"the API server {endpoint} answers, but does not know the caller; have the role or user of these "
            "credentials added to the cluster's admins by who administers it already"
        )


def answers(endpoint: str, certificate_authority: str) -> bool:
    """Whether an API server answers from here, whatever it answers to nobody in particular.

    endpoint: its https address. certificate_authority: base64 PEM.
    """
    return _status(f"{endpoint}/readyz", certificate_authority) is not None


def _status(url: str, certificate_authority: str, headers: Mapping[str, str] | None = None) -> int | None:
    """The HTTP status of an answer, None if there is none."""
    trusted = ssl.create_default_context(cadata=base64.b64decode(certificate_authority).decode())
    asked = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(asked, timeout=_SECONDS, context=trusted) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return None


async def wait_for_api(
    endpoint: str, certificate_authority: str, lets_in: Sequence[str], *, seconds: float
) -> None:
    """Return once the API server answers. lets_in: the ranges that reach it. Raises RunError after some seconds."""
    if await _within(seconds, partial(answers, endpoint, certificate_authority)):
        return
    here = await asyncio.to_thread(own_address_if_known)
    raise pulumi.RunError(
        f"the API server {endpoint} does not answer from here after {seconds / 60:.0f} minutes. It lets in "
        f"[{', '.join(lets_in)}]; this machine calls from {here or 'an address that is not known'}. Let that in as a "
        "public range, or with a private one connect this machine to the VPC, and run `up` again: it goes on from here"
    )


async def _within(seconds: float, ask: Callable[[], bool]) -> bool:
    """Whether it came true, asked again and again in a thread until then or until the time is over."""
    clock = asyncio.get_running_loop().time
    until = clock() + seconds
    while not await asyncio.to_thread(ask):
        if clock() > until:
            return False
        await asyncio.sleep(_SECONDS)
    return True
