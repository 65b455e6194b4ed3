"""What Pulumi's engine does, as it says it: a line when something changes, and no line twice."""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from pulumi.automation.events import DiagnosticEvent, EngineEvent, StepEventMetadata

from embedded.processes import Report
from ops.watch.made import Made

_COLOUR = re.compile(r"<\{%[^%]*%\}>")
_NOISE = ("Has no .status.conditions",)
"""Of the Kubernetes provider, about a kind whose objects have no conditions before their operator saw them."""
_SILENT = ("same", "read", "refresh", "replace", "discard", "discard-replaced", "remove-pending-replace")
"""Operations that make or end nothing; `replace` announces two others."""
_LONG_SECONDS = 10.0
_CLUSTER = "pulumi:providers:kubernetes"

Clock = Callable[[], float]


class Events:
    """Takes the engine's events. made: counts what is there.

    provider: inputs of the provider for the stack's cluster, once it is there: the way to a cluster that is being made.
    """

    def __init__(self, report: Report, made: Made, *, clock: Clock = time.monotonic) -> None:
        self._report, self._made, self._clock = report, made, clock
        self._began: dict[str, float] = {}
        self._said: set[str] = set()
        self.provider: Mapping[str, Any] | None = None

    def __call__(self, event: EngineEvent) -> None:
        """One event, in the order of the engine's."""
        if event.resource_pre_event:
            self._begin(event.resource_pre_event.metadata)
        if event.res_outputs_event:
            self._end(event.res_outputs_event.metadata)
        if event.res_op_failed_event:
            failed = event.res_op_failed_event.metadata
            self._tell(f"failed: {_op(failed)} {name(failed.type, failed.urn)}")
        if event.diagnostic_event:
            self._diagnose(event.diagnostic_event)
        if event.policy_event:
            policy = event.policy_event
            self._tell(f"policy {policy.policy_name}: {_plain(policy.message)}")
        if event.stdout_event:
            self._tell(_plain(event.stdout_event.message))

    def _begin(self, step: StepEventMetadata) -> None:
        what = name(step.type, step.urn)
        self._began[step.urn] = self._clock()
        if _op(step) in _SILENT:
            return
        if _is_real(step.type):
            self._made.begin(what)
            self._tell(f"{_op(step)} {what}")

    def _end(self, step: StepEventMetadata) -> None:
        what = name(step.type, step.urn)
        if step.type == _CLUSTER and step.new is not None:
            self.provider = step.new.inputs
        if _op(step) not in ("delete", "delete-replaced", "discard", "discard-replaced"):
            self._made.end(step.urn)
        self._made.over(what)
        took = self._clock() - self._began.get(step.urn, self._clock())
        if _op(step) not in _SILENT and _is_real(step.type) and took >= _LONG_SECONDS:
            self._tell(f"{_op(step)} {what}: done after {took:.0f} s")

    def _diagnose(self, said: DiagnosticEvent) -> None:
        """Ephemeral words are a provider's own progress, which the cluster itself tells better."""
        text = _plain(f"{said.prefix or ''}{said.message}")
        if not text or said.ephemeral or said.severity == "debug" or any(noise in text for noise in _NOISE):
            return
        about = said.urn.rpartition("::")[2] if said.urn else ""
        for line in text.splitlines():
            self._tell(f"{said.severity.partition('#')[0]}: {about + ': ' if about else ''}{line}")

    def _tell(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._report(text)


def name(kind: str, urn: str) -> str:
    """A resource as people name it: `job/model-download`."""
    return f"{kind.rpartition(':')[2].lower()}/{urn.rpartition('::')[2]}"


def _is_real(kind: str) -> bool:
    """Whether something outside of Pulumi's state is made: no component, provider or stack."""
    return not kind.startswith(("pulumi:", "dynamo-gpt-oss:"))


def _op(step: StepEventMetadata) -> str:
    return str(getattr(step.op, "value", step.op))


def _plain(text: str) -> str:
    return _COLOUR.sub("", text).strip()
