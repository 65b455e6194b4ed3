"""`ingress`: the way in from outside the cluster."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import SecretStr, StringConstraints, model_validator

from stacks.sections.platform import NamespacedName
from targets.knobs import ObjectName
from targets.strict import Strict

ClientName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")]


class IngressSettings(Strict):
    """An endpoint outside the cluster, for clients that have a key. Left out, nothing is reached from outside."""

    host: Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$")]
    """Name that clients use; its DNS entry and the Gateway's certificate for it are yours."""
    gateway: NamespacedName
    """An Envoy Gateway that is on the cluster, as namespace/name, open to routes of the graph's namespace."""
    listener: ObjectName = "https"
    """Name of the Gateway's HTTPS listener; the route hangs on no other."""
    api_keys: Mapping[ClientName, SecretStr] = {}
    """API key by client name, as Pulumi secrets."""
    existing_secret: ObjectName | None = None
    """Name of a Secret in the graph's namespace with one key for each client, instead of apiKeys."""
    inference_extension: bool = False
    """Whether the Gateway sends chat requests straight to the worker that Dynamo's Endpoint Picker chooses."""

    @model_validator(mode="after")
    def _one_source(self) -> "IngressSettings":
        if bool(self.api_keys) == (self.existing_secret is not None):
            raise ValueError(
                "needs either apiKeys or existingSecret: an endpoint without keys is open to everyone"
            )
        return self
