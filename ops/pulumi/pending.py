"""What an update that was killed had asked for: Pulumi knows that it asked, not whether it was made.

On a cluster one can look. An object that is there as it was asked for, made by Pulumi, goes into the state, where the
next update waits for it; one that is not there is asked for again. Anything else is told, and stays as it is.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pulumi import automation as pulumi_automation

from embedded.processes import Report
from manifests.kubectl import Kubectl, address, label
from manifests.names import MANAGED_BY
from ops.kubectl import NoKubectlError, on_path
from ops.pulumi import automation
from ops.pulumi.command import runner
from ops.pulumi.locks import run_unlocked
from targets.errors import UserError

_SECRET = "4dabf18193072939515e22adb298388d"
"""The key by which Pulumi marks a secret, or another value that JSON has not, in a state."""
_WHOLE = ("--ignore-not-found", "--show-managed-fields", "--output=json")
"""Who made an object is among what kubectl leaves out by itself."""
_IN_STATE_ALONE = "pulumi:"
"""Providers and Pulumi's own: nothing outside of the state was made."""
_REPEATABLE = frozenset({"pulumi-python:dynamic/dynamo-gpt-oss:ImageBuild"})
"""Dynamic resources of the project that may be asked for again: they look for what an earlier create has made or begun.

Nobody can import one of these.
"""


class PendingError(UserError):
    """Somebody has to look whether something is there; a sentence each."""


@dataclass(frozen=True)
class _Asked:
    """A resource that was asked for, as the state has it."""

    state: Mapping[str, Any]

    @property
    def urn(self) -> str:
        return str(self.state["urn"])

    @property
    def kind(self) -> str:
        return str(self.state["type"])

    @property
    def inputs(self) -> Mapping[str, Any]:
        return dict(self.state.get("inputs") or {})

    @property
    def on_cluster(self) -> bool:
        """Whether it is an object of the Kubernetes API; of a release Helm knows more than one object."""
        return self.kind.startswith("kubernetes:") and "helm.sh" not in self.kind

    @property
    def is_harmless(self) -> bool:
        """Whether it may be asked for again without a look. A component is not custom: its children alone are made."""
        return (
            self.kind.startswith(_IN_STATE_ALONE)
            or self.kind in _REPEATABLE
            or self.state.get("custom") is False
        )

    def adopt(self) -> dict[str, Any]:
        """As a resource of the state that is there and was not waited for: the next update does that."""
        metadata = self.inputs["metadata"]
        name = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        outputs = {**self.inputs, "__initialApiVersion": self.inputs["apiVersion"]}
        return {**self.state, "id": name, "outputs": outputs, "initErrors": ["the update was broken off"]}


def mend(
    stack: pulumi_automation.Stack,
    report: Report,
    *,
    state: automation.State | None = None,
    kubectl: Kubectl | None = None,
    strict: bool = True,
) -> None:
    """Bring the state together with what is there, where an earlier update was killed.

    state: as it was read already. kubectl: of the stack's cluster, where it is not reached as its provider says.
    strict: raise PendingError for what nobody here can look at, which is only told otherwise. Raises
    PulumiError, LockedError.
    """
    if not _pending_operations((state or automation.State(lambda: stack)).deployment):
        return
    exported = automation.export(stack)  # anew: it is what is written back
    deployment = exported["deployment"]
    asked = _pending_operations(deployment)
    there = deployment.setdefault("resources", [])  # left out of a state that has none yet
    known = {resource["urn"] for resource in there}
    elsewhere = [one for one in asked if not one.on_cluster and not one.is_harmless]
    if elsewhere and strict:
        raise PendingError("\n".join(_sentence(stack.name, one) for one in elsewhere))
    for one in elsewhere:
        report(_sentence(stack.name, one))
    mine = []
    for one in asked:
        if not one.on_cluster or one.urn in known:
            continue
        with _cluster(stack, one, kubectl) as ask:
            found = ask("get", *address(_plain(one.inputs)), *_WHOLE)
        if found and _is_ours(json.loads(found), one.inputs):
            report(f"take up {label(_plain(one.inputs))}: an update that was killed had made it")
            mine.append(one)
    there += [one.adopt() for one in mine]
    deployment["pending_operations"] = []
    _import(stack, exported, report)


def _pending_operations(deployment: Mapping[str, Any]) -> list[_Asked]:
    pending = deployment.get("pending_operations") or ()
    return [_Asked(each["resource"]) for each in pending if each["type"] == "creating"]


def _sentence(stack: str, one: _Asked) -> str:
    # No word of --import-pending-creates: Pulumi 3.260 then forgets what was asked for and imports nothing.
    return (
        f"--stack: an update of {stack} is making {one.kind} {one.urn.rpartition('::')[2]!r}, or was killed while it "
        f"did. Wait, if it is at work; else look whether it is there (`make leftovers STACK={stack}` helps). If it "
        "is, delete it there or bring it into the state with `pulumi import` (docs/upgrades.md). Then run "
        f"`pulumi refresh --stack {stack} --clear-pending-creates` and the verb again"
    )


def _is_ours(live: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether an object has all that was asked for, and Pulumi made it."""
    made_by = {entry.get("manager", "") for entry in live["metadata"].get("managedFields", ())}
    return (
        any(manager.startswith("pulumi-kubernetes") for manager in made_by)
        and MANAGED_BY.items() <= live["metadata"].get("labels", {}).items()
        and _holds(live, _plain(asked))
    )


def _holds(live: Any, asked: Any) -> bool:
    """Whether everything asked for is there; the API server adds defaults of its own."""
    if isinstance(asked, Mapping):
        return isinstance(live, Mapping) and all(
            _holds(live.get(key), value) for key, value in asked.items() if value is not None
        )
    if isinstance(asked, list):
        return (
            isinstance(live, list)
            and len(live) == len(asked)
            and all(_holds(one, other) for one, other in zip(live, asked, strict=True))
        )
    return bool(live == asked)


def _plain(value: Any) -> Any:
    """The value with its secrets, where the state shows them; without them where it does not."""
    if isinstance(value, Mapping):
        if _SECRET in value:
            return json.loads(value["plaintext"]) if "plaintext" in value else None
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@contextmanager
def _cluster(stack: pulumi_automation.Stack, one: _Asked, kubectl: Kubectl | None) -> Iterator[Kubectl]:
    """The cluster that its provider is for."""
    if kubectl is not None:
        yield kubectl
        return
    urn = str(one.state["provider"]).rpartition("::")[0]
    provider = next(
        each for each in automation.export(stack, clear=True)["deployment"]["resources"] if each["urn"] == urn
    )
    inputs = _plain(provider.get("inputs") or {})
    with tempfile.NamedTemporaryFile("w", suffix=".kubeconfig") as file:
        options = [f"--context={inputs['context']}"] if inputs.get("context") else []
        given = str(inputs.get("kubeconfig") or "")
        if given.lstrip().startswith(("{", "apiVersion")):
            file.write(given)
            file.flush()
            given = file.name
        try:
            found = on_path([*([f"--kubeconfig={given}"] if given else []), *options])
        except NoKubectlError:
            raise PendingError(
                f"--stack: an update of {stack.name} was killed; what it made is looked for with kubectl: install it"
            ) from None
        yield found.impatient()


def _import(stack: pulumi_automation.Stack, state: Mapping[str, Any], report: Report) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(state, file)
        file.flush()
        command = ["stack", "import", "--stack", stack.name, "--file", file.name]
        run_unlocked(stack, "mend the stack's state", report, runner(stack, command))
