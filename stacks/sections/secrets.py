"""`ngc` and `externalSecrets`: access to NVIDIA's registry, and secrets that live in AWS."""

from typing import Annotated

from pydantic import Field, SecretStr, StringConstraints, model_validator

from targets.strict import Strict


class AwsSecretSettings(Strict):
    """A secret in AWS Secrets Manager; External Secrets copies it to the cluster and follows its rotation."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9/_+=.@:-]+$", max_length=2048)]
    """Name or ARN."""
    region: Annotated[str, StringConstraints(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    """AWS region that holds it."""
    key: str | None = None
    """Key inside, where the secret is a JSON object; by default the whole text is the token."""


class NgcSettings(Strict):
    """Access to NVIDIA's registry nvcr.io. Dynamo's images are public: a key only lifts pull limits.

    A pull Secret that is already in both namespaces is named by graph.image.pullSecret instead.
    """

    api_key: SecretStr | None = None
    """NGC API key, as a Pulumi secret."""
    aws_secret: AwsSecretSettings | None = None
    """Secret in AWS Secrets Manager that holds the key."""

    @model_validator(mode="after")
    def _one_source(self) -> "NgcSettings":
        if self.api_key is not None and self.aws_secret is not None:
            raise ValueError("apiKey and awsSecret exclude each other; keep one")
        return self

    @property
    def given(self) -> bool:
        """Whether there is a key."""
        return self.api_key is not None or self.aws_secret is not None


class ExternalSecretsSettings(Strict):
    """External Secrets, needed where a secret comes from AWS."""

    install: bool = True
    """Whether the stack installs it where it is needed; if not, it is on the cluster with access to the secrets."""
    refresh_minutes: int = Field(default=60, ge=1, le=10080)
    """How often a changed secret is looked for."""
