"""The Hugging Face token as a Kubernetes Secret."""

from dataclasses import dataclass

import pulumi
import pulumi_kubernetes as kubernetes

from components.manifests import ready_resource
from graphs import secrets
from graphs.names import MANAGED_BY, TOKEN_KEY, TOKEN_SECRET


@dataclass(frozen=True, kw_only=True)
class HuggingFaceSecretArgs:
    """namespace: where the Secret lives. Exactly one of the three sources is given.

    token: a Pulumi secret. existing_secret: a Secret that must be there. aws_secret: read through External Secrets,
    asked again every refresh_minutes.
    """

    namespace: str
    token: pulumi.Input[str] | None = None
    existing_secret: str | None = None
    aws_secret: secrets.AwsSecret | None = None
    refresh_minutes: int = 60


class HuggingFaceSecret(pulumi.ComponentResource):
    """A Secret with the token under HF_TOKEN.

    Only the download Job mounts it: a changed token reaches the Secret and restarts nothing.
    """

    secret_name: pulumi.Output[str]
    """Name of the Secret."""

    def __init__(
        self, name: str, args: HuggingFaceSecretArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("dynamo-gpt-oss:index:HuggingFaceSecret", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        if args.token is not None:
            made = self._made(args, args.token, child)
            self.secret_name = made.metadata.apply(lambda metadata: str(metadata.name))
        elif args.aws_secret is not None:
            self.secret_name = self._fetched(args, args.aws_secret, child)
        else:
            # Not looked up: what Pulumi reads it keeps, token and all. The download Job waits for the Secret by name.
            self.secret_name = pulumi.Output.from_input(str(args.existing_secret))
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
    def _fetched(
        args: HuggingFaceSecretArgs, source: secrets.AwsSecret, child: pulumi.ResourceOptions
    ) -> pulumi.Output[str]:
        manifest = secrets.token_external_secret(
            args.namespace,
            name=TOKEN_SECRET,
            key=TOKEN_KEY,
            source=source,
            refresh_minutes=args.refresh_minutes,
        )
        return ready_resource("hf-token", manifest, child).urn.apply(lambda _: TOKEN_SECRET)
