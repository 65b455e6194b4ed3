"""The checks, in order, and how they are run."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .advice import ADVICE
from .answers import chat, reasoning, responses, stream, tools, unknown_model
from .conversation import REQUEST_SECONDS, Conversation
from .expectation import Expectation
from .readiness import live, models, ready, release, roles
from .results import FAILED, NOT_TRIED, OK, SKIPPED, WARNING, Failure, Result, Skipped, Warned
from .transfer import disaggregated, kv_transfer

_SAMPLINGS: tuple[Mapping[str, Any], ...] = ({"temperature": 0}, {"seed": 1}, {"seed": 2})
"""How the answers of each attempt are drawn: first the likeliest, then by the model's own sampling."""
_TRIED_AGAIN = {"no reasoning", "no tool call", "tool result lost", "not served"}
"""Causes that need not last: an unlucky draw, and a worker that the frontend has only just taken up or lost."""
_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Check:
    """One check. try_it returns what it saw, or raises Failure, Warned or Skipped.

    gate: without it the rest makes no sense. attempts: at most so many.
    """

    name: str
    try_it: Callable[[Conversation], str]
    gate: bool = field(default=False, kw_only=True)
    disaggregated: bool = field(default=False, kw_only=True)
    attempts: int = field(default=1, kw_only=True)

    def result(self, talk: Conversation) -> Result:
        """Tries it, again while another attempt may go better."""
        began = time.monotonic()
        for attempt in range(1, self.attempts + 1):
            outcome, cause, detail = self._tried(replace(talk, sampling=_SAMPLINGS[attempt - 1]))
            if outcome != FAILED or cause not in _TRIED_AGAIN:
                break
            if cause == "not served" and attempt < self.attempts:
                time.sleep(_PAUSE_SECONDS)
        seconds = round(time.monotonic() - began, 3)
        meaning, next_step = ADVICE[cause] if cause else ("", "")
        return Result(self.name, outcome, seconds, detail, meaning, next_step, attempt)

    def _tried(self, talk: Conversation) -> tuple[str, str, str]:
        """Outcome, cause of a failure or warning, and detail of one attempt."""
        try:
            return OK, "", self.try_it(talk)
        except Skipped as reason:
            return SKIPPED, "", str(reason)
        except Warned as warned:
            return WARNING, warned.cause, str(warned)
        except Failure as failure:
            return FAILED, failure.cause, str(failure)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            return FAILED, "unexpected", f"the answer has another shape than OpenAI's API: {error!r}"


CHECKS = (
    Check("live", live, gate=True),
    Check("release", release),
    Check("roles", roles, gate=True),
    Check("models", models, gate=True),
    Check("ready", ready, gate=True),
    Check("chat", chat, gate=True),
    Check("stream", stream, attempts=3),
    Check("responses", responses, attempts=3),
    Check("reasoning", reasoning, attempts=3),
    Check("tools", tools, attempts=3),
    Check("disaggregated", disaggregated, disaggregated=True),
    Check("kv transfer", kv_transfer, disaggregated=True),
    Check("unknown model", unknown_model),
)


def verify(
    url: str,
    expected: Expectation,
    *,
    wait: float = 0.0,
    request_timeout: float = REQUEST_SECONDS,
    worker_ports: Sequence[int] = (),
) -> Iterator[Result]:
    """Yields the result of each check in order, as it comes.

    wait: seconds that a starting graph has before a failed readiness check counts. worker_ports: where the metrics of
    each worker can be read, from inside the cluster. Once the graph is not ready, or its first completion failed, the
    rest is not tried.
    """
    talk = Conversation(url.rstrip("/"), expected, request_timeout, tuple(worker_ports))
    deadline = time.monotonic() + wait
    failed: str | None = None
    for check in CHECKS:
        if check.disaggregated and not expected.disaggregated:
            continue
        if failed:
            yield Result(check.name, NOT_TRIED, 0.0, f"since `{failed}` failed")
            continue
        result = check.result(talk)
        while check.gate and not result.ok and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            result = check.result(talk)
        yield result
        if check.gate and not result.ok:
            failed = check.name
