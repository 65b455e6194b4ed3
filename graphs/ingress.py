"""The way in from outside the cluster: an authenticated route through an Envoy Gateway. Pure.

Sources: Gateway API v1 (HTTPRoute) and Envoy Gateway's guide to API key authentication; the keys in the Secret have no
`Bearer ` in front, which Envoy takes off what clients send (envoyproxy/gateway#7706).
"""

from collections.abc import Mapping
from typing import Any

from graphs.names import HTTP_PORT, MANAGED_BY, frontend_service

ROUTE = "openai-api"
KEYS_SECRET = "openai-api-keys"
_GATEWAY_GROUP = "gateway.networking.k8s.io"


def http_route(
    namespace: str, graph: str, *, host: str, gateway_namespace: str, gateway: str, listener: str
) -> dict[str, Any]:
    """The route to a graph's OpenAI API, and to nothing else of its frontend: metrics and health stay inside."""
    return {
        "apiVersion": f"{_GATEWAY_GROUP}/v1",
        "kind": "HTTPRoute",
        "metadata": _metadata(namespace),
        "spec": {
            "parentRefs": [{"name": gateway, "namespace": gateway_namespace, "sectionName": listener}],
            "hostnames": [host],
            "rules": [
                {
                    "matches": [{"path": {"type": "PathPrefix", "value": "/v1"}}],
                    "backendRefs": [{"name": frontend_service(graph), "port": HTTP_PORT}],
                    # A long answer streams for minutes.
                    "timeouts": {"request": "0s"},
                }
            ],
        },
    }


def security_policy(namespace: str, keys_secret: str) -> dict[str, Any]:
    """Lets requests through that carry one of the Secret's keys, as OpenAI's clients send theirs."""
    return {
        "apiVersion": "gateway.envoyproxy.io/v1alpha1",
        "kind": "SecurityPolicy",
        "metadata": _metadata(namespace),
        "spec": {
            "targetRefs": [{"group": _GATEWAY_GROUP, "kind": "HTTPRoute", "name": ROUTE}],
            "apiKeyAuth": {
                "credentialRefs": [{"group": "", "kind": "Secret", "name": keys_secret}],
                "extractFrom": [{"headers": ["authorization"]}],
            },
        },
    }


def _metadata(namespace: str) -> Mapping[str, Any]:
    return {"name": ROUTE, "namespace": namespace, "labels": dict(MANAGED_BY)}
