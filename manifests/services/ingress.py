"""The way in from outside the cluster: an authenticated route through an Envoy Gateway. Pure.

Sources: Gateway API v1 (HTTPRoute), Envoy Gateway's guide to API key authentication and Envoy AI Gateway's guide to
InferencePools as backends; the keys in the Secret have no `Bearer ` in front, which Envoy takes off what clients send
(envoyproxy/gateway#7706).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from manifests.names import HTTP_PORT, frontend_service
from manifests.objects import Named, Object, by_own_name, manifest, secret
from manifests.services.inference_extension import POOL_GROUP, ROUTED_PATHS, pool_name

ROUTE = "openai-api"
KEYS_SECRET = "openai-api-keys"
_GATEWAY_GROUP = "gateway.networking.k8s.io"


@dataclass(frozen=True, kw_only=True)
class Route:
    """A way to a graph's API. gateway: an Envoy Gateway that is there; listener: its HTTPS one.

    inference_extension: whether the graph has an endpoint picker, which the Gateway then asks.
    """

    namespace: str
    graph: str
    host: str
    gateway_namespace: str
    gateway: str
    listener: str
    inference_extension: bool = False


def manifests(route: Route, keys: Mapping[str, Any], existing_secret: str | None) -> list[Named]:
    """Everything of it, each to be made after the one before: no route is there without a policy.

    keys: API key by client as `objects.encode` has it, may be Outputs; none where they are in a Secret that is
    there, existing_secret.
    """
    made = by_own_name([secret(KEYS_SECRET, route.namespace, keys)] if keys else [])
    policy = security_policy(route.namespace, existing_secret or KEYS_SECRET)
    return [*made, Named(f"{ROUTE}-keys", policy), *by_own_name([http_route(route)])]


def http_route(route: Route) -> Object:
    """The route to a graph's OpenAI API, and to nothing else of its frontend: metrics and health stay inside.

    What the graph's endpoint picker can route goes to its InferencePool, the rest, such as the
    list of models, to the frontend; Gateway API prefers an exact path to a prefix.
    """
    picked = [{"path": {"type": "Exact", "value": path}} for path in ROUTED_PATHS]
    pool = {"group": POOL_GROUP, "kind": "InferencePool", "name": pool_name(route.graph), "port": HTTP_PORT}
    spec = {
        "parentRefs": [
            {
                "name": route.gateway,
                "namespace": route.gateway_namespace,
                "sectionName": route.listener,
            }
        ],
        "hostnames": [route.host],
        "rules": [
            *([_rule(picked, pool)] if route.inference_extension else []),
            _rule(
                [{"path": {"type": "PathPrefix", "value": "/v1"}}],
                {"name": frontend_service(route.graph), "port": HTTP_PORT},
            ),
        ],
    }
    return manifest(f"{_GATEWAY_GROUP}/v1", "HTTPRoute", ROUTE, route.namespace, spec=spec)


def _rule(matches: Sequence[Mapping[str, Any]], backend: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "matches": list(matches),
        "backendRefs": [backend],
        # A long answer streams for minutes.
        "timeouts": {"request": "0s"},
    }


def security_policy(namespace: str, keys_secret: str) -> Object:
    """Lets requests through that carry one of the Secret's keys, as OpenAI's clients send theirs."""
    spec = {
        "targetRefs": [{"group": _GATEWAY_GROUP, "kind": "HTTPRoute", "name": ROUTE}],
        "apiKeyAuth": {
            "credentialRefs": [{"group": "", "kind": "Secret", "name": keys_secret}],
            "extractFrom": [{"headers": ["authorization"]}],
        },
    }
    return manifest("gateway.envoyproxy.io/v1alpha1", "SecurityPolicy", ROUTE, namespace, spec=spec)
