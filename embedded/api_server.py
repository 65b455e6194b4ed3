"""Whether the embedded cluster's API server is ready, asked without kubectl: to start that takes longer than to ask."""

import base64
import http.client
import ssl
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from embedded.credentials import CONTEXT

_SECONDS = 5


class Answer(Enum):
    """What the API server says of itself to whoever a kubeconfig is for."""

    READY = "ready"
    STRANGER = "it knows another token, or has another authority's certificate"
    NONE = "none, or not ready yet"


def ask(kubeconfig: Path) -> Answer:
    """What it says to the cluster's own user; NONE also for a file that is damaged or not there.

    Others may have added clusters of theirs to the file.
    """
    try:
        config = yaml.safe_load(kubeconfig.read_text())
        (cluster,) = (each["cluster"] for each in config["clusters"] if each["name"] == CONTEXT)
        (token,) = (each["user"]["token"] for each in config["users"] if each["name"] == CONTEXT)
        trusted = base64.b64decode(cluster["certificate-authority-data"]).decode()
        address = urlsplit(cluster["server"])
        context = ssl.create_default_context(cadata=trusted)
        return _ask(address.hostname or "", address.port or 0, context, token)
    except ssl.SSLCertVerificationError:
        return Answer.STRANGER
    except (OSError, http.client.HTTPException, yaml.YAMLError, KeyError, IndexError, TypeError, ValueError):
        return Answer.NONE


def _ask(host: str, port: int, context: ssl.SSLContext, token: str) -> Answer:
    connection = http.client.HTTPSConnection(host, port, timeout=_SECONDS, context=context)
    try:
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {token}"})
        status = connection.getresponse().status
    finally:
        connection.close()
    if status == HTTPStatus.UNAUTHORIZED:
        return Answer.STRANGER
    return Answer.READY if status == HTTPStatus.OK else Answer.NONE
