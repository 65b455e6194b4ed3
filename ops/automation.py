"""Stacks through Pulumi's Automation API, with the CLI on PATH and a local file backend unless one is chosen."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from pulumi import automation

from embedded.paths import STATE

HOW_TO_GET_PULUMI = (
    "install the Pulumi CLI (https://www.pulumi.com/docs/install/) and run the verb again, "
    "or deploy this stack's graph on simulated nodes with --embedded"
)


def available() -> bool:
    """Whether a Pulumi CLI is on PATH."""
    return shutil.which("pulumi") is not None


def select(project: Path, stack: str, *, embedded: bool) -> automation.Stack:
    """The stack, made if it is not there yet.

    embedded: its state lives and ends with the embedded cluster, and it holds no secret worth a passphrase.
    """
    env: dict[str, str] = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
    if embedded:
        backend = STATE / "pulumi"
        backend.mkdir(parents=True, exist_ok=True)
        env |= {"PULUMI_BACKEND_URL": backend.as_uri(), "PULUMI_CONFIG_PASSPHRASE": ""}
    elif "PULUMI_BACKEND_URL" not in os.environ and "PULUMI_ACCESS_TOKEN" not in os.environ:
        env["PULUMI_BACKEND_URL"] = "file://~"
    return automation.create_or_select_stack(
        stack, work_dir=str(project), opts=automation.LocalWorkspaceOptions(env_vars=env)
    )


def up(stack: automation.Stack, report: Callable[[str], None]) -> str:
    """Deploy; returns in words how many resources changed in which way."""
    result = stack.up(on_output=report, color="never")
    counts = {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}
    same = counts.pop("same", 0)
    counts.pop("read", None)
    changed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{sum(counts.values())} changes ({', '.join(filter(None, [changed, f'{same} unchanged']))})"


def down(stack: automation.Stack, report: Callable[[str], None]) -> None:
    """Destroy every resource and forget the stack; its config file stays."""
    stack.destroy(on_output=report, color="never")
    stack.workspace.remove_stack(stack.name, preserve_config=True)
