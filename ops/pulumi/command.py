"""Commands of Pulumi's CLI, and their failures in our words."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pulumi import automation

from targets.errors import UserError


class PulumiError(UserError):
    """Pulumi failed; its output was shown as it came."""


@contextmanager
def explain_failure(what: str) -> Iterator[None]:
    """A failed command as an error of ours: its last words, for the whole was shown while it ran."""
    try:
        yield
    except (automation.StackNotFoundError, automation.ConcurrentUpdateError):
        raise
    except automation.CommandError as failed:
        lines = [line.strip() for line in str(failed).splitlines() if line.strip()]
        errors = [line for line in lines if "error:" in line]
        # Of one that was killed the first line, its exit code, is all there is to say.
        why = errors[-1] if errors else f"it ended with {lines[0].replace(':', '')} and gave no reason"
        raise PulumiError(f"Pulumi could not {what}: {why}") from None


def runner(stack: automation.Stack, command: list[str]) -> Callable[[], str]:
    """Runs a command of Pulumi's CLI that Automation has not, or has otherwise; it returns what it prints."""
    workspace = stack.workspace

    def run() -> str:
        return workspace.pulumi_command.run(list(command), workspace.work_dir, workspace.env_vars).stdout

    return run
