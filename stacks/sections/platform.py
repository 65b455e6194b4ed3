"""`platform`: the Dynamo operator and what it needs."""

from targets.knobs import DynamoVersion
from targets.strict import Strict


class PlatformSettings(Strict):
    """The Dynamo platform: operator and what it needs."""

    install: bool = True
    """Whether the stack installs it; if not, it must be on the cluster already."""
    version: DynamoVersion | None = None
    """Version of the platform; the graph's Dynamo version where nothing is said."""
