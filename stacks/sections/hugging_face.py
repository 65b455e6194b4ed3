"""`huggingFace`: access to the weights' hub."""

from pydantic import SecretStr, model_validator

from stacks.sections.cache import Url
from stacks.sections.secrets import AwsSecretSettings
from targets.knobs import ObjectName
from targets.strict import Strict


class HuggingFaceSettings(Strict):
    """Access to Hugging Face. GPT-OSS is not gated: a token only lifts download limits."""

    token: SecretStr | None = None
    """Token, as a Pulumi secret."""
    existing_secret: ObjectName | None = None
    """Name of a Secret on the cluster that holds the token under HF_TOKEN."""
    aws_secret: AwsSecretSettings | None = None
    """Secret in AWS Secrets Manager that holds the token."""

    endpoint: Url | None = None
    """A mirror of the hub to download from instead (`HF_ENDPOINT`)."""

    @model_validator(mode="after")
    def _one_source(self) -> "HuggingFaceSettings":
        if self.token is not None and self.existing_secret is not None:
            raise ValueError("token and existingSecret exclude each other; keep one")
        if self.aws_secret is not None and (self.token is not None or self.existing_secret is not None):
            raise ValueError("awsSecret excludes token and existingSecret; keep one")
        return self

    def variables(self) -> dict[str, str]:
        """What the download's environment says of it."""
        if self.endpoint is None:
            return {}
        # Xet's storage has addresses of its own, which a mirror does not serve.
        return {"HF_ENDPOINT": self.endpoint, "HF_HUB_DISABLE_XET": "1"}

    @property
    def given(self) -> bool:
        """Whether there is a token."""
        return self.token is not None or self.existing_secret is not None or self.aws_secret is not None
