"""The way in from outside the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import custom_resource
from graphs import ingress
from graphs.names import MANAGED_BY


@dataclass(frozen=True, kw_only=True)
class IngressArgs:
    """graph: whose API is reached at host. gateway: an Envoy Gateway that is there; listener: its HTTPS one.

    keys: API key by client, Pulumi secrets, or None for a Secret that is there (existing_secret).
    inference_extension: whether the graph has an endpoint picker, which the Gateway then asks.
    """

    namespace: str
    graph: str
    host: str
    gateway_namespace: str
    gateway: str
    listener: str
    keys: Mapping[str, pulumi.Input[str]] | None
    existing_secret: str | None
    inference_extension: bool = False


class Ingress(pulumi.ComponentResource):
    """A route for clients with a key; the policy that asks for it is there before the route is."""

    endpoint: pulumi.Output[str]
    """URL of the OpenAI API outside the cluster."""

    def __init__(self, name: str, args: IngressArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Ingress", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        keys = [] if args.keys is None else [self._keys(args.namespace, args.keys, child)]
        policy = self._policy(args, keys)
        route = self._route(args, policy)
        self.endpoint = route.urn.apply(lambda _: f"https://{args.host}/v1")
        self.register_outputs({"endpoint": self.endpoint})

    @staticmethod
    def _keys(
        namespace: str, keys: Mapping[str, pulumi.Input[str]], child: pulumi.ResourceOptions
    ) -> kubernetes.core.v1.Secret:
        return kubernetes.core.v1.Secret(
            ingress.KEYS_SECRET,
            metadata={"name": ingress.KEYS_SECRET, "namespace": namespace, "labels": dict(MANAGED_BY)},
            type="Opaque",
            string_data={client: pulumi.Output.secret(key) for client, key in keys.items()},
            opts=child,
        )

    def _policy(
        self, args: IngressArgs, keys: list[kubernetes.core.v1.Secret]
    ) -> kubernetes.apiextensions.CustomResource:
        manifest = ingress.security_policy(args.namespace, args.existing_secret or ingress.KEYS_SECRET)
        opts = pulumi.ResourceOptions(parent=self, depends_on=keys)
        return custom_resource(f"{ingress.ROUTE}-keys", manifest, opts)

    def _route(
        self, args: IngressArgs, policy: kubernetes.apiextensions.CustomResource
    ) -> kubernetes.apiextensions.CustomResource:
        manifest = ingress.http_route(
            args.namespace,
            args.graph,
            host=args.host,
            gateway_namespace=args.gateway_namespace,
            gateway=args.gateway,
            listener=args.listener,
            inference_extension=args.inference_extension,
        )
        opts = pulumi.ResourceOptions(parent=self, depends_on=[policy])
        return custom_resource(ingress.ROUTE, manifest, opts)
