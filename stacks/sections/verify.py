"""`verify`: whether `pulumi up` ends only once the graphs answer."""

from pydantic import Field

from targets.strict import Strict


class VerifySettings(Strict):
    """Verification inside the cluster."""

    enabled: bool = True
    """Whether a Job of the stack converses with each graph, so that `up` fails if it does not answer."""
    timeout_seconds: int = Field(default=600, ge=10, le=7200)
    """Seconds that a ready graph may take to answer."""
