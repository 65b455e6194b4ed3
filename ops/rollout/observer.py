"""Takes what is looked at, and keeps what of it is about the rollout."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from manifests.kubectl import Kubectl
from ops.kept import Kept, keep, last
from ops.rollout import engine_log
from ops.rollout.observed import Line, Observed, SeenPod, merge, observe
from ops.stack.stack import Stack
from targets.errors import UserError

SIMULATED = "nodes and what runs on them"
"""Of a rollout on the embedded cluster."""
_MOST_BYTES = 8_000_000
"""Of a log's begin, which is where an engine tells of its start."""
CHECK = re.compile(r"^(ok|warning|failed|skipped)\s+chat\s+\d+\.\d+ s")
"""A verification's line about its first conversation."""
_VERIFY = "-verify"


class Observer:
    """Merges looks. began: of the `up` that is looked at, None where one only looks."""

    def __init__(self, began: datetime | None = None) -> None:
        self.seen = Observed(began=began)

    def __call__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Take what kubectl listed. A graph that is made anew in its course is of the same `up`."""
        merged = merge(self.seen, observe(objects))
        self.seen = merged.model_copy(update={"began": self.seen.began, "block": self.seen.block})

    def block_began(self, at: datetime) -> None:
        """Take when the main pool's Capacity Block began, which the cluster does not know."""
        self.seen = self.seen.model_copy(update={"block": at})

    def read_logs(self, kubectl: Kubectl, namespace: str) -> None:
        """Take what engines and verifications say; a log that cannot be read says nothing."""
        lines = {
            f"{pod.name} {line}": Line(pod=pod.name, at=at, text=line)
            for pod in self.seen.pods.values()
            if (pod.gpus and pod.role not in ("job", "pod")) or pod.of.endswith(_VERIFY)
            for at, line in _lines(pod, kubectl, namespace)
            if engine_log.is_telling(line) or CHECK.match(line)
        }
        self.seen = merge(self.seen, Observed(lines=lines))

    def keep(self, stack: Stack, project: Path) -> None:
        """Write down all that is known, unless nothing of the stack was seen."""
        if not (self.seen.graphs or self.seen.pods):
            return
        self.seen = merge(kept(stack.name, project), self.seen)
        simulated = SIMULATED if stack.embedded else ""
        written = {"simulated": simulated, "observed": self.seen.model_dump(mode="json")}
        keep(Kept.ROLLOUT, stack.name, written, project)


def kept(stack: str, project: Path) -> Observed:
    """What earlier looks knew."""
    found = last(Kept.ROLLOUT, stack, project)
    try:
        return Observed.model_validate(found["observed"]) if found else Observed()
    except ValueError:
        return Observed()  # of another release of this project, or damaged


def _lines(pod: SeenPod, kubectl: Kubectl, namespace: str) -> Iterator[tuple[datetime, str]]:
    for name, container in pod.containers.items():
        if container.init or container.started is None:
            continue
        where = (f"--namespace={namespace}", f"--container={name}")
        how = ("--timestamps", f"--limit-bytes={_MOST_BYTES}")
        try:
            text = kubectl("logs", f"pod/{pod.name}", *where, *how)
        except UserError:
            continue  # the pod is gone, or its node
        for line in text.splitlines():
            stamp, _, words = line.partition(" ")
            try:
                yield datetime.fromisoformat(stamp), words
            except ValueError:
                continue  # the middle of a line, where the log was cut
