"""A stack's config as a deployment will see it, whatever it takes from environments of Pulumi ESC included."""

from dataclasses import replace
from pathlib import Path

from ops.pulumi.stack_file import StackFile, StackFileError


def load(project: Path, stack: str) -> StackFile:
    """Read the stack's files, and ask Pulumi's CLI for what they import.

    stack: its name, or `organization/name`. Raises StackFileError, and what automation.config raises.
    """
    file = StackFile.load(project, stack)
    if not file.environments:
        return file
    from ops.pulumi import automation  # noqa: PLC0415  a verb that needs no CLI does not wait for its SDK

    imported = ", ".join(file.environments)
    if not automation.available():
        raise StackFileError(
            f"Pulumi.{file.stack}.yaml: environment: {imported} can be opened by a Pulumi CLI alone, and none is on "
            f"PATH; {automation.HOW_TO_GET_PULUMI}"
        )
    found = automation.config(project, stack)
    return replace(
        file,
        config=dict(file.config) | {key: text for key, (text, _) in found.items()},
        secret_keys=file.secret_keys | {key for key, (_, secret) in found.items() if secret},
    )
