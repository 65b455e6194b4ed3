"""Delete a stack's graphs and benchmark Jobs once its time is over.

Runs in a CronJob, under its ServiceAccount. Environment: NAMESPACE, CLOCK (a ConfigMap's name), SECONDS_TO_LIVE (from
its creation), GRAPH_API_VERSION, GRAPHS and JOBS (names, by spaces), MARK (file that it leaves when time is over).
"""

import json
import os
import ssl
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ACCOUNT = Path(os.environ.get("ACCOUNT_PATH", "/var/run/secrets/kubernetes.io/serviceaccount"))
"""Where Kubernetes puts the ServiceAccount's token and the API server's authority."""


def request(method: str, path: str, body: object = None) -> Any:
    """The API server's answer. Raises urllib.error.HTTPError."""
    address = f"https://{os.environ['KUBERNETES_SERVICE_HOST']}:{os.environ['KUBERNETES_SERVICE_PORT']}{path}"
    headers = {
        "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    trusted = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    asked = urllib.request.Request(address, data=data, headers=headers, method=method)
    with urllib.request.urlopen(asked, timeout=30, context=trusted) as response:
        return json.load(response)


def seconds_left(namespace: str, clock: str, seconds_to_live: int) -> float:
    """Seconds until the stack's time is over; negative afterwards."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/{clock}"
    born = datetime.fromisoformat(request("GET", path)["metadata"]["creationTimestamp"])
    return seconds_to_live - (datetime.now(UTC) - born).total_seconds()


def end(collection: str, names: str) -> None:
    """Delete those objects of a collection, and what they own; one that is not there is no error."""
    for name in names.split():
        try:
            request("DELETE", f"{collection}/{name}", {"propagationPolicy": "Background"})
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            continue
        print(f"deleted {collection}/{name}", flush=True)


def main() -> None:
    """Look, and end what is over."""
    namespace, version = os.environ["NAMESPACE"], os.environ["GRAPH_API_VERSION"]
    left = seconds_left(namespace, os.environ["CLOCK"], int(os.environ["SECONDS_TO_LIVE"]))
    if left > 0:
        print(f"{left:.0f} s left", flush=True)
        return
    end(f"/apis/{version}/namespaces/{namespace}/dynamographdeployments", os.environ["GRAPHS"])
    end(f"/apis/batch/v1/namespaces/{namespace}/jobs", os.environ["JOBS"])
    Path(os.environ["MARK"]).touch()


if __name__ == "__main__":
    main()
