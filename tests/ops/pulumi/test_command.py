"""A failed command of Pulumi's, in our words."""

import pytest
from pulumi import automation
from pulumi.automation.errors import create_command_error

from ops.pulumi.command import PulumiError, explain_failure


def failed(stderr: str, code: int = 255) -> automation.CommandError:
    return create_command_error(automation.CommandResult(stdout="", stderr=stderr, code=code))


def test_the_last_error_is_the_reason() -> None:
    text = "Updating (dev)\nerror: a first one\nResources: 3 unchanged\nerror: update failed: no such node\n"
    with pytest.raises(PulumiError) as error, explain_failure("deploy"):
        raise failed(text)
    assert str(error.value) == "Pulumi could not deploy: error: update failed: no such node"


def test_of_one_that_was_killed_the_code_is_the_reason() -> None:
    with pytest.raises(PulumiError) as error, explain_failure("deploy"):
        raise failed("Updating (dev)", code=-9)
    assert str(error.value) == "Pulumi could not deploy: it ended with code -9 and gave no reason"


@pytest.mark.parametrize(
    ("stderr", "kind"),
    [
        ("error: no stack named 'x' found", automation.StackNotFoundError),
        ("error: the stack is currently locked by 1 lock(s)", automation.ConcurrentUpdateError),
    ],
)
def test_what_callers_handle_themselves_stays_what_it_is(stderr: str, kind: type[Exception]) -> None:
    with pytest.raises(kind), explain_failure("deploy"):
        raise failed(stderr)


def test_a_fault_of_ours_is_no_failure_of_pulumi() -> None:
    with pytest.raises(KeyError), explain_failure("deploy"):
        raise KeyError("outputs")
