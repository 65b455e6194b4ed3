"""The provider of Pulumi's AWS resources."""

from collections.abc import Mapping

import pulumi_aws as aws

from targets.aws_access import ROLE_SESSION, AwsAccess


def provider(name: str, region: str, access: AwsAccess, tags: Mapping[str, str]) -> aws.Provider:
    """A provider that tags what it makes; it works with credentials of no other account than the one that is named.

    Pulumi keeps it in the stack's state, so a destroy refuses a foreign account too.
    """
    return aws.Provider(
        name,
        region=region,
        profile=access.profile,
        # As an object: a provider's dict is handed over as it stands, and `role_arn` is no key of the provider's.
        assume_roles=[aws.ProviderAssumeRoleArgs(role_arn=access.assume_role, session_name=ROLE_SESSION)]
        if access.assume_role
        else None,
        allowed_account_ids=[access.account] if access.account else None,
        default_tags={"tags": tags},
    )
