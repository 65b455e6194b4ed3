"""Stacks through Pulumi's Automation API, in the state backend that its CLI is logged in to."""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from pulumi import automation

from embedded.paths import PROJECT, STATE
from embedded.processes import Report
from ops.fingerprint import PLAIN
from ops.progress import tell
from ops.pulumi import state_files
from ops.pulumi.cli import Cli
from ops.pulumi.command import explain_failure, runner
from ops.pulumi.events import Events
from ops.pulumi.locks import run_unlocked
from ops.pulumi.stack_file import short_name
from ops.watch.made import Made
from targets.errors import UserError

EMBEDDED_BACKEND = STATE / "pulumi"
"""State of stacks on the embedded cluster; it is there once one was deployed through Pulumi."""
HOW_TO_GET_PULUMI = (
    "install the Pulumi CLI (https://www.pulumi.com/docs/install/) and run the verb again, "
    "or put this stack's graph on simulated nodes: add --embedded (with make: ARGS=--embedded) to each verb"
)
_ENVIRONMENT = {"PULUMI_SKIP_UPDATE_CHECK": "true"}


class LoggedOutError(UserError):
    """Pulumi's CLI knows no backend to look for stacks in."""


class NoStackError(UserError):
    """The backend has no such stack."""


class State:
    """What Pulumi has written down of a stack, read once however many look at it.

    find: opens the stack; where there is none, nothing is written down.
    """

    def __init__(self, find: Callable[[], automation.Stack]) -> None:
        self._find = find

    @cached_property
    def deployment(self) -> Mapping[str, Any]:
        """As Pulumi exports it, secrets encrypted. Raises LoggedOutError, PulumiError."""
        try:
            found: Mapping[str, Any] = export(self._find()).get("deployment") or {}
        except NoStackError:
            return {}
        return found

    @property
    def resources(self) -> list[Mapping[str, Any]]:
        """What the stack holds."""
        return list(self.deployment.get("resources") or ())


@dataclass(frozen=True)
class Place:
    """Where Pulumi has a stack, or would have it. backend: its address. organization: empty where there is none."""

    stack: str
    organization: str
    backend: str

    def __str__(self) -> str:
        of = f" of organization {self.organization}" if self.organization else ""
        return f"stack {self.stack}{of} in {self.backend}"


class _Workspace(automation.LocalWorkspace):
    """Leaves alone which stack is selected, and with it what a person's next `pulumi` without `--stack` changes."""

    def select_stack(self, stack_name: str) -> None:
        """See that it is there."""
        self._run("stack", "--stack", stack_name, "--show-name")

    def create_stack(self, stack_name: str) -> None:
        """Make it."""
        self._run("stack", "init", stack_name, "--no-select")

    def _run(self, *arguments: str) -> None:
        self.pulumi_command.run([*arguments], self.work_dir, self.env_vars)


def available() -> bool:
    """Whether a Pulumi CLI is on PATH."""
    return shutil.which("pulumi") is not None


def open_stack(
    project: Path, stack: str, *, embedded: bool = False, report: Report = tell
) -> automation.Stack:
    """A stack that is there. stack: its name, or `organization/name`, as `pulumi --stack` takes it.

    embedded: its state lives and ends with the embedded cluster, and it holds no secret worth a passphrase.
    Raises LoggedOutError, NoStackError, PulumiError.
    """
    if embedded and not EMBEDDED_BACKEND.exists():
        raise NoStackError(f"--stack: there is no stack {stack} on the embedded cluster")
    workspace = _workspace(project, embedded=embedded)
    where = _place(workspace, stack)
    report(f"Pulumi: {where}")
    try:
        with explain_failure("open the stack"):
            return automation.Stack.select(stack, workspace)
    except automation.StackNotFoundError:
        raise NoStackError(
            f"--stack: there is no {where}; `up` makes it; `pulumi stack ls` lists this backend's stacks, "
            "`pulumi login` and PULUMI_BACKEND_URL choose another backend, `organization/stack` another organization"
        ) from None


def state(project: Path, stack: str) -> State:
    """What is written down of a stack, which is opened when somebody looks."""
    return State(partial(open_stack, project, stack, report=lambda _: None))


def make_stack(
    project: Path, stack: str, *, embedded: bool = False, report: Report = tell
) -> automation.Stack:
    """The stack, made if it is not there yet: for `up` alone. Raises LoggedOutError, PulumiError."""
    if embedded:
        EMBEDDED_BACKEND.mkdir(parents=True, exist_ok=True)
    workspace = _workspace(project, embedded=embedded)
    report(f"Pulumi: {_place(workspace, stack)}")
    with explain_failure("open the stack"):
        return automation.Stack.create_or_select(stack, workspace)


def summaries(
    project: Path, *, embedded: bool = False, report: Report = lambda _: None
) -> list[automation.StackSummary]:
    """Every stack of the project in the backend. Raises LoggedOutError, PulumiError."""
    workspace = _workspace(project, embedded=embedded)
    report(f"Pulumi: stacks in {_address(_who_am_i(workspace))}")
    with explain_failure("list the stacks"):
        return workspace.list_stacks()


def is_at_home(stack: str) -> bool:
    """Whether a stack's state is with the embedded cluster. Raises PulumiError."""
    return EMBEDDED_BACKEND.exists() and any(each.name == stack for each in summaries(PROJECT, embedded=True))


def resources(stack: automation.Stack) -> list[Mapping[str, Any]]:
    """What the stack's state holds, as Pulumi exports it. Raises PulumiError."""
    return State(lambda: stack).resources


