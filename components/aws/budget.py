"""What AWS says, by mail, of a stack's bill."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

_PERCENT = {"ACTUAL": 80, "FORECASTED": 100}
"""Of the limit at which AWS writes: of what was spent, and of what the month is going to cost."""


@dataclass(frozen=True, kw_only=True)
class BudgetArgs:
    """What is counted, and who is told."""

    stack: str
    """Value of the tag `stack` of what is counted."""
    usd_per_month: float
    """The limit."""
    notify: Sequence[str]
    """Mail addresses."""


class Budget(pulumi.ComponentResource):
    """A monthly budget on the stack's tag, which warns and ends nothing.

    AWS counts by a tag only once the account that pays has activated it for cost allocation, and by the day.
    """

    def __init__(self, name: str, args: BudgetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("dynamo-gpt-oss:index:Budget", name, None, opts)
        aws.budgets.Budget(
            name,
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{args.usd_per_month:.2f}",
            limit_unit="USD",
            cost_filters=[{"name": "TagKeyValue", "values": [f"user:stack${args.stack}"]}],
            notifications=[
                {
                    "comparison_operator": "GREATER_THAN",
                    "notification_type": kind,
                    "threshold": percent,
                    "threshold_type": "PERCENTAGE",
                    "subscriber_email_addresses": list(args.notify),
                }
                for kind, percent in _PERCENT.items()
            ],
            opts=pulumi.ResourceOptions(parent=self),
        )
        pulumi.log.info(
            "the budget counts nothing until the account that pays has activated the tag `stack` for cost allocation "
            "(Billing, Cost allocation tags; a tag is listed there a day after its first use)",
            self,
        )
        self.register_outputs({})
