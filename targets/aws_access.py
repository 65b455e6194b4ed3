"""As whom, and in which account, a stack works on AWS. Pure."""

import re
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints, model_validator

from targets.strict import Strict

ROLE_SESSION = "dynamo-gpt-oss"
"""Name of our sessions under an assumed role, as CloudTrail shows it."""


def _as_text(account: object) -> object:
    """`pulumi config set --path` makes a number of it, without its leading zeros."""
    return f"{account:012d}" if isinstance(account, int) and not isinstance(account, bool) else account


AccountId = Annotated[str, BeforeValidator(_as_text), StringConstraints(pattern=r"^\d{12}$")]
RoleArn = Annotated[str, StringConstraints(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/\S+$")]


class AwsAccess(Strict):
    """Each reaches the AWS provider, the kubeconfig's token and every verb alike."""

    profile: Annotated[str, StringConstraints(pattern=r"^\S+$")] | None = None
    """Profile of the AWS configuration; by default the AWS tools' own choice."""
    assume_role: RoleArn | None = None
    """ARN of a role that is assumed, with the profile's credentials, for everything on AWS."""
    account_id: AccountId | None = None
    """The only account that the stack may be in: with credentials of another, nothing is made and nothing destroyed."""

    @property
    def account(self) -> str | None:
        """The account that is named, by itself or in the role's ARN."""
        return self.account_id or (self.assume_role.split(":")[4] if self.assume_role else None)

    @model_validator(mode="after")
    def _one_account(self) -> "AwsAccess":
        if self.assume_role is not None and self.account_id not in (None, self.assume_role.split(":")[4]):
            raise ValueError(
                f"accountId {self.account_id}, but assumeRole is of account {self.assume_role.split(':')[4]}"
            )
        return self


def is_caller(caller: str, principal: str) -> bool:
    """Whether an IAM role or user is who calls. caller: ARN as STS says it, without a role's path."""
    *_, account, who = caller.split(":", 5)
    kind, _, session = who.partition("/")
    if kind != "assumed-role":
        return caller == principal
    role = re.fullmatch(rf"arn:[^:]+:iam::{account}:role/(?:.+/)?([^/]+)", principal)
    return role is not None and role[1] == session.partition("/")[0]
