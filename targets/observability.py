"""What a graph's processes tell about themselves besides metrics, and which releases can. Pure.

Source: the environment names in the runtime of each released `ai-dynamo-runtime` package.
"""

from dataclasses import dataclass

from facts.releases import Version

OTLP_SINCE = Version(1, 0)
"""First of our release lines that exports traces; 0.4 knows JSON logs alone."""
OTLP_LOGS_SINCE = Version(1, 2)
"""First that exports logs, too."""


@dataclass(frozen=True, kw_only=True)
class Observability:
    """json_logs: a JSON object a line instead of text. otlp_endpoint: URL of a collector's OTLP/gRPC receiver."""

    json_logs: bool = False
    otlp_endpoint: str | None = None


METRICS_ALONE = Observability()
"""Text logs, and nothing exported."""