def export(stack: automation.Stack, *, clear: bool = False) -> dict[str, Any]:
    """The stack's state. clear: with its secrets, which must not leave this process. Raises PulumiError."""
    command = ["stack", "export", "--stack", stack.name, *(["--show-secrets"] if clear else [])]
    with explain_failure("read the stack's state"):
        found: dict[str, Any] = json.loads(runner(stack, command)())
    return found


def output(project: Path, stack: str, name: str, *, report: Report = tell) -> str | None:
    """An output of a deployed stack, in clear; None if it has no such output. Structured values come as JSON.

    stack: of this project, or another's as `organization/project/name`. Raises as open_stack does.
    """
    opened = open_stack(project, stack, report=report)
    with explain_failure("read the stack's outputs"):
        found = opened.outputs().get(name)
    if found is None:
        return None
    return found.value if isinstance(found.value, str) else json.dumps(found.value)


def outputs(stack: automation.Stack) -> dict[str, Any]:
    """The deployed stack's outputs, secrets hidden. Raises PulumiError."""
    with explain_failure("read the stack's outputs"):
        found = stack.outputs()
    return {name: "[secret]" if found[name].secret else found[name].value for name in sorted(found)}


def config(project: Path, stack: str) -> dict[str, tuple[str, bool]]:
    """The stack's whole config as Pulumi resolves it, environments of Pulumi ESC included: text, and whether secret.

    Secrets stay hidden. Raises LoggedOutError, NoStackError, PulumiError.
    """
    workspace = _workspace(project, embedded=False)
    try:
        with explain_failure(f"read the config of {stack}"):
            # Automation's own get_all_config would ask for every secret in clear.
            found = workspace.pulumi_command.run(
                ["config", "--json", "--stack", stack], str(project), workspace.env_vars
            )
    except automation.StackNotFoundError:
        raise NoStackError(
            f"--stack: there is no {_place(workspace, stack)}, and Pulumi opens a stack's environments only where it "
            f"is there; `pulumi stack init {stack}` makes it, and nothing else"
        ) from None
    return _config(found.stdout)


def up(stack: automation.Stack, report: Report, events: Events, config: Path | None = None) -> str:
    """Deploy; returns in words how many resources changed in which way. Raises PulumiError, LockedError.

    config: a file to read instead of the stack's own.
    """
    file = None if config is None else str(config)
    result = run_unlocked(
        stack, "deploy", report, lambda: stack.up(on_event=events, color="never", config_file=file)
    )
    counts = {str(kind): count for kind, count in (result.summary.resource_changes or {}).items()}
    same = counts.pop("same", 0)
    counts.pop("read", None)
    changed = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"{sum(counts.values())} changes ({', '.join(filter(None, [changed, f'{same} unchanged']))})"


def down(stack: automation.Stack, report: Report) -> None:
    """Destroy every resource and forget the stack; its config file stays. Raises PulumiError, LockedError."""
    events = Events(report, Made(0))
    run_unlocked(stack, "destroy", report, lambda: stack.destroy(on_event=events, color="never"))
    with explain_failure("forget the stack"):
        stack.workspace.remove_stack(stack.name, preserve_config=True)


def preview_down(stack: automation.Stack, report: Report) -> str:
    """What a destroy would delete, told by the engine; returns it in words. Raises PulumiError, LockedError."""
    result = run_unlocked(
        stack, "preview", report, lambda: stack.preview_destroy(on_output=report, color="never")
    )
    return f"{result.change_summary.get(automation.OpType.DELETE, 0)} to delete"


def _workspace(project: Path, *, embedded: bool) -> _Workspace:
    """No backend is chosen for a real stack: the verbs look where `pulumi` itself does. Raises DamagedStateError."""
    if embedded:
        state_files.check(EMBEDDED_BACKEND)
    own = {"PULUMI_BACKEND_URL": EMBEDDED_BACKEND.as_uri(), "PULUMI_CONFIG_PASSPHRASE": ""}
    environment = _ENVIRONMENT | (own if embedded else {})
    return _Workspace(work_dir=str(project), env_vars=environment, pulumi_command=Cli())


def place(project: Path, stack: str) -> Place:
    """Of a stack on a real cluster. Raises LoggedOutError."""
    return _place(_workspace(project, embedded=False), stack)


def _place(workspace: _Workspace, stack: str) -> Place:
    who = _who_am_i(workspace)
    organization = stack.rpartition("/")[0].partition("/")[0]
    if who.organizations and not organization:
        organization = _default_organization(workspace) or who.user
    return Place(short_name(stack), organization, _address(who))


def _address(who: automation.WhoAmIResult) -> str:
    return who.url or f"the backend of {who.user}"


def _who_am_i(workspace: _Workspace) -> automation.WhoAmIResult:
    try:
        return workspace.who_am_i()
    except automation.CommandError:
        raise LoggedOutError(
            "Pulumi is not logged in, so no stack can be found: run `pulumi login` (Pulumi Cloud), `pulumi login "
            "file://~` or another backend's address, or set PULUMI_BACKEND_URL"
        ) from None


def _default_organization(workspace: _Workspace) -> str:
    try:
        return workspace.pulumi_command.run(
            ["org", "get-default"], workspace.work_dir, workspace.env_vars
        ).stdout.strip()
    except automation.CommandError:
        return ""


def _config(text: str) -> dict[str, tuple[str, bool]]:
    found = json.loads(text)
    return {key: (_as_text(entry), bool(entry.get("secret"))) for key, entry in found.items()}


def _as_text(entry: Mapping[str, Any]) -> str:
    """A value that holds a secret comes without a text: its secret parts are hidden in the object."""
    if "objectValue" in entry:
        return json.dumps(entry["objectValue"], sort_keys=True)
    return str(entry.get("value", PLAIN))
