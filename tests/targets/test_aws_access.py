"""As whom a stack works on AWS, and whether that is who calls."""

import pytest
from pydantic import ValidationError

from targets.aws_access import AwsAccess, is_caller

ROLE = "arn:aws:iam::123456789012:role/deployers/ci"


def test_the_account_is_the_roles_where_nothing_else_names_it() -> None:
    assert AwsAccess().account is None
    assert AwsAccess.model_validate({"accountId": "000000000042"}).account == "000000000042"
    assert AwsAccess.model_validate({"assumeRole": ROLE}).account == "123456789012"
    assert (
        AwsAccess.model_validate({"assumeRole": ROLE, "accountId": "123456789012"}).account == "123456789012"
    )


def test_an_account_that_pulumi_made_a_number_of_has_its_zeros_again() -> None:
    assert AwsAccess.model_validate({"accountId": 42}).account == "000000000042"


@pytest.mark.parametrize("account", ["12345678901", "1234567890123", "12345678901x", True])
def test_what_is_no_account_is_refused(account: object) -> None:
    with pytest.raises(ValidationError):
        AwsAccess.model_validate({"accountId": account})


def test_a_role_of_another_account_is_refused() -> None:
    with pytest.raises(
        ValidationError, match="accountId 000000000042, but assumeRole is of account 123456789012"
    ):
        AwsAccess.model_validate({"assumeRole": ROLE, "accountId": 42})


@pytest.mark.parametrize(
    ("caller", "principal", "same"),
    [
        ("arn:aws:sts::123456789012:assumed-role/ci/session", ROLE, True),
        ("arn:aws:sts::123456789012:assumed-role/ci/session", "arn:aws:iam::123456789012:role/ci", True),
        (
            "arn:aws-us-gov:sts::123456789012:assumed-role/ci/s",
            "arn:aws-us-gov:iam::123456789012:role/ci",
            True,
        ),
        ("arn:aws:sts::123456789012:assumed-role/ci-2/session", ROLE, False),
        ("arn:aws:sts::210987654321:assumed-role/ci/session", ROLE, False),
        ("arn:aws:sts::123456789012:assumed-role/ci/session", "arn:aws:iam::123456789012:user/ci", False),
        ("arn:aws:iam::123456789012:user/me", "arn:aws:iam::123456789012:user/me", True),
        ("arn:aws:iam::123456789012:user/me", "arn:aws:iam::123456789012:user/team/me", False),
    ],
)
def test_a_role_is_known_in_its_sessions_which_have_no_path(caller: str, principal: str, same: bool) -> None:
    assert is_caller(caller, principal) is same
