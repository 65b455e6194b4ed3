"""What graphs' releases cannot tell about themselves. Pure."""

from collections.abc import Iterator

from facts.releases import LATEST_PATCH
from targets.observability import OTLP_SINCE
from targets.plan import GraphPlan


def observability_problems(plan: GraphPlan) -> Iterator[str]:
    """What the graph's release cannot tell."""
    if plan.operation.observability.otlp_endpoint and plan.version < OTLP_SINCE:
        yield (
            f"observability.otlpEndpoint: needs {LATEST_PATCH[OTLP_SINCE.line]} or newer, and {plan.key}.dynamoVersion "
            f"is {plan.version}; leave it out"
        )
