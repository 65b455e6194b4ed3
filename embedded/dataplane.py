"""The data plane of the embedded cluster: `python -m embedded.dataplane --kubeconfig K --state DIR`.

Scaffolding for newcomers and tests. The pods of the embedded cluster are simulated, so nothing runs in them. For
every graph whose frontend pod runs, this daemon starts the real Dynamo frontend, and for every worker pod that runs
a real Dynamo worker with a scripted engine (embedded/engines/). It keeps them in step with the pods, as a kubelet
would: what ends by itself is started again after a growing pause. A pod's own status stays the simulation's.

All of Dynamo's ports are on 127.0.0.1. A graph has its own discovery directory, so graphs never see each other.
"""

import argparse
import json
import logging
import os
import signal
import ssl
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kopf
import yaml

from embedded import dynamo
from embedded.dynamo_graph import graphs_of
from embedded.operator.pods import GRAPH
from embedded.supervisor import Supervisor

_SECONDS_BETWEEN_LOOKS = 1.0
_log = logging.getLogger(__name__)


def _pods() -> Callable[[], list[dict[str, Any]]]:
    """Lists the graphs' pods on the API server of $KUBECONFIG; raises OSError while that does not answer.

    The file is read again after a failure, for `up` mends one that was damaged.
    """
    known: list[tuple[urllib.request.Request, ssl.SSLContext | None]] = []

    def ask() -> list[dict[str, Any]]:
        request, context = known.pop() if known else _login()
        with urllib.request.urlopen(request, timeout=10, context=context) as answer:
            items = list(json.load(answer)["items"])
        known.append((request, context))
        return items

    return ask


def _login() -> tuple[urllib.request.Request, ssl.SSLContext | None]:
    try:
        login = kopf.login_with_kubeconfig(settings=kopf.OperatorSettings())
    except (kopf.LoginError, yaml.YAMLError) as error:
        raise OSError(f"{os.environ['KUBECONFIG']} cannot be read: {error}") from None
    if login is None:
        raise OSError(f"{os.environ['KUBECONFIG']} is not there")
    url = f"{login.server}/api/v1/pods?labelSelector={GRAPH}"
    return urllib.request.Request(url, headers=dict(login.as_http_headers())), login.as_ssl_context()


def main() -> None:
    """Serves the cluster's graphs until SIGTERM."""
    parser = argparse.ArgumentParser(
        description="Serve the graphs of the embedded cluster with the real Dynamo."
    )
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--state", type=Path, required=True, help="the embedded cluster's state folder")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    os.environ["KUBECONFIG"] = str(arguments.kubeconfig)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    supervisor = Supervisor(arguments.state, lambda release: dynamo.install(release, _log.info))
    pods = _pods()
    try:
        while True:
            try:
                supervisor.step(graphs_of(pods()))
            except OSError as error:
                _log.warning("the API server does not answer, what runs keeps running: %s", error)
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        supervisor.close()


if __name__ == "__main__":
    main()
