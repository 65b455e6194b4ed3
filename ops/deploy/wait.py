"""Wait for an object on the cluster, and say in our words why it does not become ready."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from embedded.processes import Report
from manifests.kubectl import Kubectl, items, label
from ops.deploy.objects import addresses
from ops.watch.reasons import Reason
from targets.errors import UserError

POLL_SECONDS = 0.5
FINAL_SECONDS = 5
"""How long a reason must hold before it ends the wait: a node may just be joining."""


class NotReadyError(UserError):
    """An object will not become ready; the message says which, why, and what to do."""


class Waiter:
    """Waits for Jobs to complete and for objects that ask for it with `pulumi.com/waitFor: condition=…`.

    why: reasons for which the stack is not there yet; one that nothing will change ends the wait.
    """

    def __init__(
        self,
        kubectl: Kubectl,
        report: Report,
        *,
        why: Callable[[], Sequence[Reason]],
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._kubectl, self._report, self._timeout = kubectl, report, timeout
        self._why = why
        self._clock, self._sleep = clock, sleep

    def __call__(self, obj: Mapping[str, Any]) -> None:
        """Return when the object, as the cluster said it last, is ready. Raises NotReadyError."""
        condition = condition_of(obj)
        if condition is None:
            return
        began, last_message = self._clock(), ""
        final_since, final_about = self._clock(), ""
        live = obj
        while True:
            conditions = {c["type"]: c for c in live.get("status", {}).get("conditions", [])}
            if _holds(live, conditions, condition):
                return
            if obj["kind"] == "Job" and conditions.get("Failed", {}).get("status") == "True":
                raise NotReadyError(
                    f"{label(obj)} failed: {conditions['Failed'].get('message', 'no reason given')}"
                )
            final = self._final(obj)
            if final is None or final.about != final_about:
                final_since, final_about = self._clock(), final.about if final else ""
            # The last look is read many times until the next ends; only one that began later confirms it.
            elif (self._clock() if final.looked is None else final.looked) - final_since >= FINAL_SECONDS:
                raise NotReadyError(str(final))
            message = str(conditions.get(condition, {}).get("message", ""))
            if message and message != last_message:
                last_message = message
                self._report(f"wait for {label(obj)}: {message}")
            if self._clock() - began > self._timeout:
                raise NotReadyError(
                    f"{label(obj)} is not {condition} after {self._timeout:.0f} s: {last_message or 'no reason given'}"
                )
            self._sleep(POLL_SECONDS)
            (named,) = addresses([obj])
            (live,) = items(self._kubectl("get", *named, "--output=json"))

    def _final(self, obj: Mapping[str, Any]) -> Reason | None:
        """What keeps the object, or all of the stack, from becoming ready whatever comes."""
        concerned = ("", obj["metadata"]["name"])
        return next((reason for reason in self._why() if reason.final and reason.of in concerned), None)


def condition_of(obj: Mapping[str, Any]) -> str | None:
    """The condition that makes the object ready; None if nobody waits for it."""
    if obj["kind"] == "Job":
        return "Complete"
    asked = obj["metadata"].get("annotations", {}).get("pulumi.com/waitFor", "")
    return asked.removeprefix("condition=") or None


def _holds(live: Mapping[str, Any], conditions: Mapping[str, Any], condition: str) -> bool:
    found = conditions.get(condition, {})
    seen = live.get("status", {}).get("observedGeneration", live["metadata"].get("generation"))
    return bool(found.get("status") == "True" and seen == live["metadata"].get("generation"))
