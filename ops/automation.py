"""Stacks through Pulumi's Automation API, with the CLI on PATH and a local file backend unless one is chosen."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pulumi import automation

from embedded.paths import STATE
from ops.errors import OpsError

EMBEDDED_BACKEND = STATE / "pulumi"
"""State of stacks on the embedded cluster; it is there once one was deployed through Pulumi."""
HOW_TO_GET_PULUMI = (
    "install the Pulumi CLI (https://www.pulumi.com/docs/install/) and run the verb again, "
    "or deploy this stack's graph on simulated nodes with --embedded"
)


class PulumiError(OpsError):
    """Pulumi failed; what it said was shown as it said it."""


def available() -> bool:
    """Whether a Pulumi CLI is on PATH."""
    return shutil.which("pulumi") is not None


def select(project: Path, stack: str, *, embedded: bool) -> automation.Stack:
    """The stack, made if it is not there yet.

    embedded: its state lives and ends with the embedded cluster, and it holds no secret worth a passphrase.
    """
    env = environment()
    if embedded:
        EMBEDDED_BACKEND.mkdir(parents=True, exist_ok=True)
        env |= {"PULUMI_BACKEND_URL": EMBEDDED_BACKEND.as_uri(), "PULUMI_CONFIG_PASSPHRASE": ""}
    options = automation.LocalWorkspaceOptions(env_vars=env)
    with _said("open the stack"):
        return automation.create_or_select_stack(stack, work_dir=str(project), opts=options)


def environment() -> dict[str, str]:
    """What is added to the environment of every command: state goes to files unless a backend is chosen."""
    chosen = {"PULUMI_BACKEND_URL", "PULUMI_ACCESS_TOKEN"} & os.environ.keys()
    return {"PULUMI_SKIP_UPDATE_CHECK": "true"} | ({} if chosen else {"PULUMI_BACKEND_URL": "file://~"})


def output(project: Path, stack: str, name: str) -> str | None:
    """An output of a deployed stack, in clear; None if it has no such output. Raises PulumiError."""
    opened = select(project, stack, embedded=False)
    with _said("read the stack's outputs"):
        outputs = opened.outputs()
    return str(outputs[name].value) if name in outputs else None


def up(stack: automation.Stack, report: Callable[[str], None]) -> str:
    """Deploy; returns in words how many resources changed in which way."""
    with _said("deploy"):
        result = stack.up(on_output=report, color="never")
    counts = {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}
    same = counts.pop("same", 0)
    counts.pop("read", None)
    changed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{sum(counts.values())} changes ({', '.join(filter(None, [changed, f'{same} unchanged']))})"


def down(stack: automation.Stack, report: Callable[[str], None]) -> None:
    """Destroy every resource and forget the stack; its config file stays."""
    with _said("destroy"):
        stack.destroy(on_output=report, color="never")
        stack.workspace.remove_stack(stack.name, preserve_config=True)


@contextmanager
def _said(what: str) -> Iterator[None]:
    """A failed command as an error of ours: its last words, for the whole was shown while it ran."""
    try:
        yield
    except automation.CommandError as failed:
        errors = [line.strip() for line in str(failed).splitlines() if "error:" in line]
        raise PulumiError(f"Pulumi could not {what}: {errors[-1] if errors else failed}") from None
