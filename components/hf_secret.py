"""The Hugging Face token as a Kubernetes Secret."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from graphs.names import MANAGED_BY, TOKEN_KEY, TOKEN_SECRET


@dataclass(frozen=True, kw_only=True)
class HuggingFaceSecretArgs:
    """namespace: where the Secret lives. token: a Pulumi secret, or None to use existing_secret, checked to exist."""

    namespace: str
    token: pulumi.Input[str] | None = None
    existing_secret: str | None = None


class HuggingFaceSecret(pulumi.ComponentResource):
    """A Secret made from the token, or one that is already on the cluster."""

    secret_name: pulumi.Output[str]
    """Name of the Secret; it holds the token under HF_TOKEN."""

    def __init__(
        self, name: str, args: HuggingFaceSecretArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:HuggingFaceSecret", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        secret = self._existing(args, child) if args.token is None else self._made(args, args.token, child)
        self.secret_name = secret.metadata.apply(lambda metadata: str(metadata.name))
        self.register_outputs({"secretName": self.secret_name})

    @staticmethod
    def _made(
        args: HuggingFaceSecretArgs, token: pulumi.Input[str], child: pulumi.ResourceOptions
    ) -> kubernetes.core.v1.Secret:
        return kubernetes.core.v1.Secret(
            TOKEN_SECRET,
            metadata={"name": TOKEN_SECRET, "namespace": args.namespace, "labels": dict(MANAGED_BY)},
            type="Opaque",
            string_data={TOKEN_KEY: pulumi.Output.secret(token)},
            opts=child,
        )

    @staticmethod
    def _existing(args: HuggingFaceSecretArgs, child: pulumi.ResourceOptions) -> kubernetes.core.v1.Secret:
        return kubernetes.core.v1.Secret.get(
            str(args.existing_secret), f"{args.namespace}/{args.existing_secret}", opts=child
        )
