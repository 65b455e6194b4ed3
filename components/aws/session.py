"""boto3's sessions, for what no Pulumi resource does."""

from typing import Any

from targets.aws_access import ROLE_SESSION, AwsAccess


def session(region: str, access: AwsAccess) -> Any:
    """A boto3.Session as the stack says. A role is assumed at the first call, and again before its credentials end.

    Raises botocore's ProfileNotFound.
    """
    # Only verbs that ask AWS, and image builds in the engine's own process, load it.
    import boto3  # noqa: PLC0415
    import botocore.session  # noqa: PLC0415
    from botocore import credentials  # noqa: PLC0415

    base = boto3.Session(region_name=region, profile_name=access.profile)
    if access.assume_role is None:
        return base
    source = base.get_credentials()
    if source is None:
        return base  # its first call says that there are none
    fetcher = credentials.AssumeRoleCredentialFetcher(
        client_creator=base.client,
        source_credentials=source,
        role_arn=access.assume_role,
        extra_args={"RoleSessionName": ROLE_SESSION},
    )

    class Assumed(credentials.CredentialProvider):  # type: ignore[misc]  # botocore has no types
        METHOD = "assume-role"

        def load(self) -> Any:
            return credentials.DeferredRefreshableCredentials(fetcher.fetch_credentials, self.METHOD)

    assumed = botocore.session.get_session()
    assumed.get_component("credential_provider").insert_before("env", Assumed())
    return boto3.Session(botocore_session=assumed, region_name=region)
