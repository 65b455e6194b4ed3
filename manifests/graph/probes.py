"""Startup, readiness and liveness probes of our own. Pure.

The operator's defaults differ by release (one failed liveness probe kills a worker before 1.5.0, dynamo PR#14735), and
a frontend counts as ready there before any model is served (dynamo#9200).
"""

from typing import Any

from facts.weights import MODEL_ID
from manifests.names import HTTP_PORT, SYSTEM_PORT

_PICKER_HEALTH_PORT = 9003
_MODEL_LISTED = (
    "import json,sys,urllib.request as r;"
    f"d=json.load(r.urlopen('http://127.0.0.1:{HTTP_PORT}/v1/models',timeout=4))['data'];"
    f"sys.exit(0 if any(m['id']=={MODEL_ID!r} for m in d) else 1)"
)


def worker() -> dict[str, Any]:
    """An hour to load (published: 15 to 30 minutes), then two minutes of silence allowed (JIT stalls take 30-70 s)."""
    return {
        "startupProbe": _http("/live", SYSTEM_PORT, period=10, failures=360),
        "readinessProbe": _http("/health", SYSTEM_PORT, period=10, failures=3),
        "livenessProbe": _http("/live", SYSTEM_PORT, period=10, failures=12),
    }


def beside_worker(port: int) -> dict[str, Any]:
    """Ready while the worker is that answers on the port; the workers' own container is restarted where one hangs."""
    return {"readinessProbe": _http("/health", port, period=5, failures=3)}


def frontend() -> dict[str, Any]:
    """Ready means that the model is listed, which /health does not say."""
    return {
        "startupProbe": _http("/live", HTTP_PORT, period=5, failures=60),
        "readinessProbe": {
            "exec": {"command": ["python3", "-c", _MODEL_LISTED]},
            "periodSeconds": 10,
            "timeoutSeconds": 8,
            "failureThreshold": 3,
        },
        "livenessProbe": _http("/live", HTTP_PORT, period=10, failures=6),
    }


def frontend_sidecar() -> dict[str, Any]:
    """Ready without asking for the model: a worker is discovered once its pod, this container too, is ready.

    Each is an HTTP request, since the operator merges them into its own, and a probe may not be of two kinds.
    """
    return {
        "startupProbe": _http("/live", HTTP_PORT, period=5, failures=60),
        "readinessProbe": _http("/health", HTTP_PORT, period=10, failures=3),
        "livenessProbe": _http("/live", HTTP_PORT, period=10, failures=6),
    }


def endpoint_picker() -> dict[str, Any]:
    """It serves once a worker has registered; the operator's 30 minutes are less than some workers load."""
    return {
        "startupProbe": _grpc(period=10, failures=540),
        "readinessProbe": _grpc(period=10, failures=3),
        "livenessProbe": _grpc(period=10, failures=6),
    }


def _grpc(*, period: int, failures: int) -> dict[str, Any]:
    return {
        "grpc": {"port": _PICKER_HEALTH_PORT, "service": "inference-extension"},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def _http(path: str, port: int, *, period: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": port},
        "periodSeconds": period,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }
